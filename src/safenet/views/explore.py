"""An interactive solution: its field, a slider and a player for time, cross-sections through a clicked point.

sol.explore() in a notebook, and the same component in `safenet ui`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import SafeNetError
from ..run.notebook import in_notebook
from ..run.result import pooled
from ..solution import Solution
from .cuts import Cut, reached, sampled
from .look import COLOURS, INK, number

INSTALL = "pip install 'safenet-pde[ui]'"
POINTS = {1: 601, 2: 129}  # along each axis
STEPS = 100  # of a slider
FRAME = 120  # milliseconds between frames of the player
KEPT = 256  # frames
ROOM = {"flex": "1 1 280px", "min-width": "0", "max-width": "640px"}  # side by side, or below each other


class Explorer:
    """The field over two axes, the others held by sliders; two cross-sections through the clicked point."""

    def __init__(self, solution: Solution) -> None:
        try:
            import panel as pn
        except ImportError:
            raise SafeNetError("explore needs Panel", INSTALL) from None
        self.solution, self.problem = solution, solution.problem
        axes = self.problem.axes
        self.drawn = tuple(range(min(2, len(axes))))
        self.ends = [(axis.lo, reached(solution, i)) for i, axis in enumerate(axes)]
        self.point = [
            low + (high - low) * (0.0 if axes[i].is_time else 0.5) for i, (low, high) in enumerate(self.ends)
        ]
        self.ticks = [np.linspace(*self.ends[i], POINTS[len(self.drawn)]) for i in self.drawn]
        self.frames: dict[Any, np.ndarray] = {}
        self.name = self.problem.unknowns[0]
        self.fields = pn.widgets.RadioButtonGroup(
            options=list(self.problem.unknowns), value=self.name, visible=len(self.problem.unknowns) > 1
        )
        self.fields.param.watch(self._chosen, "value")
        self.sliders = {
            i: pn.widgets.FloatSlider(
                label=axis.name,
                start=self.ends[i][0],
                end=self.ends[i][1],
                step=(self.ends[i][1] - self.ends[i][0]) / STEPS,
                value=self.point[i],
                sizing_mode="stretch_width",
            )
            for i, axis in enumerate(axes)
            if (axis.is_time and len(axes) > 1) or i not in self.drawn
        }
        for i, slider in self.sliders.items():
            slider.param.watch(lambda event, i=i: self._slid(i, event.new), "value")
        self.reading = pn.pane.HTML("", sizing_mode="stretch_width")
        self.across = 1 if len(self.drawn) == 2 and axes[self.drawn[1]].is_time else 0
        plots = self._plots()
        self.panes = [pn.pane.Bokeh(plot, sizing_mode="stretch_width") for plot in plots]
        parts = (self.panes[: len(plots) - 2], self.panes[-2:])  # the map, and beside it the cross-sections
        self._draw()
        self.view = pn.Column(
            self.fields,
            *self.sliders.values(),
            *([self._player(pn)] if self.problem.time in self.sliders else []),
            pn.FlexBox(
                *(pn.Column(*part, styles=ROOM) for part in parts if part), sizing_mode="stretch_width"
            ),
            self.reading,
            sizing_mode="stretch_width",
        )

    # ---- what is drawn

    def _plots(self) -> list[Any]:
        from bokeh.events import Tap
        from bokeh.models import ColumnDataSource, LinearColorMapper, Span
        from bokeh.plotting import figure

        tools = "pan,wheel_zoom,box_zoom,reset,save"
        axes = self.problem.axes
        self.sections = [ColumnDataSource({"at": [], "u": []}) for _ in self.drawn]
        plots = []
        self.marks: dict[int, Any] = {}
        if len(self.drawn) == 2:
            right, up = (self.drawn[self.across], self.drawn[1 - self.across])
            (left, east), (south, north) = self.ends[right], self.ends[up]
            self.mapper = LinearColorMapper(palette="Viridis256", nan_color="#00000000")
            self.image = ColumnDataSource({"u": []})
            self.map: Any = figure(
                height=370,
                max_width=560,
                sizing_mode="stretch_width",
                tools=tools,
                x_range=(left, east),
                y_range=(south, north),
                x_axis_label=axes[right].name,
                y_axis_label=axes[up].name,
            )
            self.map.image(
                "u",
                x=left,
                y=south,
                dw=east - left,
                dh=north - south,
                color_mapper=self.mapper,
                source=self.image,
            )
            _quiet(self.map)
            self._colour_bar()
            for i, way in ((right, "height"), (up, "width")):
                self.marks[i] = Span(dimension=way, line_color=INK, line_dash="dotted", line_width=1.5)
                self.map.add_layout(self.marks[i])
            self.map.on_event(Tap, lambda event: self.move({right: event.x, up: event.y}))
            plots.append(self.map)
        self.curves: list[Any] = []
        for k, (i, source) in enumerate(zip(self.drawn, self.sections, strict=True)):
            high = 330 if len(self.drawn) == 1 else 190
            curve: Any = figure(
                height=high, tools=tools, x_axis_label=axes[i].name, sizing_mode="stretch_width"
            )
            _quiet(curve)
            curve.line("at", "u", source=source, line_width=2, color=COLOURS[k])
            self.curves.append(curve)
            plots.append(curve)
        return plots

    def _colour_bar(self) -> None:
        from bokeh.models import ColorBar

        self.map.add_layout(ColorBar(color_mapper=self.mapper, width=10, padding=4), "right")

    def _player(self, pn: Any) -> Any:
        assert self.problem.time is not None
        slider = self.sliders[self.problem.time]
        player = pn.widgets.Player(
            start=0,
            end=STEPS,
            value=0,
            interval=FRAME,
            loop_policy="once",
            show_loop_controls=False,
            visible_buttons=["first", "pause", "play", "last"],
            width=260,
            height=44,
            stylesheets=["input[type=range] { display: none; }"],  # the slider above shows it with values
        )

        def play(event: Any) -> None:
            slider.value = min(slider.start + event.new * slider.step, slider.end)

        player.param.watch(play, "value")
        self.player = player
        return player

    def _chosen(self, event: Any) -> None:
        self.name = event.new
        self._draw()

    def _slid(self, i: int, value: float) -> None:
        if value != self.point[i]:  # else `move` has set the slider
            self.move({i: value})

    def move(self, to: dict[int, float]) -> None:
        """Go to another point: where the user clicked, or moved a slider."""
        for i, value in to.items():
            low, high = self.ends[i]
            self.point[i] = float(min(max(value, low), high))
            if i in self.sliders and self.sliders[i].value != self.point[i]:
                self.sliders[i].value = self.point[i]
        self._draw()

    def _values(self, drawn: tuple[int, ...], ticks: list[np.ndarray]) -> np.ndarray:
        held = {i: value for i, value in enumerate(self.point) if i not in drawn}
        key = (self.name, drawn, tuple(held.items()))
        if key not in self.frames:
            if len(self.frames) >= KEPT:
                self.frames.pop(next(iter(self.frames)))
            self.frames[key] = sampled(self.solution, self.name, Cut(drawn, held), ticks)[0]
        return self.frames[key]

    def _draw(self) -> None:
        axes = self.problem.axes
        picture = self._values(self.drawn, self.ticks) if len(self.drawn) == 2 else None
        curves = [self._values((i,), [ticks]) for i, ticks in zip(self.drawn, self.ticks, strict=True)]
        changed(lambda: self._show(picture, curves), self.panes)
        value = self.solution.sampled({a.name: v for a, v in zip(axes, self.point, strict=True)})[0][
            self.name
        ]
        places = ", ".join(f"{a.name} = {v:.4g}" for a, v in zip(axes, self.point, strict=True))
        size = pooled(self.solution.result.estimate)
        sure = f" &nbsp; (estimated relative error of the solution: {number(size, 0)})" if size else ""
        self.reading.object = f"<b>{self.name}</b>({places}) = <b>{float(value):.8g}</b>{sure}"

    def _show(self, picture: np.ndarray | None, curves: list[np.ndarray]) -> None:
        if picture is not None:
            self.image.data = {"u": [picture if self.across else picture.T]}
            self._colours(picture)
            self.map.title.text = self._title(self.drawn)
            for i, mark in self.marks.items():
                mark.location = self.point[i]
        for k, (i, values) in enumerate(zip(self.drawn, curves, strict=True)):
            self.sections[k].data = {"at": self.ticks[k], "u": values}
            self.curves[k].title.text = self._title((i,))

    def _colours(self, picture: np.ndarray) -> None:
        """Colours for this picture's range: a fading field stays visible, and the bar shows how far it has faded."""
        known = picture[np.isfinite(picture)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        self.mapper.low, self.mapper.high = low, high if high > low else low + 1e-12 + abs(low) * 1e-9

    def _title(self, drawn: tuple[int, ...]) -> str:
        held = [
            f"{axis.name} = {self.point[i]:.3g}" for i, axis in enumerate(self.problem.axes) if i not in drawn
        ]
        return self.name + (f" at {', '.join(held)}" if held else "")


def changed(change: Callable[[], None], panes: Sequence[Any]) -> None:
    """Change plots of a page in its own event loop; or those of a notebook, which has to be notified afterwards."""
    import panel as pn

    page = pn.state.curdoc
    if page is not None and page.session_context is not None:
        page.add_next_tick_callback(change)
        return
    change()
    if in_notebook():
        pn.io.push_notebook(*panes)


def _quiet(plot: Any) -> None:
    """Show tools only while the pointer is over the plot."""
    plot.toolbar.logo = None
    plot.toolbar.autohide = True


def explore(solution: Solution) -> Any:
    """The component, ready for a notebook."""
    explorer = Explorer(solution)
    import panel as pn

    pn.extension()
    return explorer.view
