"""A page of made-up rows, written once."""

from functools import cache

import pytest

from safenet.bench import Store
from safenet.paper import write
from safenet.paper.judges import BASELINES, OURS, PROBLEMS
from synthetic import printed, row


@cache
def everything():
    """Rows for every figure: the paper's own numbers, and made-up ones where it prints none."""
    labels = ("optimizer_comparison_config1", "optimizer_comparison_config2", "tab:adam_only_results")
    labels += ("activation_ablation", "tab:features_ablation")
    rows = [made for label in labels for made in printed(label)]
    for problem in PROBLEMS:
        rows += [row(problem, OURS, "paper-1", 1e-2 / depth, depth=depth) for depth in (2, 4, 6)]
        rows += [row(problem, OURS, "paper-1", 5e-2, normalise="none")]
        rows += [
            row(problem, "pinn", "paper-2", 6e-2, domain=True),
            row(problem, OURS, "paper-2", 2e-2, domain=False),
        ]
    for method in (OURS, *BASELINES):
        for samples in (2500, 5000):
            pace = {"pace": {"adam": 1e-3}}
            rows.append(row("wave", method, "paper-4", 0.1, scale=0.02, points=samples, result=pace))
    for share in (0.03, 1.0):
        for method, value in ((OURS, 10.0), ("pinn", 1e4)):
            found = {"spectrum": {"lambda_max": value, "seconds": 9.0}}
            rows.append(row("wave", method, "paper-4", 0.1, spectrum=(100, 200), result=found, scale=share))
    return rows


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with Store(folder / "store") as store:
        few = row("wave", "pinn", "paper-1", 6e-2, 1)  # a second seed: all other cells have fewer
        store.add([*everything(), few, row("wave", "pinn", "paper-1", None, 9, outcome="failed")])
    write([folder / "store"], folder / "page.html", folder / "tables.md", folder / "tables.tex")
    return folder / "page.html"
