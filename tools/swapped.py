"""Change functions of modules that are imported already, by giving them other code.

That spares a trial the import of the library and of its tests. What was computed while they were imported
stays as it was, so it does for functions only that no import calls.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

ROOT = Path(__file__).parents[1]


def swap(path: str, changed: CodeType) -> bool:
    """Give the function that was changed its new code; False where it is not found."""
    file = ROOT / path
    codes = _outermost(compile(file.read_text(), str(file), "exec", dont_inherit=True))
    pairs = zip(codes, _outermost(changed), strict=True)
    # Later functions may only have moved to other lines.
    old, new = next((old, new) for old, new in pairs if old != new)
    found = [f for f in functions_by_file()[str(file)] if f.__code__ == old]
    if len(found) != 1 or old.co_freevars != new.co_freevars:
        return False
    found[0].__code__ = new
    return True


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of the outermost functions of a module, also of those in its classes."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            is_function = part.co_flags & 2  # CO_NEWLOCALS: the body of a class has none
            yield from (part,) if is_function else _outermost(part)


@cache
def functions_by_file() -> dict[str, list[FunctionType]]:
    """Return the functions that there are, by the file they are from."""
    found = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType:  # asking others for their class may have effects
            found[str(Path(thing.__code__.co_filename))].append(thing)
    return found
