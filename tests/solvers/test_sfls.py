"""The stochastic feasible level-set method on AUC-fairness."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from equipoise import Status, solve
from equipoise.solvers import SFLS, SMD, InverseSqrt
from tests.solvers.auc_instance import instance, level_function
from tests.solvers.test_level_set import parabola, root

OPTIMUM = 0.365883


def stages(problem, solver, max_steps=100_000, x0=None, **options):
    """The outer states, in order."""
    found = []

    def keep(iteration):
        if iteration.state.k == 0:
            found.append(iteration.state.outer)

    return found, solve(problem, solver, x0, max_steps=max_steps, callback=keep, **options)


@dataclass(frozen=True, kw_only=True)
class ExactSMD(SMD):
    """The exact oracle of the parabola in one step."""

    name: ClassVar[str] = "exact"

    def init(self, problem, x0):
        return x0

    def step(self, problem, state, t, rng):
        return np.array([1 - root(self.level)])

    def upper(self, problem, state):
        return 1 - float(state[0])

    def output(self, state):
        return state, None

    def verdict(self, state):
        return Status.STALLED


def test_t6_7_levels_with_an_exact_oracle():
    solver = SFLS(
        theta=1.0,
        level=3.0,
        eps_opt=1e-6,
        max_levels=100,
        retries=0,
        warm=False,
        inner_method=ExactSMD(),
    )
    problem, rng = parabola(), np.random.default_rng(0)
    state, found = solver.init(problem, np.array([0.0])), []
    while solver.verdict(state) is None:
        state = solver.step(problem, state, len(found), rng)
        found.append(state.outer)
    np.testing.assert_allclose(
        [3.0, found[0].level, found[1].level], [3, 2.719224, 2.473078], atol=5e-7
    )
    np.testing.assert_allclose(
        [o.upper for o in found[:3]], [-0.561553, -0.492291, -0.429528], atol=5e-7
    )
    assert len(found) == 75 + 1  # 75 level updates, and the stage that stops
    assert found[-2].upper < -1e-6 <= found[-1].upper


def test_theta_shortens_the_steps_of_the_level_and_the_accuracy_aimed_at():
    solver = SFLS(theta=2.0, level=3.0, eps=0.01, warm=False, inner_method=ExactSMD())
    problem, rng = parabola(), np.random.default_rng(0)
    state = solver.init(problem, np.array([0.0]))
    outer = solver.step(problem, state, 0, rng).outer
    assert outer.upper == pytest.approx(-0.561553, abs=5e-7)
    assert outer.level == pytest.approx(3.0 + outer.upper / (2 * 2.0))
    assert outer.eps_opt == pytest.approx(-outer.upper * 0.01 / 2.0)


def test_levels_fall_iterates_are_feasible_and_the_optimum_is_reached():
    problem = instance()
    found, result = stages(problem, SFLS(theta=1.0, eps=0.02))
    levels = [0.6] + [outer.level for outer in found]
    for r, following, outer in zip(levels, levels[1:], found):
        assert problem.at(outer.x).excess <= 0
        assert level_function(problem, r, outer.x) <= outer.upper
        assert following < r or outer.tries > 0
        assert following >= OPTIMUM - 1e-6
    assert result.status is Status.STALLED
    assert result.fun == pytest.approx(OPTIMUM, abs=1e-3)
    np.testing.assert_allclose(result.x, [0.14295, -0.09075, -0.01776], atol=5e-3)
    np.testing.assert_allclose(result.multipliers, [0.7379, 0.2779], atol=0.1)


def test_the_quoted_levels():
    inner = SMD(steps=4000, step_size=InverseSqrt(0.5), dual_step=InverseSqrt(50.0))
    solver = SFLS(theta=1.0, level=0.6, warm=False, inner_method=inner)
    found, _ = stages(instance(), solver, max_steps=8000)
    np.testing.assert_allclose([o.level for o in found], [0.5754, 0.5509], atol=1e-4)


def test_mini_batches_end_feasible_and_near_the_optimum():
    problem = instance(batch=50)
    found, result = stages(problem, SFLS(theta=1.0, retries=0))
    assert all(problem.at(outer.x).excess <= 0 for outer in found)
    assert OPTIMUM - 1e-6 <= result.fun <= OPTIMUM + 0.02
    assert (result.nfev, result.njev) == (result.nit + 1, result.nit)  # one for the first level


@pytest.mark.parametrize("second_order", [False, True])
def test_a_level_that_is_too_low_is_never_called_a_success(second_order):
    solver = SFLS(level=0.2, inner_method=SMD(steps=50))
    found, result = stages(instance(), solver, second_order=second_order)
    assert [outer.stages for outer in found[:3]] == [1, 2, 3]
    assert found[2].ended  # tried again twice
    assert second_order or len(found) == 3  # a second look starts again from feasible points
    assert all(outer.level == 0.2 for outer in found)
    assert all(outer.upper > 0 for outer in found)
    assert not result.success


def test_starts_anywhere():
    problem = instance()
    x0 = np.array([0.8, -0.5, 0.3])
    assert problem.at(x0).excess > 0.1
    found, result = stages(problem, SFLS(theta=1.0, eps=0.1, retries=1), x0=x0)
    assert found[0].upper > 0  # from so far away, the first stage says nothing
    assert len(found) < 40
    assert problem.at(result.x).excess <= 0
    assert result.fun == pytest.approx(OPTIMUM, abs=1e-2)


def test_wrong_parameters():
    with pytest.raises(ValueError, match=r"SFLS: `theta` must be at least 0\.5"):
        SFLS(theta=0.1)
    with pytest.raises(ValueError, match="SFLS: `eps` must be positive"):
        SFLS(eps=-1.0)
    with pytest.raises(TypeError, match="SFLS: `inner_method` must be a SMD"):
        SFLS(inner_method="smd")
    with pytest.raises(ValueError, match="SFLS: `theta` must be positive and finite"):
        SFLS(theta=np.inf)
    with pytest.raises(ValueError, match="SFLS: `warm` must be True or False"):
        SFLS(warm="no")
    with pytest.raises(ValueError, match="SMD: `steps` must be an integer of at least 1"):
        SMD(steps=0)


@pytest.mark.parametrize("solver", [SMD(level=0.5), SFLS(inner_method=SMD(steps=20))])
def test_resumes_bit_for_bit_and_leaves_x0_alone(solver, tmp_path):
    problem, x0 = instance(batch=9), np.array([0.3, -0.7, 0.2])
    path = tmp_path / "run"
    solve(problem, solver, x0, max_steps=17, checkpoint=path)
    resumed = solve(problem, solver, x0, max_steps=45, checkpoint=path)
    seen = []
    whole = solve(problem, solver, x0, max_steps=45, callback=lambda i: seen.append(i.x))
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert (resumed.nit, resumed.nfev, resumed.njev) == (whole.nit, whole.nfev, whole.njev)
    np.testing.assert_array_equal(x0, [0.3, -0.7, 0.2])
    assert all(problem.domain.contains(x) for x in seen)
