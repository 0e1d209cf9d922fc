"""Solve the problem files of examples/ and some of the library, and draw a thumbnail of each: `make gallery`.

The page docs/gallery.md is written again from the titles of the files; tests compare both with examples/.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import safenet as sn

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
LIBRARY = ("wave", "burgers", "allen-cahn", "helmholtz", "four-holes", "cavity")
TOP = """# Gallery

Each picture is one solve without options, by the command below it. Time runs upwards where x is the only other axis;
of a plane with time, the end is drawn. `make gallery` makes this page.

| | | |
|---|---|---|
"""


def files() -> dict[str, str]:
    """name → the command that solves it"""
    examples = {path.stem: f"examples/{path.name}" for path in sorted(EXAMPLES.glob("*.toml"))}
    return examples | {name: name for name in LIBRARY}


def thumbnail(solution: sn.Solution) -> Figure:
    """The first unknown: a line, or colours over the first two axes at the end of any other."""
    problem = solution.problem
    ends = {axis.name: [axis.hi] for axis in problem.axes[2:]}
    ticks, fields = solution.grid(**{axis.name: 161 for axis in problem.axes[:2]}, **ends)
    values = np.asarray(fields[problem.unknowns[0]])
    figure = Figure(figsize=(2.4, 1.8), layout="constrained")
    axes = figure.subplots()
    if len(problem.axes) == 1:
        axes.plot(ticks[problem.axis_names[0]], values)
    else:
        x, y = (ticks[name] for name in problem.axis_names[:2])
        axes.pcolormesh(
            x, y, values.reshape(len(x), len(y)).T, shading="gouraud", cmap="viridis", rasterized=True
        )
        axes.set_aspect("auto" if problem.axis_names[1] == "t" else "equal")
        axes.set_ylabel(problem.axis_names[1])
    axes.set_xlabel(problem.axis_names[0])
    axes.set_xticks([])
    axes.set_yticks([])
    return figure


def page() -> str:
    """Three to a row, each with its picture, title and command."""
    cells = []
    for name, command in files().items():
        title = sn.library.named(str(EXAMPLES / f"{name}.toml") if "/" in command else name).title or name
        said = title[:1].upper() + title[1:]
        cells.append(f"![{said}](gallery/{name}.png)<br>{said}<br>`safenet solve {command}`")
    rows = [cells[i : i + 3] for i in range(0, len(cells), 3)]
    return TOP + "".join("| " + " | ".join([*row, "", ""][:3]) + " |\n" for row in rows)


def main() -> None:
    """Draw those that are named, or all that have no picture yet; then write the page."""
    for name, command in files().items():
        picture = HERE / f"{name}.png"
        if name in sys.argv[1:] or (len(sys.argv) == 1 and not picture.exists()):
            path = str(EXAMPLES / f"{name}.toml") if "/" in command else name
            thumbnail(sn.solve(path)).savefig(picture, dpi=80)
            print(picture.name)
    (HERE.parent / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
