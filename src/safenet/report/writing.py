"""sources → files: a page, and the same tables as Markdown and LaTeX. A study adds parts of its own."""

from __future__ import annotations

import base64
import collections
import datetime
import gzip
import json
from collections.abc import Callable, Sequence
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ..bench.store import Row
from ..errors import SafeNetError, saving
from ..run.checkpoint import write_atomically
from ..run.result import Ending
from .comparison import of_own
from .fields import Picture, fields
from .figures import Figure
from .results import Results, read
from .sheets import Sheet, of_rows
from .text import latex as as_latex
from .text import markdown as as_markdown

COMMIT = 10  # digits of a commit's hash that are shown
FOLDER = resources.files(__package__).joinpath("page")
TITLE = "What was measured"
DISTRIBUTION = "safenet-pde"  # as `pyproject.toml` has it: on the index, `safenet` is another package


def write(
    sources: Sequence[str | Path],
    page: str | Path | None = None,
    markdown: str | Path | None = None,
    latex: str | Path | None = None,
) -> Results:
    """Write the files that are asked for; return the results that were read."""
    check_asked(page, markdown, latex)
    results = read(sources)
    sheets = [*of_own(results), *of_rows(results)]
    save(page, lambda: html(results, sheets, pictures=list(fields(results))))
    save(markdown, lambda: as_markdown(sheets, f"# {TITLE}"))
    save(latex, lambda: as_latex(sheets))
    return results


def check_asked(page: str | Path | None, *others: str | Path | None) -> None:
    """Raise an error if no file is asked for, or the page is none, before many rows are read."""
    if all(file is None for file in (page, *others)):
        raise SafeNetError("nothing is to be written", "give -o page.html, --markdown F or --latex F")
    if page is not None and Path(page).suffix.lower() not in (".html", ".htm"):
        raise SafeNetError(
            f"the page is HTML, and {page} does not end in .html",
            "give -o page.html, --markdown F or --latex F",
        )


def save(path: str | Path | None, text: Callable[[], str]) -> None:
    """Write the text to `path`; without a path, it is not even made."""
    if path is None:
        return
    place = Path(path)
    with saving(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, text().encode())


def html(
    results: Results,
    sheets: Sequence[Sheet],
    figures: Sequence[Figure] = (),
    pictures: Sequence[Picture] = (),
    template: str = "page.html",
    folders: Sequence[Traversable] = (),
    **more: Any,
) -> str:
    """One self-contained file: style, script, data, pictures and Plotly are in it.

    A study's `template` extends page.html; it lies in `folders`, with a style of the same name if it has one. `more` is
    passed to the template.
    """
    try:
        import jinja2
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise SafeNetError(
            "the page needs plotly and jinja2", "pip install 'safenet-pde[report]', or write --markdown"
        ) from None
    specs = {
        f"{figure.name}-{place}": {"data": panel.data, "layout": panel.layout}
        for figure in figures
        for place, panel in enumerate(figure.panels)
    }
    places = (FOLDER, *folders)
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda name: file_in(places, name)),
    )
    styles = dict.fromkeys(("page.css", template.replace(".html", ".css")))
    return environment.get_template(template).render(
        title=TITLE,
        own=[sheet for sheet in sheets if sheet.kind == "own"],
        lists=[sheet for sheet in sheets if sheet.kind == "list"],
        sheets=sheets,
        figures=figures,
        pictures=pictures,
        facts=_facts(results),
        links=_links(),
        style=safe("".join(file_in(places, name) or "" for name in styles)),
        script=safe(file_in(places, "page.js") or ""),
        specs=safe(_inert(specs)),
        plotly=_packed(get_plotlyjs()) if specs else "",
        **more,
    )


def file_in(folders: Sequence[Traversable], name: str) -> str | None:
    """The text of the file of this name, if any of the folders has it."""
    found = (folder.joinpath(name) for folder in folders)
    return next((file.read_text(encoding="utf-8") for file in found if file.is_file()), None)


def safe(text: str) -> Any:
    """Our own text: not to be escaped."""
    from markupsafe import Markup

    return Markup(text)


def _inert(data: Any) -> str:
    """JSON that cannot end its <script>."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _packed(script: str) -> str:
    """gzip and base64: Plotly is 4.8 MB, this a third of it; browsers unpack it themselves."""
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode()


def _facts(results: Results) -> dict[str, str]:
    """What the rows are and where they come from."""
    rows = results.rows
    outcomes = collections.Counter(row.outcome for row in rows)
    commits = {str(row.environment.get("commit") or "unknown")[:COMMIT] for row in rows}
    days = sorted(datetime.date.fromtimestamp(row.finished).isoformat() for row in rows)
    ended = [f"{len(rows):,}", *(f"{count} {name}" for name, count in outcomes.most_common())]
    if stalled := sum(map(_stalled, rows)):
        ended.append(f"{stalled} stalled in their last phase")
    outdated = f"; {results.outdated} by an earlier protocol left out" if results.outdated else ""
    return {
        "runs": ", ".join(ended) + outdated,
        "devices": ", ".join(sorted({row.device or "unknown" for row in rows})) or "none",
        "code": ", ".join(sorted(commits)) or "none",
        "dates": " to ".join(sorted({days[0], days[-1]})) if days else "none",
    }


def _links() -> dict[str, str]:
    """The project's addresses in the installed package's metadata, without its paper: a study links that itself."""
    try:
        pairs = metadata.metadata(DISTRIBUTION).get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return {}
    return {name: address for name, address in (pair.split(", ", 1) for pair in pairs) if name != "Paper"}


def _stalled(row: Row) -> bool:
    phases = row.result.get("phases") or [{"outcome": None}]
    return bool(phases[-1]["outcome"] == Ending.STALLED)
