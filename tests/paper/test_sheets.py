"""The tables: our number, the paper's, their ratio, the marks; the same in HTML, Markdown and LaTeX."""

import re

import pytest

from safenet.paper import Evidence, ledger, tables
from safenet.paper.compared import sheets
from safenet.paper.evidence import OURS
from safenet.paper.readings import of_readings
from safenet.paper.text import latex, markdown
from safenet.report.sheets import Cell
from safenet.report.text import escaped, stacked
from synthetic import cell, printed, row

MAIN = "optimizer_comparison_config1"


def sheet(results, label):
    return next(found for found in sheets(results) if found.label == label)


@pytest.fixture(scope="module")
def results():
    """On wave PINN has twice the printed error, W-PINN a third; RFF half diverged; on Burgers W-PINN as printed."""
    rows = [row("wave", "pinn", "paper-1", error, seed) for seed, error in enumerate((0.1, 0.13, 0.2))]
    rows.append(row("wave", "w-pinn", "paper-1", 2.9e-3))
    rows += [row("wave", "rff", "paper-1", 7e-3), row("wave", "rff", "paper-1", 1.0, 1, outcome="diverged")]
    rows.append(row("burgers", "w-pinn", "paper-1", 1.0, outcome="diverged"))
    rows.append(row("burgers", "pinn", "paper-1", 0.5))
    rows += [row("wave", "safe-net", "paper-1", 1e-4, seed) for seed in range(3)]
    rows.append(row("wave", "safe-net", "default", 1e-13))
    return Evidence(rows)


def test_a_cell_has_the_median_the_papers_number_and_their_ratio(results):
    found = sheet(results, MAIN)
    assert cell(found, "PINN", "Wave") == Cell(
        text="1.3e-1",
        below="paper 6.62e-2 ×2.0",
        detail="1.0e-1 … 2.0e-1 · mean 1.4e-1 ± 5.1e-2 · 3 seeds",
        sort=0.13,
        mark="same",
    )
    assert cell(found, "W-PINN", "Wave").mark == "better"
    assert cell(found, "PINN", "Burgers").mark == "worse"


def test_what_diverged_is_marked(results):
    found = sheet(results, MAIN)
    half = cell(found, "RFF", "Wave")
    assert (half.text, half.mark, half.detail) == ("✱", "worse", "7.0e-3 … 7.0e-3 · 2 seeds, 1 diverged")
    both = cell(found, "W-PINN", "Burgers")
    assert (both.text, both.below, both.mark) == ("✱", "paper ✱", "same")


def test_a_missing_cell_says_so_and_keeps_the_papers_number(results):
    missing = cell(sheet(results, MAIN), "RBF", "Heat")
    assert (missing.text, missing.below, missing.mark) == ("–", "paper 3.65e-3", "missing")


def test_our_methods_stand_below_the_papers_without_a_number_of_its(results):
    ours = cell(sheet(results, MAIN), "SAFE-NET, ours", "Wave")
    assert (ours.text, ours.below, ours.best) == ("1.0e-4", "", True)


def test_a_cell_with_fewer_seeds_says_so_and_is_never_the_best_of_its_column():
    """Neither of its column, nor where its median is that of the best."""
    rows = [row("wave", "pinn", "paper-1", 0.1, seed) for seed in range(3)]
    rows += [row("wave", "rff", "paper-1", 0.2, seed) for seed in range(3)]
    rows += [row("wave", "rbf", "paper-1", 0.01, seed) for seed in range(2)]
    rows.append(row("wave", "w-pinn", "paper-1", 0.1))
    rows += [row("burgers", method, "paper-1", e) for method, e in (("pinn", 0.1), ("rff", 0.3))]
    found = sheet(Evidence(rows), MAIN)
    wave = {line: cell(found, line, "Wave") for line in ("PINN", "RFF", "RBF", "W-PINN")}
    assert {line: (one.few, one.best) for line, one in wave.items()} == {
        **{"PINN": ("", True), "RFF": ("", False)},
        **{"RBF": ("2 seeds", False), "W-PINN": ("1 seed", False)},
    }
    burgers = {line: cell(found, line, "Burgers") for line in ("PINN", "RFF")}
    assert {line: (one.few, one.best) for line, one in burgers.items()} == {
        **{"PINN": ("1 seed", True), "RFF": ("1 seed", False)},
    }
    assert "**1.0e-1**" in markdown([], [found])
    assert r"\textbf{1.0e-1}" in latex([], [found])
    assert "**1.0e-2**" not in markdown([], [found])
    assert r"\textbf{1.0e-2}" not in latex([], [found])


def test_a_table_without_rows_names_its_suite(results):
    missing = sheet(results, "tab:adam_only_results")
    assert (missing.measured, missing.missing) == (0, "safenet bench paper-schedule-4 --out DIR")


def test_every_printed_table_and_every_quoted_one_is_there(results):
    titles = [found.title for found in sheets(results)]
    assert {table.title for table in tables()} <= set(titles)
    assert sum("FNO" in title or "PirateNet" in title or "PINNsFormer" in title for title in titles) == 5


def test_what_the_paper_quotes_is_marked_and_has_our_best_below():
    rows = [row("allen-cahn", "pinn", "paper-1", 1e-1), row("allen-cahn", "safe-net", "default", 6e-7)]
    found = sheet(Evidence(rows), "tab:pirate-sota")
    assert found.kind == "quoted"
    assert "Quoted by the paper" in found.notes[0]
    theirs, ours = found.rows
    assert (theirs[0].text, theirs[1].text) == ("PirateNet", "2.24e-05")
    assert (ours[0].text, ours[1].text, ours[1].below) == (
        "best in the store",
        "6.0e-7",
        "SAFE-NET, ours, default",
    )
    assert [cell.text for cell in ours[2:]] == [""] * 4
    assert len(sheet(Evidence([]), "tab:pirate-sota").rows) == 1


def test_at_another_scale_the_numbers_stand_beside_and_not_against():
    small = Evidence([row("wave", "pinn", "paper-1", 0.5, scale=0.01, points=400)])
    found = sheet(small, MAIN)
    assert (cell(found, "PINN", "Wave").mark, cell(found, "PINN", "Wave").below) == ("", "paper 6.62e-2")
    assert "1% of the iterations, 400 + 2,000 points" in found.notes[0]


def test_the_printed_numbers_come_out_as_printed():
    found = sheet(Evidence(printed("tab:features_ablation")), "tab:features_ablation")
    named = [(name, one) for line in found.rows for name, one in zip(found.head, line, strict=True)]
    assert {one.mark for name, one in named[1:] if name not in ("Heat", found.head[0])} == {"same"}
    assert found.head[0] == "features"


def test_networks_by_the_default_training_have_a_table_of_their_own(results):
    trained = next(found for found in sheets(results) if found.name == "trained")
    assert [line[4].text for line in trained.rows] == ["1.0e-13"]
    assert all(found.name != "defaults" for found in sheets(results))  # that is of direct solvers


# ---- text


def test_markdown_has_what_was_measured_and_rectangular_tables(results):
    found = list(sheets(results))
    text = markdown(ledger(results), found)
    for table in found:
        assert (f"## {table.title}\n" in text) != bool(table.missing)
    assert stacked(cell(sheet(results, MAIN), "PINN", "Wave")) in text
    assert (
        stacked(Cell("1.0e-3", "paper 2e-3", "5 seeds", best=True)) == "**1.0e-3**<br>paper 2e-3<br>5 seeds"
    )
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block[:200]
    assert "`safenet bench paper-depth --out DIR`" in text


def test_latex_is_balanced_and_escaped(results):
    text = latex(ledger(results), sheets(results))
    assert text.count(r"\begin{") == text.count(r"\end{")
    for line in text.splitlines():
        assert not re.search(r"(?<!\\)[%#_]", line) or line.startswith("%"), line
    for table in re.findall(
        r"\\begin\{longtable\}\{(.*?)\}\n.*?\\midrule\\endhead\n(.*?)\\bottomrule", text, re.DOTALL
    ):
        columns = table[0].count("p{")
        assert {len(re.findall(r"(?<!\\)&", line)) for line in table[1].splitlines()} == {columns - 1}
    assert escaped("50% of a_b & 3×") == r"50\% of a\_b \& 3$\times$"
    assert text.isascii()  # for pdflatex, whatever its encoding
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels)) == text.count(r"\begin{longtable}")
    assert r"\texttt{safenet bench paper-depth -{}-out DIR}" in text
    assert escaped("2012–2024") == "2012--2024"
    assert r"\textbf{1.0e-4}" in text  # the best on wave


def test_the_columns_of_latex_fit_the_line(results):
    """Their shares, each with the space on both its sides, are the line but for what rounding takes."""
    specs = re.findall(r"\\begin\{longtable\}\{(.*?)\}\n", latex(ledger(results), sheets(results)))
    assert len(specs) > 10
    for spec in specs:
        shares = re.findall(r"p\{\\dimexpr(0\.\d+|1\.0+)\\linewidth-2\\tabcolsep\\relax\}", spec)
        assert len(shares) == spec.count("p{"), spec
        assert 0.99 < sum(map(float, shares)) <= 1 + 1e-9, spec


def test_a_comparison_of_ones_own_comes_before_the_papers_tables():
    rows = [row("convection", "pinn", "paper-1", 1e-2, width=7), row("wave", "pinn", "paper-1", 1e-3)]
    first = sheets(Evidence(rows))[0]
    assert (first.kind, first.head) == ("own", ("method", "Convection"))


def test_a_list_calls_methods_problems_and_the_scale_as_the_paper_does(results):
    listed = next(found for found in sheets(results) if found.name == "all")
    assert ("Wave", "SAFE-NET, ours", "paper-1", "the paper's") in [
        tuple(line[place].text for place in (0, 1, 2, -1)) for line in listed.rows
    ]


def test_readings_stand_beside_the_printed_errors_and_are_counted():
    rows = [row("reaction", OURS, "paper-1", 1e-2), row("reaction", OURS, "paper-1", 0.4, k="auto")]
    rows += [row("reaction", "pinn", "paper-1", 5e-2, depth=3, scaled=False)]
    rows += [row("wave", OURS, "paper-1", 1e-3, precision="float64")]
    sheet = of_readings(Evidence(rows))
    lines = {line[0].text: {cell.mark for cell in line[1:] if cell.mark} for line in sheet.rows}
    assert lines == {
        "SAFE-NET · default": {"same"},
        "SAFE-NET · k=auto": {"worse"},
        "SAFE-NET · precision=float64": {"same"},
        "PINN · depth=3 · scaled=false": {"same"},
    }
    assert "SAFE-NET · k=auto 0 of 1" in sheet.notes[0]
    assert sheet.measured == 4
    assert of_readings(Evidence([])).missing == "safenet bench readings --out DIR"


def test_errors_without_a_common_reference_stand_beside_and_not_against():
    """The public data for heat are wrong by more than what is printed; those for Navier–Stokes have another outlet."""
    found = sheet(Evidence([*printed(MAIN)]), MAIN)
    heat, flow = cell(found, "PINN", "Heat"), cell(found, "PINN", "Navier–Stokes")
    assert (heat.mark, heat.below) == ("", "paper 6.34e-3")
    assert flow.mark == "same"
    assert any("Heat" in note and "1.28e-2" in note for note in found.notes)
    assert any("Navier–Stokes" in note and "outlet" in note for note in found.notes)
    entries = {entry.name: entry.ours for entry in ledger(Evidence([*printed(MAIN)]))}
    assert entries["errors-paper-main-safe-net"] == "7 of 7 as printed, 0 better, 0 worse"
