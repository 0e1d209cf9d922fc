"""Symbols and branches against the textbook: wave, convection, heat, Klein–Gordon, Schrödinger, KdV, plates, Stokes."""

import numpy as np
import pytest
import sympy as sp

from safenet import library
from safenet.errors import SafeNetError
from safenet.problem import loads
from safenet.problem.facts.dispersion import symbol

K = sp.Symbol("k_x", positive=True)


def problem(equations, unknowns="u", space="x"):
    """The equations on a unit box with as many initial values as they need."""
    arguments = ", ".join(space)
    zero = [
        f"{u}{'_' + 't' * n if n else ''}({arguments}, 0) = 0"
        for u in unknowns
        for n in range(2 if any(f"{u}_tt" in equation for equation in equations) else 1)
    ]
    listed = ", ".join(f'"{line}"' for line in zero)
    return loads(
        f"unknowns = {list(unknowns)}\nequations = {equations}\nconditions = [{listed}]\n[domain]\n".replace(
            "'", '"'
        )
        + "\n".join(f"{axis} = [0, 1]" for axis in (*space, "t"))
    )


TEXTBOOK = {
    "wave": (["u_tt = 4*u_xx"], "u", [2 * sp.I * K, -2 * sp.I * K]),
    "convection": (["u_t + 50*u_x = 0"], "u", [-50 * sp.I * K]),
    "heat": (["u_t = u_xx/10"], "u", [-(K**2) / 10]),
    "Klein–Gordon": (
        ["u_tt = 4*u_xx - 9*u"],
        "u",
        [sp.I * sp.sqrt(4 * K**2 + 9), -sp.I * sp.sqrt(4 * K**2 + 9)],
    ),
    "Schrödinger": (["u_t = -v_xx/2", "v_t = u_xx/2"], "uv", [sp.I * K**2 / 2, -sp.I * K**2 / 2]),
    "KdV": (["u_t + u_xxx = 0"], "u", [sp.I * K**3]),
    "convection and diffusion": (["u_t + 3*u_x = u_xx/7"], "u", [-3 * sp.I * K - K**2 / 7]),
    "telegraph": (["u_tt + 2*u_t + u = u_xx"], "u", [-1 + sp.I * K, -1 - sp.I * K]),
    "acoustics": (["u_t = -p_x", "p_t = -9*u_x"], "up", [3 * sp.I * K, -3 * sp.I * K]),
}


@pytest.mark.parametrize("name", TEXTBOOK)
def test_branches_are_those_of_the_textbook(name):
    equations, unknowns, expected = TEXTBOOK[name]
    relation = symbol(problem(equations, unknowns))
    for k in (0.7, 3.0):
        want = sorted((complex(s.subs(K, k)) for s in expected), key=lambda s: s.imag)
        found = sorted(relation.modes(1, np.array([[1j * k, 0]])).exponent, key=lambda s: s.imag)
        np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-14)


def applied(relation, branches, waves, along, z):
    """M(∂) u/e^{κ·x} of each mode, from the definition: ∂_s acts on the powers as s + d/dz."""
    s, t = relation.exponents[along], sp.Symbol("t")
    worst = 0.0
    for wave, exponent, c in zip(branches.wave, branches.exponent, branches.coefficients, strict=True):
        at = {kappa: waves[wave, i] for i, kappa in enumerate(relation.exponents) if i != along}
        entries = relation.matrix.subs(at)
        size = (
            max(abs(complex(entry.subs(s, exponent))) for entry in entries)
            + sum(abs(x) for x in at.values())
            + 1
        )
        for row in range(entries.shape[0]):
            total = 0
            for f in range(entries.shape[1]):
                u = sp.exp(exponent * t) * sum(c[f, j] * t**j / sp.factorial(j) for j in range(c.shape[1]))
                for (n,), a in sp.Poly(entries[row, f], s).terms():
                    total += a * u.diff(t, n)
            worst = max(worst, abs(complex(total.subs(t, z) / sp.exp(exponent * z).evalf())) / size)
    return worst


@pytest.mark.parametrize(
    ("equations", "unknowns", "k", "count", "powers"),
    [
        (["u_tt = 4*u_xx"], "u", 0.0, 2, 2),  # 1 and t
        (["u_tt + 2*u_t + u = u_xx"], "u", 0.0, 2, 2),  # e^{−t} and t e^{−t}
        (["u_tt + 2*u_t = u_xx"], "u", 1.0, 2, 2),  # critically damped at k = 1
        (["u_t = -p_x", "p_t = -u_x"], "up", 0.0, 2, 1),  # a double root, but two constants: no power of t
        (["u_t = v", "v_t = u_xx"], "uv", 0.0, 2, 2),  # the wave equation as a system: a Jordan block
        (["u_t = u_xx", "v_t = v_xx + u"], "uv", 2.0, 2, 2),  # resonance
    ],
)
def test_multiple_roots_bring_powers_where_there_are_too_few_vectors(equations, unknowns, k, count, powers):
    relation = symbol(problem(equations, unknowns))
    waves = np.array([[1j * k, 0]])
    found = relation.modes(1, waves)
    assert len(found.exponent) == count
    used = np.abs(found.coefficients) > 1e-9
    assert used.any(axis=(0, 1)).sum() == powers
    assert np.linalg.matrix_rank(found.coefficients.reshape(count, -1)) == count
    assert applied(relation, found, waves, 1, 0.3) < 1e-13


def test_three_equal_roots_are_recognised_though_rounding_spreads_them():
    relation = symbol(
        loads("""
unknowns = ["u"]
equations = ["u_ttt + 3*u_tt + 3*u_t + u = 0"]
conditions = ["u(0) = 1", "u_t(0) = 0", "u_tt(0) = 0"]
domain = { t = [0, 1] }
""")
    )
    found = relation.modes(0, np.zeros((1, 1), complex))
    np.testing.assert_allclose(found.exponent, -1, rtol=1e-13)
    np.testing.assert_array_equal(np.abs(found.coefficients).argmax(axis=2)[:, 0], [0, 1, 2])


def test_roots_of_very_different_size_are_both_exact():
    """s² + 10⁶ s + 10³ = 0: eigenvalues alone would lose seven digits of the small root."""
    relation = symbol(problem(["u_tt + 1000000*u_t + 1000*u = u_xx"]))
    found = relation.modes(1, np.zeros((1, 2), complex))
    small = found.exponent[np.argmin(np.abs(found.exponent))]
    exact = sp.Rational(-(10**6), 2) + sp.sqrt(sp.Integer(10) ** 12 / 4 - 1000)
    assert small.real == pytest.approx(float(exact.evalf(40)), rel=1e-14)


def test_steady_equations_have_branches_along_either_axis():
    laplace = symbol(library.problem("helmholtz"))  # κ_x² + κ_y² + 1
    along_y = laplace.modes(1, np.array([[2j, 0]])).exponent
    np.testing.assert_allclose(sorted(along_y.real), [-np.sqrt(3), np.sqrt(3)], rtol=1e-14)
    along_x = laplace.modes(0, np.array([[0, 0.6j]])).exponent
    np.testing.assert_allclose(sorted(along_x.imag), [-0.8, 0.8], rtol=1e-14)


def test_stokes_flow_decays_and_its_free_pressure_is_left_out():
    stokes = symbol(
        problem(["u_t = u_xx + u_yy - p_x", "v_t = v_xx + v_yy - p_y", "u_x + v_y = 0"], "uvp", "xy")
    )
    waves = np.array([[1j, 2j, 0], [0, 0, 0]])
    found = stokes.modes(2, waves)
    np.testing.assert_array_equal(found.wave, [0])  # at k = 0 any pressure p(t) will do
    np.testing.assert_allclose(found.exponent, [-5], rtol=1e-13)
    assert applied(stokes, found, waves, 2, 0.1) < 1e-13


def test_a_nonlinear_equation_has_the_symbol_of_its_linear_part():
    burgers = symbol(library.problem("burgers"))
    (s,) = burgers.modes(1, np.array([[2j, 0]])).exponent
    assert s == pytest.approx(-0.04 / np.pi, rel=1e-15)


@pytest.mark.parametrize(
    ("equations", "unknowns", "complaint"),
    [
        (["u_t = (1 + x)*u_xx"], "u", "not constant"),
        (["u_t = u_xx", "u_x = u"], "u", "2 equations for 1 unknowns"),
        (["u_t - u_xx + v_x = 0", "2*u_t - 2*u_xx + 2*v_x = 0"], "uv", "leaves every wave free"),
    ],
)
def test_what_has_no_dispersion_relation_is_refused(equations, unknowns, complaint):
    with pytest.raises(SafeNetError, match=complaint):
        symbol(problem(equations, unknowns))
