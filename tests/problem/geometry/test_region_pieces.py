"""Rectangles within a region, named pieces of its boundary, samples."""

import numpy as np
import pytest
from overlap import overlap
from regions import (
    RAMP,
    SIEVE,
    STEP,
    TROUBLE,
    UNIT,
    cells,
    regions,  # noqa: F401
)

from safenet.errors import SafeNetError
from safenet.problem.geometry.body import points_inside
from safenet.problem.geometry.region import Region
from safenet.problem.geometry.shapes import Box, Disc, Polygon


def test_rectangles_are_inside_outside_or_cut(case):
    region = Region(TROUBLE[case])
    lower, upper = cells((-1.25, -1.25), (4.25, 2.75), 12)
    kinds = region.classify(lower, upper)
    whole = np.prod(upper - lower, axis=1)
    share = np.array([overlap(region, low, high) for low, high in zip(lower, upper, strict=True)]) / whole
    np.testing.assert_allclose(share[kinds == "inside"], 1.0, atol=1e-12)
    np.testing.assert_allclose(share[kinds == "outside"], 0.0, atol=1e-12)
    assert np.all((share[kinds == "cut"] > 0) & (share[kinds == "cut"] < 1))
    assert np.sum(share * whole) == pytest.approx(region.measure, abs=1e-11)


def test_a_rectangle_whose_side_lies_on_the_boundary_is_not_cut():
    region = Region(STEP)
    lower, upper = cells((0, 0), (4, 2), 4)
    kinds = region.classify(lower, upper)
    assert sorted(set(kinds)) == ["inside", "outside"]
    assert np.sum(kinds == "outside") == 4
    assert overlap(region, (-1, -1), (5, 3)) == pytest.approx(6, abs=1e-14)


def test_a_circle_that_fills_a_rectangle_cuts_it():
    region = Region(SIEVE)
    assert region.classify([[0.2, 0.2]], [[0.4, 0.4]])[0] == "cut"
    assert overlap(region, (0.2, 0.2), (0.4, 0.4)) == pytest.approx(0.04 - 0.01 * np.pi, abs=1e-14)


def test_an_edge_is_split_where_a_selector_switches():
    region = Region(
        UNIT - Disc((0.5, 0.5), 0.25),
        {
            "jet": lambda p: (p[:, 0] == 0) & (np.abs(p[:, 1] - 0.5) < 0.1234567890123),
            "lee": lambda p: (np.hypot(p[:, 0] - 0.5, p[:, 1] - 0.5) < 0.3) & (p[:, 0] > 0.5),
        },
    )
    assert region.extent("jet") == pytest.approx(2 * 0.1234567890123, abs=1e-12)
    assert region.extent("lee") == pytest.approx(0.25 * np.pi, abs=1e-12)
    assert sum(edge.length for edge in region.unnamed) == pytest.approx(
        4 + 0.5 * np.pi - region.extent("jet") - region.extent("lee"), abs=1e-12
    )


def test_pieces_that_meet_in_a_corner_do_not_overlap():
    sides = {
        "left": lambda p: np.isclose(p[:, 0], 0),
        "right": lambda p: np.isclose(p[:, 0], 1),
        "bottom": lambda p: np.isclose(p[:, 1], 0),
        "top": lambda p: np.isclose(p[:, 1], 1),
    }
    region = Region(UNIT, sides)
    assert [region.extent(name) for name in sides] == [1.0] * 4
    assert region.unnamed == ()


def test_a_named_shape_lends_its_name_to_a_shared_edge():
    region = Region(UNIT + Box(x=(0, 0.5), y=(0, 1), name="left"), {"left": "left", "others": "rest"})
    assert region.extent("left") == pytest.approx(2.0)
    assert region.extent("others") == pytest.approx(2.0)


def test_interior_samples_are_uniform_and_repeat():
    region = Region(SIEVE)

    def sampled():
        random = np.random.default_rng(3)
        return points_inside(region, 20000, lambda *shape: random.random(shape), ((0, 0), (1, 1)))

    points, again = sampled(), sampled()
    np.testing.assert_array_equal(points, again)
    assert points.shape == (20000, 2)
    assert SIEVE.contains(points).all()
    lower, upper = cells((0, 0), (1, 1), 5)
    share = (
        np.array([overlap(region, low, high) for low, high in zip(lower, upper, strict=True)])
        / region.measure
    )
    counts = np.histogram2d(*points.T, bins=5, range=[[0, 1], [0, 1]])[0].ravel()
    chi2 = np.sum((counts - 20000 * share) ** 2 / (20000 * share))
    assert chi2 < 51.2  # 24 degrees of freedom, one in a thousand


def test_a_thin_domain_is_sampled_and_a_stuck_draw_is_reported():
    thin, unit = Region(Polygon([(0, 0), (1, 0.99), (1, 1)])), ((0, 0), (1, 1))
    random = np.random.default_rng(4)
    assert len(points_inside(thin, 500, lambda *shape: random.random(shape), unit)) == 500
    with pytest.raises(SafeNetError, match="found 0 of 5 points") as caught:
        points_inside(Region(SIEVE), 5, lambda *shape: np.full(shape, 0.3), unit)
    assert "too thin" in caught.value.remedy
    assert points_inside(Region(UNIT), 0, lambda *shape: np.zeros(shape), unit).shape == (0, 2)


def test_piece_samples_are_uniform_by_length_and_lie_on_the_boundary():
    region = Region(RAMP, {"all": lambda p: np.full(len(p), True)})
    unit = (np.arange(10000) + 0.5) / 10000
    points, normals = region.sample_piece("all", unit)
    assert np.max(np.min([edge.distance(points) for edge in region.edges], axis=0)) < 1e-12
    np.testing.assert_allclose(np.hypot(*normals.T), 1.0, atol=1e-15)
    assert not region.contains(points + 1e-6 * normals).any()
    for edge in region.edges:
        # Corners are on two edges; a place within 1e-9 of one is not met by these fractions.
        share = np.mean(edge.distance(points) < 1e-9)
        assert share == pytest.approx(edge.length / region.extent("all"), abs=3e-4)
    # ∮ n ds = 0 and ½ ∮ p·n ds = area: a wrong normal or a wrong weight shows at once.
    assert np.abs(np.mean(normals, axis=0) * region.extent("all")).max() < 5e-3
    flux = np.mean(np.sum(points * normals, axis=1)) * region.extent("all") / 2
    assert flux == pytest.approx(region.measure, abs=5e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Region(UNIT - Disc((0.9, 0.5), 0.2, name="k")),
            ["Disc(center=(0.9, 0.5)", "leaves", "by 0.1", "shrink"],
        ),
        (lambda: Region(UNIT - Disc((3, 0.5), 0.2)), ["Disc(center=(3, 0.5)", "by 2.2"]),
        (lambda: Region(UNIT - Disc((0.5, 0.5), 2)), ["leaves", "by 1.5"]),
        (lambda: Region(STEP - Disc((2, 1), 0.1)), []),
        (lambda: Region(STEP - Box(x=(3, 4.25), y=(0, 1))), ["Box(x=(3, 4.25)", "by 0.25"]),
        (lambda: Region(UNIT - UNIT), ["is empty", "remove less"]),
        (lambda: Region(UNIT + Disc((3, 0), 1)), ["falls into 2 parts"]),
        (lambda: Region(UNIT + Box(x=(1, 2), y=(1, 2))), ["falls into 2 parts"]),
        (lambda: Region(UNIT - Disc((0.5, 0.5), 0.5)), ["falls into 4 parts", "solve a problem on each"]),
        (lambda: Region(STEP - Box(x=(1, 3), y=(0, 2))), ["falls into 2 parts"]),
        (lambda: Region(UNIT, {"a": lambda p: p[:, 0] == 2}), ["piece 'a' selects nothing"]),
        (lambda: Region(UNIT, {"a": lambda p: p[:, 0] > -1, "b": "rest"}), ["piece 'b' selects nothing"]),
        (lambda: Region(SIEVE, {"a": "hole"}), ["no shape is named 'hole'", "did you mean 'holes'"]),
        (lambda: Region(UNIT, {"a": "rest", "b": "rest"}), ["two pieces are the rest"]),
        (lambda: Region(Disc((0, 0), 1, name="rest")), ["named 'rest'"]),
        (
            lambda: Region(UNIT, {"a": lambda p: p[:, 0] == 0, "b": lambda p: p[:, 1] < 0.5}),
            ["'a' and 'b' both select", "(0, 0.", "one piece"],
        ),
        (lambda: Region(UNIT, {"a": lambda p: True}), ["shape ()", "each row"]),
        (lambda: Region(UNIT, {"a": "rest"}).extent("b"), ["no piece 'b'", "known: a"]),
        (lambda: Region(UNIT, {"a": "rest"}).sample_piece("b", np.zeros(1)), ["no piece 'b'"]),
    ],
)
def test_what_is_refused_says_what_and_where(make, words):
    if not words:  # a hole may reach into what was removed before
        assert make().measure < 6
        return
    with pytest.raises(SafeNetError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
