"""A folder with problem files, and two runs in it."""

import pytest

from running import DECAY, SOUND, run


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with problem files and the runs of `solve`, made once."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "decay.toml").write_text(DECAY)
    (folder / "sound.toml").write_text(SOUND)
    return folder


@pytest.fixture(scope="module")
def wave(place):
    ran = run("solve", "wave", "--out", "wave", "--json", cwd=place)
    assert ran.code == 0, ran.err
    return ran


@pytest.fixture(scope="module")
def sound(place):
    ran = run("solve", "sound.toml", "--out", "sound", "--json", cwd=place)
    assert ran.code == 0, ran.err
    return ran
