"""How many triples a language model extracts from a text, and how many of them the graph has, by the relations offered.

    python -m bench.stated_triples openai/MODEL [WORKERS]

The texts are 24 of the explanations in `examples/traces/qwen2.5-coder-1.5b`: one to three sentences that state facts of
the bundled graph. The step is `ExtractTriples` with its worked examples.
"""

from __future__ import annotations

import json
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from triplecheck import KnowledgeBase
from triplecheck.lms import ModelReplyError, RolePredict, session
from triplecheck.lms.extractive.sentences import split_sentences
from triplecheck.programs import Sources
from triplecheck.programs.know3rag.generation import names_in, relations_near
from triplecheck.programs.know3rag.reliability import Supervisor
from triplecheck.programs.steps import Trace
from triplecheck.programs.triple_lines import triples_of
from triplecheck.signatures import ExtractTriples

TRACES = Path(__file__).parents[1] / "examples/traces/qwen2.5-coder-1.5b/traces.jsonl"
TEXTS = 24
RELATIONS = (0, 1, 2, 3, 6)  # per sentence
_REASONING = re.compile(r"\[\[ ## reasoning ## \]\]\n(.+?)\n\n\[\[", re.DOTALL)


def explanations() -> list[str]:
    """The texts, the same in each run."""
    found: dict[str, str] = {}
    for row in map(json.loads, TRACES.read_text(encoding="utf-8").splitlines()):
        stated = _REASONING.search(row["messages"][-1]["content"])
        if row["signature"] == "AnswerFromFacts" and row["source"] == "verified" and stated:
            found.setdefault(row["id"], stated[1].strip())
    return random.Random(3).sample(sorted(found.values()), TEXTS)


def main(model: str, workers: int = 4) -> None:
    """Print a line for each number of relations that are offered for a sentence."""
    sources = Sources.of(KnowledgeBase.open("bundled"))
    supervisor = Supervisor(sources, "relative", "sum")
    step = RolePredict(ExtractTriples, role="extract")

    def there(top_k: int, text: str) -> list[bool] | None:
        """Whether the graph has each triple; None: the reply cannot be read."""
        names = names_in(sources.graph, sources.linker, text)
        try:
            with session(model):
                relations = relations_near(sources, split_sentences(text), top_k)
                reply = step(entities=names, relations=relations, texts=[text])
        except ModelReplyError:
            return None
        (triples,) = triples_of(reply.triples, [text], Trace())
        return [bool(rated.to_json()["in_graph"]) for rated in supervisor.rate(triples, text).triples]

    for top_k in RELATIONS:
        with ThreadPoolExecutor(workers) as pool:
            replies = list(pool.map(partial(there, top_k), explanations()))
        read = [reply for reply in replies if reply is not None]
        print(
            f"{top_k} relations per sentence: {sum(map(len, read))} triples, {sum(map(sum, read))} of the graph; "
            f"of {len(replies)} texts {sum(map(any, read))} with one, {len(replies) - len(read)} unreadable"
        )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
