"""The fit of a network: train it, then hand its features over to the fit of a linear model."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints import Binding, bind_table
from equipoise.constraints._rules import needing, one_or_several
from equipoise.estimators._counted import Candidate
from equipoise.estimators._promise.apart import KeptApart
from equipoise.estimators._promise.parts import HoldingOut, Parts, holds_out
from equipoise.estimators._promise.walk import Walk
from equipoise.estimators._runner import seed_of
from equipoise.estimators._task import Task
from equipoise.rows import MemoryTable, Table
from equipoise.run import Budget
from equipoise.terms import Scores, ScoreSum
from equipoise.torch._cells import RowCells
from equipoise.torch._default_network import default_network, usual_widths
from equipoise.torch._net_features import Body
from equipoise.torch._net_judge import Judge
from equipoise.torch._net_rows import TRIED_ROWS, as_rows, centre_and_scale
from equipoise.torch._net_training import Settings, train

# Batches and epochs where the user gives none; `ConstrainedNetClassifier` says which. Chosen.
BATCHES_PER_EPOCH, LEAST_BATCH, MOST_BATCH = 64, 32, 512
EPOCHS, LEAST_STEPS = 30, 1500


class NetFit:
    """One fit of a `ConstrainedNetClassifier` to a table of rows."""

    def __init__(
        self,
        estimator: Any,
        task: Task,
        table: MemoryTable,
        groups: Any,
        validation: MemoryTable | None = None,
    ) -> None:
        self.estimator, self.task, self.validation = estimator, task, validation
        self.seed = seed_of(estimator.random_state)
        self.parts = self._parts(table, groups)
        self.table = table if self.parts is None else self.parts.training
        self.body: Any = None
        self.epochs: tuple[Any, ...] = ()
        self.X: Any = None

    def learn(self, budget: Budget) -> tuple[Table, Walk | KeptApart | None]:
        """Train the network; return the rows with its features, and the walk of a promise.

        1. standardise the rows, and make the network, with random numbers of its own
        2. bind the rules to the rows, and train under them
        3. take the features of all rows, those held out among them
        """
        import torch

        owner, table, task = self.task.owner, self.table, self.task
        self.units = centre_and_scale(table.X, table.weights())  # 1
        with torch.random.fork_rng(enabled=True):
            torch.manual_seed(self.seed)
            module = self._module(table)
            self.X = as_rows(table.X, *self.units, module)
            Body.of(owner, module, self.X[:TRIED_ROWS])
            binding, sums = self._bound(table, task.min_cell, task.small_cells)  # 2
            settings = self._settings(table.n_rows)
            combination, cells = binding.combination, RowCells(owner, table).rows
            judge = self._judge(module)
            found = train(owner, module, self.X, sums, combination, cells, settings, budget, judge)
        self.epochs = tuple(found)
        if self.estimator.module is None:  # small: double precision costs nothing, and rounds less
            module = module.double()
            self.X = as_rows(table.X, *self.units, module)
        self.body = Body.of(owner, module, self.X[:TRIED_ROWS])  # 3
        learnt = table.with_features(self.body.arrays(self.X))
        if self.validation is not None:
            return learnt, KeptApart(self._learnt(self.validation))
        if self.parts is None:
            return learnt, None
        parts = Parts(learnt, self._learnt(self.parts.testing))
        return learnt, Walk(owner, parts, self.estimator.confidence)

    def _learnt(self, other: MemoryTable) -> MemoryTable:
        """Return other rows with the features that were learnt."""
        X = as_rows(other.X, *self.units, self.body.module)
        return other.with_features(self.body.arrays(X))

    def _bound(
        self, table: MemoryTable, min_cell: int, small_cells: str
    ) -> tuple[Binding, ScoreSum]:
        """Bind the rules to rows, with the weights of the task."""
        task, weighted = self.task, self.task.weighted(table)
        binding = bind_table(
            _without_budgets(task.constraints),
            weighted,
            objective=task.objective,
            min_cell=min_cell,
            small_cells=small_cells,
            owner=task.owner,
        )
        return binding, weighted.score_sums(binding.specs)

    def _judge(self, module: Any) -> Judge | None:
        """Return what tells the best epoch by validation rows; None without any."""
        if self.validation is None:
            return None
        binding, sums = self._bound(self.validation, 2, "skip")
        X = as_rows(self.validation.X, *self.units, module)
        return Judge(self.task.owner, X, sums, binding.combination, np.arange(len(X)))

    def finish(self, fit: Candidate) -> None:
        """Give the estimator its network, with the last layer that was fitted, and say what is certified."""
        own, body = self.estimator, self.body
        residual = self._residual(fit)
        body.put(own.coef_, own.intercept_)
        centre, scale = self.units
        detail = (
            "The certificate is that of the last layer, given the features of the network; the "
            f"gradient with respect to all parameters of the network has the norm {residual:.2g}."
        )
        result = own.result_.judged(own.result_.verdict.with_detail(detail))
        vars(own).update(
            module_=body.module,
            _body=body,
            center_=centre,
            scale_=scale,
            epochs_=self.epochs,
            network_residual_=residual,
            result_=result,
        )

    def _residual(self, fit: Candidate) -> float:
        """Return the norm of the Lagrangian's gradient with respect to all parameters; NaN if not known."""
        rows: Any = fit.problem.rows
        lam, n = fit.result.multipliers, self.table.n_rows
        model = getattr(rows, "model", None)
        if model is None or rows.n_rows != n or lam.size != fit.problem.n_constraints:
            return math.nan
        point = rows.sums.at(Scores(model.scores(fit.x)))
        weights = point.slope(fit.problem.combination.at(point.values).pull(np.r_[1.0, lam]))
        order = None if rows.table is None else rows.table.order
        if order is not None:
            given = np.empty(n)
            given[order] = weights
            weights = given
        sign = -1.0 if self.estimator._positive_is_first else 1.0
        return float(self.body.gradient_norm(self.X, weights, sign * self.estimator.coef_[0]))

    def _parts(self, table: MemoryTable, groups: Any) -> Parts | None:
        """Return the rows to train on and those held out; None without a promise."""
        own, owner = self.estimator, self.task.owner
        if not holds_out(owner, own.confidence, own.constraints, groups):
            return None
        return Parts.of(owner, table, HoldingOut(own.held_out, own.ordered, groups, self.seed))

    def _module(self, table: MemoryTable) -> Any:
        """Return the network to train, on its device: the default one, or a copy of the user's."""
        import torch

        own, owner = self.estimator, self.task.owner
        try:
            device = torch.device(own.device)
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            reason = f"`device` {own.device!r} cannot be used: {error}"
            raise _check.InputError(owner, reason, "device") from None
        if own.module is None:
            return default_network(table.n_columns, self._widths(), float(own.dropout)).to(device)
        given = own.module
        made = given if isinstance(given, torch.nn.Module) or not callable(given) else given()
        if not isinstance(made, torch.nn.Module):
            rule = "must be a torch.nn.Module, or a function without arguments that makes one"
            _check.fail(owner, "module", rule, made)
        module = deepcopy(made).to(device)
        if not any(p.requires_grad for p in module.parameters()):
            _check.fail(owner, "module", "must have parameters that require gradients", made)
        return module

    def _widths(self) -> tuple[int, ...]:
        given, owner = self.estimator.hidden_layer_sizes, self.task.owner
        if given is None:
            return usual_widths(self.table.n_rows)
        return tuple(_check.count(owner, "hidden_layer_sizes", width, least=1) for width in given)

    def _settings(self, n: int) -> Settings:
        own = self.estimator
        usual = int(
            np.clip(2 ** round(math.log2(max(n / BATCHES_PER_EPOCH, 1))), LEAST_BATCH, MOST_BATCH)
        )
        batch = min(own.batch_size or usual, n)
        epochs = own.max_epochs or max(EPOCHS, math.ceil(LEAST_STEPS * batch / n))
        return Settings(
            float(own.learning_rate),
            batch,
            int(epochs),
            own.patience,
            float(own.validation_fraction),
            float(own.weight_decay),
            self.seed,
        )


def _without_budgets(constraints: Any) -> Any:
    """Return the rules that do not refer to the loss of a model without constraints."""
    budgets = needing(constraints, "best_loss")
    if not budgets:
        return constraints
    return [
        rule
        for rule in one_or_several(constraints)
        if all(rule is not budget for budget in budgets)
    ]
