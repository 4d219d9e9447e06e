"""Checkpoints: bit for bit the same run, whatever interrupts it."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from equipoise import Checkpoint, Problem, Status, solve
from equipoise._storage.container import unpack
from equipoise._storage.storable import storable_types
from equipoise.problems import REFERENCES
from equipoise.run import CheckpointError, CheckpointWarning
from equipoise.solvers import Constant, Solver, SwitchingSubgradient

SOLVER = SwitchingSubgradient(step_size=Constant(1e-3), slack=Constant(1e-3))


@dataclass(frozen=True)
class Noisy(Problem):
    """A problem whose mini-batches are random shifts: the iterates depend on the generator."""

    shift: float = 0.0
    dim = 2
    n_constraints = 1
    names = ("disc",)
    domain = REFERENCES["convex"]().problem.domain

    def at(self, x):
        return REFERENCES["convex"]().problem.at(x + self.shift)

    def sample(self, rng):
        return Noisy(0.01 * rng.normal())


def run(steps, path=None, **options):
    return solve(Noisy(), SOLVER, [0.0, 2.0], max_steps=steps, seed=3, checkpoint=path, **options)


def same(one, two):
    for field in ("x", "feasible", "drawn"):
        np.testing.assert_array_equal(getattr(one.state, field), getattr(two.state, field))
    assert one.state.weight == two.state.weight
    assert (one.nit, one.nfev, one.njev) == (two.nit, two.nfev, two.njev)


def test_a_resumed_run_continues_bit_for_bit(tmp_path):
    path = tmp_path / "run.checkpoint"
    whole = run(900)
    run(400, path)
    assert path.exists()
    resumed = run(900, path)
    same(resumed, whole)
    assert resumed.nit == 900


def test_a_finished_run_is_not_run_again(tmp_path):
    path = tmp_path / "run.checkpoint"
    first = run(300, path)
    before = first.seconds
    again = run(300, path)
    same(first, again)
    assert again.seconds == pytest.approx(before, abs=0.5)


def test_an_interrupted_step_is_taken_again(tmp_path):
    """Ctrl-C inside a step, after the generator has moved: the resumed run repeats the step."""
    path = tmp_path / "run.checkpoint"
    steps = []

    class Interrupting(Noisy):
        def sample(self, rng):
            batch = super().sample(rng)
            if len(steps) == 249:  # in the next one
                signal.raise_signal(signal.SIGINT)
            return batch

    Interrupting.__name__ = "Noisy"
    options = {"max_steps": 900, "seed": 3, "checkpoint": path, "callback": steps.append}
    stopped = solve(Interrupting(), SOLVER, [0.0, 2.0], **options)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.nit == 249
    same(run(900, path), run(900))


CHILD = """
    import sys
    sys.path.insert(0, {folder!r})
    from test_checkpoint import SOLVER, Noisy
    from equipoise import Checkpoint, solve
    solve(Noisy(), SOLVER, [0.0, 2.0], max_steps=10**7, seed=3,
          checkpoint=Checkpoint({path!r}, every=0.0))
"""


def test_kill_9_in_the_middle_of_a_write(tmp_path):
    """The child writes after every step; it is killed at arbitrary moments, resumed, and killed again."""
    path = tmp_path / "run.checkpoint"
    code = textwrap.dedent(CHILD).format(folder=os.path.dirname(__file__), path=str(path))
    reached = []
    for pause in (0.3, 0.2):
        child = subprocess.Popen([sys.executable, "-c", code])
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        seen = path.stat().st_mtime_ns
        while path.stat().st_mtime_ns == seen and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        child.wait()
        reached.append(
            unpack(path.read_bytes(), storable_types()).t
        )  # whole and verified, whenever the kill came
    assert 0 < reached[0] < reached[1]
    steps = reached[1] + 50
    same(run(steps, path), run(steps))


def test_what_a_killed_write_left_behind_is_removed(tmp_path):
    path = tmp_path / "run [1].checkpoint"
    left = tmp_path / f".{path.name}.12345.part"
    other = tmp_path / ".another.12345.part"
    for file in (left, other):
        file.write_bytes(b"half a check")
    run(10, path)
    assert sorted(tmp_path.iterdir()) == sorted((path, other))


def test_a_full_disk_is_a_warning_and_the_run_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    run(100, path)
    kept = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CheckpointWarning, match="No space left on device"):
        result = run(200, path)
    assert result.nit == 200
    assert path.read_bytes() == kept
    assert list(tmp_path.iterdir()) == [path]  # no partial file is left behind


@dataclass(frozen=True)
class Hidden:
    x: np.ndarray
    secret: object


@dataclass(frozen=True)
class HoldsALock(Solver[Hidden]):
    name = "holds_a_lock"

    def init(self, problem, x0):
        return Hidden(x0, threading.Lock())

    def step(self, problem, state, t, rng):
        return state

    def output(self, state):
        return state.x, None


def test_a_state_that_cannot_be_stored_is_a_warning(tmp_path):
    with pytest.warns(CheckpointWarning, match=r"contents.state.secret is a lock; a file holds"):
        result = solve(Noisy(), HoldsALock(), max_steps=3, checkpoint=tmp_path / "run.checkpoint")
    assert result.nit == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 4}, "its seed is 3, this run's is 4"),
        ({"x0": [0.0, 1.0]}, "its starting point is"),
        ({"solver": SwitchingSubgradient()}, "its solver is"),
        ({"problem": REFERENCES["convex"]().problem}, "its problem is"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change, message):
    path = tmp_path / "run.checkpoint"
    run(10, path)
    arguments = {"problem": Noisy(), "solver": SOLVER, "x0": [0.0, 2.0], "seed": 3} | change
    with pytest.raises(CheckpointError, match=message):
        solve(**arguments, max_steps=20, checkpoint=path)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    run(10, path)
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match="checksum does not match"):
        run(20, path)
    path.write_text("hello")
    with pytest.raises(CheckpointError, match="is not an Equipoise checkpoint"):
        run(20, path)


def test_checkpoint_options(tmp_path):
    with pytest.raises(ValueError, match="`every` must be non-negative"):
        Checkpoint(tmp_path / "x", every=-1)
    with pytest.raises(ValueError, match="is a folder"):
        Checkpoint(tmp_path)
