"""What can go wrong in the hands of a stranger: each thing is named, and nothing is lost."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from equipoise import (
    Checkpoint,
    Facts,
    FunctionProblem,
    Point,
    Problem,
    Status,
    certify,
    check_problem,
    near_stationarity,
    sets,
    solve,
)
from equipoise._compare import COLUMNS
from equipoise.problems import REFERENCES, JaxProblem, QuadraticProblem, TorchProblem
from equipoise.run import CheckpointError
from equipoise.solvers import (
    SOLVERS,
    AugmentedNewton,
    FeasibilityPhase,
    Polyak,
    ProxyLagrangian,
    Sequence,
    SwitchingSubgradient,
    YuNeelyWei,
)

SPECIAL = (
    "apg",
    "feasibility",
    "sfls",
    "smd",
)  # for problems without constraints, or of another form
GENERAL = [name for name in SOLVERS if name not in SPECIAL]
CONVEX = Facts(smooth=True, convex=True, convex_constraints=True, weak_convexity=0.0)


def broken(what, names=("disc",)):
    """The convex reference problem, of which one part is not finite where x1 > 0.8."""

    def objective(x):
        bad = np.nan if what == "objective" and x[0] > 0.8 else 1.0
        return (x[0] - 2) ** 2 + x[1] ** 2, bad * np.array([2 * x[0] - 4, 2 * x[1]])

    def disc(x):
        bad = np.nan if what == "disc" and x[0] > 0.8 else 1.0
        return (np.inf if what == "value" and x[0] > 0.8 else x @ x - 1), bad * 2 * x

    return FunctionProblem(
        objective, [disc], domain=sets.Box(-3, 3, dim=2), facts=CONVEX, names=names
    )


@pytest.mark.parametrize("method", GENERAL)
@pytest.mark.parametrize("what", ["objective", "disc"])
def test_the_gradient_that_is_not_finite_is_named(method, what):
    result = solve(broken(what), method, [0.0, 0.5], max_steps=3000, tol=1e-6)
    assert result.status is Status.NON_FINITE
    label = "the objective" if what == "objective" else "constraint 1 ('disc')"
    assert f"The gradient of {label} is not finite" in result.message
    assert np.isfinite(result.x).all()
    assert np.isfinite(result.certificate.residual)


def test_a_budget_that_ends_where_nothing_is_finite_loses_nothing():
    """The last iterate is examined only at the end, at whatever step that is."""
    ends = [solve(broken("value"), YuNeelyWei(), [0.0, 0.5], max_steps=t) for t in range(45, 60)]
    assert {end.status for end in ends} == {Status.MAX_STEPS, Status.NON_FINITE}
    for end in ends:
        assert np.isfinite(end.fun)
        assert end.x[0] <= 0.8


def test_a_callback_that_raises_where_nothing_is_finite_keeps_its_status():
    def fail(iteration):
        if iteration.x[0] > 0.8:
            raise RuntimeError("my plot failed")

    result = solve(broken("value"), YuNeelyWei(), [0.0, 0.5], callback=fail)
    assert result.status is Status.CALLBACK_FAILED
    assert "my plot failed" in result.message
    assert "constraint 1 ('disc') is inf" in result.message
    assert result.x[0] <= 0.8


def test_the_examiner_names_gradients_that_are_not_finite():
    with pytest.raises(ValueError, match="the gradient of the objective is not finite"):
        certify(broken("objective"), [0.9, 0.0])
    with pytest.raises(ValueError, match="the gradient of the objective is not finite"):
        certify(broken("objective"), [0.9, 0.0], [0.0])
    with pytest.raises(ValueError, match=r"gradient of constraint 1 \('disc'\) is not finite"):
        certify(broken("disc"), [0.999, 0.0])
    with pytest.raises(ValueError, match="every value and gradient must be finite"):
        near_stationarity(broken("objective"), [0.9, 0.0], 1.0)


def test_near_stationarity_ends_where_the_path_is_not_finite():
    near = near_stationarity(broken("objective"), [0.7, 0.0], 1.0)
    assert np.isfinite(near.witness).all()


def test_sys_exit_in_a_callback_is_not_swallowed_and_the_run_is_kept(tmp_path):
    def leave(iteration):
        if iteration.step == 20:
            raise SystemExit(3)

    reference, path = REFERENCES["convex"](), tmp_path / "run"
    with pytest.raises(SystemExit):
        solve(reference.problem, "switching", reference.start, callback=leave, checkpoint=path)
    assert (
        solve(reference.problem, "switching", reference.start, max_steps=5, checkpoint=path).nit
        == 20
    )


FULL = """
    import resource, warnings
    from equipoise import Checkpoint, solve
    from equipoise.problems import REFERENCES
    resource.setrlimit(resource.RLIMIT_FSIZE, (4500, 4500))  # larger files cannot be written
    reference = REFERENCES["convex"]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solve(reference.problem, "switching", reference.start, max_steps=300,
                       checkpoint=Checkpoint({path!r}, every=0.0))
    print(result.nit, caught[-1].message)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_a_disk_that_really_refuses(tmp_path):
    code = textwrap.dedent(FULL).format(path=str(tmp_path / "run"))
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.startswith("300 The checkpoint")
    assert "File too large" in out.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["run"]  # the last that fitted, no part


def test_a_checkpoint_of_other_data_under_the_same_names_is_refused(tmp_path):
    def problem(radius):
        return FunctionProblem(
            lambda x: (x[0], np.array([1.0, 0.0])),
            [lambda x: (x @ x - radius, 2 * x)],
            domain=sets.Box(-3, 3, dim=2),
        )

    solve(problem(1.0), "switching", [0.5, 0.5], max_steps=5, checkpoint=tmp_path / "run")
    with pytest.raises(CheckpointError, match="list of values at the start"):
        solve(problem(1.5), "switching", [0.5, 0.5], max_steps=9, checkpoint=tmp_path / "run")


def test_checkpoint_paths(tmp_path):
    with pytest.raises(ValueError, match="Checkpoint: `path` must be a path, got 3"):
        Checkpoint(3)
    with pytest.raises(ValueError, match="`path` must be a file, /dev/null is a device"):
        Checkpoint("/dev/null")


# --- inputs ------------------------------------------------------------------------------------


def objective(x):
    return x @ x, 2 * x


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SwitchingSubgradient(step_size=0.1), "`step_size` must be a StepRule, e.g. Const"),
        (lambda: SwitchingSubgradient(slack=0.1), "SwitchingSubgradient: `slack` must be a Step"),
        (lambda: FeasibilityPhase(step_size=0.1), "FeasibilityPhase: `step_size` must be a Step"),
        (lambda: ProxyLagrangian(weight_step=0.1), "ProxyLagrangian: `weight_step` must be a Step"),
        (lambda: ProxyLagrangian(player="swap"), "ProxyLagrangian: `player` must be a Player"),
        (lambda: Polyak(otherwise=0.1), "Polyak: `otherwise` must be a StepRule"),
        (lambda: Sequence("switching", "iqrc"), "Sequence: `first` must be a Solver"),
        (lambda: AugmentedNewton(growth=0.5), "AugmentedNewton: `growth` must exceed 1, got 0.5"),
        (lambda: FunctionProblem(objective, domain=3), "FunctionProblem: `domain` must be a Set"),
        (lambda: FunctionProblem(objective, dim=2, facts={}), "`facts` must be a Facts, got {}"),
        (lambda: FunctionProblem(objective, [objective] * 2, dim=2, names="ab"), "`names` must"),
        (
            lambda: QuadraticProblem(
                np.zeros((2, 2, 2)), np.zeros((2, 2)), [0, 0], sets.Box(0, 1, dim=3)
            ),
            "QuadraticProblem: `dim` must equal the domain's dimension 3, got 2",
        ),
        (
            lambda: QuadraticProblem(
                np.zeros((2, 2, 2)), np.zeros((2, 2)), [0, 0], sets.WholeSpace(), names=["a", "b"]
            ),
            "QuadraticProblem: `names` must have 1 entries",
        ),
        (
            lambda: TorchProblem(objective, dim=2, n_constraints=0, domain=sets.Box(0, 1, dim=3)),
            "TorchProblem: `dim` must equal the domain's dimension 3, got 2",
        ),
    ],
)
def test_wrong_constructions_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_functions_that_return_the_wrong_kind_are_named():
    with pytest.raises(TypeError, match="objective must return a number as its value, got a None"):
        FunctionProblem(lambda x: (None, x), dim=2).at(np.zeros(2))
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match="must return one tensor, got a list"):
        TorchProblem(lambda x: [x.sum()], dim=2, n_constraints=0).at(np.zeros(2))
    pytest.importorskip("jax")
    with pytest.raises(ValueError, match=r"must return 1 values .* got shape \(2,\)"):
        JaxProblem(lambda x: x, dim=2, n_constraints=0).at(np.zeros(2))


def test_a_solver_of_a_strange_type_is_refused():
    with pytest.raises(TypeError, match="`solver` must be a Solver or a name"):
        solve(REFERENCES["convex"]().problem, np.zeros(2))


@pytest.mark.parametrize("x", [[1, 2], np.array([1, 2]), np.array([1.0, 2.0])])
def test_the_checker_takes_any_vector_and_still_sees_the_fault(x):
    right = FunctionProblem(objective, dim=2)
    wrong = FunctionProblem(lambda x: (x @ x, 2.1 * x), dim=2)
    assert check_problem(right, x).ok
    assert not check_problem(wrong, x).ok
    with pytest.raises(ValueError, match="`directions` must be an integer of at least 1"):
        check_problem(right, x, directions=0)


def test_the_certificate_keeps_its_own_point():
    x = np.array([1.0, 0.0])
    certificate = certify(REFERENCES["convex"]().problem, x)
    x[:] = 7.0
    np.testing.assert_array_equal(certificate.x, [1.0, 0.0])


@pytest.mark.parametrize("method", ["switching", "augmented_newton", "exact_penalty"])
@pytest.mark.parametrize("kind", ["quadratic", "functions"])
def test_tensors_are_answered_by_tensors(method, kind):
    """Also where the problem computes in NumPy."""
    torch = pytest.importorskip("torch")
    base = REFERENCES["convex"]().problem

    def function(i):
        return lambda x: (base.at(x.numpy()).values[i], base.at(x.numpy()).gradient(i))

    problem = base
    if kind == "functions":
        problem = FunctionProblem(function(0), [function(1)], domain=base.domain, facts=base.facts)
    start = torch.tensor([0.0, 2.0], dtype=torch.float64)
    result = solve(problem, method, start, max_steps=300, tol=1e-2)
    assert isinstance(result.x, torch.Tensor)
    same = solve(base, method, start.numpy(), max_steps=300, tol=1e-2)
    np.testing.assert_allclose(result.x.numpy(), same.x, atol=1e-9)


def test_tensors_of_integers_are_refused_by_name():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="solve: `x0` must be a tensor of floating-point numbers"):
        solve(REFERENCES["convex"]().problem, "switching", torch.tensor([1, 0]))


# --- mathematics -------------------------------------------------------------------------------


class Steep(Problem):
    """A batch is ten times as steep as the whole: the bound on the whole says nothing of it."""

    dim, n_constraints, names = 1, 1, ("slope",)
    domain = sets.Box(-9.0, 9.0, dim=1)
    facts = Facts(convex=True, lipschitz=1.0, stochastic=True)

    def __init__(self, steepness=1.0):
        self.steepness = steepness

    def at(self, x):
        a = self.steepness
        return Point(x, np.array([-x[0], a * x[0] - 3.0]), lambda w: np.array([-w[0] + a * w[1]]))

    def sample(self, rng):
        return Steep(10.0)


def test_queues_are_filled_by_batches_steeper_than_the_whole():
    solver = YuNeelyWei(objective_weight=1.0, damping=1.0)
    state = solver.step(Steep(), solver.init(Steep(), np.zeros(1)), 0, np.random.default_rng(0))
    assert state.z == pytest.approx([0.5])
    np.testing.assert_allclose(state.Q, [0.0 - 3.0 + 10 * 0.5])


class Shifted(Problem):
    """x >= 0 in truth; its batches claim that much less is enough."""

    dim, n_constraints, names = 1, 1, ("positive",)
    domain = sets.Box(-9.0, 9.0, dim=1)
    facts = Facts(convex=True, convex_constraints=True, stochastic=True)

    def __init__(self, shift=0.0):
        self.shift = shift

    def at(self, x):
        values = np.array([0.0, -x[0] - self.shift])
        return Point(x, values, lambda w: np.array([-w[1]]))

    def sample(self, rng):
        return Shifted(2.0)


def test_a_mini_batch_does_not_prove_feasibility():
    result = solve(Shifted(), "feasibility", [-1.0], max_steps=200)
    assert result.status is Status.FEASIBLE
    assert result.maxcv == 0.0


class Rows(Problem):
    """Thousands of linear constraints; counts the gradients that are formed."""

    domain = sets.WholeSpace()

    def __init__(self, m, d):
        rng = np.random.default_rng(0)
        self.dim, self.n_constraints, self.names = d, m, tuple(f"c{i}" for i in range(m))
        self.A = rng.normal(size=(m, d))
        self.A /= np.linalg.norm(self.A, axis=1)[:, None]
        self.target, self.formed = 3 * rng.normal(size=d), 0

    def at(self, x):
        values = np.concatenate(([0.5 * (x - self.target) @ (x - self.target)], self.A @ x - 1))

        def vjp(weights):
            self.formed += 1
            return weights[0] * (x - self.target) + weights[1:] @ self.A

        return Point(x, values, vjp)


def test_hundreds_of_violated_constraints_do_not_all_need_a_gradient():
    """Far from feasible no multipliers can lower the residual below the violation."""
    problem = Rows(5000, 10)
    x = 0.5 * problem.target
    violated = int((problem.at(x).constraints > 0).sum())
    certificate = certify(problem, x)
    assert violated > 800
    assert problem.formed < 0.6 * violated
    assert certificate.residual == certificate.violation
    assert (certificate.multipliers >= 0).all()


def test_the_comparison_shows_every_residual():
    assert {"violation", "stationarity", "complementarity"} <= set(COLUMNS)
