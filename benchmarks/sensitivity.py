"""What halving and doubling each numeric constant of the solvers and the examiner does.

The cases are the reference problems that the methods claim, and fits of a linear classifier. For every
constant, the cases that run its code are solved again with half and with twice its value. The work is values,
gradients and Hessian products together; `lost` counts the cases that no longer succeed.

    python -m benchmarks.sensitivity --write    all constants (half an hour), written to docs/constants.md
    python -m benchmarks.sensitivity newton     those of modules whose name contains the word
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import equipoise.certificate
import equipoise.solvers
from equipoise import Facts, FunctionProblem, sets, solve
from equipoise.constraints import bind, demographic_parity, equalized_odds
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import REFERENCES, LearningProblem
from equipoise.solvers import SOLVERS, choose

PACKAGES = (equipoise.solvers, equipoise.certificate)
PAGE = Path(__file__).parents[1] / "docs" / "constants.md"
HEAD = """# Constants

What halving and doubling each numeric constant of the solvers and the examiner does to the work (values,
gradients and Hessian products) of the cases that run its code, and how many cases are lost. Written by
`python -m benchmarks.sensitivity --write`. Where a source file says that a constant was chosen, this is how
much the choice matters; limits that no case reaches show as 0 %.

| constant | value | cases | halved | doubled |
|---|---|---|---|---|
"""


def modules():
    """All modules of the two packages."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def parsed(module):
    """The syntax tree of a module."""
    with open(module.__file__, encoding="utf-8") as file:
        return ast.parse(file.read())


def imports(module, other, name):
    """Whether a module imports a name from another one."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == other.__name__
        and name in [alias.name for alias in node.names]
        for node in parsed(module).body
    )


def constants(module):
    """The names of numeric constants that a module defines."""
    for node in parsed(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                value = getattr(module, name.id, None)
                if name.id.isupper() and type(value) in (int, float):
                    yield name.id


@contextmanager
def changed(name, value, users):
    """Give a constant another value in all modules that use it."""
    before = [getattr(module, name) for module in users]
    for module in users:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, old in zip(users, before):
            setattr(module, name, old)


def reference_case(method, name, seed):
    """A method on a reference problem that it claims, from a random start."""
    reference, claim = REFERENCES[name](), SOLVERS[method].claim
    domain, rng = reference.problem.domain, np.random.default_rng(seed)
    start = 0.9 * domain.project(2 * rng.normal(size=reference.problem.dim))
    start = start + np.array([0.1, 0.0]) if name == "active" else start
    options = {"max_steps": claim.steps, "tol": claim.residual, "density": 60}
    return lambda: [solve(reference.problem, method, start, **options)]


def learning_case(loss, rule, seed):
    """A linear classifier under a rule, then again under a slightly tighter one, warm-started."""
    data = make_census(1500, seed=seed)
    model = LinearModel(data.X, scale=data.X.std(axis=0), center=data.X.mean(axis=0))

    def run():
        results = []
        for bound in (0.03, 0.025):
            terms = bind(rule(bound), data.y, data.groups, loss=loss).terms
            problem = LearningProblem.of(model, terms, l2=1e-3)
            solver = choose(problem, 1e-6)
            start = results[-1].x if results else None
            solver = solver.warm_started(results[-1]) if results else solver
            results.append(solve(problem, solver, start, tol=1e-6, max_steps=3000))
        return results

    return run


def kink_case(seed):
    """A sum of absolute values under two of them: the level-set method with cutting planes."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4))

    def function(i, bound):
        return lambda x: (np.abs(A[i] @ x - b[i]).sum() - bound, A[i].T @ np.sign(A[i] @ x - b[i]))

    problem = FunctionProblem(
        function(0, 0.0),
        [function(1, 5.0), function(2, 5.0)],
        domain=sets.Box(-2.0, 2.0, dim=5),
        facts=Facts(smooth=False, convex=True, convex_constraints=True),
    )
    return lambda: [solve(problem, tol=1e-3, max_steps=3000)]


def cases():
    """All cases by name."""
    found = {
        f"{method} on {name}, start {seed}": reference_case(method, name, seed)
        for method, make in SOLVERS.items()
        for name in make.claim.problems
        for seed in range(1 if make.claim.residual >= 1e-2 else 2)  # the slow ones once
    }
    for loss in ("logistic", "hinge"):
        for rule in (demographic_parity, equalized_odds):
            found[f"{loss} loss, {rule.__name__}"] = learning_case(loss, rule, 0)
    for seed in range(2):
        found[f"absolute values {seed}"] = kink_case(seed)
    return found


def measure(case):
    """The work of a case, and whether it succeeds."""
    try:
        results = case()
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return 0, False
    return sum(r.nfev + r.njev + r.nhev for r in results), all(r.success for r in results)


def files_used(case):
    """The source files whose code a case runs."""
    used = set()

    def note(frame, event, _):
        if event == "call":
            used.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        case()
    finally:
        sys.setprofile(None)
    return used


def effect(case_names, base, everything):
    """How the work of some cases has changed, and how many are lost, as text."""
    after = {name: measure(everything[name]) for name in case_names}
    lost = sum(base[name][1] and not after[name][1] for name in case_names)
    before = sum(base[name][0] for name in case_names)
    change = sum(work for work, _ in after.values()) / max(before, 1) - 1
    return f"{change:+.0%}" + (f", {lost} lost" if lost else "")


def rows(word=""):
    """Yield one row of the page for each constant."""
    everything, everyone = cases(), list(modules())
    base = {name: measure(case) for name, case in everything.items()}
    used = {name: files_used(case) for name, case in everything.items()}
    assert all(success for _, success in base.values()), base
    for module in everyone:
        short = module.__name__.removeprefix("equipoise.")
        for name in constants(module) if word in short else ():
            value = getattr(module, name)
            users = [module, *(m for m in everyone if imports(m, module, name))]
            touched = [case for case in base if used[case] & {m.__file__ for m in users}]
            effects = []
            for factor in (0.5, 2.0):
                other = factor * value if isinstance(value, float) else max(1, int(factor * value))
                with changed(name, other, users):
                    effects.append(effect(touched, base, everything) if touched else "-")
            yield f"| {short}.{name} | {value:g} | {len(touched)} | " + " | ".join(effects) + " |"


def main(word=""):
    """Print the page; with `--write`, write it."""
    warnings.simplefilter("ignore")
    found = []
    for row in rows("" if word == "--write" else word):
        print(row, flush=True)
        found.append(row)
    if word == "--write":
        PAGE.write_text(HEAD + "\n".join(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
