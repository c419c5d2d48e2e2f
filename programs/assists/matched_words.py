"""The assist `matched_words`: a model says which names of the graph the words of a question mean.

People ask for kit where a graph has equipment, and who looks after it where it has a custodian. The rules compare
words with names by their vectors, which is seldom enough to be sure. So where they prove nothing, the model of the
role `link` is asked once what the words mean that no name has. The rules then answer over the graph with these words as
names. Such an answer is never called proved, because nothing but the model says that the words mean this.

A model that does other steps, too, is not asked: it has read the names beside the question already.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from triplecheck.kg import normalize
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.plans.notation import write_label
from triplecheck.language.content import content_words, settings
from triplecheck.language.likeness import Likeness
from triplecheck.language.parse import Parse
from triplecheck.language.pipeline import read_text
from triplecheck.language.question import Question
from triplecheck.language.text import words_of
from triplecheck.lms import RolePredict
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.lms.roles import LINK
from triplecheck.programs.assists import Assists
from triplecheck.programs.base import Program, apply_options
from triplecheck.programs.offers import described
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Linked, Trace, Wrote
from triplecheck.signatures import MatchWords
from triplecheck.signatures.notation import (
    EXAMPLE,
    WrittenRelation,
    clean,
    possible_labels,
    with_note,
    write_relation,
    write_topic,
)

_CLASSES, _RELATIONS = 30, 60
"""How many a prompt shows at most. Where the graph has more, it shows those that are nearest to the words."""
_COMPARED = 500  # classes that are compared with the words, the most frequent ones
LEAST = 0.25
"""The least cosine between a word and the name that a model gives it.

Of 0, .15, .25 and .35, with the answers of Qwen2.5-Coder-1.5B on 1,242 questions, it has the most right answers less
wrong ones (873; the others 865, 867 and 857), also with each of the 23 graphs left out.
"""
TRUST = 0.84
"""The share of these answers that is right, divided by their mean confidence.

Measured with Qwen2.5-Coder-1.5B on 81 answers: .86, and .84 to .89 with each of their 22 graphs left out.
"""
_KINDS = frozenset(("NOUN", "VERB", "ADJ"))
_NONE = "none"


class WordMatcher:
    """The step that says what words mean. DSPy's optimizers do not see it here, because no metric scores it."""

    def __init__(self, options: ProgramOptions) -> None:
        self.step = RolePredict(MatchWords, role=LINK)
        apply_options(options, self.step)


def in_matched_words(
    assists: Assists, program: Program, step: RolePredict, question: str, found: Outcome, trace: Trace
) -> Outcome:
    """The outcome, with its verdict. If it is surer, the outcome of the same program over a graph with further names.

    Nothing is asked if the answer is proved, if nothing but a proved answer is wanted, if the model does other steps,
    too, or if the graph is on a server or has functions beside it.

    Args:
        step: says what words mean.
        found: by the names of the graph alone.
    """
    graph = program.graph
    if "matched_words" not in assists or not isinstance(graph, ColumnarGraph) or not _links_alone(program, step):
        return found
    found = program.with_verdict(question, found, trace)
    if found.verdict == "proved" or program.options.verdict == "proved":
        return found
    meanings = _asked(program, step, graph, question, trace)
    if not meanings:
        return found
    other, branch = _with_names(program, graph, meanings), trace.branch()
    second = other.with_verdict(question, Program.attempt(other, question, branch), branch)
    stands = second.abstained is None and all(_rests_on(second, graph, one) for one in meanings)
    if stands:
        second = _as_said(second, graph, meanings)
        stands = found.abstained is not None or (second.confidence or 0.0) > (found.confidence or 0.0)
    trace.steps += [one for one in branch.steps if stands or isinstance(one, Wrote)]
    if not stands:
        return found
    assists.note(trace, "matched_words", "MatchWords", [], [f"{one.word} = {one.name}" for one in meanings])
    return second


def _links_alone(program: Program, step: RolePredict) -> bool:
    """Whether a language model does this step, and none does another."""
    others = (one.model for _, one in program.named_sub_modules(RolePredict))
    return not is_no_language_model(step.model) and all(map(is_no_language_model, others))


@dataclass(frozen=True)
class Meaning:
    """What a word means.

    Attributes:
        word: as the rules read it, in lower case.
        name: of the class or relation.
        relations: the relations of this name.
        classes: the ids of the classes of this name.
    """

    word: str
    name: str
    relations: Sequence[int]
    classes: Sequence[str]


def _with_names(program: Program, graph: ColumnarGraph, meanings: Sequence[Meaning]) -> Program:
    """The program over a graph in which words are further names of relations, and stand for the names of classes."""
    relations: dict[int, list[str]] = {}
    for one in meanings:
        for number in one.relations:
            relations.setdefault(number, []).append(one.word)
    classes = {id: one.word for one in meanings for id in one.classes}
    vectors, other = program.sources.relations, copy.copy(program)
    named = None if vectors is None else vectors.named(relations)
    other.sources = program.sources.renamed(graph.with_names(relations, classes), named)
    return other


def _rests_on(found: Outcome, graph: ColumnarGraph, meaning: Meaning) -> bool:
    """Whether an outcome uses a relation that a word means. Classes are not checked: other words may name them."""
    if meaning.classes:
        return True
    labels = [write_label(clean(graph.relation(number).label)) for number in meaning.relations]
    of_evidence = {relation for _, relation, _ in found.evidence}
    return any(label in found.query for label in labels) or not of_evidence.isdisjoint(meaning.relations)


def _as_said(found: Outcome, graph: ColumnarGraph, meanings: Sequence[Meaning]) -> Outcome:
    """An outcome with the names of the graph in its query, and with a doubt for each meaning that a model gave."""
    own = {write_label(one.word): write_label(clean(graph.type_label(id))) for one in meanings for id in one.classes}

    def in_own_names(text: str) -> str:
        for word, name in own.items():
            text = text.replace(f" a {word}", f" a {name}")
        return text

    return replace(
        found,
        query=in_own_names(found.query),
        looked_through=tuple(map(in_own_names, found.looked_through)),
        verdict="supported" if found.verdict == "proved" else found.verdict,
        confidence=None if found.confidence is None else TRUST * found.confidence,
        doubts=(*found.doubts, *(f"a model says that {one.word!r} means {one.name!r}" for one in meanings)),
    )


# --- what is asked ---------------------------------------------------------------------------------
def _asked(program: Program, step: RolePredict, graph: ColumnarGraph, question: str, trace: Trace) -> list[Meaning]:
    """What the model says that words of a question mean."""
    language = program.sources.language
    likeness = Likeness(load_encoder().encode, language)
    linked = [one for one in trace.steps if isinstance(one, Linked) and one.chosen]
    topics = [write_topic(str(row["label"]), one.mention) for one in linked for row in one.candidates[:1]]
    words = _unknown_words(program, graph, program.read(question, topics), likeness)
    if not words:
        return []
    classes = _nearest_classes(graph, list(words), likeness)
    relations = _nearest_relations(program, graph, list(words))
    lines = {number: line for number in relations if (line := _line(graph, number, classes))}
    shown = {"classes": classes, "relations": list(lines.values())}
    reply = program.ask_or_note(trace, "words", step, **shown, question=question, words=list(words.values()))
    if reply is None:
        return []
    spelt = {normalize(text): word for word, written in words.items() for text in (word, written)}
    return _meanings(reply.meanings, spelt, graph, list(lines), classes, likeness)


_names: WeakKeyDictionary[ColumnarGraph, dict[str, frozenset[str]]] = WeakKeyDictionary()


def _words_of_names(graph: ColumnarGraph, likeness: Likeness) -> frozenset[str]:
    """The base forms of the words in the names of classes and relations; read once."""
    known = _names.setdefault(graph, {})
    if likeness.language not in known:
        relations = map(graph.relation, range(graph.num_relations))
        names = [*map(graph.type_label, graph.type_ids)]
        names += [name for one in relations for name in (one.label, *one.aliases)]
        known[likeness.language] = frozenset[str]().union(*map(likeness.bases, names))
    return known[likeness.language]


def _unknown_words(program: Program, graph: ColumnarGraph, read: Question, likeness: Likeness) -> dict[str, str]:
    """The content words of a question that are not in the name of any class, relation, thing or value.

    Returns:
        The words or phrases (`_phrase`) in lower case and without accents, each with its spelling in the question.
    """
    known = _words_of_names(graph, likeness)
    mentions = program.sources.linker.mentions(read_text(read.text, read.language))
    named = {word for one in mentions if one.similarity == 1 for word in words_of(one.text)}
    parse, times = read.parse, {at for time in read.times for at in range(*time.span)}
    if read.asked.kind == "time":
        times.add(read.asked.at)  # "in which year"
    found = {}
    for at in sorted(content_words(parse, times) - settings(parse)):
        word = parse.words[at]
        if parse.pos(at) not in _KINDS or not word.isalpha() or word in named:
            continue
        if known.isdisjoint({*likeness.bases(word), parse.lemma(at)}):
            places = _phrase(parse, at)
            found[" ".join(parse.words[one] for one in places)] = " ".join(parse.tokens[one].text for one in places)
    return found


def _phrase(parse: Parse, at: int) -> list[int]:
    """A verb with its particles, or a noun with the nouns before it that say of which kind it is: "sail area"."""
    if parse.pos(at) == "VERB":
        return [at, *(one for one in parse.dependents(at, "compound:prt") if one > at)]
    last = at
    while parse.is_a(last, "compound") and last < (head := parse.tokens[last].head) and not parse.is_topic(head):
        last = head
    first = at
    while first > 0 and parse.is_a(first - 1, "compound") and not parse.is_topic(first - 1):
        first -= 1
    return list(range(first, last + 1))


def _nearest_relations(program: Program, graph: ColumnarGraph, words: Sequence[str]) -> list[int]:
    """The relations that are nearest to some words, in the order of the graph."""
    vectors, numbers = program.sources.relations, range(graph.num_relations)
    if vectors is None or len(numbers) <= _RELATIONS:
        return list(numbers)[:_RELATIONS]
    near = np.max([vectors.against(word) for word in words], axis=0)
    return sorted(np.argsort(-near, kind="stable")[:_RELATIONS].tolist())


def _nearest_classes(graph: ColumnarGraph, words: Sequence[str], likeness: Likeness) -> list[str]:
    """The names of the classes that are nearest to some words, in the order of the graph."""
    names = list(dict.fromkeys(clean(graph.type_label(id)) for id in graph.type_ids[:_COMPARED]))
    if len(names) <= _CLASSES:
        return names
    near = likeness.vectors(names) @ likeness.vectors(words).T
    kept = np.argsort(-near.max(axis=1), kind="stable")[:_CLASSES]
    return [names[at] for at in sorted(kept.tolist())]


def _line(graph: ColumnarGraph, number: int, classes: Sequence[str]) -> str:
    """A relation with what is at both ends and an example; empty if it only gives a class or an id."""
    line = next(iter(described(graph, number, classes)), None)
    if line is None:
        return ""
    head, tail = line.ends
    example = f"{EXAMPLE}{line.example}" if line.example else ""
    return write_relation(WrittenRelation(clean(graph.relation(number).label), head, with_note(tail, example)))


# --- what is replied -------------------------------------------------------------------------------
def _meanings(
    lines: Sequence[str],
    words: Mapping[str, str],
    graph: ColumnarGraph,
    relations: Sequence[int],
    classes: Collection[str],
    likeness: Likeness,
) -> list[Meaning]:
    """The meanings in a reply. It leaves out names that the prompt does not have or that are too unlike their words.

    Args:
        words: as the rules read them, by their normalised spellings.
        relations, classes: in the prompt.
    """
    found: dict[str, Meaning] = {}
    for line in lines:
        left, _, name = line.partition("=")
        word = words.get(normalize(left), "")
        if not word or word in found or name.strip().casefold() == _NONE:
            continue
        meaning = _meaning(word, name.strip().strip("<>"), graph, relations, classes)
        taken = {id for one in found.values() for id in one.classes}
        if meaning is None or not taken.isdisjoint(meaning.classes):  # a class has one name at a time
            continue
        if likeness.cosine(word, _bare(meaning.name)) >= LEAST:
            found[word] = meaning
    return list(found.values())


def _meaning(
    word: str, written: str, graph: ColumnarGraph, relations: Sequence[int], classes: Collection[str]
) -> Meaning | None:
    """The relations, or the classes, of a name that a model wrote. It may copy the ends behind the name, or leave out
    its unit."""
    labels = {number: clean(graph.relation(number).label) for number in relations}
    for form in (str.casefold, lambda text: _bare(text).casefold()):
        for name in map(form, possible_labels(written)):
            if of_name := [number for number, label in labels.items() if form(label) == name]:
                return Meaning(word, labels[of_name[0]], of_name, ())
            if (own := next((label for label in classes if form(label) == name), None)) is not None:
                ids = [id for id in graph.type_ids if clean(graph.type_label(id)) == own]
                return Meaning(word, own, (), ids)
    return None


def _bare(name: str) -> str:
    """A name without what is in brackets at its end, such as a unit."""
    return name.partition("(")[0].partition("[")[0].strip() or name
