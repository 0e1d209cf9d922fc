"""Run folders, rows of stores and suites with anything changed in them: one sentence, soon, and little memory.

SAFENET_MUTATIONS sets how many of each are tried (40 by default; `make mutations` tries 700).
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import safenet as sn
from safenet.bench.catalogue import loads as suite_of
from safenet.bench.exchange import export, merge
from safenet.bench.store import Store
from safenet.errors import SafeNetError
from safenet.report.results import Results

sys.path.insert(0, str(Path(__file__).parents[1]))
from synthetic import row

COUNT = int(os.environ.get("SAFENET_MUTATIONS", "40"))
SLOWEST = 10_000  # milliseconds
MOST_MEMORY = 2 * 2**20  # kibibytes
tried = settings(
    max_examples=COUNT,
    deadline=SLOWEST,
    derandomize="SAFENET_MUTATIONS" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FILES = ("problem.toml", "plan.json", "solution.npz", "result.json", "checkpoint.npz")
DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
"""
SUITE = """
title = "Mine"
problems = ["wave", { name = "convection", beta = 30 }]
methods = ["pinn"]
recipes = ["paper-4"]
seeds = [3, 1]
options = { depth = [1, 2], width = 8 }
[[part]]
[[part]]
methods = ["rff"]
problems = ["wave"]
seeds = 1
options = {}
[smoke]
seeds = 1
"""

strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=40),
    st.sampled_from(
        ["\x1b[31m", "../../x", "/etc/passwd", "a\u202eb", "x" * 5000, "__import__('os')", [], {}, [[]]]
    ),
    st.recursive(st.none(), lambda inner: st.lists(inner, max_size=3), max_leaves=60),
)


@st.composite
def changes(draw: st.DrawFn) -> Any:
    """data → data with one part somewhere replaced, removed or doubled."""
    path = draw(st.lists(st.integers(0, 30), min_size=1, max_size=5))
    how, other = draw(st.sampled_from(["put", "drop", "add"])), draw(strange)

    def changed(value: Any, depth: int = 0) -> Any:
        if depth == len(path) or not isinstance(value, (dict, list)) or not value:
            return other
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[path[depth] % len(keys)]
        copy = value.copy()
        if how == "drop" and depth == len(path) - 1:
            del copy[key]
        elif how == "add" and isinstance(copy, dict) and depth == len(path) - 1:
            copy[f"{key}2"] = other
        else:
            copy[key] = changed(value[key], depth + 1)
        return copy

    return changed


@st.composite
def damages(draw: st.DrawFn) -> Any:
    """bytes → bytes: cut, overwritten, doubled or replaced."""
    how = draw(st.sampled_from(["cut", "bytes", "twice", "other", "numbers"]))
    place, more = draw(st.integers(0, 10**6)), draw(st.binary(max_size=60))

    def damaged(data: bytes) -> bytes:
        at = place % (len(data) + 1)
        return {
            "cut": data[:at],
            "bytes": data[:at] + more + data[at + len(more) :],
            "twice": data[:at] + data,
            "other": more,
            "numbers": data.replace(b"1", str(place).encode() * 4),
        }[how]

    return damaged


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "decay"
    sn.solve(sn.loads(DECAY), out=folder, monitor=sn.Monitor())
    return folder


def said(action: Any) -> str:
    """What any command does; whatever is wrong with a file is a SafeNetError, here its text."""
    before, text = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            action()
        except SafeNetError as error:
            text = error.message
    assert len(text) < 4000
    # One sentence; of a formula it is followed by the formula and a mark below the place.
    sentence, *quoted = text.split("\n")
    assert sentence or not quoted
    assert not quoted or (len(quoted) == 2 and quoted[1].strip() == "^")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY
    return text


@tried
@given(st.sampled_from(FILES), st.one_of(damages(), changes()), st.booleans())
def test_a_mutated_run_folder_is_one_sentence(run: Path, file: str, change: Any, resumed: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "copy"
        shutil.copytree(run, folder)
        victim = folder / file
        data = victim.read_bytes() if victim.exists() else (folder / "solution.npz").read_bytes()
        structured = change.__name__ == "changed"
        if structured and victim.suffix != ".json":
            return
        victim.write_bytes(json.dumps(change(json.loads(data))).encode() if structured else change(data))

        def opened() -> Any:
            solution = sn.resume(folder, monitor=sn.Monitor()) if resumed else sn.load(folder)
            solution(t=0.5)
            return json.dumps(solution.result.to_json())

        said(opened)


@tried
@given(changes())
def test_a_mutated_row_is_shown_and_left_out(good: Any, change: Any) -> None:
    other = change(good.to_json() | {"id": "other"})
    with tempfile.TemporaryDirectory() as place, Store(Path(place) / "store") as store:
        store.add([good])
        source = Path(place) / "x.jsonl"
        source.write_text(json.dumps(other) + "\n")
        said(lambda: merge(store, source))
        # Whatever came in: what a store holds can be read, exported and reported.
        assert export(store, Path(place) / "out.jsonl") >= 1
        assert export(store, Path(place) / "out.csv") >= 1
        assert len(Results(store.rows(), []).rows) >= 1


@pytest.fixture(scope="module")
def good() -> Any:
    return row("wave", "pinn", "paper-1", 1e-3)


@tried
@given(st.one_of(damages(), changes()))
def test_a_mutated_suite_is_one_sentence(change: Any) -> None:
    structured = change.__name__ == "changed"
    document = change(tomllib.loads(SUITE)) if structured else None
    if structured and not isinstance(document, dict):
        return
    text = _toml(document) if structured else change(SUITE.encode()).decode(errors="replace")
    said(lambda: len(suite_of(text, "mine", None).cases("smoke")))


def _toml(table: Any) -> str:
    """Enough of TOML: every value inline."""

    def value(one: Any) -> str:
        if isinstance(one, dict):
            return "{ " + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in one.items()) + " }"
        if isinstance(one, list):
            return "[" + ", ".join(map(value, one)) + "]"
        if one is None:
            return '""'
        return str(one) if isinstance(one, float) else json.dumps(one)

    return "".join(f"{json.dumps(key)} = {value(one)}\n" for key, one in table.items())
