"""What a graph offers to a query: its classes and relations, in words, those nearest to a question first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from triplecheck.kg import Direction, Graph, IntArray, Linker
from triplecheck.kg.mentions import Mention
from triplecheck.kg.patterns import BoundPattern, Link, Query, match
from triplecheck.kg.plans.notation import write_label
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.described import nouns
from triplecheck.language.likeness import Likeness
from triplecheck.language.pipeline import read_text
from triplecheck.language.question import Question
from triplecheck.language.text import words_of
from triplecheck.programs.expansion import is_identifier
from triplecheck.programs.room import estimated_tokens
from triplecheck.signatures.notation import BETWEEN_EXAMPLES, EXAMPLE, MOST_BESIDE, clean, with_note, write_known_name
from triplecheck.signatures.query_notation import THING, OfferedRelation, write_class, write_offered

_CLASSES, _RELATIONS, _LINES = 16, 40, 80  # in a prompt; a relation has a line for each two classes that it joins
_HEADS = 3  # classes of the heads of a relation
_TYPES = 3  # of a topic
_SAMPLED, _PER_NODE = 200, 3  # things of a class, and values of each, that are looked at
_JOINS = 0.5  # likeness that a relation gains by joining things that the question names
_ALIASES = 2  # other names of a relation
_MOSTLY = 0.8  # share of the values that are of one kind
_MEASURED = frozenset(("number", "date", "year"))
_VALUES = _MEASURED | {"text"}
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_LONGEST_EXAMPLE = 40

Likenesses = npt.NDArray[np.floating]
"""How near each relation is to the question."""


@dataclass(frozen=True)
class Line:
    """A relation between things of two classes, or from a class to values.

    Attributes:
        ends: the labels of the classes at its ends, or the kind of value.
        text: as prompts show it.
        example: a value, as the graph writes it; both if there are two.
    """

    relation: int
    ends: tuple[str, str]
    text: str
    example: str


@dataclass(frozen=True)
class Offer:
    """What a prompt shows of a graph.

    Attributes:
        topics: with their classes.
        beside: the patterns with a match at each topic, with what is at their other end.
        classes: with the number of things of each.
        relations: with what is at both ends, and an example.
    """

    topics: list[str]
    beside: list[str]
    classes: list[str]
    relations: list[str]


_known: WeakKeyDictionary[Graph, dict[tuple[int, str | None], tuple[tuple[str, str], ...]]] = WeakKeyDictionary()


def offer(
    graph: Graph, read: Question, topics: Mapping[int, tuple[str, str]], vectors: RelationVectors | None, tokens: int
) -> Offer:
    """The topics of a question, and the classes and relations that are nearest to it.

    Args:
        topics: the name of each topic node in prompts, and the question's spelling if it differs.
        vectors: of the relations; None: the most frequent ones are shown.
        tokens: estimated tokens of all relations. Those of the topics and those nearest to the question come first, and
            each is shown once before any is shown with other classes.
    """
    labels: dict[str, list[str]] = {}
    for id in graph.type_ids:
        labels.setdefault(clean(graph.type_label(id)), []).append(id)
    own = {node: _types(graph, node) for node in topics}
    named = nouns(read, list(labels))
    near = list(dict.fromkeys([*named, *(label for found in own.values() for label in found)]))
    shown = list(dict.fromkeys([*near, *labels]))[:_CLASSES]
    likeness = np.zeros(graph.num_relations) if vectors is None else vectors.against(read.bare or read.text)
    lines = _nearest_lines(graph, topics, likeness, near, tokens)
    return Offer(
        [write_known_name(name, spelt, own[node] or (THING,)) for node, (name, spelt) in topics.items()],
        [line for node, (name, _) in topics.items() for line in _beside(graph, node, name, likeness)],
        [write_class(name, sum(len(graph.nodes_of_type(id)) for id in labels[name])) for name in shown],
        [line.text for line in lines],
    )


def _types(graph: Graph, node: int) -> tuple[str, ...]:
    if graph.literal(node) is not None:
        return ()
    return tuple(clean(graph.type_label(kind)) for kind in graph.types(node)[:_TYPES])


def _beside(graph: Graph, node: int, name: str, likeness: Likenesses) -> list[str]:
    """The patterns with a match at a topic: those of the relations that are nearest to the question, in their order."""
    counts = graph.relation_counts([node])
    counts = [count for count in counts if not is_identifier(graph.relation(count.relation).label)]
    near = sorted(counts, key=lambda count: -likeness[count.relation])[:MOST_BESIDE]
    lines = []
    for count in sorted(near, key=counts.index):
        edges = graph.expand([node], count.relation, count.direction, _PER_NODE)
        is_head = count.direction is Direction.OUT
        ends = (edges.tails if is_head else edges.heads).tolist()
        kind, example = next(iter(_kinds(graph, ends)))
        if is_head and all(graph.node_id(end) in graph.types(node) for end in ends):
            continue  # the relation says the class
        about = f"{kind}, {EXAMPLE}{example}" if kind in _VALUES else kind
        relation, topic = write_label(clean(graph.relation(count.relation).label)), write_label(name)
        lines.append(with_note(f"{topic} {relation} ?x" if is_head else f"?x {relation} {topic}", about))
    return lines


def _nearest_lines(
    graph: Graph, topics: Mapping[int, tuple[str, str]], likeness: Likenesses, classes: Sequence[str], tokens: int
) -> list[Line]:
    """The relations of the topics and those nearest to the question, in the order of the graph."""
    likeness = likeness[: graph.num_relations].copy()  # without functions
    for count in graph.relation_counts(list(topics)) if topics else ():
        likeness[count.relation] += 1.0
    for number in range(graph.num_relations):
        likeness[number] += _JOINS * _joins(graph, number, classes)
    numbers = np.sort(np.argsort(-likeness, kind="stable")[:_RELATIONS])
    lines = [line for number in numbers.tolist() for line in described(graph, number, classes, _HEADS)]
    return _that_fit(lines, likeness, tokens)


def _that_fit(lines: Sequence[Line], likeness: Likenesses, tokens: int) -> list[Line]:
    """The lines that fit into a prompt, in their order; see `offer`."""
    seen = Counter[int]()
    ranked = []
    for place, line in enumerate(lines):
        ranked.append((seen[line.relation], -likeness[line.relation], place))
        seen[line.relation] += 1
    places = [place for _, _, place in sorted(ranked)][:_LINES]
    used = accumulate(estimated_tokens(lines[place].text) for place in places)
    fitting = {place for place, so_far in zip(places, used, strict=True) if so_far <= tokens}
    return [line for place, line in enumerate(lines) if place in fitting]


def _joins(graph: Graph, relation: int, classes: Sequence[str]) -> bool:
    """Whether a relation may join things of some classes."""
    schema = graph.schema(relation)
    ends = ({clean(graph.type_label(kind)) for kind, _ in side} for side in (schema.domain, schema.range))
    return all(not end.isdisjoint(classes) for end in ends)


def described(graph: Graph, relation: int, classes: Sequence[str] = (), most: int = 1) -> list[Line]:
    """A relation by the classes or the values at its ends.

    Args:
        classes: labels of classes that are told apart from others; of others the most frequent ones are given.
        most: how many classes of heads are given of others.
    """
    about = graph.relation(relation)
    if is_identifier(about.label):
        return []
    names = tuple(dict.fromkeys(map(clean, (about.label, *about.aliases[:_ALIASES]))))
    domain = [kind for kind, _ in graph.schema(relation).domain]
    named = [kind for kind in domain if clean(graph.type_label(kind)) in classes]
    found: dict[tuple[str, str], str] = {}
    kinds: list[str | None] = list(dict.fromkeys([*named, *domain[:most]]))
    for kind in kinds or [None]:
        head = THING if kind is None else clean(graph.type_label(kind))
        ends = _ends(graph, relation, kind)
        told = [one for one in ends if one[0] in classes]
        for tail, example in dict.fromkeys([*told, *ends[:1]]):
            found.setdefault((head, tail), example)
    return [
        Line(relation, pair, write_offered(OfferedRelation(names, *pair, example)), example)
        for pair, example in found.items()
    ]


def _ends(graph: Graph, relation: int, kind: str | None) -> tuple[tuple[str, str], ...]:
    """The classes at the end of a relation of things of a class, or the kind of its values; looked up once."""
    known = _known.setdefault(graph, {})
    if (relation, kind) not in known:
        known[relation, kind] = tuple(_tails(graph, relation, _heads(graph, relation, kind)))
    return known[relation, kind]


def _heads(graph: Graph, relation: int, kind: str | None) -> IntArray:
    """Some things of a class, or of all, that have a relation."""
    types = {} if kind is None else {"x": kind}
    nodes = match(graph, Query((BoundPattern("x", Link((relation,)), "y", ""),), types=types)).nodes("x")
    if nodes is None or not len(nodes):
        return np.empty(0, np.int64)
    sampled: IntArray = nodes[np.linspace(0, len(nodes) - 1, min(_SAMPLED, len(nodes))).astype(int)]
    return sampled


def _tails(graph: Graph, relation: int, heads: IntArray) -> list[tuple[str, str]]:
    """The classes at the end of a relation, or the kind of its values, each with an example; most frequent first."""
    if not len(heads):
        return []
    edges = graph.expand(heads, relation, Direction.OUT, _PER_NODE)
    pairs = list(zip(edges.heads.tolist(), edges.tails.tolist(), strict=True))[:_SAMPLED]
    if all(graph.node_id(tail) in graph.types(head) for head, tail in pairs):
        return []  # the relation says the class, which the query says by `a`
    kinds = _kinds(graph, [tail for _, tail in pairs])
    is_key = words_of(graph.relation(relation).label)[-1:] in (["id"], ["key"])
    return [("text" if is_key and kind == "number" else kind, example) for kind, example in kinds]  # no amount


def _kinds(graph: Graph, ends: Sequence[int]) -> list[tuple[str, str]]:
    """The classes of nodes, or the kind of their values, each with an example; most frequent first."""
    values = [value_of(graph, node) for node in ends]
    sizes = [quantity(value) for value in values]
    kinds = Counter(size.kind for size in sizes if size is not None)
    if kinds.total() >= _MOSTLY * len(ends):
        known = [(value.lexical, size.kind) for value, size in zip(values, sizes, strict=True) if size is not None]
        texts = [text for text, _ in known]
        if all(kind == "time" or _YEAR.fullmatch(text) for text, kind in known) or kinds.most_common(1)[0][0] == "time":
            return [("date" if any("-" in text[1:] for text in texts) else "year", _shown(texts[0]))]
        return [("number", _shown(texts[0]))]
    by_type: dict[str, list[int]] = {}
    for node in ends:
        if graph.literal(node) is not None:
            by_type.setdefault("text", []).append(node)
            continue
        for label in [clean(graph.type_label(kind)) for kind in graph.types(node)] or [THING]:
            by_type.setdefault(label, []).append(node)
    frequent = sorted(by_type, key=lambda label: -len(by_type[label]))
    return [(label, _example(label, graph.labels(by_type[label]))) for label in frequent]


def _example(kind: str, names: Sequence[str]) -> str:
    """The first name; of texts and things without a class both names if there are two, as yes and no."""
    distinct = list(dict.fromkeys(map(_shown, names)))
    both = BETWEEN_EXAMPLES.join(distinct)
    has_two = kind in ("text", THING) and len(distinct) == 2 < len(names)
    return both if has_two and len(both) <= _LONGEST_EXAMPLE else distinct[0]


def _shown(text: str) -> str:
    return clean(text)[:_LONGEST_EXAMPLE]


def things(graph: Graph, topics: Mapping[int, tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """The topics without classes and without numbers and dates, which a query says in its own way."""
    return {
        node: written
        for node, written in topics.items()
        if graph.node_id(node) not in graph.type_ids and quantity(value_of(graph, node)) is None
    }


def values_named(graph: Graph, linker: Linker, read: Question, likeness: Likeness) -> dict[int, tuple[str, str]]:
    """What a question names in lower case beside its topics: values ("female" of "female lions"), and things of a class
    ("potatoes" in "does plot 4 grow potatoes").

    A value is what other things lead to and what leads to nothing. A noun that names a relation is none, "the actors in
    the films by X", nor is the noun that is asked for in a graph without classes: "what film did X write".
    """
    asked = () if graph.has_types else (read.asked.noun, read.asked.lemma)
    beside = {*words_of(" ".join(read.words))}  # the topics are masked

    def names_relation(name: str) -> bool:
        # By its form: a value is like the relation that leads to it, as "white" is like `colour`.
        return any(_has_form(graph, relation, name, likeness) for relation in range(graph.num_relations))

    found = {}
    for mention, said in _mentions(linker, read):
        if mention.similarity < 1 or not beside >= {*words_of(said or mention.text)}:
            continue
        if mention.text in asked or is_deed(graph, read, mention.text) or names_relation(mention.text):
            continue
        for candidate in linker.candidates(mention):
            if _is_inflected(mention.text, candidate.label) and _is_named_in_lower_case(graph, candidate.node):
                spelt = said or ("" if mention.text == candidate.label else mention.text)
                found[candidate.node] = (clean(candidate.label), spelt)
    return found


def is_deed(graph: Graph, read: Question, word: str) -> bool:
    """Whether a word of a question is a verb after which a class of the graph is called; see `Question.is_deed`."""
    return word in read.words and read.is_deed(word, (graph.type_label(kind) for kind in graph.type_ids))


def _is_inflected(text: str, label: str) -> bool:
    """Whether a text is a label in lower case, or one whose last word is so and may have another ending: "PhD students"
    of PhD student."""
    before, _, last = text.rpartition(" ")
    own, _, noun = label.rpartition(" ")
    return before == own and noun.islower() and last.islower() and (text == label or own != "")


def _has_form(graph: Graph, relation: int, name: str, likeness: Likeness) -> bool:
    """Whether a relation has all words of a name, or leads to things and has their stems: "director" and `directed by`,
    but not "starter" and `started in`."""
    about = graph.relation(relation)
    least = min((likeness.of_form(word, (about.label, *about.aliases)) for word in words_of(name)), default=0.0)
    return least == 1 or (least > 0 and any(line.ends[1] not in _MEASURED for line in described(graph, relation)))


def _is_named_in_lower_case(graph: Graph, node: int) -> bool:
    """Whether a node is a value, or a thing of a class."""
    if graph.node_id(node) in graph.type_ids:
        return False
    counts = graph.relation_counts([node])
    return bool(graph.types(node)) or all(count.direction is Direction.IN for count in counts)


def _mentions(linker: Linker, read: Question) -> Iterator[tuple[Mention, str]]:
    """What a question may name, and the words for it if these are another form: ("PhD student", "PhD students")."""
    text = read_text(read.text, read.language)
    verbs = {word for at, word in enumerate(read.parse.words) if read.parse.pos(at) == "VERB"}
    mentions = linker.mentions(text)
    yield from ((mention, "") for mention in mentions)
    named = {word for mention in mentions for word in words_of(mention.text)}
    for token in text.tokens:
        base = text.base_form(token.lower)
        if not token.text.islower() or token.is_stop or base == token.lower or token.lower in named | verbs:
            continue
        inflected = read_text(f"{text.text[: token.start]}{base}{text.text[token.end :]}", read.language)
        for mention in linker.mentions(inflected):
            if mention.start <= token.start < mention.end:
                yield mention, text.text[mention.start : token.end]


def names_of(topics: Mapping[int, tuple[str, str]]) -> dict[str, Sequence[int]]:
    """The nodes that each name or spelling of a prompt stands for."""
    found: dict[str, list[int]] = {}
    for node, written in topics.items():
        for name in written:
            if name:
                found.setdefault(name, []).append(node)
    return dict(found)
