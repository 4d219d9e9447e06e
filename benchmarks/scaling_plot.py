"""The scaling curves as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

TICKS = (0.1, 0.3, 1, 3, 10, 30)
BLUE, GREY = "#2b6cb0", "#888888"


def draw(path: Path, curves: dict[str, tuple[np.ndarray, Any]], limit: float) -> None:
    """Draw time and memory over each size, both axes logarithmic.

    `curves` holds, by the name of what grows, the sizes and the rows of `scaling.curve`.
    """
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "equipoise", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(curves), 2, figsize=(8, 3 * len(curves)), squeeze=False)
    for (name, (sizes, (seconds, _, ratio, plain))), (time, memory) in zip(curves.items(), axes):
        time.loglog(sizes, seconds, "o-", color=BLUE)
        slope = seconds[-1] * sizes / sizes[-1]
        time.loglog(sizes, slope, ":", color=GREY, label="linear growth")
        time.set_ylim(0.3 * min(seconds), 3 * max(seconds))
        time.set_ylabel("seconds")
        memory.loglog(sizes, ratio, "o-", color=BLUE, label="this fit")
        memory.loglog(sizes, plain, "s--", color=GREY, label="LogisticRegression")
        memory.axhline(limit, color="black", linewidth=0.8)
        memory.set_ylabel("memory added, x data")
        memory.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        for axis in (time, memory):
            axis.set_xlabel(name)
            axis.minorticks_off()
            axis.legend(frameon=False)
            axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"drawn in {path}")
