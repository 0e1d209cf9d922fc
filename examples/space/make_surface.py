"""ring.stl: a ring of triangles, written by the format of STL files (80 bytes, a count, 50 bytes for each triangle)."""

from pathlib import Path

import numpy as np

AROUND, ACROSS = 32, 16

angles = [np.arange(count + 1) * 2 * np.pi / count for count in (AROUND, ACROSS)]
s, c = np.meshgrid(*angles, indexing="ij")
r = 1 + 0.4 * np.cos(c)
grid = np.stack([r * np.cos(s), r * np.sin(s), 0.4 * np.sin(c)], axis=2)
grid[-1], grid[:, -1] = grid[0], grid[:, 0]
a, b, d, e = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
corners = np.concatenate([np.stack(three, axis=2).reshape(-1, 3, 3) for three in ((a, b, d), (a, d, e))])
rows = np.zeros(len(corners), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
rows["corners"] = corners
Path(__file__).with_name("ring.stl").write_bytes(
    bytes(80) + np.array(len(rows), "<u4").tobytes() + rows.tobytes()
)
