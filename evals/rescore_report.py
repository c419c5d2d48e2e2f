"""What `rescore` found, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from triplecheck.evals.released import Unscored
from triplecheck.evals.rescore import LENIENT, STRICT, Rescored

_NAMES = {
    "exact_match": "exact match (SQuAD)",
    "token_f1": "token F1 (SQuAD)",
    "hits_at_1": "Hits@1",
    "f1": "F1 of answers",
    LENIENT: "one text a part of the other (ToG, PoG)",
}
_SHOWN = 5


def report(found: Rescored) -> str:
    """Scores with their intervals, strict ones first; what was empty; what was not scored and why."""
    return "\n".join(_lines(found))


def _lines(found: Rescored) -> Iterator[str]:
    yield f"{found.path}: {found.read} rows, {found.scored} scored"
    yield ""
    width = max(map(len, _NAMES.values()))
    yield f"{'':8} {'':{width}}  {'mean':>6}  95% interval"
    for kind, names in (("strict", STRICT), ("lenient", (LENIENT,))):
        for name in names:
            score = found.scores[name]
            yield f"{kind:8} {_NAMES[name]:{width}}  {score.mean:6.3f}  {score.low:.3f} - {score.high:.3f}"
            kind = ""
    yield ""
    yield f"empty predictions: {found.empty} (right by the lenient score: {found.lenient_on_empty})"
    if found.without_braces:
        yield f"without an answer in braces: {found.without_braces} (their whole text was taken)"
    if found.unpredicted:
        yield f"gold questions without a row: {found.unpredicted} (in no score)"
    if found.unscored:
        yield f"rows that are not scored: {len(found.unscored)}"
        yield from _reasons(found.unscored)


def _reasons(unscored: tuple[Unscored, ...]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for one in unscored:
        by_reason.setdefault(one.reason, []).append(one.place)
    for reason, places in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        yield f"  {', '.join(places[:_SHOWN])}{more}: {reason}"
