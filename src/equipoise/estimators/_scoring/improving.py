"""The search for a model that predicts better at the same bounds: cheap, from the first fit on.

The mean logistic loss stands for the user's measure, and bounds are kept with a little room. So

1. other objectives are compared with the first one: all are fitted to a part of the rows, from the first fit
   on, and scored on the others
2. the best is fitted to all rows, with sigmoids as sharp as the first fit's or plain ones if these score
   better, and with neighbouring shifts, which use up the bounds; it takes the place of the first if it is
   certified, keeps all bounds by counting, and its score on all rows is not lower. Where none of these keeps
   the bounds, it goes through the stages of a first fit
3. where the first stays, it goes on with neighbouring shifts, as far as its score grows
"""

from __future__ import annotations

from equipoise._status import Status
from equipoise.estimators._chosen import Choice
from equipoise.estimators._counted import Unconstrained
from equipoise.estimators._scoring.contest import Contest, Fitted
from equipoise.estimators._scoring.measure import Scoring

# With more bounds no search is made: counted rates of many small groups jump, and one fit takes long. Chosen.
MOST_BOUNDS = 20

# With more columns no search is made: with 5,000 sparse ones, the fits to a part of the rows were measured to
# need more memory than the data. Chosen.
MOST_COLUMNS = 1000


def improved(
    measure: Scoring, first: Fitted, unconstrained: Unconstrained, fits_again: bool = False
) -> tuple[Fitted, Choice | None]:
    """Return the fit that predicts best, and how it was chosen; None where there is nothing to choose.

    Where the caller `fits_again`, only what to minimise is chosen. Where the budget ends, the best fit so
    far is returned with the reason as its status.
    """
    budget = first.training.runner.budget
    if not _is_open(first) or budget.wish is not None:
        return first, None
    contest = Contest(measure, first, unconstrained)
    try:
        contest.hold(fits_again)
    except KeyboardInterrupt:
        budget.stop(Status.INTERRUPTED)
    return contest.ended()


def _is_open(first: Fitted) -> bool:
    """Whether the objective is free to choose: there are counted bounds, and the user has not chosen it."""
    task, rules = first.training.task, first.binding.inequalities
    plain = task.loss == "logistic" and task.objective is None and not task.class_weight
    counted = task.true_metric and bool(rules) and all(row.counted for row in rules)
    counted = counted and len(rules) <= MOST_BOUNDS
    narrow = first.training.table.n_columns <= MOST_COLUMNS
    thresholds = first.problem.rows.uses_threshold and first.training.table.divisible
    return plain and counted and narrow and thresholds and first.fit.certified
