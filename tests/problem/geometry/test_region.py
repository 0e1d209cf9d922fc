"""Exact boundaries: areas, lengths, normals and corners that a polygon would miss; samples that are uniform."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from overlap import overlap
from polygons import polygon
from regions import (
    LENS,
    SIEVE,
    STEP,
    TOUCHING,
    TROUBLE,
    UNIT,
    cells,
    regions,  # noqa: F401
)

from safenet.errors import SafeNetError
from safenet.problem.geometry.edges import Arc, Segment, area, signed_distance
from safenet.problem.geometry.region import Region
from safenet.problem.geometry.shapes import Box, Disc, Polygon

EXACT = {
    "step": 6.0,
    "sieve": 1 - 4 * np.pi / 100,
    "lens": 2 * np.pi - (2 * np.pi / 3 - np.sqrt(3) / 2),
    "ramp": 6.5 - np.pi / 4,
    "touching": 1 - 0.04 * np.pi,
}


def grid(lower, upper, n):
    axes = [np.linspace(low, high, n) for low, high in zip(lower, upper, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


# --- edges ---

ARCS = [
    Arc((0.2, -0.1), 0.7, 0.3, 2.0),
    Arc((0.2, -0.1), 0.7, 2.0, 0.3),
    Arc((0.0, 0.0), 1.3, 2.5, 7.9),
    Arc((1.0, 1.0), 0.5),
    Arc((1.0, 1.0), 0.5).reversed(),
]
EDGES = [Segment((0.1, 0.2), (1.3, -0.7)), Segment((0.5, -2.0), (0.5, 2.0)), *ARCS]


@pytest.mark.parametrize("edge", EDGES)
def test_length_and_moment_are_those_of_a_fine_polygon(edge):
    points = edge.at(np.linspace(0, 1, 20001))[0]
    x, y = points.T
    assert edge.length == pytest.approx(np.sum(np.hypot(*np.diff(points, axis=0).T)), rel=1e-7)
    moment = np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / 2
    assert edge.moment == pytest.approx(moment, abs=1e-7)
    lower, upper = edge.bounds
    np.testing.assert_allclose([lower, upper], [points.min(axis=0), points.max(axis=0)], atol=1e-7)


@pytest.mark.parametrize("edge", EDGES)
def test_normals_are_unit_and_to_the_right_of_the_way(edge):
    s = np.linspace(0.01, 0.99, 31)
    ahead, back = edge.at(s + 1e-6)[0], edge.at(s - 1e-6)[0]
    tangent = (ahead - back) / np.hypot(*(ahead - back).T)[:, None]
    normals = edge.at(s)[1]
    np.testing.assert_allclose(normals, np.column_stack([tangent[:, 1], -tangent[:, 0]]), atol=1e-8)
    np.testing.assert_allclose(np.hypot(*normals.T), 1.0, atol=1e-15)
    np.testing.assert_allclose(edge.tangent(0.5), tangent[15], atol=1e-8)


@pytest.mark.parametrize("edge", EDGES)
def test_distance_is_that_of_the_nearest_of_many_points(edge):
    points = np.random.default_rng(0).uniform(-2, 2, (200, 2))
    many = edge.at(np.linspace(0, 1, 20001))[0]
    brute = np.array([np.min(np.hypot(*(many - p).T)) for p in points])
    distance = edge.distance(points)
    assert np.all(distance <= brute + 1e-14)
    # Half a spacing to the side of the nearest point, by Pythagoras.
    assert np.all(brute**2 - distance**2 <= 2 * (edge.length / 20000) ** 2)
    assert np.max(edge.distance(many)) < 1e-15


@pytest.mark.parametrize("edge", EDGES)
def test_parts_run_on_the_edge_and_add_up(edge):
    first, last = edge.part(0.0, 0.3), edge.part(0.3, 1.0)
    assert first.length + last.length == pytest.approx(edge.length, rel=1e-14)
    assert first.moment + last.moment == pytest.approx(edge.moment, abs=1e-14)
    np.testing.assert_allclose(first.ends[1], last.ends[0], atol=1e-15)
    np.testing.assert_allclose(edge.parameter(last.ends[:1]), 0.3, atol=1e-14)
    assert edge.part(0.0, 1.0) == edge
    np.testing.assert_allclose(edge.reversed().ends, edge.ends[::-1], atol=1e-15)
    np.testing.assert_allclose(
        edge.reversed().at(np.array([0.5]))[1], -edge.at(np.array([0.5]))[1], atol=1e-15
    )


@settings(deadline=None)
@given(
    st.sampled_from(EDGES),
    st.tuples(*[st.integers(-8, 8)] * 2),
    st.tuples(*[st.integers(1, 10)] * 2),
)
def test_clipping_keeps_what_is_in_the_rectangle(edge, corner, size):
    lower = np.array(corner) / 4
    upper = lower + np.array(size) / 4
    s = (np.arange(4000) + 0.5) / 4000
    points = edge.at(s)[0]
    inside = np.all((points >= lower) & (points <= upper), axis=1)
    parts = edge.clip(lower, upper)
    assert sum(part.length for part in parts) == pytest.approx(
        np.mean(inside) * edge.length, abs=4e-3 * edge.length
    )
    for part in parts:
        on = part.at(np.linspace(0, 1, 50))[0]
        assert np.all((on >= lower - 1e-11) & (on <= upper + 1e-11))
        assert np.max(edge.distance(on)) < 1e-12


def test_clipping_is_exact_at_the_border():
    assert Segment((-1.0, 0.5), (3.0, 0.5)).clip((0, 0), (1, 1)) == [Segment((0.0, 0.5), (1.0, 0.5))]
    along = Segment((0.0, 2.0), (0.0, -2.0), "wall")
    assert along.clip((0, 0), (1, 1)) == [Segment((0.0, 1.0), (0.0, 0.0), "wall")]
    assert Segment((-1.0, 1.0), (1.0, -1.0)).clip((0, 0), (1, 1)) == []  # touches the corner only
    (quarter,) = Arc((0.0, 0.0), 1.0, 0.0, 2 * np.pi).clip((0, 0), (2, 2))
    assert (quarter.begin, quarter.end) == pytest.approx((0, np.pi / 2), abs=1e-15)
    caps = Arc((0.0, 0.0), 1.0).clip((-2, -0.5), (2, 0.5))
    assert sum(cap.length for cap in caps) == pytest.approx(4 * np.pi / 6, rel=1e-14)
    touching = Arc((0.3, 0.3), 0.1).clip((0.2, 0.2), (0.4, 0.4))
    assert sum(part.length for part in touching) == pytest.approx(0.2 * np.pi, rel=1e-14)
    assert Arc((0.3, 0.3), 0.1).clip((0.0, 0.0), (0.2, 1.0)) == []  # touches a side from outside


def test_winding_knows_the_inside_of_a_half_disc():
    half = [Arc((0.0, 0.0), 1.0, 0.0, np.pi), Segment((-1.0, 0.0), (1.0, 0.0))]
    assert area(half) == pytest.approx(np.pi / 2, rel=1e-15)
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (2000, 2))
    expected = (np.hypot(*points.T) < 1) & (points[:, 1] > 0)
    np.testing.assert_array_equal(signed_distance(half, points) < 0, expected)


# --- the boundary ---


def test_areas_are_exact(case):
    assert Region(TROUBLE[case]).measure == pytest.approx(EXACT[case], abs=1e-14)


def test_the_back_step():
    region = Region(STEP, {"in": lambda p: p[:, 0] == 0, "out": lambda p: p[:, 0] == 4, "wall": "rest"})
    assert {name: region.extent(name) for name in region.pieces} == {"in": 1.0, "out": 2.0, "wall": 9.0}
    assert region.bounds == ((0, 0), (4, 2))
    assert len(region.edges) == 6
    (corner,) = region.corners
    assert corner.point == (2, 1)
    assert corner.angle == pytest.approx(3 * np.pi / 2, abs=1e-14)
    # The domain is to the left of the way out of the corner, through `angle`.
    assert corner.direction == pytest.approx(np.pi, abs=1e-14)
    # The part of the outer box that was removed with the step is no boundary and no domain.
    np.testing.assert_array_equal(
        region.contains(np.array([[1.0, 2.0], [0.0, 1.5], [1.0, 1.0]])), [False, False, True]
    )


def test_a_full_circle_is_one_arc():
    region = Region(SIEVE, {"holes": "holes", "outer": "rest"})
    assert all(isinstance(edge, Arc) and edge.closed for edge in region.pieces["holes"])
    assert len(region.pieces["holes"]) == 4
    assert region.extent("holes") == pytest.approx(0.8 * np.pi, rel=1e-14)
    assert region.extent("outer") == 4
    assert region.corners == ()


def test_arcs_end_exactly_where_circles_meet():
    region = Region(LENS)
    assert [type(edge) for edge in region.edges] == [Arc, Arc]
    ends = sorted((tuple(edge.ends[0]) for edge in region.edges), key=lambda end: end[1])
    np.testing.assert_allclose(ends, [(0.5, -np.sqrt(0.75)), (0.5, np.sqrt(0.75))], atol=2e-15)
    # Each circle turns by 120° to the other: two re-entrant corners of 240°.
    assert [corner.angle for corner in region.corners] == pytest.approx([4 * np.pi / 3] * 2, abs=1e-14)


def test_a_hole_that_touches_the_outer_side_leaves_one_domain_with_a_cusp():
    region = Region(TOUCHING)
    assert len(region.loops) == 1
    assert region.corners == ()


def test_overlapping_holes_are_one_hole():
    region = Region(UNIT - Disc((0.4, 0.5), 0.2) - Disc((0.6, 0.5), 0.2))
    lens = 2 * 0.2**2 * np.arccos(0.5) - 0.1 * np.sqrt(4 * 0.2**2 - 0.2**2)
    assert region.measure == pytest.approx(1 - 2 * np.pi * 0.04 + lens, abs=1e-14)
    assert len(region.loops) == 2
    # Holes that meet leave tongues of the domain, not re-entrant corners.
    assert region.corners == ()


def test_a_shape_far_from_the_origin_is_no_different():
    region = Region(Box(x=(1e6, 1e6 + 1), y=(0, 1)) - Disc((1e6 + 0.5, 0.5), 0.25))
    assert region.measure == pytest.approx(1 - np.pi / 16, abs=1e-8)


def test_loops_close_and_normals_point_outwards(case):
    region, shape = Region(TROUBLE[case]), TROUBLE[case]
    for loop in region.loops:
        for edge, following in zip(loop, [*loop[1:], loop[0]], strict=True):
            np.testing.assert_allclose(edge.ends[1], following.ends[0], atol=1e-14)
    for edge in region.edges:
        points, normals = edge.at(np.linspace(0.05, 0.95, 19))
        np.testing.assert_allclose(shape.level(points), 0.0, atol=1e-12)
        assert not shape.contains(points + 1e-6 * normals).any()
        assert shape.contains(points - 1e-6 * normals).all()


def test_distance_to_the_boundary_is_that_of_the_nearest_of_many_points(case):
    region = Region(TROUBLE[case])
    points = np.random.default_rng(2).uniform(-1.5, 4.5, (100, 2))
    many = np.concatenate([edge.at(np.linspace(0, 1, 8001))[0] for edge in region.edges])
    brute = np.array([np.min(np.hypot(*(many - p).T)) for p in points])
    signed = np.where(TROUBLE[case].contains(points), -brute, brute)
    np.testing.assert_allclose(region.signed_distance(points), signed, atol=1e-5)
    for slack in (-0.1, 0.0, 0.2):
        np.testing.assert_array_equal(region.contains(points, slack), signed <= slack)


def test_the_closed_domain_holds_its_boundary(case):
    region = Region(TROUBLE[case])
    points = np.concatenate([edge.at(np.linspace(0, 1, 101))[0] for edge in region.edges])
    assert region.contains(points).all()
    assert not region.contains(points, slack=-1e-9).any()


@st.composite
def heaps(draw):
    """Boxes, discs and triangles on a coarse lattice: coincident edges, touching circles, shared corners."""
    place = st.integers(0, 8).map(lambda n: n / 8)

    def leaf():
        x, y = draw(place), draw(place)
        w, h = (draw(st.integers(1, 5)) / 8 for _ in range(2))
        kind = draw(st.sampled_from("bdt"))
        if kind == "b":
            return Box(x=(x, x + w), y=(y, y + h))
        return Disc((x, y), w) if kind == "d" else Polygon([(x, y), (x + w, y), (x, y + h)])

    shape = leaf()
    for _ in range(draw(st.integers(1, 3))):
        shape = shape + leaf() if draw(st.booleans()) else shape - leaf()
    # Within a frame every heap may be removed, whatever it is.
    return Box(x=(-2, 3), y=(-2, 3)) - shape if draw(st.booleans()) else shape


@settings(max_examples=40, deadline=None)
@given(heaps())
def test_any_heap_has_the_area_and_the_sides_of_its_polygon(shape):
    region = built(shape)
    if region is None:
        assert _nothing_whole(shape)
        return
    assert region.measure == pytest.approx(polygon(shape).area, abs=1e-3)
    for edge in region.edges:
        points, normals = edge.at(np.array([0.213, 0.471, 0.829]))
        assert np.max(np.abs(shape.level(points))) < 1e-11
        assert not shape.contains(points + 1e-7 * normals).any()
        assert shape.contains(points - 1e-7 * normals).all()
    lower, upper = cells(*region.bounds, 2)
    total = sum(overlap(region, low, high) for low, high in zip(lower, upper, strict=True))
    assert total == pytest.approx(region.measure, abs=1e-11)


def built(shape):
    """The region, or None where the domain is empty or in parts; a hole that sticks out is no example."""
    try:
        return Region(shape)
    except SafeNetError as error:
        assume("leaves" not in error.message)
        if "falls into" in error.message or "is empty" in error.message:
            return None
        raise


def _nothing_whole(shape):
    """Whether the polygon is empty or falls apart when narrowed: chords widen a touching point to their length."""
    narrowed = [polygon(shape).buffer(-width) for width in (0, 1e-4, 1e-3, 1e-2)]
    return narrowed[0].is_empty or any(geometry.geom_type == "MultiPolygon" for geometry in narrowed)


# --- pieces near the ends of an edge ---


@pytest.mark.parametrize("height", [0.0019, 3e-4])
def test_a_strip_at_the_end_of_two_sides_belongs_to_its_piece(height):
    region = Region(UNIT, {"low": lambda p: p[:, 1] < height, "others": "rest"})
    assert region.extent("low") == pytest.approx(1 + 2 * height, abs=1e-12)
    assert region.extent("others") == pytest.approx(3 - 2 * height, abs=1e-12)


def test_a_circle_is_cut_near_the_point_where_it_begins():
    region = Region(Disc((0, 0), 1), {"upper": lambda p: p[:, 1] > 0.005, "others": "rest"})
    assert region.extent("upper") == pytest.approx(np.pi - 2 * np.arcsin(0.005), abs=1e-11)


@pytest.mark.parametrize("radius", [0.5, 0.05, 0.005])
def test_an_arc_that_touches_a_line_is_no_part_of_it(radius):
    """It leaves the line y = 0 by less than 2e-9 for a ten-thousandth of its length."""
    bay = Box(x=(0, 2), y=(0, 1)) + Disc((2, radius), radius, name="cap")
    region = Region(bay, {"floor": lambda p: np.abs(p[:, 1]) <= 2e-9, "cap": "cap", "others": "rest"})
    assert [edge.length for edge in region.pieces["floor"]] == [2.0]
    assert region.extent("cap") == pytest.approx(np.pi * radius)


# --- rectangles ---


# --- pieces ---


# --- samples ---


# --- what is refused ---


def test_half_a_disc_is_what_a_disc_and_a_box_share():
    shape = Disc((0, 0), 1) & Box(x=(-1, 1), y=(0, 1))
    region = Region(shape, {"base": lambda p: np.abs(p[:, 1]) < 1e-9, "arc": "rest"})
    assert region.measure == pytest.approx(np.pi / 2, rel=1e-14)
    assert region.extent("arc") == pytest.approx(np.pi)
    assert region.bounds == ((-1.0, 0.0), (1.0, 1.0))
    with pytest.raises(SafeNetError, match="is empty"):
        Region(Disc((0, 0), 1) & Disc((3, 3), 1))
