"""Benchmarks of Triplecheck and comparable libraries: `python -m bench`. They do not fail on a slow machine."""
