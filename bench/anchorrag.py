"""AnchorRAG: time of its predictor outside the model, and wall time with more agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dspy

from bench import fixtures
from bench.evaluating import Replies
from bench.measurement import Measurement, Options
from bench.questions import outside
from bench.timing import interleaved
from tests.model_stand_ins import STAND_IN, stand_in_server
from triplecheck.evals.datasets.folder import read_folder
from triplecheck.evals.linking import misspelt
from triplecheck.evals.variants.rewriting import topic_mentions
from triplecheck.kg import Entity, KnowledgeBase, Triple, build
from triplecheck.kg.export import raw_of
from triplecheck.kg.readers import read_graph
from triplecheck.lms import session
from triplecheck.programs import AnchorRAG, Sources
from triplecheck.programs.steps import Trace

_FOLDER, _ASKED, _BOUND = "entityquestions_popqa", 100, 20
_LATENCY, _SLOTS, _MOST_WALL = 0.25, 16, 1.3
_HOMONYMS = {
    "planet": ("mass", "orbital period", "moon of", "distance from the Sun"),
    "element": ("atomic number", "melting point", "boiling point", "symbol"),
    "band": ("record label", "genre", "country of origin", "first album"),
}


def anchorrag(options: Options) -> Iterator[Measurement]:
    """On the names of EntityQuestions and PopQA, and on three homonyms with a model of fixed latency."""
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    yield from _predictor(options)
    yield _agents(options)


def _predictor(options: Options) -> Iterator[Measurement]:
    """Keywords, candidates, grounding and anchors with the extractive engine, whose time is not counted."""
    name = "AnchorRAG's predictor, outside the model"
    folder = fixtures.shared_data() / _FOLDER
    if not folder.is_dir():
        yield Measurement(name, None, "ms", note=f"no {_FOLDER} in TRIPLECHECK_DATA or ../shared/data")
        return
    (case,) = read_folder(folder)
    kb = build(read_graph(case.triples, case.entities), options.work / "names", encoder=fixtures.encoder())
    asked = topic_mentions(case.sample(_ASKED), kb.graph, kb.linker)
    for spelt, edits in (("verbatim", 0), ("1 typo", 1)):
        questions = [misspelt(one, edits, seed=0).question for one in asked]
        yield _timed(f"{name}, {spelt}, {kb.manifest.counts['names']:,} names", kb, questions)


def _timed(name: str, kb: KnowledgeBase, questions: Sequence[str]) -> Measurement:
    program = AnchorRAG(Sources.of(kb))

    def predict(_: KnowledgeBase, question: str) -> float:
        with session("extractive") as ledger:
            program.predict(question, Trace())
            return ledger.usage().seconds

    predict(kb, questions[0] + " ")  # loads the indices and the tokenizer
    return outside(name, predict, kb, questions, _BOUND)


def _agents(options: Options) -> Measurement:
    """Three homonyms with an agent each, compared with one agent; the model's replies are the same."""
    question = "What is the mass of Mercury?"
    triples = [Triple(kind, relation, f"{relation} 1") for kind, of in _HOMONYMS.items() for relation in of]
    entities = [Entity(kind, "Mercury") for kind in _HOMONYMS]
    sources = Sources.of(build(raw_of(triples, entities), options.work / "homonyms", encoder=None))
    calls: dict[int, int] = {}

    def ask(agents: int) -> None:
        calls[agents] = AnchorRAG(sources, agents=agents)(question=question).usage.calls

    with stand_in_server(Replies(), _LATENCY, _SLOTS) as server, server.environment(), session(STAND_IN):
        median = interleaved({"one": lambda: ask(1), "three": lambda: ask(3)}, options.rounds)
    note = f"a model server of {_LATENCY:g} s a call; {calls[3]} calls in {median['three']:.2f} s, " + (
        f"{calls[1]} in {median['one']:.2f} s"
    )
    name = "AnchorRAG, wall time of 3 agents by that of 1"
    return Measurement(name, median["three"] / median["one"], "times", bound=_MOST_WALL, note=note)
