"""From the strings of a data set and of a prediction to answers that can be compared: `Predicted`, `GoldAnswer`.

A gold string is looked up in the graph: first as an id, however it is written (`evals.gold`); else
as a name, label or alias, after `kg.normalize`, and then it may be any of the nodes of that name. Where it
names none, the label and then the aliases that the data set gives for this answer are looked up. They are
names of the answer in any case: a text that is one of them is that answer. A computed answer is a text and not
looked up: that the graph has a "4" somewhere does not make it the count of anything.

Whether several gold strings are several answers is decided so: strings that share a node are one answer.
Strings that name no node of the graph, while others do, are spellings and not answers of their own: a
program over this graph could not return them ("journo" beside "journalist" in PopQA; an answer that the
graph lacks in WebQSP). They still match where a program answers in text. Where no string names a node
(a count, yes or no), each text is an answer. A data set that knows better says `one_answer`, or gives the
`answer_aliases` of each: then what names no node is an answer of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

import dspy

from triplecheck.evals.metrics import GoldAnswer, Predicted
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, Linker, normalize

Names = Callable[[str], Iterable[int]]
"""The nodes that a text names exactly, after normalisation."""

_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_DIGITS = 28  # of Decimal's default context: longer numbers are not rounded into each other but stay text
_HOMONYMS = 1_000
_EXACT = ("label", "alias", "value")


def comparable(text: str) -> str:
    """The form in which texts are compared: numbers by their value, everything else by `kg.normalize`.

    >>> comparable("1,000") == comparable("1000.0")
    True
    """
    if is_number(text):
        return f"={(Decimal(text.strip().replace(',', '')) + 0).normalize()}"
    return normalize(text)


def is_number(text: str) -> bool:
    """Whether a text is a plain number; "007", "1,00" and numbers too long for a Decimal are none."""
    text = text.strip()
    return len(text) <= _DIGITS and _NUMBER.fullmatch(text) is not None


def linker_names(linker: Linker) -> Names:
    """Exact names as a linker knows them."""

    def nodes(text: str) -> list[int]:
        return [c.node for c in linker.candidates(text, None, _HOMONYMS) if c.source in _EXACT]

    return nodes


@dataclass(frozen=True)
class Gold:
    """What a question's data set says, in terms of the graph.

    Attributes:
        answers: the correct answers, each once; empty: unanswerable.
        topics: per gold topic the nodes that it may be.
        texts: the answers as texts, for the metrics on text.
    """

    answers: tuple[GoldAnswer, ...]
    topics: tuple[frozenset[int], ...]
    texts: tuple[str, ...]


def resolve_gold(question: Question, graph: Graph, names: Names) -> Gold:
    """Look up the answers and topics of a question in the graph."""
    labels = question.answer_labels
    if len(labels) == len(question.answers):
        parallel: list[str | None] = list(labels)
    else:
        parallel = [None] * len(question.answers)
    aliases = question.answer_aliases or ((),) * len(question.answers)
    found = []
    for answer, label, others in zip(question.answers, parallel, aliases, strict=True):
        names_of_it = [label] if label else []
        nodes = frozenset[int]()
        if not question.computed:
            nodes = _first_named([[answer], names_of_it, others], graph, names)
        found.append(GoldAnswer(nodes, _forms(answer, *names_of_it, *others)))
    unplaced = _forms(*labels) if any(label is None for label in parallel) else frozenset()
    answers = [
        GoldAnswer(one.nodes, one.forms | unplaced | _node_forms(graph, one.nodes))
        for one in _merged(found, together=question.one_answer, apart=bool(question.answer_aliases))
    ]
    named = sorted({node for one in answers for node in one.nodes})
    return Gold(
        answers=tuple(answers),
        topics=tuple(_topics(question, graph, names)),
        texts=tuple(
            dict.fromkeys([*question.answers, *filter(None, labels), *chain(*aliases), *map(graph.label, named)])
        ),
    )


def _topics(question: Question, graph: Graph, names: Names) -> Iterator[frozenset[int]]:
    labels = question.topic_labels or ("",) * len(question.topic)
    for topic, label in zip(question.topic, labels, strict=True):
        yield _first_named([[topic], [label] if label else []], graph, names)


def _first_named(ranks: Iterable[Iterable[str]], graph: Graph, names: Names) -> frozenset[int]:
    """The nodes that the first rank of texts names of which any names one."""
    for texts in ranks:
        nodes = frozenset[int]().union(*(_nodes(text, graph, names) for text in texts))
        if nodes:
            return nodes
    return frozenset()


def _nodes(text: str, graph: Graph, names: Names) -> frozenset[int]:
    node = next((node for way in spellings(text) if (node := graph.find(way)) is not None), None)
    if node is None:
        return frozenset(names(text))
    # A value may be written like the name of an entity: then it can be either.
    return frozenset([node]) if graph.literal(node) is None else frozenset([node, *names(text)])


def _merged(found: list[GoldAnswer], *, together: bool, apart: bool) -> list[GoldAnswer]:
    """Gold strings as answers: those of one node merged, those of no node as spellings of the others unless `apart`."""
    if not found:
        return []
    if together:
        return [_union(found)]
    present = [one for one in found if one.nodes]
    absent = [one for one in found if not one.nodes]
    answers = _joined(present, lambda a, b: not a.nodes.isdisjoint(b.nodes))
    if apart or not present:
        return answers + _joined(absent, lambda a, b: not a.forms.isdisjoint(b.forms))
    others = frozenset[str]().union(*(one.forms for one in absent))
    return [GoldAnswer(one.nodes, one.forms | others) for one in answers]


def _joined(found: list[GoldAnswer], same: Callable[[GoldAnswer, GoldAnswer], bool]) -> list[GoldAnswer]:
    answers: list[GoldAnswer] = []
    for one in found:
        like = [other for other in answers if same(one, other)]
        answers = [other for other in answers if other not in like]
        answers.append(_union([*like, one]))
    return answers


def _union(found: list[GoldAnswer]) -> GoldAnswer:
    nodes = frozenset[int]().union(*(one.nodes for one in found))
    return GoldAnswer(nodes, frozenset[str]().union(*(one.forms for one in found)))


def _forms(*texts: str) -> frozenset[str]:
    return frozenset(form for text in texts if (form := comparable(text)))


def _node_forms(graph: Graph, nodes: Iterable[int]) -> frozenset[str]:
    entities = [graph.entity(node) for node in nodes]
    return _forms(*(name for entity in entities for name in (entity.label, *entity.aliases)))


def resolve_predicted(prediction: dspy.Prediction, graph: Graph) -> tuple[Predicted, ...]:
    """The answers of a prediction, in order; none where it abstained or its answer is empty.

    The entities and values in `answers`; where there are none (a count, yes or no, an answer from a
    model's own knowledge) the whole text of `answer` is the one answer.
    """
    if prediction.abstained:
        return ()
    if not prediction.answers:
        forms = _forms(prediction.answer)
        return (Predicted(None, forms),) if forms else ()
    return tuple(_predicted(answer["id"], answer["label"], graph) for answer in prediction.answers)


def _predicted(id: str, label: str, graph: Graph) -> Predicted:
    node = graph.find(id)
    # A number is compared by its value also in a graph that does not tell values from entities.
    if node is None or graph.literal(node) is not None or (id == label and is_number(id)):
        return Predicted(None, _forms(id, label))
    return Predicted(node, _forms(id, label, *graph.entity(node).aliases))


# The several ways in which data sets and graphs write an id of Freebase or Wikidata.
#
# WebQSP says `m.0d060g`, FB15k-237 `/m/0d060g`, an RDF dump `http://rdf.freebase.com/ns/m.0d060g`; Mintaka
# says `Q90`, QALD `http://www.wikidata.org/entity/Q90`.

_FREEBASE = re.compile(r"(?:http://rdf\.freebase\.com/ns/|ns:|/)?([mg])[./](0[0-9a-z_]+|1[0-9a-z_]+)")
_WIKIDATA = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/|wd:)?(Q[1-9][0-9]*)")


def spellings(id: str) -> tuple[str, ...]:
    """All ways to write an id, as it stands first; of any other text that text alone.

    >>> spellings("/m/0d060g")
    ('/m/0d060g', 'm.0d060g', 'http://rdf.freebase.com/ns/m.0d060g')
    """
    ways: tuple[str, ...] = ()
    if found := _FREEBASE.fullmatch(id):
        space, name = found.groups()
        ways = (f"/{space}/{name}", f"{space}.{name}", f"http://rdf.freebase.com/ns/{space}.{name}")
    elif found := _WIKIDATA.fullmatch(id):
        ways = (found[1], f"http://www.wikidata.org/entity/{found[1]}")
    return tuple(dict.fromkeys((id, *ways)))
