"""Every public name has a docstring with an example, and every example does what it says."""

import doctest
import inspect

import numpy as np
import pytest

import safenet as sn

NAMES = [
    name for name in sn.__all__ if inspect.isclass(value := getattr(sn, name)) or inspect.isfunction(value)
]
MODULES = [name for name in sn.__all__ if inspect.ismodule(getattr(sn, name))]
DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -k*u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
parameters = { k = 1 }
"""
# Their programs compile for more than ten seconds.
SLOW = {"spectrum"}


@pytest.fixture(scope="module")
def known():
    """What the page of the reference says is known in every example."""
    decay = sn.loads(DECAY)
    return {"sn": sn, "np": np, "decay": decay, "solution": sn.solve(decay)}


def marked(name):
    return pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_the_example_is_true(name, known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = getattr(sn, name)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(value), dict(known), name, None, 0)
    assert test.examples, f"the docstring of {name} has no example"
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", MODULES)
def test_a_part_of_the_package_says_what_it_is(name):
    assert getattr(sn, name).__doc__


def test_every_public_name_is_on_the_page_of_the_reference():
    from pathlib import Path

    page = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text("utf-8")
    missing = [name for name in NAMES if f".{name}\n" not in page]
    assert missing == []


def test_editors_are_told_of_every_name():
    """The imports that only type checkers see, the lazy table and __all__ are the same names."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(sn.__file__).read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    shown = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    lazy = {name for names in sn._NAMES.values() for name in names} | set(sn._MODULES)
    assert shown == lazy == set(sn.__all__)
