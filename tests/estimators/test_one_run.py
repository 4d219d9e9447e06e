"""A fit on counted bounds is one run: all steps counted, one trace, and it can be watched and stopped."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import equipoise as eq
from equipoise import ConstrainedClassifier, NeymanPearsonClassifier, Status
from equipoise.datasets import make_census
from equipoise.estimators import InfeasibleWarning
from equipoise.estimators._runner import Runner


@pytest.fixture(scope="module")
def many_groups():
    """Twelve groups and a tight bound: a fit of many problems."""
    data = make_census(3000, seed=0)
    groups = np.random.default_rng(0).integers(0, 12, data.n)
    return data.X, data.y, groups


def watched(monkeypatch):
    """Return a list that gets the result of every problem solved."""
    results, solve = [], Runner.solve

    def record(*arguments, **options):
        results.append(solve(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(Runner, "solve", record)
    return results


def test_steps_evaluations_and_trace_cover_the_whole_fit(census, monkeypatch):
    results = watched(monkeypatch)
    model = ConstrainedClassifier(eq.equalized_odds(0.02), scoring=None)  # the last is the one kept
    model.fit(census.X, census.y, sensitive_features=census.groups)
    assert len(results) >= 3
    assert model.n_iter_ == model.result_.nit == sum(result.nit for result in results)
    assert model.result_.nfev == sum(result.nfev for result in results)
    assert model.result_.njev == sum(result.njev for result in results)
    assert model.result_.nhev == sum(result.nhev for result in results)
    trace = model.trace_
    assert trace is model.result_.trace
    assert len(trace) == sum(len(result.trace) for result in results)
    assert trace.stage[0] == "without constraints"
    assert "first shift" in trace.stage
    assert trace.step[-1] == model.n_iter_
    assert trace.objective[-1] == pytest.approx(model.certificate_.objective)
    np.testing.assert_array_equal(model.certificate_.x, model.result_.x)


def test_the_progress_bar_names_the_stages(census, capsys):
    model = ConstrainedClassifier(eq.demographic_parity(0.02), verbose=True)
    model.fit(census.X, census.y, sensitive_features=census.groups)
    shown = capsys.readouterr().out
    assert any(stage in shown for stage in set(model.trace_.stage))
    quiet = clone(model).set_params(verbose=False)
    quiet.fit(census.X, census.y, sensitive_features=census.groups)
    assert capsys.readouterr().out == ""


def test_time_is_up_before_anything_was_found(many_groups):
    X, y, groups = many_groups
    model = ConstrainedClassifier(eq.recall(0.9), max_seconds=0.0)
    with (
        pytest.warns(InfeasibleWarning, match="the bounds are not all met yet"),
        pytest.warns(ConvergenceWarning, match="`max_seconds`"),
    ):
        model.fit(X, y, sensitive_features=groups)
    assert model.status_ is Status.MAX_SECONDS
    assert not model.result_.success
    assert "time budget was used up" in str(model.report_)
    assert not all(line.holds for line in model.report_.constraints)


def test_when_time_is_up_the_best_kept_model_is_returned(many_groups, monkeypatch):
    """Time that stands still until the first model keeps its bounds, and is up then."""
    X, y, groups = many_groups
    rule = eq.demographic_parity(0.1)
    kept = []
    from equipoise.estimators._counted import search

    measure = search.measure

    def measured(*arguments):
        found = measure(*arguments)
        kept.append(found.keeps_bounds)
        return found

    monkeypatch.setattr(search, "measure", measured)
    monkeypatch.setattr(
        eq.Budget, "remaining", property(lambda self: 0.0 if any(kept) else float("inf"))
    )
    model = ConstrainedClassifier(rule, max_seconds=1e9)
    with pytest.warns(ConvergenceWarning, match="`max_seconds`"):
        model.fit(X, y, sensitive_features=groups)
    assert kept.count(True) == 1
    assert model.status_ is Status.MAX_SECONDS
    assert not model.result_.success
    assert "best one so far that keeps all bounds" in str(model.report_)
    predicted = model.predict(X)
    rates = [predicted[groups == group].mean() for group in range(12)]
    assert max(rates) - min(rates) <= 0.1 + 1e-12
    np.testing.assert_array_equal(model.certificate_.x, model.result_.x)


def test_a_real_limit_is_obeyed(many_groups):
    X, y, groups = many_groups
    limit = 0.3
    model = ConstrainedClassifier(
        eq.equalized_odds(0.001), max_seconds=limit, on_infeasible="ignore"
    )
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="`max_seconds`"):
        model.fit(X, y, sensitive_features=groups)
    assert model.status_ is Status.MAX_SECONDS
    assert time.perf_counter() - started < 100 * limit  # not a measurement: only that it ends


@pytest.mark.parametrize("number", [1, 3])
def test_ctrl_c_ends_the_fit_at_once(many_groups, monkeypatch, number):
    """In the first problem there is no model to keep; later there may be one."""
    X, y, groups = many_groups
    calls, solve = [], Runner.solve

    def interrupted(self, problem, *arguments, **options):
        calls.append(1)
        if len(calls) == number:
            problem.at = lambda x: (_ for _ in ()).throw(KeyboardInterrupt)
        return solve(self, problem, *arguments, **options)

    monkeypatch.setattr(Runner, "solve", interrupted)
    model = ConstrainedClassifier(eq.demographic_parity(0.02))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, sensitive_features=groups)
    assert len(calls) == number


def test_ctrl_c_keeps_the_best_model_that_keeps_its_bounds(census, monkeypatch):
    calls, solve = [], Runner.solve

    def interrupted(self, problem, *arguments, **options):
        result = solve(self, problem, *arguments, **options)
        calls.append(1)
        if len(calls) == 2:  # after the first constrained problem
            self.budget.stop(Status.INTERRUPTED)
        return result

    monkeypatch.setattr(Runner, "solve", interrupted)
    model = ConstrainedClassifier(eq.demographic_parity(0.9))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(census.X, census.y, sensitive_features=census.groups)
    assert model.status_ is Status.INTERRUPTED
    assert len(calls) == 2
    assert all(line.holds for line in model.report_.constraints)
    assert "Interrupted from the keyboard" in str(model.report_)


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
@pytest.mark.parametrize("wait", [0.02, 0.1, 0.3])
def test_a_real_signal_is_never_swallowed(many_groups, wait):
    """Whenever it comes, the fit ends: with a status, or with the exception."""
    X, y, groups = many_groups
    model = ConstrainedClassifier(
        eq.equalized_odds(0.001), on_infeasible="ignore", max_seconds=60.0
    )
    timer = threading.Timer(wait, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y, sensitive_features=groups)
            ended = model.status_
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
    timer.join()
    assert ended is Status.INTERRUPTED


def test_a_callback_watches_and_ends_the_fit(census):
    seen = []

    def callback(iteration):
        seen.append(iteration.stage)
        if iteration.stage != "without constraints":
            raise StopIteration

    model = ConstrainedClassifier(eq.demographic_parity(0.9), callback=callback)
    model.fit(census.X, census.y, sensitive_features=census.groups)
    assert model.status_ is Status.STOPPED
    assert seen[-1] == "first shift"
    assert seen.count("first shift") == 1


def test_an_error_of_the_callback_is_raised_after_the_model_is_kept(census):
    def callback(iteration):
        if iteration.stage != "without constraints":
            raise RuntimeError("enough")

    model = ConstrainedClassifier(eq.demographic_parity(0.9), callback=callback)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(census.X, census.y, sensitive_features=census.groups)
    assert model.status_ is Status.CALLBACK_FAILED
    assert model.predict(census.X).shape == census.y.shape


@pytest.mark.parametrize("classes", [2, 3])
def test_neyman_pearson_too(classes):
    rng = np.random.default_rng(0)
    y = np.arange(300) % classes
    X = rng.normal(size=(300, 4)) + y[:, None]
    model = NeymanPearsonClassifier(0.3, max_seconds=60.0, verbose=False).fit(X, y)
    assert model.n_iter_ == model.result_.nit == model.trace_.step[-1]
    with pytest.warns(ConvergenceWarning, match="`max_seconds`"):
        hasty = NeymanPearsonClassifier(0.3, max_seconds=0.0, on_infeasible="ignore").fit(X, y)
    assert hasty.status_ is Status.MAX_SECONDS


def test_two_class_neyman_pearson_has_a_report_and_starts_warm(census, monkeypatch):
    model = NeymanPearsonClassifier(0.05, warm_start=True).fit(census.X, census.y)
    line = model.report_.constraints[0]
    assert line.holds
    assert line.true == pytest.approx(model.class_errors_[0])
    assert line.name == "error of class 0"
    starts, solve = [], Runner.solve

    def record(self, problem, x0, *arguments, **options):
        starts.append(x0)
        return solve(self, problem, x0, *arguments, **options)

    monkeypatch.setattr(Runner, "solve", record)
    before = model.result_.x
    model.fit(census.X, census.y)
    np.testing.assert_allclose(starts[0], before, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(starts[1], before, rtol=1e-9, atol=1e-12)


def test_no_problem_is_solved_to_the_end_twice(monkeypatch):
    """Four binary columns: many rows have the same score, and counts jump from one shift to the next."""
    rng = np.random.default_rng(2)
    groups = rng.integers(2, size=400)
    share = np.where(groups == 1, 0.6, 0.35)[:, None]
    X = (rng.random((400, 4)) < share).astype(float)
    chance = 1 / (1 + np.exp(1.4 - X @ [1.0, 0.8, 0.6, 0.4] - 0.5 * groups))
    y = (rng.random(400) < chance).astype(int)
    exact, solve = [], Runner.solve

    def record(self, problem, *arguments, rough=False, **options):
        if not rough:
            exact.append(problem)
        return solve(self, problem, *arguments, rough=rough, **options)

    monkeypatch.setattr(Runner, "solve", record)
    ConstrainedClassifier(eq.demographic_parity(0.03), on_infeasible="ignore").fit(X, y, groups)
    assert len(exact) > 1
    assert len({id(problem) for problem in exact}) == len(exact)
