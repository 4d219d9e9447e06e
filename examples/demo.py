"""The main job in a minute: a plain and a constrained model on census-like data, compared.

Opens with a bound that is promised for new rows, and kept on rows that nobody has seen. Prints accuracy,
every group's rates and the certificate, and writes a plot of the trade-off.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from equipoise import ConstrainedClassifier, NeymanPearsonClassifier, audit, demographic_parity
from equipoise.datasets import make_census

PROMISED = 0.05
BOUNDS = (0.01, 0.02, 0.04, 0.06, 0.09, 0.12, 0.16)


def gap(predicted: np.ndarray, groups: np.ndarray) -> float:
    """The demographic-parity gap of predictions, counted."""
    rates = [predicted[groups == group].mean() for group in np.unique(groups)]
    return float(max(rates) - min(rates))


def show(title: str, model: ConstrainedClassifier, test: object) -> tuple[float, float]:
    """Print a model's accuracy and gap on rows it has not seen."""
    predicted = model.predict(test.X)
    accuracy, parity = float(np.mean(predicted == test.y)), gap(predicted, test.groups)
    print(f"{title:34s} accuracy {accuracy:.4f}   parity gap {parity:.4f}   (held-out rows)")
    return accuracy, parity


def plot(path: Path, plain: tuple[float, float], curve: list[tuple[float, float, float]]) -> None:
    """Write the trade-off as a picture, if matplotlib is there."""
    try:
        import matplotlib
    except ImportError:
        print("\n(no plot: install matplotlib, e.g. pip install 'equipoise[plot]')")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    bounds, gaps, accuracies = zip(*curve)
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    axes.plot(gaps, accuracies, "o-", label="Equipoise, one point per bound")
    axes.plot(plain[1], plain[0], "s", color="black", label="plain model")
    for bound, x, y in zip(bounds, gaps, accuracies):
        axes.annotate(f"{bound:g}", (x, y), textcoords="offset points", xytext=(6, -10), fontsize=8)
    axes.set(
        xlabel="demographic-parity gap (training, counted)",
        ylabel="accuracy (training)",
        title="What fairness costs",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"\nThe trade-off is drawn in {path}")


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=Path("demo-output/tradeoff.png"))
    arguments = parser.parse_args()
    started = time.perf_counter()
    data = make_census(arguments.rows, seed=1).divide(seed=0, train=70, test=30)
    train, test = data.part("train"), data.part("test")
    print(f"{train.n} training rows, {test.n} held out; who earns more than 50K?\n")

    plain = ConstrainedClassifier().fit(train.X, train.y, sensitive_features=train.groups)
    fair = ConstrainedClassifier(demographic_parity(PROMISED), confidence=0.95)
    fair.fit(train.X, train.y, sensitive_features=train.groups)
    show("plain logistic regression", plain, test)
    show(f"parity promised within {PROMISED:g}", fair, test)
    print(f"\n{fair.report_.promise}")
    print(
        "\n--- the plain model, audited with the held-out rows (any model's predictions will do) ---\n"
    )
    rule = demographic_parity(PROMISED)
    print(audit(test.y, plain.predict(test.X), rule, sensitive_features=test.groups))

    print("\n--- a tighter bound, for the training rows alone: report ---\n")
    fair = ConstrainedClassifier(demographic_parity(0.02))
    fair.fit(train.X, train.y, sensitive_features=train.groups)
    print(fair.report_)
    print("\n--- certificate of the point returned ---\n")
    print(fair.certificate_)

    print("\n--- the same, as Neyman-Pearson: at most 5 % of the low earners called high ---\n")
    careful = NeymanPearsonClassifier(bounds=0.05).fit(train.X, train.y)
    errors = careful.class_errors_
    print(f"false positives {errors[0]:.4f} (bound 0.05), false negatives {errors[1]:.4f}")

    curve = []
    for bound in BOUNDS:
        model = ConstrainedClassifier(demographic_parity(bound))
        model.fit(train.X, train.y, sensitive_features=train.groups)
        counted = max(line.true for line in model.report_.constraints)
        curve.append((bound, counted, model.report_.accuracy))
    start = plain.predict(train.X)
    plot(arguments.output, (float(np.mean(start == train.y)), gap(start, train.groups)), curve)
    print(f"{time.perf_counter() - started:.1f} s in all")


if __name__ == "__main__":
    main()
