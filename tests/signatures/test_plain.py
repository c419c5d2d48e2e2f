"""Plain signatures: a sentence, and fields without descriptions."""

from __future__ import annotations

import pytest

from triplecheck.signatures import STEPS, Step, step_of
from triplecheck.signatures.plain import plain


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_plain_signature_has_the_first_sentence_and_the_fields(step: type[Step]) -> None:
    found = plain(step)
    assert "\n" not in found.instructions and " ".join(step.instructions.split()).startswith(found.instructions[:-1])
    assert 10 < len(found.instructions) < 200
    assert list(found.fields) == list(step.fields) and step_of(found) is step and found.__name__ == step.__name__
    assert all(field.annotation == step.fields[name].annotation for name, field in found.fields.items())
    assert all(field.json_schema_extra["desc"] == f"${{{name}}}" for name, field in found.fields.items())
