"""Brackets and the choice of a method, each rule from both sides."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, Status, sets
from equipoise.problems._merit import Maximum, MeritProblem
from equipoise.solvers import (
    IQRC,
    SQP,
    AugmentedNewton,
    ConstrainedBundle,
    LevelSet,
    ProximalBundle,
    Sequence,
    Smoothing,
    SwitchingSubgradient,
    _auto,
)
from equipoise.solvers._minmax.minmax import (
    REACH_OF_UNBOUNDED,
    RELATIVE_MODULUS,
    Bracket,
    functions,
    largest,
    lowest,
    reach,
)

from .lines import line

# ------------------------------------------------------------------ brackets


def test_a_bracket_keeps_its_better_ends():
    known = Bracket(np.zeros(1), 3.0, 1.0, np.array([1.0, 0.0]), 4, True)
    x, w = np.ones(1), np.array([0.0, 1.0])
    better = known.improved(x, 2.5, 1.5, w)
    assert (better.x[0], better.upper, better.lower, better.steps) == (1.0, 2.5, 1.5, 5)
    assert better.weights is w
    worse = known.improved(x, 3.5, 0.5, w)
    assert (worse.x[0], worse.upper, worse.lower, worse.steps) == (0.0, 3.0, 1.0, 5)
    assert worse.weights is known.weights
    same = known.improved(x, 3.0, 1.0, w)
    assert same.x is x
    assert same.weights is w
    assert not worse.stuck


def test_a_bracket_is_tight_enough():
    method = ProximalBundle(accuracy=0.25, smallest=2.0, target=-5.0, budget=7)

    def reached(upper, lower):
        return method.reached(Bracket(np.zeros(1), upper, lower, np.ones(1)))

    assert reached(8.0, 6.0)
    assert not reached(8.0, 5.9)
    assert reached(-4.0, -5.0)
    assert not reached(-4.0, -5.1)
    assert reached(1.0, 0.5)
    assert not reached(1.0, 0.49)
    assert reached(-5.1, -99.0)
    assert not reached(-5.0, -99.0)
    longer = method.set_up(longer=4, target=-1.0)
    assert (longer.budget, longer.target, longer.accuracy) == (28, -1.0, 0.25)


def test_the_ends_of_min_max_methods(monkeypatch):
    method = ProximalBundle(budget=7)
    wide = Bracket(np.zeros(1), 8.0, -8.0, np.ones(1), 6)
    monkeypatch.setattr(ProximalBundle, "bracket", lambda _, state: state)
    assert method.verdict(wide) is None
    assert method.verdict(replace(wide, steps=7)) is Status.STALLED
    assert method.verdict(replace(wide, stuck=True)) is Status.STALLED
    assert method.verdict(replace(wide, lower=8.0)) is Status.STALLED
    assert method.output(wide)[1] is None


def test_a_linear_function_is_bounded_from_below():
    x, g = np.array([0.5, 0.0]), np.array([3.0, -4.0])
    box, space = sets.Box(-1, 1, dim=2), sets.WholeSpace()
    D = math.sqrt(8.0)
    exact = 3.0 * -1.5 - 4.0
    found = lowest(box, x, g, 0.0)
    assert exact - 0.5 * 5.0 / D * RELATIVE_MODULUS * D**2 <= found <= exact
    s = 5.0 / D * RELATIVE_MODULUS
    assert found == pytest.approx(exact + 0.5 * s * (1.5**2 + 1) - 0.5 * s * D**2, rel=1e-12)
    inner = lowest(box, x, g, 100.0)
    assert inner == pytest.approx(-25.0 / 200.0)
    assert lowest(space, x, g, 2.0) == pytest.approx(-25.0 / 4.0)
    R = REACH_OF_UNBOUNDED
    assert lowest(space, x, g, 0.0) == pytest.approx(-5.0 * R)
    assert lowest(space, np.array([30.0, 40.0]), g, 0.0) == pytest.approx(-5.0 * 50 * R)
    assert lowest(box, x, 0.0 * g, 0.0) == 0.0
    assert reach(box, x) == pytest.approx(D)
    assert reach(space, x) == R
    assert reach(space, np.array([30.0, 40.0])) == 50 * R


def test_the_functions_of_a_level():
    problem = line([2.0], [[1.0]], [-1.0])
    point, p = functions(MeritProblem(problem, Maximum(5.0)), np.ones(1))
    assert p.tolist() == [-3.0, 0.0]
    assert point.values.tolist() == [2.0, 0.0]
    assert largest(np.array([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(TypeError, match="MeritProblem of a Maximum"):
        functions(problem, np.ones(1))


# ------------------------------------------------------------------ the choice


def known(**facts):
    return line(
        [1.0, 0.0], [[1.0, 1.0]], [-1.0], domain=sets.Box(-1, 1, dim=2), facts=Facts(**facts)
    )


def test_the_method_follows_from_the_facts():
    smooth = _auto.choose(known(smooth=True), 1e-4)
    assert isinstance(smooth, Sequence)
    assert isinstance(smooth.first, SQP)
    assert smooth.first.tol == pytest.approx(_auto.AIMED_SHARE_OF_TOL * 1e-4)
    assert isinstance(smooth.second, AugmentedNewton)
    assert isinstance(_auto.choose(known(), 1e-4).second, SwitchingSubgradient)
    assert _auto.choose(known(smooth=True), 0.0).first.tol == _auto.TOL_WITHOUT_ONE
    for facts in ({"convex": True}, {"weak_convexity": 0.0}):
        bundle = _auto.choose(known(smooth=False, **facts), 1e-4)
        assert isinstance(bundle, ConstrainedBundle)
        share = _auto.SHARE_AT_KINKS * _auto.AIMED_SHARE_OF_TOL
        assert bundle.tol == pytest.approx(share * 1e-4)
    weak = _auto.choose(known(smooth=False, weak_convexity=1.0))
    assert isinstance(weak.first, SwitchingSubgradient)
    assert isinstance(weak.second, IQRC)
    assert isinstance(_auto.choose(known(smooth=False)), SwitchingSubgradient)
    noisy = _auto.choose(known(smooth=True, stochastic=True))
    assert isinstance(noisy.first, SwitchingSubgradient)
    assert isinstance(_auto.choose(known(smooth=False, stochastic=True)), SwitchingSubgradient)


def sized(dim, m=1, sketched=False, rows=True):
    domain = SimpleNamespace(project=lambda x: x, linear_rows=lambda x: 1 if rows else None)
    return SimpleNamespace(dim=dim, n_constraints=m, sketched=sketched, domain=domain)


def test_programs_of_moderate_size_without_sketches_suit_sqp():
    dim, m = _auto.MAX_DIM_FOR_SQP, _auto.MAX_CONSTRAINTS_FOR_SQP
    assert _auto._suits_sqp(sized(dim, m))
    assert not _auto._suits_sqp(sized(dim + 1, m))
    assert not _auto._suits_sqp(sized(dim, m + 1))
    assert not _auto._suits_sqp(sized(dim, m, sketched=True))
    assert not _auto._suits_sqp(sized(dim, m, rows=False))


def test_a_domain_is_asked_for_rows_only_where_they_would_be_used():
    """Rows of a product of many sets take as long as an evaluation of a small problem."""
    for problem in (sized(2, sketched=True), sized(1 + _auto.MAX_DIM_FOR_SQP)):
        problem.domain = None
        assert not _auto._suits_sqp(problem)


def test_memory_is_for_many_variables():
    dim = _auto.MAX_DIM_FOR_SQP
    assert _auto._memory(sized(dim)) == 0
    assert _auto._memory(sized(dim + 1)) == _auto.MEMORY
    assert _auto._memory(sized(dim + 1, sketched=True)) == 0
    numbers = _auto.NUMBERS_IN_MEMORY
    assert _auto._memory(sized(numbers // 10)) == 10
    assert _auto._memory(sized(numbers)) == _auto.LEAST_MEMORY


@pytest.mark.parametrize(
    ("half", "length"), [(1.0, 0.1), (0.05, 0.01), (100.0, 1.0), (math.inf, 0.2)]
)
def test_first_steps_fit_the_domain(half, length):
    domain = sets.Box(-half, half, dim=1) if half < math.inf else sets.WholeSpace()
    found = _auto._switching(SimpleNamespace(domain=domain))
    assert found.step_size(0) == pytest.approx(length)


def test_kinks_that_can_be_rounded_are(monkeypatch):
    monkeypatch.setattr(_auto, "_has_second_derivatives", lambda _: True)
    convex = known(smooth=False, convex=True)
    found = _auto.choose(convex, 1e-4)
    assert isinstance(found.first, Smoothing)
    assert isinstance(found.second, LevelSet)
    assert isinstance(_auto.choose(known(smooth=False), 1e-4), Smoothing)
    free = line([1.0], facts=Facts(smooth=False, convex=True))
    assert isinstance(_auto.choose(free, 1e-4), Smoothing)
    for dim, planes in ((_auto.MAX_DIM_FOR_PLANES, True), (_auto.MAX_DIM_FOR_PLANES + 1, False)):
        wide = line(np.ones(dim), [np.ones(dim)], [0.0], facts=Facts(smooth=False, convex=True))
        assert isinstance(_auto.choose(wide, 1e-4), Sequence) is planes
