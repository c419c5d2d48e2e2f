"""Conditions on nodes that define the gold answers exactly: triple patterns, and words of the documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.evals.questions import Question, parse_row, text_lines
from triplecheck.kg import KnowledgeBase, Pattern, ReadError, UserError, Variable
from triplecheck.kg.patterns import bind, match
from triplecheck.kg.patterns.bind import Constants
from triplecheck.kg.values import quantity

TARGET = "x"
"""The variable that stands for the answer."""

Nodes = npt.NDArray[np.int64]
PatternText = tuple[str, str, str]


@dataclass(frozen=True)
class Condition:
    """The conjunction of conditions that a gold answer satisfies.

    A pattern is (head, relation, tail) of ids. `?x` is the answer, `?y` another node, `?x:Type` a node of a type.

    Attributes:
        without: groups of patterns; no group holds as a whole.
        text: regular expressions that all match the node's document (label and text, without relations),
            ignoring case.
        without_text: regular expressions that do not match the document.
        at_most: by relation, the upper bound of a numeric literal.
    """

    patterns: tuple[PatternText, ...]
    without: tuple[tuple[PatternText, ...], ...] = ()
    text: tuple[str, ...] = ()
    without_text: tuple[str, ...] = ()
    at_most: Mapping[str, float] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Condition:
        """Read a condition from the object in a questions file.

        Raises:
            UserError: it has an unknown field, or no patterns.
        """
        known = {"patterns", "without", "text", "without_text", "at_most"}
        if unknown := sorted(set(row) - known):
            raise UserError(f"a condition has no field {unknown[0]!r}; there are: {', '.join(sorted(known))}")
        patterns = _rows(row.get("patterns", ()))
        if not patterns:
            raise UserError("a condition needs patterns; give at least one relation of the answer, with its type")
        return cls(
            patterns,
            tuple(_rows(group) for group in row.get("without", ())),
            tuple(row.get("text", ())),
            tuple(row.get("without_text", ())),
            dict(row.get("at_most", {})),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object that `from_json` reads, without empty fields."""
        whole = {
            "patterns": [list(row) for row in self.patterns],
            "without": [[list(row) for row in group] for group in self.without],
            "text": list(self.text),
            "without_text": list(self.without_text),
            "at_most": dict(self.at_most),
        }
        return {name: value for name, value in whole.items() if value}


def answers(kb: KnowledgeBase, condition: Condition) -> Nodes:
    """Return every node that satisfies a condition, ascending.

    Raises:
        UserError: the patterns name an id or a relation that the knowledge base lacks.
    """
    nodes = solve(kb, condition.patterns)
    for group in condition.without:
        nodes = np.setdiff1d(nodes, solve(kb, group, missing_is_empty=True), assume_unique=True)
    for relation, limit in condition.at_most.items():
        nodes = nodes[[_at_most(kb, int(node), relation, limit) for node in nodes]] if len(nodes) else nodes
    if condition.text or condition.without_text:
        wanted = [re.compile(text, re.IGNORECASE | re.DOTALL) for text in condition.text]
        unwanted = [re.compile(text, re.IGNORECASE | re.DOTALL) for text in condition.without_text]
        documents = kb.node_search.documents
        rows = documents.rows_of(nodes)
        nodes, rows = nodes[rows >= 0], rows[rows >= 0]
        texts = [documents.text(int(row)) for row in rows]
        keep = [all(w.search(text) for w in wanted) and not any(u.search(text) for u in unwanted) for text in texts]
        nodes = nodes[np.array(keep, bool)]
    return nodes


def solve(kb: KnowledgeBase, patterns: Sequence[PatternText], *, missing_is_empty: bool = False) -> Nodes:
    """Return all nodes for `?x` such that the patterns hold together. Exact, also for cyclic patterns.

    Args:
        missing_is_empty: return no nodes if the knowledge base lacks a name; otherwise that is an error.
    """
    for row in patterns:
        lacking = [end for end in (row[0], row[2]) if not end.startswith("?") and kb.graph.find(end) is None]
        lacking += [] if kb.graph.find_relation(row[1]) is not None else [row[1]]
        if lacking and missing_is_empty:
            return np.empty(0, np.int64)
        if lacking:
            raise UserError(f"{kb.path} has no {lacking[0]!r}, named in the pattern {' '.join(row)}")
    written = [Pattern(_end(head), relation, _end(tail)) for head, relation, tail in patterns]
    query = bind(kb.graph, written, Constants(kb.graph, None))
    if query.dropped:
        raise UserError(f"the pattern {query.dropped[0].pattern} cannot be used: {query.dropped[0].reason}")
    found = match(kb.graph, query, exact=True)
    nodes = found.nodes(TARGET)
    if nodes is None or not found.exact:
        raise UserError(f"too many nodes satisfy {patterns}; add a pattern that restricts ?{TARGET}")
    return np.asarray(nodes, np.int64)


def _rows(rows: Any) -> tuple[PatternText, ...]:
    if any(len(row) != 3 for row in rows):
        raise UserError(f"a pattern is [head, relation, tail]; one of {rows!r} is not")
    return tuple((str(head), str(relation), str(tail)) for head, relation, tail in rows)


def _end(text: str) -> str | Variable:
    if not text.startswith("?"):
        return text
    name, _, kind = text[1:].partition(":")
    return Variable(name, kind or None)


def _at_most(kb: KnowledgeBase, node: int, relation: str, limit: float) -> bool:
    """Whether a node has a numeric value for a relation, and no value above the limit."""
    number = kb.graph.find_relation(relation)
    if number is None:
        raise UserError(f"{kb.path} has no relation {relation!r}")
    literals = [kb.graph.literal(int(tail)) for tail in kb.graph.neighbors(node, number)]
    sizes = [size for literal in literals if literal is not None and (size := quantity(literal)) is not None]
    return bool(sizes) and all(size.size <= limit for size in sizes)


# Hand-written questions, each with the condition that defines its answers.
#
# A line is an object with `id`, `question`, `condition` (see `Condition`) and optionally `kind`.
# Answers are not stored: they depend on the release of the data and are computed from the condition.

DEBIAN = "debian"
"""Name of the bundled questions about Debian packages."""


@dataclass(frozen=True)
class Written:
    """A question with the condition of its answers."""

    id: str
    question: str
    condition: Condition
    kind: str | None = None


def bundled_path(name: str = DEBIAN) -> Path:
    """Return the path of a bundled set of questions."""
    return Path(str(files("triplecheck.evals.retrieval") / "queries" / f"{name}.jsonl"))


def read_written(path: Path | str) -> list[Written]:
    """Read hand-written questions from a JSON lines file.

    Raises:
        ReadError: the file or a line cannot be read; the message names the line.
    """
    path = Path(path)
    found: dict[str, Written] = {}
    for number, line in text_lines(path):
        try:
            row = parse_row(line)
            condition = Condition.from_json(row["condition"])
            one = Written(str(row["id"]), str(row["question"]), condition, row.get("kind"))
        except (ValueError, KeyError, TypeError, AttributeError, UserError) as error:
            reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise ReadError(path, number, reason) from error
        if one.id in found:
            raise ReadError(path, number, f"duplicate id {one.id!r}")
        found[one.id] = one
    return list(found.values())


def materialise(kb: KnowledgeBase, written: Iterable[Written]) -> tuple[list[Question], dict[str, str]]:
    """Compute the answers of hand-written questions on a knowledge base.

    Returns:
        The questions that have answers, and for each other question, by id, why it has none.
    """
    questions, without = [], {}
    for one in written:
        try:
            nodes = answers(kb, one.condition)
        except UserError as error:
            without[one.id] = str(error)
            continue
        if not len(nodes):
            without[one.id] = "no node satisfies its condition"
            continue
        questions.append(
            Question(
                id=one.id,
                question=one.question,
                answers=tuple(kb.graph.node_id(int(node)) for node in nodes),
                answer_labels=tuple(kb.graph.labels(nodes)),
                kind=one.kind,
                gold={"gold": one.condition.to_json()},
            )
        )
    return questions, without
