"""Some 200 random problems with all defaults: each ends certified, or with a verdict that is right."""

import warnings

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import equipoise as eq
from equipoise import ConstrainedClassifier, Status
from equipoise.estimators import InfeasibleWarning

EXACT = 1e-12
EACH = 34
KINDS = ("plain", "imbalanced", "tiny group", "collinear", "badly scaled", "nearly infeasible")


def spread(predicted, groups, rows):
    rates = [predicted[rows & (groups == g)].mean() for g in np.unique(groups)]
    return max(rates) - min(rates)


# a rule, and by how much predictions break it, counted in NumPy
RULES = (
    (eq.demographic_parity(0.03), lambda p, y, g: spread(p, g, y == y) - 0.03),
    (eq.equal_opportunity(0.05), lambda p, y, g: spread(p, g, y == 1) - 0.05),
    (
        eq.equalized_odds(0.08),
        lambda p, y, g: max(spread(p, g, y == 1), spread(p, g, y == 0)) - 0.08,
    ),
    (
        [eq.recall(at_least=0.8), eq.demographic_parity(0.1)],
        lambda p, y, g: max(0.8 - p[y == 1].mean(), spread(p, g, y == y) - 0.1),
    ),
    (eq.coverage(at_most=0.2), lambda p, y, g: p.mean() - 0.2),
    (eq.false_positive_rate(at_most=0.05), lambda p, y, g: p[y == 0].mean() - 0.05),
)


def make(kind, number):
    """Return features, labels, groups, a rule and how to count it."""
    rng = np.random.default_rng([2024, KINDS.index(kind), number])
    n, d = int(rng.choice([60, 200, 1000, 3000])), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d))
    groups = rng.choice(["a", "b", "c"], size=n, p=[0.6, 0.3, 0.1])
    if kind == "tiny group":
        groups = np.where(np.arange(n) < max(8, n // 60), "tiny", "rest")
    scores = X @ rng.normal(size=d) + (groups == "a")
    if kind == "imbalanced":
        scores -= np.quantile(scores, 0.93)
    y = (scores + rng.logistic(size=n) > 0).astype(int)
    if kind == "collinear":
        X = np.column_stack((X, 2 * X[:, 0], X.sum(axis=1), np.ones(n)))
    if kind == "badly scaled":
        X = X * 10.0 ** rng.integers(-6, 7, size=d)
    for label, rows in ((0, slice(0, 3)), (1, slice(3, 6))):  # rates need rows of both labels
        for group in np.unique(groups):
            members = np.flatnonzero(groups == group)
            if (y[members] == label).sum() < 2 and members.size < 6:
                groups[members] = "a"
            elif (y[members] == label).sum() < 2:
                y[members[rows]] = label
    if kind == "nearly infeasible":
        most = min(1.0, 1.3 * y.mean())
        rule = [eq.recall(at_least=0.95), eq.coverage(at_most=most)]
        return X, y, groups, rule, lambda p, y, g: max(0.95 - p[y == 1].mean(), p.mean() - most)
    return X, y, groups, *RULES[number % len(RULES)]


def can_be_met(X, y, k, need, rng):
    """Whether some direction has `need` positives among its k highest scores.

    Exact for one feature, and for few rows: an integer program whose unknowns are the direction, the
    threshold and the predictions. Otherwise a search over directions, improved by random steps.
    """
    n, d = X.shape
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    def found(w):
        return y[np.argpartition(-(X @ w), k - 1)[:k]].sum()

    if d == 1:
        return max(found(np.array([1.0])), found(np.array([-1.0]))) >= need
    if n <= 60:
        Z = np.column_stack((X, np.ones(n)))
        far, apart = np.diag(np.abs(Z).sum(axis=1) + 1), 1e-4  # no score in the box is larger
        answer = milp(
            np.zeros(d + 1 + n),
            integrality=np.repeat([0, 1], (d + 1, n)),
            bounds=Bounds(np.repeat([-1.0, 0.0], (d + 1, n)), 1.0),
            constraints=[
                LinearConstraint(np.hstack((Z, -far)), lb=apart - far.diagonal()),  # 1: score > 0
                LinearConstraint(np.hstack((Z, -far)), ub=-apart),  # 0: score < 0
                LinearConstraint(np.append(np.zeros(d + 1), np.ones(n)), ub=k),
                LinearConstraint(np.append(np.zeros(d + 1), y), lb=need),
            ],
        )
        assert answer.status in (0, 2)  # settled
        return answer.status == 0
    for w in np.vstack((X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0), rng.normal(size=(4, d)))):
        at, value = w / np.linalg.norm(w), 0
        for _ in range(1000):
            step = 10 ** rng.uniform(-3, 0) * rng.normal(size=d)
            trial = (at + step) / np.linalg.norm(at + step)
            if (count := found(trial)) >= value:
                at, value = trial, count
        if value >= need:
            return True
    return False


def test_the_integer_program_finds_what_is_there():
    """Rows on a circle: a half-plane cuts out neighbours, and only these."""
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 40))
    X, y = np.column_stack((np.cos(angles), np.sin(angles))), (rng.random(40) < 0.5).astype(int)
    most = max(np.roll(y, shift)[:11].sum() for shift in range(40))
    assert can_be_met(X, y, 11, most, rng)
    assert not can_be_met(X, y, 11, most + 1, rng)


@pytest.mark.parametrize("kind", KINDS)
def test_every_problem_ends_certified_or_with_a_right_verdict(kind):
    rng, verdicts, moved = np.random.default_rng(0), 0, 0
    for number in range(EACH):
        X, y, groups, rule, broken = make(kind, number)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ConstrainedClassifier(rule).fit(X, y, sensitive_features=groups)
        complaints = [w for w in caught if issubclass(w.category, InfeasibleWarning)]
        if broken(model.predict(X), y, groups) <= EXACT:
            if model.status_ is Status.FEASIBLE:  # another threshold is far better than the optimum
                moved += 1
                plain = ConstrainedClassifier().fit(X, y)
                assert model.score(X, y) >= plain.score(X, y) - 0.05, (kind, number)
                continue
            assert model.status_ is Status.CONVERGED, (kind, number)
            assert model.certificate_.residual <= model.tol, (kind, number)
            assert model.result_.success
            constant = np.unique(model.predict(X)).size == 1
            assert constant or not complaints, (kind, number)
            continue
        verdicts += 1
        assert model.status_.infeasible or model.status_ is Status.NOT_FOUND, (kind, number)
        assert len(complaints) == 1
        assert not model.result_.success
        assert kind == "nearly infeasible", (kind, number)
        k = int(min(1.0, 1.3 * y.mean()) * len(y) + 1e-9)
        need = int(np.ceil(0.95 * y.sum() - 1e-9))
        assert not can_be_met(X, y, k, need, rng), (kind, number)
    assert verdicts <= EACH // 3  # most can be met
    assert moved <= 1
