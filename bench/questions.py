"""Time per question outside the language model, on real questions over Freebase."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence

import dspy

from bench import fixtures
from bench.measurement import Measurement, Options
from bench.timing import each, percentile
from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import read_graph
from triplecheck.language.pipeline import read_text
from triplecheck.programs import KERAG, Sources

_FOLDER, _QUESTIONS, _ASKED = "fb15k237_freebaseqa", "questions_webqsp_train.jsonl.gz", 100


def link(kb: KnowledgeBase, question: str) -> float:
    """Mentions, candidates, and the scores of the candidates' relations."""
    for mention in kb.linker.mentions(read_text(question)):
        kb.linker.candidates(mention, question)
    return 0.0


def kerag(kb: KnowledgeBase, question: str) -> float:
    """A complete run of KERAG with the extractive engine."""
    seconds: float = KERAG(Sources.of(kb))(question=question).usage.seconds
    return seconds


STEPS: dict[str, tuple[Callable[[KnowledgeBase, str], float], float]] = {
    "mentions, candidates, relation grounding": (link, 30),
    "KERAG, outside the model": (kerag, 30),
}
"""By name, the function to time on each question, and its target in milliseconds.

Each function returns the seconds spent in models, which are subtracted.
"""


def outside(
    name: str, step: Callable[[KnowledgeBase, str], float], kb: KnowledgeBase, questions: Sequence[str], bound: float
) -> Measurement:
    """Median time of a step without the time of its models, in milliseconds."""

    def seconds(question: str) -> float:
        started = time.perf_counter()
        in_models = step(kb, question)
        return time.perf_counter() - started - in_models

    times = [seconds(question) for question in questions]
    note = f"{len(times)} questions; 95% within {percentile(times, 0.95) * 1e3:.0f} ms"
    if (encoder := kb.encoder) is not None:
        alone = each(lambda question: encoder.encode([question + " "]), questions)
        note += f"; encoding the question alone takes {percentile(alone, 0.5) * 1e3:.0f} ms"
    return Measurement(name, percentile(times, 0.5) * 1e3, "ms", bound=bound, note=note)


def questions(options: Options) -> Iterator[Measurement]:
    """Median over questions of WebQSP on FB15k-237."""
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    folder = fixtures.shared_data() / _FOLDER
    if not (folder / _QUESTIONS).is_file():
        yield Measurement(
            "per question outside the LM", None, "ms", note=f"no {_FOLDER} in TRIPLECHECK_DATA or ../shared/data"
        )
        return
    raw = read_graph([folder / "triples.tsv.gz"], folder / "entities.tsv.gz")
    kb = build(raw, options.work / "freebase", encoder=fixtures.encoder())
    with gzip.open(folder / _QUESTIONS, "rt", encoding="utf-8") as lines:
        asked = [json.loads(line)["question"] for _, line in zip(range(_ASKED + 1), lines, strict=False)]
    for name, (step, bound) in STEPS.items():
        step(kb, asked[0])  # loads the indices and the tokenizer
        yield outside(f"per question: {name}", step, kb, asked[1:], bound)
