"""Convert gold strings and predictions to comparable answers: `GoldAnswer` and `Predicted`.

A gold string is looked up in the graph first as an id (`spellings`), then as a name (label or alias, after
`kg.normalize`); every node with that name counts. If it names no node, the answer's label and then its aliases from
the data set are looked up. A predicted text that equals the label or an alias always matches the answer. A computed
answer is compared as text and never looked up: a node named "4" is not the count 4.

Gold strings become answers as follows. Strings that share a node are one answer. If some strings name a node,
strings that name none are extra spellings, not separate answers, because a program over this graph cannot return
them (PopQA: "journo" beside "journalist"; WebQSP: an answer that the graph lacks); they still match predicted text.
If no string names a node (a count, yes or no), each text is an answer. A data set can override this: with
`one_answer` all strings are one answer; with `answer_aliases` a string that names no node is a separate answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import dspy

from triplecheck.evals.metrics.answers import GoldAnswer, Predicted
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, Linker, Literal, normalize
from triplecheck.kg.values import quantity, written, written_date

Names = Callable[[str], Iterable[int]]
"""The nodes whose normalised name equals the normalised text."""

_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_HOMONYMS = 1_000


def comparable(text: str) -> str:
    """Return the form of a text for comparison: a number or a date by its value, other text after `kg.normalize`.

    A date has a month at least. A year is a number, and equals no date in this year. Numbers with units are equal if
    they are the same size.

    >>> comparable("1,000") == comparable("1000.0")
    True
    >>> comparable("July 25, 1920") == comparable("1920-07-25")
    True
    """
    size = quantity(Literal(text))
    if size is not None and not size.is_time and (size.unit or is_number(text)):
        return f"={size.kind} {size.size}"
    date = written_date(text)
    return normalize(text) if date is None or len(date) < 2 else "=" + "-".join(map(str, date))


def is_number(text: str) -> bool:
    """Whether a text is a plain number. "007" and "1,00" are not."""
    return _NUMBER.fullmatch(text.strip()) is not None


def linker_names(linker: Linker) -> Names:
    """Return the lookup of exact names by a linker."""

    def nodes(text: str) -> list[int]:
        return [c.node for c in linker.candidates(text, None, _HOMONYMS) if c.is_exact]

    return nodes


@dataclass(frozen=True)
class Gold:
    """The gold answers and topics of a question, resolved in the graph.

    Attributes:
        answers: the distinct correct answers; empty: unanswerable.
        topics: for each gold topic, the nodes that it may refer to.
        texts: the answers as text, for text metrics.
    """

    answers: tuple[GoldAnswer, ...]
    topics: tuple[frozenset[int], ...]
    texts: tuple[str, ...]


def resolve_gold(question: Question, graph: Graph, names: Names) -> Gold:
    """Resolve the gold answers and topics of a question in the graph."""
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
    """Return the nodes named by the first group of texts that names any."""
    for texts in ranks:
        nodes = frozenset[int]().union(*(_nodes(text, graph, names) for text in texts))
        if nodes:
            return nodes
    return frozenset()


def _nodes(text: str, graph: Graph, names: Names) -> frozenset[int]:
    node = next((node for way in spellings(text) if (node := graph.find(way)) is not None), None)
    if node is None:
        return frozenset(names(text))
    # A literal can have the same text as an entity's name; then both match.
    return frozenset([node]) if graph.literal(node) is None else frozenset([node, *names(text)])


def _merged(found: list[GoldAnswer], *, together: bool, apart: bool) -> list[GoldAnswer]:
    """Merge gold strings that share a node. Strings without a node are spellings of the others unless `apart`."""
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


def _forms_of_value(*texts: str) -> frozenset[str]:
    """The forms of a value. A number with a unit also has the form of the number alone, as a gold answer may have no
    unit."""
    sizes = (quantity(Literal(text)) for text in texts)
    return _forms(*texts, *(written(size.amount) for size in sizes if size is not None and size.unit))


def _node_forms(graph: Graph, nodes: Iterable[int]) -> frozenset[str]:
    entities = [graph.entity(node) for node in nodes]
    return _forms(*(name for entity in entities for name in (entity.label, *entity.aliases)))


def resolve_predicted(prediction: dspy.Prediction, graph: Graph) -> tuple[Predicted, ...]:
    """Return the answers of a prediction, in order; empty if it abstained or its answer is empty.

    These are the entities and literals in `answers`. If there are none (a count, yes or no, an answer from the
    model's own knowledge), the text of `answer` is the only answer.
    """
    if prediction.abstained:
        return ()
    if not prediction.answers:
        forms = _forms_of_value(prediction.answer)
        return (Predicted(None, forms),) if forms else ()
    return tuple(_predicted(answer["id"], answer["label"], graph) for answer in prediction.answers)


def _predicted(id: str, label: str, graph: Graph) -> Predicted:
    node = graph.find(id)
    # Compare numbers by value even if the graph does not distinguish literals from entities.
    if node is None or graph.literal(node) is not None or (id == label and is_number(id)):
        return Predicted(None, _forms_of_value(id, label))
    return Predicted(node, _forms(id, label, *graph.entity(node).aliases))


# Spellings of Freebase and Wikidata ids in data sets and graphs.
#
# WebQSP writes `m.0d060g`, FB15k-237 `/m/0d060g`, an RDF dump `http://rdf.freebase.com/ns/m.0d060g`; a data
# set writes `Q90` or `http://www.wikidata.org/entity/Q90`.

_FREEBASE = re.compile(r"(?:http://rdf\.freebase\.com/ns/|ns:|/)?([mg])[./](0[0-9a-z_]+|1[0-9a-z_]+)")
_WIKIDATA = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/|wd:)?(Q[1-9][0-9]*)")


def spellings(id: str) -> tuple[str, ...]:
    """Return all spellings of an id, the given one first; for other text, only the text itself.

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
