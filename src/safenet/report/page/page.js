"use strict";
// ---- light and dark: the system's, until the reader says otherwise
const root = document.documentElement;
const remembered = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
                     set(value) { try { localStorage.setItem("theme", value); } catch { /* a file may not */ } } };
const system = matchMedia("(prefers-color-scheme: dark)");
function dress(theme) {
  root.dataset.theme = theme;
  root.style.colorScheme = theme;
  document.querySelectorAll(".plot.js-plotly-plot").forEach((plot) => Plotly.relayout(plot, colours()));
}
document.getElementById("theme").addEventListener("click", () => {
  const other = root.dataset.theme === "dark" ? "light" : "dark";
  remembered.set(other);
  dress(other);
});
system.addEventListener("change", (event) => { if (!remembered.get()) dress(event.matches ? "dark" : "light"); });
dress(remembered.get() || (system.matches ? "dark" : "light"));

// ---- tables: sort by a column, empty cells last
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => { const cell = row.cells[column]; return cell.dataset.sort ?? cell.textContent.trim(); };
    const order = (a, b) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const numbers = [Number(a), Number(b)];
      const by = numbers.some(Number.isNaN) ? a.localeCompare(b) : numbers[0] - numbers[1];
      return up ? by : -by;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((a, b) => order(value(a), value(b))));
  }));
}
document.querySelectorAll("table").forEach(sortable);

// ---- filters: a row stays if it has every word; the ledger also by verdict
const chips = [...document.querySelectorAll(".chip")];
function filter() {
  document.querySelectorAll(".filter").forEach((input) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = document.querySelectorAll(`${input.dataset.filter} ${input.dataset.filter.endsWith("tbody") ? "tr" : "tbody tr"}`);
    const chosen = chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.verdict);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      const verdict = row.dataset.verdict;
      row.hidden = !words.every((word) => text.includes(word)) || (verdict && chosen.length > 0 && !chosen.includes(verdict));
    });
  });
}
document.querySelectorAll(".filter").forEach((input) => input.addEventListener("input", filter));
chips.forEach((chip) => chip.addEventListener("click", () => {
  chip.ariaPressed = chip.ariaPressed === "true" ? "false" : "true";
  filter();
}));
document.getElementById("details").addEventListener("change", (event) =>
  document.body.classList.toggle("with-details", event.target.checked));

// ---- plots: Plotly is unpacked when the first one comes into view
const specs = JSON.parse(document.getElementById("specs").textContent);
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
function colours() {
  const axis = (name) => ({ [`${name}.gridcolor`]: css("--line"), [`${name}.linecolor`]: css("--line"), [`${name}.zerolinecolor`]: css("--faint") });
  return { "font.color": css("--soft"), ...axis("xaxis"), ...axis("yaxis"),
           "hoverlabel.bgcolor": css("--card"), "hoverlabel.font.color": css("--ink"), "hoverlabel.bordercolor": css("--line") };
}
let unpacking;
function plotly() {
  unpacking ??= (async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  })();
  return unpacking;
}
const touch = matchMedia("(pointer: coarse)").matches;
async function draw(place) {
  await plotly();
  const { data, layout } = specs[place.dataset.spec];
  // Whole decades where there are several: 2 and 5 between them are noise.
  const decades = (values) => Math.log10(Math.max(...values) / Math.min(...values));
  const axis = (given, name) => {
    const values = data.flatMap((trace) => trace[name] ?? []);
    const title = { ...given.title, font: { size: 11 }, standoff: 6 };
    if (values.some((value) => typeof value === "string")) return { automargin: true, ...given, title, showgrid: false };
    const span = given.type === "log" ? decades(values.filter((value) => value > 0)) : 0;
    if (given.type !== "log") return { automargin: true, ...given, title, nticks: 6, exponentformat: "SI" };
    // Plotly draws powers a quarter larger than it is told to; within a decade it finds the ticks itself.
    const ticks = span > 1.5 ? { dtick: Math.ceil(span / 6), exponentformat: "power", tickfont: { size: 9 } }
      : { ...(span > 0.5 ? { dtick: "D2" } : { nticks: 5 }), exponentformat: "none" };
    return { automargin: true, ...given, ...ticks, title };
  };
  // Few bars are not to fill a wide panel.
  const groups = new Set(data.flatMap((trace) => (trace.type === "bar" ? trace.x : []))).size;
  const base = { ...layout, xaxis: axis(layout.xaxis, "x"), yaxis: axis(layout.yaxis, "y"), showlegend: false,
    margin: { l: 46, r: 12, t: 8, b: 36 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 11 }, hovermode: "closest",
    bargap: Math.max(0.25, 1 - groups / 6), dragmode: touch ? false : "zoom" };
  await Plotly.newPlot(place, data, base, { responsive: true, displayModeBar: false });
  await Plotly.relayout(place, colours());
}
const watch = new IntersectionObserver((seen) => seen.filter((entry) => entry.isIntersecting).forEach((entry) => {
  watch.unobserve(entry.target);
  draw(entry.target);
}), { rootMargin: "400px" });
document.querySelectorAll(".plot").forEach((place) => watch.observe(place));

// ---- one legend for all panels of a figure
document.querySelectorAll(".legend button").forEach((button) => button.addEventListener("click", () => {
  const shown = button.ariaPressed !== "true";
  button.ariaPressed = String(shown);
  button.closest(".figure").querySelectorAll(".plot").forEach((place) => {
    const spec = specs[place.dataset.spec];
    const hit = spec.data.flatMap((trace, i) => (trace.name === button.dataset.series ? [i] : []));
    hit.forEach((i) => { spec.data[i].visible = shown; });
    if (place.classList.contains("js-plotly-plot") && hit.length) Plotly.restyle(place, { visible: shown }, hit);
  });
}));
