"""The page is one well-formed file that loads nothing, and in a browser it sorts, filters, and fits a phone."""

import base64
import gzip
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from pages import (
    everything,
    page,  # noqa: F401
)
from plotly import graph_objects

import safenet as sn
from safenet import SafeNetError
from safenet.bench import Store
from safenet.paper import Evidence, ledger, write
from safenet.paper.judges import OURS
from safenet.paper.names import NAMES
from safenet.paper.panels import figures
from safenet.paper.summary import sentences
from safenet.paper.writing import html
from safenet.report.fields import fields
from synthetic import row
from well_formed import parsed


@pytest.fixture(scope="module")
def full():
    return Evidence(everything())


def test_the_page_is_well_formed_and_loads_nothing(page):
    text = page.read_text("utf-8")
    found = parsed(text)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert all(url.startswith(("#", "data:")) for url in found.urls)
    assert not re.search(r"url\(\s*['\"]?(?!#)|@import", text)
    assert "default-src 'none'" in text
    assert page.stat().st_size < 4_000_000


def test_three_sentences_on_top_say_what_came_out(page):
    text = page.read_text("utf-8")
    kept, missed, reading = map(unescape, re.findall(r'<p class="lead">(.*?)</p>', text))
    chips = dict(re.findall(r'data-verdict="([^"]*)" aria-pressed="false"><b>(\d+)</b>', text))
    chips = {verdict: int(number) for verdict, number in chips.items()}
    open_ = chips["too few runs"] + chips["not measured yet"]
    assert (
        f"Of its {sum(chips.values())} claims, {chips['reproduced']} are reproduced, {chips['partly']} in part, "
        f"{chips['not reproduced']} not, {open_} have too few runs for a verdict, or none, and "
        f"{chips['cannot be decided']} cannot be decided." in kept
    )
    assert re.match(r"Reproduced(, for example)?: SAFE-NET ranks first on half of the problems[;.]", missed)
    assert " Not reproduced" in missed
    assert " Cannot be decided: the best errors on the heat equation" in missed
    assert "multiples of π/L" in reading
    assert "Heat is not compared: the public reference is 1.28e-2 from the exact solution" in reading
    assert re.search(r"main training schedule are: \d of \d as printed", reading)
    assert 'href="https://arxiv.org/abs/2502.07209"' in text


def test_small_runs_decide_nothing_and_the_summary_says_how_small():
    def said(*rows):
        (text,) = sentences(ledger(Evidence(rows)), Evidence(rows))
        return text

    small = said(*(row("wave", method, "paper-1", 0.1, scale=0.03, points=400) for method in ("pinn", "rff")))
    size = "2 runs on 1 problem with 3% of the iterations, 400 + 2,000 points, float32"
    assert f"at full size: {size}. So no run decides about any" in small
    assert "without training, 0 are reproduced, and 2 are not (that " in small
    assert "at full size: nothing was trained." in said()


def test_every_section_can_be_linked_to(page):
    text = page.read_text("utf-8")
    ids = set(parsed(text).ids)
    anchors = re.findall(r'class="anchor" href="#([^"]*)"', text)
    assert len(anchors) > 10
    assert set(anchors) <= ids


def test_every_colour_of_text_has_a_contrast_of_four_and_a_half_to_one():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    style = (Path(sn.__file__).parent / "report" / "page" / "page.css").read_text("utf-8")
    themes = re.findall(r":root[^{]*\{(.*?)\}", style, re.DOTALL)
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", theme))
        for name in ("ink", "soft", "faint", "accent", "good", "some", "bad", "none"):
            backs = [colours[back] for back in ("back", "card", "head", f"{name}-back") if back in colours]
            for back in backs:
                dark, light = sorted((luminance(colours[name]), luminance(back)))
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, back)


def test_an_empty_store_gives_a_page_that_says_what_to_run(tmp_path):
    Store(tmp_path / "store").close()
    entries = write([tmp_path / "store"], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert parsed(text).open == []
    assert len(entries) > 20
    assert "No data yet" in text
    for suite in ("paper-main", "paper-depth", "paper-runtime", "paper-domain"):
        assert f"<span>{suite}</span>" in text
    assert 'id="plotly"></script>' in text  # without a plot there is no Plotly


def test_what_comes_from_a_row_cannot_write_into_the_page():
    strange = row("wave", "pinn", "paper-1", 1e-2, depth=2)
    strange = type(strange)(**vars(strange) | {"device": "</script><script>alert(1)</script>"})
    text = html(Evidence([strange]), [], [])
    assert "<script>alert" not in text
    assert parsed(text).open == []


def test_plotly_is_in_it_once_and_whole(page):
    packed = re.findall(r'<script type="text/plain" id="plotly">(.*?)</script>', page.read_text("utf-8"))
    assert len(packed) == 1
    assert b"plotly.js v" in gzip.decompress(base64.b64decode(packed[0]))[:500]


def test_every_figure_of_the_paper_has_its_panels_and_plotly_takes_them(full):
    drawn = figures(full)
    assert [figure.name for figure in drawn if figure.missing] == []
    for figure in drawn:
        assert figure.panels, figure.name
        for panel in figure.panels:
            graph_objects.Figure(data=panel.data, layout=panel.layout)  # validates every name and value
            json.dumps(panel.data, allow_nan=False)


def test_the_bars_are_those_of_the_papers_figure(full):
    """Ours are the printed errors here: both bars are the same, and so are the places."""
    ratio = next(figure for figure in figures(full) if figure.name == "ratio")
    for panel in ratio.panels:
        ours, paper = panel.data
        assert ours["y"] == paper["y"]
        assert ours["text"] == paper["text"] == [f"#{place}" for place in (1, 1, 2, 1, 1, 3, 3, 4)]


def test_a_legend_names_what_is_drawn_and_nothing_else(full):
    drawn = [figure for figure in figures(full) if figure.legend]
    drawn += [
        figure for figure in figures(Evidence([row("diffusion", OURS, "paper-1", 1e-3)])) if figure.legend
    ]
    for figure in drawn:
        traces = {trace["name"] for panel in figure.panels for trace in panel.data}
        assert set(figure.legend) == traces, figure.name


def test_ours_is_among_the_three_best():
    errors = {"safe-net": 1e-5, OURS: 1e-4, "pinn": 1e-3, "rbf": 1e-2}
    rows = [row("diffusion", method, "paper-1", error) for method, error in errors.items()]
    best = next(figure for figure in figures(Evidence(rows)) if figure.name == "top-three")
    assert {trace["name"] for trace in best.panels[0].data} == {"SAFE-NET, ours", "SAFE-NET", "PINN"}


def test_figures_of_ablations_have_the_problems_that_have_something_to_compare():
    rows = [row(p, m, "paper-1", 1e-3) for p in ("wave", "burgers") for m in (OURS, "pinn")]
    changed = {"normalise": "none", "activation": "sine", "domain": False, "features": 16}
    rows += [row("burgers", OURS, "paper-1", 2e-3, **{name: value}) for name, value in changed.items()]
    found = {figure.name: figure for figure in figures(Evidence(rows))}
    for name in ("normalisation", "activation", "domain"):
        assert {x for trace in found[name].panels[0].data for x in trace["x"]} == {"Burgers"}, name
    assert [panel.title for panel in found["features"].panels] == ["Burgers"]
    assert found["domain"].caption.startswith("Schedule 1. ")  # by schedule 2 there is nothing yet


def test_a_mean_says_of_how_many_problems_it_is():
    """What diverged is in none."""
    rows = [row("wave", method, recipe, 0.1) for method in (OURS, "rff") for recipe in ("paper-1", "paper-2")]
    rows += [row("burgers", "rff", "paper-1", 0.4), row("burgers", "rff", "paper-2", 0.1)]
    rows += [
        row("reaction", "rff", "paper-1", 0.4),
        row("reaction", "rff", "paper-2", 1.0, outcome="diverged"),
    ]
    means = (
        next(figure for figure in figures(Evidence(rows)) if figure.name == "improvement").panels[0].data[0]
    )
    assert dict(zip(means["x"], means["text"], strict=True)) == {"SAFE-NET": "n = 1", "RFF": "n = 2"}
    assert dict(zip(means["x"], means["y"], strict=True)) == {"SAFE-NET": 0.0, "RFF": 37.5}


def test_figures_without_rows_name_the_suite():
    assert all(figure.missing and not figure.panels for figure in figures(Evidence([])))


def test_the_networks_beside_a_store_are_drawn(tmp_path):
    good, broken = row("diffusion", "safe-net", "default", 1e-12), row("wave", "safe-net", "default", 1e-12)
    sn.solve(sn.library.diffusion(), out=tmp_path / "runs" / good.id)
    (tmp_path / "runs" / broken.id).mkdir()
    (tmp_path / "runs" / broken.id / "solution.npz").write_bytes(b"cut short")
    drawn = list(fields(Evidence([good, broken], [tmp_path]), NAMES))
    assert [picture.title for picture in drawn] == ["Diffusion: SAFE-NET, ours, default"]
    titled = fields(Evidence([replace(good, variant={"features": 64})], [tmp_path]), NAMES)
    assert [picture.title for picture in titled] == ["Diffusion: SAFE-NET, ours, default, features=64"]
    assert base64.b64decode(drawn[0].url.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")


def test_nothing_to_write_is_an_error(tmp_path):
    with pytest.raises(SafeNetError, match="nothing is to be written"):
        write([tmp_path])


def test_the_command_writes_all_three(tmp_path):
    from running import run

    with Store(tmp_path / "store") as store:
        store.add([row("wave", "pinn", "paper-1", 1e-2)])
    ran = run(
        "report", "store", "-o", "out/page.html", "--markdown", "t.md", "--latex", "t.tex", cwd=tmp_path
    )
    assert ran.code == 0, ran.err
    assert "claims: " in ran.out
    assert (tmp_path / "out" / "page.html").stat().st_size > 1_000_000
    assert (tmp_path / "t.md").read_text().startswith("# The paper's claims, measured")
    assert run("report", "nowhere", "-o", "page.html", cwd=tmp_path).code == 2


# ---- in a browser
