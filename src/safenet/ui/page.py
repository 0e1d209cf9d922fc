"""The page: on the left a problem in boxes and how it is read, on the right its solve, and past runs below."""

from __future__ import annotations

import queue
import time
from html import escape
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import panel as pn

from .. import library
from ..errors import SafeNetError
from ..problem import Problem
from ..problem.facts.posedness import doubts
from ..problem.language.latex import latex, latex_name, latex_relation
from ..run.folder import free_folder
from ..solution import Solution, load
from ..solving.plans import DATA_ONLY, NAMES, plan_for
from ..views.explore import Explorer
from ..views.notebook import solution_html
from .gallery import gallery
from .history import ResidualPlot, past_runs, runs_table
from .process import Process
from .statement import BOXES, Statement, read, script

EXAMPLE = Statement(
    "heat",
    "u_t = u_xx/10",
    "u(0, t) = 0\nu(1, t) = 0\nu(x, 0) = sin(pi*x)",
    "x = [0, 1]\nt = [0, 1]",
)
HELP = {
    "equations": "one per line: u_t = u_xx/10, u_x is a derivative",
    "conditions": "one per line, placed by their arguments: u(0, t) = 0",
    "domain": "one axis per line: x = [0, 1]; an axis named t is time",
    "parameters": "one per line: c = 2",
    "unknowns": "u, v (optional)",
    "more": "title = …, [pieces], [exact], [unknown]",
}
EARLIER = "<p style='color:#b35c00'>⚠ This is the result of an earlier statement: press Solve for the present one.</p>"
TICK = 200  # milliseconds between two checks of the worker and the boxes
QUIET = 0.3  # seconds without a keystroke before the boxes are read
LEFT, RIGHT = {"flex": "1 1 320px", "max-width": "480px"}, {"flex": "3 1 420px", "min-width": "0"}
CARD = {"border": "1px solid #d5dbe1", "border-radius": "8px", "padding": "4px 8px", "background": "white"}


def formulas(problem: Problem) -> str:
    """Equations, conditions and domain, aligned at their signs, for a page that renders $…$."""

    def row(left: str, right: str) -> str:
        return f"<tr><td style='text-align:right'>${left}$</td><td>${right}$</td></tr>"

    space = "<tr><td style='height:6px'></td></tr>"
    parts = []
    for group in (problem.equations, problem.conditions):
        sides = [latex_relation(problem, relation) for relation in group]
        parts.append(
            "".join(row(rf"\displaystyle {left}", rf"\displaystyle = {right}") for left, right in sides)
        )
    intervals = [
        (latex_name(axis.name), rf"\in [{latex(axis.lower)}, {latex(axis.upper)}]") for axis in problem.axes
    ]
    numbers = [(latex_name(s.name), f"= {latex(value)}") for s, value in problem.parameters.items()]
    parts.append("".join(row(*pair) for pair in (*intervals, *numbers)))
    return f"<table style='line-height:1.7'>{space.join(filter(None, parts))}</table>"


class Page:
    """One tab: its own boxes, its own solving process, its own solution."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.process = Process()
        self.problem: Problem | None = None
        self.solution: Solution | None = None
        self.asked: Statement | None = None  # what is being solved
        self.shown: Statement | None = None  # what the boxes said of the result that is shown
        self.typed = 0.0
        self._left()
        self._right()
        self._below()
        self._fill(EXAMPLE)
        self._check()

    # ---- layout

    def _left(self) -> None:
        self.gallery = gallery(self._picked)
        self.boxes = {
            key: pn.widgets.TextAreaInput(
                label=key.capitalize(),
                placeholder=HELP[key],
                auto_grow=True,
                max_rows=14,
                rows=1 if key in ("parameters", "unknowns", "more") else 2,
                sizing_mode="stretch_width",
                stylesheets=["textarea { font-family: ui-monospace, monospace; font-size: 13px; }"],
            )
            for key in BOXES
        }
        self.title = pn.widgets.TextInput(label="Name", sizing_mode="stretch_width")
        for box in (*self.boxes.values(), self.title):
            box.param.watch(self._typing, "value_input")
            box.param.watch(self._typing, "value")
        self.trouble = pn.pane.HTML("", sizing_mode="stretch_width", visible=False, css_classes=["trouble"])
        self.latex = pn.pane.LaTeX("", renderer="katex", sizing_mode="stretch_width", css_classes=["reading"])
        self.doubts = pn.pane.HTML("", sizing_mode="stretch_width")

    def _right(self) -> None:
        self.plan = pn.pane.HTML("", sizing_mode="stretch_width", css_classes=["plan"])
        self.solver = pn.widgets.Select(
            label="Solver", options=[n for n in NAMES if n not in DATA_ONLY], width=150
        )
        self.solver.param.watch(lambda _: self._check(), "value")
        self.budget = pn.widgets.TextInput(label="Time limit", placeholder="e.g. 60s", width=110)
        self.go = pn.widgets.Button(label="Solve", color="primary", width=110)
        self.halt = pn.widgets.Button(label="Stop", color="danger", width=90, disabled=True)
        self.go.on_click(lambda _: self._solve())
        self.halt.on_click(lambda _: self._stop())
        self.status = pn.pane.HTML("", sizing_mode="stretch_width", css_classes=["status"])
        self.bar = pn.indicators.Progress(value=-1, active=True, visible=False, sizing_mode="stretch_width")
        self.residuals = ResidualPlot()
        self.earlier = pn.pane.HTML(EARLIER, sizing_mode="stretch_width", visible=False)
        self.result = pn.Column(sizing_mode="stretch_width", css_classes=["result"])

    def _below(self) -> None:
        self.table = pn.pane.HTML("", sizing_mode="stretch_width", css_classes=["runs"])
        self.first = pn.widgets.Select(label="Run", width=220)
        self.second = pn.widgets.Select(label="with", width=220)
        opened = pn.widgets.Button(label="Open", width=90)
        compared = pn.widgets.Button(label="Compare", width=100)
        opened.on_click(lambda _: self._open(self.first.value))
        compared.on_click(lambda _: self._compare())
        self.comparison = pn.Column(sizing_mode="stretch_width")
        self.past = pn.Column(
            pn.pane.HTML("<b>Past runs</b>"),
            self.table,
            pn.FlexBox(self.first, self.second, opened, compared, align_items="end"),
            self.comparison,
            sizing_mode="stretch_width",
            styles=CARD,
        )
        self._list()

    def view(self) -> Any:
        """Two columns that become one on a narrow screen."""
        left = pn.Column(
            pn.pane.HTML("<b>Gallery</b>: pick a problem, then change it"),
            self.gallery,
            self.title,
            *(self.boxes[key] for key in BOXES),
            self.trouble,
            pn.pane.HTML("<b>This is how I read it</b>"),
            self.latex,
            self.doubts,
            styles={**CARD, **LEFT},
        )
        right = pn.Column(
            pn.pane.HTML("<b>What will be done</b>"),
            self.plan,
            pn.FlexBox(self.solver, self.budget, self.go, self.halt, align_items="end"),
            self.bar,
            self.status,
            self.residuals.pane,
            self.earlier,
            self.result,
            styles={**CARD, **RIGHT},
        )
        heading = pn.pane.HTML(
            "<h2 style='margin:4px 0'>SAFE-NET: state a PDE, solve it, look at it</h2>",
            sizing_mode="stretch_width",
        )
        body = pn.FlexBox(left, right, gap="12px", align_items="start", sizing_mode="stretch_width")
        room = {"gap": "12px", "padding": "8px", "max-width": "1500px"}
        return pn.Column(heading, body, self.past, sizing_mode="stretch_width", styles=room)

    # ---- stating

    def _fill(self, statement: Statement) -> None:
        texts = {self.title: statement.name} | {
            box: getattr(statement, key) for key, box in self.boxes.items()
        }
        for box, text in texts.items():
            box.param.update(value=text, value_input=text)  # value_input: the text as typed so far

    def _statement(self) -> Statement:
        typed = {key: box.value_input or box.value or "" for key, box in self.boxes.items()}
        return Statement(self.title.value_input or self.title.value or "", **typed)

    def _picked(self, name: str) -> None:
        self._fill(Statement.of(library.problem(name).toml()) if name else EXAMPLE)
        self._check()

    def _typing(self, _: Any) -> None:
        self.typed = time.monotonic()

    def _check(self) -> None:
        """Read the boxes; show the problem in LaTeX and the plan, or what is wrong and where."""
        self.typed = 0.0
        self._age()
        try:
            self.problem = read(self._statement())
            self.latex.object = formulas(self.problem)
            self.doubts.object = "".join(
                f"<p style='color:#b35c00'>⚠ {escape(text)}</p>" for text in doubts(self.problem)
            )
            self.trouble.visible, self.latex.styles = False, {}
            reasons = plan_for(self.problem, self.solver.value).reasons
            self.plan.object = "<ul>" + "".join(f"<li>{escape(reason)}</li>" for reason in reasons) + "</ul>"
        except SafeNetError as error:
            self._wrong(error)
        self.go.disabled = self.problem is None or self.process.busy

    def _age(self) -> None:
        """Grey out a result of another statement than the one in the boxes."""
        old = self.shown is not None and self.shown != self._statement()
        self.earlier.visible, self.result.styles = old, {"opacity": "0.35"} if old else {}

    def _wrong(self, error: SafeNetError) -> None:
        self.problem = None
        arrow = f"\n→ {error.remedy}" if error.remedy else ""
        self.trouble.object = (
            "<pre style='color:#c92a2a;background:#fff5f5;padding:8px;border-radius:6px;overflow-x:auto;margin:0'>"
            f"{escape(error.message + arrow)}</pre>"
        )
        self.trouble.visible, self.latex.styles = True, {"opacity": "0.35"}  # it is the previous reading
        self.plan.object = "<p>Complete the problem first.</p>"

    # ---- solving

    def _solve(self) -> None:
        self._check()
        if self.problem is None or self.process.busy:
            return
        self.residuals.clear()
        self.result.clear()
        self.asked, self.shown = self._statement(), None
        self._age()
        try:
            folder = free_folder(self.runs, self.problem.name)
        except SafeNetError as error:
            self._heard({"failed": str(error)})
            return
        self.status.object, self.bar.visible, self.bar.value = "starting …", True, -1
        self.go.disabled, self.halt.disabled = True, False
        limit = (self.budget.value or "").strip() or None
        self.process.solve(self.problem.toml(), self.problem.name, folder, self.solver.value, limit)

    def _stop(self) -> None:
        self.status.object = "stopping; the best so far is kept …"
        self.halt.disabled = True
        self.process.stop()

    def tick(self) -> None:
        """Read what was typed, and handle the worker's events."""
        if self.typed and time.monotonic() - self.typed > QUIET:
            self._check()
        heard = []
        while True:
            try:
                heard.append(self.process.events.get_nowait())
            except queue.Empty:
                break
        for event in heard:
            self._heard(event)

    def _heard(self, event: dict[str, Any]) -> None:
        if "phase" in event:
            self.status.object = escape(f"{event['phase']}: {event['detail']}".rstrip(": "))
            share = event.get("fraction")
            self.bar.value = -1 if share is None else int(100 * min(max(share, 0.0), 1.0))
        if "residual" in event:
            self.residuals.add(event["residual"])
        if event.keys() & {"done", "failed"}:
            self.bar.visible, self.halt.disabled, self.go.disabled = False, True, self.problem is None
        if "failed" in event:
            self.status.object = (
                f"<pre style='color:#c92a2a;white-space:pre-wrap'>{escape(event['failed'])}</pre>"
            )
        if "done" in event:
            self.status.object = ""
            self._open(event["folder"], self.asked)
            self._list()

    # ---- looking

    def _open(self, folder: str | None, asked: Statement | None = None) -> None:
        if not folder:
            return
        try:
            self.solution = load(folder)
        except SafeNetError as error:
            self.status.object = f"<pre style='color:#c92a2a;white-space:pre-wrap'>{escape(str(error))}</pre>"
            return
        self.shown = asked or self._statement()
        self._age()
        self.result.objects = [
            pn.pane.HTML(solution_html(self.solution), sizing_mode="stretch_width"),
            Explorer(self.solution).view,
            self._downloads(self.solution),
        ]

    def _downloads(self, solution: Solution) -> Any:
        name = solution.problem.name

        def csv() -> StringIO:
            path = Path(str(solution.folder)) / f"{name}.csv"
            return StringIO(solution.export(path).read_text(encoding="utf-8"))

        def png() -> BytesIO:
            picture = BytesIO()
            solution.plot().savefig(picture, format="png", dpi=150)
            picture.seek(0)
            return picture

        def toml() -> StringIO:
            return StringIO(solution.problem.toml())

        def python() -> StringIO:
            return StringIO(script(solution.problem, solution.result.solver or "auto", f"runs/{name}"))

        kinds = {"csv": csv, "png": png, "toml": toml, "py": python}
        return pn.FlexBox(
            *(
                pn.widgets.FileDownload(
                    callback=make, filename=f"{name}.{ending}", label=f"{name}.{ending}", color="light"
                )
                for ending, make in kinds.items()
            )
        )

    def _list(self) -> None:
        rows = past_runs(self.runs)
        self.table.object = runs_table(rows)
        names = {row.folder.name: str(row.folder) for row in rows}
        newest = [*names.values(), None]
        for select, usual in ((self.first, newest[0]), (self.second, newest[1 if len(names) > 1 else 0])):
            select.options = names
            select.value = usual

    def _compare(self) -> None:
        if not self.first.value or not self.second.value:
            return
        try:
            found = load(self.first.value).compare(load(self.second.value))
            self.comparison.objects = [
                pn.pane.Markdown(str(found)),
                pn.pane.PNG(found._repr_png_()[0], sizing_mode="scale_width", max_width=1100),
            ]
        except SafeNetError as error:
            self.comparison.objects = [pn.pane.Markdown(str(error))]

    def close(self) -> None:
        """End the process when the tab is closed."""
        self.process.close()
