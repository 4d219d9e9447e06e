"""Equipoise beside SLSQP and IPOPT on the problems of Hock & Schittkowski (1981).

python -m benchmarks.hock_schittkowski [number ...] [--write]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.hock_schittkowski.case import COLLECTION, Case
from benchmarks.hock_schittkowski.methods import METHODS, SLSQP_FTOL, TOL, End
from benchmarks.page import Page, facts, figure
from equipoise import certify

OURS, SLSQP, IPOPT = "Equipoise", "SLSQP", "IPOPT, limited memory"
REACHED = (
    1e-5  # how far the objective may be above the optimum, relative to max(1, |optimum|); chosen
)
OUTPUT = Path(__file__).parents[2] / "docs" / "hock_schittkowski.md"


@dataclass(frozen=True)
class Judged:
    """What is found where a method stopped, by the formulas of the collection alone."""

    end: End
    gap: float  # of the objective above the best known optimum, relative
    violation: float
    certified: bool  # by the library's examiner, which fits the multipliers

    @property
    def feasible(self) -> bool:
        return self.violation <= TOL

    @property
    def best(self) -> bool:
        return self.feasible and self.gap <= REACHED

    def __str__(self) -> str:
        place = "" if self.best else " other" if self.feasible else " violated"
        return f"{self.end.evaluations}{place}"


def judge(case: Case, end: End) -> Judged:
    gap = (case.values(end.x)[0] - case.best) / max(1.0, abs(case.best))
    judged = Judged(end, gap, case.violation(end.x), certified=False)
    if not judged.feasible:
        return judged
    certificate = certify(case.problem(), np.clip(end.x, case.lower, case.upper))
    return replace(judged, certified=certificate.residual <= TOL)


def run(page: Page, numbers: list[int]) -> None:
    page.say(
        f'{len(numbers)} problems. Equipoise runs `solve(problem, "auto", start, tol={TOL:g})` on a '
        f"`FunctionProblem` with gradients and no facts, in which an equality is a pair of inequalities; the "
        f"others are given equalities as such. SLSQP has `ftol={SLSQP_FTOL:g}` (and its default beside it), "
        f"IPOPT, of CasADi's wheel, `tol` and `constr_viol_tol` {TOL:g}. All start from the book's point, "
        f"moved into the bounds.\n\n"
        f"*evaluations* are different points at which the objective was evaluated, whoever asked. For "
        f"Equipoise that is all of `solve`: trials of line searches, steps that were not taken, restarts, "
        f"and the examiner, whose look at the curvature at the end takes differences of gradients where the "
        f"points near the end do not tell it (SLSQP and IPOPT make no such look). For SLSQP all calls are "
        f"noted in the same way. IPOPT's are its own count of calls of the objective or of the constraints, "
        f"whichever is larger. Gradients come with the values, so a gradient at a point that was counted is "
        f"free for all; IPOPT's exact Hessians are not counted. *other*: a feasible end whose objective is "
        f"more than {REACHED:g} (relative) above the best known optimum, usually another local one; "
        f"*violated*: a constraint or bound broken by more than {TOL:g}. Both are computed by the formulas "
        f"of the collection alone."
    )
    judged = {number: _compare(COLLECTION[number]) for number in numbers}
    _totals(page, judged)
    _problems(page, judged)
    _degenerate(page, judged)
    _goals(page, judged)


def _compare(case):
    print(case.name, end=" ", flush=True)
    return {name: judge(case, method(case)) for name, method in METHODS.items()}


def _totals(page, judged):
    page.say("\n## All problems")
    page.table(
        "method" + 16 * " ", "best known optima", "certified", "median evaluations", "sum",
        "its costliest", "seconds",
    )  # fmt: skip
    for name in METHODS:
        ends = {number: methods[name] for number, methods in judged.items()}
        costliest = max(ends, key=lambda number: ends[number].end.evaluations)
        page.row(
            name, sum(e.best for e in ends.values()), sum(e.certified for e in ends.values()),
            f"{np.median(_evaluations(judged, name)):.0f}", int(sum(_evaluations(judged, name))),
            f"HS{costliest}: {ends[costliest].end.evaluations}",
            figure(sum(e.end.seconds for e in ends.values())),
        )  # fmt: skip
    page.say(
        "\n*certified*: the certificate's residual at the end point, with multipliers fitted for every "
        f"method alike, is at most {TOL:g}. *seconds*: of the solver in one run, on formulas in Python; "
        "IPOPT's are in CasADi's virtual machine."
    )


def _problems(page, judged):
    page.say(
        "\n## Problem by problem\n\n"
        "Evaluations; *gap* and *violation* are of Equipoise's end, its status is given where it is not "
        "CONVERGED."
    )
    page.table(
        "problem", "n", "inequalities", "equalities", "gap", "violation", *METHODS, "status",
    )  # fmt: skip
    for number, methods in judged.items():
        case, ours = COLLECTION[number], methods[OURS]
        page.row(
            case.name, case.dim, len(case.at_least_zero), len(case.zero), f"{ours.gap:.0e}",
            f"{ours.violation:.0e}", *methods.values(), ours.end.status,
        )  # fmt: skip


def _degenerate(page, judged):
    for number, methods in judged.items():
        if reason := COLLECTION[number].degenerate:
            words = ", ".join(
                f"{name}: {m.end.status or 'CONVERGED'}" for name, m in methods.items()
            )
            page.say(f"\nHS{number} has no multipliers at its optimum ({reason}). {words}.")


def _goals(page, judged):
    sound = {k: methods for k, methods in judged.items() if not COLLECTION[k].degenerate}
    share = np.mean([methods[OURS].end.success for methods in sound.values()])
    page.goal("share not certified at 1e-6, where multipliers exist", 1 - share, 0.05)
    false = sum(m[OURS].end.success and not m[OURS].feasible for m in judged.values())
    page.goal("successes claimed where a constraint or bound is broken", false, 0)
    median = {name: float(np.median(_evaluations(judged, name))) for name in METHODS}
    page.goal("median evaluations, x SLSQP", median[OURS] / median[SLSQP], 1.0)
    total = {name: sum(_evaluations(judged, name)) for name in METHODS}
    page.goal("sum of evaluations, x IPOPT with limited memory", total[OURS] / total[IPOPT], 1.2)
    both = {k: m for k, m in judged.items() if m[OURS].best and m[IPOPT].best}
    costliest = max(both, key=lambda k: both[k][IPOPT].end.evaluations, default=None)
    common = {k: methods for k, methods in both.items() if k != costliest}
    ratio = sum(_evaluations(common, OURS)) / max(1, sum(_evaluations(common, IPOPT)))
    page.goal("the same where both reach the optimum, without IPOPT's costliest", ratio, 1.2)
    optima = {name: sum(methods[name].best for methods in judged.values()) for name in METHODS}
    for name in (SLSQP, IPOPT):
        page.goal(f"best known optima, fewer than {name}", optima[name] - optima[OURS], 0)


def _evaluations(judged, name):
    return [methods[name].end.evaluations for methods in judged.values()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", nargs="*", type=int, metavar="number", help="default all")
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")
    arguments = parser.parse_args()
    if unknown := set(arguments.numbers) - set(COLLECTION):
        parser.error(f"not in the collection: {', '.join(map(str, sorted(unknown)))}")
    page = Page(
        "The problems of Hock & Schittkowski",
        "make hs",
        about="Counts of evaluations are the same on every machine up to rounding.",
    )
    page.say(facts("equipoise", "numpy", "scipy", "casadi") + ".\n")
    run(page, sorted(arguments.numbers or COLLECTION))
    page.summary()
    if arguments.write:
        page.write(OUTPUT)


if __name__ == "__main__":
    main()
