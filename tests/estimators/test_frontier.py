"""The trade-off curve: certified points, knee, splits, resuming after a kill."""

import html
from dataclasses import replace

import numpy as np
import pytest

from equipoise import (
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    coverage,
    custom,
    demographic_parity,
    equalized_odds,
    frontier,
    recall,
)
from equipoise._storage.container import pack, unpack
from equipoise._storage.storable import storable_types
from equipoise.datasets import make_census
from equipoise.estimators._frontier.curve import Frontier, FrontierPoint
from equipoise.estimators._training import Training
from equipoise.run._checkpoint import CheckpointError

BOUNDS = [0.02, 0.05, 0.1, 0.15]


@pytest.fixture(scope="module")
def data():
    return make_census(2000, seed=1)


@pytest.fixture(scope="module")
def curve(data):
    model = ConstrainedClassifier(demographic_parity(0.1))
    return frontier(model, data.X, data.y, BOUNDS[::-1], sensitive_features=data.groups)


def test_every_point_holds_and_is_certified(curve, data):
    np.testing.assert_allclose(curve.bounds, BOUNDS)
    for point in curve.points:
        assert point.holds
        assert point.residual <= 1e-6
        predicted = data.X @ point.coef + point.intercept > 0
        rates = [predicted[data.groups == g].mean() for g in np.unique(data.groups)]
        assert point.value == pytest.approx(max(rates) - min(rates))
        assert point.value <= point.bound + 1e-12
        assert point.accuracy == pytest.approx(np.mean(predicted == data.y))


def test_tighter_bounds_cost_objective_and_raise_the_price(curve):
    table = curve.summary()
    assert (np.diff(table["objective"]) <= 1e-6).all()
    assert (np.diff(table["multiplier"]) <= 1e-3).all()
    assert table["multiplier"][0] > 0


def test_points_agree_with_single_fits(curve, data):
    for point in curve.points:
        alone = ConstrainedClassifier(demographic_parity(point.bound))
        alone.fit(data.X, data.y, sensitive_features=data.groups)
        assert point.accuracy == pytest.approx(alone.report_.accuracy, abs=0.01)


def test_multipliers_are_slopes():
    """On smooth rates the multiplier is minus the derivative of the objective in the bound."""
    data = make_census(2000, seed=2)
    model = ConstrainedClassifier(demographic_parity(0.1), true_metric=False, tol=1e-8)
    curve = frontier(model, data.X, data.y, [0.049, 0.05, 0.051], sensitive_features=data.groups)
    table = curve.summary()
    slope = (table["objective"][2] - table["objective"][0]) / 0.002
    assert table["multiplier"][1] == pytest.approx(-slope, rel=0.02)


def test_knee_summary_and_picture(curve):
    assert curve.knee in BOUNDS
    assert "<- knee" in str(curve)
    assert curve._repr_html_() == f"<pre>{html.escape(str(curve))}</pre>"
    frame = curve.to_frame()
    assert len(frame) == len(BOUNDS)
    assert "coef" not in frame
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = curve.plot()
    assert axes.get_xlabel()


def test_splits_give_error_bars_on_held_out_rows(data):
    model = ConstrainedClassifier(demographic_parity(0.1))
    curve = frontier(
        model, data.X, data.y, [0.05, 0.1], sensitive_features=data.groups, splits=3, n_jobs=2
    )
    assert curve.n_splits == 3
    table = curve.summary()
    assert (table["test_accuracy_error"] > 0).all()
    assert ((table["test_accuracy"] > 0.6) & (table["test_accuracy"] < 0.95)).all()
    assert np.isfinite(table["test_value"]).all()
    assert model.constraints.bound == 0.1  # the estimator is not changed


@pytest.mark.parametrize("rule", [demographic_parity, equalized_odds])
def test_a_killed_run_continues_with_nothing_lost(data, tmp_path, monkeypatch, rule):
    model = ConstrainedClassifier(rule(0.1))
    through = frontier(model, data.X, data.y, BOUNDS, sensitive_features=data.groups)
    options = {"sensitive_features": data.groups, "checkpoint": tmp_path / "curve"}
    fit, calls = Training.fit, []

    def dies_at_the_third(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(*arguments)

    monkeypatch.setattr(Training, "fit", dies_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        frontier(model, data.X, data.y, BOUNDS, **options)
    again = frontier(model, data.X, data.y, BOUNDS, **options)
    assert len(calls) == 3 + 2  # two of four points were stored
    assert [point.bound for point in again.points] == BOUNDS[::-1]
    assert all(point.holds for point in again.points)
    for ours, theirs in zip(again.points, through.points):  # bit for bit
        np.testing.assert_array_equal(ours.coef, theirs.coef)
    frontier(model, data.X, data.y, BOUNDS, **options)
    assert len(calls) == 5  # all are stored: nothing is fitted again


def test_a_checkpoint_of_other_data_or_rules_is_refused(data, tmp_path):
    model, other = ConstrainedClassifier(demographic_parity(0.1)), make_census(2000, seed=2)
    options = {"sensitive_features": data.groups, "checkpoint": tmp_path / "curve"}
    first = frontier(model, data.X, data.y, [0.05, 0.1], **options)
    with pytest.raises(CheckpointError, match="belongs to another run: its data"):
        frontier(model, other.X, other.y, [0.05, 0.1], **options)
    weight = np.linspace(0.5, 1.5, 2000)
    with pytest.raises(CheckpointError, match="belongs to another run: its data"):
        frontier(model, data.X, data.y, [0.05, 0.1], sample_weight=weight, **options)
    with pytest.raises(CheckpointError, match="belongs to another run: its settings"):
        frontier(model, data.X, data.y, [0.05, 0.1], rule=equalized_odds, **options)
    again = frontier(model, data.X.copy(), data.y, [0.05, 0.1], **options)
    assert [point.seconds for point in again.points] == [point.seconds for point in first.points]


def test_a_changed_closure_is_refused(data, tmp_path):
    """Two rules of one name and one code, with other numbers inside: a stored point is not of the other."""

    def with_target(target):
        def mean_score(scores, y, groups):
            return scores.mean() - target, np.full(scores.size, 1.0 / scores.size)

        return lambda bound: [custom(mean_score), recall(at_least=bound)]

    model, place = ConstrainedClassifier(), {"checkpoint": tmp_path / "curve"}
    first = frontier(model, data.X, data.y, [0.6, 0.7], rule=with_target(-0.8), **place)
    again = frontier(model, data.X, data.y, [0.6, 0.7], rule=with_target(-0.8), **place)
    assert [point.seconds for point in again.points] == [point.seconds for point in first.points]
    with pytest.raises(
        CheckpointError, match="belongs to another run: its list of rules is another"
    ):
        frontier(model, data.X, data.y, [0.6, 0.7], rule=with_target(-1.2), **place)


def test_what_changes_no_model_does_not_matter(data, tmp_path):
    options = {"sensitive_features": data.groups, "checkpoint": tmp_path / "curve"}
    rule, seen = demographic_parity(0.1), []
    first = frontier(ConstrainedClassifier(rule), data.X, data.y, [0.1], **options)
    watched = ConstrainedClassifier(rule, callback=seen.append, verbose=True)
    again = frontier(watched, data.X, data.y, [0.1], **options)
    assert again.points[0].seconds == first.points[0].seconds
    assert not seen


def test_rubbish_in_a_stored_curve_is_refused(data, tmp_path):
    options = {"sensitive_features": data.groups, "checkpoint": tmp_path / "curve"}
    model = ConstrainedClassifier(demographic_parity(0.1))
    frontier(model, data.X, data.y, [0.05, 0.1], **options)
    path = tmp_path / "curve" / "split-0.checkpoint"
    types = storable_types()
    whole = unpack(path.read_bytes(), types)
    for points in (whole.points[::-1], [replace(whole.points[0], coef=np.zeros(3))]):
        path.write_bytes(b"".join(pack(replace(whole, points=points), types)))
        with pytest.raises(CheckpointError, match="its points are not those of these bounds"):
            frontier(model, data.X, data.y, [0.05, 0.1], **options)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="checksum"):
        frontier(model, data.X, data.y, [0.05, 0.1], **options)


def test_the_knee_of_a_curve_that_falls_with_the_bound():
    accuracy = [0.825, 0.825, 0.82, 0.808, 0.7, 0.58]
    bounds = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    known = {"split": 0, "value": 0.0, "objective": 0.0, "multiplier": 0.0, "residual": 0.0}
    rest = {"status": "", "coef": np.zeros(1), "intercept": 0.0, "seconds": 0.0}
    points = [
        FrontierPoint(bound=b, accuracy=a, holds=b < 0.95, **known, **rest)
        for a, b in zip(accuracy, bounds)
    ]
    curve = Frontier(tuple(points))
    assert curve.knee == 0.8
    assert str(curve).count("NOT MET") == 1
    few = Frontier(tuple(points[-3:]))  # one of them is not met
    assert np.isnan(few.knee)
    assert "knee" not in str(few)


def test_a_group_that_is_absent_from_held_out_rows_costs_nothing_but_their_value(data):
    groups = data.groups.astype("U8")
    groups[:24] = "tiny"
    model = ConstrainedClassifier(demographic_parity(0.2), small_cells="skip")
    with pytest.warns(UserWarning, match="nothing is known of held-out rows"):
        curve = frontier(
            model, data.X, data.y, [0.2], sensitive_features=groups, splits=12, test_size=0.1
        )
    values = np.array([point.test_value for point in curve.points])
    assert 0 < np.isnan(values).sum() < values.size
    assert curve.summary()["test_value"][0] == pytest.approx(np.nanmean(values))


def test_other_rules_and_wrong_input(data, capsys):
    model = ConstrainedClassifier(recall(at_least=0.6))
    rule = lambda b: [recall(at_least=b), coverage(at_most=0.9)]  # noqa: E731
    curve = frontier(model, data.X, data.y, [0.6, 0.7], rule=rule, progress=True)
    assert all(point.holds for point in curve.points)
    assert "bound 0.7: holds" in capsys.readouterr().out
    both = [coverage(at_most=0.3), recall(at_least=0.6)]
    with pytest.raises(ValueError, match="`rule` must say how the bound enters"):
        frontier(ConstrainedClassifier(both), data.X, data.y, [0.3])
    with pytest.raises(ValueError, match="`bounds` must hold at least one number"):
        frontier(ConstrainedClassifier(demographic_parity(0.1)), data.X, data.y, [])
    with pytest.raises(ValueError, match="`estimator` must be a ConstrainedClassifier"):
        frontier(NeymanPearsonClassifier(), data.X, data.y, [0.1])
    with pytest.raises(ValueError, match="bound"):
        frontier(ConstrainedClassifier(demographic_parity(0.1)), data.X, data.y, [0.1, 2.0])
