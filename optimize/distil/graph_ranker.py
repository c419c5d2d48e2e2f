"""Training of the ranker of paths on one graph: from questions with answers to a ranker in the knowledge base.

A question teaches the paths from its topics that lead to its answers: given with it, or those whose ends have the
highest F1 against the answers. Some questions are held out. On half of these the weight of the ranker beside the
hand-set score is fitted, on the other half the result is measured, both through the whole of KERAG.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.configuration import digest
from triplecheck.evals.questions import Question, question_row, sampled
from triplecheck.evals.runner import evaluate
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, PART, PathRanker, load_ranker, save_ranker
from triplecheck.kg.relation_vectors import relation_texts
from triplecheck.optimize.distil.path_ranker import LEAST_QUESTIONS, PathQuestion, check_installed, train_further
from triplecheck.optimize.distil.question_paths import read_paths
from triplecheck.optimize.distil.trace_ranker import WEIGHTS, best_weight
from triplecheck.programs import KERAG, Sources

LIMIT, MINUTES = 2_000, 5.0
"""How many questions are read, and for how long training may take in all, by default."""

_HELD_OUT, _MOST_HELD_OUT = 5, 160  # every fifth question
_READING_SHARE = 0.4  # of the time
_LONG_SHARE = 0.02  # of the questions, with so long a path, from which such paths are worth following
_SEVERAL_SHARE = 0.05


@dataclass(frozen=True)
class RankerOptions:
    """Settings of `train_into`.

    Attributes:
        limit: most questions to use, drawn at random.
        minutes: for reading paths, training and measuring together; reading stops at its share.
        seed: of the sample and of training.
        teacher: the model whose answers the questions have; None: their answers are known.
    """

    limit: int = LIMIT
    minutes: float = MINUTES
    seed: int = 0
    teacher: str | None = None


@dataclass(frozen=True)
class TrainedRanker:
    """A ranker that was trained on a graph.

    Attributes:
        path: its file.
        about: see `PathRanker.about`.
        left_out: questions that taught nothing, by reason.
        stored: its file in the knowledge base; None: it is not there.
    """

    path: Path
    about: Mapping[str, Any]
    left_out: Mapping[str, int]
    stored: Path | None = None

    @property
    def gains(self) -> float:
        """Hits@1 on held-out questions, less that of the general ranker."""
        held_out: Mapping[str, float] = self.about["held_out"]
        return held_out["after"] - held_out["before"]


def train_into(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    options: RankerOptions = RankerOptions(),
    progress: ProgressCallback = no_progress,
) -> TrainedRanker:
    """Train a ranker on the graph of a knowledge base and store it there.

    An interrupted training is resumed by the next call with the same questions and options: what has been read and
    measured is kept beside the knowledge base until training ends. A ranker that answers fewer held-out questions than
    the general one is not stored.

    Args:
        kb: open it again to use the ranker.
        questions: with answers.

    Raises:
        UserError: the knowledge base is on a server, or too few questions have a path.
        MissingExtraError: torch is not installed.
        KnowledgeBaseError: the knowledge base was replaced meanwhile.
    """
    if kb.is_remote:
        raise UserError(f"{kb.path}: a ranker is stored with the graph; load the graph with `triplecheck kb build`")
    work = kb.path.absolute().parent / f".{kb.path.absolute().name}.ranker"
    trained = train_ranker(kb, questions, work, options, progress)
    stored = None
    if trained.gains >= 0:
        with kb.generation.replaced_part(PART) as folder:
            shutil.copy(trained.path, folder)
        stored = kb.path / PART / trained.path.name
    shutil.rmtree(work, ignore_errors=True)
    return replace(trained, stored=stored)


def train_ranker(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    out: Path,
    options: RankerOptions = RankerOptions(),
    progress: ProgressCallback = no_progress,
) -> TrainedRanker:
    """Train a ranker on the graph of a knowledge base and write it to a directory, for `Sources(ranker=FILE)`.

    Args, errors: see `train_into`; `out` also keeps what an interrupted training has read and measured.
    """
    check_installed()
    began = time.monotonic()
    drawn = sampled(questions, options.limit, options.seed)
    held_out = drawn[::_HELD_OUT][:_MOST_HELD_OUT]
    aside = {question.group for question in held_out}
    kept = [question for question in drawn if question.group not in aside]
    _enough(len(kept), len(kept), len(drawn))
    graph_hash = kb.generation.content("graph")
    identity = [graph_hash, asdict(options), [question_row(question) for question in drawn]]
    work = out / digest(identity)
    work.mkdir(parents=True, exist_ok=True)
    trained = work / "trained.safetensors"
    if not trained.exists():  # reading ends by the clock: a resumed run goes on with what was trained
        _train(kb, kept, len(drawn), options, began, trained, progress)
    ranker = load_ranker.__wrapped__(trained)
    about: dict[str, Any] = dict(ranker.about)
    left_out = about.pop("left_out")

    def store(folder: Path, more: Mapping[str, Any]) -> Path:
        draft = folder / "draft.safetensors"
        save_ranker(ranker.weights, ranker.encoder, {**about, **more}, draft)
        return draft.rename(folder / f"{load_ranker.__wrapped__(draft).fingerprint[:16]}.safetensors")

    fitted, measured = held_out[::2], held_out[1::2]
    hits = {
        weight: _measure(kb, fitted, store(work, {"weight": weight}), work, f"fitting {weight}", progress)
        for weight in WEIGHTS
    }
    weight = best_weight(hits)
    before = _measure(kb, measured, GENERAL, work, "measuring before", progress)
    after = _measure(kb, measured, store(work, {"weight": weight}), work, "measuring after", progress)
    about |= {
        "weight": weight,
        "held_out": {"questions": len(measured), "before": round(before, 4), "after": round(after, 4)},
    }
    # The time is not in the file: a resumed run makes the same file, and so finds its rows.
    return TrainedRanker(store(out, {}), {**about, "seconds": round(time.monotonic() - began, 1)}, left_out)


def _train(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    given: int,
    options: RankerOptions,
    began: float,
    out: Path,
    progress: ProgressCallback,
) -> None:
    """Read paths as long as there is time, and write the ranker that they teach, with what it was trained on.

    Args:
        given: questions that the caller gave.
        began: when training began, as `time.monotonic` says it.
    """
    until = began + 60 * options.minutes * _READING_SHARE
    read, left_out = read_paths(kb, questions, out.with_name("paths.jsonl"), until, progress)
    _enough(len(read), len(questions), given)
    wordings = [relation_texts(kb.graph.relation(number)) for number in range(kb.graph.num_relations)]
    encoder, asked = load_encoder(), [one.question for one in read]
    weights = train_further(asked, wordings, options.seed, progress)
    about: dict[str, Any] = {
        "graph": kb.generation.content("graph"),
        "questions": len({one.id for one in read}),
        "hops": _longest(asked, PathRanker(weights, encoder.fingerprint, "", {}), wordings),
        "several": sum(one.topics > 1 for one in read) >= _SEVERAL_SHARE * len(read),
        "seed": options.seed,
        "left_out": dict(left_out),
        **({"teacher": options.teacher} if options.teacher else {}),
    }
    save_ranker(weights, encoder.fingerprint, about, out)


def _enough(found: int, of: int, given: int) -> None:
    if found >= LEAST_QUESTIONS:
        return
    needed = -(-LEAST_QUESTIONS * _HELD_OUT // (_HELD_OUT - 1))
    detail = "" if found == of else f"; only {found} of {of} have a path to their answers that can be found"
    raise UserError(
        f"{given} questions are too few to train a ranker{detail}. At least {LEAST_QUESTIONS} with a path are needed, "
        f"besides every fifth that is held out: {needed} or more questions; 300 are better"
    )


def _longest(questions: Sequence[PathQuestion], ranker: PathRanker, wordings: Sequence[Sequence[str]]) -> int:
    """Hops of the longest paths that the ranker takes for right, of those that lead to the answers."""
    encode = load_encoder().encode
    relations = ranker.relations(encode([text for several in wordings for text in several]))
    starts = np.cumsum([0, *map(len, wordings)])[:-1]
    vectors = encode([question.text for question in questions])
    scorers = [ranker.hops(vector, relations, starts) for vector in vectors]
    chosen = Counter(len(max(question.paths, key=hops.path)) for question, hops in zip(questions, scorers, strict=True))
    return max(length for length, count in chosen.items() if count >= _LONG_SHARE * len(questions))


def _measure(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    ranker: Path,
    work: Path,
    what: str,
    progress: ProgressCallback,
) -> float:
    """Hits@1 of KERAG with a ranker."""
    program = KERAG(Sources(kb.graph, kb.linker, kb.relation_vectors, kb, ranker))
    summary = evaluate(
        program,
        questions,
        work / what.replace(" ", "-"),
        roles="extractive",
        knowledge_base=kb,
        progress=lambda at: progress(what, at.done, at.total),
    )
    return summary.scores.hits_at_1 or 0.0
