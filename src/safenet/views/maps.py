"""Fields over a plane: (x, t), (x, y), or (x, y) at several times; regions with their outline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from matplotlib.axes import Axes

from ..problem import Problem
from ..problem.language.latex import latex_name
from ..solution import Solution
from .cuts import Cut, sampled, suffix
from .look import UNKNOWN, colour_bar, error_colours, error_title, field_colours, ink, math

POINTS = 257  # along each axis
SLIVER = 12  # with a longer side than this many times the other, a plane without a shape is stretched
FADED = 0.2  # a plane whose values span less than this share of another's has colours of its own


def aspect(problem: Problem, drawn: tuple[int, ...]) -> Literal["equal", "auto"]:
    """One scale for both axes of a plane: never with time, always with a shape in it, else unless it is a sliver."""
    one, two = (problem.axes[i] for i in drawn)
    if one.is_time or two.is_time:
        return "auto"
    shaped = problem.region is not None and max(drawn) < problem.region.dimension
    return "equal" if shaped or 1 / SLIVER <= two.length / one.length <= SLIVER else "auto"


@dataclass(frozen=True)
class Plane:
    """The plane of two axes: time runs to the right; a plane in space has its first axis to the right."""

    problem: Problem
    cut: Cut

    @property
    def drawn(self) -> tuple[int, ...]:
        return self.cut.drawn

    @property
    def across(self) -> int:
        return 1 if self.problem.axes[self.drawn[1]].is_time else 0

    @property
    def axes(self) -> tuple[Any, Any]:
        """(to the right, upwards)"""
        right, up = self.drawn[self.across], self.drawn[1 - self.across]
        return self.problem.axes[right], self.problem.axes[up]

    @property
    def ratio(self) -> float:
        """Height over width of a picture: that of the plane, or 0.8 if one axis is time or the plane is a sliver."""
        right, up = self.axes
        ratio = float(up.length / right.length)
        return ratio if self.aspect == "equal" else 0.8

    @property
    def aspect(self) -> Literal["equal", "auto"]:
        return aspect(self.problem, self.drawn)

    def ticks(self, points: int = POINTS) -> list[np.ndarray]:
        axes = (self.problem.axes[i] for i in self.drawn)
        return [np.linspace(axis.lo, axis.hi, points) for axis in axes]

    def show(
        self, ax: Axes, data: np.ndarray, title: str, *, error: bool = False, bar: bool = True, **style: Any
    ) -> Any:
        """The data as an image, with its colour bar, labels and the outline of a region."""
        right, up = self.axes
        extent = (right.lo, right.hi, up.lo, up.hi)
        smooth = "nearest" if error else "bilinear"
        image = ax.imshow(
            self.picture(data),
            origin="lower",
            extent=extent,
            aspect=self.aspect,
            interpolation=smooth,
            **style,
        )
        self._bound(ax, image, data)
        ax.set_title(title)
        ax.set_xlabel(math(right.name))
        ax.set_ylabel(math(up.name))
        if bar:
            colour_bar(ax, image, data if error else None)
        return image

    def level(self, shape: tuple[int, ...]) -> np.ndarray:
        """The distance to the region's boundary over the plane, negative inside; −1 without a region."""
        region = self.problem.region
        if region is None:
            return np.full(shape, -1.0)
        ends = ((axis.lo, axis.hi) for axis in (self.problem.axes[i] for i in self.drawn))
        ticks = [np.linspace(*end, count) for end, count in zip(ends, shape, strict=True)]
        drawn = dict(zip(self.drawn, np.meshgrid(*ticks, indexing="ij"), strict=True))
        points = np.stack(
            [
                np.ravel(drawn[i]) if i in drawn else np.full(np.prod(shape), self.cut.held[i])
                for i in range(region.dimension)
            ],
            axis=1,
        )
        return region.signed_distance(points).reshape(shape)

    def picture(self, data: np.ndarray) -> np.ndarray:
        """The data as an image. Each point outside a region has the value of the nearest point inside, because the
        image is later cut at the boundary itself, which does not follow the grid."""
        outside = ~np.isfinite(data) & (self.level(data.shape) > 0)
        if outside.any() and not outside.all():
            nearest = scipy.ndimage.distance_transform_edt(
                outside, return_distances=False, return_indices=True
            )
            data = data[tuple(nearest)]
        return data if self.across else data.T

    def _bound(self, ax: Axes, image: Any, data: np.ndarray) -> None:
        """Cut an image at the boundary of a region, and draw the boundary."""
        if self.problem.region is None:
            ax.set_facecolor(UNKNOWN)
            return
        level = self.level(data.shape)
        level = level if self.across else level.T
        right, up = self.axes
        ticks = [
            np.linspace(axis.lo, axis.hi, n) for axis, n in zip((right, up), level.shape[::-1], strict=True)
        ]
        rounding = 1e-9 * max(right.length, up.length)
        if level.min() < -rounding and level.max() > rounding:
            inside = ax.contourf(*ticks, level, levels=[level.min() - 1, rounding], alpha=0.0)
            image.set_clip_path(inside.get_paths()[0], ax.transData)
            if self.drawn != (0, 1) or self.problem.plane is None:
                ax.contour(*ticks, level, levels=[rounding], colors=[ink()], linewidths=1.4)
        if self.drawn == (0, 1):
            outline(self.problem, ax)


def outline(problem: Problem, ax: Axes) -> None:
    """Draw the boundary of a region of the plane, in place of the frame around the axes."""
    if problem.plane is None:
        return
    for edge in problem.plane.edges:
        points, _ = edge.at(np.linspace(0.0, 1.0, 2 if edge.length < 1e-9 else 129))
        ax.plot(points[:, 0], points[:, 1], color=ink(), lw=1.4, solid_capstyle="round", clip_on=False)
    for side in ax.spines.values():
        side.set_visible(False)


def at_text(problem: Problem, cut: Cut) -> str:
    """at t = 0.5: the values of the axes that are not drawn."""
    places = (f"{math(problem.axes[i].name)} = {value:.3g}" for i, value in cut.held.items())
    text = ", ".join(places)
    return f" at {text}" if text else ""


def draw_plane(solution: Solution, name: str, cut: Cut, axes: list[Axes]) -> None:
    """One plane: the field, and beside it the reference and the error if there are panels for them."""
    problem, plane = solution.problem, Plane(solution.problem, cut)
    values, exact = sampled(solution, name, cut, plane.ticks())
    at = at_text(problem, cut)
    colours = field_colours(values if exact is None else exact)
    plane.show(axes[0], values, math(name, suffix(solution)) + at, **colours)
    if exact is not None and len(axes) > 1:
        error = np.abs(values - exact)
        plane.show(axes[1], exact, f"reference ${latex_name(name)}^*${at}", **colours)
        title = error_title(name, error, exact) + at
        plane.show(axes[2], error, title, error=True, **error_colours(error, exact))
    without_empty(axes)


def without_empty(axes: list[Axes]) -> None:
    """Remove the panels in which nothing was drawn: a derivative has no reference."""
    for ax in axes:
        if not ax.has_data():
            ax.remove()


def _fades(fields: np.ndarray) -> bool:
    """Whether one of the fields would be pale in the colours of the strongest."""
    spans = [np.ptp(field[np.isfinite(field)]) if np.isfinite(field).any() else 0.0 for field in fields]
    return min(spans) < FADED * max(spans)


def draw_planes(solution: Solution, name: str, cuts: list[Cut], axes: list[list[Axes]]) -> None:
    """The same plane at several times, in the same colours unless the field fades; below, the errors in their own."""
    problem, planes = solution.problem, [Plane(solution.problem, cut) for cut in cuts]
    both = [sampled(solution, name, plane.cut, plane.ticks(POINTS // 2 + 1)) for plane in planes]
    fields = np.stack([values for values, _ in both])
    label, fades = math(name, suffix(solution)), _fades(fields)
    for i, (ax, plane) in enumerate(zip(axes[0], planes, strict=True)):
        colours = field_colours(fields[i] if fades else fields)
        last = i == len(cuts) - 1
        plane.show(ax, fields[i], label + at_text(problem, plane.cut), bar=fades or last, **colours)
    if len(axes) > 1:
        exact = np.stack([np.asarray(reference) for _, reference in both])
        errors = np.abs(fields - exact)
        colours, title = error_colours(errors, exact), error_title(name, errors, exact)
        for i, ax in enumerate(axes[1]):
            last = i == len(cuts) - 1
            planes[i].show(ax, errors[i], title, error=True, bar=last, **colours)
    for row in axes:
        for ax in row[1:]:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
    for ax in (ax for row in axes[:-1] for ax in row):
        ax.set_xlabel("")
