"""A problem file: the form of the design, equality with the SymPy form, round trips, and every complaint."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from sympy import Eq, Function, Rational, pi, sin, symbols

from safenet.errors import Place, SafeNetError
from safenet.problem import Problem, dumps, loads, read, write
from safenet.problem.language.lines import lines
from safenet.problem.toml import MAX_BYTES

WAVE = """\
name = "wave"
unknowns = ["u"]
equations = ["u_tt = c**2*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x) + sin(4*pi*x)/2", "u_t(x, 0) = 0"]
exact = { u = "sin(pi*x)*cos(2*pi*t) + sin(4*pi*x)*cos(8*pi*t)/2" }      # optional, checked
[domain]                              # in the order of the arguments; t last where there is time
x = [0, 1]                            # numbers, or expressions in quotes: [0, "2*pi"]
t = [0, 1]
[parameters]                          # optional
c = 2
"""

CAVITY = """\
name = "cavity"
title = "Lid-driven cavity, \\"steady\\""
unknowns = ["u", "v", "p"]
equations = [
    "u*u_x + v*u_y + p_x = nu*(u_xx + u_yy)",
    "u*v_x + v*v_y + p_y = nu*(v_xx + v_yy)",
    "u_x + v_y = 0",
]
conditions = [
    "u(x, 1) = 1", "v(x, 1) = 0",
    "u(x, 0) = 0",
    "v(x, 0) = 0",
    # the sides
    'u(0, y) = 0', 'v(0, y) = 0', 'u(1, y) = 0', 'v(1, y) = 0',
    "p(0, 0) = 0",
]
domain = { x = [0, 1], y = [0.0, "L"] }
parameters.nu = 1e-2
parameters.L = "cos(0)"
"""


def sympy_wave() -> Problem:
    x, t = symbols("x t")
    u = Function("u")
    return Problem(
        Eq(u(x, t).diff(t, 2), 4 * u(x, t).diff(x, 2)),
        domain={x: (0, 1), t: (0, 1)},
        conditions=[
            Eq(u(0, t), 0),
            Eq(u(1, t), 0),
            Eq(u(x, 0), sin(pi * x) + sin(4 * pi * x) / 2),
            Eq(u(x, t).diff(t).subs(t, 0), 0),
        ],
    )


def complaint(text: str) -> SafeNetError:
    with pytest.raises(SafeNetError) as caught:
        loads(text, "my.toml")
    return caught.value


# ---- the form


def test_wave_file_equals_its_sympy_form() -> None:
    assert loads(WAVE) == sympy_wave()
    assert hash(loads(WAVE)) == hash(sympy_wave())


def test_another_speed_is_another_problem() -> None:
    assert loads(WAVE.replace("c = 2", "c = 3").replace("exact", "#")) != sympy_wave()
    assert loads(WAVE.replace("t = [0, 1]", "t = [0, 2]")) != sympy_wave()
    assert loads(WAVE.replace('"u(1, t) = 0"', '"u_x(1, t) = 0"').replace("exact", "#")) != sympy_wave()


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


def test_a_quantity_named_pi_beside_the_number_cannot_be_written() -> None:
    x = symbols("x")
    u, named = Function("u")(x), sp.Symbol("pi")
    problem = Problem(Eq(u.diff(x), sp.pi * named), domain={x: (0, 1)}, parameters={named: 2})
    with pytest.raises(SafeNetError, match="another problem"):
        dumps(problem)


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


@pytest.mark.parametrize(
    ("change", "line", "message", "remedy"),
    [
        (("u_xx", "u_zz"), 3, "u_zz is not a derivative of u", "axes are x, t"),
        (("c**2*", "2c*"), 3, "a sign is missing before 'c'", "2*c"),
        (("c**2", "k**2"), 3, "'k' is not known", "parameters"),
        (('"u(1, t) = 0"', '\n  "u(1, t) == 0 = 1"'), 5, "column 14: a second '='", "one equation"),
        (('"u(1, t) = 0"', '\n\n"u(2, t) = 0"'), 6, "condition 2 is placed at x = 2, outside", "widen"),
        (('sin(4*pi*x)/2"', 'sin(3*pi*x)/2"'), 4, "does not satisfy condition 3", "terms are u(x, 0) →"),
        ((', "u_t(x, 0) = 0"', ""), 4, "2 time derivatives but 1 initial", "u_t(x, 0)"),
        (('u = "sin', 'v = "sin'), 5, "the exact solution lacks the unknown u", "u ="),
        (("*cos(2*pi*t)", "*u"), 5, "the exact solution of u, column 11: the name 'u' is not", "known: "),
        (("*cos(2*pi*t)", "*/2"), 5, "'*' is followed by '/'", "one of the two"),
        (("x = [0, 1]", "x = [1, 0]"), 7, "empty or reversed", "x = [0, 1]"),
        (("x = [0, 1]", "x = [0, 0]"), 7, "empty or reversed", "widen"),
        (("x = [0, 1]", "x = [0, 1, 2]"), 7, "not a pair", "x = [0, 1]"),
        (("x = [0, 1]", "x = 1"), 7, "not a pair", "x = [0, 1]"),
        (("x = [0, 1]", 'x = [0, "2*"]'), 7, "the upper end of x, column 2: '*' has nothing", "add"),
        (("x = [0, 1]", 'x = [0, "t"]'), 7, "'t' is not known", "known: c, e, pi"),
        (("x = [0, 1]", "x = [0, true]"), 7, "the upper end of x is neither a number nor text", "in quotes"),
        (("x = [0, 1]", "x = [nan, 1]"), 7, "not a finite number", "1e300"),
        (("x = [0, 1]", "x = [0, 1e400]"), 7, "out of range", "1e300"),
        (("x = [0, 1]", '"x 1" = [0, 1]'), 7, "'x 1' is not a name", "letters"),
        (("c = 2", "c = inf"), 10, "the parameter c is not a finite number", "1e300"),
        (("c = 2", "c = 0x" + "f" * 2000), 10, "not a finite number", "1e300"),
        (("c = 2", "c = 1979-05-27"), 10, "neither a number nor text", "in quotes"),
        (("c = 2", 'c = "sqrt(-1)"'), 10, "not real", "sign"),
        (("c = 2", 'c = "1/0"'), 10, "division by zero", "denominator"),
        (("c = 2", 'c = "x"'), 10, "'x' is not known", "parameters"),
        (("c = 2", "c = 2\nu_t = 1"), 11, "'u_t' already means a derivative of u", "rename"),
        (("c = 2", "c = 2\nsin = 1"), 11, "the parameter 'sin' has the name of a function", "rename"),
        (
            ("c = 2", "c = 2\n[pieces]\nwalls = 'x < 1/2'"),
            6,
            "shapes and pieces are for two axes of space",
            "leave",
        ),
        (
            ('"u(1, t) = 0"', '\n"u(0, t) = 1"'),
            5,
            "conditions 1 (u(0, t) = 0) and 2 (u(0, t) = 1) con",
            "leave",
        ),
        (("c = 2", "c = 2\nx = 1"), 11, "'x' is named twice: axis and parameter", "rename"),
        (("c = 2", "c = 2\nname = 'w'"), 11, "name stands under [parameters]", "above"),
        (('unknowns = ["u"]', "unknowns = 'u'"), 2, "unknowns is not a list", 'unknowns = ["u"]'),
        (('unknowns = ["u"]', "unknowns = ['u',\n\n'w']"), 4, "the unknown w appears in no equation", "add"),
        (('unknowns = ["u"]', "unknowns = ['u', 'u']"), 2, "'u' is named twice", "rename"),
        (('unknowns = ["u"]', "unknown = ['u']"), 2, "unknown key 'unknown'", "did you mean 'unknowns'"),
        (('unknowns = ["u"]', ""), None, "unknowns is missing", 'unknowns = ["u"]'),
        (('["u_tt = c**2*u_xx"]', '"u_tt = u_xx"'), 3, "equations is not a list", "equations = ["),
        (('["u_tt = c**2*u_xx"]', "[1.5]"), 3, "equations[0] is not text", "equations = ["),
        (('["u_tt = c**2*u_xx"]', "[]"), 3, "equations is missing", "equations = ["),
        (('"u_tt = c**2*u_xx"', '""'), 3, "equation 1 is empty", "u_t = u_xx"),
        (('"u_tt = c**2*u_xx"', '"u = 1",' * 300), 3, "300 entries", ""),
        (('name = "wave"', "name = 3"), 1, "name is not text", 'name = "…"'),
        (("[parameters]", "[parameter]"), 9, "unknown key 'parameter'", "did you mean 'parameters'"),
        (("[parameters]", "parameters"), None, "not valid TOML: Expected '='", "quotes"),
        (("t = [0, 1]\n", "t = [0, 1]\nt = [0, 1]\n"), None, "at line 9", "once"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    change: tuple[str, str], line: int | None, message: str, remedy: str
) -> None:
    assert change[0] in WAVE
    error = complaint(WAVE.replace(*change, 1))
    place = "my.toml: " if line is None else f"my.toml, line {line}: "
    assert error.message.startswith(place)
    assert message in error.message
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("change", "path", "line", "column"),
    [
        (("u_xx", "w_xx"), ("equations", 0), 3, 12),
        (('"u(1, t) = 0"', '\n"u(1, t) = 0*"'), ("conditions", 1), 5, 11),
        (('"u(1, t) = 0"', '\n"u(2, t) = 0"'), ("conditions", 1), 5, None),
        (("cos(2*pi*t)", "cos(3*pi*t)"), ("equations", 0), 3, None),
        (("x = [0, 1]", "x = [1, 0]"), ("domain", "x"), 7, None),
        (("c = 2", "c = '1/0'"), ("parameters", "c"), 10, 2),
        (("c = 2", "c = 2\nu_x = 1"), ("parameters", "u_x"), 11, None),
        (('unknowns = ["u"]', "unknowns = ['u', 'u_x']"), ("unknowns", 1), 2, None),
        (("[parameters]", "parameters"), (), None, None),
    ],
)
def test_an_error_carries_its_place_as_data(
    change: tuple[str, str], path: tuple[str | int, ...], line: int | None, column: int | None
) -> None:
    assert change[0] in WAVE
    assert complaint(WAVE.replace(*change, 1)).where == Place(path, column, "my.toml", line)


def test_the_place_does_not_depend_on_the_words_of_the_message() -> None:
    """A name that sounds like another place is none: nothing is searched in a message."""
    error = complaint(WAVE.replace("c**2*", "").replace("c = 2", "c = 2\n'the exact solution of u' = 1"))
    assert error.where.path == ("parameters", "the exact solution of u")


def test_a_place_is_known_without_a_file() -> None:
    x, u = symbols("x"), Function("u")
    with pytest.raises(SafeNetError) as caught:
        Problem(Eq(u(x).diff(x), 1), domain={x: (0, 1)}, conditions=[Eq(u(0), 0), Eq(u(2), 0)])
    assert caught.value.where == Place(("conditions", 1))


def test_equations_below_a_table_are_told_apart_from_missing_ones() -> None:
    error = complaint("[domain]\nx = [0, 1]\nunknowns = ['u']\nequations = ['u_x = 1']\n")
    assert error.message == "my.toml, line 3: unknowns stands under [domain]"


def test_a_problem_without_a_domain() -> None:
    assert "the domain is missing" in complaint('unknowns = ["u"]\nequations = ["u = 1"]').message


def test_lines_of_every_value() -> None:
    found = lines(CAVITY)
    text = CAVITY.split("\n")
    assert '"u_x + v_y = 0"' in text[found["equations", 2] - 1]
    assert "'u(1, y) = 0'" in text[found["conditions", 6] - 1]
    assert "p(0, 0)" in text[found["conditions", 8] - 1]
    assert "domain =" in text[found["domain", "y"] - 1]
    assert "parameters.L" in text[found["parameters", "L"] - 1]
    block = 'a = """\n"x" [ = \\"""\n"""\nb = \'\'\'\n]\n\'\'\'\n"q.r" = 1 # c = 2\n[t."s"]\nd = { e = 1 }'
    table = {("t", "s"): 8, ("t", "s", "d"): 9, ("t", "s", "d", "e"): 9}
    assert lines(block) == {("a",): 1, ("b",): 4, ("q.r",): 7, **table}


# ---- files


def test_a_missing_file_suggests_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "wave.toml").write_text(WAVE)
    with pytest.raises(SafeNetError, match=r"there is no file .*wav\.toml") as caught:
        read(tmp_path / "wav.toml")
    assert "did you mean 'wave.toml'" in caught.value.remedy
    with pytest.raises(SafeNetError, match="there is no file"):
        read(tmp_path / "nowhere" / "wave.toml")


def test_what_is_not_a_readable_text_file(tmp_path: Path) -> None:
    with pytest.raises(SafeNetError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(SafeNetError, match="cannot read"):
        read("a\0b")
    with pytest.raises(SafeNetError, match="cannot read"):
        read("x" * 5000)
    (tmp_path / "latin.toml").write_bytes(b'name = "a"\ntitle = "\xe9"\n')
    with pytest.raises(SafeNetError, match="line 2: not UTF-8"):
        read(tmp_path / "latin.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(SafeNetError, match="larger than 1 MiB"):
        read(tmp_path / "large.toml")
    with pytest.raises(SafeNetError, match="larger than 1 MiB"):
        loads("#" * (MAX_BYTES + 1))
    with pytest.raises(SafeNetError, match="cannot write"):
        write(sympy_wave(), tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="an endless file")
def test_an_endless_file_is_refused() -> None:
    with pytest.raises(SafeNetError, match="larger than"):
        read("/dev/zero")
