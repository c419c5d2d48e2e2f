"""Triples as language models write them, one a line: number of the text | head | relation | tail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.kg import normalize
from triplecheck.kg.plausibility import TextTriple
from triplecheck.programs.steps import Checked, Trace

_SEPARATOR = "|"
_MARKS = " \t[]().*•-–—\"'`"


def read_triples(lines: Iterable[str], texts: Sequence[str]) -> tuple[list[list[TextTriple]], list[str]]:
    """The triples of each text, each once, in order; and the lines that are none.

    A triple that was broken over several lines is put together again. One without a number is of the only
    text, else of the first that has its head and tail.

    Args:
        lines: as the model wrote them.
        texts: what they were extracted from, numbered from 1.
    """
    found: list[dict[TextTriple, None]] = [{} for _ in texts]
    refused = []
    for line in _whole(lines):
        parts = [part.strip() for part in line.strip(_SEPARATOR + " ").split(_SEPARATOR)]
        number = _number(parts[0]) if len(parts) == 4 else None
        triple = (parts[-3], parts[-2], parts[-1]) if len(parts) == 3 or number is not None else None
        if triple is None or not all(normalize(part) for part in triple):
            refused.append(line)
            continue
        if number is None:
            number = _text_of(triple, texts)
        if number is None or not 1 <= number <= len(texts):
            refused.append(line)
        else:
            found[number - 1][triple] = None
    return [list(triples) for triples in found], refused


def triples_of(lines: Sequence[str], texts: Sequence[str], trace: Trace) -> list[list[TextTriple]]:
    """As `read_triples`; lines that are no triples are noted in the trace."""
    found, refused = read_triples(lines, texts)
    if refused:
        trace.add(Checked("triples", False, f"{len(refused)} of {len(lines)} lines are none: {'; '.join(refused)}"))
    return found


def write_triple(triple: TextTriple, number: int | None = None) -> str:
    """A triple on one line."""
    parts = [part.replace(_SEPARATOR, " ") for part in triple]
    return f" {_SEPARATOR} ".join([*([] if number is None else [str(number)]), *parts])


def _whole(lines: Iterable[str]) -> list[str]:
    """Lines, each with those that go on with it: one of the two has a separator where they meet."""
    whole: list[str] = []
    for line in lines:
        if whole and (whole[-1].endswith(_SEPARATOR) or line.startswith(_SEPARATOR)):
            whole[-1] = f"{whole[-1].rstrip(_SEPARATOR + ' ')} {_SEPARATOR} {line.lstrip(_SEPARATOR + ' ')}"
        else:
            whole.append(line)
        # A closing separator after the last part opens nothing.
        if whole[-1].strip(_SEPARATOR + " ").count(_SEPARATOR) >= 3:
            whole[-1] = whole[-1].rstrip(_SEPARATOR + " ")
    return whole


def _number(text: str) -> int | None:
    plain = text.strip(_MARKS)
    return int(plain) if plain.isdecimal() else None


def _text_of(triple: TextTriple, texts: Sequence[str]) -> int | None:
    if len(texts) == 1:
        return 1
    ends = [f" {normalize(end)} " for end in (triple[0], triple[2])]
    having = (at for at, text in enumerate(texts, 1) if all(end in f" {normalize(text)} " for end in ends))
    return next(having, None)
