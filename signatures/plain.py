"""Plain signatures: one sentence and the names and types of the fields, as one writes them without trying anything."""

from __future__ import annotations

import re

import dspy

_FIRST = re.compile(r".*?[.:](?=\s|$)", re.DOTALL)


def plain(signature: type[dspy.Signature]) -> type[dspy.Signature]:
    """A signature with the first sentence of its instruction, and with fields that are not described."""
    text = signature.instructions.strip()
    first = _FIRST.match(text)
    found: type[dspy.Signature] = signature.with_instructions(
        " ".join((first[0] if first else text).split()).rstrip(":")
    )
    for name in signature.fields:
        found = found.with_updated_fields(name, desc=f"${{{name}}}")  # DSPy's own, which says nothing
    found.__name__ = signature.__name__  # traces name the step by it
    return found
