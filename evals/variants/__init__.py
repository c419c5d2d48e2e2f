"""Harder versions of question sets, made by the project: seeded, each change noted."""
