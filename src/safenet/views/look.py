"""How pictures look: light, dark or transparent, labels in math type, colours that one extreme value does not spoil."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ..errors import SafeNetError, nearest
from ..problem.language.latex import latex_name

INK = "#1b1f24"
UNKNOWN = "#dee2e6"  # for what an interrupted march has not reached
COLOURS = ("#2563eb", "#d9480f", "#2b8a3e", "#862e9c", "#0b7285", "#a61e4d", "#5f3dc4", "#5c940d")
BRIGHT = ("#74a9ff", "#ff922b", "#69db7c", "#da77f2", "#3bc9db", "#f783ac", "#9775fa", "#c0eb75")  # on dark
SIGNED = 0.05  # a field with at least this share of its range below (or above) zero has a white zero
DECADES = 6  # powers of ten over which an error is drawn, at most
TAIL = 0.002  # the share of an error's largest values that lies beyond the range of colours
ROUNDING = 100 * np.finfo(float).eps  # an error below this times the field is rounding
WORDS = 10  # the size of labels in words; those in math type are larger
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SCREEN = 80  # dots per inch of a picture in a notebook; the image has twice as many


def _style(ink: str, paper: str, colours: tuple[str, ...]) -> Any:  # a dict with keys that matplotlib knows
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inked, ink),
        "figure.facecolor": paper,
        "axes.facecolor": paper,
        "savefig.facecolor": "auto",
        "axes.prop_cycle": cycler(color=colours),
        "mathtext.fontset": "cm",
        "axes.titlesize": 11,
        "axes.labelsize": 13,
        "figure.titlesize": 11.5,
        "legend.fontsize": 9,
        "legend.edgecolor": "none",
        "legend.framealpha": 0.7,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "grid.alpha": 0.2,
    }


STYLES = {
    "light": _style(INK, "white", COLOURS),
    "dark": _style("#e6e8eb", "#15181c", BRIGHT),
    "transparent": _style(INK, "none", COLOURS),
}


@contextmanager
def styled(style: str) -> Iterator[None]:
    """Within this context, pictures are drawn in this style."""
    if style not in STYLES:
        raise SafeNetError(f"there is no style {style!r}", nearest(style, STYLES))
    with matplotlib.rc_context(STYLES[style]):
        yield


class Picture(Figure):
    """A figure that displays itself in a notebook, even if matplotlib's own hooks are not loaded."""

    trimmed = True  # saved without the empty margin that equal scales leave; not so for the frames of a film

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write it to a file, in the format that its ending names."""
        if self.trimmed:
            options = {"bbox_inches": "tight", "pad_inches": 0.08, **options}
        super().savefig(fname, **options)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        data = BytesIO()
        self.savefig(data, format="png", dpi=2 * SCREEN)
        png = data.getvalue()
        width, height = (int.from_bytes(png[at : at + 4]) // 2 for at in (16, 20))  # their offsets in a PNG
        return png, {"width": width, "height": height}


def ink() -> str:
    """The colour of text and of reference lines in the current style."""
    return str(matplotlib.rcParams["text.color"])


def colour(index: int) -> str:
    """One colour for each curve; the colours repeat after the last."""
    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return str(cycle[index % len(cycle)])


# ---- words in math type


def math(name: str, suffix: str = "") -> str:
    r"""u → $u$, rho with xx → $\rho_{xx}$."""
    return f"${latex_name(name, suffix)}$"


def number(value: float, digits: int = 1) -> str:
    """2.3e-8 → 2.3 · 10⁻⁸, in the type of the words around it."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa} · 10{str(int(exponent)).translate(RAISED)}" if value else "0"


# ---- colours


def field_colours(field: np.ndarray) -> dict[str, Any]:
    """Colours and their range for a field: symmetric around a white zero if it has both signs."""
    known = field[np.isfinite(field)]
    if not known.size:
        return {}
    low, high = float(known.min()), float(known.max())
    if min(-low, high) < SIGNED * (high - low):
        return {"cmap": "viridis", "vmin": low, "vmax": high}
    return {"cmap": "RdBu_r", "vmin": -max(-low, high), "vmax": max(-low, high)}


def error_range(error: np.ndarray) -> tuple[float, float]:
    """The range in which an error is drawn: all but its largest and smallest values, over at most six decades.

    At a corner where data clash the error may be a million times that elsewhere; a range up to its largest value would
    leave the rest black.
    """
    known = error[np.isfinite(error) & (error > 0)]
    if not known.size:
        return 1e-17, 1e-16
    low, high = (float(q) for q in np.quantile(known, [0.02, 1 - TAIL]))
    return max(min(low, high / 100), high / 10**DECADES), high


def error_colours(error: np.ndarray, exact: np.ndarray | None = None) -> dict[str, Any]:
    """Logarithmic colours for an error; zeros, which have no logarithm, get the lowest.

    Rounding has a linear scale, on which its noise is dark: a logarithmic one would show stripes without meaning.
    """
    from matplotlib.colors import LogNorm

    if exact is not None and is_rounding(error, exact):
        return {"cmap": "magma", "vmin": 0.0, "vmax": ROUNDING * float(np.nanmax(np.abs(exact)))}
    low, high = error_range(error)
    return {"cmap": "magma", "norm": LogNorm(low, high, clip=True)}


def is_rounding(error: np.ndarray, exact: np.ndarray) -> bool:
    """Whether an error is nothing but rounding."""
    if not (np.isfinite(exact).any() and np.isfinite(error).any()):
        return False
    return bool(np.nanmax(error) <= ROUNDING * np.nanmax(np.abs(exact)))


def error_title(name: str, error: np.ndarray, exact: np.ndarray) -> str:
    """error |u − u*|, followed by (rounding) if it is nothing else."""
    symbol = latex_name(name)
    return f"error $|{symbol} - {symbol}^*|$" + " (rounding)" * is_rounding(error, exact)


def colour_bar(ax: Axes, image: Any, error: np.ndarray | None = None) -> None:
    """A colour bar as high as its axes; an end that values lie beyond is drawn as a point."""
    extend = "neither"
    if error is not None:
        low, high = image.get_clim()
        known = error[np.isfinite(error)]
        beyond = (bool((known < low).any()), bool((known > high).any()))
        extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
    # In widths of the axes; beside a tall plane with equal scales, that of its height.
    wide = max(1.0, ax.get_data_ratio()) if ax.get_aspect() == 1.0 else 1.0
    bar = ax.inset_axes((1.0 + 0.03 * wide, 0.0, 0.045 * wide, 1.0), label="<colorbar>")
    ax.figure.colorbar(image, cax=bar, extend=extend)
    if error is not None:
        bar.yaxis.set_minor_formatter(NullFormatter())
