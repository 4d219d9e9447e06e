"""Whatever the disk does in the middle of a run: a warning, and the run is not lost."""

import builtins
import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from equipoise import Checkpoint, solve
from equipoise._storage import files
from equipoise.problems import REFERENCES
from equipoise.run import CheckpointError, CheckpointWarning
from equipoise.run import _checkpoint as module

REFERENCE = REFERENCES["convex"]()


def go(path, steps=30, **options):
    place = Checkpoint(path, every=0.0)
    return solve(
        REFERENCE.problem,
        "switching",
        REFERENCE.start,
        max_steps=steps,
        checkpoint=place,
        **options,
    )


def read_only(*_, **__):
    raise OSError(errno.EROFS, "Read-only file system")


class ReadOnlyFile:
    """A file that opens, and refuses every byte."""

    def __init__(self, file):
        self._file = file

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def __getattr__(self, name):
        return read_only if name in ("write", "flush") else getattr(self._file, name)


CALLS = {
    "open": lambda patch: patch.setattr(files, "open", read_only, raising=False),
    "write": lambda patch: patch.setattr(
        files,
        "open",
        lambda *a: ReadOnlyFile(builtins.open(*a)),  # noqa: SIM115
        raising=False,
    ),
    "fsync": lambda patch: patch.setattr(os, "fsync", read_only),
    "replace": lambda patch: patch.setattr(os, "replace", read_only),
    "open of the folder": lambda patch: patch.setattr(os, "open", read_only),
}


@pytest.mark.parametrize("unlink", [True, False], ids=["unlink works", "unlink refuses too"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_refuses_is_a_warning(call, unlink, tmp_path, monkeypatch):
    path, expected = (
        tmp_path / "run",
        solve(REFERENCE.problem, "switching", REFERENCE.start, max_steps=30),
    )
    go(path, 10)
    kept = path.read_bytes()
    with monkeypatch.context() as patch:
        CALLS[call](patch)
        if not unlink:
            patch.setattr(Path, "unlink", read_only)
        with pytest.warns(CheckpointWarning, match="Read-only"):
            result = go(path)
    np.testing.assert_array_equal(result.x, expected.x)
    assert result.nit == 30
    if call != "open of the folder":  # there the file itself was written
        assert path.read_bytes() == kept
    assert go(path).nit == 30  # what is on the disk is whole
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_removed_in_the_middle_of_the_run(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()

    def remove(iteration):
        if iteration.step == 5:
            shutil.rmtree(folder)

    with pytest.warns(CheckpointWarning, match="could not be written"):
        assert go(folder / "run", callback=remove).nit == 30
    assert not folder.exists()


def test_a_folder_in_the_place_of_the_file(tmp_path):
    """Renaming over a folder is refused by the system."""
    path = tmp_path / "run"

    def replace(iteration):
        if iteration.step == 5:
            path.unlink()
            path.mkdir()

    with pytest.warns(CheckpointWarning, match="could not be written"):
        assert go(path, callback=replace).nit == 30
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a file system like /proc")
def test_a_file_system_that_takes_no_files():
    with pytest.warns(CheckpointWarning, match="could not be written"):
        assert go("/proc/self/run").nit == 30


def test_an_error_while_encoding_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "pack", lambda *_: (_ for _ in ()).throw(MemoryError("no memory")))
    with pytest.warns(CheckpointWarning, match="no memory"):
        assert go(tmp_path / "run").nit == 30


def test_a_file_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "run"
    go(path, 10)
    monkeypatch.setattr(Path, "read_bytes", read_only)
    with pytest.raises(CheckpointError, match=r"cannot be read .*Read-only file system"):
        go(path)


def test_ctrl_c_while_writing_leaves_the_previous_file_whole(tmp_path, monkeypatch):
    path, calls, fsync = tmp_path / "run", [], os.fsync

    def interrupted(handle):
        calls.append(handle)
        if len(calls) == 9:  # a file and its folder are synchronised in every write
            raise KeyboardInterrupt
        fsync(handle)

    monkeypatch.setattr(os, "fsync", interrupted)
    result = go(path)
    assert result.status.name == "INTERRUPTED"
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [path]
    resumed = go(path)
    np.testing.assert_array_equal(
        resumed.x, solve(REFERENCE.problem, "switching", REFERENCE.start, max_steps=30).x
    )
