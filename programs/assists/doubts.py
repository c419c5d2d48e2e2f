"""`doubts`: a reply of `AnswerFromFacts` is checked by the question, its topics and the facts; triplets by themselves.

A model that is doubted is asked once more, and what it then replies stands (`lms.Doubt`): a question can be read in
more than one way. Only a "yes" to a question that asks where or who is not accepted a second time either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import dspy

from triplecheck.kg import Literal, normalize
from triplecheck.kg.values import quantity
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.question import Question, read_question
from triplecheck.lms import Doubt, RolePredict
from triplecheck.programs.aggregation import EXTREMES
from triplecheck.programs.assists import Assists
from triplecheck.signatures import AnswerFromFacts
from triplecheck.signatures.notation import WrittenFact, read_facts, read_topic
from triplecheck.signatures.query_notation import Unknown, read_patterns

YES_NO = ("yes", "no")
_SHOWN = 5  # shared values in a message


def answering_step(assists: Assists, language: str = ENGLISH) -> RolePredict:
    """The step that answers from facts; a reply in which `reply_problem` finds a problem is asked for once more."""
    check = partial(reply_problem, language=language) if "doubts" in assists else None
    return RolePredict(AnswerFromFacts, role="answer", check=check)


def unknown_missing(assists: Assists) -> Callable[[Mapping[str, Any], dspy.Prediction], str | None] | None:
    """A check that written triplets have an unknown: a model may write an answer from memory; None if off."""

    def problem(_: Mapping[str, Any], reply: dspy.Prediction) -> str | None:
        patterns = read_patterns(reply.triplets)[0]
        if not patterns or any(isinstance(end, Unknown) for one in patterns for end in (one.head, one.tail)):
            return None
        return Doubt("no pattern has an unknown; write ?x in place of what the question asks for")

    return problem if "doubts" in assists else None


def reply_problem(inputs: Mapping[str, Any], reply: dspy.Prediction, language: str = ENGLISH) -> str | None:
    """What is wrong with a reply of `AnswerFromFacts` that has the right format; None if nothing is."""
    said = [normalize(answer) for answer in reply.answers if answer.strip()]
    topics = {normalize(read_topic(topic).name) for topic in inputs["topics"]}
    facts = read_facts(inputs["facts"])
    values = {normalize(value) for fact in facts for value in fact.values}
    question = read_question(inputs["question"], inputs["topics"], language=language)
    is_yes_or_no = len(said) == 1 and said[0] in YES_NO and reply.operation == "none"
    if is_yes_or_no and question.asks_for_thing and said[0] not in values:  # there is a band called Yes
        return (
            f"the answer is {said[0]!r}, but the question is not one of yes or no; copy what it asks for from the "
            "facts, or leave the answers empty"
        )
    doubt = _of_operation(question, topics, said, reply, facts) or _of_kind(question, topics, said, values)
    return None if doubt is None else Doubt(doubt)


def _of_operation(
    question: Question, topics: set[str], said: list[str], reply: dspy.Prediction, facts: Sequence[WrittenFact]
) -> str | None:
    """Why the operation may not be the one that the question asks for."""
    operation = reply.operation
    # What one topic's facts have in common is seldom asked for: a model calls their values so.
    is_computed = operation != "none" and not (operation == "common" and len(topics) < 2)
    whether = question.asks_whether
    if not said and not is_computed:
        if not whether and (shared := _shared(topics, facts)):
            return (
                f"there is no answer, and {shared}; if the question asks for what meets both conditions, cite them and "
                "name the operation common"
            )
        if reply.cited:
            return (
                "facts are cited, but there is no answer and no operation; copy the answer from the cited facts, name "
                "the operation that computes it, or cite none"
            )
    if not whether and (opposite := opposite_extreme(question, operation, _kinds(reply, facts))):
        return f"{opposite}; the earliest, oldest or smallest has the min, the latest, youngest or largest the max"
    counts = read_question(
        question.text, language=question.language
    ).counts  # without topics: a model may have taken the word "number" for one
    if operation == "count" and not counts:
        return "the operation is count, but the question does not ask how many there are"
    if operation == "same" and question.asks_for_thing:
        return "the operation is same, which gives yes or no, and the question is not one of yes or no"
    if operation not in ("none", "common"):
        return None
    if counts and said and not any(map(_has_digit, said)):
        return "the question asks for a number, and names are answered; the operation count counts cited values"
    if whether and (said or is_computed) and set(said).isdisjoint(YES_NO):
        return (
            "the question asks whether something is so; answer yes or no, name the operation same if two things must "
            "share a value, or leave the answers empty"
        )
    return None


def _kinds(reply: dspy.Prediction, facts: Sequence[WrittenFact]) -> set[str]:
    """The kinds of the values of the cited facts."""
    values = [value for fact in facts if fact.number in reply.cited for value in fact.values]
    return {size.sense if size is not None else "" for size in (quantity(Literal(value)) for value in values)}


def _shared(topics: set[str], facts: Sequence[WrittenFact]) -> str:
    """Tells which two facts of different topics are the first to share a value that is no topic; empty if none do."""
    of_topics = [fact for fact in facts if normalize(fact.anchor) in topics]
    for first, second in combinations(of_topics, 2):
        shared = [value for value in first.values if value in second.values and normalize(value) not in topics]
        if shared and normalize(first.anchor) != normalize(second.anchor):
            return f"facts {first.number} and {second.number} share {', '.join(shared[:_SHOWN])}"
    return ""


def opposite_extreme(question: Question, operation: str, kinds: Collection[str]) -> str | None:
    """A message if an operation is the opposite of the one that a question seems to ask for; else None.

    Args:
        kinds: of the compared values, `time` or `number`: the oldest has the largest age, and the first date of birth.
    """
    senses = question.compares.senses if question.compares and operation in EXTREMES else ()
    own = [sense for sense in senses if {*kinds} == {sense.kind} == {"time"}] or senses
    if not own or operation in {sense.operation for sense in own}:
        return None
    return f"the operation is {operation}, and the question seems to ask for {own[0].operation}"


def _of_kind(question: Question, topics: set[str], said: list[str], values: set[str]) -> str | None:
    """Why written answers may not be of the kind that the question asks for."""
    if said and topics >= set(said) and not question.chooses:
        return (
            "the answer repeats what the question names; copy what is asked for from the facts, or leave the answers "
            "empty"
        )
    if question.asked.kind == "time" and said and not any(map(_has_digit, said)) and any(map(_has_digit, values)):
        return (
            "the question asks for a time, and no answer has a date or a year; copy one from the facts, or leave the "
            "answers empty"
        )
    return None


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
