"""Write the guarantee table: ``python -m equipoise.solvers docs/guarantees.md``."""

import argparse
from pathlib import Path

from equipoise.solvers import guarantee_page

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m equipoise.solvers", description=__doc__)
    parser.add_argument("page", type=Path, help="the file to write")
    page = parser.parse_args().page
    if page.is_dir() or not page.parent.is_dir():
        parser.error(f"`page` must be a file in a folder that exists, got {page}.")
    page.write_text(guarantee_page(), encoding="utf-8")
