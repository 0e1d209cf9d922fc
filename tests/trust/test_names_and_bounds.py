"""Files from strangers: what they may be called, how large they may be, and what reaches the terminal."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import jax
import pytest

import safenet as sn
from safenet.backend import cache_compilations
from safenet.bench.catalogue import loads as suite_of
from safenet.cli import SPELT_OUT, main
from safenet.errors import SafeNetError, printable

HEAT = """
unknowns = ["u"]
equations = ["u_t = u_xx/10"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""


@pytest.mark.parametrize(
    "name", ["/etc/pwn", "../x", "a/b", ".", "a\\u001bb", "", "x" * 101, "a b", "a\\u202eb"]
)
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    if name == "":
        assert sn.loads(HEAT, "a file.toml").name == "a-file"
        return
    with pytest.raises(SafeNetError, match="name"):
        sn.loads(f'name = "{name}"\n{HEAT}')


def test_python_refuses_the_same_names() -> None:
    with pytest.raises(SafeNetError, match="letters, digits"):
        sn.Problem(sn.loads(HEAT).equations[0].statement, domain={"t": (0, 1)}, name="../x")


@pytest.mark.parametrize("title", ["a\\u001b[31mred", "left\\u202eright", "two\\nlines", "x" * 301])
def test_a_title_is_a_line_of_text(title: str) -> None:
    with pytest.raises(SafeNetError, match="title"):
        sn.loads(f'title = "{title}"\n{HEAT}')


def test_what_is_printed_has_no_control_characters() -> None:
    assert printable("a\x1b[31m\u202eb\r\n\x07é→") == "a\\x1b[31m\\u202eb\\r\n\\x07é→"


def test_a_polygon_of_many_formulas_is_refused_at_once() -> None:
    corners = ",\n".join(f'["cos({i}*pi/5000)", "sin({i}*pi/5000)"]' for i in range(10_000))
    with pytest.raises(SafeNetError, match="formulas"):
        sn.loads(
            'unknowns = ["u"]\nequations = ["u_xx + u_yy = 1"]\nconditions = ["u = 0 on all"]\n[domain]\n'
            "x = [-1, 1]\ny = [-1, 1]\n"
            f'shape = [{{ polygon = {{ vertices = [{corners}] }} }}]\n[pieces]\nall = "rest"\n'
        )


@pytest.mark.parametrize("more", ["seeds = 1000000000", f"options = {{ depth = {list(range(1, 10_002))} }}"])
def test_a_suite_has_a_bounded_number_of_cases(more: str) -> None:
    with pytest.raises(SafeNetError, match="at most 10000"):
        suite_of(f'problems = ["wave"]\nmethods = ["pinn"]\nrecipes = ["paper-1"]\n{more}\n', "s", None)


def test_an_ascii_terminal_gets_every_sign_spelt_out() -> None:
    assert "0 ≤ x → é ∂".encode("ascii", SPELT_OUT) == b"0 <= x -> e \\u2202"


def test_no_home_costs_only_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.setattr(jax.config, "update", lambda name, value: None)
    cache_compilations()
    assert jax.config.jax_compilation_cache_dir == before


def test_an_error_quotes_no_control_characters(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "x.toml").write_text('name = "\\u001b[31m"\n' + HEAT)
    monkeypatch.setattr(sys, "argv", ["safenet", "show", str(tmp_path / "x.toml")])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "\x1b" not in said
    assert len(said.splitlines()) == 2


def test_a_number_of_an_outline_is_the_nearest_float() -> None:
    triangle = sn.loads(
        'unknowns = ["u"]\nequations = ["u_xx + u_yy = 1"]\nconditions = ["u = 0 on all"]\n[domain]\nx = [0, 1]\n'
        'y = [0, 1]\nshape = [{ polygon = { vertices = [[0, 0], [0.3, 0], ["pi/4", 1]] } }]\n[pieces]\nall = "rest"\n'
    )
    assert triangle.shape.vertices == ((0.0, 0.0), (0.3, 0.0), (math.pi / 4, 1.0))
