"""`expected_form`: an operation gives what the question asks for: yes or no, a date, a thing in place of its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecheck.kg import normalize
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.question import spelling
from triplecheck.programs.aggregation import EXTREMES
from triplecheck.programs.assists.doubts import asks_which
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.conclusion import Conclusion
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.subgraph import Fact


def meant_operation(assists: Assists, conclusion: Conclusion, operation: str) -> str:
    """The operation; what topics have in common is yes or no for a question that asks whether they share something."""
    if "expected_form" not in assists or operation != "common" or not conclusion.asked.asks_whether:
        return operation
    assists.note(conclusion.trace, "expected_form", "AnswerFromFacts", [operation], ["same"])
    return "same"


def is_meant(
    assists: Assists, conclusion: Conclusion, operation: str, operands: Sequence[Fact], written: Sequence[str]
) -> bool:
    """Whether there is something to compute.

    A model calls the answers that it writes from facts about one topic "common". One value is not the extreme one for a
    question that asks which thing has it.

    Args:
        assists: those in use.
        conclusion: what the model cited.
        operation: what it named.
        operands: the facts that it runs over.
        written: the answers that it wrote too.
    """
    problem = ""
    if operation == "common" and written and len({fact.path[0] for fact in operands}) == 1:
        problem = "the facts are about one topic, and the answers are written"
    elif operation in EXTREMES and sum(len(fact.values) for fact in operands) == 1:
        relation = conclusion.graph.relation(operands[0].hop.relation)
        if asks_which(conclusion.asked, relation):
            problem = "there is one value, and nothing to compare it with"
    if not problem or "expected_form" not in assists:
        return True
    conclusion.refuse(operation, problem)
    assists.note(conclusion.trace, "expected_form", "AnswerFromFacts", [operation], ["none"])
    return False


def values_of_one_fact(
    assists: Assists, conclusion: Conclusion, operation: str, operands: Sequence[Fact], written: Sequence[str]
) -> Outcome | None:
    """The values of the one fact whose values a model calls "common", if it writes no answer; else None."""
    if "expected_form" not in assists or operation != "common" or len(operands) != 1 or written:
        return None
    (fact,) = operands
    names = conclusion.graph.labels(list(fact.values))
    conclusion.refuse(operation, "there is one set of values, and all are the answer")
    assists.note(conclusion.trace, "expected_form", "AnswerFromFacts", [operation], names)
    evidence = conclusion.with_chains(operands, fact.triples())
    return Outcome(", ".join(names), fact.values, evidence, grounded=True)


def in_expected_form(
    assists: Assists, conclusion: Conclusion, operation: str, operands: Sequence[Fact], found: Outcome
) -> Outcome:
    """The result of an operation in the form that the question asks for."""
    if "expected_form" not in assists or operation not in EXTREMES:
        return found
    changed = whether(conclusion, operands, _when(conclusion, operands, found))
    assists.note(conclusion.trace, "expected_form", "AnswerFromFacts", [found.answer], [changed.answer])
    return changed


def _when(conclusion: Conclusion, operands: Sequence[Fact], found: Outcome) -> Outcome:
    """For "When was the first of her novels published?" the date in place of the novel."""
    values = tuple(value for fact in operands if fact.anchor in found.answers for value in fact.values)
    if conclusion.asked.asked.kind != "time" or len(values) != 1:
        return found
    size = quantity(value_of(conclusion.graph, values[0]))
    if size is None or not size.is_time:
        return found
    return replace(found, answer=conclusion.graph.label(values[0]), answers=values)


def whether(conclusion: Conclusion, operands: Sequence[Fact], found: Outcome) -> Outcome:
    """Yes or no, if the question expects that: whether the topic that it names first has the extreme value."""
    compared = {fact.anchor for fact in operands}
    asked = conclusion.asked
    topics = dict(zip(conclusion.reading.topics, asked.topics, strict=False))
    if not asked.asks_whether or len(compared) < 2 or not compared <= topics.keys():
        return found
    question = normalize(conclusion.reading.question)
    first = min(compared, key=lambda node: question.find(normalize(spelling(topics[node]))))
    return replace(found, answer="yes" if found.answers == (first,) else "no", answers=())
