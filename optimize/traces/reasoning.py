"""Whether the reasoning of an answer is one: it names the cited facts and the answer.

A model that answers rightly often writes what proves nothing: "I look at the facts one by one." A student would learn
to write the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from triplecheck.kg import Literal as Value
from triplecheck.kg import Words, normalize
from triplecheck.kg.values import mentions
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import ENGLISH
from triplecheck.signatures.notation import WrittenFact, read_facts, read_topic, split_note, wordings

Gap = Literal["fact_not_named", "answer_not_named", "question_not_named"]
"""What a reasoning leaves out: a cited fact, an answer, or, where nothing is answered, what is missing."""

_NONE = frozenset({"", "none", "unknown"})
_YES_NO = frozenset({"yes", "no"})
_ALL = 3  # items that must all be named
_SOME = 2  # of more items
_STEM = 5  # letters by which forms of a word are told to be the same: direct(ed), direct(or)
_LONG = 4  # letters of a word that names a thing without the rest of its name


def reasoning_gap(inputs: Mapping[str, Any], outputs: Mapping[str, Any], language: str = ENGLISH) -> Gap | None:
    """What the reasoning of a step leaves out; None: nothing, or the step has no answer or no reasoning.

    A fact is named by two of its three parts: the thing, the relation, a value. A thing is named by its name or a
    distinctive part of it, a relation by one of its words, a value by its name, or by the date or number in other
    words. Three facts or answers are all named; of more, at least two.
    """
    if "reasoning" not in outputs or not {"answers", "answer"} & outputs.keys():
        return None
    written = outputs["answers"] if "answers" in outputs else [outputs["answer"]]
    answers = [answer for answer in written if normalize(answer) not in _NONE]
    text = str(outputs["reasoning"])
    cited = _cited(inputs, outputs)
    if not answers and not cited:
        return None if _Words(text, language).hold_some(str(inputs.get("question", ""))) else "question_not_named"
    spellings = [read_topic(str(topic)) for topic in inputs.get("topics") or ()]
    aliases = {topic.name: topic.spelling for topic in spellings}
    if not _enough(_names_fact(_Words(text, language), text, fact, aliases) for fact in cited):
        return "fact_not_named"
    names = [answer for answer in answers if normalize(answer) not in _YES_NO]
    return None if _enough(_names_value(text, name) for name in names) else "answer_not_named"


def _cited(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[WrittenFact]:
    numbers = set(outputs.get("cited") or ())
    return [fact for fact in read_facts(map(str, inputs.get("facts") or ())) if fact.number in numbers]


def _enough(named: Iterable[bool]) -> bool:
    each = list(named)
    return all(each) if len(each) <= _ALL else sum(each) >= _SOME


def _names_fact(words: _Words, text: str, fact: WrittenFact, aliases: Mapping[str, str]) -> bool:
    thing = _names_thing(words, [fact.anchor, aliases.get(fact.anchor, "")])
    relation = any(words.hold_some(wording) for wording in wordings(fact.hop.label))
    value = any(_names_value(text, value) for value in fact.values)
    return thing + relation + value >= 2


def _names_thing(words: _Words, names: Sequence[str]) -> bool:
    plain = [normalize(split_note(name)[0]) for name in names if name]
    return any(name in words or any(len(w) >= _LONG and w in words for w in name.split()) for name in plain)


def _names_value(text: str, value: str) -> bool:
    return split_note(value)[0] in Words(text) or mentions(text, Value(value))


class _Words(Words):
    """The words of a text in any form."""

    def __init__(self, text: str, language: str) -> None:
        super().__init__(text)
        self._stops = stop_words(language)
        self._stems = {word[:_STEM] for word in normalize(text).split()}

    def hold_some(self, phrase: str) -> bool:
        """Whether one of the words of a phrase, in any form, is in the text."""
        words = [word for word in normalize(phrase).split() if word not in self._stops and len(word) > 2]
        return any(word[:_STEM] in self._stems for word in words)
