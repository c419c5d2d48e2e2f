"""How many triples a language model extracts from texts, how many of these the text states, and how many the graph has.

    python -m bench.stated_triples openai/MODEL [WORKERS]

The texts state facts of the bundled graph: right answers to the bundled training questions, as Know³-RAG would extract
triples from them, and 24 explanations that Qwen2.5-Coder-1.5B wrote (`bench/explanations.txt`). The step is
`ExtractTriples` with its worked examples. The number of relations that a prompt offers is varied.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from triplecheck import KnowledgeBase
from triplecheck.evals import bundled_questions, read_questions
from triplecheck.language.pipeline import pipeline, read_text
from triplecheck.lms import ModelReplyError, RolePredict, session
from triplecheck.optimize.checking import calls_by_step
from triplecheck.programs import Know3RAG, Sources
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.know3rag import near_relations, read_triples, stated_triples
from triplecheck.programs.know3rag.generation import names_in
from triplecheck.programs.know3rag.reliability import Supervisor
from triplecheck.signatures import ExtractTriples

EXPLANATIONS = Path(__file__).with_name("explanations.txt")
RELATIONS = (None, 0, 1, 2, 3)  # similar ones per sentence, besides those that the text names; None: no relation at all


def right_answers(sources: Sources) -> list[str]:
    """Right answers to the bundled training questions, with reasoning."""
    calls, _ = calls_by_step(Know3RAG(sources), read_questions(bundled_questions("train")))
    return list(dict.fromkeys(text for (_, inputs, _), _ in calls["ExtractTriples"] for text in inputs["texts"]))


def main(model: str, workers: int = 4) -> None:
    """Print one line for each kind of text and number of relations."""
    sources = Sources.of(KnowledgeBase.open("bundled"))
    supervisor = Supervisor(sources, "relative", "sum")
    step = RolePredict(ExtractTriples, role="extract")

    def extracted(top_k: int | None, text: str) -> tuple[list[bool], list[bool]] | None:
        """For each triple written, and for each one stated, whether the graph has it. None: an unreadable reply."""
        names = names_in(sources.graph, sources.linker, read_text(text))
        relations = [] if top_k is None else near_relations(Assists(), sources, pipeline().sentences(text), top_k)
        try:
            with session(model):
                reply = step(entities=names, relations=relations, texts=[text])
        except ModelReplyError:
            return None
        (written,), _ = read_triples(reply.triples, [text])
        (stated,), _ = stated_triples(reply.triples, [text])
        there = [[rated.in_graph for rated in supervisor.rate(some, text).triples] for some in (written, stated)]
        return there[0], there[1]

    for kind, texts in (
        ("right answers", right_answers(sources)),
        ("explanations", EXPLANATIONS.read_text("utf-8").splitlines()),
    ):
        for top_k in RELATIONS:
            with ThreadPoolExecutor(workers) as pool:
                replies = list(pool.map(partial(extracted, top_k), texts))
            read = [reply for reply in replies if reply is not None]
            written, stated = ([there for reply in read for there in reply[at]] for at in (0, 1))
            print(
                f"{len(texts)} {kind}, {top_k} relations per sentence: {len(written)} triples written, "
                f"{sum(written)} of them in the graph; {len(stated)} stated, {sum(stated)} of them in the graph; "
                f"{len(replies) - len(read)} unreadable",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
