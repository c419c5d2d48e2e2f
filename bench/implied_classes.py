"""Which kind of things a noun names where a graph has no classes: the weights, and how often they are right.

    python -m bench.implied_classes DIR --kbs kbs

DIR has a folder with a graph and questions.jsonl for each graph, as `examples/asked`. A graph loses its classes first.
A noun of a development question is an example if it names a class that was there, or if it is asked for and the answers
are things of one kind. Each example is used twice, the second time without the right kind, as an example of a noun that
names no kind; other nouns are such examples too. The choice is a softmax over the kinds and none; it is measured on
each graph with weights that were fitted on the others.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.characteristic_sets import groups
from triplecheck.kg.classes import MEMBERSHIP
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.knowledge_base import build
from triplecheck.lms import session
from triplecheck.programs import KERAG, planning
from triplecheck.programs.assists import implied_classes
from triplecheck.programs.assists.implied_classes import chosen, kinds_of, said_of

_DECAY = 0.003
_OF_NONE = 0.5
"""Weight of an example of no kind."""
_OTHER = frozenset({"subclass of", *MEMBERSHIP})


@dataclass(frozen=True)
class Example:
    """A noun in a question.

    Attributes:
        features: of each kind, the last row of none; shape (kinds + 1, features + 1).
        right: row of the kind that it names, or of none.
        names_kind: whether it names a kind; else it is an example of none.
    """

    features: np.ndarray[Any, Any]
    right: int
    names_kind: bool


def without_classes(kb: KnowledgeBase, place: Path) -> KnowledgeBase:
    """The knowledge base without the statements of what things are."""
    graph = kb.columnar
    if not graph.has_types:
        return kb
    heads, relations, tails = graph.all_edges()
    named = [graph.relation(number).label for number in range(graph.num_relations)]
    edges = [
        (graph.label(head), named[relation], graph.literal(tail) or graph.label(tail))
        for head, relation, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
        if named[relation] not in _OTHER
    ]
    return build(edges, place)


def kind_of_each(graph: ColumnarGraph) -> dict[str, int]:
    """The kind of each thing, by its name."""
    return {graph.label(node): kind for kind, group in enumerate(groups(graph)) for node in group.nodes.tolist()}


def classes_of(full: ColumnarGraph, of: dict[str, int]) -> dict[str, int]:
    """The kind that most things of each class are in, by the name of the class."""
    votes: dict[str, Counter[int]] = defaultdict(Counter)
    for node in range(full.num_entities):
        for one in full.types(node):
            if full.label(node) in of:
                votes[full.type_label(one)][of[full.label(node)]] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in votes.items()}


def examples(folder: Path, kbs: Path) -> Iterator[Example]:
    """The nouns of a graph's development questions."""
    (file,) = (path for path in folder.iterdir() if path.name != "questions.jsonl")
    full = build(file, kbs / folder.name)
    kb = without_classes(full, kbs / f"{folder.name}-bare")
    of = kind_of_each(kb.columnar)
    classes = classes_of(full.columnar, of)
    program = KERAG(kb)
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["half"] == "dev":
            answers = Counter(of[answer] for answer in row["answers"] if answer in of)
            yield from _nouns(program, row["question"], classes, answers)


def _nouns(program: KERAG, question: str, classes: dict[str, int], answers: Counter[int]) -> Iterator[Example]:
    with patch.object(planning, "with_implied_classes", wraps=implied_classes.with_implied_classes) as called:
        try:
            program(question=question)
        except UserError:
            return
    if not called.call_args_list:
        return
    _, graph, _, read, topics, likeness, _ = called.call_args_list[0].args
    kinds = kinds_of(graph, likeness)
    for said in said_of(graph, read, topics, likeness) if kinds else ():
        rows = np.array([[*kind.features(said, likeness), 0.0] for kind in kinds])
        none = np.array([[0.0] * (rows.shape[1] - 1) + [1.0]])
        is_asked = read.asked.at >= 0 and read.parse.lemma(read.asked.at) == said.noun.split()[-1]
        named = [kind for name, kind in classes.items() if likeness.bases(name) == likeness.bases(said.noun)]
        right = named[0] if named else answers.most_common(1)[0][0] if is_asked and answers else None
        if right is None:
            yield Example(np.vstack([rows, none]), len(rows), names_kind=False)
            continue
        yield Example(np.vstack([rows, none]), right, names_kind=True)
        yield Example(np.vstack([np.delete(rows, right, axis=0), none]), len(rows) - 1, names_kind=False)


def fitted(some: Sequence[Example]) -> np.ndarray[Any, Any]:
    """Weights of the features, and of none."""
    from scipy.optimize import minimize

    most, width = max(len(one.features) for one in some), some[0].features.shape[1]
    table, open_ = np.zeros((len(some), most, width)), np.full((len(some), most), -1e9)
    for at, one in enumerate(some):
        table[at, : len(one.features)], open_[at, : len(one.features)] = one.features, 0
    scale = np.append(np.maximum(table[open_ == 0][:, :-1].std(axis=0), 1e-6), 1)
    table /= scale
    weights = np.array([1 if one.names_kind else _OF_NONE for one in some])
    weights /= weights.sum()
    rows, right = np.arange(len(some)), np.array([one.right for one in some])

    def loss(now: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        scores = table @ now + open_
        chances = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        decay = _DECAY * np.append(now[:-1], 0)
        slope = weights @ (np.einsum("ij,ijk->ik", chances, table) - table[rows, right]) + 2 * decay
        return float(-weights @ np.log(chances[rows, right] + 1e-12) + decay @ now), slope

    return minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B").x / scale


def counted(some: Sequence[Example], weights: np.ndarray[Any, Any]) -> Counter[str]:
    """How many nouns are told a kind, and rightly."""
    found = Counter[str]()
    for one in some:
        best = chosen(one.features[:-1, :-1] @ weights[:-1], weights[-1])
        what = "known" if one.names_kind else "none"
        found.update([what] if best is None else [what, f"{what}, told"])
        found["right"] += one.names_kind and best == one.right
    return found


def main() -> None:
    """Measure with each graph left out, then fit on all, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of graphs with questions")
    parser.add_argument("--kbs", type=Path, required=True, help="where knowledge bases are built")
    asked = parser.parse_args()
    with session("extractive"):
        graphs = {
            folder.name: list(examples(folder, asked.kbs)) for folder in sorted(asked.data.iterdir()) if folder.is_dir()
        }
    print(json.dumps({name: len(some) for name, some in graphs.items()}))
    total = Counter[str]()
    for name, some in graphs.items():
        others = [one for other, its in graphs.items() if other != name for one in its]
        total += counted(some, fitted(others))
    print(json.dumps(total))
    print(json.dumps(fitted([one for some in graphs.values() for one in some]).round(2).tolist()))


if __name__ == "__main__":
    main()
