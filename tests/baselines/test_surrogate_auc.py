"""The quadratic surrogate by several methods: bounds, paths of iterates, true AUCs for the multipliers."""

import numpy as np
import pytest

from equipoise.baselines import SurrogateAUC
from equipoise.datasets import make_census
from equipoise.metrics import auc_gap
from equipoise.problems import AUCFairness
from equipoise.solvers import ProxyLagrangian
from tests.solvers.auc_instance import instance, rows

DATA = make_census(1000, seed=2)
W = np.array([0.3, -0.2, 0.5])


def gap(model, kind):
    scores = model.decision_function(DATA.X)
    return auc_gap(DATA.y, scores, sensitive_features=DATA.groups, kind=kind)


@pytest.mark.parametrize("solver", ["auto", "sfls", "proxy_lagrangian"])
def test_every_method_lowers_the_gap(solver):
    free = SurrogateAUC("group", 1.0, solver="auto").fit(DATA.X, DATA.y, DATA.groups)
    model = SurrogateAUC("group", 0.02, solver=solver, max_steps=1500)
    assert (
        gap(model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups), "group")
        < gap(free, "group") / 2
    )


def test_t6_9_the_proxy_lagrangian_meets_the_true_bound():
    """The surrogate's own solution for this bound has a far smaller gap, and a smaller AUC."""
    solver = ProxyLagrangian(slack=0.0)
    model = SurrogateAUC("inter", 0.1, solver=solver, max_steps=2000)
    assert gap(model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups), "inter") <= 0.1 + 1e-12
    exact = SurrogateAUC("inter", 0.1, solver="auto").fit(DATA.X, DATA.y, DATA.groups)
    assert gap(exact, "inter") < gap(model, "inter")


def test_t6_9_mini_batches_have_true_aucs():
    """In a batch too, the multipliers follow AUCs by ranks, not the surrogates."""
    whole = instance("inter", batch=60)
    batch = whole.sample(np.random.default_rng(0))
    assert isinstance(batch, AUCFairness)
    index = np.random.default_rng(0).choice(200, 60, replace=False)
    X, label, group = (array[index] for array in rows())
    found = batch.true_values(batch.at(W))
    signed = auc_gap((label > 0).astype(int), X @ W, sensitive_features=group, kind="inter")
    assert found.max() + whole.kappa == pytest.approx(signed, abs=1e-12)
    assert found.sum() == pytest.approx(-2 * whole.kappa, abs=1e-12)


def test_a_batch_without_some_subset_compares_equal_scores():
    whole = instance("inter", c1=0.5, c2=0.8, kappa=2.0)
    _, label, group = rows()
    part = whole.of_rows(np.flatnonzero((label > 0) & (group > 0)))
    np.testing.assert_allclose(part.true_values(part.at(W)), -2.0)
    np.testing.assert_allclose(part.at(W).values, [0.32, 0.64 - 3.0, 0.64 - 3.0])
    assert not part.at(W).vjp(np.ones(3)).any()


def test_all_rows_are_the_problem_itself():
    whole = instance("group")
    again = whole.of_rows(np.arange(200))
    np.testing.assert_allclose(again.at(W).values, whole.at(W).values, rtol=1e-12)


@pytest.mark.parametrize("solver", ["sfls", "proxy_lagrangian"])
def test_snapshots(solver):
    model = SurrogateAUC("inter", 0.1, solver=solver, batch=50, max_steps=60, snapshots=6)
    model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    assert model.path_.shape == (7, DATA.d)
    np.testing.assert_array_equal(model.path_[-1], model.coef_[0])
    assert len(np.unique(model.path_, axis=0)) >= 6
    again = SurrogateAUC("inter", 0.1, solver=solver, batch=50, max_steps=60, snapshots=6)
    np.testing.assert_array_equal(again.fit(DATA.X, DATA.y, DATA.groups).path_, model.path_)


def test_wrong_input():
    with pytest.raises(ValueError, match="SurrogateAUC: `bound` must be at least 2 c1 c2"):
        SurrogateAUC(bound=-0.1).fit(DATA.X, DATA.y, DATA.groups)
    with pytest.raises(ValueError, match="SurrogateAUC: groups are needed"):
        SurrogateAUC().fit(DATA.X, DATA.y)
    with pytest.raises(ValueError, match="SurrogateAUC: `sensitive_features` must have positives"):
        SurrogateAUC().fit(DATA.X, DATA.y, DATA.y)
    with pytest.raises(ValueError, match="'kind' parameter of SurrogateAUC must be a str among"):
        SurrogateAUC("outer").fit(DATA.X, DATA.y, DATA.groups)
