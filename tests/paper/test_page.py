"""The page is one well-formed file that loads nothing, and in a browser it sorts, filters, and fits a phone."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from plotly import graph_objects

import safenet as sn
from safenet import SafeNetError
from safenet.bench import Store
from safenet.paper import Evidence, write
from safenet.paper.judges import BASELINES, OURS, PROBLEMS
from safenet.paper.names import NAMES
from safenet.paper.panels import figures
from safenet.paper.writing import html
from safenet.report.fields import fields
from synthetic import printed, row
from well_formed import parsed


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
            found = {"spectrum": {"lambda_max": value}}
            rows.append(row("wave", method, "paper-4", 0.1, spectrum=(100, 200), result=found, scale=share))
    return rows


@pytest.fixture(scope="module")
def full():
    return Evidence(everything())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with Store(folder / "store") as store:
        few = row("wave", "pinn", "paper-1", 6e-2, 1)  # a second seed: all other cells have fewer
        store.add([*everything(), few, row("wave", "pinn", "paper-1", None, 9, outcome="failed")])
    write([folder / "store"], folder / "page.html", folder / "tables.md", folder / "tables.tex")
    return folder / "page.html"


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
    assert f"of its {sum(chips.values())} claims our runs reproduce {chips['reproduced']}" in kept
    assert f"and {chips['partly']} in part" in kept
    assert missed.startswith(f"{chips['not reproduced']} are not reproduced")
    assert (
        f"; {chips['too few runs'] + chips['not measured yet']} have too few runs for a verdict, or none"
        in missed
    )
    assert f"{chips['cannot be decided']} cannot be decided (errors of 5e-4 on the heat equation)" in missed
    assert "multiples of π/L" in reading
    assert re.search(r"SAFE-NET's errors by the first schedule are \d of \d as printed", reading)
    assert 'href="https://arxiv.org/abs/2502.07209"' in text


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
    from test_cli import run

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

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, page):
    """page, what it complained about, what it asked for."""

    def visit(width=1280, scheme="light"):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        complaints, requests = [], []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(page.as_uri())
        return tab, complaints, requests

    yield visit
    for context in browser.contexts:
        context.close()


def draw_plots(tab, where=""):
    """Scroll through, so that every plot is drawn."""
    tab.evaluate(
        """async (where) => { for (const place of document.querySelectorAll(where + " .plot")) {
             place.scrollIntoView({ behavior: "instant" });
             while (!place.querySelector(".main-svg")) await new Promise(requestAnimationFrame); } }""",
        where,
    )


def test_it_loads_draws_every_plot_and_asks_for_nothing(opened):
    tab, complaints, requests = opened()
    draw_plots(tab)
    assert complaints == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests)
    assert tab.locator(".plot.js-plotly-plot").count() == tab.locator(".plot").count() > 20


def test_it_sorts(opened):
    tab, complaints, _ = opened()
    table = tab.locator("#tables table.sheet").first
    column = table.locator("thead th").nth(1)

    def values():
        return table.locator("tbody tr td:nth-child(2)").evaluate_all(
            "cells => cells.map(c => Number(c.dataset.sort))"
        )

    column.locator("button").click()
    assert values() == sorted(values())
    assert column.get_attribute("aria-sort") == "ascending"
    column.locator("button").click()
    assert values() == sorted(values(), reverse=True)
    assert len(set(values())) == 8
    assert complaints == []


def test_it_filters(opened):
    tab, complaints, _ = opened()
    shown = tab.locator("#ledger tbody tr:visible")
    whole = shown.count()
    tab.locator('[data-filter="#ledger"]').fill("largest hessian")
    assert shown.count() == 1
    tab.locator('[data-filter="#ledger"]').fill("")
    tab.locator('.chip[data-verdict="reproduced"]').click()
    assert 0 < shown.count() < whole
    assert set(shown.locator(".verdict").all_inner_texts()) == {"reproduced"}
    tab.locator('.chip[data-verdict="reproduced"]').click()
    assert shown.count() == whole
    assert complaints == []


def test_what_has_no_value_is_sorted_last_either_way(opened):
    tab, complaints, _ = opened()
    for where, column in (("#t-all", 6), ("#t-all", 4), ("#ledger", 2)):
        cells = tab.locator(f"{where} tbody tr > :nth-child({column})")
        for _ in range(2):
            tab.locator(f"{where} thead th:nth-child({column}) button").click()
            blank = [text.strip() in ("", "–") for text in cells.all_text_contents()]
            assert any(blank)
            assert blank == sorted(blank)
            assert not blank[0]
    assert complaints == []


def test_runs_are_filtered_by_whole_words(opened):
    """As by `safenet bench --only`."""
    tab, complaints, _ = opened()
    shown, nothing = tab.locator("#t-all tbody tr:visible"), tab.locator("#runs .nothing:visible")
    whole, given = shown.count(), tab.locator('[data-filter="#runs"]')
    given.fill("pinn wave")
    assert set(shown.locator("th").all_inner_texts()) == {"Wave"}
    assert set(shown.locator("td:nth-child(2)").all_inner_texts()) == {"PINN"}
    given.fill("depth=2")
    assert shown.count() == len(PROBLEMS)
    assert nothing.count() == 0
    given.fill("pin")
    assert shown.count() == 0
    assert nothing.all_inner_texts() == ["Nothing matches."]
    given.fill("")
    assert shown.count() == whole
    assert nothing.count() == 0
    assert complaints == []


def test_light_and_dark(opened):
    def back(tab):
        return tab.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = opened()[0], opened(scheme="dark")[0]
    assert back(light) != back(dark)
    before = back(light)
    light.locator("#theme").click()
    assert back(light) == back(dark)
    light.locator("#theme").click()
    assert back(light) == before


def test_the_details_of_a_cell_are_shown_on_demand(opened):
    tab, _, _ = opened()
    detail = tab.locator("#tables .sheet .detail").first
    assert not detail.is_visible()
    tab.locator("#details").check()
    assert detail.is_visible()


def test_fewer_seeds_are_said_once(opened):
    """Below the number; with the details, in them."""
    tab, _, _ = opened()
    cell = tab.locator("#tables .sheet td:has(.few)").first
    assert cell.locator("small:visible", has_text="1 seed").all_inner_texts() == ["1 seed"]
    tab.locator("#details").check()
    assert cell.locator("small:visible", has_text="1 seed").all_inner_texts() == ["1 seed"]


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.04, 1.2, ["0.05", "0.1", "0.2", "0.5", "1"]),
        (2300, 43_000, ["5,000", "10,000", "20,000"]),
        (0.41, 1.3, ["0.6", "0.8", "1", "1.2"]),
        (0.97, 0.9951, ["0.97", "0.975", "0.98", "0.985", "0.99", "0.995"]),
        (1.5e-6, 2.5e-5, ["2·10<sup>−6</sup>", "5·10<sup>−6</sup>", "10<sup>−5</sup>", "2·10<sup>−5</sup>"]),
        (0.005, 2, ["0.01", "0.1", "1"]),
        (0.5e-9, 2e3, [f"10<sup>{power}</sup>".replace("-", "−") for power in (-9, -6, -3, 0, 3)]),
    ],
)
def test_the_ticks_of_a_log_axis_are_written_out(opened, low, high, texts):
    tab, _, _ = opened()
    found = tab.evaluate("([low, high]) => ticks(Math.log10(low), Math.log10(high))", [low, high])
    assert found["ticktext"] == texts
    plain = [
        float(
            text.replace(",", "")
            .replace("−", "-")
            .replace("·10<sup>", "e")
            .replace("10<sup>", "1e")
            .removesuffix("</sup>")
        )
        for text in texts
    ]
    assert found["tickvals"] == pytest.approx(plain, rel=1e-12)


def test_log_axes_have_these_ticks_and_new_ones_when_enlarged(opened):
    tab, complaints, _ = opened()
    draw_plots(tab, "#f-runtime")

    def texts(last):
        """Once the last of them is this one."""
        return tab.evaluate(
            """async (last) => { for (let frame = 0; frame < 300; frame++) {
                 const texts = [...document.querySelectorAll("#f-runtime .xtick text")].map((t) => t.textContent);
                 if (texts.at(-1) === last) return texts;
                 await new Promise(requestAnimationFrame); } }""",
            last,
        )

    assert texts("5,000") == ["2,500", "3,000", "3,500", "4,000", "4,500", "5,000"]
    tab.evaluate("Plotly.relayout(document.querySelector('#f-runtime .plot'), { 'xaxis.range': [3, 5] })")
    assert texts("100,000") == ["1,000", "10,000", "100,000"]
    assert complaints == []


def test_a_series_is_switched_off_in_all_panels(opened):
    tab, complaints, _ = opened()
    draw_plots(tab, "#f-curves")
    lines = tab.locator("#f-curves .scatterlayer .trace")
    before, panels = lines.count(), tab.locator("#f-curves .plot").count()
    tab.locator('#f-curves .legend [data-series="PINN"]').click()
    assert lines.count() == before - panels
    assert complaints == []


def test_the_list_of_runs_is_seen_whole_on_a_laptop(opened):
    tab, _, _ = opened(1280)
    widths = tab.locator("#runs .scroll").evaluate_all(
        "places => places.map(p => [p.scrollWidth, p.clientWidth])"
    )
    assert widths
    assert all(needed == given for needed, given in widths)


def test_the_tables_are_seen_whole_at_1300_and_no_number_is_broken(opened):
    tab, _, _ = opened(1300)
    places = "places => places.map(p => [p.scrollWidth, p.clientWidth])"
    assert tab.evaluate("document.documentElement.scrollWidth") == 1300
    for _ in range(2):
        widths = tab.locator("#tables article .scroll").evaluate_all(places)
        assert len(widths) > 5
        assert all(needed == given for needed, given in widths)
        lines = tab.locator("#tables article small > span:visible").evaluate_all(
            "s => s.map(x => x.offsetHeight)"
        )
        assert set(lines) == {16}
        tab.locator("#details").check()


@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow)])
def test_a_phone_is_wide_enough(opened, width):
    tab, complaints, _ = opened(width)
    draw_plots(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert complaints == []
