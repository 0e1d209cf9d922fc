"""A problem from a file. On the command line: safenet solve examples/own_equation.toml --out runs/fisher"""

import sys
from pathlib import Path

import safenet as sn

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")

fisher = sn.read(Path(__file__).with_name("own_equation.toml"))
sol = sn.solve(fisher)
print(f"r = 6: {sol.error()}")

# The same equation with another number, and the run kept in a folder, to be loaded at any later time.
calm = fisher.with_parameters(r=1)
sn.solve(calm, out=folder / "fisher-calm", force=True)
again = sn.load(folder / "fisher-calm")
print(f"r = 1: {again.error()}")
print(f"At x = 0 the population grew from {again(x=0, t=0):.4f} to {again(x=0, t=1):.4f}.")
