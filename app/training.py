"""`triplecheck kb train` and `train-ranker`: a ranker of paths is trained on a graph, and the one in the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from triplecheck.app.console import print_json, reporting, say, stderr, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import (
    DATA,
    LIMIT,
    LIMITS,
    OUTPUT,
    JsonOption,
    KbArgument,
    LimitOption,
    SeedOption,
    argument,
    flag,
    flagged,
    flattened,
)

if TYPE_CHECKING:
    from triplecheck.evals.questions import Question
    from triplecheck.optimize.distil.graph_ranker import TrainedRanker


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The questions that a ranker is trained on."""

    questions: list[Path] | None = flagged(
        "--questions FILE...",
        "Questions as JSON lines (.jsonl, .jsonl.gz) with id, question and answers; optional: topic, gold_paths.",
        DATA,
    )
    traces: list[Path] | None = flagged(
        "--traces DIR...",
        "Directories that `triplecheck collect` wrote: questions with the answers that a model gave, for want of "
        "known ones.",
        DATA,
    )
    part: Literal["train", "dev"] | None = flagged(
        "--part", "Use one half of the questions, split by a hash of their ids, to measure on the other.", DATA
    )
    limit: Annotated[int, LIMIT] = 2_000
    minutes: float = flagged(
        "--minutes M", "Read questions for at most two fifths of M minutes.", LIMITS, min=0.1, default=5.0
    )
    seed: SeedOption = 0

    def read(self, graph: str | None) -> tuple[list[Question], str | None]:
        """The questions, and the models that answered some of them; None if all answers were known.

        Args:
            graph: content hash of the graph that traces must be of; None: any.

        Raises:
            UserError: neither questions nor traces are named, a file is malformed, or traces are of another graph.
        """
        from triplecheck.evals.questions import read_questions
        from triplecheck.kg.errors import UserError
        from triplecheck.optimize.distil.trace_ranker import answered_questions
        from triplecheck.optimize.traces import read_traces

        if not self.questions and not self.traces:
            raise UserError("--questions is missing: name a file of questions with answers, or --traces")
        asked = {f"{file.name}: {one.id}": one for file in self.questions or () for one in read_questions(file)}
        rows = [row for folder in self.traces or () for row in read_traces(folder, graph)]
        known = {one.question for one in asked.values()}
        taught = [one for one in answered_questions(rows) if one.question not in known]
        teacher = ", ".join(sorted({row.model for row in rows})) if taught else None
        found = (*asked.values(), *taught)
        return [one for one in found if self.part is None or one.part == self.part], teacher


@flattened()
def train(
    kb: KbArgument,
    what: TrainOptions,
    json: JsonOption = False,
) -> None:
    """Train a ranker of paths on a knowledge base and store it there.

    From then on `ask`, `eval` and all programs use it on this knowledge base: `extractive` chooses paths by it, and
    KERAG goes as many hops as it reads in a question. Training starts from the ranker in the package. Questions
    with answers are enough: the paths that lead to the answers are searched. Every fifth question is held out, to
    choose how much the ranker counts and to measure what it gains; with --traces, against the answers of the model.
    The same command resumes an interrupted training. `--no-ranker` turns the ranker off; a new `kb build` drops it.

    Examples:

        triplecheck kb train kbs/films --questions films.jsonl
        triplecheck kb train kbs/films --questions films.jsonl more.jsonl --limit 500 --minutes 2
        triplecheck kb train kbs/films --traces traces
    """
    with waiting(stderr(), "loading"):
        from triplecheck.optimize.distil.graph_ranker import RankerOptions, train_into
        from triplecheck.optimize.traces.reading import graph_of

    opened = open_base(kb)
    questions, teacher = what.read(graph_of(opened))
    options = RankerOptions(what.limit, what.minutes, what.seed, teacher)
    with reporting(stderr(), "reading paths") as tell:
        trained = train_into(opened, questions, options, tell)
    if json:
        stored = None if trained.stored is None else str(trained.stored)
        print_json({"ranker": stored, "left_out": trained.left_out} | dict(trained.about))
    else:
        _show(trained)


def _show(trained: TrainedRanker) -> None:
    from triplecheck.kg.readable import counted
    from triplecheck.optimize.distil.report import too_few

    say(summary(trained.about))
    if doubt := too_few(trained.about["held_out"]["questions"]):
        say(f"{doubt} and its --no-ranker")
    if trained.stored is None:
        say("not stored: it answers fewer questions than before; give it more questions")
    if trained.left_out:
        say(f"left out: {counted(trained.left_out)}")


def train_general(
    folder: Annotated[Path, argument("FOLDER", "Folder with questions_train.jsonl.gz and relations.tsv.gz.")],
    out: Annotated[Path, flag("--out FILE", "The ranker: a .safetensors file.", OUTPUT)],
    source: Annotated[
        list[str] | None,
        flag("--source NAME", "Train on this source alone. Repeatable. Default: those that may be distributed.", DATA),
    ] = None,
    leave_out: Annotated[
        list[str] | None, flag("--leave-out NAME", "Train on no question of this vocabulary. Repeatable.", DATA)
    ] = None,
    without: Annotated[
        list[Path] | None,
        flag("--without FILE", "Leave out the questions of this file, to measure on them. Repeatable.", DATA),
    ] = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Train the ranker of paths that is in the package, from questions with relation paths.

    Examples:

        triplecheck train-ranker relation_questions --out ranker.safetensors
        triplecheck train-ranker relation_questions --out r.safetensors --leave-out wikidata --limit 8000
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.questions import read_questions
        from triplecheck.optimize.distil.general_ranker import LICENSED, GeneralOptions
        from triplecheck.optimize.distil.general_ranker import train_general as train
        from triplecheck.optimize.distil.path_ranker import Training

        known = {one.question for file in without or () for one in read_questions(file)}
    options = GeneralOptions(
        sources=tuple(source or LICENSED), leave_out=tuple(leave_out or ()), limit=limit, training=Training(seed=seed)
    )
    with reporting(stderr(), "reading") as tell:
        about = train(folder, out, options, known, tell)
    if json:
        print_json({"out": str(out)} | dict(about))
        return
    say(f"trained on {about['questions']:,} questions in {about['seconds']:,.0f} s")
    for name, shares in about["held_out"].items():
        figures = ", ".join(f"{who} {share:.3f}" for who, share in shares.items() if who != "questions")
        say(f"{name}: right path first on {shares['questions']} held-out questions: {figures}")


def summary(about: Mapping[str, Any]) -> str:
    """What a ranker was trained on and how well it does, in one line."""
    held_out = about["held_out"]
    by = f" answered by {about['teacher']}" if "teacher" in about else ""
    return (
        f"trained on {about['questions']:,} questions{by}, up to {about['hops']} hops; Hits@1 of KERAG on "
        f"{held_out['questions']} held-out questions {held_out['before']:.3f} before, {held_out['after']:.3f} with it"
    )
