"""Every public callable refuses wrong values by name, whatever they are and wherever they stand."""

import inspect
from enum import Enum

import pytest

from tests.inputs.examples import EXAMPLES
from tests.inputs.examples.records import RECORDS
from tests.inputs.walk import faults
from tools.api_reference import public_packages

OMITTED = {
    "Comparison": {"expression", "denominator"},  # made by comparing rates
    "MemorySums": {"table"},  # made by the table itself, as `MemoryTable.row_sums`
    "BlockSums": {"table"},  # the same
    "bind": {"options"},  # those of `bind_table`
    "load": {"options"},  # those of the loader
}
"""Parameters that no example has, and why."""


def _callables():
    """Return every public callable that can be called, by its name."""
    found = {}
    for package in public_packages():
        for name in package.__all__:
            value = getattr(package, name)
            abstract = inspect.isabstract(value) or getattr(value, "_is_protocol", False)
            closed = inspect.isclass(value) and issubclass(value, BaseException | Enum)
            if callable(value) and not abstract and not closed:
                found[name] = value
    return found


CALLABLES = _callables()
OF_CALLABLES = {key.split(".")[-1]: arguments for key, (_, arguments) in EXAMPLES.items()}


def test_every_public_callable_has_an_example_or_is_a_record():
    missing = sorted(CALLABLES.keys() - OF_CALLABLES.keys() - RECORDS)
    assert not missing, f"add valid arguments to tests/inputs/examples for {missing}"
    gone = sorted(RECORDS - CALLABLES.keys())
    assert not gone, f"take {gone} out of tests/inputs/examples/records.py"


@pytest.mark.parametrize("name", sorted(CALLABLES.keys() & OF_CALLABLES.keys() - RECORDS))
def test_every_parameter_has_an_example(name):
    known = set(OF_CALLABLES[name]) | OMITTED.get(name, set())
    assert set(inspect.signature(CALLABLES[name]).parameters) == known


USED_BY_HAND = ["ConstrainedOptimizer", "GroupBatchSampler", "LearningProblem"]
"""Classes besides the estimators whose methods users call; those of others are called by the library."""

SPARED = {
    # of scikit-learn, which checks nothing
    *("get_params", "set_params", "zero_grad"),
    # parts of the contract of problems, which the library calls with what it has checked
    *("kinks", "label", "sample", "smoothed", "true_values", "values_of", "recombined", "of"),
}


@pytest.mark.parametrize(
    "name",
    [n for n, c in CALLABLES.items() if hasattr(c, "fit") or n in USED_BY_HAND],
)
def test_every_method_that_users_call_has_an_example(name):
    known = {tuple(key.split(".")[-2:]) for key in EXAMPLES}
    for method, function in inspect.getmembers(CALLABLES[name], inspect.isfunction):
        own = not (method.startswith("_") or method in SPARED or method.endswith("_request"))
        if own and len(inspect.signature(function).parameters) > 1:
            assert (name, method) in known


@pytest.mark.parametrize("name", EXAMPLES)
def test_wrong_values_are_refused_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a path may be any text
    call, arguments = EXAMPLES[name]
    call(**{parameter: arg.value for parameter, arg in arguments.items()})
    found = list(faults(name, call, arguments))
    assert not found, "\n".join(found)
