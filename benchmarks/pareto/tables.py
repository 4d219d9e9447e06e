"""Tables, curves and goals of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.page import Page, figure
from benchmarks.pareto import runs
from benchmarks.pareto.about import BESIDE
from benchmarks.pareto.methods import OURS, OURS_WITH_GROUP
from benchmarks.pareto.plot import Curves
from benchmarks.pareto.selection import Table, chosen, hypervolume, mean_and_error

BOUNDS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
"""On the rows for choosing; one point of the picture each."""
SHOWN = (0.02, 0.05)  # of them, those in the tables
KNOWS_GROUP = ("post-processing",)  # baselines that see the group of the rows they score

Results = dict[tuple[str, str, str], list[tuple[Table, float]]]
"""By data set, kind and method: the table and the seconds for every seed."""
Volumes = dict[tuple[str, str, str], np.ndarray]
"""By the same: the hypervolume for every seed."""


def collect(folder: Path, todo: list[runs.Cell]) -> Results:
    """The results of all seeds together."""
    found: Results = {}
    for (name, kind, method, _), result in runs.results(folder, todo).items():
        found.setdefault((name, kind, method), []).append(result)
    return found


def curves_of(found: Results) -> Curves:
    """Means and errors for every bound that all seeds have a model for."""
    answer: Curves = {}
    for key, results in found.items():
        points = np.array([chosen(rows, BOUNDS) for rows, _ in results])
        known = ~np.isnan(points).any(axis=(0, 2))
        if known.any():
            answer[key] = mean_and_error(points[:, known])
    return answer


def volumes_of(found: Results) -> Volumes:
    """The hypervolumes of all seeds."""
    answer = {}
    for name, kind, method in found:
        free = [rows[0][2] for rows, _ in found[name, kind, "plain AUC"]]
        largest = float(np.ceil(100 * max(free)) / 100)
        answer[name, kind, method] = np.array(
            [hypervolume(np.array(rows)[:, 2:], largest) for rows, _ in found[name, kind, method]]
        )
    return answer


def tabulate(page: Page, found: Results, volumes: Volumes) -> None:
    """Print one table for each data set."""
    curves = {key: [chosen(rows, SHOWN) for rows, _ in results] for key, results in found.items()}
    for name in dict.fromkeys(key[0] for key in found):
        page.say(f"\n## {name}")
        at = [f"AUC / gap at {bound:g}" for bound in SHOWN]
        page.table("kind", "method" + 20 * " ", "hypervolume", *at, "seconds")
        for (own, kind, method), results in found.items():
            if own != name:
                continue
            mean, error = mean_and_error(volumes[name, kind, method])
            points = np.array(curves[name, kind, method])
            cells = [
                "none in some"
                if np.isnan(points[:, i]).any()
                else f"{points[:, i, 1].mean():.4f} / {points[:, i, 0].mean():.4f}"
                for i in range(len(SHOWN))
            ]
            seconds = np.mean([spent for _, spent in results])
            page.row(kind, method, f"{mean:.4f} ± {error:.4f}", *cells, figure(seconds))


def goals(page: Page, volumes: Volumes) -> None:
    """Compare with the best baseline of every data set and kind."""
    page.say(BESIDE)
    page.table(
        "data",
        "kind",
        "ours" + 24 * " ",
        "best baseline" + 8 * " ",
        "difference",
        "within 2 errors",
    )
    for name, kind in dict.fromkeys(key[:2] for key in volumes):
        others = {m: v for (d, k, m), v in volumes.items() if (d, k) == (name, kind)}
        rivals = [m for m in others if m not in (OURS, OURS_WITH_GROUP)]
        for ours, compared in (
            (OURS, [m for m in rivals if m not in KNOWS_GROUP]),
            (OURS, [m for m in rivals if m in KNOWS_GROUP]),
            (OURS_WITH_GROUP, [m for m in rivals if m in KNOWS_GROUP]),
        ):
            if ours not in others or not compared:
                continue
            best = max(compared, key=lambda m: others[m].mean())
            mean, error = mean_and_error(others[best] - others[ours])
            page.row(
                name,
                kind,
                ours,
                best,
                f"{mean:+.4f} ± {error:.4f}",
                "yes" if abs(mean) <= 2 * error else "no",
            )
            page.goal(
                f"{name}, {kind}: hypervolume of {best} above that of {ours}", float(mean), 0.0
            )
