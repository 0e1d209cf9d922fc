"""One's own comparison on one page, by `bench` and `report` alone."""

import subprocess
import sys

import pytest

from safenet import report
from safenet.bench import Store
from synthetic import row
from well_formed import parsed


def stored(folder):
    with Store(folder) as store:
        store.add(
            [row("wave", "pinn", "ssbroyden", error, width=width) for width, error in ((7, 0.1), (8, 1e-3))]
        )
    return folder


def test_the_page_has_the_comparison_and_the_list_and_nothing_of_the_paper(tmp_path):
    files = [tmp_path / name for name in ("page.html", "tables.md", "tables.tex")]
    assert len(report.write([stored(tmp_path / "store")], *files).rows) == 2
    page, markdown, latex = (file.read_text("utf-8") for file in files)
    found = parsed(page)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert {"t-own", "t-all"} <= set(found.ids)
    assert all(url.startswith(("#", "data:")) for url in found.urls)
    for text in (page[: page.index("<script")].split("</style>")[1], markdown, latex):
        assert "pinn" in text
        assert "1.0e-3" in text
        assert "paper" not in text
    assert markdown.startswith("# What was measured\n\n## Runs of your own suites\n")


def test_an_empty_store_says_what_to_run(tmp_path):
    Store(tmp_path / "store").close()
    report.write([tmp_path / "store"], tmp_path / "page.html")
    assert "<span>smoke</span>" in (tmp_path / "page.html").read_text("utf-8")


def test_the_command_leaves_the_paper_out_where_it_is_asked_to(tmp_path):
    from running import run

    stored(tmp_path / "store")
    ran = run("report", "store", "--markdown", "tables.md", "--no-paper", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "tables.md\n2 runs\n"), ran.err
    assert "claims" not in (tmp_path / "tables.md").read_text("utf-8")


@pytest.mark.slow
def test_it_works_where_there_is_no_paper(tmp_path):
    """Names of suites, rows, tables: nothing imports `safenet.paper`."""
    program = f"""
import sys

import pytest
sys.modules["safenet.paper"] = None  # an import of it fails
from safenet import bench, report
assert "smoke" in bench.names()
report.write([{str(stored(tmp_path / "store"))!r}], markdown={str(tmp_path / "t.md")!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
