"""Many dimensions: a growing list of products of polynomials."""

import numpy as np
import pytest

import safenet as sn
from safenet.direct.many.sparse import first_indices, grown
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


def test_a_list_holds_all_that_is_lower_and_grows_next_to_what_is_large():
    indices = first_indices(3)
    assert len(indices) == 10
    size = np.where((indices == [0, 0, 2]).all(axis=1), 1.0, 1e-8)[:, None]
    more = {tuple(k) for k in grown(indices, size).tolist()}
    assert (0, 0, 3) in more
    assert (0, 0, 4) in more
    for k in more:
        for i in range(3):
            assert k[i] == 0 or (*k[:i], k[i] - 1, *k[i + 1 :]) in more


def test_what_is_not_smooth_or_not_linear_is_refused():
    assert "not linear" in sn.Sparse().obstacle(
        sn.loads(poisson().toml().replace("u_aa", "u*u_aa").replace("exact", "#"))
    )
    assert "fewer" in sn.Sparse().obstacle(
        sn.loads(
            'unknowns = ["u"]\nequations = ["u_x = 1"]\nconditions = ["u(0) = 0"]\ndomain = { x = [0, 1] }'
        )
    )
