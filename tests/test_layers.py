"""The flow is the layout: a folder imports only from those above it, and families do not know each other."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import safenet

ROOT = Path(safenet.__file__).parent
# From the statement to the screen. Those of one line do not know each other, but for what comes before in it.
ORDER = [
    *("lazily", "listed", "errors", "problem", "reference", "library"),
    *("backend", "trees", "fields", "features", "networks", "run", "measure"),
    *("direct", "inverse", "train", "solution", "solving", "views", "analysis"),
    *("bench", "report", "paper", "ui", "commands", "cli", "__main__"),
]
# Shortcuts a solution offers, imported when asked for: sol.plot(), sol.to_xarray().
SHORTCUTS = {("solution", "views")}
# Folders that know nothing of the rest of their layer: shapes need no equations, an optimiser needs no PDE.
SEALED = ("problem/geometry", "train/optimisers")
# Who never imports whom, beyond the order: two families behind one door, and text that is read before it is understood.
STRANGERS = {
    ("train", "direct"),
    ("train", "inverse"),
    ("problem/language", "problem/facts"),
    ("problem/language", "problem/geometry"),
}
MOST_FILES, MOST_LINES = 20, 400
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name(path):
    return path.relative_to(ROOT).as_posix()


def layer(path):
    """The folder or module of the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """(what, line, whether on import of the file) for every import from within the package: problem/facts/verify."""
    package = ["safenet", *path.relative_to(ROOT).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            targets = [[*module, alias.name] for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] == "safenet" and len(target) > 1:
                yield "/".join(target[1:]), node.lineno, id(node) not in inside


def lies_in(what, folder):
    return f"{what}/".startswith(f"{folder}/")


def fault(path, what, at_once):
    """Why a file must not import this, or None."""
    here, there = layer(path), what.split("/")[0]
    if here not in ORDER or there not in ORDER:
        return f"{here if here not in ORDER else there} has no place in the order: give it one"
    if here != there and ORDER.index(there) > ORDER.index(here):
        return None if not at_once and (here, there) in SHORTCUTS else f"{here} must not import {there}"
    for folder in SEALED:
        if lies_in(name(path), folder) and here == there and not lies_in(what, folder):
            return f"{folder} must know nothing of the rest of {here}"
    for folder, other in STRANGERS:
        if lies_in(name(path), folder) and lies_in(what, other):
            return f"{folder} must not import {other}"
    return None


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_point_upwards_only(path):
    for what, line, at_once in imported(path):
        said = fault(path, what, at_once)
        assert said is None, f"{name(path)}:{line}: {said}"


def test_the_imports_are_seen():
    """An order that nothing can violate would prove nothing."""
    seen = {(layer(path), what.split("/")[0]) for path in FILES for what, _, _ in imported(path)}
    assert {
        ("networks", "features"),
        ("train", "train"),
        ("solution", "views"),
        ("problem", "errors"),
    } <= seen
    assert any(lies_in(what, "problem/facts") for path in FILES for what, _, _ in imported(path))


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("bench/case.py", "paper/printed/tables"),
        ("report/writing.py", "paper"),
        ("direct/march.py", "train/run/train"),
        ("train/run.py", "direct/march"),
        ("problem/geometry/shapes.py", "problem/facts/waves"),
        ("problem/geometry/shapes.py", "problem/jets"),
        ("problem/language/text.py", "problem/facts"),
        ("train/optimisers/adam.py", "train/run"),
        ("fields/series.py", "nowhere"),
    ],
)
def test_these_would_be_faults(path, what):
    assert fault(ROOT / path, what, True) is not None
    assert fault(ROOT / path, what, False) is not None


def test_these_are_none():
    assert fault(ROOT / "problem/geometry/shapes.py", "problem/geometry/edges", True) is None
    assert fault(ROOT / "paper/writing.py", "report/writing", True) is None
    assert fault(ROOT / "solution.py", "views/plot", False) is None
    assert fault(ROOT / "solution.py", "views/plot", True) is not None


def test_a_folder_has_at_most_twenty_files_and_a_file_at_most_400_lines():
    """Of the package, of its tests and of its benchmarks, where they are there."""
    home = Path(__file__).parents[1]
    roots = [ROOT, *(folder for name in ("tests", "benchmarks") if (folder := home / name).is_dir())]
    files = [path for root in roots for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    counts = Counter(path.parent for path in files)
    assert counts[ROOT / "bench"] > 10  # they are counted
    assert {str(folder): count for folder, count in counts.items() if count > MOST_FILES} == {}
    lengths = {str(path): path.read_bytes().count(b"\n") for path in files if path.suffix == ".py"}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


@pytest.mark.parametrize("module", ["safenet", "safenet.problem", "safenet.library", "safenet.cli"])
def test_a_problem_is_stated_without_waiting_for_jax(module):
    program = f"import sys, {module}; sys.exit('jax' in sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT.parent)}, check=False
    )
    assert finished.returncode == 0


def test_a_direct_solve_does_without_jax_which_knows_its_field_as_soon_as_it_is_loaded():
    program = """
import sys
import safenet as sn
text = 'unknowns = ["u"]\\nequations = ["u_t = -u"]\\nconditions = ["u(0) = 1"]\\ndomain = { t = [0, 1] }'
sol = sn.solve(sn.loads(text), monitor=sn.Monitor())
assert not {"jax", "equinox", "optax", "scipy.stats", "matplotlib"} & set(sys.modules)
import jax
value = jax.jit(lambda field, t: field(t))(sol.field, jax.numpy.array([0.5]))
assert value.dtype == "float64" and abs(value[0] - sol(t=0.5)) < 1e-14
"""
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
