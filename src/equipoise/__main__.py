"""``python -m equipoise``."""

from equipoise._cli import main

main()
