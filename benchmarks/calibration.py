"""Do reported standard errors hold? A diffusion constant from 100 values with 1 % noise, made again and again.

python -m benchmarks.calibration [100]     the spread of the estimates beside the mean reported error, and seconds each
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

import numpy as np

import safenet as sn

EXAMPLES = Path(__file__).parents[1] / "examples" / "inverse"


def main(count: int) -> None:
    made = runpy.run_path(str(EXAMPLES / "make_data.py"))
    text = (EXAMPLES / "diffusion.toml").read_text("utf-8").split("[[data]]")[0]
    numbers, errors, began = [], [], time.monotonic()
    for seed in range(count):
        data = sn.Data(made["make"](made["diffusion"], seed=seed))
        number = sn.solve(sn.loads(text).with_data(data), monitor=sn.Monitor()).found["nu"]
        numbers.append(float(number))
        errors.append(number.error)
    # Every repetition has points of its own, and so an error of its own.
    pulls = (np.array(numbers) - 0.3) / np.array(errors)
    print(f"{count} estimates of 0.3: mean {np.mean(numbers):.5f}, spread {np.std(numbers):.2e}")
    print(f"mean reported error {np.mean(errors):.2e}; spread/error {np.sqrt(np.mean(pulls**2)):.3f}")
    print(f"{(time.monotonic() - began) / count:.2f} s each")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
