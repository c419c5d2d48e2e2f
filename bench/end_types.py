"""Does the ranker of paths choose better if it sees what kind of thing is at the end of a path?

    python -m bench.end_types --data DIR --kbs kbs --ranker webqsp=FILE

For each question the paths of up to two hops from its topic are scored by a ranker. To its score is added, times a
weight, the cosine of the question with the types or descriptions of the things at the end of the path. The share of
questions whose best path leads to the answers is printed for each weight. Graphs with neither have nothing to add.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.homonyms import first
from triplecheck.evals.datasets.folder import bundled_case, find_cases
from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question, sampled
from triplecheck.kg import Direction, KnowledgeBase
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.language.question import read_question
from triplecheck.optimize.distil.question_paths import paths_of
from triplecheck.optimize.traces.gold_paths import follow
from triplecheck.signatures.notation import write_topic

WEIGHTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
_HOPS = 2
_ENDS = 4  # things at the end of a path whose kind is read
_DESCRIBED = 8  # words of a description


def chosen_right(kb: KnowledgeBase, questions: Sequence[Question], file: Path) -> list[list[float]]:
    """For each question and weight, the share of the best paths that lead to the answers."""
    graph, encode, ranker = kb.graph, load_encoder().encode, load_ranker(file)
    names, vectors = linker_names(kb.linker), kb.relation_vectors
    assert vectors is not None
    found = []
    for question in questions:
        gold = resolve_gold(question, graph, names)
        answers = {node for answer in gold.answers for node in answer.nodes}
        if len(gold.topics) != 1 or not answers:
            continue
        paths = paths_of(graph, sorted(gold.topics[0]), answers, (), False, _HOPS, random.Random(question.id))
        if not paths.paths:
            continue
        masked = read_question(question.question, [write_topic(graph.label(paths.topic))]).masked()
        (hops,) = vectors.ranked([masked], ranker)
        every = [*paths.paths, *paths.offered]
        scores = np.array(
            [hops.path([(hop.relation, hop.direction is Direction.IN) for hop in path]) for path in every]
        )
        kinds = []
        for path in every:
            ends = np.array([paths.topic], np.int64)
            for hop in path:
                ends = follow(graph, ends, hop)
            kinds.append([_kind(kb, node) for node in ends[:_ENDS].tolist()])
        texts = sorted({kind for some in kinds for kind in some if kind})
        cosines = dict(zip(texts, (encode([masked, *texts])[1:] @ encode([masked])[0]).tolist(), strict=True))
        ends_fit = np.array([np.mean([cosines.get(kind, 0.0) for kind in some] or [0.0]) for some in kinds])
        right = np.arange(len(every)) < len(paths.paths)
        found.append([first(scores + weight * ends_fit, right) for weight in WEIGHTS])
    return found


def _kind(kb: KnowledgeBase, node: int) -> str:
    types = kb.graph.types(node)
    if types:
        return " ".join(kb.graph.type_label(one) for one in types)
    described = kb.graph.entity(node).description if kb.graph.literal(node) is None else None
    return " ".join((described or "").split()[:_DESCRIBED])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmarks")
    parser.add_argument("--kbs", type=Path, required=True, help="where knowledge bases are, or are built")
    parser.add_argument("--ranker", action="append", default=[], metavar="SET=FILE", help="trained on SET")
    parser.add_argument("--limit", type=int, default=100, help="questions of a set")
    parser.add_argument("--only", help="sets whose name contains this")
    asked = parser.parse_args()
    rankers = [(name, Path(file)) for name, _, file in (one.partition("=") for one in asked.ranker)]
    print("set, ranker, questions:", *WEIGHTS)
    for case in [bundled_case("test"), *find_cases(asked.data)]:
        bundled = case.folder.name == "bundled"
        if not case.triples or (asked.only and asked.only not in case.name):
            continue
        kb = case.knowledge_base(asked.kbs / case.folder.name)
        some = sampled([one for one in case.sample(None) if bundled or one.part == "dev"], asked.limit, 0)
        own = [file for name, file in rankers if name in case.name]
        for file in (GENERAL, *own):
            shares = chosen_right(kb, some, file)
            if shares:
                print(case.name, file.stem, len(shares), *np.mean(shares, axis=0).round(3).tolist(), flush=True)


if __name__ == "__main__":
    main()
