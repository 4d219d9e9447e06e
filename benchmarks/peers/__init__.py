"""Equipoise beside what a user would pick instead; run with ``python -m benchmarks.peers``."""
