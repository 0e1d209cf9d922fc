"""Run folders from strangers and from accidents: one sentence for each damage, no traceback, no memory, no waiting."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import safenet as sn
from safenet.errors import SafeNetError
from safenet.fields.saved import check_size
from safenet.run import checkpoint
from safenet.run.folder import free_folder, held, remove_if_empty

FILES = ("problem.toml", "plan.json", "solution.npz", "result.json")
ODE = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "decay"
    sn.solve(sn.loads(ODE), out=folder, monitor=sn.Monitor())
    return folder


def test_an_archive_that_claims_16_gib_is_not_believed(run, tmp_path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**31,)})
    path = tmp_path / "huge.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0.npy", header.getvalue() + bytes(2**16))
    with pytest.raises(SafeNetError, match="does not match its header"):
        checkpoint.unpack(path)


def test_an_archive_that_would_inflate_is_not_read(tmp_path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0.npy", bytes(checkpoint.MOST_INFLATED + 1))
    with pytest.raises(SafeNetError, match="larger than the file allows"):
        checkpoint.unpack(path)


def test_packing_and_unpacking_are_inverse(tmp_path) -> None:
    arrays = {
        "a": np.arange(6.0).reshape(2, 3).T,
        "b": np.array(3),
        "c": np.array([1 + 2j]),
        "d": np.zeros((0, 2)),
    }
    (tmp_path / "x.npz").write_bytes(checkpoint.pack(arrays, {"k": 1}))
    found, facts = checkpoint.unpack(tmp_path / "x.npz")
    assert facts == {"k": 1}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_is_not_waited_for(run, tmp_path, name: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(SafeNetError):
        sn.load(folder)


def test_a_spec_that_describes_more_than_it_holds_is_refused(run, tmp_path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    arrays, _ = checkpoint.unpack(folder / "solution.npz")
    huge = {"kind": "linear-form", "bases": [[{"kind": "sine", "modes": 10**9, "lower": 0, "upper": 1}]]}
    (folder / "solution.npz").write_bytes(checkpoint.pack(arrays, {"network": huge}))
    with pytest.raises(SafeNetError, match="larger field than its arrays hold"):
        sn.load(folder)


def test_each_network_in_a_spec_has_the_depth_and_width_of_its_own_entry() -> None:
    with pytest.raises(SafeNetError, match="larger field than its arrays hold"):
        check_size([{"width": 10}, {"width": 50_000, "depth": 4}], 1000)
    check_size([{"width": 50_000}, {"width": 10, "depth": 900}], 1000)  # the first has no layers


def test_names_of_functions_come_from_a_whitelist() -> None:
    from safenet.fields.modes import wave_factor

    with pytest.raises(KeyError):
        wave_factor("fromfile", np.array([1j]), np.array([1.0]), np)


def test_two_solves_into_one_folder_are_not_both_believed(tmp_path) -> None:
    with held(tmp_path / "run"), pytest.raises(SafeNetError, match="another solve"):
        sn.solve(sn.loads(ODE), out=tmp_path / "run", force=True, monitor=sn.Monitor())
    assert sn.solve(sn.loads(ODE), out=tmp_path / "run", force=True, monitor=sn.Monitor()).folder


def test_two_solves_at_once_get_two_folders_and_an_empty_one_is_removed(tmp_path) -> None:
    runs = tmp_path / "some" / "runs"
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: free_folder(runs, "wave"), range(8)))
    assert {folder.name for folder in folders} == {"wave", *(f"wave-{i}" for i in range(2, 9))}
    (folders[0] / "plan.json").touch()
    for folder in folders:
        remove_if_empty(folder)
    assert list(runs.iterdir()) == [folders[0]]


def test_runs_that_is_no_folder_is_said(tmp_path) -> None:
    (tmp_path / "runs").symlink_to(tmp_path / "nowhere" / "else")
    with pytest.raises(SafeNetError, match="cannot write to"):
        free_folder(tmp_path / "runs", "wave")


def test_a_full_disk_costs_the_folder_and_not_the_result(tmp_path, monkeypatch) -> None:
    def full(path, data):
        raise OSError(28, "No space left on device")

    solution = None
    from safenet import solution as module

    monkeypatch.setattr(module, "write_atomically", full)
    monkeypatch.setattr(checkpoint, "write_atomically", full)
    with pytest.warns(sn.SafeNetWarning, match="No space left"):
        solution = sn.solve(sn.loads(ODE), out=tmp_path / "run", monitor=sn.Monitor())
    assert solution.folder is None
    assert abs(solution(t=1.0) - np.exp(-1)) < 1e-9
    assert any("not saved" in text for text in solution.result.warnings)
