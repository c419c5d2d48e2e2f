"""Assists of Know³-RAG; those of extracted triples are also used where texts are read and verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

import numpy as np

from triplecheck.kg import Graph, Words, normalize
from triplecheck.kg.plausibility import TextTriple
from triplecheck.kg.relation_vectors import relation_texts
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.roles import same_stem
from triplecheck.programs.assists import Assists
from triplecheck.programs.base import Sources
from triplecheck.programs.steps import Checked, Trace
from triplecheck.signatures import notation


# --- `near_relations`: a model that extracts triples sees how the graph names the relations that a text may state.
def near_relations(
    assists: Assists, sources: Sources, texts: Sequence[str], top_k: int = 2, most: int = 30
) -> list[str]:
    """Labels of a few relations that the texts may state, for a prompt; none without the assist.

    First come the relations whose name occurs in a text, then the `top_k` most similar ones of each text. Without
    vectors all others follow, if the graph has at most `most` relations.
    """
    if "near_relations" not in assists:
        return []
    graph, vectors = sources.graph, sources.relations
    words = Words(*texts)
    numbers = range(graph.num_relations)
    named = [n for n in numbers if any(name in words for name in relation_texts(graph.relation(n)))]
    similar: list[int] = []
    if vectors is not None and texts:
        best = np.argsort(-np.stack([vectors.against(text) for text in texts]), axis=1, kind="stable")[:, :top_k]
        similar = best.T.ravel().tolist()  # the best of each text, then the second best
    elif vectors is None and len(numbers) <= most:
        similar = list(numbers)
    chosen = list(dict.fromkeys(named + similar))[:most]
    return list(dict.fromkeys(graph.relation(number).label for number in chosen))


def read_triples(lines: Iterable[str], texts: Sequence[str]) -> tuple[list[list[TextTriple]], list[str]]:
    """The triples of each text, in order and without duplicates; and the lines that are not triples.

    A triple that was broken over several lines is joined. If there is one text, all triples belong to it; otherwise one
    without a number belongs to the first text that contains its head and tail.

    Args:
        lines: as a language model writes them: number of the text | head | relation | tail.
        texts: what they were extracted from, numbered from 1.
    """
    found: list[dict[TextTriple, None]] = [{} for _ in texts]
    refused = []
    for line in notation.read_triples(lines):
        if line.triple is None or not all(normalize(part) for part in line.triple):
            refused.append(line.text)
            continue
        number = 1 if len(texts) == 1 else line.number
        if number is None:
            ends = [f" {normalize(end)} " for end in (line.triple[0], line.triple[2])]
            having = (at for at, text in enumerate(texts, 1) if all(end in f" {normalize(text)} " for end in ends))
            number = next(having, 0)
        if 1 <= number <= len(texts):
            found[number - 1][line.triple] = None
        else:
            refused.append(line.text)
    return [list(triples) for triples in found], refused


# --- `stated_triples`: a small model writes one triple for each relation that its prompt offers, stated or not.
def triples_of(
    assists: Assists,
    lines: Sequence[str],
    texts: Sequence[str],
    trace: Trace,
    language: str,
    around: Sequence[str] = (),
) -> list[list[TextTriple]]:
    """The triples of `stated_triples`; without the assist those of `read_triples`. The trace has what is refused."""
    found, refused = read_triples(lines, texts)
    if "stated_triples" in assists:
        read, (found, refused) = found, stated_triples(lines, texts, around, language)
        assists.note(trace, "stated_triples", "ExtractTriples", *map(_joined, (read, found)))
    if refused:
        told = f"{len(refused)} of {len(lines)} lines are no triples that the text states: {'; '.join(refused)}"
        trace.add(Checked("triples", False, told))
    return found


def _joined(found: Iterable[Iterable[TextTriple]]) -> list[str]:
    return [" | ".join(triple) for triples in found for triple in triples]


def stated_triples(
    lines: Iterable[str], texts: Sequence[str], around: Sequence[str] = (), language: str = ENGLISH
) -> tuple[list[list[TextTriple]], list[str]]:
    """The triples of `read_triples` that the texts state; and the lines that are not triples, or not stated.

    A small model often writes one triple for each relation that its prompt offers, whether or not the text states it. A
    triple is refused in three cases: its head is its tail; its head or its tail has no word in `texts` or `around`; or
    the text has more of the words of another relation between the same head and tail.

    Args:
        texts: what they were extracted from, numbered from 1.
        around: other texts and names from which head and tail may come, such as the question.
    """
    found, refused = read_triples(lines, texts)
    known = _words(" ".join((*texts, *around)))
    stops = stop_words(language)
    stated = [_stated(triples, _words(text), known, stops) for triples, text in zip(found, texts, strict=True)]
    for triples, kept in zip(found, stated, strict=True):
        refused += [" | ".join(triple) for triple in triples if triple not in kept]
    return stated, refused


def _stated(triples: Sequence[TextTriple], said: Set[str], known: Set[str], stops: Set[str]) -> list[TextTriple]:
    """The triples whose head and tail have a known word. Of several between the same two, those that fit the text best.

    These are all triples whose relation has all its words in the text. If there are none, it is the triple with the
    largest share of words in the text, the first of equals: "was born in" may be written as "place of birth".
    """
    between: dict[frozenset[str], list[TextTriple]] = {}
    for triple in triples:
        head, tail = normalize(triple[0]), normalize(triple[2])
        if head != tail and _share(head, known, stops) and _share(tail, known, stops):
            between.setdefault(frozenset((head, tail)), []).append(triple)
    kept: set[TextTriple] = set()
    for several in between.values():
        shares = [_share(relation, said, stops) for _, relation, _ in several]
        in_full = {triple for triple, share in zip(several, shares, strict=True) if share == 1}
        kept |= in_full or {several[shares.index(max(shares))]}
    return [triple for triple in triples if triple in kept]


def _share(phrase: str, said: Set[str], stops: Set[str]) -> float:
    """The share of the words of a phrase that are among other words, in any inflection.

    Stop words are left out, unless the phrase has no other words.
    """
    words = _words(phrase)
    words = words - stops or words
    return sum(word in said or any(_alike(word, other) for other in said) for word in words) / len(words)


def _alike(word: str, other: str) -> bool:
    """Whether two words are likely forms of one word. In scripts without spaces a word may be a part of the other."""
    return same_stem(word, other) or (not word.isascii() and word in other)


def _words(text: str) -> set[str]:
    """The words of a text; a number with and without its separators."""
    plain = text.replace(",", "")
    return {*normalize(text).split(), *(normalize(plain).split() if plain != text else ())}


# --- `measured_theta`: theta_0 so that the first threshold tells the graph's own triples from corrupted ones best.
def measured_theta(
    assists: Assists, given: float | None, otherwise: float, measure: Callable[[], float | None], trace: Trace
) -> float:
    """The given theta_0; without one what is measured, or the other where the assist is off or nothing can be measured.

    Args:
        otherwise: theta_0 of the paper.
        measure: separates held-out triples from corrupted ones; None without any, or without embeddings.
    """
    if given is not None:
        return given
    found = measure() if "measured_theta" in assists else None
    if found is None:
        return otherwise
    assists.note(trace, "measured_theta", "threshold", [f"{otherwise:.3g}"], [f"{found:.3g}"])
    return found


# --- `graph_values`: a value is given as the graph writes it, which may be more precise than a text.
def graph_value(assists: Assists, graph: Graph, answer: str, nodes: Sequence[int], trace: Trace) -> str:
    """The answer in the words of the graph if its first node is a date, a number or a text; else as it was written."""
    if "graph_values" not in assists or not nodes or graph.literal(nodes[0]) is None:
        return answer
    assists.note(trace, "graph_values", "answer", [answer], [graph.label(nodes[0])])
    return graph.label(nodes[0])
