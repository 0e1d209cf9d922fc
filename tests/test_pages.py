"""The pages of docs/: every program and every command runs as it stands, in the order in which it stands."""

import contextlib
import io
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command

import safenet as sn
from running import run
from safenet.cli import app
from safenet.solving.plans import NAMES

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
# Run from top to bottom here. The others have tests of their own, or programs for a cluster: those are parsed.
WHOLE = ["index.md", "tutorial.md", "solvers.md", *(page for page in PAGES if page.startswith("howto/"))]
# Films and trainings take their time; that their programs can be parsed is tested each time.
LONG = {"howto/pictures.md", "howto/from-deepxde.md", "howto/compare.md"}


def fences(page, *languages):
    """(language, contents) of a page's blocks, in their order."""
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(language, block) for language, block in found if language in languages]


def commands(block):
    """The `safenet …` lines, without their comments."""
    lines = block.replace("\\\n", " ").replace(" && ", "\n").splitlines()
    words = (shlex.split(line, comments=True) for line in lines)
    return [line[1:] for line in words if line[:1] == ["safenet"]]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in WHOLE]
)
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_the_page_runs_from_top_to_bottom(page, tmp_path):
    names = {"__name__": "page"}
    for language, block in fences(page, "python", "bash", "toml"):
        if language == "toml" and (name := re.match(r"# (\S+\.toml)\n", block)):
            (tmp_path / name[1]).write_text(block, encoding="utf-8")
        for words in commands(block) if language == "bash" else []:
            ran = run(*words, cwd=tmp_path)
            assert ran.code == 0, ran.err
            for option, value in pairwise(words):
                assert option not in ("-o", "--out") or (tmp_path / value).exists()
        if language == "python":
            with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, page, "exec"), names)
            assert out.getvalue().strip()
    expected = {
        "tutorial.md": lambda: [
            abs(names["beam"](x=0.5) - 1 / 16) < 1e-10,
            abs(names["membrane"](x=0.5, y=0.5) - 0.5) < 1e-8,
            names["burgers"].result.estimate < 1e-6,
            abs(names["found"] - 0.3) < 5 * names["found"].error,
        ],
        "howto/when-it-fails.md": lambda: [
            names["sol"].result.outcome == "not solved",
            names["sol"].result.estimate is None,
        ],
        "howto/from-dedalus.md": lambda: [names["sol"].result.estimate < 1e-6],
        "howto/from-deepxde.md": lambda: [names["sol"].result.outcome == "not solved"],
    }
    assert all(expected.get(page, list)())


@pytest.mark.parametrize("page", PAGES)
def test_every_program_can_be_parsed_and_every_command_is_understood(page):
    for _, block in fences(page, "python"):
        compile(block, page, "exec")
        for name in re.findall(r"\bsn\.(\w+)", block):
            assert hasattr(sn, name), f"sn.{name}"
    group = get_command(app)
    for _, block in fences(page, "bash", "text"):
        for words in commands(block):
            command = group
            while hasattr(command, "commands"):  # `store` has commands of its own
                command, words = command.commands[words[0]], words[1:]
            command.make_context("safenet", words).close()


def test_every_page_is_in_the_navigation():
    listed = re.findall(
        r"^ +- (?:.*: )?(\S+\.md)$", (DOCS.parent / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    assert set(listed) == set(PAGES)


def test_every_solver_has_a_line_in_the_table():
    table = (DOCS / "solvers.md").read_text("utf-8").split("| solver |")[1].split("\n\n")[0]
    named = {getattr(sn, name).name for name in re.findall(r"^\| `sn\.(\w+)\(", table, re.MULTILINE)}
    assert named == set(NAMES) - {"auto"}


def test_the_gallery_has_a_picture_of_every_example():
    page = (DOCS / "gallery.md").read_text("utf-8")
    for path in (DOCS.parent / "examples").glob("*.toml"):
        assert f"gallery/{path.stem}.png" in page, "run `make gallery`"
        assert (DOCS / "gallery" / f"{path.stem}.png").stat().st_size > 1_000
