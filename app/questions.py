"""Questions from a knowledge base: `triplecheck synthesize`, `data generate`, `data answer` and `data vary`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import is_quiet, remark, reporting, say, stderr, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import (
    DATA,
    LIMITS,
    OUTPUT,
    KbArgument,
    LmOption,
    QuestionsFile,
    RoleOption,
    SeedOption,
    argument,
    flag,
    flagged,
    flattened,
)

if TYPE_CHECKING:
    from triplecheck.lms import Roles
    from triplecheck.optimize.synth import Synthesis

CountOption = Annotated[int, flag("--limit N", "Number of questions.", min=1)]
MaxAnswersOption = Annotated[int, flag("--max-answers N", "Maximum answers of a question.", min=1)]


@dataclass(frozen=True, kw_only=True)
class SynthesizeOptions:
    """Which questions are made, and who phrases them."""

    limit: CountOption = 1000
    seed: SeedOption = 0
    kind: list[str] | None = flagged(
        "--kind NAME",
        "Kind of question: one, two or three (relations in a row), conjunction, count, comparison, "
        "superlative or unanswerable; with --plans: negation, both, either, and, threshold, between, extreme, "
        "ordinal, count, sum, average, difference, yesno, zero, path or unknown. Repeatable; default: all, in "
        "turn.",
    )
    plans: bool = flagged(
        "--plans",
        "Make questions with a query that computes the answer: the same number of each kind, "
        "or fewer where the graph gives fewer.",
        default=False,
    )
    max_answers: MaxAnswersOption = 10
    phrasings: int = flagged("--phrasings N", "Phrasings of each question.", min=1, default=1)
    typos: float = flagged("--typos X", "Share of the questions with a misspelt name.", min=0, max=1, default=0.0)
    avoid: list[Path] | None = flagged(
        "--avoid FILE", "Skip questions that ask the same as one in this file. Repeatable.", DATA
    )
    lm: LmOption = None
    role: RoleOption = None
    workers: int = flagged("--workers N", "Questions to paraphrase in parallel.", LIMITS, min=1, default=1)

    @property
    def roles(self) -> Roles | None:
        """The models that paraphrase; None: templates alone.

        Raises:
            UserError: a role is wrong.
        """
        from triplecheck.app.config import parse_pairs
        from triplecheck.lms import Roles

        by_role = parse_pairs(self.role or (), "--role")
        if self.lm is None:
            return Roles(by_role=by_role) if by_role else None
        return Roles(self.lm, by_role)


@flattened()
def synthesize(
    kb: KbArgument,
    out: QuestionsFile,
    what: SynthesizeOptions,
) -> None:
    """Make questions from a knowledge base, each with all its answers.

    Answers are found by walking the graph, and checked with the exact solver. Templates word the questions. With
    --lm (or --role query=MODEL) the model paraphrases them; a paraphrase that changes a name is rejected.
    `extractive` cannot paraphrase.

    With --plans each question has a field `plan`: a query (see `triplecheck kb query`) whose answers are those of the
    question, or `none` if the graph cannot tell. Templates alone word these.

    Examples:

        triplecheck synthesize kbs/films films.jsonl --limit 1000 --seed 0
        triplecheck synthesize kbs/films plans.jsonl --plans --limit 320 --kind negation --kind count
        triplecheck synthesize --kb kbs/films --out films.jsonl --phrasings 3 --lm openai/gpt-4o-mini --workers 8
    """
    from triplecheck.kg.readable import counted

    with waiting(stderr(), "loading"):
        from triplecheck.evals.questions import write_questions

        roles = what.roles
    made = _synthesized(kb, what, roles)
    written = write_questions(made.questions, out)
    say(f"{written} questions in {out}")
    if is_quiet():
        return
    say(counted(Counter(str(question.kind) for question in made.questions)))
    if roles is not None:
        say(f"worded by {roles.model('query')}: {made.paraphrased}")
    if made.exhausted:
        remark(f"the graph gave no more of: {', '.join(made.exhausted)}")


def _synthesized(kb: str, what: SynthesizeOptions, roles: Roles | None) -> Synthesis:
    """Draw questions, and show the progress.

    Raises:
        UserError: an option does not go with questions that have plans.
    """
    from triplecheck.kg import UserError

    if what.plans and (roles is not None or what.phrasings > 1 or what.typos):
        raise UserError("questions with plans are worded by templates: leave out --lm, --role, --phrasings and --typos")
    with reporting(stderr(), "drawing questions") as tell:
        from triplecheck.evals import read_questions
        from triplecheck.optimize.synth import KINDS, PLAN_KINDS, Synthesis, synthesise, synthesise_plans

        base, kinds = open_base(kb), what.kind or (PLAN_KINDS if what.plans else KINDS)
        how: dict[str, Any] = {"seed": what.seed, "kinds": kinds, "most_answers": what.max_answers, "progress": tell}
        how["avoid"] = [question for file in what.avoid or () for question in read_questions(file)]
        if what.plans:
            made = synthesise_plans(base, -(-what.limit // len(kinds)), **how)
            return Synthesis(made.questions[: what.limit], made.exhausted, 0)
        how |= {"phrasings": what.phrasings, "typos": what.typos, "roles": roles, "workers": what.workers}
        return synthesise(base, what.limit, **how)


def generate(
    kb: KbArgument,
    out: QuestionsFile,
    limit: CountOption = 500,
    seed: SeedOption = 0,
    max_answers: MaxAnswersOption = 20,
    shape: Annotated[
        list[str] | None,
        flag(
            "--shape SHAPE",
            "one, two (edges of the answer), path (two edges in a row); with +words, also words of the answer's "
            "text. Repeatable, in turn. Default: a mixture.",
        ),
    ] = None,
) -> None:
    """Generate retrieval questions from a knowledge base: random edges and words of documents, phrased by templates.

    Every node that satisfies a question is among its answers, which the exact solver finds.

    Examples:

        triplecheck data generate kbs/debian debian.jsonl --limit 500 --seed 0
        triplecheck data generate kbs/films two_topics.jsonl --limit 200 --shape two
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.questions import write_questions
        from triplecheck.evals.retrieval.generate import SHAPES
        from triplecheck.evals.retrieval.generate import generate as make
    with reporting(stderr(), "making questions"):
        written = write_questions(make(open_base(kb), limit, seed, max_answers, shape or SHAPES), out)
    say(f"{written} questions in {out}")


def answer(
    kb: KbArgument,
    out: QuestionsFile,
    questions: Annotated[
        Path | None,
        flag("--questions FILE", "Questions with conditions. Default: the bundled ones about Debian packages.", DATA),
    ] = None,
) -> None:
    """Compute the answers of hand-written questions from the current version of a knowledge base.

    Examples:

        triplecheck data answer kbs/debian debian_by_hand.jsonl
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.questions import write_questions
        from triplecheck.evals.retrieval.conditions import bundled_path, materialise, read_written
    with reporting(stderr(), "computing answers"):
        found, without = materialise(open_base(kb), read_written(questions or bundled_path()))
        written = write_questions(found, out)
    say(f"{written} questions in {out}")
    for id, reason in without.items():
        remark(f"left out {id}: {reason}")


def vary(
    kb: KbArgument,
    questions: Annotated[Path, argument("QUESTIONS", "Questions, as for `triplecheck eval`.")],
    out: QuestionsFile,
    variant: Annotated[
        str,
        flag(
            "--variant NAME",
            "typo1, typo2, alias, partial, word-order, deleted, homonym, injection, contradiction, foreign or "
            "open-world.",
        ),
    ],
    seed: SeedOption = 0,
    kbs: Annotated[Path, flag("--kbs DIR", "Where changed knowledge bases are built.", OUTPUT)] = Path("kbs/variants"),
) -> None:
    """Make questions harder: misspelt names, aliases, homonyms, missing edges, instructions among the facts ...

    Each question keeps its id, and its field `variant` says what was changed. If the graph is changed, a new
    knowledge base is built and its directory is printed.

    Examples:

        triplecheck data vary kbs/films films.jsonl misspelt.jsonl --variant typo1
        triplecheck data vary kbs/films films.jsonl unanswerable.jsonl --variant deleted
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals import read_questions, write_questions
        from triplecheck.evals.variants.make import make_variant
    base = open_base(kb)
    asked = read_questions(questions)
    with reporting(stderr(), f"making {variant}"):
        changed, about = make_variant(variant, asked, base, kbs, seed)
        count = write_questions(changed, out)
    say(f"{count:,} of {len(asked):,} questions: {out}")
    if about.path != base.path:
        say(f"their knowledge base: {about.path}")
