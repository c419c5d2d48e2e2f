"""Measurements of Triplecheck beside its peers: `python -m bench`. Not tests: nothing fails on a slow machine."""
