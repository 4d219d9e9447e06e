"""Problems of Hock & Schittkowski (1981), and a race on them: ``python -m benchmarks.hock_schittkowski``."""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.hock_schittkowski.case import COLLECTION, Case

__all__ = ["COLLECTION", "Case"]

for module in iter_modules(__path__):
    if module.name.startswith("numbers_"):  # the files that put problems into the collection
        import_module(f"{__name__}.{module.name}")
