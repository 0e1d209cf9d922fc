"""Solve the problem files of examples/ and of the library, and draw a thumbnail of each: `make gallery`.

The page docs/gallery.md is written again from the titles of the files; a test compares it with examples/. The page
`safenet ui` shows smaller thumbnails of the library's problems. Solves are kept in build/gallery.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import safenet as sn
from safenet.listed import PROBLEMS
from safenet.views.cuts import Cut
from safenet.views.look import COLOURS, field_colours, math
from safenet.views.maps import Plane

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOLVED = ROOT / "build" / "gallery"
IN_THE_PAGE = ROOT / "src" / "safenet" / "ui" / "thumbnails"
LIBRARY = ("wave", "burgers", "allen-cahn", "helmholtz", "four-holes", "cavity", "backstep")
FOLDERS = ("", "shocks/", "regions/")
POINTS = 241
TOP = """# Gallery

Each picture is one solve without options, by the command below it. Time runs to the right; of a plane with time, the
end is drawn; of a flow, its speed. `make gallery` makes this page.

| | | |
|---|---|---|
"""


def files() -> dict[str, str]:
    """name → what `safenet solve` is given"""
    examples = {
        f"{folder}{path.stem}".replace("/", "-"): f"examples/{folder}{path.name}"
        for folder in FOLDERS
        for path in sorted((ROOT / "examples" / folder).glob("*.toml"))
    }
    return examples | {name: name for name in LIBRARY}


def draw(solution: sn.Solution, axes: Axes) -> None:
    """The first unknown: a line, a phase portrait, or colours over the first two axes at the end of any other."""
    problem = solution.problem
    names, unknowns = problem.axis_names, problem.unknowns
    ends = {axis.name: [axis.hi] for axis in problem.axes[2:]}
    ticks, fields = solution.grid(**dict.fromkeys(names[:2], POINTS), **ends)
    values = {name: np.asarray(fields[name]).squeeze() for name in unknowns}
    axes.set(xticks=[], yticks=[])
    if len(names) == 1:
        across, up = (
            (values[unknowns[0]], values[unknowns[1]])
            if len(unknowns) > 1
            else (ticks[names[0]], values[unknowns[0]])
        )
        axes.plot(across, up, color=COLOURS[0], lw=1.8)
        axes.set_xlabel(math(unknowns[0] if len(unknowns) > 1 else names[0]))
        return
    held = {i: axis.hi for i, axis in enumerate(problem.axes) if i > 1}
    plane = Plane(problem, Cut((0, 1), held))
    shown, colours = values[unknowns[0]], field_colours(values[unknowns[0]])
    if unknowns[:2] == ("u", "v") and problem.time is None:
        shown, colours = np.hypot(values["u"], values["v"]), {"cmap": "cividis", "vmin": 0.0}
    plane.show(axes, shown, "", bar=False, **colours)


def thumbnail(
    solution: sn.Solution, path: Path, inches: tuple[float, float], dpi: int, labels: bool = True
) -> None:
    figure = Figure(figsize=inches, layout="constrained")
    axes = figure.subplots()
    draw(solution, axes)
    if not labels:
        axes.set(xlabel="", ylabel="", aspect="auto")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, pil_kwargs={"optimize": True})


def solved(name: str, source: str) -> sn.Solution:
    """The solution, from build/gallery where it is there."""
    folder = SOLVED / name
    if (folder / "result.json").exists():
        return sn.load(folder)
    return sn.solve(str(ROOT / source) if "/" in source else source, out=folder, force=True)


def page() -> str:
    """Three to a row, each with its picture, title and command."""
    cells = []
    for name, source in files().items():
        title = sn.library.named(str(ROOT / source) if "/" in source else source).title or name
        said = title[:1].upper() + title[1:]
        cells.append(f"![{said}](gallery/{name}.png)<br>{said}<br>`safenet solve {source}`")
    rows = [cells[i : i + 3] for i in range(0, len(cells), 3)]
    return TOP + "".join("| " + " | ".join([*row, "", ""][:3]) + " |\n" for row in rows)


def main() -> None:
    """Draw those that are named, or all that have no picture yet; then write the page."""
    for name, source in (files() | {name: name for name in PROBLEMS}).items():
        pictures = [HERE / f"{name}.png"] * (name in files()) + [IN_THE_PAGE / f"{name}.png"] * (
            name == source
        )
        if name in sys.argv[1:] or (len(sys.argv) == 1 and not all(path.exists() for path in pictures)):
            solution = solved(name, source)
            for path in pictures:
                small = path.parent == IN_THE_PAGE
                thumbnail(
                    solution, path, (1.5, 1.0) if small else (3.2, 2.4), 96 if small else 120, not small
                )
                print(path.relative_to(ROOT), flush=True)
    (HERE.parent / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
