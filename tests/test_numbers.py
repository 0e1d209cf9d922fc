"""Numbers in README and docs are those of results/: tables are read from the pages and compared cell by cell."""

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

import benchmarks
from benchmarks import accuracy_page, networks_page
from safenet.paper.names import METHODS
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
    "Navier–Stokes": "backstep",
    "Heat": "heat2d",
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


@pytest.mark.parametrize("page", accuracy_page.TABLES, ids=lambda page: page.name)
def test_the_tables_of_accuracy_are_made_of_their_runs(page):
    text = page.read_text("utf-8")
    assert benchmarks.written(text, accuracy_page.tables(page)) == text


# The lines of README's table of networks, as (study, method) of results/networks.jsonl; the last line is the paper's.
NETWORKS = {
    "SAFE-NET, default, H200": ("default", "safe-net"),
    "SAFE-NET, a quarter of the steps": ("compared", "safe-net"),
    "plain network, a quarter of the steps": ("compared", "pinn"),
    "SAFE-NET, default, two cores, five minutes": ("two-cores", "safe-net"),
}


def test_the_errors_of_networks_are_the_medians_of_their_rows(two_cores):
    errors = defaultdict(list)
    for line in (HOME / "results" / "networks.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row["options"]:
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
    assert benchmarks.written(page, networks_page.tables()) == page
    for problem, printed in networks_page.PRINTED.items():
        assert agrees(f"{printed:.1e}", two_cores[problem]["paper"]), problem


def test_lines_without_a_common_seed_are_not_compared():
    """The medians are over the seeds that all lines have."""
    rows = [{"problem": "wave", "seed": seed, "l2re": 1e-3 * (seed + 1)} for seed in range(3)]
    alike = {"one": rows[:2], "other": rows[1:]}
    assert networks_page._lines(alike, ("wave",)) == ["| one | 2.0e-03 |", "| other | 2.0e-03 |"]
    apart = {"one": rows[:1], "other": rows[1:]}
    assert networks_page._lines(apart, ("wave",)) == ["| one | – |", "| other | – |"]


def test_the_tables_of_the_paper_are_medians_of_the_kept_rows():
    """Read from the page and from the files, past the code that writes it; of SAFE-NET only as ours, whose k is one."""
    cells = defaultdict(list)
    for path in (HOME / "results").glob("paper-*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            plan = row["configuration"]["plan"]
            if not row["variant"] and plan["interior"] == 20_000:
                cells[row["recipe"], row["method"], row["problem"]].append(row["l2re"])
    methods = {name: method for method, name in METHODS.items() if method != "safe-net-literal"}
    both = [rows for rows in tables(HOME / "docs" / "benchmarks.md") if rows[0][0] == "method"]
    compared = 0
    for recipe, (head, *lines) in zip(("paper-1", "paper-2"), both, strict=True):
        for name, *values in lines:
            for problem, cell in zip(head[1:], values, strict=True):
                number = re.match(r"\**([\d.]+e-?\d+)", cell)
                if number and name in methods:
                    measured = cells[recipe, methods[name], NAMES.get(problem, named(problem))]
                    assert agrees(number[1], statistics.median(measured)), (recipe, name, problem)
                    compared += 1
    assert compared >= 50
