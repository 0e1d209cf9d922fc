"""The page in a browser: it draws, sorts, filters, and asks for nothing from elsewhere."""

import pytest
from pages import page  # noqa: F401

from browsing import browser  # noqa: F401
from safenet.paper.judges import PROBLEMS


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
    assert shown.count() == 2
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
