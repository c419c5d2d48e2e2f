"""A ranker of paths distilled from collected traces: the paths that a teacher's verified answers cite.

Source: KERAG (arXiv 2509.04716), its third mechanism, with a ranker as the student. Every answering step shows facts
and says which of them it cites: the path of these facts is right, the other paths that the facts form are wrong. No
graph is read, so the relations are known by their wordings in the prompts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question
from triplecheck.kg import UserError
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, LONGEST, PathRanker, load_ranker, save_ranker
from triplecheck.language.question import spelling
from triplecheck.lms.fact_paths import follow
from triplecheck.lms.prompt import Prompt, read_request, split_fields
from triplecheck.lms.resolve import baseline_reply
from triplecheck.optimize.distil.path_ranker import FURTHER, LEAST_QUESTIONS, HopNumbers, PathQuestion, Training, train
from triplecheck.optimize.distil.report import OF_TRACES, Learnt, Score, StudentReport
from triplecheck.optimize.traces import TraceRow
from triplecheck.signatures import AnswerFromFacts
from triplecheck.signatures.notation import BACKWARD, Hops, read_facts, read_topic, wordings

WEIGHTS = (0.06, 0.25, 1.0, 4.0)
"""Weights of a ranker trained on a graph, beside the hand-set score, from which the best is chosen."""

_VOCABULARY = "traces"
_LICENCE = "as the ranker in the package, from SimpleQuestions (CC BY 3.0) and QALD-10 (MIT)"
_LEAST_F1 = 0.5  # of the facts on a path against the cited ones
_SEVERAL_SHARE = 0.05


@dataclass(frozen=True)
class Answered:
    """An answering step of a trace.

    Attributes:
        prompt: its prompt.
        cited: numbers of the facts that the reply cites.
        answers: the names that it answers.
        operation: what it computes; "none": the answers are in the facts.
    """

    prompt: Prompt
    cited: frozenset[int]
    answers: frozenset[str]
    operation: str


def distil_ranker(
    rows: Sequence[TraceRow],
    out: Path,
    training: Training = FURTHER,
    progress: ProgressCallback = no_progress,
    traces: Sequence[Path | str] = (),
) -> StudentReport:
    """Train a ranker on traces and write it, with its report beside it.

    Args:
        rows: of `optimize.traces.read_traces`. Rows of the split `dev` are held out: half of them choose the weight of
            the ranker beside the hand-set score, the other half measure it.
        out: the file; `extractive?ranker=FILE` uses it.
        training: the settings.
        progress: called at each step.
        traces: where the rows are from.

    Raises:
        UserError: too few answering steps cite a path.
    """
    begun = time.monotonic()
    rows = [row for row in rows if row.signature == AnswerFromFacts.__name__]
    by_split: dict[str, list[Answered]] = {"train": [], "dev": []}
    for row in rows:
        by_split[row.split].append(answered(row))
    labels: dict[str, int] = {}
    asked = [question for one in by_split["train"] for question in path_questions(one, labels)]
    if len(asked) < LEAST_QUESTIONS:
        raise UserError(
            f"the traces have {len(asked)} answers that cite a path, too few to train a ranker: collect at least "
            f"{LEAST_QUESTIONS} with `triplecheck collect kerag`; 300 are better"
        )
    encoder, general = load_encoder(), load_ranker(GENERAL)
    start = general if general.encoder == encoder.fingerprint else None
    vocabulary = {_VOCABULARY: [wordings(label) for label in labels]}
    weights = train(asked, vocabulary, encoder, training, progress, start)
    several = sum(len({*_spellings(one.prompt)}) > 1 for one in by_split["train"])
    about: dict[str, Any] = {
        "traces": len(by_split["train"]),
        "questions": len(asked),
        "hops": max(min(map(len, question.paths)) for question in asked),
        "several": several >= _SEVERAL_SHARE * len(by_split["train"]),
        "seed": training.seed,
    }
    fitted, measured = by_split["dev"][::2], by_split["dev"][1::2]

    def agreement(ranker: PathRanker | None, on: Sequence[Answered]) -> list[float]:
        return [float(_reply(one, encoder, ranker) == one.answers) for one in on]

    fits = {weight: agreement(_with(weights, about, weight), fitted) for weight in WEIGHTS}
    about["weight"] = best_weight({weight: sum(same) / max(1, len(same)) for weight, same in fits.items()})
    before, after = agreement(start, measured), agreement(_with(weights, about, about["weight"]), measured)
    score = Score.of("traces", "the teacher's answer", ("general ranker", before), ("student", after))
    out.parent.mkdir(parents=True, exist_ok=True)
    save_ranker(weights, encoder.fingerprint, about, out)
    learnt = Learnt.of(traces, [row for row in rows if row.split == "train"])
    spent, licence = time.monotonic() - begun, f"{_LICENCE}; {OF_TRACES}"
    scores = () if score is None else (score,)
    report = StudentReport("ranker", f"extractive?ranker={out}", out, learnt, scores, spent, licence, about)
    report.write(out.parent, out.stem)
    return report


def answered_questions(rows: Sequence[TraceRow]) -> list[Question]:
    """The questions of traces with the answers that the teacher gave, for training a ranker on the graph itself.

    Computed answers (counts, comparisons, yes and no) lie at the end of no path and are left out, and so are questions
    whose replies give different answers.

    Args:
        rows: of `optimize.traces.read_traces`.
    """
    found: dict[str, tuple[str, set[frozenset[str]]]] = {}
    for row in rows:
        if row.signature == AnswerFromFacts.__name__:
            one = answered(row)
            if one.operation == "none" and one.answers:
                found.setdefault(one.prompt.text("question"), (row.id, set()))[1].add(one.answers)
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


def answered(row: TraceRow) -> Answered:
    """An answering step, from its row."""
    prompt = read_request([(message["role"], message["content"]) for message in row.messages[:-1]])
    reply = split_fields(row.messages[-1]["content"], ["cited", "operation", "answers"])
    cited = frozenset(map(int, re.findall(r"\d+", reply.get("cited", ""))))
    return Answered(prompt, cited, _names(reply), reply.get("operation", "").strip() or "none")


def _names(reply: Mapping[str, str]) -> frozenset[str]:
    return frozenset(line.strip() for line in reply.get("answers", "").splitlines() if line.strip())


def _reply(one: Answered, encoder: Encoder, ranker: PathRanker | None) -> frozenset[str]:
    """The answers of the rules with a ranker."""
    answers = baseline_reply(one.prompt, encoder, ranker)["answers"]
    assert isinstance(answers, list)
    return frozenset(answers) or frozenset({"none"})


def _spellings(prompt: Prompt) -> list[str]:
    return [spelling(read_topic(topic)) for topic in prompt.items("topics")]


def path_questions(one: Answered, labels: dict[str, int], vocabulary: str = _VOCABULARY) -> list[PathQuestion]:
    """What an answer teaches about each of its topics. New wordings of relations are added to `labels`."""
    topics = [read_topic(topic).name for topic in one.prompt.items("topics")]
    question = one.prompt.question()
    found = []
    for topic in topics:
        scored = {
            path.hops: _f1(set(path.numbers()), one.cited)
            for path in follow(read_facts(one.prompt.items("facts")), [topic])
            if len(path.hops) <= LONGEST
        }
        best = max(scored.values(), default=0.0)
        if best >= _LEAST_F1:
            numbered = {hops: _numbered(hops, labels) for hops in scored}
            right = tuple(numbered[hops] for hops, score in scored.items() if score == best)
            wrong = tuple(numbered[hops] for hops, score in scored.items() if score < best)
            found.append(PathQuestion(question.masked(topic), vocabulary, right, wrong))
    return found


def _numbered(hops: Hops, labels: dict[str, int]) -> HopNumbers:
    return tuple((labels.setdefault(hop.label, len(labels)), hop.arrow == BACKWARD) for hop in hops)


def _f1(numbers: set[int], cited: frozenset[int]) -> float:
    return 2 * len(numbers & cited) / (len(numbers) + len(cited)) if cited else 0.0
