"""PLADA and its theta-steps."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import sets, solve
from equipoise._problem import Facts, Point, Problem
from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.problems import REFERENCES, FunctionProblem, QuadraticProblem
from equipoise.problems._absolute import AbsoluteProblem
from equipoise.solvers import (
    PLADA,
    ExactProxStep,
    ProxLinearStep,
    StepSizeWarning,
    SubgradientStep,
    UnsuitableSolverError,
)
from equipoise.solvers._plada.step_lengths import MeasuredLength, Spectral, first_length


def path(problem, solver, x0, steps, seed=0):
    """The states 0..steps."""
    rng = np.random.default_rng(seed)
    states = [solver.init(problem, np.asarray(x0, dtype=float))]
    for t in range(steps):
        states.append(solver.step(problem, states[-1], t, rng))
    return states


def scalar(target):
    """``min (x - target)^2 / 2  s.t.  |x| <= 1, x in [-5, 5]``, with the kink in the constraint."""
    base = QuadraticProblem(
        [[[1.0]], [[0.0]]], [[-target], [1.0]], [target**2 / 2, 0.0], sets.Box(-5, 5, dim=1)
    )
    return AbsoluteProblem(base, 1.0)


def prox(v, lam, eta):
    """argmin lam |y| + (y - v)^2 / (2 eta) over [-5, 5], for either sign of lam."""
    side = np.where(v < 0, -1.0, 1.0)
    return np.clip(side * np.maximum(np.abs(v) - eta * lam, 0), -5, 5)


RHO = 5.0
THEORY = {"alpha": 10.0, "beta": 0.1, "eta": 0.9 / (1 + 3 * RHO), "tau": 0.9 / (3 * RHO)}
EXACT = PLADA(theta_step=ExactProxStep(prox), **THEORY)


def quadratic(seed=0, d=3, m=2, domain=None):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m + 1, d, d))
    P, q, c = A @ A.transpose(0, 2, 1), rng.normal(size=(m + 1, d)), -rng.random(m + 1)
    return QuadraticProblem(P, q, c, domain or sets.Box(-2, 2, dim=d)), 0.3 * rng.normal(size=d)


def reduced(problem, state, lam):
    """The reduced Lagrangian ``F + <lam, G + u> - |lam - mu|^2 / (2 rho)``."""
    values, gap = problem.at(state.x).values, lam - state.mu
    return values[0] + lam @ (values[1:] + state.u) - gap @ gap / (2 * RHO)


# --- the iteration -----------------------------------------------------------------------------


def naive(problem, x, steps, *, eta, tau, alpha, beta, gamma, kappa, u_max):
    """Section 5.1 as printed, in plain NumPy; yields (x, u, lam, mu, z) for k = 0..steps."""
    rho = alpha / (1 + alpha * beta)
    m = problem.n_constraints
    u, mu = np.zeros(m), np.zeros(m)
    lam = mu + rho * (problem.at(x).values[1:] + u)
    z = (lam - mu) / alpha
    yield x, u, lam, mu, z
    for k in range(steps):
        point = problem.at(x)
        direction = point.gradient(0)
        for i in range(m):
            direction = direction + lam[i] * point.gradient(i + 1)
        x_new = problem.domain.project(x - eta * direction)
        u_new = np.minimum(np.maximum(u - tau * lam, 0), u_max)
        delta = kappa / (k + 1)
        gam = min(gamma, rho * delta / (np.sum((lam - mu) ** 2) + 1))
        mu_new = mu + gam * (z + beta * (lam - mu))
        x, u, mu = x_new, u_new, mu_new
        lam = mu + rho * (problem.at(x).values[1:] + u)
        z = (lam - mu) / alpha
        yield x, u, lam, mu, z


@pytest.mark.parametrize("kappa", [100.0, 0.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_naive_twin(seed, kappa):
    problem, x0 = quadratic(seed, m=3)
    settings = {"eta": 0.01, "tau": 0.05, "alpha": 8.0, "beta": 0.2, "gamma": 0.1}
    twin = list(naive(problem, x0, 50, kappa=kappa, u_max=0.4, **settings))
    states = path(problem, PLADA(kappa=kappa, u_max=0.4, **settings), x0, 51)
    for k, (x, u, lam, mu, _) in enumerate(twin):
        assert states[k].x == pytest.approx(x, abs=1e-12)
        assert states[k].u == pytest.approx(u, abs=1e-12)
        assert states[k].mu == pytest.approx(mu, abs=1e-12)
        assert states[k + 1].lam == pytest.approx(lam, abs=1e-12)
    assert np.abs(x - x0).max() > 0.05
    assert mu.any()


@pytest.mark.parametrize("tau", [0.06, None])
def test_identities_of_every_step(tau):
    """lam in state k + 1 belongs to the iterate of state k."""
    problem, x0 = quadratic(2)
    solver = PLADA(u_max=0.5, tau=tau)
    states = path(problem, solver, x0, 300)
    for k, (old, new) in enumerate(zip(states, states[1:])):
        G = problem.at(old.x).constraints
        u = new.u if tau is None else old.u
        assert new.lam - old.mu == pytest.approx(RHO * (G + u), abs=1e-12)
        assert ((new.u >= 0) & (new.u <= 0.5)).all()
        assert np.linalg.norm(new.mu - old.mu) <= 100 / (k + 1) / 2 * (1 + 1e-12)
        gap = new.lam - old.mu
        z = gap / solver.alpha
        gam = min(0.1, RHO * 100 / (k + 1) / (gap @ gap + 1))
        assert new.mu - old.mu == pytest.approx(gam * (z + solver.beta * gap), abs=1e-12)


def test_descent_lemma():
    """With the constants of the proof corrected; the remainder is needed."""
    problem = scalar(2.0)
    states = path(problem, EXACT, [-3.0], 3000)
    C1, C2 = (1 / EXACT.eta - 1 - 3 * RHO) / 2, (1 / EXACT.tau - 3 * RHO) / 2
    L = [reduced(problem, s, n.lam) for s, n in zip(states, states[1:])]
    rises = 0
    for k in range(len(L) - 1):
        old, new, delta = states[k], states[k + 1], EXACT.kappa / (k + 1)
        dx, du, dmu = new.x - old.x, new.u - old.u, new.mu - old.mu
        drop = C1 * dx @ dx + C2 * du @ du
        assert L[k + 1] - L[k] <= -drop + (delta + delta**2 / 4) / RHO + 1e-12
        assert dmu @ dmu <= delta**2 / 4
        rises += L[k + 1] - L[k] > -drop + 1e-9
    assert rises > 0


def test_descent_without_dual_averaging_error():
    """The lemma's remainder is only due to mu: with a tiny kappa the function must fall."""
    problem = scalar(2.0)
    solver = PLADA(theta_step=ExactProxStep(prox), kappa=1e-13, **THEORY)
    states = path(problem, solver, [-3.0], 200)
    L = [reduced(problem, s, n.lam) for s, n in zip(states, states[1:])]
    C1 = (1 / solver.eta - 1 - 3 * RHO) / 2
    for k in range(len(L) - 1):
        dx = states[k + 1].x - states[k].x
        assert L[k + 1] - L[k] <= -C1 * dx @ dx + 1e-12
    assert L[0] - L[-1] > 1


def test_running_average_of_the_squared_residual():
    """The promise: (1/T) sum |(G_x, G_u)|^2 = O(log T / T), residual (28)."""
    problem, T = scalar(2.0), 4000
    states = path(problem, EXACT, [-3.0], T + 1)
    squares = []
    for old, new, after in zip(states, states[1:], states[2:]):
        dlam, kink = after.lam - new.lam, np.sign(new.x)
        dF = problem.at(new.x).gradient(0) - problem.at(old.x).gradient(0)
        Gx = dF + kink * dlam - (new.x - old.x) / EXACT.eta
        Gu = new.u - np.clip(new.u - after.lam, 0, new.u_max)
        squares.append(Gx @ Gx + Gu @ Gu)
    average = np.cumsum(squares) / np.arange(1, T + 1)
    scaled = [average[n - 1] * n / np.log(n) for n in (100, 400, 1000, 4000)]
    assert all(late <= early for early, late in zip(scaled, scaled[1:]))
    assert average[-1] < 0.1 * average[99]


@pytest.mark.parametrize(
    ("target", "x", "u", "lam", "lowest"), [(2.0, 1, 0, 1, -1.28), (0.5, 0.5, 0.5, 0, -0.63)]
)
def test_limits_and_negative_multipliers(target, x, u, lam, lowest):
    """lam dips below 0 on the way, the limit is a KKT point."""
    states = path(scalar(target), EXACT, [-3.0], 5000)
    last = states[-1]
    assert last.x == pytest.approx([x], abs=1e-6)
    assert last.u == pytest.approx([u], abs=1e-6)
    assert last.lam == pytest.approx([lam], abs=1e-6)
    assert min(s.lam[0] for s in states) == pytest.approx(lowest, abs=0.01)
    assert EXACT.output(last)[1] == pytest.approx([lam], abs=1e-6)


def test_slack_without_tau_is_the_minimiser():
    """u lowers the reduced Lagrangian most; where u_max leaves room, lam = [mu + rho G]_+."""
    problem, x0 = quadratic(2)
    rng = np.random.default_rng(0)
    slack = 0
    for old, new in zip(states := path(problem, PLADA(), x0, 300), states[1:]):
        G = problem.at(old.x).constraints
        assert new.lam == pytest.approx(np.maximum(old.mu + RHO * G, 0), abs=1e-12)
        for u in np.clip(new.u + 0.1 * rng.normal(size=(5, 2)), 0, new.u_max):
            w, best = G + u, G + new.u
            value, least = old.mu @ w + RHO / 2 * w @ w, old.mu @ best + RHO / 2 * best @ best
            assert least <= value + 1e-12
        slack += (new.u > 0).any()
    assert slack > 10


def test_output_clips_but_the_state_does_not():
    states = path(scalar(2.0), EXACT, [-3.0], 60)
    dip = min(states, key=lambda s: s.lam[0])
    assert dip.lam[0] < -1
    assert EXACT.output(dip)[1] == pytest.approx([0.0])


def test_reduced_lagrangian():
    """Minimising the paper's equation 6 over z gives the reduced function, and lam maximises it."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        alpha, beta, m = 1 + 10 * rng.random(), rng.random(), 3
        solver = PLADA(alpha=alpha, beta=beta)
        F, G, u, lam, mu = rng.normal(), *rng.normal(size=(4, m))

        def full(z, F=F, G=G, u=u, lam=lam, mu=mu, alpha=alpha, beta=beta):
            gap = lam - mu
            return F + lam @ (G + u - z) + mu @ z + alpha / 2 * z @ z - beta / 2 * gap @ gap  # (6)

        def short(lam, F=F, G=G, u=u, mu=mu, rho=solver.rho):
            return F + lam @ (G + u) - (lam - mu) @ (lam - mu) / (2 * rho)

        z = (lam - mu) / alpha
        assert full(z) == pytest.approx(short(lam), abs=1e-12)
        assert all(full(z + 0.1 * rng.normal(size=m)) > full(z) for _ in range(5))
        best = mu + solver.rho * (G + u)
        assert all(short(best + 0.1 * rng.normal(size=m)) < short(best) for _ in range(5))


@pytest.mark.parametrize("theta_step", [SubgradientStep(), ProxLinearStep()], ids=["a", "b"])
def test_copies_of_a_constraint_stay_equal(theta_step):
    """Bit for bit."""
    base, x0 = quadratic(3, m=1)
    copies = QuadraticProblem(
        base.P[[0, 1, 1, 1]], base.q[[0, 1, 1, 1]], base.c[[0, 1, 1, 1]], base.domain
    )
    problem = AbsoluteProblem(copies, 0.3)
    for state in path(problem, PLADA(eta=0.005, theta_step=theta_step), x0, 200):
        for dual in (state.u, state.lam, state.mu):
            assert (dual == dual[0]).all()
    assert state.mu.any()


def plain(kappa, steps):
    """The scalar problem with target 2 in floats: |x| - 1 after `steps`, exact theta-step."""
    x, u, mu = -3.0, 0.0, 0.0
    eta, tau = THEORY["eta"], THEORY["tau"]
    for k in range(steps):
        lam = mu + RHO * (abs(x) - 1 + u)
        v = x - eta * (x - 2)
        x = (1 if v >= 0 else -1) * max(abs(v) - eta * lam, 0)
        x, u = min(max(x, -5), 5), max(u - tau * lam, 0)
        mu += min(0.1, RHO * kappa / (k + 1) / ((lam - mu) ** 2 + 1)) / RHO * (lam - mu)
    return x


def test_kappa():
    """The kappa note: 1.1e-2 after 1e3 and 2.4e-4 after 1e5 steps for 1, rounding for 100."""
    for kappa in (1.0, 100.0):
        solver = PLADA(theta_step=ExactProxStep(prox), kappa=kappa, **THEORY)
        last = path(scalar(2.0), solver, [-3.0], 1000)[-1]
        assert last.x == pytest.approx([plain(kappa, 1000)], abs=1e-12)
    assert plain(1.0, 1000) - 1 == pytest.approx(1.1e-2, abs=5e-4)
    assert plain(1.0, 100_000) - 1 == pytest.approx(2.4e-4, abs=5e-6)
    assert abs(plain(100.0, 100_000) - 1) <= 1e-15


def test_cross_solver_fact():
    """9.4 from (0, 2): eta .001, tau .06, 50000 steps end at (1, 0) with lam = 1."""
    reference = REFERENCES["convex"]()
    result = solve(
        reference.problem, PLADA(eta=0.001, tau=0.06), reference.start, max_steps=50_000, tol=1e-12
    )
    assert result.x == pytest.approx([1.0, 0.0], abs=1e-9)
    assert result.state.lam == pytest.approx([1.0], abs=1e-9)


# --- theta-steps -------------------------------------------------------------------------------


def subproblem(problem, point, lam, eta):
    """The prox-linear function of ProxLinearStep's docstring, written out."""
    base = problem.base.at(point.x)
    c, gF = base.constraints, base.gradient(0)
    gc = np.stack([base.gradient(i + 1) for i in range(c.size)])

    def value(y):
        d = y - point.x
        inside = c + gc @ d
        terms = np.where(lam > 0, lam * np.abs(inside), lam * np.sign(c) * inside)
        return gF @ d + terms.sum() + d @ d / (2 * eta)

    return value


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("where", ["inside", "at the boundary"])
def test_prox_linear_against_perturbations(m, where):
    """Also for several constraints and an active domain."""
    rng = np.random.default_rng(m)
    kinks = 0
    for trial in range(25):
        domain = sets.WholeSpace() if where == "inside" else sets.Box(-0.3, 0.3, dim=3)
        base, _ = quadratic(trial, m=m, domain=domain)
        problem = AbsoluteProblem(base, 0.2)
        point = problem.at(domain.project(0.3 * rng.normal(size=3)))
        lam, eta = rng.normal(size=m) + 0.5, float(10 ** rng.uniform(-2, 0))
        y = ProxLinearStep()(problem, point, lam, eta)
        value = subproblem(problem, point, lam, eta)
        assert domain.contains(y, 1e-12)
        for size in (1e-1, 1e-3, 1e-5):
            for v in rng.normal(size=(20, 3)):
                assert value(y) <= value(domain.project(y + size * v)) + 1e-9 * size
        d = y - point.x
        inner = base.at(point.x)
        kinks += any(
            abs(inner.values[i + 1] + inner.gradient(i + 1) @ d) < 1e-7 and lam[i] > 0
            for i in range(m)
        )
    assert kinks >= 3  # the steps that end where a linearised c_i vanishes were met too


def test_prox_linear_closed_form():
    """s = clip(r / (eta lam |gc|^2), -1, 1) for one constraint."""
    base, x = quadratic(5, m=1, domain=sets.WholeSpace())
    problem = AbsoluteProblem(base, 0.1)
    point, inner = problem.at(x), base.at(x)
    for lam, eta in [(0.7, 0.1), (5.0, 0.5), (0.01, 0.3)]:
        gc, v = inner.gradient(1), x - eta * inner.gradient(0)
        s = np.clip((inner.values[1] + gc @ (v - x)) / (eta * lam * gc @ gc), -1, 1)
        y = ProxLinearStep()(problem, point, np.array([lam]), eta)
        assert y == pytest.approx(v - eta * lam * s * gc, abs=1e-13)


def test_prox_linear_equals_a_general_solver():
    """Three constraints in a box against SLSQP on the smooth epigraph form."""
    base, _ = quadratic(7, m=3, domain=sets.Box(-0.5, 0.5, dim=3))
    problem = AbsoluteProblem(base, 0.2)
    x, lam, eta = np.array([0.4, -0.5, 0.1]), np.array([0.6, 1.0, 0.3]), 0.4
    y = ProxLinearStep()(problem, problem.at(x), lam, eta)
    inner = base.at(x)
    c, gc = inner.constraints, np.stack([inner.gradient(i) for i in (1, 2, 3)])
    gF = inner.gradient(0)
    answer = minimize(
        lambda w: gF @ (w[:3] - x) + lam @ w[3:] + (w[:3] - x) @ (w[:3] - x) / (2 * eta),
        np.concatenate((x, np.abs(c))),
        bounds=[(-0.5, 0.5)] * 3 + [(0, None)] * 3,
        constraints=[
            {"type": "ineq", "fun": lambda w: w[3:] - c - gc @ (w[:3] - x)},
            {"type": "ineq", "fun": lambda w: w[3:] + c + gc @ (w[:3] - x)},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert y == pytest.approx(answer.x[:3], abs=1e-5)


def test_prox_linear_is_exact_for_affine_functions():
    """Reduces to: with c(x) = x and lam >= 0 the step is the exact one."""
    problem, eta = scalar(2.0), THEORY["eta"]
    compared = 0
    for old, new in zip(states := path(problem, EXACT, [-3.0], 300), states[1:]):
        if new.lam[0] >= 0:
            y = ProxLinearStep()(problem, problem.at(old.x), new.lam, eta)
            assert y == pytest.approx(new.x, abs=1e-13)
            compared += 1
    assert compared > 100


def test_negative_multipliers_make_a_gradient_step():
    problem = AbsoluteProblem(quadratic(1, m=2)[0], 0.1)
    point, lam = problem.at(np.array([0.1, -0.2, 0.3])), np.array([-1.0, -0.5])
    one, other = (mode(problem, point, lam, 0.05) for mode in (ProxLinearStep(), SubgradientStep()))
    assert one == pytest.approx(other, abs=1e-15)


def test_prox_linear_needs_bounds():
    problem, x0 = quadratic()
    with pytest.raises(UnsuitableSolverError, match="ProxLinearStep needs"):
        solve(problem, PLADA(theta_step=ProxLinearStep()), x0)


def test_prox_linear_solves_a_two_sided_problem():
    """Certified on the smooth statement c <= bound, -c <= bound."""
    base, bound = quadratic(4, m=2)[0], np.array([0.05, 0.1])
    both = QuadraticProblem(
        np.concatenate((base.P, -base.P[1:])),
        np.concatenate((base.q, -base.q[1:])),
        np.concatenate((base.c[:1], base.c[1:] - bound, -base.c[1:] - bound)),
        base.domain,
    )
    solver = PLADA(theta_step=ProxLinearStep())
    result = solve(AbsoluteProblem(base, bound), solver, np.zeros(3), max_steps=3000)
    proof = certify(both, result.x)
    assert proof.residual <= 1e-4
    assert proof.multipliers.max() > 0.1


def test_without_constraints_it_is_projected_gradient():
    """Reduces to: bitwise."""
    base, x = quadratic(6, m=0)
    for state in path(base, PLADA(eta=0.02), x, 50)[1:]:
        x = base.domain.project(x - 0.02 * base.at(x).gradient(0))
        assert (state.x == x).all()


# --- the absolute problem ----------------------------------------------------------------------


def test_absolute_problem():
    base, x = quadratic(8, m=2)
    problem = AbsoluteProblem(base, [0.1, 0.2])
    point, inner = problem.at(x), base.at(x)
    assert point.values == pytest.approx(
        [inner.values[0], abs(inner.values[1]) - 0.1, abs(inner.values[2]) - 0.2]
    )
    weights, step = np.array([0.5, 1.0, 2.0]), 1e-6
    slopes = [
        (weights @ problem.at(x + e).values - weights @ problem.at(x - e).values) / (2 * step)
        for e in step * np.eye(3)
    ]
    assert point.vjp(weights) == pytest.approx(np.array(slopes), abs=1e-6)
    assert problem.names == ("|f_1|", "|f_2|")
    assert problem.facts.smooth is False
    assert problem.facts.weak_convexity == base.facts.smoothness
    assert problem.sample(np.random.default_rng(0)) is problem


def test_absolute_problem_at_a_kink_has_a_slope():
    assert scalar(2.0).at(np.zeros(1)).gradient(1) == pytest.approx([1.0])


def test_absolute_problem_errors():
    base, _ = quadratic()
    with pytest.raises(ValueError, match="AbsoluteProblem: `bound`"):
        AbsoluteProblem(base, -0.1)
    with pytest.raises(ValueError, match="AbsoluteProblem: `bound`"):
        AbsoluteProblem(base, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="AbsoluteProblem: `base`"):
        AbsoluteProblem(3, 0.1)


# --- step sizes --------------------------------------------------------------------------------


def test_measured_step_size_obeys_the_bound():
    """It rises from the facts' bound and never exceeds 0.9 / (L + 3 rho M^2) of what was seen."""
    reference = REFERENCES["convex"]()
    facts = reference.problem.facts
    reference.problem.facts = replace(facts, smooth=False)
    states = path(reference.problem, PLADA(), reference.start, 1500)
    floor = 0.9 / (facts.smoothness + 3 * RHO * facts.lipschitz**2)
    last = states[-1].size
    assert isinstance(last, MeasuredLength)
    assert states[0].size.eta == pytest.approx(max(floor, 0.01 * 0.9 / (2 + 3 * RHO * 4**2)))
    for old, new in zip(states, states[1:]):
        dx = new.x - old.x
        dG = reference.problem.at(new.x).constraints - reference.problem.at(old.x).constraints
        assert floor <= new.size.eta <= 1.01 * old.size.eta
        assert new.size.eta <= 0.9 / (new.size.L + 3 * RHO * new.size.M**2) * (1 + 1e-12)
        if np.linalg.norm(dx) > 1e-6:
            secant = np.linalg.norm(dG) / np.linalg.norm(dx)
            assert secant <= last.M * (1 + 1e-6)
    assert last.L == pytest.approx(2.0)  # noqa: SIM300
    assert 4 <= last.M <= facts.lipschitz
    assert last.eta > 2 * floor


def test_spectral_step_size():
    """No step raises the reduced Lagrangian; eta is the inverse curvature along the last step."""
    problem, x0 = quadratic(2)
    compared = 0
    for old, new in zip(states := path(problem, PLADA(), x0, 400), states[1:]):

        def R(x, mu=old.mu):
            point = problem.at(x)
            lam = np.maximum(mu + RHO * point.constraints, 0)
            return point.objective + lam @ lam / (2 * RHO), point.lagrangian_gradient(lam)

        (before, g), (after, g_new), dx = R(old.x), R(new.x), new.x - old.x
        assert after <= before + 1e-13 * max(1, abs(before))
        if np.linalg.norm(dx) > 1e-6:
            curvature = (g_new - g) @ dx / (dx @ dx)
            compared += new.size.eta == pytest.approx(1 / curvature, rel=1e-9)
            assert new.size.eta <= min(10 * old.size.eta, new.size.limit) * (1 + 1e-12)
    assert isinstance(new.size, Spectral)
    assert compared > 20


def test_spectral_steps_are_faster_than_the_bound():
    """The theory's bound after ten times the steps is still behind."""
    problem, x0 = quadratic(2)
    facts = problem.facts
    eta = 0.9 / (facts.smoothness + 3 * RHO * 2 * facts.lipschitz**2)
    fast = solve(problem, PLADA(), x0, max_steps=1000)
    slow = solve(problem, PLADA(eta=eta), x0, max_steps=10_000)
    assert fast.certificate.residual < 1e-5
    assert fast.certificate.residual < 0.1 * slow.certificate.residual


def test_step_size_without_facts():
    reference = REFERENCES["bilinear"]()
    reference.problem.facts = Facts()
    result = solve(reference.problem, PLADA(), reference.start, max_steps=5000, tol=1e-5)
    assert result.success


def test_given_step_size_is_kept():
    reference = REFERENCES["convex"]()
    states = path(reference.problem, PLADA(eta=0.01), reference.start, 20)
    assert {s.size.eta for s in states} == {0.01}


def test_mini_batches_rise_to_the_bound_for_the_slopes_at_the_start():
    """The slopes that the facts allow are nine times as large; their bound is where the size starts."""
    problem = FiniteSum()
    facts, point = problem.facts, problem.at(np.zeros(2))
    size = first_length(problem, point, RHO, None)
    bound = 0.9 / (facts.smoothness + 3 * RHO * facts.lipschitz**2)
    assert (size.eta, size.floor) == pytest.approx((bound, bound))
    assert pytest.approx(1.0) == size.L
    assert pytest.approx(np.linalg.norm(point.gradient(1))) == size.M
    states = path(problem, PLADA(), [0.0, 0.0], 6000)
    sizes = np.array([state.size.eta for state in states])
    highest = 0.9 / (1 + 3 * RHO * size.M**2)
    np.testing.assert_allclose(sizes, np.minimum(bound * 1.01 ** np.arange(6001), highest))
    a, b = np.split(problem.data.mean(axis=0), 2)
    solution = a - max(0.0, a @ b) / (b @ b) * b
    assert np.mean([s.x for s in states[3000:]], axis=0) == pytest.approx(solution, abs=0.05)


def test_paper_presets():
    """Table 2 of the paper; its tau for linear models violates tau < 1 / (3 rho)."""
    linear, network = PLADA.paper_linear(), PLADA.paper_network()
    assert (linear.eta, linear.tau, linear.rho) == (0.001, 0.1, pytest.approx(5.0))
    assert (network.eta, network.tau, network.rho) == (0.1, 0.01, pytest.approx(10 / 6))
    for preset in (linear, network):
        assert (preset.alpha, preset.gamma) == (10.0, 0.1)
    problem, x0 = quadratic()
    with pytest.warns(StepSizeWarning, match=r"`tau` = 0.1 is not below"):
        linear.init(problem, x0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network.init(problem, x0)
        PLADA().init(problem, x0)


def test_slack_bound():
    problem, x0 = quadratic()
    facts = problem.facts
    expected = np.maximum(-problem.at(x0).constraints, 0) + facts.lipschitz * np.sqrt(48)
    assert PLADA().init(problem, x0).u_max == pytest.approx(expected)
    assert PLADA(u_max=0.3).init(problem, x0).u_max == pytest.approx([0.3, 0.3])
    problem.facts = Facts()
    assert np.isinf(PLADA().init(problem, x0).u_max).all()


# --- outputs, defaults, robustness -------------------------------------------------------------


def test_best_and_drawn_iterates():
    reference = REFERENCES["convex"]()
    states = path(reference.problem, PLADA(eta=0.005), reference.start, 400)
    points = [reference.problem.at(s.x) for s in states[:-1]]
    feasible = [p.objective for p in points if p.violation <= 1e-6]
    assert states[-1].score == (0.0, min(feasible))
    assert reference.problem.at(states[-1].best).objective == min(feasible)
    assert any((states[-1].drawn == s.x).all() for s in states[:-1])
    early = path(reference.problem, PLADA(eta=0.005), reference.start, 5)
    assert early[-1].score[0] == min(p.violation for p in points[:5])


def test_drawn_iterate_is_uniform():
    """Over many seeds, each of 4 iterates is drawn a quarter of the time."""
    problem, x0 = quadratic(9)
    runs = [path(problem, PLADA(eta=0.01), x0, 4, seed=seed) for seed in range(600)]
    counts = [sum((r[-1].drawn == r[k].x).all() for r in runs) for k in range(4)]
    assert sum(counts) == 600
    assert min(counts) > 110  # mean 150, deviation 10.6
    assert max(counts) < 190


@pytest.mark.parametrize("name", ["active", "bilinear", "convex"])
def test_defaults_from_random_starts(name):
    """With all defaults: residual 1e-5 from 20 random starts."""
    problem, rng = REFERENCES[name]().problem, np.random.default_rng(0)
    for _ in range(20):
        corner = rng.uniform(-2, 2, size=2)
        if name != "bilinear":
            corner = rng.uniform(problem.domain.lower, problem.domain.upper)
        x0 = problem.domain.project(corner)
        result = solve(problem, PLADA(), x0, max_steps=10_000, tol=1e-5)
        assert result.success
        assert result.certificate.residual <= 1e-5


@pytest.mark.parametrize("seed", range(6))
def test_random_problems_end_with_an_honest_status(seed):
    rng = np.random.default_rng(seed)
    domain = [sets.Box(-2, 2, dim=3), sets.L1Ball(2.0), sets.L2Ball(2.0)][seed % 3]
    A = rng.normal(size=(3, 3, 3))
    shift = -1.0 if seed < 3 else 3.0
    problem = QuadraticProblem(
        A @ A.transpose(0, 2, 1), rng.normal(size=(3, 3)), np.full(3, shift), domain
    )
    result = solve(problem, PLADA(), np.zeros(3), max_steps=5000, tol=1e-3)
    proof = certify(problem, result.x, result.multipliers)
    assert result.success == (proof.residual <= 1e-3)
    assert domain.contains(result.x, 1e-12)
    assert (
        result.success
        if seed < 3
        else result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
    )


def test_infeasible_problem():
    problem = FunctionProblem(
        lambda x: (x[0], np.ones(1)),
        [lambda x: (x[0] ** 2 + 1, 2 * x)],
        domain=sets.Box(-2, 2, dim=1),
    )
    result = solve(problem, PLADA(), [1.5], max_steps=4000, tol=1e-4)
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert not result.success


def test_it_stops_where_nothing_moves():
    result = solve(scalar(0.5), EXACT, [-3.0], max_steps=20_000)
    assert result.nit < 20_000
    assert result.state.moved <= 1e-12
    assert result.x == pytest.approx([0.5], abs=1e-9)


class FiniteSum(Problem):
    """``min mean_i |x - a_i|^2 / 2  s.t.  mean_i b_i'x <= 0`` on a box; batches of 10."""

    dim, n_constraints, names = 2, 1, ("mean",)
    domain = sets.Box(-3, 3, dim=2)
    facts = Facts(smooth=True, smoothness=1.0, lipschitz=8.0, convex=True, stochastic=True)

    def __init__(self, data=None):
        if data is None:
            rng = np.random.default_rng(0)
            data = rng.normal(size=(200, 4)) + [1.0, 1.0, 1.0, 0.0]
        self.data = data

    def at(self, x):
        a, b = np.split(self.data, 2, axis=1)
        values = np.array([0.5 * ((x - a) ** 2).sum(axis=1).mean(), (b @ x).mean()])
        J = np.stack((x - a.mean(axis=0), b.mean(axis=0)))
        return Point(x, values, lambda weights: weights @ J)

    def sample(self, rng):
        return FiniteSum(self.data[rng.integers(200, size=10)])


def test_mini_batches():
    """Noise of the batches remains, no more (lam and G' of one batch would shift x_2 by 0.3)."""
    problem = FiniteSum()
    a, b = np.split(problem.data.mean(axis=0), 2)
    solution = a - max(0.0, a @ b) / (b @ b) * b
    runs = [path(problem, PLADA(eta=0.002), [0.0, 0.0], 6000, seed=seed) for seed in (0, 1)]
    for states in runs:
        tail = np.mean([s.x for s in states[3000:]], axis=0)
        assert tail == pytest.approx(solution, abs=0.05)
    again = path(problem, PLADA(eta=0.002), [0.0, 0.0], 50)
    assert (runs[0][50].x == again[50].x).all()
    assert (runs[1][50].x != again[50].x).any()


def test_start_is_left_alone_and_states_can_be_stored():
    problem, _ = quadratic(1)
    x0 = np.array([0.1, 0.2, 0.3])
    result = solve(problem, PLADA(), x0, max_steps=30)
    assert (x0 == [0.1, 0.2, 0.3]).all()
    stored = pickle.loads(pickle.dumps(result.state))
    assert (stored.x == result.state.x).all()
    assert stored.size.eta == result.state.size.eta


@pytest.mark.parametrize(
    "bad",
    [
        {"eta": 0.0},
        {"tau": -1.0},
        {"alpha": 1.0},
        {"beta": 1.0},
        {"beta": 0.0},
        {"gamma": 1.5},
        {"gamma": 0.0},
        {"kappa": 0.0},
        {"u_max": 0.0},
        {"stop": -1.0},
        {"theta_step": "subgradient"},
    ],
    ids=str,
)
def test_bad_hyperparameters(bad):
    with pytest.raises(ValueError, match=f"PLADA: `{next(iter(bad))}`"):
        PLADA(**bad)


def test_bad_prox():
    with pytest.raises(ValueError, match="ExactProxStep: `prox`"):
        ExactProxStep(3.0)
