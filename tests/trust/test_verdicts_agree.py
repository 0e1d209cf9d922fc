"""Outcome, exit status, --json, Python's warnings, result.json and the terminal say the same of every run."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path

import pytest

import safenet as sn
from safenet.cli import main
from safenet.views.console import ConsoleMonitor


def stated(equation: str, conditions: str, domain: str) -> str:
    listed = ", ".join(f'"{text}"' for text in conditions.split("; "))
    relations = f'equations = ["{equation}"]\nconditions = [{listed}]\n'
    return f'name = "tried"\nunknowns = ["u"]\n{relations}domain = {{ {domain} }}\n'


DECAY = stated("u_t = -u", "u(0) = 1", "t = [0, 1]")
NETWORK = [
    "train",
    "--points",
    "16",
    "--features",
    "4",
    "--width",
    "4",
    "--recipe",
    "paper-4",
    "--scale",
    "0.001",
]
FRONT = stated("u_t + u*u_x = 0", "u(0, t) = 1; u(x, 0) = where(x < 1/4, 1, 0)", "x = [0, 1], t = [0, 0.5]")
MEASURED = DECAY.replace("-u", "-k*u") + '[unknown]\nk = { start = 1 }\n[[data]]\nfile = "probe.csv"\n'
BLIND = MEASURED.replace("-k*u", "-k*m*u").replace("k = {", "m = { start = 2 }\nk = {")
SMALL = {"points": 16, "features": 4, "width": 4, "scale": 0.001}
# statement, command, solver in Python, outcome, exit status, whether there is an estimate
TABLE = {
    "solved": (DECAY, ["solve"], "auto", "solved", 0, True),
    "not unique": (
        stated("u_xx + u = 0", "u(0) = 1; u(pi) = -1", 'x = [0, "pi"]'),
        ["solve"],
        "auto",
        "not solved",
        1,
        False,
    ),
    "amplified": (
        stated("u_t = 50*(u - cos(t)) - sin(t)", "u(0) = 1", "t = [0, 5]"),
        ["solve"],
        "auto",
        "not solved",
        1,
        False,
    ),
    "one of two": (
        stated("u_xx + 2*exp(u) = 0", "u(0) = 0; u(1) = 0", "x = [0, 1]"),
        ["solve"],
        "auto",
        "solved",
        0,
        True,
    ),
    "blows up": (stated("u_t = u**2", "u(0) = 1", "t = [0, 2]"), ["solve"], "auto", "given up", 1, False),
    "less than was asked for": (FRONT, ["solve", "--tol", "1e-6"], sn.Auto(tol=1e-6), "not solved", 1, True),
    "a front": (FRONT, ["solve", "--tol", "0.05"], sn.Auto(tol=0.05), "solved", 0, True),
    "by finite volumes": (FRONT, ["solve", "--solver", "conserve"], "conserve", "solved", 0, True),
    "a number from data": (MEASURED, ["solve"], "auto", "solved", 0, True),
    "numbers that the data do not tell apart": (BLIND, ["solve"], "auto", "not solved", 1, False),
    "heat backwards": (
        stated("u_t = -u_xx", "u(0, t) = 0; u(1, t) = 0; u(x, 0) = x*(1 - x)", "x = [0, 1], t = [0, 0.1]"),
        ["solve", "--solver", "modes"],
        "modes",
        "not solved",
        1,
        False,
    ),
    "a poor network": (DECAY, NETWORK, sn.Train("safe-net", "paper-4", **SMALL), "not solved", 1, None),
}


def ran(arguments: list[str], monkeypatch, capsys) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["safenet", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), capsys.readouterr().out


LONG = {"amplified", "less than was asked for", "a front", "by finite volumes"}  # half a minute


@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.slow] if one in LONG else []) for one in TABLE]
)
def test_all_say_the_same(case: str, tmp_path: Path, monkeypatch, capsys) -> None:
    text, (command, *options), solver, outcome, status, estimated = TABLE[case]
    file = tmp_path / "tried.toml"
    file.write_text(text)
    times = [i / 10 for i in range(11)]
    (tmp_path / "probe.csv").write_text("t,u\n" + "".join(f"{t},{math.exp(-t / 2)}\n" for t in times))
    code, out = ran(
        [command, str(file), *options, "--json", "--out", str(tmp_path / "run")], monkeypatch, capsys
    )
    printed = json.loads(out)
    kept = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (code, printed["outcome"], kept["outcome"]) == (status, outcome, outcome)
    assert printed["warnings"] == kept["warnings"]
    if estimated is not None:
        assert (printed["estimate"] is not None) == estimated
    # Whatever is not solved says why.
    assert outcome == "solved" or printed["warnings"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        solution = sn.solve(file, solver, monitor=sn.Monitor())
    assert solution.result.outcome == outcome
    assert solution.result.warnings == printed["warnings"]
    spoken = [str(one.message) for one in said if issubclass(one.category, sn.SafeNetWarning)]
    assert spoken == [f"tried: {one}" for one in printed["warnings"]]
    code, out = ran([command, str(file), *options, "--out", str(tmp_path / "again")], monkeypatch, capsys)
    assert code == status
    assert out.startswith(f"tried: {outcome}\n")
    assert all(f"warning         {one}" in out for one in printed["warnings"])


def test_out_of_time_is_said_and_is_no_success(tmp_path: Path, monkeypatch, capsys) -> None:
    lorenz = (
        'unknowns = ["u", "v", "w"]\nequations = ["u_t = 10*(v - u)", "v_t = u*(28 - w) - v", "w_t = u*v - 8/3*w"]\n'
        'conditions = ["u(0) = 1", "v(0) = 1", "w(0) = 1"]\ndomain = { t = [0, 200] }\n'
    )
    (tmp_path / "tried.toml").write_text(lorenz)
    arguments = [
        "solve",
        str(tmp_path / "tried.toml"),
        "--budget",
        "0.01s",
        "--json",
        "--out",
        str(tmp_path / "run"),
    ]
    code, out = ran(arguments, monkeypatch, capsys)
    assert (code, json.loads(out)["outcome"]) == (1, "out of time")
    assert json.loads(out)["estimate"] is None
    assert "budget" in json.loads(out)["stop_reason"]


def test_interrupted_is_130(tmp_path: Path, monkeypatch, capsys) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ConsoleMonitor, "phase", pressed)
    (tmp_path / "tried.toml").write_text(DECAY)
    arguments = ["solve", str(tmp_path / "tried.toml"), "--json", "--out", str(tmp_path / "run")]
    code, out = ran(arguments, monkeypatch, capsys)
    assert (code, json.loads(out)["outcome"]) == (130, "interrupted")


def test_what_cannot_begin_is_2(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "tried.toml").write_text(DECAY.replace("u_t = -u", "u_t = -w"))
    code, out = ran(["solve", str(tmp_path / "tried.toml"), "--json"], monkeypatch, capsys)
    assert (code, out) == (2, "")


def test_a_percentage_is_never_hundreds_of_digits() -> None:
    from safenet.solving.judging import share

    assert share(0.123) == "12%"
    assert share(1e300) == "1e+300"


NETWORK = sn.Train("pinn", [sn.LevenbergMarquardt(30)], width=8, depth=1, points=32)


def unestimated(problem: sn.Problem, solver: str | sn.Train) -> sn.Solution:
    """A solve to many digits, of which nobody is asked how wrong it is."""
    from safenet.run.plans import Job
    from safenet.solving.door import carry_out
    from safenet.solving.plans import plan_for

    return carry_out([Job(problem, plan_for(problem, solver, None))], estimate=False)[0]


MEASURED = sn.Data(t=[0.5], u=[math.exp(-0.5)])


@pytest.mark.parametrize(
    ("solver", "data"),
    [("least-squares", ()), (NETWORK, ()), (NETWORK, (MEASURED,))],
    ids=["direct", "network", "network with data"],
)
def test_a_small_residual_alone_is_unverified(solver: str | sn.Train, data: tuple[sn.Data, ...]) -> None:
    """Allen–Cahn's equation is met to 4 % by a network that is wrong by 55 %: no residual proves a solution."""
    problem = sn.loads(DECAY)
    result = unestimated(problem.with_data(*data) if data else problem, solver).result
    assert result.residual is not None
    assert result.residual < 1e-2
    assert result.estimate is None
    assert result.outcome == "unverified"
    assert result.outcome.exit_status == 1
    assert any("not estimated" in text for text in result.warnings)


def test_what_nothing_estimates_is_unverified_and_says_so(monkeypatch) -> None:
    """As a network on a solid, for which there is no richer space."""
    monkeypatch.setattr("safenet.solving.judging.estimated", lambda *_: None)
    with pytest.warns(
        sn.SafeNetWarning, match="the error is not estimated: all that is known is the residual"
    ):
        result = sn.solve(sn.loads(DECAY), "least-squares", monitor=sn.Monitor()).result
    assert result.outcome == "unverified"
