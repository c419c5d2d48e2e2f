"""A ranker of paths distilled from collected traces: the paths that a teacher's verified answers cite.

Source: KERAG (arXiv 2509.04716), its third mechanism, with a ranker as the student. Every answering step shows facts
and says which of them it cites: the path of these facts is right, the other paths that the facts form are wrong. No
graph is read, so the relations are known by their wordings in the prompts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from triplecheck.evals.questions import Question
from triplecheck.kg import UserError
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, LONGEST, PathRanker, load_ranker, save_ranker
from triplecheck.language.question import spelling
from triplecheck.lms.fact_paths import follow
from triplecheck.lms.prompt import Prompt, read_request
from triplecheck.lms.resolve import baseline_reply
from triplecheck.optimize.distil.path_ranker import LEAST_QUESTIONS, HopNumbers, PathQuestion, train_further
from triplecheck.optimize.distil.report import OF_TRACES, Learnt, Score, StudentReport
from triplecheck.optimize.distil.tasks import HELD_OUT, answering
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.records import with_held_out
from triplecheck.signatures.notation import BACKWARD, Hops, read_facts, read_topic, wordings

WEIGHTS = (0.06, 0.25, 1.0, 4.0)
"""Weights of a ranker trained on a graph, beside the hand-set score, from which the best is chosen."""

_VOCABULARY = "traces"
_LICENCE = "as the ranker in the package, from SimpleQuestions (CC BY 3.0) and QALD-10 (MIT)"
_LEAST_F1 = 0.5  # of the facts on a path against the cited ones
_SEVERAL_SHARE = 0.05


def distil_ranker(
    rows: Sequence[TraceRow],
    out: Path,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
    traces: Sequence[Path | str] = (),
) -> StudentReport:
    """Train a ranker on traces and write it, with its report beside it.

    Args:
        rows: of `optimize.traces.read_traces`. Half of the held-out ones (split `dev`; without any, a fifth of the
            questions) choose the weight of the ranker beside the hand-set score, the other half measure it.
        out: the file; `extractive?ranker=FILE` uses it.
        traces: where the rows are from.

    Raises:
        UserError: too few answering steps cite a path.
    """
    begun = time.monotonic()
    rows = with_held_out(answering(rows), HELD_OUT)
    taught = [row for row in rows if row.split == "train"]
    held_out = [(prompt_of(row), _answers(row.outputs)) for row in rows if row.split == "dev"]
    labels: dict[str, int] = {}
    asked = [question for row in taught for question in path_questions(row, labels)]
    if len(asked) < LEAST_QUESTIONS:
        raise UserError(
            f"the traces have {len(asked)} answers that cite a path, too few to train a ranker: collect at least "
            f"{LEAST_QUESTIONS} with `triplecheck collect kerag`; 300 are better"
        )
    encoder, general = load_encoder(), load_ranker(GENERAL)
    weights = train_further(asked, [wordings(label) for label in labels], seed, progress)
    several = sum(len(_spellings(prompt_of(row))) > 1 for row in taught)
    about: dict[str, Any] = {
        "traces": len(taught),
        "questions": len(asked),
        "hops": max(min(map(len, question.paths)) for question in asked),
        "several": several >= _SEVERAL_SHARE * len(taught),
        "seed": seed,
    }
    fitted, measured = held_out[::2], held_out[1::2]

    def agreement(ranker: PathRanker | None, on: Sequence[tuple[Prompt, frozenset[str]]]) -> list[float]:
        return [float(_answers(baseline_reply(prompt, encoder, ranker)) == answers) for prompt, answers in on]

    fits = {weight: agreement(_with(weights, about, weight), fitted) for weight in WEIGHTS}
    about["weight"] = best_weight({weight: sum(same) / max(1, len(same)) for weight, same in fits.items()})
    start = general if general.encoder == encoder.fingerprint else None
    before, after = agreement(start, measured), agreement(_with(weights, about, about["weight"]), measured)
    score = Score.of("traces", "the teacher's answer", ("general ranker", before), ("student", after))
    out.parent.mkdir(parents=True, exist_ok=True)
    save_ranker(weights, encoder.fingerprint, about, out)
    learnt = Learnt.of(traces, taught)
    spent, licence = time.monotonic() - begun, f"{_LICENCE}; {OF_TRACES}"
    scores = () if score is None else (score,)
    report = StudentReport("ranker", f"extractive?ranker={quote(str(out))}", out, learnt, scores, spent, licence, about)
    report.write(out.parent, out.stem)
    return report


def answered_questions(rows: Sequence[TraceRow]) -> list[Question]:
    """The questions of traces with the answers that the teacher gave, for training a ranker on the graph itself.

    Computed answers (counts, comparisons, yes and no) lie at the end of no path and are left out, and so are questions
    whose replies give different answers.
    """
    found: dict[str, tuple[str, set[frozenset[str]]]] = {}
    for row in answering(rows):
        if row.outputs["operation"] == "none" and row.outputs["answers"]:
            found.setdefault(prompt_of(row).text("question"), (row.id, set()))[1].add(_answers(row.outputs))
    return [Question(id, text, tuple(sorted(*answers))) for text, (id, answers) in found.items() if len(answers) == 1]


def best_weight(scores: Mapping[float, float]) -> float:
    """The weight with the highest score, where neighbours count half: few questions are noise."""
    weights = sorted(scores)
    smooth = {}
    for at, weight in enumerate(weights):
        beside = [scores[weights[to]] for to in (at - 1, at + 1) if 0 <= to < len(weights)]
        smooth[weight] = (scores[weight] + sum(beside) / 2) / (1 + len(beside) / 2)
    return max(weights, key=lambda weight: smooth[weight])


def _with(weights: Mapping[str, FloatArray], about: Mapping[str, Any], weight: float) -> PathRanker:
    return PathRanker(weights, "", "", {**about, "weight": weight})


def prompt_of(row: TraceRow) -> Prompt:
    """The prompt of a row."""
    return read_request([(message["role"], message["content"]) for message in row.messages[:-1]])


def _answers(reply: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(map(str, reply["answers"]))


def _spellings(prompt: Prompt) -> set[str]:
    return {spelling(read_topic(topic)) for topic in prompt.items("topics")}


def path_questions(row: TraceRow, labels: dict[str, int]) -> list[PathQuestion]:
    """What an answer teaches about each of its topics. New wordings of relations are added to `labels`."""
    prompt, cited = prompt_of(row), set(row.outputs["cited"])
    facts, question = read_facts(prompt.items("facts")), prompt.question()
    found = []
    for topic in (read_topic(text).name for text in prompt.items("topics")):
        scored = {
            path.hops: _f1(set(path.numbers()), cited) for path in follow(facts, [topic]) if len(path.hops) <= LONGEST
        }
        best = max(scored.values(), default=0.0)
        if best >= _LEAST_F1:
            numbered = {hops: _numbered(hops, labels) for hops in scored}
            right = tuple(numbered[hops] for hops, score in scored.items() if score == best)
            wrong = tuple(numbered[hops] for hops, score in scored.items() if score < best)
            found.append(PathQuestion(question.masked(topic), _VOCABULARY, right, wrong))
    return found


def _numbered(hops: Hops, labels: dict[str, int]) -> HopNumbers:
    return tuple((labels.setdefault(hop.label, len(labels)), hop.arrow == BACKWARD) for hop in hops)


def _f1(numbers: set[int], cited: set[int]) -> float:
    return 2 * len(numbers & cited) / (len(numbers) + len(cited)) if cited else 0.0
