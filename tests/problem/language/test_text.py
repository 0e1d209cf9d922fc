"""The text form: what it means, and the sentence for everything it is not."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy import Derivative, Function, Rational, Subs

from safenet.errors import SafeNetError
from safenet.problem import Problem
from safenet.problem.jets import coordinate
from safenet.problem.language.names import MAX_NAMES
from safenet.problem.language.notation import FUNCTIONS, written
from safenet.problem.language.text import MAX_ORDER, Names, parse_expression, parse_relation
from safenet.problem.language.tokens import MAX_DEPTH, MAX_LENGTH, MAX_TOKENS

x, y, t, c = (coordinate(name) for name in "xytc")
u, v = Function("u"), Function("v")
NAMES = Names(("x", "t"), ("u", "v"), ("c", "lambda"))


def side(text: str, names: Names = NAMES) -> sp.Expr:
    """The right side of u = text."""
    return parse_relation(f"u = {text}", names, "equation 1").rhs


def complaint(text: str, names: Names = NAMES) -> SafeNetError:
    with pytest.raises(SafeNetError) as caught:
        parse_relation(text, names, "equation 1")
    return caught.value


# ---- meaning


def test_an_equation_is_an_unevaluated_eq_of_sympy_derivatives() -> None:
    expected = sp.Eq(Derivative(u(x, t), (t, 2)), c**2 * Derivative(u(x, t), (x, 2)), evaluate=False)
    assert parse_relation("u_tt = c**2*u_xx", NAMES, "") == expected
    assert parse_relation(" u_tt==c^2 * u_xx\n", NAMES, "") == expected
    assert parse_relation("diff(u, t, 2) = c**2*diff(u, x, x)", NAMES, "") == expected
    assert parse_relation("u_tt(x, t) = c²·diff(diff(u(x, t), x), x)", NAMES, "") == expected
    assert isinstance(parse_relation("u = u", NAMES, ""), sp.Eq)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u(0, t)", u(0, t)),
        ("u(2*pi, t)", u(2 * sp.pi, t)),
        ("u(c, t)", u(c, t)),
        ("v(0, 0)", v(0, 0)),
        ("u_t(x, 0)", Subs(Derivative(u(x, t), t), t, 0)),
        ("u_xx(1/2, 0)", Subs(Derivative(u(x, t), (x, 2)), (x, t), (Rational(1, 2), 0))),
        ("u_x(1, t) + 4*u(1, t)", 4 * u(1, t) + Subs(Derivative(u(x, t), x), x, 1)),
        ("u_xt - u_tx", 0),
        ("u_xtx", Derivative(u(x, t), (x, 2), t)),
        ("diff(u*u_x, x)", u(x, t) * Derivative(u(x, t), (x, 2)) + Derivative(u(x, t), x) ** 2),
        ("diff(c*sin(x)*u, x)", (c * sp.sin(x) * u(x, t)).diff(x)),
        ("diff(v, x, 2, t)", v(x, t).diff(x).diff(x).diff(t)),
    ],
)
def test_unknowns_places_and_derivatives(text: str, expected: sp.Expr) -> None:
    assert side(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", Rational(1, 10)),
        ("1e-4", Rational(1, 10_000)),
        ("1.50E+2", 150),
        (".5", Rational(1, 2)),
        ("2.", 2),
        ("1e0000000000000000000000001", 10),
        ("1/3 + 1/6", Rational(1, 2)),
        ("2**-2", Rational(1, 4)),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("2 - 3 - 4", -5),
        ("2/3/4", Rational(1, 6)),
        ("2 - -3", 5),
        ("--2", 2),
        ("e**2 - exp(2)", 0),
        ("E - e", 0),
        ("π − pi", 0),
        ("2×3÷4", Rational(3, 2)),
        ("x²³", x**23),
        ("-x²", -(x**2)),
        ("lambda*x", coordinate("lambda") * x),
        ("ln(x) - log(x)", 0),
        ("sqrt(x)", x ** Rational(1, 2)),
        ("Abs(x) - abs(x)", 0),
        ("max(x, t, 1) - Max(1, t, x)", 0),
        ("x**0.5**2", x ** Rational(1, 4)),
        ("(x + 1)*(x - 1)", (x + 1) * (x - 1)),
    ],
)
def test_numbers_are_exact_and_operators_bind_as_usual(text: str, expected: sp.Expr) -> None:
    assert side(text) == expected


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_the_list(name: str) -> None:
    arguments = (x, t) if name in ("max", "min", "atan2") else (x,)
    text = f"{name}({', '.join(map(str, arguments))})"
    assert side(text) == FUNCTIONS[name](*arguments)
    assert parse_expression(written(side(text)), NAMES, "") == FUNCTIONS[name](*arguments)


def test_a_quantity_may_be_called_e_in_capitals_and_an_axis_e() -> None:
    names = Names(("x", "e"), ("u",), ("E",))
    assert parse_expression("e*E*pi", names, "") == coordinate("e") * coordinate("E") * sp.pi
    assert parse_expression("E", Names(("x",), ("u",), ()), "") == sp.E


def test_axes_of_several_letters_are_told_apart() -> None:
    names = Names(("x1", "x", "x10"), ("u", "u_1"))
    X = [coordinate(name) for name in names.axes]
    assert side("u_x1x", names) == Derivative(u(*X), X[0], X[1])
    assert side("u_x10xx1", names) == Derivative(u(*X), *X)
    assert side("u_1_x10", names) == Derivative(Function("u_1")(*X), X[2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("x", "xx"), ("u",), ()), "'xx' is spelt like"),
        ((("a", "b", "ab"), ("u",), ()), "'ab' is spelt like"),
        ((("x",), ("u", "u_x"), ()), "'u_x' already means a derivative of u"),
        ((("x",), ("u",), ("u_xx",)), "'u_xx' already means"),
        ((("x",), ("x",), ()), "named twice: axis and unknown"),
        ((("x",), ("u",), ("u",)), "named twice: unknown and parameter"),
        ((("2x",), (), ()), "the axis '2x' is not a name"),
        ((("x",), ("u v",), ()), "the unknown 'u v' is not a name"),
        ((("x",), ("",), ()), "is not a name"),
        ((("x",), ("u",), ("diff",)), "the name of a function"),
        ((("x",), ("u",), tuple(f"k{i}" for i in range(MAX_NAMES + 1))), "65 names"),
    ],
)
def test_names_must_be_words_with_one_meaning(arguments: tuple[tuple[str, ...], ...], message: str) -> None:
    with pytest.raises(SafeNetError, match=message):
        Names(*arguments)


def test_a_derivative_that_reads_two_ways_is_refused() -> None:
    names = Names(("a", "ab", "bc", "c"), ("u",))
    with pytest.raises(SafeNetError, match="more than one derivative"):
        side("u_abc", names)


def test_a_known_formula_has_axes_and_parameters_but_no_unknowns() -> None:
    assert parse_expression("sin(c*x)", NAMES, "exact") == sp.sin(c * x)
    assert parse_expression("diff(sin(c*x), x)", NAMES, "exact") == c * sp.cos(c * x)
    with pytest.raises(SafeNetError, match="exact, column 5: the unknown u in a known formula"):
        parse_expression("2 + u", NAMES, "exact")
    with pytest.raises(SafeNetError, match="column 3: an '=' in a formula"):
        parse_expression("x = 2", NAMES, "exact")


# ---- complaints


@pytest.mark.parametrize(
    ("text", "column", "message", "remedy"),
    [
        ("u_t + u_x", 10, "there is no '='", "left = right"),
        ("u = 1 = 2", 7, "a second '='", "one equation"),
        ("= u", 1, "the left side is missing", "u_t = u_xx"),
        ("u = ", 4, "the right side is missing", "u_t = u_xx"),
        ("u_z = 0", 1, "u_z is not a derivative of u: 'z'", "the axes are x, t; write e.g. u_x"),
        ("u = integral(u)", 5, "the function 'integral' is not known", "another unknown w with w_x = u"),
        ("u = Integral(u, (x, 0, 1))", 19, "a comma outside", "another unknown w with w_x = u"),
        ("u = w", 5, "the name 'w' is not known", "known: c, e, lambda, pi"),
        ("u = lamda", 5, "the name 'lamda' is not known", "did you mean 'lambda'"),
        ("u = oo", 5, "the name 'oo' is not known", "parameters"),
        ("u = sin(πx)", 9, "the name 'πx' is not known", "write pi*x"),
        ("u = cu_xx", 5, "the name 'cu_xx' is not known", "write c*u_xx"),
        ("I*u_t + u_xx = 0", 1, "the name 'I' is not known", "write u = v + i w with two real unknowns"),
        ("u = sinn(x)", 5, "the function 'sinn' is not known", "did you mean 'sin'"),
        ("u = erf(x)", 5, "the function 'erf' is not known", "known: abs, acos"),
        ("u = __import__(x)", 5, "the function '__import__' is not known", "abs"),
        ("u = c(x + 1)", 5, "c is not a function", "c*(…)"),
        ("u = x(1)", 5, "x is not a function", "x*(…)"),
        ("u = sin", 5, "sin needs its argument", "sin(…)"),
        ("u = sin x", 9, "a sign is missing before 'x'", "sin(x)"),
        ("u = 2x", 6, "a sign is missing before 'x'", "2*x"),
        ("u = x 2", 7, "a sign is missing before '2'", "x*2"),
        ("u = 2(x + 1)", 6, "a sign is missing before '('", "2*(…)"),
        ("u = (x)(t)", 8, "a sign is missing before '('", "(…)*(…)"),
        ("u(x, t)_t = 1", 8, "a sign is missing before '_t'", "u_t(…)"),
        ("u = sin(x, t)", 5, "sin has 2 arguments", "one"),
        ("u = max(x)", 5, "max has 1 arguments", "2 to 8"),
        ("u = sin()", 9, "these brackets are empty", "value"),
        ("u(x) = 0", 1, "u has 1 argument, the domain has 2 (x, t)", "u(x, t)"),
        ("u(0, t, 1) = 0", 1, "u has 3 arguments", "u(x, t)"),
        ("u(t, x) = 0", 3, "u has t in the place of x", "in this order"),
        ("u(0, 2*t) = 0", 6, "u has 2*t in the place of t", "a fixed one is a number"),
        ("u(u, t) = 0", 3, "u has u(x, t) in the place of x", "number"),
        ("u = (x, t)", 7, "a comma outside", "0.5"),
        ("u = 0,5", 6, "a comma outside", "0.5"),
        ("u = (x", 5, "this bracket is never closed", "close"),
        ("u = x)", 6, "this bracket closes nothing", "remove"),
        ("u = x +", 7, "'+' has nothing after it", "add a value"),
        ("u = x */ 2", 8, "'*' is followed by '/'", "one of the two"),
        ("u = sin(x,)", 11, "a value is missing", ""),
        ("u = x // 2", 7, "'//' is not available", "/"),
        ("u' = 0", 2, "has no meaning", "u_x or diff"),
        ("u < 0", 6, "there is no '='", "left = right"),
        ("u = x < 1", 5, "a comparison outside where", "where(x < 1/2, 1, 0)"),
        ("u = x > 0 and t > 0", 5, "a comparison outside where", "where(x < 1/2, 1, 0)"),
        ("u = where(x, 1, 0)", 11, "this is no comparison", "where(x < 1/2, 1, 0)"),
        ("u = where(x < 1, 0)", 5, "where takes 3 arguments, got 2", "else 0"),
        ("u = where(x == 1, 1, 0)", 13, "'==' within brackets", "<="),
        ("u = where(x < 1 & t < 1, 1, 0)", 17, "the character '&'", "with and"),
        ("u = Piecewise(x)", 5, "the function 'Piecewise' is not known", "where(x < 1/2, 1, 0)"),
        ("u = where", 5, "where needs its argument", "where(…)"),
        ("u = atan2(x)", 5, "atan2 has 1 arguments", "two"),
        ("diff(where(x < 1, 1, 2)*u_x, x) = 0", 1, "this jumps", "smooth"),
        ("diff(heaviside(x)*u_x, x) = 0", 1, "this jumps", "smooth"),
        ("u = x[0]", 6, "has no meaning", "round brackets"),
        ("u = x.real", 6, "has no meaning", "attributes"),
        ("u = √x", 5, "has no meaning", "sqrt"),
        ("u = \x00", 5, "the character U+0000 has no meaning", "remove"),
        ("u = \ud800", 5, "the character U+D800 has no meaning", "remove"),
        ("u = 1/0", 7, "division by zero", "denominator"),
        ("u = x/(t - t)", 8, "division by zero", "denominator"),
        ("u = 0**-1", 5, "division by zero", ""),
        ("u = log(0)", 5, "not a finite number", "log(0)"),
        ("u = tan(pi/2)", 5, "not a finite number", "division"),
        ("u = sqrt(-1)", 5, "root of a negative number", "sign"),
        ("u = (-8)**(1/3)", 7, "root of a negative number", "sign"),
        ("u = log(-1)", 5, "not a real number", "logarithms"),
        ("u = asin(2)", 5, "not a real number", ""),
        ("u = sqrt(-x**2)", 5, "not real and finite", "roots"),
        ("u = (-2)**x", 7, "-2 to a varying power is not real", "positive"),
        ("u = 0**x", 5, "0 to a varying power", "positive"),
        ("u = x**101", 5, "an exponent beyond 100", "smaller"),
        ("u = (x**99)**2", 6, "an exponent beyond 100", "smaller"),
        ("u = 9**9**9", 5, "a constant beyond 1e+300", "units"),
        ("u = exp(1000)", 5, "a constant beyond 1e+300", "units"),
        ("u = exp(-1000)", 5, "a constant below 1e-300 but not zero", "write 0"),
        ("u = 1e301", 5, "a constant beyond 1e+300", ""),
        ("u = 1e400", 5, "the number 1e400 is out of range", "1e300"),
        ("u = " + "1" * 400, 5, "is out of range", "1e300"),
        ("u = (1 + 1e-9)**(10**9)", 6, "too many digits", "exp"),
        ("u_xxxxxtttt = 0", 1, "a derivative of order 9", "at most 8"),
        ("diff(u) = 0", 1, "diff needs what and by which axis", "diff(u, x)"),
        ("diff(u, c) = 0", 9, "c is neither an axis nor an order", "the axes are x, t"),
        ("diff(u, 2) = 0", 9, "2 is neither an axis nor an order", "the axes are x, t"),
        ("diff(u, x, 9) = 0", 12, "9 is neither an axis nor an order", ""),
        ("diff(u_xxxxx, x, 4) = 0", 1, "of order above 8", "lower"),
        ("diff(u(0, t), x) = 0", 1, "diff cannot be applied to a value at a place", "u_x(0, t)"),
        ("diff(u_x(0, t), t) = 0", 1, "diff cannot be applied to a value at a place", "u_x(0, t)"),
        ("diff(sign(x)*u, x) = 0", 1, "this jumps", "smooth"),
    ],
)
def test_a_mistake_is_pointed_at(text: str, column: int, message: str, remedy: str) -> None:
    error = complaint(text)
    head, shown, caret = error.message.split("\n")
    assert head.startswith(f"equation 1, column {column}: ")
    assert message in head
    assert remedy in error.remedy
    assert caret.index("^") - 4 == column - 1
    assert error.where.column == column - 1
    assert (
        shown[4:]
        == "".join(character if character.isprintable() else "·" for character in text)[: column + 39]
    )


def test_the_caret_stays_in_view_far_into_a_long_text() -> None:
    message = complaint("u = " + "x + " * 300 + "w").message
    head, shown, caret = message.split("\n")
    assert "column 1205" in head
    assert len(shown) < 120
    assert shown[caret.index("^")] == "w"


@pytest.mark.parametrize("text", ["", " \t\n "])
def test_empty_text(text: str) -> None:
    assert complaint(text).message == "equation 1 is empty"


def test_what_is_not_text() -> None:
    with pytest.raises(SafeNetError, match="equation 1 is int, not text"):
        parse_relation(3, NAMES, "equation 1")  # type: ignore[arg-type]


def test_limits_are_reached_and_not_passed() -> None:
    assert side("(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH) == x
    assert "brackets within brackets" in complaint("u = " + "(" * (MAX_DEPTH + 1) + "x").message
    terms = (MAX_TOKENS - 3) // 2
    assert side("+".join(["x"] * terms)) == terms * x
    assert "names, numbers and signs" in complaint("u=" + "+".join(["x"] * (terms + 2))).message
    assert side(" " * (MAX_LENGTH - 6) + "x") == x
    assert "more than 20,000" in complaint("u = x" + " " * MAX_LENGTH).message
    assert side(f"u_{'x' * MAX_ORDER}") == Derivative(u(x, t), (x, MAX_ORDER))
    assert "nested" in complaint("u = " + "-" * 100 + "x").message
    assert "nested" in complaint("u = " + "**".join("x" * 100)).message


def test_what_is_parsed_is_what_a_problem_understands() -> None:
    texts = [
        "u(0, t) = u(2*pi, t)",
        "u_x(0, t) = u_x(2*pi, t)",
        "u_x(0, t) + 4*u(0, t) = c",
        "u(x, 0) = e^-x²",
    ]
    where = [parse_relation(text, NAMES, text) for text in texts]
    equation = parse_relation("u_t + diff(u^2/2, x) = 0.01/pi*u_xx", NAMES, "")
    problem = Problem(equation, domain={x: (0, 2 * sp.pi), t: (0, 1)}, conditions=where, parameters={c: 1})
    assert [condition.kind for condition in problem.conditions] == [
        "periodic",
        "periodic",
        "robin",
        "initial",
    ]
    assert problem.equations[0].text == "u*u_x + u_t = u_xx/(100*pi)"
