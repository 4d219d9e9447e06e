"""Data sets and their loaders; no file is read, as a wrong choice is found before."""

import numpy as np

from equipoise import datasets
from equipoise.datasets import Dataset, make_census
from tests.inputs.zoo import also, count, flag, optional, positive, share, strict, text

DATA = make_census(40).divide(train=1, test=1)
column = optional(strict(np.zeros(2, int)))
column = also(column, "array with NaN", "array of complex", "array of objects")  # of any type


RIGHT = object()  # stands for a right choice, with which a file would be read


def loader(function, **parameters):
    """An example of a loader, which is walked through wrong choices alone."""

    def load(**given):
        wrong = {name: value for name, value in given.items() if value is not RIGHT}
        return function(**wrong) if wrong else None

    return load, parameters


frame = {
    "name": text("mine"),
    "X": strict(np.zeros((2, 1))),
    "y": strict(np.zeros(2, int)),
    "groups": column,
    "feature_names": strict(("a",)),
    "target_names": also(strict(("no", "yes")), "list of text"),
    "attributes": strict({}),
    "query": column,
    "split": strict({}),
    "note": text(""),
}
EXAMPLES = {
    "datasets.Dataset": (Dataset, frame),
    "datasets.Dataset.divide": (
        DATA.divide,
        {"seed": count(0), "train": positive(1.0), "test": positive(1.0)},
    ),
    "datasets.Dataset.part": (DATA.part, {"name": strict("train")}),
    "datasets.Dataset.rows": (
        DATA.rows,
        {"index": also(strict([0, 1]), "empty array", "empty list")},
    ),
    "datasets.load": (lambda name: datasets.load(name, n=10), {"name": strict("census")}),
    "datasets.make_census": (
        make_census,
        {"n": count(10), "seed": count(0), "include_sensitive": flag(True)},
    ),
    "datasets.intersectional_groups": (
        datasets.intersectional_groups,
        {
            "dataset": strict(DATA),
            "attributes": strict(("merit",)),
            "quantiles": also(strict((0.25, 0.5)), "long array"),
            "least_share": share(0.01),
        },
    ),
}
EXAMPLES |= {
    f"datasets.{name}": loader(getattr(datasets, name), **{parameter: strict(RIGHT)})
    for name, parameter in (
        ("load_adult", "variant"),
        ("load_bank", "variant"),
        ("load_loans", "variant"),
        ("load_segment", "form"),
        ("load_usps", "form"),
    )
}
EXAMPLES |= {
    "datasets.load_communities": loader(datasets.load_communities),
    "datasets.load_pendigits": loader(datasets.load_pendigits),
    "datasets.load_compas": loader(
        datasets.load_compas, variant=strict(RIGHT), drop_unknown=flag(RIGHT)
    ),
    "datasets.load_mslr": loader(
        datasets.load_mslr, quality=strict(RIGHT), folder=optional(strict(RIGHT))
    ),
}
