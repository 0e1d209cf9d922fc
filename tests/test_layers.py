"""The flow is the layout: a folder imports only from those above it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import safenet

ROOT = Path(safenet.__file__).parent
# From the statement to the screen. Those of one line do not know each other, but for what comes before in it.
ORDER = [
    *("lazily", "errors", "problem", "reference", "library"),
    *("backend", "derivatives", "features", "networks", "training"),
    *(
        "solution",
        "candidates",
        "solving",
        "export",
        "plot",
        "domain_picture",
        "describe",
        "console",
        "tracking",
    ),
    *("analysis", "bench", "report", "commands", "cli"),
]
# Shortcuts a solution offers, imported when asked for: sol.plot(), sol.to_xarray().
SHORTCUTS = {("solution", "plot"), ("solution", "export")}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def layer(path):
    """The folder or module of the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """(layer, line, whether on import of the file) for every import from within the package."""
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
            # `from . import library` names a layer; `from .library import names` has named it already.
            targets = [[*module, alias.name] for alias in node.names] if module == ["safenet"] else [module]
        else:
            continue
        for target in targets:
            if target[0] == "safenet" and len(target) > 1:
                yield target[1], node.lineno, id(node) not in inside


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards_only(path):
    here = layer(path)
    assert here in ORDER, f"{here} has no place in the order: give it one"
    for there, line, at_once in imported(path):
        if there == here or (not at_once and (here, there) in SHORTCUTS):
            continue
        assert there in ORDER, f"{path.name}:{line} imports {there}, which has no place in the order"
        assert ORDER.index(there) < ORDER.index(here), f"{path.name}:{line}: {here} must not import {there}"


def test_the_imports_are_seen():
    """An order that nothing can violate would prove nothing."""
    seen = {(layer(path), there) for path in FILES for there, _, _ in imported(path)}
    assert {
        ("networks", "features"),
        ("training", "training"),
        ("solution", "plot"),
        ("problem", "errors"),
    } <= seen


@pytest.mark.parametrize("name", ["safenet", "safenet.problem", "safenet.library", "safenet.cli"])
def test_a_problem_is_stated_without_waiting_for_jax(name):
    program = f"import sys, {name}; sys.exit('jax' in sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT.parent)}, check=False
    )
    assert finished.returncode == 0
