"""The study: rows, groups, network, constraints, and what is measured of a model."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import torch

from equipoise import group_loss, rate
from equipoise.constraints import Each, bind
from equipoise.datasets import intersectional_groups, load_communities
from equipoise.problems import LearningProblem, ProxyProblem
from equipoise.torch import ModuleModel

EXCESS = 0.01  # how much more than everyone's a group's loss may be, as in the published code
LAYERS, WIDTH = 5, 64  # hidden ones; the PLADA paper does not give their width
PARTS = {"train": 50, "validation": 25, "test": 25}


class Study:
    """One division of Communities and Crime, and one network before training, by a seed."""

    def __init__(self, seed: int, width: int = WIDTH) -> None:
        self.seed, self.data = seed, load_communities().divide(seed=seed, **PARTS)
        self.members, self.thresholds = intersectional_groups(self.data)
        rows = self.data.split["train"]
        center, scale = self.data.X[rows].mean(axis=0), self.data.X[rows].std(axis=0)
        X = (self.data.X - center) / np.where(scale > 0, scale, 1.0)
        torch.manual_seed(seed)
        sizes = [X.shape[1], *[width] * LAYERS]
        hidden = [
            layer
            for inside, outside in zip(sizes, sizes[1:])
            for layer in (torch.nn.Linear(inside, outside), torch.nn.ReLU())
        ]
        network = torch.nn.Sequential(*hidden, torch.nn.Linear(width, 1))
        self.model, self._everyone = ModuleModel(network, X[rows]), ModuleModel(network, X)
        self.start = torch.tensor(self.model.start, dtype=torch.float32)

    def bound(self, rules, **options) -> LearningProblem:
        """The problem of some rules, on the training rows."""
        rows = self.data.split["train"]
        groups = {f"group {j}": self.members[rows, j] for j in range(self.members.shape[1])}
        terms = bind(rules, self.data.y[rows], groups, **options).terms
        return LearningProblem.of(self.model, terms)

    @cached_property
    def plain(self) -> LearningProblem:
        """Hinge loss, without constraints."""
        return self.bound([], loss="hinge")

    def fair(self, mode: str) -> LearningProblem:
        """Hinge loss; that of every group, or of all on average, at most 0.01 above everyone's.

        Every group's function is divided by the root of their number: multipliers and steps then do not
        have to be smaller where groups are more.
        """
        rule = group_loss(EXCESS, mode=mode, groups=(True,))
        if mode == "all":
            rule = replace(rule, factor=self.members.shape[1] ** -0.5)
        return self.bound(rule, loss="hinge")

    def proxy(self) -> ProxyProblem:
        """Hinge loss for every group as it is, together with the errors that are meant."""
        hinge = self.bound(group_loss(EXCESS, groups=(True,)), loss="hinge")
        wrong = rate("error", Each(groups=(True,))) - rate("error") <= EXCESS
        counted = self.bound(wrong)
        return ProxyProblem(hinge, lambda _, x: counted.thresholded(x)[1:])

    def measured(self, x) -> dict[str, tuple[float, float, float]]:
        """Of every part: the error, and how far groups' errors exceed it by more than is allowed.

        That is the largest excess, and its 99th percentile over groups.
        """
        wrong = ((self._everyone.predicted(x) > 0) != (self.data.y == 1)).astype(float)
        found = {}
        for part, rows in self.data.split.items():
            inside, error = self.members[rows], float(wrong[rows].mean())
            excess = inside.T @ wrong[rows] / inside.sum(axis=0) - error - EXCESS
            found[part] = error, float(excess.max()), float(np.quantile(excess, 0.99))
        return found
