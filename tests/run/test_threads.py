"""One thread: of NumPy's BLAS, and of SciPy's, which may be loaded later."""

import os
import subprocess
import sys
from pathlib import Path

import safenet

PROGRAM = """
from threadpoolctl import threadpool_info
from safenet.run.threads import one_thread

def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

import numpy
with one_thread():
    assert threads() == {1}, threads()
    import scipy.linalg
    with one_thread():
        assert threads() == {1}, threads()
    assert threads() == {1}, threads()
assert threads() == {2}, threads()
"""


def test_within_a_solve_each_blas_has_one_thread_and_behind_it_as_many_as_before():
    env = os.environ | {"OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": str(Path(safenet.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
