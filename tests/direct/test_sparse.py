"""Many dimensions: a growing list of products of polynomials."""

import itertools

import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet.direct.sparse import first_indices, grown
from safenet.solving.auto import Auto

AXES = "abcd"
EXACT = "a**2 + b*exp(c) + cos(2*d)"


def poisson(exact=EXACT, source="2 + b*exp(c) - 4*cos(2*d)"):
    def at(axis, value):
        return (
            exact.replace("exp", "E")
            .replace("cos", "C")
            .replace(axis, str(value))
            .replace("E", "exp")
            .replace("C", "cos")
        )

    sides = [
        f"u({', '.join(str(v) if x == axis else x for x in AXES)}) = {at(axis, v)}"
        for axis in AXES
        for v in (0, 1)
    ]
    laplacian = " + ".join(f"u_{x}{x}" for x in AXES)
    domain = ", ".join(f"{x} = [0, 1]" for x in AXES)
    return sn.loads(
        f'unknowns = ["u"]\nequations = ["{laplacian} = {source}"]\nconditions = {sides}\n'.replace("'", '"')
        + f'exact = {{ u = "{exact}" }}\ndomain = {{ {domain} }}\n'
    )


def test_a_sum_of_functions_of_few_variables_is_found_to_many_digits(tmp_path):
    problem = poisson()
    assert "sparse" in {solver.name for solver in Auto().choice(problem)[0]}
    sol = sn.solve(problem, sn.Sparse(tolerance=1e-5), out=tmp_path / "run")
    assert sol.result.outcome == "solved"
    assert sol.result.l2re < 1e-6
    assert sol.result.l2re < sol.result.estimate < 1e-4
    assert len(sol.field.indices) < 6**4 / 4  # a grid of degree 5
    again = sn.load(tmp_path / "run")
    place = dict.fromkeys(AXES, 0.3)
    assert again(**place) == sol(**place)
    assert sol.diff("d", 2)(**place) == pytest.approx(-4 * np.cos(0.6), abs=1e-4)


def test_a_list_grows_by_what_explains_the_residual_and_next_to_what_is_large():
    indices = first_indices(3)
    assert len(indices) == 10
    large = np.where((indices == [0, 0, 2]).all(axis=1), 1.0, 1e-8)[:, None]

    def shares(near):
        return np.where((near == [2, 2, 0]).all(axis=1), 0.9, 1e-9)

    more = {tuple(k) for k in grown(indices, large, shares).tolist()}
    assert {tuple(k) for k in indices.tolist()} < more
    assert (2, 2, 0) in more  # two steps from (2, 0, 0), whatever lies between
    assert {(0, 0, 3), (0, 0, 4)} < more
    assert len(more) <= 30


def test_an_even_product_of_four_axes_is_found_without_what_lies_between():
    """On [−1, 1]⁴ the product a b c d is one of Chebyshev's; every list without it has the error 1."""
    problem = sn.loads(
        'unknowns = ["u"]\nequations = ["u_aa + u_bb + u_cc + u_dd = 0"]\n'
        + 'conditions = ["u = a*b*c*d on walls"]\nexact = { u = "a*b*c*d" }\npieces = { walls = "rest" }\n'
        + "domain = { a = [-1, 1], b = [-1, 1], c = [-1, 1], d = [-1, 1] }\n"
    )
    sol = sn.solve(problem, "sparse")
    assert sol.result.l2re < 1e-12
    assert len(sol.field.indices) < 200


def test_what_is_not_smooth_or_not_linear_is_refused():
    assert "not linear" in sn.Sparse().obstacle(
        sn.loads(poisson().toml().replace("u_aa", "u*u_aa").replace("exact", "#"))
    )
    assert "fewer" in sn.Sparse().obstacle(
        sn.loads(
            'unknowns = ["u"]\nequations = ["u_x = 1"]\nconditions = ["u(0) = 0"]\ndomain = { x = [0, 1] }'
        )
    )


def test_heat_in_five_dimensions_is_a_list_of_products_and_no_grid():
    """The coarsest grid would have eleven million values in a slab."""
    axes, u = "abcde", "a**2 + b*c + exp(d + t) + e + 2*t"
    conditions = []
    for axis, end in itertools.product(axes, "01"):
        place = ", ".join(end if one == axis else one for one in axes)
        conditions.append(f"u({place}, t) = {sp.sympify(u).subs(axis, int(end))}")
    problem = sn.Problem(
        f"u_t = {' + '.join(f'u_{one}{one}' for one in axes)}",
        domain={**dict.fromkeys(axes, (0, 1)), "t": (0, 1)},
        conditions=["u(a, b, c, d, e, 0) = a**2 + b*c + exp(d) + e", *conditions],
    )
    assert "values" in sn.March(on="grid").obstacle(problem)
    assert "sparse" in [solver.name for solver in sn.Auto().choice(problem)[0]]
    assert "march" not in [solver.name for solver in sn.Auto().choice(problem)[0]]
