"""A budget makes one run of several: steps, counts, trace, time, callback and the wish to stop."""

import time

import numpy as np
import pytest

from equipoise import Budget, FunctionProblem, Status, solve
from equipoise.problems import REFERENCES


def quadratic(calls=None):
    def objective(x):
        if calls is not None:
            calls.append(1)
        return float(x @ x), 2 * x

    return FunctionProblem(objective, dim=2)


def run(budget, tol=1e-6, **options):
    reference = REFERENCES["convex"]()
    return solve(reference.problem, "switching", reference.start, tol=tol, budget=budget, **options)


def test_steps_counts_and_trace_add_up():
    with Budget() as budget:
        results = []
        for stage, steps in (("first", 7), ("second", 12)):
            budget.enter(stage)
            results.append(run(budget, max_steps=steps))
    assert budget.steps == sum(result.nit for result in results) == 19
    assert budget.counter.values == sum(result.nfev for result in results)
    assert budget.counter.gradients == sum(result.njev for result in results)
    assert set(budget.trace.stage) == {"first", "second"}
    assert (np.diff(budget.trace.step) >= 0).all()
    assert (np.diff(budget.trace.seconds) >= 0).all()
    assert budget.trace.step[-1] == 19
    assert len(budget.trace) == sum(len(result.trace) for result in results)


def test_the_time_limit_is_for_all_together():
    with Budget(max_seconds=0.2) as budget:
        first = run(budget, tol=0.0, max_steps=10**9)
        second = run(budget, tol=0.0, max_steps=10**9)
    assert first.status is second.status is Status.MAX_SECONDS
    assert second.nit == 0
    assert budget.wish is Status.MAX_SECONDS
    assert budget.remaining <= 0


def test_steps_can_be_limited_for_a_while():
    with Budget() as budget:
        run(budget, max_steps=5)
        with budget.limited(10):
            first = run(budget, tol=0.0, max_steps=10)
            assert budget.wish is Status.MAX_STEPS
            with budget.limited(100):  # no more than what is left outside
                assert budget.wish is Status.MAX_STEPS
            second = run(budget, tol=0.0, max_steps=10)
        assert budget.wish is None
        third = run(budget, tol=0.0, max_steps=3)
    assert (first.nit, second.nit, third.nit) == (10, 0, 3)


def test_a_callback_sees_all_steps_and_can_end_everything():
    seen = []

    def callback(iteration):
        seen.append((iteration.stage, iteration.step))
        if iteration.step == 9:
            raise StopIteration

    with Budget(callback=callback) as budget:
        for stage in ("a", "b", "c"):
            budget.enter(stage)
            result = run(budget, max_steps=5, tol=0.0)
    assert seen == [("a", k) for k in range(1, 6)] + [("b", k) for k in range(6, 10)]
    assert result.status is Status.STOPPED
    assert result.nit == 0


def test_an_error_of_the_callback_ends_everything_and_is_kept():
    def callback(iteration):
        raise RuntimeError("no")

    with Budget(callback=callback) as budget:
        result = run(budget, max_steps=5)
        again = run(budget, max_steps=5)
    assert isinstance(budget.error, RuntimeError)
    assert result.status is again.status is Status.CALLBACK_FAILED
    assert again.nit == 0


def test_ctrl_c_ends_everything():
    calls = []
    problem = quadratic(calls)
    inner = problem.at

    def interrupted(x):
        if len(calls) == 5:
            calls.append(1)
            raise KeyboardInterrupt
        return inner(x)

    problem.at = interrupted
    with Budget() as budget:
        result = solve(problem, "switching", [1.0, 2.0], max_steps=100, budget=budget)
        again = solve(problem, "switching", [1.0, 2.0], max_steps=100, budget=budget)
    assert result.status is again.status is Status.INTERRUPTED
    assert budget.wish is Status.INTERRUPTED
    assert again.nit == 0


def test_the_bar_names_the_stage(capsys):
    with Budget(progress=True, name="fit") as budget:
        budget.enter("first shift")
        run(budget, max_steps=5)
        budget.enter("repairing")
        run(budget, max_steps=5)
    shown = capsys.readouterr().out
    assert "repairing" in shown
    assert "10 steps" in shown


def test_without_a_limit_time_is_not_looked_at():
    budget = Budget()
    assert budget.remaining == float("inf")
    assert budget.wish is None
    started = time.perf_counter()
    assert 0 <= budget.seconds <= time.perf_counter() - started + 1


def test_a_frame_of_the_trace():
    with Budget() as budget:
        budget.enter("only")
        run(budget, max_steps=5)
    frame = budget.trace.to_frame()
    assert list(frame["stage"].unique()) == ["only"]
    assert frame["step"].iloc[-1] == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_seconds": -1}, "Budget: `max_seconds` must be non-negative"),
        ({"callback": 3}, "Budget: `callback` must be callable"),
    ],
)
def test_wrong_input(options, message):
    with pytest.raises(ValueError, match=message):
        Budget(**options)


def test_callback_and_progress_belong_to_the_budget():
    with pytest.raises(ValueError, match="must be left out with a `budget`"):
        run(Budget(), callback=print)
    with pytest.raises(ValueError, match="must be left out with a `budget`"):
        run(Budget(), progress=True)
