"""Numbers in README and docs are those of results/: tables are read from the pages and compared cell by cell."""

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks import networks_page
from safenet.run.result import pooled

HOME = Path(__file__).parents[1]
README = HOME / "README.md"
NAMES = {
    "heat 2-d": "heat2d",
    "heat, two dimensions": "heat2d",
    "non-homogeneous heat": "nh-heat",
    "wave, kinked data": "wave-hard",
    "convection, β = 0.1": "convection",
    "convection, β = 50": "convection-50",
    "back-step": "backstep",
}
pytestmark = pytest.mark.skipif(not README.exists(), reason="there is no README.md")


def results(name):
    return json.loads((HOME / "results" / name).read_text("utf-8"))


def named(text):
    """Allen–Cahn (its corner …) → allen-cahn"""
    plain = re.sub(r"[`*]|\(.*?\)|, (ν|Re|pooled).*", "", text).strip()
    return NAMES.get(plain, plain.lower().replace("–", "-"))


def tables(path):
    """Every table of a page, a list of its rows, each a list of cells."""
    found = re.findall(r"(?:^\|.*\|\n)+", path.read_text("utf-8"), re.MULTILINE)
    split = (
        [[cell.strip() for cell in row.strip("|\n").split("|")] for row in text.splitlines()]
        for text in found
    )
    return [[rows[0], *rows[2:]] for rows in split]


def table(path, *headings):
    (one,) = (rows for rows in tables(path) if set(headings) <= set(rows[0]))
    return one[0], one[1:]


def agrees(text, value):
    """2e-11 for 1.6e-11, 4.2e-3 for 0.00423: what is written is what was measured, to the digits that are written."""
    digits = len(re.sub(r"e.*|[^0-9]", "", text)) - 1
    return float(text) == float(f"{value:.{digits}e}")


@pytest.fixture(scope="module")
def two_cores():
    return results("accuracy.json")["machines"]["two cores"]["runs"]


def test_the_accuracy_in_the_readme_was_measured(two_cores):
    _, rows = table(README, "its own estimate")
    assert len(rows) >= 5
    for problem, error, estimate, seconds in rows:
        if "…" not in error:
            run = two_cores[named(problem)]
            assert agrees(error, run["l2re"]), problem
            assert agrees(estimate, run["estimate"]), problem
            assert float(seconds) == round(run["seconds"]), problem
            continue
        runs = [two_cores[name] for name in ("wave", "convection", "diffusion", "heat2d", "nh-heat")]
        for text, key in ((error, "l2re"), (estimate, "estimate")):
            low, high = text.split(" … ")
            assert agrees(low, min(run[key] for run in runs)), key
            assert agrees(high, max(run[key] for run in runs)), key
        assert float(seconds) == round(max(run["seconds"] for run in runs))


def test_the_table_of_accuracy_was_measured_on_both_machines(two_cores):
    h200 = results("accuracy.json")["machines"]["H200"]["runs"]
    _, rows = table(HOME / "docs" / "accuracy.md", "estimated", "ours")
    for problem, printed, published, ours, estimate, there, here, _ in rows:
        run = two_cores[named(problem)]
        for text, key in ((printed, "paper"), (published, "published")):
            assert run[key] is None if text == "–" else agrees(text, run[key]), (problem, key)
        assert agrees(ours.strip("*"), run["l2re"]), problem
        assert agrees(estimate, run["estimate"]), problem
        assert float(there) == round(h200[named(problem)]["seconds"], 1), problem
        assert float(here) == round(run["seconds"], 1), problem


# The lines of README's table of networks, as (study, method) of results/networks.jsonl; the last line is the paper's.
NETWORKS = {
    "SAFE-NET, default, H200": ("default", "safe-net"),
    "SAFE-NET, a quarter of the steps": ("methods", "safe-net"),
    "plain network, a quarter of the steps": ("methods", "pinn"),
    "SAFE-NET, default, two cores, five minutes": ("two-cores", "safe-net"),
}


def test_the_errors_of_networks_are_the_medians_of_their_rows(two_cores):
    errors = defaultdict(list)
    for line in (HOME / "results" / "networks.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        errors[row["study"], row["method"], row["problem"]].append(pooled(row["l2re"]))
    head, (*lines, printed) = table(README, "nh-heat", "wave")
    assert [line[0] for line in lines] == list(NETWORKS)
    names = [named(problem) for problem in head[1:]]
    for title, *cells in lines:
        medians = [statistics.median(errors[*NETWORKS[title], name] or [0.0]) for name in names]
        expected = [f"{median:.0e}" if median else "–" for median in medians]
        assert all(agrees(a, b) if b else a == "–" for a, b in zip(cells, medians, strict=True)), (
            title,
            expected,
        )
    for paper, name in zip(printed[1:], names, strict=True):
        assert agrees(paper, two_cores[name]["paper"]), name


def test_the_page_about_networks_is_made_of_its_rows(two_cores):
    page = networks_page.PAGE.read_text("utf-8")
    assert networks_page.written(page) == page
    for problem, printed in networks_page.PRINTED.items():
        assert agrees(f"{printed:.1e}", two_cores[problem]["paper"]), problem


def test_the_tables_of_the_paper_are_medians_of_the_kept_rows():
    rows = [
        json.loads(line) for line in (HOME / "results" / "paper-main.jsonl").read_text("utf-8").splitlines()
    ]
    cells = defaultdict(list)
    for row in rows:
        if not row["variant"]:
            cells[row["recipe"], row["method"], row["problem"]].append(row["l2re"])
    compared = 0
    for recipe, mark in (("paper-1", "("), ("paper-2", "×")):
        for head, *lines in tables(HOME / "docs" / "benchmarks.md"):
            if head[0] or not any(mark in cell for line in lines for cell in line):
                continue
            if (recipe == "paper-2") != any("×" in cell for line in lines for cell in line):
                continue
            for method, *values in lines:
                for problem, cell in zip(head[1:], values, strict=True):
                    measured = cells.get(
                        (recipe, method.strip("*").split("`")[1] if "`" in method else method, named(problem))
                    )
                    number = re.match(r"\**([\d.]+(?:e-?\d+)?)", cell)
                    if measured and number:
                        assert agrees(number[1], statistics.median(measured)), (recipe, method, problem)
                        compared += 1
    assert compared >= 60
    assert f"What {len(rows)} runs" in README.read_text("utf-8")
