"""Which of several things with one name is meant: learned weights against the score of the linker.

    python -m bench.homonyms --data DIR --kbs kbs

A topic whose name other nodes share is an example: its candidates, and the one that is meant. The choice is a softmax
over the candidates; its weights are fitted on all graphs but one, and measured on that one. Features of a candidate
are how its name fits, its relations (AnchorRAG's grounding, and the first hop of the ranker of paths), its type, its
description, and its popularity.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.datasets.folder import bundled_case, find_cases
from triplecheck.evals.linking import ambiguous
from triplecheck.evals.questions import SPLITS
from triplecheck.evals.variants.rewriting import TopicMention, topic_mentions
from triplecheck.kg import Direction, KnowledgeBase
from triplecheck.kg._atomic import write_text
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import load_ranker
from triplecheck.language.question import read_question
from triplecheck.signatures.notation import write_topic

FEATURES = ("name", "relations", "best relation", "ranker", "type", "description", "popularity")
_CANDIDATES = 1_000
_DECAY = 0.01


@dataclass(frozen=True)
class Choice:
    """A name with its candidates.

    Attributes:
        features: of each candidate, shape (n, features).
        score: of the linker, shape (n,).
        right: whether a candidate is meant, shape (n,).
    """

    features: np.ndarray[Any, Any]
    score: np.ndarray[Any, Any]
    right: np.ndarray[Any, Any]

    def to_json(self) -> list[Any]:
        """The fields as lists."""
        return [self.features.tolist(), self.score.tolist(), self.right.tolist()]


def read(path: Path) -> dict[str, list[Choice]]:
    """The choices of each graph."""
    content = json.loads(path.read_text("utf-8"))
    return {name: [Choice(*map(np.array, one)) for one in some] for name, some in content.items()}


def choices(kb: KnowledgeBase, asked: Sequence[TopicMention]) -> list[Choice]:
    """The candidates of each mention, as far as the right one is among them and another."""
    graph, encode, ranker = kb.graph, load_encoder().encode, load_ranker()
    found = []
    for one in asked:
        candidates = kb.linker.candidates(one.mention, one.question, _CANDIDATES)
        right = np.array([candidate.node in one.nodes for candidate in candidates])
        if not right.any() or right.all():
            continue
        masked = read_question(one.question, [write_topic(one.mention)]).masked()
        texts = []
        for candidate in candidates:
            entity = graph.entity(candidate.node)
            kinds = " ".join(graph.type_label(kind) for kind in graph.types(candidate.node))
            texts += [kinds, entity.description or ""]
        vectors = encode([masked, *texts])
        cosines = (vectors[1:] @ vectors[0]).reshape(-1, 2) * np.array([bool(text) for text in texts]).reshape(-1, 2)
        relations = kb.relation_vectors
        assert relations is not None
        similar, hops = relations.against(one.question), relations.ranked([masked], ranker)[0]
        rows = []
        for candidate, (kind, described) in zip(candidates, cosines.tolist(), strict=True):
            seen = graph.relations_of(candidate.node)
            best = max((float(similar[each.relation]) for each in seen), default=0.0)
            first = [float(hops.first[int(each.direction is Direction.IN), each.relation]) for each in seen]
            rows.append(
                [
                    candidate.lexical,
                    candidate.grounding,
                    best,
                    max(first, default=float(hops.first.min())),
                    kind,
                    described,
                    candidate.popularity,
                ]
            )
        features = np.array(rows)
        features[:, 3] -= np.logaddexp.reduce(hops.first.ravel())
        found.append(Choice(features, np.array([candidate.score for candidate in candidates]), right))
    return found


def fitted(taught: Sequence[Sequence[Choice]], columns: Sequence[int]) -> np.ndarray[Any, Any]:
    """Weights of the features; every graph counts the same."""
    from scipy.optimize import minimize

    # Features are weighed by how much they differ among the candidates of a name.
    spread = np.sqrt(
        np.mean([np.mean([one.features.var(axis=0) for one in graph], axis=0) for graph in taught], axis=0)
    )
    scale = 1 / np.maximum(spread[list(columns)], 1e-6)

    def loss(weights: np.ndarray[Any, Any]) -> float:
        total = 0.0
        for graph in taught:
            each = []
            for one in graph:
                scores = one.features[:, columns] @ (scale * weights)
                each.append(np.logaddexp.reduce(scores) - np.logaddexp.reduce(scores[one.right]))
            total += float(np.mean(each)) / len(taught)
        return total + _DECAY * float(weights @ weights)

    result: np.ndarray[Any, Any] = scale * minimize(loss, np.zeros(len(columns)), method="L-BFGS-B").x
    return result


def first(scores: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """The share of the candidates with the highest score that are right."""
    return float(right[scores >= scores.max() - 1e-9].mean())


def main() -> None:
    """Fit with each graph left out, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmarks")
    parser.add_argument("--kbs", type=Path, required=True, help="where knowledge bases are, or are built")
    parser.add_argument("--out", type=Path, required=True, help="features of the candidates, read again if there")
    parser.add_argument("--limit", type=int, default=400, help="names of a graph")
    parser.add_argument("--least", type=int, default=20, help="names of a graph that is measured on")
    asked = parser.parse_args()
    graphs = read(asked.out) if asked.out.is_file() else {}
    cases = [] if graphs else [*(bundled_case(split) for split in SPLITS), *find_cases(asked.data)]
    for case in cases:
        if case.triples:
            kb = case.knowledge_base(asked.kbs / case.folder.name)
            names = ambiguous(topic_mentions(case.sample(None), kb.graph, kb.linker), kb.graph, kb.linker)
            some = random.Random(0).sample(names, min(len(names), asked.limit))
            graphs.setdefault(case.folder.name, []).extend(choices(kb, some))
    graphs = {name: some for name, some in graphs.items() if some}
    write_text(asked.out, json.dumps({name: [one.to_json() for one in some] for name, some in graphs.items()}) + "\n")
    print(json.dumps({name: len(some) for name, some in graphs.items()}))
    print(json.dumps(measured(graphs, asked.least), indent=1))


def measured(graphs: Mapping[str, Sequence[Choice]], least: int) -> dict[str, Any]:
    """For each graph: the share of names whose right candidate is first, by the linker and by weights that were fitted
    on the other graphs."""
    sets = {
        "all features": tuple(range(len(FEATURES))),
        "without type and description": (0, 1, 2, 3, 6),
        "without the ranker": (0, 1, 2, 4, 5, 6),
        "name, relations, popularity": (0, 1, 6),
    }
    result: dict[str, Any] = {}
    for name, some in graphs.items():
        if len(some) < least:
            continue
        others = [other for kept, other in graphs.items() if kept != name]
        shares = {"names": len(some), "linker": np.mean([first(one.score, one.right) for one in some])}
        for what, columns in sets.items():
            weights = fitted(others, columns)
            shares[what] = np.mean([first(one.features[:, columns] @ weights, one.right) for one in some])
            if what == "all features":
                shares["weights"] = dict(zip(FEATURES, weights.round(2).tolist(), strict=True))
        result[name] = {key: round(float(v), 4) if isinstance(v, float) else v for key, v in shares.items()}
    return result


if __name__ == "__main__":
    main()
