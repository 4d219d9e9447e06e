"""The constants that theory gives, each against its formula."""

import math

import pytest

from equipoise import _check
from equipoise.solvers._theory.imela import imela_theory
from equipoise.solvers._theory.in_range import in_range
from equipoise.solvers._theory.iqrc import iqrc_theory, theoretical_steps
from equipoise.solvers._theory.switching import static_theory
from equipoise.solvers._theory.yu_neely_wei import high_probability_bounds

# ------------------------------------------------------------------ theory


def test_the_constants_of_high_probability():
    K, m, delta, sigma, D, V, M, rho_hat = 50, 3, 0.1, 0.7, 2.2, 1.5, 0.8, 0.6
    found = high_probability_bounds(
        steps=K,
        delta=delta,
        slater=sigma,
        diameter=D,
        value_bound=V,
        lipschitz=M,
        n_constraints=m,
        rho_hat=rho_hat,
    )
    M0, M1 = V + rho_hat * math.sqrt(m) * D**2 / 2, M + rho_hat * D
    E = M0 + math.sqrt(m) * M1 * D
    queue = sigma / 2 + E + (2 * D**2 + 2 * M1 * D + E**2) / sigma
    queue += (
        8
        * E**2
        / sigma
        * (math.log(1 + 32 * E**2 / sigma**2 * math.exp(sigma / (8 * E))) + math.log(2 * K / delta))
    )
    assert found.queue == pytest.approx(queue, rel=1e-12)
    gap = D**2 + M1**2 / 4 + E**2 / 2 + math.sqrt(math.log(1 / delta)) * M0 * queue
    assert found.gap == pytest.approx(gap / math.sqrt(K), rel=1e-12)
    violation = queue + M1**2 + queue * math.sqrt(m) * M1**2 / 2
    assert found.violation == pytest.approx(violation / math.sqrt(K), rel=1e-12)
    least = {"steps": 1, "delta": 0.5, "slater": 1.0, "diameter": 1.0}
    one = high_probability_bounds(**least, value_bound=0.0, lipschitz=1.0)
    same = high_probability_bounds(
        **least, value_bound=0.0, lipschitz=1.0, n_constraints=1, rho_hat=0.0
    )
    assert one == same
    assert high_probability_bounds(**least, value_bound=1.0, lipschitz=0.0).queue > 0
    for wrong in ({"steps": 0}, {"delta": 0.0}, {"delta": 1.0}, {"slater": 0.0}, {"diameter": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            high_probability_bounds(**least | wrong, value_bound=1.0, lipschitz=1.0)


def test_the_constants_of_iqrc():
    eps, rho_hat, rho, sigma, M, D, fall = 0.6, 3.0, 1.0, 0.26, 2.2, 1.5, 4.1
    found = iqrc_theory(
        eps=eps,
        rho_hat=rho_hat,
        rho=rho,
        sigma_eps=sigma,
        lipschitz=M,
        diameter=D,
        decrease=fall,
        rho_eps=2.0,
    )
    Lam = (M + rho_hat * D) / math.sqrt(2 * sigma * 2.0)
    eps_hat = math.sqrt(2.0 / (4 * (Lam + 1))) * eps
    assert found.multiplier_bound == pytest.approx(Lam)
    assert found.eps_hat == pytest.approx(eps_hat)
    assert found.inner_steps == math.ceil(4 * (M**2 + rho_hat**2 * D**2) / (2.0 * eps_hat**2))
    assert found.outer_steps == math.ceil(4 * fall / (eps**2 * 2.0))
    assert found.max_steps == found.outer_steps * found.inner_steps
    assert found.solver.oracle.steps == found.inner_steps
    still = iqrc_theory(
        eps=eps, rho_hat=50.0, rho=0.0, sigma_eps=1e9, lipschitz=M, diameter=1e-9, decrease=0.0
    )
    assert still.eps_hat == eps
    assert still.outer_steps == 1
    assert theoretical_steps(lipschitz=1.0, mu=1.0, accuracy=0.5) == 8
    assert theoretical_steps(lipschitz=1.0, mu=1.0, accuracy=0.499) == 9
    assert theoretical_steps(lipschitz=1.0, mu=1.0, accuracy=0.5, rho_hat=2.0, diameter=3.0) == 296
    given = {"eps": 0.5, "rho": 1.0, "sigma_eps": 1.0, "lipschitz": 1.0, "diameter": 1.0}
    for wrong in ({"rho_hat": 1.0}, {"rho_hat": 3.1, "rho_eps": 2.0}):
        with pytest.raises(ValueError, match="rho_hat"):
            iqrc_theory(**given, decrease=1.0, **wrong)


def test_the_constants_of_imela():
    L, B_f, B_g, D, nu, p = 2.0, 0.5, 3.1, 1.5, 0.25, 7.0
    method, bound = imela_theory(
        smoothness=L,
        objective_slope=B_f,
        constraint_bound=B_g,
        diameter=D,
        slater=nu,
        prox=p,
        centre_step=0.3,
    )
    tau = (p - L) / (4 * B_g**2)
    assert method.dual_step == pytest.approx(tau)
    assert (method.prox, method.centre_step, method.smoothness) == (p, 0.3, L)
    assert bound == pytest.approx(((B_f + p * D + 1) * D + tau * B_g**2 / 2) / nu)
    wide, large = imela_theory(
        smoothness=L, objective_slope=0.0, constraint_bound=1e-3, diameter=1e-3, slater=1e9
    )
    assert wide.prox == 4.0
    assert large == pytest.approx(2 * (2.0 / 4e-6) * 1e-3)
    with pytest.raises(ValueError, match="must exceed `smoothness` = 2"):
        imela_theory(
            smoothness=L, objective_slope=1, constraint_bound=1, diameter=1, slater=1, prox=2.0
        )


def test_the_constants_of_switching():
    eps, rho_hat, rho, M, Lam, fall = 0.6, 3.5, 1.0, 2.2, 4.0, 0.7
    method, T = static_theory(
        eps=eps, rho_hat=rho_hat, rho=rho, lipschitz=M, multiplier_bound=Lam, decrease=fall
    )
    E = eps**2 * 2.5 / 5.0
    assert method.step_size(0) == pytest.approx(E / M**2)
    assert method.slack(0) == pytest.approx(E)
    assert math.ceil(2 * M**2 * fall / (rho_hat * E**2)) == T
    with pytest.raises(ValueError, match="must exceed `rho` = 1"):
        static_theory(
            eps=eps, rho_hat=1.0, rho=1.0, lipschitz=M, multiplier_bound=Lam, decrease=fall
        )


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (1e200, "constants: `x` must be of a size"),  # the square overflows
        (1e-200, "constants: `x` must be of a size"),  # the square is 0, and divided by
        (
            1e-110,
            "constants: `x` must be of a size",
        ),  # the cube is 0, which another function refuses
        (-1.0, "constants: `x` must be positive"),
    ],
)
def test_constants_beyond_floating_point_are_an_error_of_what_they_are_made_of(x, message):
    @in_range
    def constants(x):
        x = _check.positive("constants", "x", x)
        return 1.0 / x**2, _check.positive("another", "cube", x**3)

    with pytest.raises(_check.InputError, match=message):
        constants(x)
    assert constants(2.0) == (0.25, 8.0)
