"""What is published: its metadata, a README that stands alone, the wheel, and the site."""

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import safenet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
README = (ROOT / "README.md").read_text("utf-8")
LINKS = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)


def test_the_authors_are_those_of_the_citation():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert [author["name"] for author in PROJECT["authors"]] == re.findall(
        r'^  - name: "(.*)"', citation, re.MULTILINE
    )


def test_the_changelog_has_the_version():
    assert re.search(
        rf"^## .*\b{re.escape(safenet.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def test_every_link_of_the_readme_leads_somewhere():
    assert len(LINKS) > 10
    assert [link for link in LINKS if not (ROOT / link).exists()] == []


def test_on_a_package_index_every_link_is_an_address():
    absolute = runpy.run_path(str(ROOT / ".ci" / "absolute_links.py"))["absolute"]
    text = absolute(README, "https://host/owner/name", "1.2.3")
    assert re.findall(r"\]\((?!https?:|#)", text) == []
    assert "(https://host/owner/name/raw/v1.2.3/docs/heat.png)" in text
    assert "(https://host/owner/name/blob/v1.2.3/docs/problems.md)" in text
    assert "[table](#accuracy)" in text


@pytest.mark.slow
def test_the_wheel_has_all_files_and_works_away_from_the_checkout(tmp_path):
    """sdist → wheel, unpacked beside the dependencies that are installed here: the checkout is out of reach."""
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    package = ROOT / "src" / "safenet"
    files = {p.relative_to(package) for p in package.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    assert {file for file in files if not (tmp_path / "wheel" / "safenet" / file).exists()} == set()
    env = os.environ | {"PYTHONPATH": f"{tmp_path / 'wheel'}{os.pathsep}{sysconfig.get_path('purelib')}"}
    program = "import safenet; from safenet.cli import main; assert 'wheel' in safenet.__file__; main()"
    for words in (["doctor"], ["solve", "wave"], ["new", "mine.toml"]):
        subprocess.run([sys.executable, "-c", program, *words], cwd=tmp_path, env=env, check=True)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_nobody_else(tmp_path):
    pytest.importorskip("mkdocs")
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    assert len(pages) > 20
    for path, text in pages.items():
        assert re.findall(r"<(?:script|img|iframe)[^>]*src=\"https?:", text) == [], path
        assert re.findall(r"<link[^>]*rel=\"(?:stylesheet|preconnect)\"[^>]*https?:", text) == [], path
    reference = pages[tmp_path / "reference" / "python.html"]
    assert "SSBroyden" in reference
    assert "Usage: safenet solve" in pages[tmp_path / "reference" / "command-line.html"]
