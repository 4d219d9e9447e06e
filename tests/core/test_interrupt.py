"""Ctrl-C in `solve`, at any moment: the best point so far and an honest status, or the exception."""

import signal
import threading

import numpy as np
import pytest

from equipoise import Budget, FunctionProblem, Status, solve
from equipoise.problems import REFERENCES
from equipoise.run import _run, _verdict


def interrupting(base, at):
    """The problem, with Ctrl-C at some passes, counted from 1: forward and backward ones."""
    passes = []

    def passed(function, *arguments):
        passes.append(1)
        if len(passes) in at:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments)

    def part(i):
        return lambda x: (base.at(x).values[i], passed(base.at(x).gradient, i))

    made = FunctionProblem(
        part(0),
        [part(i) for i in range(1, base.n_constraints + 1)],
        domain=base.domain,
        facts=base.facts,
        names=base.names,
    )
    return made, passes


def outcome(problem, method, start, **options):
    try:
        return solve(problem, method, start, **options)
    except KeyboardInterrupt:
        return None


@pytest.mark.parametrize("method", ["auto", "switching", "iqrc", "augmented_lagrangian"])
def test_at_any_evaluation(method):
    """Also those of the examiner, and of the proofs at the end."""
    reference = REFERENCES["active"]()
    problem, passes = interrupting(reference.problem, ())
    options = {"max_steps": 25, "tol": 1e-9}
    solve(problem, method, reference.start, **options)
    total, kept = len(passes), 0
    for k in np.unique(np.linspace(1, total, 60).astype(int)):
        problem, passes = interrupting(reference.problem, {int(k)})
        result = outcome(problem, method, reference.start, **options)
        assert len(passes) >= k
        assert len(passes) <= k + 12  # one more examination, and no more steps
        assert result is None or result.status is Status.INTERRUPTED
        assert result is None or not result.success
        kept += result is not None
    # before the first examination there is nothing to keep
    assert kept > 0.6 * min(total, 60)


def test_a_second_time_it_does_not_wait():
    """The examination after the first is cut short by the second: the best point examined is returned."""
    reference = REFERENCES["active"]()
    problem, passes = interrupting(reference.problem, {40, 41})
    result = solve(problem, "switching", reference.start, max_steps=100)
    assert result.status is Status.INTERRUPTED
    assert len(passes) == 41
    best = np.argmin(np.maximum(result.trace.violation, result.trace.stationarity))
    assert result.fun == result.trace.objective[best]


def test_in_the_callback_and_at_the_last_write(tmp_path):
    reference = REFERENCES["convex"]()

    def callback(iteration):
        if iteration.step == 7:
            signal.raise_signal(signal.SIGINT)

    run = (reference.problem, "switching", reference.start)
    result = solve(*run, max_steps=50, callback=callback)
    assert (result.status, result.nit) == (Status.INTERRUPTED, 7)


def test_in_the_proof_at_the_end(monkeypatch):
    """A proof that is interrupted is no proof, and the run says that it was interrupted."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    problem = FunctionProblem(lambda x: (float(abs(x).sum()), np.sign(x)), dim=2)
    monkeypatch.setattr(_verdict, "near_kinks", interrupted)
    with Budget() as budget:
        result = solve(problem, "switching", [1.0, 2.0], max_steps=20, tol=1e-3, budget=budget)
    assert result.status is budget.wish is Status.INTERRUPTED


def test_while_the_run_is_stored_at_its_end(tmp_path, monkeypatch):
    reference = REFERENCES["convex"]()
    save, calls = _run.RunStore.save, []

    def interrupted(self, contents):
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(_run.RunStore, "save", interrupted)
    run = (reference.problem, "switching", reference.start)
    result = solve(*run, max_steps=20, checkpoint=tmp_path / "run")
    assert result.status is Status.INTERRUPTED
    assert len(calls) == 1
    monkeypatch.setattr(_run.RunStore, "save", save)
    assert solve(*run, max_steps=20, checkpoint=tmp_path / "run").nit == 20


def test_a_function_that_swallows_it_does_not_hide_it():
    passes = []

    def objective(x):
        passes.append(1)
        try:
            if len(passes) == 10:
                signal.raise_signal(signal.SIGINT)
        except BaseException:
            pass
        return float(x @ x), 2 * x

    result = solve(FunctionProblem(objective, dim=2), "switching", [1.0, 2.0], max_steps=1000)
    assert result.status is Status.INTERRUPTED
    assert len(passes) <= 12


def test_it_counts_before_other_reasons():
    budget = Budget(max_seconds=0.0)
    assert budget.wish is Status.MAX_SECONDS
    budget.stop(Status.INTERRUPTED)
    assert budget.wish is Status.INTERRUPTED


def test_handlers_are_put_back_and_those_of_others_left_alone():
    seen = []
    reference = REFERENCES["convex"]()
    before = signal.getsignal(signal.SIGINT)
    with Budget(), Budget():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before

    def own(number, frame):
        seen.append(number)

    signal.signal(signal.SIGINT, own)
    try:
        callback = lambda i: signal.raise_signal(signal.SIGINT) if i.step == 3 else None  # noqa: E731
        run = (reference.problem, "switching", reference.start)
        assert solve(*run, max_steps=9, callback=callback).nit == 9
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_in_another_thread_nothing_is_installed():
    reference, found = REFERENCES["convex"](), []

    def work():
        found.append(solve(reference.problem, "switching", reference.start, max_steps=5).nit)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [5]
