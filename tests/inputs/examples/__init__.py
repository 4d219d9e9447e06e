"""For every public callable: valid arguments, and of which kind each of them is.

A new public name needs an example here (or a line in `records.py`, if users never make one).
"""

from tests.inputs.examples import (
    auditing,
    baselines,
    constraints,
    datasets,
    estimators,
    methods,
    metrics,
    models,
    modules,
    problems,
    rows,
    run,
    sets,
    solvers,
    terms,
)

EXAMPLES = {
    name: example
    for package in (
        auditing,
        baselines,
        constraints,
        datasets,
        estimators,
        methods,
        metrics,
        models,
        modules,
        problems,
        rows,
        run,
        sets,
        solvers,
        terms,
    )
    for name, example in package.EXAMPLES.items()
}
"""By name: what is called, and its arguments."""
