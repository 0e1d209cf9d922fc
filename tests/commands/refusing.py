"""A command that must fail as a user's mistake: its message, its remedy, and nothing changed."""

import re

import pytest

from running import run

HEAT = """
name = "heat"
unknowns = ["u"]
equations = ["u_t = k*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
exact = { u = "exp(-pi**2*k*t)*sin(pi*x)" }
[domain]
x = [0, 1]
t = [0, 1]
[parameters]
k = 0.1
"""


def fingerprint(folder):
    """Every file below a folder with its bytes and the time it was written."""
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def refused(*words, cwd, says, remedy) -> str:
    """The message of a command that must fail as a user's mistake, leaving `cwd` as it was."""
    before = fingerprint(cwd)
    ran = run(*words, cwd=cwd)
    assert ran.code == 2, ran.out + ran.err
    assert ran.out == ""
    assert ran.err.startswith("safenet: "), ran.err
    assert "Traceback" not in ran.err
    message, arrow, cure = ran.err.removeprefix("safenet: ").partition("\n  → ")
    assert arrow, f"no remedy in: {ran.err}"
    # A message is a line, and where it points into a text, that line and a caret.
    assert len(ran.err.splitlines()) <= 4 + remedy.count("\n")
    assert re.search(says, message), message
    assert re.search(remedy, cure), cure
    assert fingerprint(cwd) == before
    return ran.err


@pytest.fixture
def desk(tmp_path):
    """A folder with a problem file, an unrelated file and an unrelated folder."""
    (tmp_path / "heat.toml").write_text(HEAT)
    (tmp_path / "notes.txt").write_text("do not touch\n")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"meow")
    return tmp_path
