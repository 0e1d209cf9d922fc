"""Imports that are put off, followed, or not interrupted by garbage collections."""

import gc
import importlib
import sys

from safenet.lazily import after_import, uncollected


def test_a_module_is_imported_without_collections_and_what_waits_for_it_behind_them(tmp_path, monkeypatch):
    (tmp_path / "made_of_many_objects.py").write_text("import gc\ncollecting = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    uncollected("made_of_many_objects")
    after_import("made_of_many_objects", lambda: seen.append(gc.isenabled()))
    try:
        module = importlib.import_module("made_of_many_objects")
        assert gc.isenabled()
        assert not module.collecting
        assert seen == [True]
        after_import("made_of_many_objects", lambda: seen.append("at once"))
        assert seen == [True, "at once"]
    finally:
        sys.modules.pop("made_of_many_objects", None)
