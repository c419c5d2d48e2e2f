"""Time per question outside the language model, on real questions over Freebase."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator

from bench import fixtures
from bench.registry import Options, Row, figure
from bench.timing import each, percentile
from kg import KnowledgeBase, build
from kg.readers import read_graph

_FOLDER, _QUESTIONS, _ASKED = "fb15k237_freebaseqa", "questions_webqsp_train.jsonl.gz", 100


def link(kb: KnowledgeBase, question: str) -> None:
    """Mentions, their candidates, and the candidates' relations weighed by the question."""
    for mention in kb.linker.mentions(question):
        kb.linker.candidates(mention.forms[0], question)


STEPS: dict[str, tuple[Callable[[KnowledgeBase, str], object], float | None]] = {
    "mentions, candidates, relation grounding": (link, 30),
}
"""What is timed per question, by name, with its upper bound in milliseconds.

A program is timed by adding a step that runs it on the knowledge base with a canned language model.
"""


@figure("questions")
def questions(options: Options) -> Iterator[Row]:
    """Median over questions of WebQSP on FB15k-237."""
    folder = fixtures.shared_data() / _FOLDER
    if not (folder / _QUESTIONS).is_file():
        yield Row("per question outside the LM", None, "ms", note=f"no {_FOLDER} in TRIPLECHECK_DATA or ../shared/data")
        return
    encoder = fixtures.encoder()
    raw = read_graph([folder / "triples.tsv.gz"], folder / "entities.tsv.gz")
    kb = build(raw, options.work / "freebase", encoder=encoder)
    with gzip.open(folder / _QUESTIONS, "rt", encoding="utf-8") as lines:
        asked = [json.loads(line)["question"] for _, line in zip(range(_ASKED + 1), lines, strict=False)]
    for name, (step, bound) in STEPS.items():
        step(kb, asked[0])  # loads the indices and the tokenizer
        times = each(lambda question, step=step: step(kb, question), asked[1:])  # type: ignore[misc]
        note = f"{len(times)} questions; 95% within {percentile(times, 0.95) * 1e3:.0f} ms"
        if encoder is not None:
            alone = each(lambda question: encoder.encode([question + " "]), asked[1:])
            note += f"; encoding the question alone takes {percentile(alone, 0.5) * 1e3:.0f} ms"
        yield Row(f"per question: {name}", percentile(times, 0.5) * 1e3, "ms", bound=bound, note=note)
