"""φ = c Π {sin | cos}(ω x): order, count, values and the starting numbers, against the formulas by hand."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sympy import Eq, Function, symbols

import safenet as sn
from safenet import library
from safenet.features import FourierProducts, fourier_products
from safenet.features.base import image
from safenet.features.fourier import axis_pairs, decoupled_indices
from safenet.fields.derivatives import propagated
from safenet.problem import Problem

x, y, t = symbols("x y t")
u = Function("u")
KEY = jax.random.key(3)


def plate(width, height):
    """Three axes, u = 0 on all four sides."""
    U = u(x, y, t)
    return Problem(
        Eq(U.diff(t), U.diff(x, 2) + U.diff(y, 2)),
        domain={x: (-1, -1 + width), y: (0, height), t: (0, 1)},
        conditions=[
            *(Eq(U.subs(x, face), 0) for face in (-1, -1 + width)),
            *(Eq(U.subs(y, face), 0) for face in (0, height)),
            Eq(u(x, y, 0), 1),
        ],
    )


def products(problem, features=128, frequencies="harmonic", amplitudes="unit", dtype=jnp.float64):
    return fourier_products(problem, features, frequencies, amplitudes, key=KEY, dtype=dtype)


@pytest.mark.parametrize(
    ("axes", "order"),
    [
        (1, ["s", "c"]),
        (2, ["sc", "cs", "ss", "cc"]),
        (3, ["ssc", "scs", "scc", "css", "csc", "ccs", "sss", "ccc"]),
    ],
)
def test_products_stand_set_by_set_mixed_ones_first(axes, order):
    random = np.random.default_rng(0)
    omega, amplitude = random.normal(size=(3, axes)), random.normal(size=(3, 2**axes))
    origin, point = tuple(random.normal(size=axes).tolist()), random.normal(size=axes)
    features = FourierProducts(jnp.asarray(omega), jnp.asarray(amplitude), origin)
    wave = {"s": math.sin, "c": math.cos}
    expected = [
        amplitude[l, j]
        * math.prod(wave[w](omega[l, i] * (point[i] - origin[i])) for i, w in enumerate(pattern))
        for l in range(3)
        for j, pattern in enumerate(order)
    ]
    assert features.size == 3 * 2**axes
    np.testing.assert_allclose(features(jnp.asarray(point)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("problem", "asked", "sets"),
    [(library.wave(), 128, 32), (library.wave(), 131, 32), (library.wave(), 1, 1), (plate(1, 1), 128, 16)],
)
def test_the_number_asked_for_counts_products_not_sets(problem, asked, sets):
    features = products(problem, asked)
    assert features.omega.shape == (sets, len(problem.axes))
    assert features.size == sets * 2 ** len(problem.axes)


@pytest.mark.parametrize(
    ("problem", "length"),
    [
        (library.wave(), 1.0),
        (library.problem("burgers"), 2.0),
        (plate(3, 1), 3.0),
        (library.convection(), 1.0),
        (library.nh_heat(), 1.0),
        (library.problem("allen-cahn"), 1.0),
    ],
    ids=["wave", "burgers", "plate", "convection", "nh-heat", "allen-cahn"],
)
def test_harmonic_frequencies_are_multiples_of_pi_over_the_dirichlet_length(problem, length):
    features = products(problem, 32)
    index = np.arange(1, len(features.omega) + 1)
    for column in np.asarray(features.omega).T:
        np.testing.assert_allclose(column, index * math.pi / length, rtol=1e-15)
    assert features.origin == (0.0,) * len(problem.axes)


@pytest.mark.parametrize(
    ("problem", "auto", "long"),
    [
        (library.problem("burgers"), 2.0, 2.0),
        (library.convection(), 1.0, 2 * math.pi),  # no Dirichlet conditions: L is the length of x
        (plate(3, 2), 3.0, 3.0),
    ],
    ids=["burgers", "convection", "plate"],
)
def test_k_is_the_papers_rule_or_forced_to_1_or_l(problem, auto, long):
    for k, length in (("auto", auto), ("1", 1.0), ("L", long)):
        features = fourier_products(problem, 32, "harmonic", "unit", k, key=KEY, dtype=jnp.float64)
        np.testing.assert_allclose(features.omega[0], math.pi / length, rtol=1e-15)


def test_k_of_an_axis_is_its_own_length():
    features = fourier_products(plate(3, 2), 32, "harmonic", "unit", "axis", key=KEY, dtype=jnp.float64)
    np.testing.assert_allclose(features.omega[1], [2 * math.pi / 3, math.pi, 2 * math.pi], rtol=1e-15)


def test_box_frequencies_fit_each_axis_and_start_at_its_lower_end():
    problem = plate(3, 2)
    features = products(problem, 512, "box")
    assert features.origin == (-1.0, 0.0, 0.0)
    half_waves = np.asarray(features.omega) * np.array([3, 2, 1]) / math.pi
    np.testing.assert_allclose(half_waves, np.round(half_waves), atol=1e-13)
    assert half_waves.min() >= 1 - 1e-13
    # An all-sine product therefore vanishes on every face.
    sines = 2**3 - 2
    for corner in itertools.product((-1, 2), (0, 2)):
        values = features(jnp.array([*corner, 0.3])).reshape(-1, 8)
        np.testing.assert_allclose(values[:, sines], 0, atol=1e-12)


@pytest.mark.parametrize(("axes", "sets"), [(1, 7), (2, 32), (2, 5), (3, 16)])
def test_decoupled_indices_are_distinct_and_run_outwards_with_every_axis_alike(axes, sets):
    found = decoupled_indices(axes, sets)
    rows = list(map(tuple, found.astype(int).tolist()))
    assert len(set(rows)) == len(rows) == sets
    sizes = [math.prod(row) for row in rows]
    assert sizes == sorted(sizes)
    # Each set up to the last size that is complete comes with all its permutations: no axis is tied to another.
    complete = [row for row, size in zip(rows, sizes, strict=True) if size < sizes[-1]]
    assert all(other in rows for row in complete for other in itertools.permutations(row))


def test_decaying_amplitudes_are_the_inverse_square_of_the_highest_index():
    paired = products(library.wave(), 32, "harmonic", "decay")
    np.testing.assert_allclose(
        paired.amplitude, np.repeat(np.arange(1.0, 9.0)[:, None] ** -2, 4, axis=1), rtol=1e-15
    )
    boxed = products(library.wave(), 32, "box", "decay")
    highest = np.max(np.asarray(boxed.omega) / math.pi, axis=1)
    np.testing.assert_allclose(boxed.amplitude, np.repeat(highest[:, None] ** -2, 4, axis=1), rtol=1e-14)


def test_unit_amplitudes_are_one():
    assert np.all(np.asarray(products(library.wave()).amplitude) == 1)


SETS = 4096


@pytest.mark.parametrize(
    ("part", "name", "low", "high", "mean", "deviation"),
    [
        ("omega", "gaussian", -math.inf, math.inf, 0, math.pi),
        ("omega", "uniform", 0, 2 * math.pi, math.pi, 2 * math.pi / math.sqrt(12)),
        ("amplitude", "gaussian", -math.inf, math.inf, 0, 1),
        ("amplitude", "uniform", 0, 1, 0.5, 1 / math.sqrt(12)),
        # U(−√(6/n), √(6/n)) with n = 2 axes has variance (6/n)/3 = 1.
        ("amplitude", "xavier", -math.sqrt(3), math.sqrt(3), 0, 1),
    ],
)
def test_random_starts_have_the_moments_and_bounds_of_their_law(part, name, low, high, mean, deviation):
    choice = {"frequencies" if part == "omega" else "amplitudes": name}
    values = np.asarray(getattr(products(library.wave(), 4 * SETS, **choice), part)).ravel()
    error = deviation / math.sqrt(values.size)
    # Five standard errors of the mean, and of the deviation of a Gaussian (the others' is smaller).
    assert abs(values.mean() - mean) < 5 * error
    assert abs(values.std() - deviation) < 5 * error
    assert low <= values.min() < mean < values.max() <= high
    if math.isfinite(high):
        assert values.max() - values.min() > 0.99 * (high - low)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("frequencies", ["harmonic", "gaussian", "uniform", "box"])
def test_numbers_have_the_precision_asked_for(dtype, frequencies):
    features = products(library.wave(), 16, frequencies, "decay", dtype)
    assert features.omega.dtype == features.amplitude.dtype == dtype
    assert features(jnp.zeros(2, dtype)).dtype == dtype


def test_in_many_dimensions_products_are_of_two_axes_and_their_number_does_not_double():
    problem = many_dimensions(10)
    features = fourier_products(problem, 64, "box", "decay", key=KEY, dtype=jnp.float64)
    assert features.size == 64
    pairs = [part.axes for part in features.parts]
    assert {axis for pair in pairs for axis in pair} == set(range(10))
    assert len(set(pairs)) == len(pairs) == 16
    # Derivatives by the rules agree with those of the map itself.
    x = jnp.asarray(np.random.default_rng(0).random((10, 3)))
    zero = (0,) * 10
    first, second = (0, 1, *zero[2:]), (*zero[:3], 1, *zero[4:])
    orders = [zero, (1, *zero[1:]), (2, *zero[1:]), first, second, (0, 1, 0, 1, *zero[4:])]
    W = jnp.asarray(np.random.default_rng(1).normal(size=(2, 64)))
    by_rule, by_jax = image(features, W, x, orders), propagated(lambda p: W @ features(p), x, orders)
    for alpha in orders:
        np.testing.assert_allclose(
            np.broadcast_to(by_rule.get(alpha, 0.0), (2, 3)), by_jax[alpha], rtol=1e-10, atol=1e-10
        )


def many_dimensions(count):
    names = "abcdfghklm"[:count]
    laplacian = " + ".join(f"u_{name}{name}" for name in names)
    return sn.Problem(
        f"{laplacian} = 1",
        domain=dict.fromkeys(names, (0, 1)),
        conditions=["u = 0 on walls"],
        pieces={"walls": "rest"},
        unknowns=["u"],
    )


@pytest.mark.parametrize(("axes", "most"), list(itertools.product(range(4, 9), (1, 2, 5, 40))))
def test_every_axis_is_in_a_pair_however_few_there_are(axes, most):
    pairs = axis_pairs(axes, most)
    assert {axis for pair in pairs for axis in pair} == set(range(axes))
    assert len(pairs) == len(set(pairs)) <= max(most, axes - 1)
