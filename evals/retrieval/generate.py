"""Questions made from any semi-structured knowledge base, after the manner of STaRK (arXiv 2404.13207, section 3).

A node with a document is drawn, some of its edges and words of its text become constraints, and every node
that satisfies all of them is an answer: found by the exact solver, not by the wording. The wording comes
from templates. The same knowledge base and seed give the same questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.evals.questions import Question
from triplecheck.evals.retrieval import phrases
from triplecheck.evals.retrieval.conditions import TARGET, Condition, Row, answers
from triplecheck.evals.retrieval.keywords import keywords, pattern
from triplecheck.kg import Direction, KnowledgeBase, UserError, normalize

SHAPES = ("one+words", "two", "path+words", "two+words", "path", "one+words")
"""What is asked: edges of the answer, or a path of two edges, without and with words of its text."""

_KNOWN = {f"{edges}{words}" for edges in ("one", "two", "path") for words in ("", "+words")}

MOST_ANSWERS = 20
_WIDEST = 20_000  # nodes at the other end of a constraint: more of them say nothing
_DRAWS_PER_QUESTION = 200
_NAME_LENGTH = 60


@dataclass(frozen=True)
class _Constraint:
    patterns: tuple[Row, ...]
    clause: str
    topic: int


def generate(
    kb: KnowledgeBase,
    count: int,
    seed: int = 0,
    most_answers: int = MOST_ANSWERS,
    shapes: Sequence[str] = SHAPES,
) -> list[Question]:
    """Questions with all their answers.

    Args:
        kb: a knowledge base; better one with documents.
        count: how many.
        seed: which ones.
        most_answers: a question with more answers is drawn again.
        shapes: "one", "two" or "path", each also with "+words"; they take turns.

    Raises:
        UserError: there is no such shape, or so many different questions could not be drawn.
    """
    if unknown := sorted(set(shapes) - _KNOWN):
        raise UserError(f"no shape {unknown[0]!r}; there are: {', '.join(sorted(_KNOWN))}")
    lot = random.Random(seed)
    maker = _Maker(kb, lot, most_answers)
    questions: list[Question] = []
    asked: set[Condition] = set()
    for _ in range(count * _DRAWS_PER_QUESTION):
        if len(questions) == count:
            return questions
        made = maker.draw(shapes[len(questions) % len(shapes)], f"generated-{seed}-{len(questions) + 1}")
        if made is None:
            continue
        question, condition = made
        if condition not in asked:
            asked.add(condition)
            questions.append(question)
    if len(questions) < count:
        raise UserError(f"{kb.path}: only {len(questions)} of {count} questions could be drawn; ask for fewer")
    return questions


class _Maker:
    def __init__(self, kb: KnowledgeBase, lot: random.Random, most_answers: int) -> None:
        self._kb, self._graph, self._lot, self._most = kb, kb.graph, lot, most_answers
        self._documents = kb.node_search.documents

    def draw(self, shape: str, id: str) -> tuple[Question, Condition] | None:
        """A question about a node that is drawn, and its condition; None where it makes none of this shape."""
        row = self._lot.randrange(len(self._documents))
        node = int(self._documents.nodes[row])
        type_id = next(iter(self._graph.types(node)), "")
        constraints = self._constraints(node, shape.partition("+")[0])
        if not constraints:
            return None
        used = " ".join(c.clause for c in constraints) + " " + self._graph.label(node)
        words = keywords(self._documents, row, used, self._lot) if shape.endswith("+words") else ""
        if shape.endswith("+words") and not words:
            return None
        patterns = [pattern for constraint in constraints for pattern in constraint.patterns]
        condition = Condition(_typed(patterns, type_id), text=(pattern(words),) if words else ())
        found = answers(self._kb, condition)
        if not 0 < len(found) <= self._most:
            return None
        kind = self._graph.type_label(type_id) if type_id else "thing"
        question = Question(
            id=id,
            question=phrases.question(kind, [c.clause for c in constraints], words, self._lot),
            answers=tuple(self._graph.node_id(int(n)) for n in found),
            answer_labels=tuple(self._graph.labels(found)),
            topic=tuple(dict.fromkeys(self._graph.node_id(c.topic) for c in constraints)),
            kind=shape,
            gold={"gold": condition.to_json()},
        )
        return question, condition

    def _constraints(self, node: int, shape: str) -> list[_Constraint]:
        edges = list(self._edges(node, avoid={node}))
        self._lot.shuffle(edges)
        if shape == "path":
            return next(([path] for edge in edges[:4] if (path := self._path(node, *edge)) is not None), [])
        wanted = 2 if shape == "two" else 1
        made = [self._edge(relation, direction, end) for relation, direction, end in edges[:wanted]]
        return made if len(made) == wanted else []

    def _edges(self, node: int, avoid: set[int]) -> Iterator[tuple[int, Direction, int]]:
        """Edges of a node to named entities that not everything is connected with: one draw per relation."""
        for count in self._graph.relations_of(node):
            ends = self._graph.neighbors(node, count.relation, count.direction)
            end = int(ends[self._lot.randrange(len(ends))])
            if end in avoid or self._graph.literal(end) is not None or len(self._graph.label(end)) > _NAME_LENGTH:
                continue
            back = self._graph.neighbors(end, count.relation, count.direction.reverse)
            if len(back) <= _WIDEST and not self._has_namesake(end):
                yield count.relation, count.direction, end

    def _has_namesake(self, node: int) -> bool:
        """Whether a question cannot tell a node from another of its kind by its name."""
        kinds = set(self._graph.types(node))
        others = {named.node for named in self._kb.names.nodes(normalize(self._graph.label(node)))} - {node}
        return any(not kinds or not kinds.isdisjoint(self._graph.types(other)) for other in others)

    def _edge(self, relation: int, direction: Direction, end: int) -> _Constraint:
        row = self._pattern(f"?{TARGET}", relation, direction, self._graph.node_id(end))
        return _Constraint((row,), self._clause(relation, direction, end), end)

    def _clause(self, relation: int, direction: Direction, end: int) -> str:
        outgoing, how = direction is Direction.OUT, self._lot.randrange(3)
        return phrases.clause(self._called(relation), self._graph.label(end), outgoing=outgoing, how=how)

    def _called(self, relation: int) -> str:
        """A relation by its label, or as often by an alias of as few words."""
        about = self._graph.relation(relation)
        short = [alias for alias in about.aliases if len(alias.split()) <= max(2, len(about.label.split()))]
        return self._lot.choice((about.label, self._lot.choice(short))) if short else about.label

    def _path(self, node: int, relation: int, direction: Direction, middle: int) -> _Constraint | None:
        further = list(self._edges(middle, avoid={node, middle}))
        if not further:
            return None
        second, way, end = self._lot.choice(further)
        if (second, way) == (relation, direction.reverse):
            return None  # the siblings of a node: asked for more naturally by one edge
        kind = next(iter(self._graph.types(middle)), "")
        patterns = (
            self._pattern(f"?{TARGET}", relation, direction, f"?y:{kind}" if kind else "?y"),
            self._pattern("?y", second, way, self._graph.node_id(end)),
        )
        label = self._graph.type_label(kind) if kind else ""
        rest = self._clause(second, way, end)
        clause = phrases.by_way_of(self._called(relation), label, rest, outgoing=direction is Direction.OUT)
        return _Constraint(patterns, clause, end)

    def _pattern(self, near: str, relation: int, direction: Direction, far: str) -> Row:
        id = self._graph.relation(relation).id
        return (near, id, far) if direction is Direction.OUT else (far, id, near)


def _typed(patterns: list[Row], type_id: str) -> tuple[Row, ...]:
    """The patterns, the first mention of the answer with its type."""
    if not type_id:
        return tuple(patterns)
    head, relation, tail = patterns[0]
    typed = f"?{TARGET}:{type_id}"
    first = (typed, relation, tail) if head == f"?{TARGET}" else (head, relation, typed)
    return (first, *patterns[1:])
