"""A mistake in a problem file is told with its file, its line and what to try."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sympy import Eq, Function, symbols
from toml_texts import CAVITY, WAVE, sympy_wave

from safenet.errors import Place, SafeNetError
from safenet.problem import Problem, loads, read, write
from safenet.problem.language.lines import lines
from safenet.problem.toml import MAX_BYTES


def complaint(text: str) -> SafeNetError:
    with pytest.raises(SafeNetError) as caught:
        loads(text, "my.toml")
    return caught.value


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
