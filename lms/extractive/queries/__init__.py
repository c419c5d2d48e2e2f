"""Writes queries without a language model: the parse of the question says what is joined, compared and counted."""

from triplecheck.lms.extractive.queries.writing import write_query

__all__ = ["write_query"]
