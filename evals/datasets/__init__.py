"""Benchmarks: published data sets by name, and those in a folder."""
