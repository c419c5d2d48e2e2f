"""Patterns: the gold paths as triple patterns, and scores that separate right answers from other candidates."""

from __future__ import annotations

from triplecheck.kg import Direction, Name, Pattern, Variable
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.exploration import named_topics
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.programs.triplets import write_triplet
from triplecheck.signatures.notation import clean, is_relation, read_relation

_TARGET, _BETWEEN, _VALUE = "x", "y", "v"
_RIGHT, _WRONG = "1 fits", "0 no"


def write_triplets(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The patterns of the gold paths."""
    lines, taught = _patterns(known, prompt)
    return GoldReply({"triplets": lines, "answer": f"?{_TARGET}"}, taught=taught)


def score_candidates(known: KnownGold, prompt: Prompt) -> GoldReply:
    """1 for the right answers, 0 for the others."""
    lines = prompt.items("candidates")
    right = [_is_right(known, line) for line in lines]
    verdicts = [f"{number}: {_verdict(one)}" for number, one in enumerate(right, 1)]
    return GoldReply({"verdicts": verdicts}, taught=_told_apart(known, lines, right))


def score_candidate(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The same for one candidate."""
    score, _, reason = _verdict(_is_right(known, prompt.text("candidate"))).partition(" ")
    return GoldReply({"score": float(score), "reason": reason})


def _patterns(known: KnownGold, prompt: Prompt) -> tuple[list[str], bool]:
    """The patterns, and whether they follow from the prompt: it must list all of their relations.

    There are none if no path is known, or if the question names the answer (which of two).
    """
    paths: dict[int, GoldPath] = {}
    for path in known.paths:
        paths.setdefault(path.topic, path)
    offered = prompt.items("relations")
    names = dict(named_topics(known, prompt))
    lines: dict[str, None] = {}
    listed = bool(paths)
    for path in paths.values():
        if path.topic not in names or (known.measured and len(path.hops) == 1):
            return [], False
        ends = _ends(known, path, names[path.topic], len(lines))
        for start, hop, end in zip(ends, path.hops, ends[1:], strict=False):
            label = clean(known.graph.relation(hop.relation).label)
            listed &= any(is_relation(read_relation(line).label, label) for line in offered)
            head, tail = (start, end) if hop.direction is Direction.OUT else (end, start)
            lines[write_triplet(Pattern(head, label, tail))] = None
    return list(lines), listed


def _ends(known: KnownGold, path: GoldPath, name: str, taken: int) -> list[Name | Variable]:
    """The nodes of a path: its topic, unknowns, and the unknown that is asked for."""
    between: list[Name | Variable] = [Variable(f"{_BETWEEN}{taken + i}") for i in range(1, len(path.hops))]
    if known.measured:
        return [Name(name), *between[:-1], Variable(_TARGET), Variable(_VALUE)]
    return [Name(name), *between, Variable(_TARGET)]


def _is_right(known: KnownGold, candidate: str) -> bool:
    labels = [clean(known.graph.label(node)) for node in known.answers]
    return any(candidate == label or candidate.startswith((f"{label} (", f"{label}. ")) for label in labels)


def _told_apart(known: KnownGold, lines: list[str], right: list[bool]) -> bool:
    """Whether names identify the right candidates; homonyms of an answer make that impossible."""
    return sum(right) <= len(known.answers) and (known.computed is None) and bool(lines)


def _verdict(right: bool) -> str:
    return _RIGHT if right else _WRONG
