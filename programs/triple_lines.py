"""Triples as language models write them, one a line: number of the text | head | relation | tail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.kg import normalize
from triplecheck.kg.plausibility import TextTriple
from triplecheck.signatures import notation


def read_triples(lines: Iterable[str], texts: Sequence[str]) -> tuple[list[list[TextTriple]], list[str]]:
    """The triples of each text, in order and without duplicates; and the lines that are not triples.

    A triple that was broken over several lines is joined. If there is one text, all triples belong to it; otherwise one
    without a number belongs to the first text that contains its head and tail.

    Args:
        texts: what they were extracted from, numbered from 1.
    """
    found: list[dict[TextTriple, None]] = [{} for _ in texts]
    refused = []
    for line in notation.read_triples(lines):
        if line.triple is None or not all(normalize(part) for part in line.triple):
            refused.append(line.text)
            continue
        number = _text_of(line.triple, texts) if line.number is None or len(texts) == 1 else line.number
        if number is None or not 1 <= number <= len(texts):
            refused.append(line.text)
        else:
            found[number - 1][line.triple] = None
    return [list(triples) for triples in found], refused


def _text_of(triple: TextTriple, texts: Sequence[str]) -> int | None:
    if len(texts) == 1:
        return 1
    ends = [f" {normalize(end)} " for end in (triple[0], triple[2])]
    having = (at for at, text in enumerate(texts, 1) if all(end in f" {normalize(text)} " for end in ends))
    return next(having, None)
