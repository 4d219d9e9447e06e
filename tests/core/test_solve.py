"""`solve`: stopping, trace, statuses, and that nothing computed is lost."""

import pickle
import signal
from dataclasses import dataclass, is_dataclass, replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, certify, sets, solve
from equipoise._problem import Problem
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.run._trace import MAX_TRACE_ROWS, Trace
from equipoise.run._watched import Counter
from equipoise.solvers import (
    SOLVERS,
    Constant,
    FeasibilityPhase,
    Guarantee,
    InverseSqrt,
    Solver,
    SwitchingSubgradient,
    UnsuitableSolverError,
)
from equipoise.solvers._solver import SMOOTH


def convex():
    return REFERENCES["convex"]()


def test_stops_by_the_certificate():
    reference = convex()
    result = solve(reference.problem, "switching", reference.start, tol=1e-2)
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.nit < 10_000
    again = certify(reference.problem, result.x)
    assert again.residual <= 1e-2
    assert again.residual == pytest.approx(result.certificate.residual)


def test_the_certificate_and_the_trace_describe_the_point_returned():
    reference = convex()
    result = solve(reference.problem, "switching", reference.start, max_steps=500)
    np.testing.assert_array_equal(result.certificate.x, result.x)
    assert result.fun == reference.problem.at(result.x).objective
    assert result.trace.step[-1] == result.nit == 500
    assert result.trace.violation[-1] == result.maxcv
    assert result.trace.values.shape == (len(result.trace), 2)


def test_stops_by_steps_and_by_seconds():
    reference = convex()
    result = solve(reference.problem, "switching", reference.start, max_steps=7)
    assert (result.status, result.nit, result.success) == (Status.MAX_STEPS, 7, False)
    result = solve(reference.problem, "switching", reference.start, max_seconds=0.0)
    assert (result.status, result.nit) == (Status.MAX_SECONDS, 0)
    np.testing.assert_array_equal(result.x, reference.start)


def test_counts_evaluations_in_the_problem():
    reference = convex()
    calls = {"at": 0, "vjp": 0}

    class Spy(Problem):
        dim, n_constraints, names = 2, 1, ("disc",)
        domain = reference.problem.domain

        def at(self, x):
            calls["at"] += 1
            point = reference.problem.at(x)

            def vjp(weights):
                calls["vjp"] += 1
                return point.vjp(weights)

            return replace(point, vjp=vjp, hvp=None)

    result = solve(Spy(), "switching", reference.start, max_steps=100)
    assert (result.nfev, result.njev) == (100, 100)  # one forward, one backward pass per step
    examinations = len(result.trace)
    assert 100 < calls["at"] < 100 + examinations  # a point just evaluated is examined as it is
    assert calls["vjp"] <= 100 + 2 * examinations  # one for each function, none for the sum


def test_trace_is_log_spaced_and_bounded():
    result = solve(convex().problem, "switching", convex().start, max_steps=20_000, density=20)
    steps = result.trace.step
    assert len(steps) < 120
    assert (np.diff(steps) > 0).all()
    ratios = steps[30:] / steps[29:-1]
    assert ratios.max() < 1.2
    assert (np.diff(result.trace.seconds) >= 0).all()
    trace = Trace()
    for t in range(3 * MAX_TRACE_ROWS):
        trace.add(t, result.certificate, Counter(), 0.0)
    assert MAX_TRACE_ROWS / 2 <= len(trace) <= MAX_TRACE_ROWS
    assert trace.step[-1] == 3 * MAX_TRACE_ROWS - 1
    assert (np.diff(trace.step) > 0).all()


def test_callback_sees_each_step_and_can_stop():
    seen = []

    def watch(iteration):
        seen.append((iteration.step, iteration.x.copy()))
        if iteration.step == 5:
            raise StopIteration

    result = solve(convex().problem, "switching", convex().start, callback=watch)
    assert result.status is Status.STOPPED
    assert [step for step, _ in seen] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(seen[-1][1], result.x)


@pytest.mark.parametrize("method", ["switching", "augmented_newton", "iqrc"])
def test_a_callback_cannot_change_the_run(method):
    """What it sees is read-only, in nested states too; looking changes nothing."""

    def meddle(iteration):
        certificate = iteration.certificate
        for array in (iteration.x, certificate.x, certificate.values, *arrays(iteration.state)):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 7.0

    def arrays(state):
        if isinstance(state, np.ndarray):
            return [state]
        parts = vars(state).values() if is_dataclass(state) else ()
        return [array for part in parts for array in arrays(part)]

    options = {"max_steps": 30, "tol": 1e-6}
    watched = solve(convex().problem, method, convex().start, callback=meddle, **options)
    alone = solve(convex().problem, method, convex().start, **options)
    assert watched.status is alone.status
    assert watched.nit == alone.nit > 0
    np.testing.assert_array_equal(watched.x, alone.x)
    assert watched.x.flags.writeable


def test_the_iterate_is_seen_without_a_copy_of_the_state():
    seen = []

    def callback(iteration):
        x = iteration.x
        seen.append(("state" in vars(iteration), x.flags.writeable))
        np.testing.assert_array_equal(x, iteration.solver.output(iteration.state)[0])

    reference = REFERENCES["convex"]()
    solve(reference.problem, "sqp", reference.start, max_steps=2, callback=callback)
    assert seen == [(False, False)] * 2


def test_a_callback_that_raises_loses_nothing():
    def broken(iteration):
        if iteration.step == 50:
            raise RuntimeError("my plot failed")

    result = solve(convex().problem, "switching", convex().start, callback=broken)
    assert result.status is Status.CALLBACK_FAILED
    assert result.nit == 50
    assert "my plot failed" in result.message
    assert isinstance(result.error, RuntimeError)
    assert not result.success
    assert result.certificate.residual < certify(convex().problem, convex().start).residual


def test_ctrl_c_returns_the_best_point_so_far():
    def interrupt(iteration):
        if iteration.step == 200:
            signal.raise_signal(signal.SIGINT)

    result = solve(convex().problem, "switching", convex().start, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert not result.success
    best = min(
        max(row.violation, row.stationarity, row.complementarity) for row in result.trace.rows
    )
    assert result.certificate.residual == pytest.approx(best)


@pytest.mark.parametrize("where", ["value", "gradient"])
def test_nan_stops_with_the_last_finite_point(where):
    """The functions turn bad to the left of x1 = 1.5, which the path from 2.5 must cross."""

    def objective(x):
        bad = np.nan if x[0] < 1.5 else 1.0
        value = x[0] * (bad if where == "value" else 1.0)
        return value, np.array([1.0 * (bad if where == "gradient" else 1.0), 0.0])

    problem = FunctionProblem(objective, domain=sets.Box(-3, 3, dim=2))
    result = solve(problem, SwitchingSubgradient(step_size=Constant(0.01)), [2.5, 0.0])
    assert result.status is Status.NON_FINITE
    assert "the objective" in result.message or "gradient" in result.message
    assert np.isfinite(result.fun)
    assert 1.5 <= result.x[0] <= 1.6
    assert not result.success


def test_nan_at_the_start_is_an_error_that_names_the_function():
    problem = FunctionProblem(lambda x: (0.0, x), [lambda x: (np.inf, x)], dim=2, names=["recall"])
    with pytest.raises(ValueError, match="recall"):
        solve(problem, "feasibility", [1.0, 1.0])
    with pytest.raises(ValueError, match="recall"):
        solve(problem, "switching", [1.0, 1.0])


def test_an_error_in_a_function_keeps_its_traceback_and_says_where():
    def objective(x):
        if x[0] < 1.9:
            raise KeyError("column")
        return x[0], np.array([1.0, 0.0])

    problem = FunctionProblem(objective, domain=sets.Box(-3, 3, dim=2))
    with pytest.raises(KeyError) as caught:
        solve(problem, SwitchingSubgradient(step_size=Constant(0.01)), [2.0, 0.0])
    assert "SwitchingSubgradient" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x0": [1.0]}, r"`x0` must have shape \(2,\), got \(1,\)"),
        ({"x0": [np.nan, 0.0]}, "`x0` must be finite, but entry 0 is nan"),
        ({"x0": [9.0, 0.0]}, r"`x0` must lie in the domain Box\(.*but is 6 away"),
        ({"x0": "abc"}, "`x0` must be an array of numbers"),
        ({"solver": "newton"}, "`solver` must be one of 'auto', 'apg'"),
        ({"max_steps": -1}, "`max_steps` must be an integer of at least 0, got -1"),
        ({"max_steps": 1.5}, "`max_steps` must be an integer"),
        ({"tol": -1.0}, "`tol` must be non-negative"),
        ({"max_seconds": np.nan}, "`max_seconds` must be non-negative"),
        ({"seed": None}, "`seed` must be an integer"),
        ({"density": 0}, "`density` must be an integer of at least 1"),
        ({"callback": 3}, "`callback` must be callable"),
        ({"problem": 3}, "`problem` must be a Problem"),
        ({"checkpoint": "no/such/folder/x"}, "folder of `path` does not exist"),
    ],
)
def test_bad_input_is_named(options, message):
    arguments = {"problem": convex().problem, "solver": "switching", "x0": [0.0, 0.0]} | options
    with pytest.raises(ValueError, match=message):
        solve(**arguments)


def test_unknown_options_and_wrong_types_raise():
    with pytest.raises(TypeError, match="max_iter"):
        solve(convex().problem, max_iter=3)
    with pytest.raises(TypeError, match="Give an object"):
        solve(convex().problem, SwitchingSubgradient)
    with pytest.raises(TypeError, match="step_sise"):
        SwitchingSubgradient(step_sise=0.1)


def test_default_start_is_the_projection_of_zero():
    problem = QuadraticProblem(
        np.zeros((1, 2, 2)), [[1.0, 0.0]], [0.0], sets.Box([1.0, 1.0], [2.0, 2.0])
    )
    assert solve(problem, max_steps=0).x.tolist() == [1.0, 1.0]


def test_x0_is_left_alone_and_runs_repeat():
    start = np.array([0.0, 2.0])
    kept = start.copy()
    one = solve(convex().problem, "switching", start, max_steps=300, seed=4)
    two = solve(convex().problem, "switching", start, max_steps=300, seed=4)
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.state.drawn, two.state.drawn)
    other = solve(convex().problem, "switching", start, max_steps=300, seed=5)
    assert not np.array_equal(one.state.drawn, other.state.drawn)


def test_infeasible_problems_get_a_verdict_and_the_blocking_constraints():
    problem = QuadraticProblem(
        P=[np.eye(1), np.zeros((1, 1)), np.zeros((1, 1))],
        q=[[0.0], [1.0], [-1.0]],
        c=[0.0, 1.0, 1.0],  # x <= -1 and x >= 1
        domain=sets.Box(-3, 3, dim=1),
        names=["at most -1", "at least 1"],
    )
    result = solve(problem, "switching", [2.0], max_steps=20_000)
    assert result.status is Status.INFEASIBLE
    assert not result.success
    assert set(result.blocking) == {"at most -1", "at least 1"}
    assert result.maxcv == pytest.approx(1.0, abs=0.05)
    assert "at least 1" in result.message


def test_success_is_never_true_with_a_violated_constraint():
    """A solver that claims convergence at an infeasible point is not believed."""

    @dataclass(frozen=True)
    class Liar(Solver):
        name = "liar"
        guarantee = Guarantee("", "", "", "")

        def init(self, problem, x0):
            return x0

        def step(self, problem, state, t, rng):
            return state

        def output(self, state):
            return state, None

        def verdict(self, state):
            return Status.CONVERGED

    problem = convex().problem
    for tol in (0.0, 1e-3):
        result = solve(problem, Liar(), np.array([2.0, 2.0]), tol=tol)
        assert not result.success
        assert result.status is (Status.STALLED if tol else Status.FINISHED)


def test_a_slack_is_a_success_only_within_tol():
    """FEASIBLE to the method's own slack; what counts as no violation is the caller's to say."""
    solver = FeasibilityPhase(step_size=Constant(1e-2), slack=0.1)
    strict = solve(convex().problem, solver, convex().start)
    assert strict.status is Status.FEASIBLE
    assert 0.0 < strict.maxcv <= 0.1
    assert not strict.success
    assert "set `tol`" in strict.message
    loose = solve(convex().problem, solver, convex().start, tol=0.1)
    assert loose.success
    assert loose.message == Status.FEASIBLE.message


def test_needs_are_checked_with_a_clear_message():
    @dataclass(frozen=True)
    class Picky(SwitchingSubgradient.__mro__[1]):
        name = "picky"
        guarantee = Guarantee("", "", "", "")
        needs = (SMOOTH,)
        init = step = output = None

    problem = FunctionProblem(lambda x: (0.0, x), dim=1, facts=Facts(smooth=False))
    with pytest.raises(UnsuitableSolverError, match="Picky needs differentiable functions"):
        solve(problem, Picky(), [0.0])


def test_results_pickle_and_print():
    result = solve(convex().problem, "switching", convex().start, max_steps=50)
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.x, result.x)
    assert "MAX_STEPS" in str(result)


def test_progress_bar(capsys):
    solve(convex().problem, "switching", convex().start, max_steps=50, progress=True)
    assert "SwitchingSubgradient" in capsys.readouterr().out


def test_float32_and_registry_names():
    result = solve(convex().problem, "switching", np.float32([0.0, 2.0]), max_steps=10)
    assert result.nit == 10
    assert set(SOLVERS) >= {"switching", "feasibility"}
    assert isinstance(SOLVERS["feasibility"](), FeasibilityPhase)
    assert InverseSqrt(2.0)(3) == 1.0
