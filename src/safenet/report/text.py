"""Sheets as Markdown and as LaTeX (booktabs, longtable)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .sheets import Cell, Sheet

LATEX = {
    **{"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{"},
    **{"}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "✱": "*", "×": r"$\times$"},
    **{"–": "--", "…": r"\dots{}", "λ": r"$\lambda$", "ν": r"$\nu$", "±": r"$\pm$", "·": r"$\cdot$"},
    **{
        "²": r"$^2$",
        "₁": r"$_1$",
        "₀": r"$_0$",
        "“": "``",
        "”": "''",
        "«": "``",
        "»": "''",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    },
}


# ---- Markdown


def markdown(sheets: Iterable[Sheet], *first: str) -> str:
    """The `first` parts, then every sheet that has been measured, then a list of those that have not."""
    parts, missing = [*first], []
    for sheet in sheets:
        if sheet.missing:
            missing.append(f"- {sheet.title}: `{sheet.missing}`")
            continue
        parts.append(f"## {sheet.title}")
        parts += sheet.notes
        parts.append(pipes(sheet.head, [tuple(map(stacked, row)) for row in sheet.rows]))
    if missing:
        parts += ["## Not measured yet", "\n".join(missing)]
    return "\n\n".join(parts) + "\n"


def stacked(cell: Cell) -> str:
    """The text, bold if it is the best of its problem; below it everything else, one item per line."""
    text = f"**{cell.text}**" if cell.best else cell.text
    return "<br>".join(part for part in (text, cell.below, *cell.detail.split(" · ")) if part)


def pipes(head: Sequence[str], rows: Sequence[Sequence[str]], code: int | None = None) -> str:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    body = [[f"`{cell}`" if i == code else cell for i, cell in enumerate(cells)] for cells in rows]
    return "\n".join([row(head), row(["---"] * len(head)), *map(row, body)])


# ---- LaTeX


def latex(sheets: Iterable[Sheet], *first: str) -> str:
    parts = [r"% \usepackage{booktabs,longtable,pdflscape}", *first]
    for sheet in sheets:
        missing = [f"Not measured yet: {code(sheet.missing)}"] if sheet.missing else []
        caption = " ".join([escaped(f"{sheet.title}."), *map(escaped, sheet.notes), *missing])
        rows = [tuple(map(joined, row)) for row in sheet.rows]
        widths = (1 / len(sheet.head),) * len(sheet.head)
        parts.append(long_table(caption, sheet.name, sheet.head, rows, widths))
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Two hyphens stay two hyphens: TeX would turn them into a dash."""
    return "-{}-".join("".join(LATEX.get(letter, letter) for letter in part) for part in text.split("--"))


def code(text: str) -> str:
    return rf"\texttt{{{escaped(text)}}}"


def joined(cell: Cell) -> str:
    """A cell on one line, its text bold if it is the best of its problem."""
    text = rf"\textbf{{{escaped(cell.text)}}}" if cell.best else escaped(cell.text)
    return "; ".join(part for part in (text, escaped(cell.below), escaped(cell.detail)) if part)


def long_table(
    caption: str, name: str, head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[float]
) -> str:
    """`widths` are shares of the line, including the space on both sides of a column."""
    shares = (math.floor(10_000 * width) / 10_000 for width in widths)  # rounded up, they would not fit
    columns = "".join(rf"p{{\dimexpr{share:.4f}\linewidth-2\tabcolsep\relax}}" for share in shares)
    label = name.encode("ascii", "ignore").decode()
    return "\n".join(
        [
            r"\begin{landscape}\scriptsize\setlength{\tabcolsep}{3pt}",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{caption}}}\label{{tab:{label}}}\\",
            r"\toprule",
            " & ".join(map(escaped, head)) + r" \\",
            r"\midrule\endhead",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{longtable}",
            r"\end{landscape}",
        ]
    )
