"""The user's job beside the peers: fair classifiers against fairlearn, Neyman-Pearson against the
exact penalty method, at equal time.

    python benchmarks/peers.py [fair] [neyman-pearson] [memory] [--quick]

The data sets are read from the folder named by EQUIPOISE_DATA, or downloaded. Everything printed was
measured in this run; times are compared as ratios.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
from scipy import sparse

from equipoise import (
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    demographic_parity,
    equalized_odds,
    sets,
    solve,
)
from equipoise.datasets import load
from equipoise.models import MultiClassLinearModel
from equipoise.problems import LearningProblem
from equipoise.solvers import ExactPenalty
from equipoise.terms import ClassLossTerms

NOTIONS = {
    "demographic parity": (demographic_parity, "DemographicParity", "demographic_parity_difference"),
    "equalised odds": (equalized_odds, "EqualizedOdds", "equalized_odds_difference"),
}
MULTICLASS = {"pendigits": 4.5, "segment": 3.0, "usps": 4.5}


def fair_data():
    yield "a9a", load("adult").part("train")
    yield "bank", load("bank")
    yield "compas", load("compas")


def counted_gap(metric, data, predicted):
    from fairlearn import metrics

    return getattr(metrics, metric)(data.y, predicted, sensitive_features=data.groups)


def peer(moment, bound, data, X):
    """fairlearn's ExponentiatedGradient: a randomised classifier; rates and accuracy in expectation."""
    from fairlearn import reductions
    from sklearn.linear_model import LogisticRegression

    reduction = reductions.ExponentiatedGradient(
        LogisticRegression(max_iter=1000), getattr(reductions, moment)(difference_bound=bound)
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reduction.fit(X, data.y, sensitive_features=data.groups)
        seconds = time.perf_counter() - start
        probability = reduction._pmf_predict(X)[:, 1]
    return probability, seconds


def expected_gap(name, data, p):
    """The largest gap between groups of the expected rates."""
    parts = [np.ones(data.n, bool)] if name == "demographic parity" else [data.y == 1, data.y == 0]
    gaps = []
    for part in parts:
        rates = [p[part & (data.groups == g)].mean() for g in np.unique(data.groups)]
        gaps.append(max(rates) - min(rates))
    return max(gaps)


def fair(bounds):
    print(
        "\nTraining accuracy and counted gap. 'at its gap': Equipoise at the gap fairlearn reached; "
        "the goal is at least fairlearn's accuracy minus 0.01.\n"
    )
    print(
        f"{'data':7s} {'notion':19s} {'bound':>5s} | {'accuracy':>8s} {'gap':>7s} {'holds':>5s} {'s':>6s} | "
        f"{'EG acc.':>8s} {'EG gap':>7s} {'holds':>5s} {'s':>6s} | {'at its gap':>10s} {'goal':>4s} "
        f"{'time ratio':>10s}"
    )
    for label, data in fair_data():
        X = data.X if sparse.issparse(data.X) else (data.X - data.X.mean(0)) / _spread(data.X)
        for name, (rule, moment, metric) in NOTIONS.items():
            for bound in bounds:
                start = time.perf_counter()
                model = ConstrainedClassifier(rule(bound), on_infeasible="ignore")
                model.fit(data.X, data.y, sensitive_features=data.groups)
                seconds = time.perf_counter() - start
                predicted = model.predict(data.X)
                gap, accuracy = counted_gap(metric, data, predicted), np.mean(predicted == data.y)
                p, peer_seconds = peer(moment, bound, data, X)
                peer_gap = expected_gap(name, data, p)
                peer_accuracy = np.mean(np.where(data.y == 1, p, 1 - p))
                same = ConstrainedClassifier(rule(float(peer_gap)), on_infeasible="ignore")
                same.fit(data.X, data.y, sensitive_features=data.groups)
                matched = np.mean(same.predict(data.X) == data.y)
                print(
                    f"{label:7s} {name:19s} {bound:5.2f} | {accuracy:8.4f} {gap:7.4f} "
                    f"{_yes(gap <= bound + 1e-12):>5s} {seconds:6.2f} | {peer_accuracy:8.4f} "
                    f"{peer_gap:7.4f} {_yes(peer_gap <= bound):>5s} {peer_seconds:6.2f} | "
                    f"{matched:10.4f} {_yes(matched >= peer_accuracy - 0.01):>4s} "
                    f"{seconds / peer_seconds:10.3f}",
                    flush=True,
                )


def neyman_pearson():
    print(
        "\nMulti-class Neyman-Pearson (P001): loss of the first class, largest excess of the others "
        "over their bounds, each after the same seconds.\n"
    )
    for name, bound in MULTICLASS.items():
        data = load(name)
        data = data.part("train") if "train" in data.split else data
        model = NeymanPearsonClassifier(bounds=bound, radius=0.1, on_infeasible="ignore")
        start = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - start
        ours = model.result_.certificate
        K, d = len(model.classes_), data.X.shape[1]
        problem = LearningProblem(
            MultiClassLinearModel(data.X, K, intercept=False),
            ClassLossTerms(data.y, np.full(K, bound)),
            domain=sets.Product([(sets.L2Ball(0.1), d)] * K),
        )
        other = solve(
            problem,
            ExactPenalty.paper(),
            np.zeros(problem.dim),
            max_steps=10**6,
            max_seconds=seconds,
            density=2,
        )
        theirs = other.certificate
        print(
            f"{name:10s} {seconds:6.2f} s | equipoise objective {ours.objective:.5f} excess "
            f"{ours.values[1:].max():+.1e} residual {ours.residual:.1e} | exact penalty objective "
            f"{theirs.objective:.5f} excess {theirs.values[1:].max():+.1e} ({other.nit} iterations, "
            f"{other.seconds:.2f} s) | better: {_yes(ours.objective < theirs.objective)}",
            flush=True,
        )


MEMORY = """
import resource, sys
import numpy as np
from scipy import sparse
from equipoise import ConstrainedClassifier, demographic_parity
n = int(sys.argv[1])
rng = np.random.default_rng(0)
X = sparse.csr_array(
    (rng.normal(size=10 * n), rng.integers(0, 100, size=10 * n), np.arange(0, 10 * n + 1, 10)),
    shape=(n, 100))
X.sum_duplicates()
group = np.where(rng.random(n) < 0.4, "a", "b")
y = (X @ rng.normal(size=100) + (group == "a") + rng.logistic(size=n) > 0).astype(int)
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
import sklearn.linear_model
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
if sys.argv[2] == "fit":
    import time
    start = time.perf_counter()
    model = ConstrainedClassifier(demographic_parity(0.02)).fit(X, y, sensitive_features=group)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    gap = max(line.true for line in model.report_.constraints)
    print(f"{n:8d} x 100, data {size/1e6:.0f} MB: the fit adds {(after-before)/1e6:.0f} MB at its peak "
          f"({(after-before)/size:.2f} x the data), {seconds:.1f} s, counted gap {gap:.4f}")
"""


def memory(sizes):
    print("\nPeak memory of a fit on CSR data, above what the process held before it.\n", flush=True)
    for n in sizes:
        subprocess.run([sys.executable, "-c", MEMORY, str(n), "fit"], check=True)


def _spread(X):
    spread = X.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _yes(condition):
    return "yes" if condition else "NO"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--quick", action="store_true", help="one bound, smaller sizes")
    arguments = parser.parse_args()
    parts = arguments.parts or ["fair", "neyman-pearson", "memory"]
    packages = ("equipoise", "numpy", "scipy", "scikit-learn", "fairlearn")
    print(
        ", ".join(f"{name} {version(name)}" for name in packages)
        + f", Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at start"
    )
    if "fair" in parts:
        fair((0.05,) if arguments.quick else (0.02, 0.05))
    if "neyman-pearson" in parts:
        neyman_pearson()
    if "memory" in parts:
        memory((100_000,) if arguments.quick else (100_000, 1_000_000))


if __name__ == "__main__":
    main()
