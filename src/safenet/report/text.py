"""The ledger and the sheets as Markdown and as LaTeX (booktabs, longtable)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .judging import Entry
from .sheets import Cell, Sheet

LEDGER = ("claim", "ours", "verdict", "made by")
SCALE = "At another scale than the paper's, {scale}: "
LATEX = {
    **{"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{"},
    **{"}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "✱": "*", "×": r"$\times$"},
    **{"–": "--", "…": r"\dots{}", "λ": r"$\lambda$", "ν": r"$\nu$", "±": r"$\pm$", "·": r"$\cdot$"},
    **{
        "²": r"$^2$",
        "₁": r"$_1$",
        "₀": r"$_0$",
        "«": "``",
        "»": "''",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    },
}


def said(entry: Entry) -> str:
    """Our measurement; of another scale, with that said first."""
    return SCALE.format(scale=entry.scale) + entry.ours if entry.scale else entry.ours


def joined(cell: Cell) -> str:
    """A cell on one line."""
    return "; ".join(part for part in (cell.text, cell.below, cell.detail) if part)


def _lines(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    return [(entry.text, said(entry), entry.verdict, entry.command) for entry in entries]


def _remarks(sheet: Sheet) -> list[str]:
    missing = [f"Not measured yet: {sheet.missing}"] if sheet.missing else []
    return [*sheet.notes, *missing]


# ---- Markdown


def markdown(entries: Sequence[Entry], sheets: Iterable[Sheet]) -> str:
    """The ledger, every table with something of ours in it or quoted, and a list of those still to be measured."""
    parts, missing = ["# The paper's claims, measured", _pipes(LEDGER, _lines(entries), code=3)], []
    for sheet in sheets:
        if sheet.missing:
            missing.append(f"- {sheet.title}: `{sheet.missing}`")
            continue
        parts.append(f"## {sheet.title}")
        parts += sheet.notes
        parts.append(_pipes(sheet.head, [tuple(map(stacked, row)) for row in sheet.rows]))
    if missing:
        parts += ["## Not measured yet", "\n".join(missing)]
    return "\n\n".join(parts) + "\n"


def stacked(cell: Cell) -> str:
    """What is shown, bold where it is the best of its problem; below it in one line each what else there is."""
    text = f"**{cell.text}**" if cell.best else cell.text
    return "<br>".join(part for part in (text, cell.below, *cell.detail.split(" · ")) if part)


def _pipes(head: Sequence[str], rows: Sequence[Sequence[str]], code: int | None = None) -> str:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    body = [[f"`{cell}`" if i == code else cell for i, cell in enumerate(cells)] for cells in rows]
    return "\n".join([row(head), row(["---"] * len(head)), *map(row, body)])


# ---- LaTeX


def latex(entries: Sequence[Entry], sheets: Iterable[Sheet]) -> str:
    parts = [
        r"% \usepackage{booktabs,longtable,pdflscape}",
        _long("The paper's claims, measured", LEDGER, _lines(entries), widths=(0.34, 0.26, 0.12, 0.22)),
    ]
    for sheet in sheets:
        rows = [tuple(map(joined, row)) for row in sheet.rows]
        width = 0.92 / len(sheet.head)
        caption = " ".join([f"{sheet.title}.", *_remarks(sheet)])
        parts.append(_long(caption, sheet.head, rows, widths=(width,) * len(sheet.head)))
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def _long(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[float]) -> str:
    columns = "".join(rf"p{{{width:.3f}\linewidth}}" for width in widths)
    body = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{landscape}\scriptsize",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{escaped(caption)}}}\\",
            r"\toprule",
            " & ".join(map(escaped, head)) + r" \\",
            r"\midrule\endhead",
            *body,
            r"\bottomrule",
            r"\end{longtable}",
            r"\end{landscape}",
        ]
    )
