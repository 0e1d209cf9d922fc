"""sources → files: the page, and the same tables as Markdown and LaTeX."""

from __future__ import annotations

import base64
import collections
import datetime
import gzip
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import SafeNetError
from ..run.checkpoint import write_atomically
from .fields import fields
from .judging import Entry, ledger
from .panels import figures
from .results import Results, read
from .sheets import Sheet
from .tables import sheets
from .text import latex as as_latex
from .text import markdown as as_markdown
from .text import said
from .verdicts import UNSOLVED, VERDICTS

COMMIT = 10  # digits of a hash that name it
OUTCOMES = {"stalled": "stalled in their last phase"}
FOLDER = resources.files(__package__).joinpath("page")


def write(
    sources: Sequence[str | Path],
    page: str | Path | None = None,
    markdown: str | Path | None = None,
    latex: str | Path | None = None,
) -> list[Entry]:
    """Write what is asked for; the ledger is returned."""
    if page is None and markdown is None and latex is None:
        raise SafeNetError("nothing is to be written", "give -o page.html, --markdown F or --latex F")
    results = read(sources)
    entries, tables = ledger(results), sheets(results)
    if page is not None:
        _put(Path(page), html(results, entries, tables))
    if markdown is not None:
        _put(Path(markdown), as_markdown(entries, tables))
    if latex is not None:
        _put(Path(latex), as_latex(entries, tables))
    return entries


def _put(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as obstacle:
        raise SafeNetError(f"cannot write {path}: {obstacle.strerror}", "choose another place") from None


def html(results: Results, entries: Sequence[Entry], tables: Sequence[Sheet]) -> str:
    """One file: style, script, data, pictures and Plotly are in it."""
    try:
        import jinja2
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise SafeNetError(
            "the page needs plotly and jinja2", "pip install 'safenet[report]', or write --markdown"
        ) from None
    drawn = figures(results)
    specs = {
        f"{figure.name}-{place}": {"data": panel.data, "layout": panel.layout}
        for figure in drawn
        for place, panel in enumerate(figure.panels)
    }
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_file("page.html"))
    return template.render(
        entries=entries,
        said=said,
        unsolved=UNSOLVED,
        verdicts=_tally(entries),
        own=[sheet for sheet in tables if sheet.kind == "own"],
        compared=[sheet for sheet in tables if sheet.kind == "paper"],
        ours=[sheet for sheet in tables if sheet.kind == "ours"],
        quoted=[sheet for sheet in tables if sheet.kind == "quoted"],
        figures=drawn,
        pictures=list(fields(results)),
        facts=_facts(results),
        style=_safe(_file("page.css")),
        script=_safe(_file("page.js")),
        diagram=_safe(_file("architecture.svg")),
        specs=_safe(_inert(specs)),
        plotly=_packed(get_plotlyjs()) if specs else "",
    )


def _file(name: str) -> str:
    return FOLDER.joinpath(name).read_text(encoding="utf-8")


def _safe(text: str) -> Any:
    """Ours: not to be escaped."""
    from markupsafe import Markup

    return Markup(text)


def _inert(data: Any) -> str:
    """JSON that cannot end its <script>."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _packed(script: str) -> str:
    """gzip and base64: Plotly is 4.8 MB, this a third of it; browsers unpack it themselves."""
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode()


def _tally(entries: Sequence[Entry]) -> dict[str, int]:
    found = collections.Counter(entry.verdict for entry in entries)
    return {verdict: found[verdict] for verdict in VERDICTS}


def _facts(results: Results) -> dict[str, str]:
    """What the rows are and where they come from."""
    rows = results.rows
    outcomes = collections.Counter(row.outcome for row in rows)
    commits = {str(row.environment.get("commit") or "unknown")[:COMMIT] for row in rows}
    days = sorted(datetime.date.fromtimestamp(row.finished).isoformat() for row in rows)
    outdated = f"; {results.outdated} by an earlier protocol left out" if results.outdated else ""
    ended = [f"{count} {OUTCOMES.get(name, name)}" for name, count in sorted(outcomes.items())]
    return {
        "runs": ", ".join([f"{len(rows):,}", *ended]) + outdated,
        "devices": ", ".join(sorted({row.device or "unknown" for row in rows})) or "none",
        "code": ", ".join(sorted(commits)) or "none",
        "dates": " to ".join(sorted({days[0], days[-1]})) if days else "none",
    }
