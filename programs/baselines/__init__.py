"""Simpler programs behind the same interface, to compare the systems with."""
