"""What holds for every registered constraint."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

from equipoise.constraints import CONSTRAINTS, Constraint, bind
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem, check_problem
from equipoise.rows._entries import PairSpec
from equipoise.terms import Scores

from .examples import EXAMPLES, N, data, example, reference

every = pytest.mark.parametrize("name", CONSTRAINTS)


def test_every_constraint_has_an_example():
    missing = CONSTRAINTS.keys() ^ EXAMPLES.keys()
    assert not missing, f"add to tests/constraints/examples.py (or take away): {missing}"


@every
def test_it_binds_and_its_gradients_are_right(name, rng):
    y, groups, _ = data()
    binding = bind(example(name), y, groups, rng.random(N) + 0.5, best_loss=0.5)
    assert len(binding.inequalities) == binding.terms.n_constraints >= 1
    assert binding.names == binding.terms.names
    assert len(set(binding.names)) == len(binding.names)
    problem = LearningProblem.of(LinearModel(rng.normal(size=(N, 3))), binding.terms)
    check_problem(problem, rng.normal(size=4)).raise_if_wrong()


@every
def test_rows_describe_their_functions(name):
    y, groups, scores = data()
    constraint = example(name)
    binding = bind(constraint, y, groups, best_loss=0.5)
    values = binding.terms.thresholded(scores)
    sums = binding.terms.sums.thresholded(Scores(scores))
    lefts = binding.measured(values[1:], lambda: sums)
    for row, value, measured in zip(binding.inequalities, values[1:], lefts):
        assert row.source is constraint
        assert row.kind
        assert row.sense in ("<=", ">=")
        holds = (
            measured <= row.bound + 1e-12 if row.sense == "<=" else measured >= row.bound - 1e-12
        )
        assert holds == (value <= 1e-12)
        assert set(row.groups) <= {"F", "M", "X"}


@every
def test_data_for_reuse(name):
    constraint = example(name)
    assert isinstance(constraint, Constraint)
    assert constraint.needs <= {"groups", "best_loss", "all_rows"}
    y, groups, scores = data()
    expected = bind(constraint, y, groups, best_loss=0.5).terms.at(scores).values
    for copied in (pickle.loads(pickle.dumps(constraint)), deepcopy(constraint)):
        again = bind(copied, y, groups, best_loss=0.5).terms.at(scores).values
        np.testing.assert_array_equal(again, expected)
    assert isinstance(repr(constraint), str)


@every
def test_what_it_needs_is_asked_for(name):
    constraint = example(name)
    y, groups, _ = data()
    if "groups" in constraint.needs:
        with pytest.raises(ValueError, match="groups are needed; pass `sensitive_features`"):
            bind(constraint, y, best_loss=0.5)
    if "best_loss" in constraint.needs:
        with pytest.raises(ValueError, match="the best loss is needed; pass `best_loss`"):
            bind(constraint, y, groups)


@every
def test_order_of_rows_does_not_matter(name, rng):
    if name == "churn":
        pytest.skip("the reference is in the order of the rows")
    y, groups, scores = data()
    index = rng.permutation(N)
    one = bind(example(name), y, groups, best_loss=0.5).terms.at(scores).values
    two = bind(example(name), y[index], groups[index], best_loss=0.5).terms.at(scores[index])
    np.testing.assert_allclose(one, two.values, rtol=1e-10, atol=1e-13)


@every
def test_weights_stand_for_repeated_rows(name, rng):
    if name in ("churn", "custom"):
        pytest.skip("depends on the rows themselves")
    y, groups, scores = data()
    times = rng.integers(1, 4, N)
    weighted = bind(example(name), y, groups, times, best_loss=0.5).terms
    repeated = bind(
        example(name), np.repeat(y, times), np.repeat(groups, times), best_loss=0.5
    ).terms
    np.testing.assert_allclose(
        weighted.at(scores).values,
        repeated.at(np.repeat(scores, times)).values,
        rtol=1e-10,
        atol=1e-13,
    )


def test_all_at_once_keep_their_order():
    y, groups, scores = data()
    listed = [example(name) for name in CONSTRAINTS if name != "custom"]
    together = bind([*listed, example("custom")], y, groups, best_loss=0.5)
    values = together.terms.at(scores).values
    apart = [bind(c, y, groups, best_loss=0.5).terms.at(scores).values[1:] for c in listed]
    np.testing.assert_allclose(values[1:-1], np.concatenate(apart), rtol=1e-12, atol=1e-14)
    assert values[-1] == pytest.approx(scores.mean())
    pairs = sum(len(spec.entries) for spec in together.specs if isinstance(spec, PairSpec))
    assert pairs == 6  # each of two AUCs for every two of three groups
    assert len(together.rates) + 1 == together.combination.n_sums
    assert len(together.rates) - pairs < len(together.inequalities)
    assert reference().shape == (N,)
