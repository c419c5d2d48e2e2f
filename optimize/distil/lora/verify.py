"""Whether a reply of the answering step is right, by the text of its prompt alone.

The right reply is known (`optimize.traces.gold`). So neither the graph nor a program is needed, and replies can be
verified where a model is trained. An answer that has to be computed is computed from the cited facts, for both replies
in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from triplecheck.kg import Literal as Value
from triplecheck.kg import normalize
from triplecheck.kg.values import quantity
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.reasoning import Gap, reasoning_gap
from triplecheck.optimize.traces.verification import as_in_facts
from triplecheck.signatures.notation import WrittenFact, read_facts

Problem = Literal["cut", "unreadable", "wrong", "incomplete", "not_cited", "not_computed"] | Gap
"""Why a reply is rejected.

`cut`: it ended at its length limit; `unreadable`: it is not in the form that was asked for; `wrong`: no answer is
right; `incomplete`: some answers are missing or wrong; `not_cited`: an answer is in no cited fact, or nothing is
answered and a fact is cited; `not_computed`: the operation runs over other facts than those that prove the answer; or
what the reasoning leaves out (`optimize.traces.reasoning`).
"""


def problem_of_reply(row: TraceRow, outputs: Mapping[str, Any]) -> Problem | None:
    """Why a reply is rejected as a training row; None: it is right, and its citations and its reasoning prove it.

    Args:
        row: the inputs of the step and the right outputs.
        outputs: of the reply, by field.
    """
    return problem_of_answer(row, outputs) or _unproved(row, outputs) or reasoning_gap(row.inputs, outputs)


def problem_of_answer(row: TraceRow, outputs: Mapping[str, Any]) -> Literal["wrong", "incomplete"] | None:
    """Why the answer of a reply is not the right one; None: it is."""
    facts = _facts(row)
    given, wanted = answers_of(facts, outputs), answers_of(facts, row.outputs)
    if given == wanted:
        return None
    return "incomplete" if given & wanted else "wrong"


def first_is_right(row: TraceRow, outputs: Mapping[str, Any]) -> bool:
    """Hits@1 of a reply: whether its first answer is right; of computed answers, whether all are."""
    facts = _facts(row)
    written = _written(facts, outputs)
    if not written:
        return problem_of_answer(row, outputs) is None
    return written[0] in answers_of(facts, row.outputs)


def _facts(row: TraceRow) -> list[WrittenFact]:
    return read_facts(map(str, row.inputs["facts"]))


def _unproved(row: TraceRow, outputs: Mapping[str, Any]) -> Literal["not_cited", "not_computed"] | None:
    facts, right = _facts(row), row.outputs
    cited, proof = cited_of(facts, outputs), cited_of(facts, right)
    if not answers_of(facts, right):
        return "not_cited" if cited or outputs["operation"] != "none" else None
    if right["operation"] != "none":
        # Each condition, or each value that is compared or counted, must be among the cited facts, and no other value.
        same = _ends(cited) == _ends(proof)
        alike = outputs["operation"] == right["operation"] or right["operation"] == "common"
        return None if same and alike else "not_computed"
    held = {normalize(text) for fact in cited for text in (fact.anchor, *fact.values)}
    return None if cited and answers_of(facts, outputs) <= held else "not_cited"


def answers_of(facts: Sequence[WrittenFact], outputs: Mapping[str, Any]) -> frozenset[str]:
    """The answers of a reply, comparable: as written, else as computed."""
    if written := _written(facts, outputs):
        return frozenset(written)
    ends = [fact for fact in cited_of(facts, outputs) if fact.values]
    return frozenset(map(normalize, _computed(str(outputs["operation"]), _terminal(ends))))


def _written(facts: Sequence[WrittenFact], outputs: Mapping[str, Any]) -> list[str]:
    answers = as_in_facts(map(str, outputs["answers"]), cited_of(facts, outputs), facts)
    return [text for answer in answers if (text := normalize(answer))]


def _computed(operation: str, facts: Sequence[WrittenFact]) -> set[str]:
    """What an operation gives over facts in words; empty if it gives nothing."""
    values = [set(fact.values) for fact in facts]
    if not values:
        return set()
    match operation:
        case "count":
            return {str(len(set.union(*values)) + (facts[0].more if len(facts) == 1 else 0))}
        case "max" | "min":
            return _extreme(facts, largest=operation == "max")
        case "common" if len(facts) > 1:
            return set.intersection(*_united(facts))
        case "same" if len(facts) > 1:
            return {"yes" if set.intersection(*_united(facts)) else "no"}
        case "sum" | "difference":
            return {f"{operation} of {', '.join(sorted(set.union(*values)))}"}
    return set()


def _extreme(facts: Sequence[WrittenFact], *, largest: bool) -> set[str]:
    """The things with the extreme value; the value itself if all values are of one thing."""
    several = len({fact.anchor for fact in facts}) > 1
    sizes = [
        (size, fact.anchor if several else value)
        for fact in facts
        for value in fact.values
        if (size := quantity(Value(value))) is not None
    ]
    if len({size.kind for size, _ in sizes}) != 1:
        return set()
    best = (max if largest else min)(size for size, _ in sizes)
    return {name for size, name in sizes if size == best}


def _united(facts: Sequence[WrittenFact]) -> list[set[str]]:
    """The values of each condition: those of facts that follow the same relation are united, if there is another."""
    by_hop: dict[object, set[str]] = {}
    for fact in facts:
        by_hop.setdefault(fact.hop, set()).update(fact.values)
    return list(by_hop.values()) if len(by_hop) > 1 else [set(fact.values) for fact in facts]


def cited_of(facts: Sequence[WrittenFact], outputs: Mapping[str, Any]) -> list[WrittenFact]:
    """The facts that a reply cites."""
    numbers = set(outputs["cited"])
    return [fact for fact in facts if fact.number in numbers]


def _terminal(facts: Sequence[WrittenFact]) -> list[WrittenFact]:
    """Each fact once, without those that only lead to the things that others are about."""
    once = list({(fact.anchor, fact.hop, fact.values): fact for fact in facts}.values())
    anchors = {fact.anchor for fact in once}
    ends = [fact for fact in once if not set(fact.values) <= anchors - {fact.anchor}]
    return ends or once


def _ends(facts: Sequence[WrittenFact]) -> set[object]:
    return {(fact.anchor, fact.hop, fact.values) for fact in _terminal(facts)}
