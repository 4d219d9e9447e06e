"""Rules, rates, and binding them to rows."""

import numpy as np

from equipoise import constraints
from equipoise.constraints import Each, rate
from tests.inputs.examples.shared import GROUPS, PARITY, TABLE, Y
from tests.inputs.zoo import (
    also,
    count,
    flag,
    function,
    label,
    non_negative,
    optional,
    positive,
    real,
    share,
    strict,
    text,
    told_as,
)

group = optional(label("f"))
group = also(group, "dict")  # {column: value}
groups = optional(strict(("f", "m")))
plain = "list of text", "array of objects", "array of complex", "long array"  # any values will do
groups = also(groups, *plain)
column = optional(also(text("sex"), "negative", "huge integer", "list of text"))
each = {"column": column, "groups": groups, "intersections": strict(False)}
parity = {"bound": share(0.1), "reference": strict("mean"), **each}
loss = optional(strict("logistic"))
predictions = also(strict(Y), "list of text", "long array")  # any labels


def rule(name, /, **arguments):
    """Return an example of a callable of this package."""
    return f"constraints.{name}", (getattr(constraints, name), arguments)


def compared(**arguments):
    """Make a comparison of a rate, as the algebra of rates does."""
    return constraints.Comparison(rate("positive"), **arguments)


EXAMPLES = dict(
    [
        *(
            rule(name, **parity)
            for name in ("demographic_parity", "equal_opportunity", "equalized_odds")
        ),
        *(rule(name, **parity) for name in ("false_positive_parity", "false_negative_parity")),
        rule("bounded_group_loss", at_most=non_negative(0.5), loss=loss, **each),
        rule("group_loss", excess=non_negative(0.5), loss=loss, mode=strict("all"), **each),
        rule("coverage", at_least=share(0.5), at_most=optional(strict(None)), group=group),
        *(
            rule(name, at_least=share(0.5), group=group)
            for name in ("recall", "precision", "f_score")
        ),
        *(
            rule(name, at_most=share(0.5), group=group)
            for name in ("error_rate", "false_positive_rate", "false_negative_rate")
        ),
        rule("churn", at_most=share(0.5), reference=predictions, group=group),
        rule(
            "minority_coverage", c=share(0.2), group=also(label("f"), "dict"), normalise=flag(True)
        ),
        rule("parity_pair", r=positive(1.0), beta=non_negative(1.0), groups=groups, column=column),
        rule("loss_budget", kappa=non_negative(0.1), loss=loss),
        rule(
            "custom",
            function=function(lambda s, y, g: (0.0, s)),
            name=optional(text("mine")),
            smooth=flag(True),
        ),
        rule("unfairness", notion=strict("demographic_parity"), reference=strict("mean"), **each),
        rule(
            "rate",
            kind=strict("positive"),
            group=group,
            label=optional(label(1)),
            per=optional(strict("all")),
            loss=optional(strict(None)),
            reference=optional(strict(None)),
        ),
        rule("auc", above=group, below=group),
        rule("pair_loss", loss=strict("logistic"), above=group, below=group),
        rule("auc_parity", kind=strict("inter"), bound=share(0.1), column=column, groups=groups),
        rule("Each", **each),
        rule("Subset", group=group, positive=optional(flag(True))),
        rule("AUCParity", kind=strict("inter"), bound=share(0.1), each=strict(Each())),
        rule(
            "Custom",
            function=function(lambda s, y, g: (0.0, s)),
            name=text("mine"),
            smooth=flag(True),
        ),
        rule(
            "Parity",
            name=text("mine"),
            kinds=strict(("positive",)),
            bound=share(0.1),
            reference=strict("mean"),
            each=strict(Each()),
        ),
        rule(
            "Comparison",
            sense=strict("<="),
            bound=real(0.5),
            absolute=flag(False),
            name=optional(text("mine")),
            factor=positive(1.0),
        ),
        rule("Quotient", numerator=strict(rate("positive")), denominator=strict(rate("positive"))),
        rule("Unfairness", parity=strict(PARITY)),
        rule(
            "bind",
            constraints=also(strict(PARITY), "empty list", "empty array"),
            y=told_as(strict(Y), "sample_weight"),  # of two that do not fit, the second is named
            sensitive_features=strict(GROUPS),
            sample_weight=optional(strict(np.ones(40))),
            objective_weight=optional(strict(np.ones(40))),
            classes=optional(strict((0, 1))),
        ),
        rule(
            "bind_table",
            constraints=also(strict(PARITY), "empty list", "empty array"),
            table=strict(TABLE),
            loss=strict("logistic"),
            objective=optional(strict(rate("loss"))),
            sharpness=positive(1.0),
            best_loss=optional(non_negative(0.5)),
            min_cell=count(2),
            small_cells=strict("skip"),
            undefined=strict("skip"),
            owner=text("bind"),
        ),
    ]
)
EXAMPLES["constraints.Comparison"] = (compared, EXAMPLES["constraints.Comparison"][1])
