"""Numbers in README and docs are those of results/: tables are read from the pages and compared cell by cell."""

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

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


def test_the_errors_of_the_default_network_are_the_medians_of_its_rows(two_cores):
    errors = defaultdict(list)
    for row in results("network-default.json")["rows"]:
        errors[row["problem"]].append(pooled(row["l2re"]))
    head, rows = table(README, "nh-heat", "wave")
    measured, printed = rows
    assert len(head) == 10
    for problem, ours, paper in zip(head[1:], measured[1:], printed[1:], strict=True):
        assert agrees(ours, statistics.median(errors[named(problem)])), problem
        assert agrees(paper, two_cores[named(problem)]["paper"]), problem


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
                    measured = cells.get((recipe, method.strip("`"), named(problem)))
                    number = re.match(r"\**([\d.]+(?:e-?\d+)?)", cell)
                    if measured and number:
                        assert agrees(number[1], statistics.median(measured)), (recipe, method, problem)
                        compared += 1
    assert compared >= 60
    assert f"What {len(rows)} runs" in README.read_text("utf-8")
