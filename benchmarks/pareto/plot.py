"""The frontiers as a picture: a row for each data set, a column for each kind of gap."""

from __future__ import annotations

from pathlib import Path

import numpy as np

# Colours that are told apart also without red and green; ours is the darkest and is drawn last.
STYLES = {
    "AUCClassifier": ("#1a365d", "o-", 1.8),
    "AUCClassifier, group known": ("#2b6cb0", "o--", 1.4),
    "quadratic, exact": ("#b7791f", "^-", 0.9),
    "SFLS + SMD": ("#dd6b20", "s-", 0.9),
    "proxy-Lagrangian": ("#805ad5", "D-", 0.9),
    "correlation penalty": ("#38a169", "v-", 0.9),
    "post-processing": ("#d53f8c", "P--", 0.9),
    "plain AUC": ("#000000", "*", 0.9),
    "LibAUC": ("#888888", "X-", 0.9),
}
BELOW = 0.1  # of AUC that is shown below the best one

Curves = dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]
"""By data set, kind and method: means and errors of gap and AUC, (k, 2) each."""


def draw(path: Path, curves: Curves) -> None:
    """Draw mean gap and AUC for every bound, with standard errors in both directions."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "equipoise", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    data = list(dict.fromkeys(key[0] for key in curves))
    kinds = list(dict.fromkeys(key[1] for key in curves))
    shape = len(data), len(kinds)
    figure, axes = plt.subplots(*shape, figsize=(4 * shape[1], 3.2 * shape[0] + 0.6), squeeze=False)
    for (name, kind, method), (mean, error) in reversed(curves.items()):
        axis = axes[data.index(name)][kinds.index(kind)]
        colour, form, width = STYLES[method]
        axis.errorbar(
            mean[:, 0], mean[:, 1], yerr=error[:, 1], xerr=error[:, 0], fmt=form, color=colour,
            linewidth=width, markersize=3.5, elinewidth=0.5, label=method,
        )  # fmt: skip
    for i, name in enumerate(data):
        for j, kind in enumerate(kinds):
            axis = axes[i][j]
            shown = [
                mean[:, 1] for (d, k, _), (mean, _) in curves.items() if (d, k) == (name, kind)
            ]
            best = max((values.max(initial=0.5) for values in shown), default=1.0)
            axis.set_ylim(best - BELOW, best + 0.01)
            axis.set_title(f"{name}, {kind}", fontsize=10)
            axis.set_xlabel("gap on rows held out")
            axis.set_ylabel("AUC on rows held out")
            axis.spines[["top", "right"]].set_visible(False)
    handles = {}
    for axis in axes.ravel():
        found, labels = axis.get_legend_handles_labels()
        handles |= dict(zip(labels, found))
    listed = [method for method in STYLES if method in handles]
    figure.legend(
        [handles[m] for m in listed], listed, loc="lower center", ncols=5, frameon=False, fontsize=9
    )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"drawn in {path}")
