"""One thread for small matrices: of NumPy's BLAS, and of SciPy's, which is loaded later; all for large ones."""

import os
import subprocess
import sys
from pathlib import Path

import safenet

PROGRAM = """
from threadpoolctl import threadpool_info
from safenet.run.threads import LARGE, every_thread, one_thread

def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

import numpy
before = threads()
with one_thread():
    assert threads() == {1}, threads()
    import scipy.linalg
    assert threads() == {1}, threads()
    with one_thread(), every_thread(LARGE):
        assert threads() == before, threads()
    with every_thread(LARGE - 1):
        assert threads() == {1}, threads()
assert threads() == before == {2}, threads()
with every_thread(LARGE):
    assert threads() == before
"""


def test_within_a_solve_each_blas_has_one_thread_but_for_large_matrices():
    env = os.environ | {"OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": str(Path(safenet.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
