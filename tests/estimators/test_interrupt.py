"""Ctrl-C in a fit, at any moment: it ends at once, with the best model that keeps its bounds, or raises."""

import signal
import sys
import time
import warnings

import numpy as np
import pytest

import equipoise as eq
from equipoise import ConstrainedClassifier, NeymanPearsonClassifier, Status
from equipoise.datasets import make_census
from equipoise.estimators import frontier
from equipoise.estimators._counted.programs import interruptible
from equipoise.problems import LearningProblem

MOMENTS = 6
DATA = make_census(600, seed=0)
THREE = (DATA.X[:, 0] > np.median(DATA.X[:, 0])).astype(int) + DATA.y


def fit_with(*rules, groups=DATA.groups, rows=600, **options):
    def fit():
        model = ConstrainedClassifier(list(rules), on_infeasible="ignore", **options)
        return model.fit(DATA.X[:rows], DATA.y[:rows], sensitive_features=groups[:rows])

    return fit


def curve():
    model = ConstrainedClassifier(eq.demographic_parity(0.1))
    return frontier(model, DATA.X, DATA.y, [0.05, 0.1], sensitive_features=DATA.groups)


FITS = {
    "parity": fit_with(eq.demographic_parity(0.05)),
    "repaired": fit_with(eq.demographic_parity(0.001), rows=60, min_cell=2),
    "loss budget": fit_with(eq.loss_budget(0.05), eq.demographic_parity(0.2)),
    "smooth": fit_with(eq.demographic_parity(0.05), true_metric=False),
    "free": fit_with(),
    "two classes": lambda: NeymanPearsonClassifier(0.2).fit(DATA.X, DATA.y),
    "three classes": lambda: NeymanPearsonClassifier(1.0).fit(DATA.X, THREE),
    "frontier": curve,
}


class Watch:
    """Sends a signal at the n-th call of a Python function of the library."""

    def __init__(self, at=None):
        self.calls, self.at = 0, at

    def __call__(self, frame, event, argument):
        if event == "call" and "equipoise" in frame.f_code.co_filename:
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)


def ended(fit, watch, monkeypatch):
    """Return the status of the fit and the evaluations after the signal."""
    evaluated, at = [], LearningProblem.at
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(
            LearningProblem, "at", lambda *a: (evaluated.append(watch.calls == watch.at), at(*a))[1]
        )
        sys.setprofile(watch)
        try:
            status = getattr(fit(), "status_", None)
        except KeyboardInterrupt:
            status = KeyboardInterrupt
        finally:
            sys.setprofile(None)
    return status, sum(evaluated)


@pytest.mark.parametrize("name", FITS)
def test_at_any_moment(name, monkeypatch):
    """In column scales, binding, solving, counting, repairs, integer programs, the report."""
    whole = Watch()
    ended(FITS[name], whole, monkeypatch)
    moments = np.random.default_rng(len(name)).integers(1, whole.calls, size=MOMENTS)
    for moment in [*moments, whole.calls // 2, int(0.99 * whole.calls)]:
        status, evaluations = ended(FITS[name], Watch(int(moment)), monkeypatch)
        assert status in (KeyboardInterrupt, Status.INTERRUPTED), (moment, status)
        assert evaluations <= 6, moment  # to examine, to measure and to report, not to go on


def test_in_the_report_the_model_is_kept(monkeypatch):
    """It is found, it keeps its bounds: the report is made once more, and says what happened."""
    from equipoise.estimators import _fit

    make, calls = _fit.make_report, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) <= times:
            raise KeyboardInterrupt
        return make(*arguments)

    monkeypatch.setattr(_fit, "make_report", interrupted)
    times = 1
    with pytest.warns(match="interrupted"):
        model = FITS["parity"]()
    assert model.status_ is Status.INTERRUPTED
    assert "Interrupted from the keyboard" in str(model.report_)
    assert all(line.holds for line in model.report_.constraints)
    calls.clear()
    times = 2
    with pytest.raises(KeyboardInterrupt):
        FITS["parity"]()


def test_a_fit_that_raises_leaves_the_earlier_model_as_it_was(monkeypatch):
    from equipoise.estimators import _fit

    model = ConstrainedClassifier(eq.demographic_parity(0.05))
    model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    before = {name: vars(model)[name] for name in ("coef_", "intercept_", "report_", "result_")}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_fit, "make_report", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(DATA.X[::2], DATA.y[::2], sensitive_features=DATA.groups[::2])
    assert all(vars(model)[name] is value for name, value in before.items())


def test_partial_fit_takes_a_step_or_none(monkeypatch):
    def stepped(watch):
        model = ConstrainedClassifier(eq.demographic_parity(0.1))
        options = {"classes": [0, 1], "sensitive_features": DATA.groups}
        model.partial_fit(DATA.X, DATA.y, **options)
        before = model.coef_, model.stream_
        status, _ = ended(lambda: model.partial_fit(DATA.X, DATA.y, **options), watch, monkeypatch)
        return status, [new is old for new, old in zip((model.coef_, model.stream_), before)]

    whole = Watch()
    stepped(whole)
    for moment in np.linspace(1, whole.calls, 10).astype(int):
        status, same = stepped(Watch(int(moment)))
        assert status is KeyboardInterrupt
        assert same[0] == same[1]


def test_programs_need_not_be_waited_for():
    """A call into C that takes long: the signal comes through at once."""
    released = []

    def program():
        time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)  # Python runs the handler in the waiting main thread
        while not released:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        interruptible(program)
    released.append(1)
    assert interruptible(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
