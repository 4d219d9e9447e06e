"""A linear module gives what a linear model gives, for every term, constraint and some solvers."""

import numpy as np
import pytest

from equipoise import auc, bounded_group_loss, demographic_parity, solve
from equipoise.constraints import CONSTRAINTS, bind
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.solvers import SOLVERS
from equipoise.torch import ModuleModel
from tests.constraints.examples import N, data, example
from tests.terms.examples import EXAMPLES as TERMS

torch = pytest.importorskip("torch")
D = 3
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
ONE_SCORE = [name for name, (_, shape) in TERMS.items() if len(shape) == 1]


def both(n, seed=0):
    """The same scores from a matrix and from a module; parameters are in the same order."""
    A = np.random.default_rng(seed).normal(size=(n, D))
    return LinearModel(A), ModuleModel(torch.nn.Linear(D, 1).double(), A)


def agree(terms, rng, kinds=(False, True), **options):
    """Compare the two problems at two points: NumPy and tensors."""
    linear, module = (LearningProblem.of(m, terms, **options) for m in both(terms.n_rows))
    for tensors in kinds:
        x, v = rng.normal(size=(2, D + 1))
        w = rng.normal(size=terms.n_constraints + 1)
        known = linear.at(x)
        if tensors:
            x, v = torch.tensor(x), torch.tensor(v)
        found = module.at(x)
        kind = torch.Tensor if tensors else np.ndarray
        np.testing.assert_allclose(found.values, known.values, **CLOSE)
        assert isinstance(found.vjp(w), kind)
        np.testing.assert_allclose(found.vjp(w), known.vjp(w), **CLOSE)
        every = range(terms.n_constraints + 1)
        np.testing.assert_allclose(found.gradients(every), known.gradients(every), **CLOSE)
        assert (found.hvp is None) == (known.hvp is None)
        if found.hvp is not None:
            assert isinstance(found.hvp(w, v), kind)
            np.testing.assert_allclose(found.hvp(w, v), known.hvp(w, np.asarray(v)), **CLOSE)
        x = np.asarray(x)
        np.testing.assert_allclose(module.thresholded(x), linear.thresholded(x), **CLOSE)


def kinds(name):
    """Whether with tensors: functions that users wrote for arrays are called with those alone."""
    return (False,) if name in ("callable", "joined", "custom") else (False, True)


@pytest.mark.parametrize("name", ONE_SCORE)
def test_every_term(name):
    agree(TERMS[name][0](), np.random.default_rng(1), kinds(name), l2=0.1)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_every_constraint(name, loss):
    y, groups, _ = data()
    terms = bind(example(name), y, groups, best_loss=0.5, loss=loss).terms
    agree(terms, np.random.default_rng(2), kinds(name))


def test_pairs_as_objective_and_constraint():
    y, groups, _ = data()
    terms = bind(auc() >= 0.6, y, groups, objective=auc("F", "M") * -1.0).terms
    agree(terms, np.random.default_rng(3))


RULES = {
    "rates": lambda: demographic_parity(0.02),
    "convex": lambda: bounded_group_loss(0.7),
    "pairs": lambda: auc() >= 0.52,
}
# These use estimates of second derivatives from a sample of rows, which only a linear model has.
SKETCHED = {"augmented_newton", "smoothing"}


def problems(rule, facts=True, **options):
    """The same problem of a matrix and of a module, if wanted with the same facts."""
    y, groups, _ = data()
    terms = bind(RULES[rule](), y, groups).terms
    linear, module = both(N)
    first = LearningProblem.of(linear, terms, l2=0.1, **options)
    known = {"facts": first.facts} if facts else {}
    return first, LearningProblem.of(module, terms, l2=0.1, **known, **options)


def suitable(method, rule, batch):
    problem = problems(rule, batch=batch)[0]
    needs = SOLVERS[method]().needs
    return method not in SKETCHED and not any(need.missing(problem, None) for need in needs)


CASES = [
    (method, rule, batch)
    for method in SOLVERS
    for rule, batch in (("rates", None), ("rates", 40), ("convex", None), ("pairs", None))
    if suitable(method, rule, batch)
]


def test_the_methods_that_apply_are_many():
    assert len({method for method, _, _ in CASES}) >= 12


@pytest.mark.parametrize(("method", "rule", "batch"), CASES)
def test_iterates(method, rule, batch):
    runs = []
    for problem in problems(rule, batch=batch):
        seen = []
        result = solve(
            problem,
            method,
            0.3 * np.ones(D + 1),
            max_steps=20,
            seed=1,
            callback=lambda iteration, seen=seen: seen.append(np.array(iteration.x)),
        )
        runs.append(np.array([*seen, result.x]))
    np.testing.assert_allclose(runs[1], runs[0], **CLOSE)


@pytest.mark.parametrize("rule", RULES)
def test_auto_ends_at_the_same_point(rule):
    linear, module = (
        solve(problem, x0=0.3 * np.ones(D + 1), tol=1e-8) for problem in problems(rule, facts=False)
    )
    assert linear.success
    assert module.success
    np.testing.assert_allclose(module.x, linear.x, atol=1e-5)
    assert module.certificate.residual <= 1e-8


def test_no_fact_is_known_that_holds_for_linear_scores_alone():
    linear, module = problems("convex", facts=False)
    assert linear.facts.convex
    facts = module.facts
    assert facts.smooth
    assert facts.convex is facts.convex_constraints is facts.weak_convexity is None
    assert facts.smoothness is facts.lipschitz is None
    assert facts.lower_bound == 0.0
