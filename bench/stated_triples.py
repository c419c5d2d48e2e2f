"""How many triples a language model extracts from texts, how many of these a text states, and how many the graph has.

    python -m bench.stated_triples openai/MODEL [WORKERS]

The texts are 24 of the explanations in `examples/traces/qwen2.5-coder-1.5b`: one to three sentences that state facts of
the bundled graph. The step is `ExtractTriples` with its worked examples. The number of relations that a prompt offers
is varied.
"""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from triplecheck import KnowledgeBase
from triplecheck.lms import ModelReplyError, RolePredict, session
from triplecheck.lms.extractive.sentences import split_sentences
from triplecheck.optimize.traces import read_traces
from triplecheck.programs import Sources
from triplecheck.programs.know3rag.generation import names_in, relations_near
from triplecheck.programs.know3rag.reliability import Supervisor
from triplecheck.programs.steps import Trace
from triplecheck.programs.triple_lines import read_triples, triples_of
from triplecheck.signatures import ExtractTriples

TRACES = Path(__file__).parents[1] / "examples/traces/qwen2.5-coder-1.5b"
TEXTS = 24
RELATIONS = (0, 1, 2, 3)  # per sentence


def explanations() -> list[str]:
    """The texts, the same in each run."""
    found: dict[str, str] = {}
    for row in read_traces(TRACES):
        if row.signature == "AnswerFromFacts" and row.source == "verified" and row.outputs.get("reasoning"):
            found.setdefault(row.id, row.outputs["reasoning"])
    return random.Random(3).sample(sorted(found.values()), TEXTS)


def main(model: str, workers: int = 4) -> None:
    """Print one line for each number of relations per sentence."""
    sources = Sources.of(KnowledgeBase.open("bundled"))
    supervisor = Supervisor(sources, "relative", "sum")
    step = RolePredict(ExtractTriples, role="extract")

    def there(top_k: int, text: str) -> tuple[int, list[bool]] | None:
        """The triples written; for each one stated, whether the graph has it. None if the reply cannot be read."""
        names = names_in(sources.graph, sources.linker, text)
        try:
            with session(model):
                relations = relations_near(sources, split_sentences(text), top_k)
                reply = step(entities=names, relations=relations, texts=[text])
        except ModelReplyError:
            return None
        ((written,), _), (stated,) = read_triples(reply.triples, [text]), triples_of(reply.triples, [text], Trace())
        return len(written), [rated.in_graph for rated in supervisor.rate(stated, text).triples]

    for top_k in RELATIONS:
        with ThreadPoolExecutor(workers) as pool:
            replies = list(pool.map(partial(there, top_k), explanations()))
        read = [reply for reply in replies if reply is not None]
        print(
            f"{top_k} relations per sentence: {sum(written for written, _ in read)} triples, "
            f"{sum(len(stated) for _, stated in read)} stated, {sum(sum(stated) for _, stated in read)} of the graph; "
            f"of {len(replies)} texts {sum(any(stated) for _, stated in read)} with one, "
            f"{len(replies) - len(read)} unreadable"
        )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
