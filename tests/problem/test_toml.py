"""A problem file: the form of the design, equality with the SymPy form, round trips, and every complaint."""

from __future__ import annotations

from pathlib import Path

import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from sympy import Eq, Function, Rational, pi, symbols
from toml_texts import CAVITY, WAVE, sympy_wave

from safenet.errors import SafeNetError
from safenet.problem import Problem, dumps, loads, read, write

# ---- the form


def test_wave_file_equals_its_sympy_form() -> None:
    assert loads(WAVE) == sympy_wave()
    assert hash(loads(WAVE)) == hash(sympy_wave())


def test_another_speed_is_another_problem() -> None:
    assert loads(WAVE.replace("c = 2", "c = 3").replace("exact", "#")) != sympy_wave()
    assert loads(WAVE.replace("t = [0, 1]", "t = [0, 2]")) != sympy_wave()
    assert loads(WAVE.replace('"u(1, t) = 0"', '"u_x(1, t) = 0"').replace("exact", "#")) != sympy_wave()


def test_a_single_unknown_may_have_its_exact_solution_as_a_text() -> None:
    text = 'unknowns = ["u"]\nequations = ["u_t = -u"]\nconditions = ["u(0) = 1"]\nexact = EXACT\n[domain]\nt = [0, 1]'
    assert loads(text.replace("EXACT", '"exp(-t)"')) == loads(text.replace("EXACT", '{ u = "exp(-t)" }'))
    with pytest.raises(SafeNetError, match="exact solution does not satisfy"):
        loads(text.replace("EXACT", '"exp(t)"'))
    with pytest.raises(SafeNetError, match="exact is not a table"):
        loads('exact = "x"\n' + CAVITY)


def test_inline_tables_dotted_keys_and_titles() -> None:
    problem = loads(CAVITY)
    assert problem.name == "cavity"
    assert problem.title == 'Lid-driven cavity, "steady"'
    assert problem.unknowns == ("u", "v", "p")
    assert problem.axis_names == ("x", "y")
    assert {s.name: v for s, v in problem.parameters.items()} == {"nu": Rational(1, 100), "L": 1}
    assert [c.kind for c in problem.conditions] == ["dirichlet"] * 8 + ["point"]


def test_decimals_are_the_numbers_written_not_their_float64() -> None:
    problem = loads(WAVE.replace("c = 2", "c = 1_0.1e-1").replace("exact", "#"))
    assert list(problem.parameters.values()) == [Rational(101, 100)]


def test_parameters_may_use_those_above_them_and_ends_may_use_parameters() -> None:
    text = WAVE.replace("c = 2", 'L = "2*pi"\nc = "L/pi"').replace("x = [0, 1]", 'x = [0, "L"]')
    problem = loads(text.replace("u(1, t)", "u(L, t)").replace("exact", "#"))
    assert problem.axes[0].upper == 2 * pi
    assert problem.parameters[sp.Symbol("c", real=True)] == 2
    assert problem.conditions[1].text == "u(2*pi, t) = 0"
    assert '"L"' in dumps(problem)
    assert problem.with_parameters(L=7).axes[0].hi == 7


def test_the_name_defaults_to_the_file() -> None:
    assert loads(WAVE.replace('name = "wave"', ""), "dir/my-wave.toml").name == "my-wave"


def test_a_file_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "wave.toml"
    path.write_bytes(b"\xef\xbb\xbf" + WAVE.replace("\n", "\r\n").encode())
    problem = read(path)
    write(problem, tmp_path / "again.toml")
    assert read(tmp_path / "again.toml") == problem
    assert problem.toml() == (tmp_path / "again.toml").read_text(encoding="utf-8")


def test_writing_keeps_name_title_parameters_and_exact() -> None:
    for text in (WAVE, CAVITY):
        problem = loads(text)
        again = loads(dumps(problem))
        assert again == problem
        assert (again.name, again.title) == (problem.name, problem.title)
        assert again.parameters == problem.parameters
        assert again.exact == problem.exact
        assert again.bounds == problem.bounds
        assert dumps(again) == dumps(problem)


@pytest.mark.parametrize(
    "formula",
    [
        "e**x",
        "exp(1)*x",
        "abs(x)",
        "max(x, 1/3, t)",
        "min(x, -t)",
        "sign(x)",
        "heaviside(x - t)",
        "heaviside(x - 1, 1)",
        "atan2(t - 2, x)",
        "where(x < 3/2, 1, 0)",
        "where(E/3 <= x < 3/2 or t > x**2, sin(x), where(x >= t, 2, E))",
        "x**(1/3)",
        "x**-1.5",
        "2**(1/3)*x",
        "E",
        "sqrt(2)*x/pi",
        "log(x + 1)",
        "(x + 1)/(x - 3)**2",
        "sech(x)",
        "cot(x + 1)",
        "atan(x)**2",
        "-x**2",
        "(-x)**2",
        "1/3",
        "1e-4*x",
        "exp(-x**2)",
        "1/sqrt(x)",
        "x**x",
        "2**-x",
        "sin(x)**2*cos(t)/7",
        "x/(x + 1)/3",
        "2*x*(pi + exp(1))",
    ],
)
def test_each_form_of_expression_survives_writing(formula: str) -> None:
    text = f"""
unknowns = ["u"]
equations = ["u_xx = {formula}"]
conditions = ["u(1, t) = 0"]
domain = {{ x = [1, 2], t = [1, 2] }}
parameters = {{ E = 3 }}
"""
    problem = loads(text)
    assert loads(dumps(problem)) == problem
    assert loads(text.replace(formula, problem.equations[0].text.split(" = ")[1])) == problem


def test_a_quantity_named_e_and_the_number_e_stay_apart() -> None:
    text = WAVE.replace("c = 2", "E = 2").replace("c**2", "E*exp(1)").replace("exact", "#")
    problem = loads(text)
    assert loads(dumps(problem)) == problem
    assert sp.E in problem.equations[0].residual.atoms()


def test_a_quantity_named_pi_beside_the_number_is_refused() -> None:
    x = symbols("x")
    u, named = Function("u")(x), sp.Symbol("pi")
    with pytest.raises(SafeNetError, match="the name of a constant"):
        Problem(Eq(u.diff(x), sp.pi * named), domain={x: (0, 1)}, parameters={named: 2})


def test_names_that_are_not_words_are_refused_when_written() -> None:
    x = sp.Symbol("x y")
    with pytest.raises(SafeNetError, match="'x y' is not a name"):
        dumps(Problem(Function("u")(x).diff(x) - 1, domain={x: (0, 1)}))


def test_greek_names_and_quotes_survive() -> None:
    x = sp.Symbol("ξ")
    problem = Problem(Function("φ")(x).diff(x) - 1, domain={x: (0, 1)}, name="φ-é_1", title='→ "b"\\é')
    again = loads(dumps(problem))
    assert (again, again.name, again.title) == (problem, problem.name, problem.title)


def test_a_lone_surrogate_is_no_name() -> None:
    x = sp.Symbol("x")
    with pytest.raises(SafeNetError, match="not a name"):
        Problem(Function("u")(x).diff(x) - 1, domain={x: (0, 1)}, name="\ud800")


# ---- round trips of made-up problems

FUNCTIONS = [sp.sin, sp.cos, sp.tanh, sp.exp, sp.sech, sp.Abs, sp.sign, sp.atan, sp.cosh, sp.Heaviside]
POSITIVE = [sp.sqrt, sp.log, lambda a: a ** Rational(1, 3), lambda a: a ** Rational(-3, 2)]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    names = draw(st.sampled_from([("x",), ("t",), ("x", "t"), ("x", "y", "t"), ("x1", "x2")]))
    fields = draw(st.sampled_from([("u",), ("u", "v"), ("h_1",)]))
    axes = [sp.Symbol(name) for name in names]
    c, energy = sp.Symbol("c"), sp.Symbol("E")
    functions = {field: sp.Function(field)(*axes) for field in fields}
    numbers = st.builds(Rational, st.integers(-9, 9), st.integers(1, 9)) | st.sampled_from(
        [sp.pi, sp.E, sp.Float(0.1), sp.Float("1e-4"), sp.sqrt(2)]
    )

    def grown(leaves: st.SearchStrategy[sp.Expr]) -> st.SearchStrategy[sp.Expr]:
        return st.recursive(
            leaves,
            lambda inner: (
                st.builds(lambda a, b: a + b, inner, inner)
                | st.builds(lambda a, b: a * b, inner, inner)
                | st.builds(lambda a, b: a / (2 + b**2), inner, inner)
                | st.builds(lambda a, n: a**n, inner, st.integers(2, 4))
                | st.builds(lambda f, a: f(a), st.sampled_from(FUNCTIONS), inner)
                | st.builds(lambda f, a: f(1 + a**2), st.sampled_from(POSITIVE), inner)
                | st.builds(sp.Max, inner, inner)
                | st.builds(sp.Min, inner, inner)
                | st.builds(sp.atan2, inner, inner)
                | st.builds(lambda a, b, c, d: sp.Piecewise((a, b < c), (d, True)), *4 * (inner,))
            ),
            max_leaves=6,
        )

    @st.composite
    def jets(draw: st.DrawFn) -> sp.Expr:
        jet = draw(st.sampled_from([*functions.values()]))
        for axis in draw(st.lists(st.sampled_from(axes), max_size=4)):
            jet = jet.diff(axis)
        return jet

    known = grown(numbers | st.sampled_from([*axes, c, energy]))
    formulas = grown(numbers | st.sampled_from([*axes, c]) | jets())
    on = {axis: (0, draw(st.sampled_from([1, 2 * sp.pi, sp.Float(0.3), c**2 + 1]))) for axis in axes}
    equations = [Eq(u.diff(axes[-1]), draw(formulas), evaluate=False) for u in functions.values()]
    where = []
    for _ in range(draw(st.integers(0, 3))):
        axis = draw(st.sampled_from(axes))
        end = draw(st.sampled_from(on[axis]))
        left, right = draw(jets()) + draw(st.sampled_from([0, 1])) * draw(jets()), draw(known)
        where.append(Eq(left.subs(axis, end), right.subs(axis, end), evaluate=False))
    for function in functions.values():
        for order in range(5 if names[-1] == "t" else 0):
            where.append(Eq(function.diff(axes[-1], order).subs(axes[-1], 0), order))
    return Problem(
        equations, domain=on, conditions=where, parameters={c: draw(numbers), energy: 2}, unknowns=fields
    )


@seed(1)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.data())
def test_reading_what_was_written_gives_the_same_problem(data: st.DataObject) -> None:
    try:
        problem = data.draw(problems())
    except SafeNetError:
        assume(False)
    again = loads(problem.toml())
    assert again == problem
    assert again.parameters == problem.parameters
    assert again.bounds == problem.bounds
    assert [c.kind for c in again.conditions] == [c.kind for c in problem.conditions]
    shown = [relation.text for relation in problem.equations + problem.conditions]
    assert [relation.text for relation in again.equations + again.conditions] == shown


# ---- complaints: what, where (file and line), and what to try


# ---- files
