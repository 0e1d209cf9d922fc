"""u(x, t) and u(x, y, t) as a film: `sol.animate().save("wave.gif")`, or displayed directly in a notebook."""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from ..errors import SafeNetError, saving
from ..solution import Solution
from .cuts import Cut, cuts, named, reached, sampled, suffix
from .look import Picture, colour, field_colours, math, styled
from .maps import Plane
from .plot import headline

FORMATS = (".gif", ".mp4")
POINTS = {1: 401, 2: 161}  # along each axis of a frame
FFMPEG = "install ffmpeg, or pip install imageio-ffmpeg; .gif needs neither"


@dataclass(frozen=True)
class Film:
    """A figure and the function that draws its k-th frame; a notebook displays it as an animation."""

    figure: Picture
    draw: Callable[[int], Any]
    frames: int
    fps: int

    def save(self, path: str | Path, dpi: float = 110) -> Path:
        """Write it as .gif or .mp4."""
        from matplotlib.animation import FuncAnimation

        path = Path(path)
        check_film(path)
        film = FuncAnimation(self.figure, self.draw, frames=self.frames, blit=False)
        with saving(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with matplotlib.rc_context({"animation.ffmpeg_path": _ffmpeg(path)}):
                writer = "pillow" if path.suffix.lower() == ".gif" else "ffmpeg"
                film.save(path, writer=writer, fps=self.fps, dpi=dpi)
        return path

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            data = self.save(Path(folder) / "film.gif", dpi=90).read_bytes()
        return f'<img alt="film" src="data:image/gif;base64,{base64.b64encode(data).decode()}">'


def check_film(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise SafeNetError(
            f"cannot write a film to {path}", f"use a name that ends in {' or '.join(FORMATS)}"
        )
    _ffmpeg(path)


def _ffmpeg(path: Path) -> str:
    """The program that writes .mp4: the system's ffmpeg, or the one from imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found or path.suffix.lower() != ".mp4":
        return found or "ffmpeg"
    try:
        import imageio_ffmpeg
    except ImportError:
        raise SafeNetError("an .mp4 file needs ffmpeg", FFMPEG) from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def animate(
    solution: Solution, *what: str, frames: int = 60, fps: int = 20, style: str = "light", **at: Any
) -> Film:
    """The fields side by side over time, with fixed scales. Time and at most two more axes are drawn, others held."""
    problem = solution.problem
    if problem.time is None or len(problem.axes) == 1:
        raise SafeNetError(f"{problem.name} has no field that changes in time", "draw it: sol.plot()")
    if frames < 2:
        raise SafeNetError(f"{frames} frames make no film", "give at least 2, e.g. frames=60")
    index, axis = problem.time, problem.axes[problem.time]
    if axis.name in at:
        raise SafeNetError(
            f"a film shows all times, so {axis.name} cannot be held",
            f"leave out {axis.name}, or draw it: sol.plot(…)",
        )
    times = np.linspace(axis.lo, reached(solution, index), frames)
    place = cuts(solution, {**at, axis.name: times[0]})[0]
    shown = named(solution, what)
    with styled(style):
        size = (4.6 * len(shown) + 0.6, 4.4)
        figure = Picture(figsize=size, layout="constrained")
        panels = figure.subplots(1, len(shown), squeeze=False)[0]
        updates = [
            _panel(one, name, ax, place, index, times) for (one, name), ax in zip(shown, panels, strict=True)
        ]
        heading = headline(solution).split("\n")[0]
        clock = figure.suptitle("")

    def draw(k: int) -> list[Any]:
        clock.set_text(f"{heading}\n{math(axis.name)} = {times[k]:.3g}")
        return [update(k) for update in updates]

    draw(0)
    # All frames keep the first one's layout: a new one for each would move the axes, and take most of the time.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    figure.trimmed = False
    return Film(figure, draw, frames, fps)


def _panel(
    solution: Solution, name: str, ax: Any, place: Cut, time: int, times: np.ndarray
) -> Callable[[int], Any]:
    """Draw the first frame on `ax`; return a function that draws the k-th."""
    problem, drawn = solution.problem, place.drawn
    ticks = [np.linspace(problem.axes[i].lo, problem.axes[i].hi, POINTS[min(len(drawn), 2)]) for i in drawn]
    fields = [sampled(solution, name, Cut(drawn, {**place.held, time: float(t)}), ticks)[0] for t in times]
    everything = np.stack(fields)
    label = math(name, suffix(solution))
    if len(drawn) == 1:
        (line,) = ax.plot(ticks[0], fields[0], color=colour(0), lw=2)
        low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
        margin = 0.05 * (high - low) or 1.0
        ax.set(xlim=(ticks[0][0], ticks[0][-1]), ylim=(low - margin, high + margin), title=label)
        ax.set_xlabel(math(problem.axes[drawn[0]].name))
        ax.grid()
        return lambda k: line.set_ydata(fields[k])
    plane = Plane(problem, place)
    image = plane.show(ax, fields[0], label, **field_colours(everything))
    return lambda k: image.set_data(plane.picture(fields[k]))
