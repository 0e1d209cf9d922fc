"""results/direct_peers.json → the table and the picture of docs/speed.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TITLES = {
    "lorenz": "Lorenz to t = 20",
    "robertson": "Robertson to t = 1e4",
    "robertson-long": "Robertson to t = 1e11",
    "hires": "HIRES, eight stiff reactions",
    "kuramoto-sivashinsky": "Kuramoto–Sivashinsky, 32π, t = 50",
    "kuramoto-sivashinsky-long": "Kuramoto–Sivashinsky, 32π, t = 200",
    "kdv": "Korteweg–de Vries, two solitons",
    "schroedinger": "nonlinear Schrödinger, collision",
    "allen-cahn": "Allen–Cahn",
    "burgers": "Burgers, ν = 0.01/π",
    "gray-scott": "Gray–Scott, t = 200",
    "shear-layer": "shear layer, Navier–Stokes, Re 1000",
    "heat-plane": "heat in the plane, Gaussian",
    "allen-cahn-space": "Allen–Cahn in space",
    "fitzhugh-nagumo": "FitzHugh–Nagumo in the plane",
    "cahn-hilliard": "Cahn–Hilliard in the plane",
    "fisher-plane": "Fisher in the plane",
    "advection-diffusion": "advection and diffusion, sides at zero",
    "wave-speed": "waves, c² = 1 + xy/2, sides at zero",
    "cavity": "lid-driven cavity, Re 1000, smooth lid",
    "l-shape": "L-shape, f = 1",
    "helmholtz": "Helmholtz, k = 50, Dirichlet",
    "helmholtz-impedance": "Helmholtz, k = 50, impedance",
}
HAND_WRITTEN = (
    "NumPy",
    "NumPy, plane",
    "split steps",
    "Chebyshev",
)  # each written for one equation; the others are libraries


def best(rows: list[dict[str, Any]], error: float) -> dict[str, Any]:
    """The cheapest run with at most this error."""
    return min((row for row in rows if (row.get("error") or 1e300) <= error), key=lambda row: row["cpu"])


def lines(stored: dict[str, Any]) -> list[dict[str, Any]]:
    """For each problem and peer, both runs at the smallest error that both reach, and the ratio of processor times."""
    found = []
    for name, title in TITLES.items():
        rows = stored.get(name, {}).get("rows", [])
        own = [row for row in rows if row["system"] == "safenet" and row.get("error") is not None]
        for system, ratio in stored.get(name, {}).get("ratios", {}).items():
            theirs = [row for row in rows if row["system"] == system]
            mine, peer = best(own, ratio["error"]), best(theirs, ratio["error"])
            found.append({"name": name, "title": title, "system": system, "own": mine, "peer": peer, **ratio})
    return found


def calibration(row: dict[str, Any]) -> str:
    """Estimated over true error (over all moments) of each unknown; if there are several, their range."""
    pairs = zip(row.get("estimate") or [], row.get("errors") or [], strict=True)
    ratios = sorted(estimate / error for estimate, error in pairs if estimate and error)
    if not ratios:
        return "none"
    return f"{ratios[0]:.2g}" if len(ratios) == 1 else f"{ratios[0]:.2g} … {ratios[-1]:.2g}"


def table(stored: dict[str, Any]) -> str:
    text = [
        "| problem | ours: error, s | estimated / true | peer: error, s | ours / theirs |",
        "|---|---|---|---|---|",
    ]
    for line in lines(stored):
        own, peer = line["own"], line["peer"]
        mark = " *" if line["system"] in HAND_WRITTEN else ""
        text.append(
            f"| {line['title']} | {own['error']:.0e}, {own['cpu']:.1f} | {calibration(own)} | "
            f"{line['system']}{mark} {peer['error']:.0e}, {peer['cpu']:.1f} | {line['cpu']:.1f} |"
        )
    return "\n".join(text)


def draw(stored: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = lines(stored)
    fig, ax = plt.subplots(figsize=(7, 0.24 * len(found) + 1), layout="constrained")
    colours = ["#b0b0b0" if line["system"] in HAND_WRITTEN else "#2a6fb0" for line in found]
    ax.barh(
        [f"{line['title']} / {line['system']}" for line in found],
        [line["cpu"] for line in found],
        color=colours,
    )
    ax.axvline(1, color="black", lw=0.8)
    ax.axvline(2, color="black", lw=0.5, ls=":")
    ax.set_xscale("log")
    ax.set_xticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
    ax.minorticks_off()
    ax.set_xlabel("ours / theirs, processor seconds (grey: code for one equation)", fontsize=8)
    ax.invert_yaxis()
    ax.tick_params(labelsize=7)
    fig.savefig(path, dpi=130)
