"""Arrays and facts through a file: the same bits back, damage named, and never half a file."""

import io
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet.errors import SafeNetError
from safenet.run.checkpoint import fill, leaves, pack, unpack, write_atomically

ARRAYS = {
    "double": np.array([[1 / 3, -0.0], [np.inf, 5e-324]]),
    "single": np.float32([1 / 3, np.nan]),
    "count": np.int32(7),
    "empty": np.empty((0, 3)),
    "device": jnp.arange(3.0),
}
FACTS = {"index": 2, "cursor": {"modes": [3, 4], "h": 0.1}, "reason": "η → 0 «fertig»", "nothing": None}


def test_what_was_packed_comes_back_to_the_bit(tmp_path):
    path = tmp_path / "checkpoint.npz"
    write_atomically(path, pack(ARRAYS, FACTS))
    arrays, facts = unpack(path)
    assert facts == FACTS
    assert arrays.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        expected = np.asarray(value)
        assert (arrays[name].dtype, arrays[name].shape) == (expected.dtype, expected.shape)
        assert arrays[name].tobytes() == expected.tobytes()


@pytest.mark.parametrize("kept", [0, 1, 10, 0.5, 0.99])
def test_a_truncated_file_is_called_damaged(tmp_path, kept):
    data = pack(ARRAYS, FACTS)
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(data[: kept if isinstance(kept, int) else int(kept * len(data))])
    with pytest.raises(SafeNetError, match=r"checkpoint\.npz.*damaged"):
        unpack(path)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def flipped(data):
    """One bit of the largest array changed: only the checksum can tell."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        npy(np.arange(3)),
        npy(np.array([{"a": 1}], dtype=object)),
        npz(a=np.arange(3)),
        npz(facts=np.array([{"a": 1}], dtype=object)),
        npz(facts=np.frombuffer(b"{", np.uint8)),
        npz(facts=np.frombuffer(b"\\xff", np.uint8)),
        flipped(pack({"a": np.zeros(5000)}, {})),
    ],
    ids=[
        "text",
        "one array",
        "a pickle",
        "no facts",
        "pickled facts",
        "half JSON",
        "no text",
        "a flipped bit",
    ],
)
def test_a_file_of_another_kind_is_refused_and_never_executed(tmp_path, data):
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(data)
    with pytest.raises(SafeNetError, match=r"checkpoint\.npz"):
        unpack(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SafeNetError, match=r"checkpoint\.npz does not exist"):
        unpack(tmp_path / "checkpoint.npz")


def test_objects_are_not_packed():
    with pytest.raises(ValueError, match="pickle"):
        pack({"a": np.array([{}], dtype=object)}, {})


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError("no space left"), KeyboardInterrupt()], ids=["full disk", "Ctrl-C"]
)
def test_a_write_that_is_cut_short_leaves_the_former_file_and_nothing_else(
    tmp_path, monkeypatch, step, error
):
    path = tmp_path / "result.json"
    write_atomically(path, b"old")

    def fail(*arguments):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(type(error)):
            write_atomically(path, b"new and longer")
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    assert path.read_bytes() == b"old"
    write_atomically(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"


class Tree(eqx.Module):
    a: jax.Array
    b: np.ndarray
    parts: tuple
    name: str = eqx.field(static=True)


def tree(seed=0):
    random = np.random.default_rng(seed)
    return Tree(
        jnp.asarray(random.normal(size=3)),
        random.normal(size=(2, 2)),
        (jnp.asarray(7, jnp.int32), jnp.ones(())),
        "tree",
    )


def test_a_tree_is_filled_with_its_own_arrays_again():
    original = tree()
    saved = {name: np.asarray(value) for name, value in leaves(original).items()}
    again = fill(tree(seed=1), saved)
    assert jax.tree.structure(again) == jax.tree.structure(original)
    for old, new in zip(jax.tree.leaves(original), jax.tree.leaves(again), strict=True):
        assert type(old) is type(new)
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    "change", [lambda saved: saved.popitem(), lambda saved: saved.update(a0=np.zeros(4))]
)
def test_arrays_that_do_not_fit_are_refused(change):
    saved = {name: np.asarray(value) for name, value in leaves(tree()).items()}
    change(saved)
    with pytest.raises(SafeNetError, match="do not fit"):
        fill(tree(), saved)
