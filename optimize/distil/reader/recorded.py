"""Inputs of the answering step with right replies, recorded once for a graph and its questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question, sampled
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.optimize.traces.collect import DISTRACTORS, collect
from triplecheck.optimize.traces.derivations import Asked
from triplecheck.optimize.traces.derive import derive
from triplecheck.programs import KERAG
from triplecheck.signatures import AnswerFromFacts

RECORDED = "recorded"
"""The folder of recorded traces, beside the students."""
RIGHT, DISTRACTED = "right", "distracted"
"""The folders of what is recorded: facts of the right paths alone, and with facts of other paths among them."""
LIMIT = 1_000
"""Questions that are used, by default."""
_DEV_SHARE = 0.2


def record_answers(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    folder: Path,
    *,
    hops: int = 3,
    limit: int = LIMIT,
    seed: int = 0,
    distracted: bool = True,
    progress: ProgressCallback = no_progress,
) -> list[Path]:
    """Let KERAG read along the right paths, and keep what its answering step is asked and should reply.

    An interrupted recording is resumed, and a finished one is read again.

    Args:
        folder: for the traces: `right/NAME` and `distracted/NAME`, with NAME of the knowledge base.
        hops: how far answers are from their topics, at most.
        limit: most questions to use, drawn at random.
        distracted: record each question once more, with facts of other paths among the right ones.

    Raises:
        UserError: as `collect`; or no answer is in the graph, or none can be reached.
    """
    drawn = sampled(questions, limit, seed)
    program = KERAG(kb, hops=hops)
    _check_reached(program, drawn, kb.path)
    made = []
    for name, distractors in ((RIGHT, 0), (DISTRACTED, DISTRACTORS))[: 2 if distracted else 1]:
        made.append(folder / name / kb.path.resolve().name)
        collect(
            program,
            drawn,
            made[-1],
            knowledge_base=kb,
            passes=["gold"],
            steps=[AnswerFromFacts.__name__],
            distractors=distractors,
            dev_share=_DEV_SHARE,
            progress=lambda _pass, at, name=name: progress(f"recording {name} facts", at.done, at.total),  # type: ignore[misc]
        )
    return made


def _check_reached(program: KERAG, questions: Sequence[Question], place: Path) -> None:
    sources, reach = program.sources, program.reach
    names = linker_names(sources.linker)
    asked = [Asked(sources, one, resolve_gold(one, sources.graph, names), reach) for one in questions if one.answers]
    if not asked or any(derive(one) is not None for one in asked):
        return
    count = sum(len(one.gold.answers) for one in asked)
    if any(one.answers or one.computed for one in asked):
        raise UserError(f"no path of up to {reach} hops in {place} leads to one of the {count} answers")
    raise UserError(f"none of the {count} answers is in {place}: the questions are about another graph")
