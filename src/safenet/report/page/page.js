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

// ---- tables: sort by a column, cells without a value last either way
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => {
      const cell = row.cells[column], shown = cell.textContent.trim();
      return ["", "–"].includes(shown) ? "" : cell.dataset.sort ?? shown;
    };
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

// ---- filters: a row stays if it has every word, whole as `safenet bench --only` has it: pinn is not rba-pinn.
// A row with a verdict is prose: there a part of a word is enough; it is also filtered by the verdict.
const split = (text) => text.toLowerCase().split(/[\s·]+|,\s+/).filter(Boolean);
const chips = [...document.querySelectorAll(".chip")];
function filter() {
  document.querySelectorAll(".filter").forEach((input) => {
    const words = split(input.value);
    const chosen = chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.verdict);
    document.querySelectorAll(`${input.dataset.filter} tbody`).forEach((body) => {
      const rows = [...body.rows];
      rows.forEach((row) => {
        const verdict = row.dataset.verdict;
        const text = verdict ? row.textContent.toLowerCase() : split([...row.querySelectorAll("th, span, small")].map((part) => part.textContent).join(" "));
        row.hidden = !words.every((word) => text.includes(word)) || (verdict && chosen.length > 0 && !chosen.includes(verdict));
      });
      body.parentElement.nextElementSibling.hidden = rows.some((row) => !row.hidden);
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
// Ticks of a log axis from 10^low to 10^high: whole decades where there are two or more; else 1, 2 and 5 of each;
// within a part of a decade even steps. Plotly's own would be 2 and 5 for 0.2 and 5,000.
function ticks(low, high) {
  const within = (value) => low <= Math.log10(value) && Math.log10(value) <= high;
  const from = Math.floor(low), decades = Array.from({ length: Math.ceil(high) - from + 1 }, (_, i) => from + i);
  const times = (digits) => decades.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`))).filter(within);
  let found = times([1]);
  if (high - low >= 2) found = found.filter((_, i) => i % Math.ceil((high - low) / 6) === 0);
  else if ((found = times([1, 2, 5])).length < 3) {
    const width = (10 ** high - 10 ** low) / 6, power = Math.floor(Math.log10(width));
    const step = Number(`${[1, 2, 5, 10].find((digit) => digit * 10 ** power >= width)}e${power}`), first = Math.ceil(10 ** low / step);
    found = Array.from({ length: 8 }, (_, i) => Number(((first + i) * step).toPrecision(12))).filter(within);
  }
  const plain = found.every((value) => 1e-4 <= value && value < 1e6);
  const name = (value) => {
    if (plain) return value.toLocaleString("en-US", { maximumSignificantDigits: 12 });
    const [digits, power] = value.toExponential().split("e");
    return `${digits === "1" ? "" : `${digits}·`}10<sup>${Number(power)}</sup>`.replace("-", "−");
  };
  return { tickvals: found, ticktext: found.map(name) };
}
function ticked(place) {
  const change = {};
  for (const name of ["xaxis", "yaxis"]) {
    const axis = place._fullLayout[name];
    if (axis.type !== "log") continue;
    for (const [key, value] of Object.entries(ticks(...axis.range))) change[`${name}.${key}`] = value;
  }
  return change;
}
const touch = matchMedia("(pointer: coarse)").matches;
async function draw(place) {
  await plotly();
  const { data, layout } = specs[place.dataset.spec];
  const axis = (given, name) => {
    const values = data.flatMap((trace) => trace[name] ?? []);
    const title = { ...given.title, font: { size: 11 }, standoff: 6 };
    if (values.some((value) => typeof value === "string")) return { automargin: true, ...given, title, showgrid: false };
    const more = given.type === "log" ? { exponentformat: "power" } : { nticks: 6, exponentformat: "SI" };
    return { automargin: true, ...given, title, ...more };
  };
  // Few bars are not to fill a wide panel.
  const groups = new Set(data.flatMap((trace) => (trace.type === "bar" ? trace.x : []))).size;
  const base = { ...layout, xaxis: axis(layout.xaxis, "x"), yaxis: axis(layout.yaxis, "y"), showlegend: false,
    margin: { l: 46, r: 12, t: 8, b: 36 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 11 }, hovermode: "closest",
    bargap: Math.max(0.25, 1 - groups / 6), dragmode: touch ? false : "zoom" };
  await Plotly.newPlot(place, data, base, { responsive: true, displayModeBar: false });
  await Plotly.relayout(place, { ...colours(), ...ticked(place) });
  place.on("plotly_relayout", (change) => {
    if (Object.keys(change).some((key) => key.includes("range"))) Plotly.relayout(place, ticked(place));
  });
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
    if (place.classList.contains("js-plotly-plot") && hit.length)
      Plotly.restyle(place, { visible: shown }, hit).then(() => Plotly.relayout(place, ticked(place)));
  });
}));
