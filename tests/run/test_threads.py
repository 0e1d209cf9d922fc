"""One thread for small matrices: of NumPy's BLAS, and of SciPy's, which is loaded later."""

import os
import subprocess
import sys
from pathlib import Path

import safenet

PROGRAM = """
from threadpoolctl import threadpool_info
from safenet.run.threads import one_thread

with one_thread():
    import scipy.linalg
    counts = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
assert counts and set(counts) == {1}, counts
"""


def test_a_blas_that_is_loaded_within_has_one_thread_too():
    env = os.environ | {"OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": str(Path(safenet.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
