"""Makes questions with a plan from any knowledge base; the answers are those that the plan gives.

Kinds of questions: see `PLAN_KINDS`. A graph without classes gives only those that need no class.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.plans import Answers, Cell, PlanError, PlanNames, read_plan, run_plan
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.types import Literal
from triplecheck.kg.values import quantity, value_of
from triplecheck.optimize.synth.avoid import Avoided
from triplecheck.optimize.synth.facets import Lot
from triplecheck.optimize.synth.make import TEMPLATE, Synthesis, check_kinds
from triplecheck.optimize.synth.plan_shapes import NONE, PLAN_KINDS, PLAN_SHAPES, PlanDraft
from triplecheck.optimize.synth.shapes import MOST_ANSWERS, DrawError

_TRIES = 300  # draws without a new question of a kind before the graph counts as exhausted
_SECONDS = 5.0  # of a plan
_POLAR = ("yes", "no")


def synthesise_plans(
    kb: KnowledgeBase,
    each: int,
    *,
    seed: int = 0,
    kinds: Sequence[str] = PLAN_KINDS,
    most_answers: int = MOST_ANSWERS,
    avoid: Sequence[Question] = (),
    progress: ProgressCallback = no_progress,
) -> Synthesis:
    """Make questions with plans; the same knowledge base and seed give the same ones.

    Args:
        each: maximum number of questions of a kind.
        most_answers: maximum answers of a question.
        avoid: test questions; no question that asks the same is made, see `Avoided`.
        progress: called with the stage, the number done and the total.

    Raises:
        UserError: an invalid argument, or the graph gives no question at all.
    """
    check_kinds(kinds, PLAN_KINDS)
    if each < 1:
        raise UserError(f"cannot make {each} questions of a kind: give 1 or more")
    making = _Making(kb, seed, most_answers, avoid)
    left, found = list(dict.fromkeys(kinds)), list[Question]()
    exhausted: list[str] = []
    for _ in range(each):
        for kind in tuple(left):
            question = making.next(kind)
            if question is None:
                left.remove(kind)
                exhausted.append(kind)
                continue
            found.append(question)
            progress("drawing", len(found), None)
    if not found:
        raise UserError(f"{kb.path}: no question could be made; the graph has too few named things or relations")
    return Synthesis(tuple(found), tuple(exhausted))


class _Making:
    def __init__(self, kb: KnowledgeBase, seed: int, most_answers: int, avoid: Sequence[Question]) -> None:
        self._graph, self._seed, self._most = kb.graph, seed, most_answers
        self._lot = Lot(kb, random.Random(seed))
        self._names = PlanNames(kb.graph, kb.linker)
        self._avoided, self._texts = Avoided(kb, avoid), set[str]()
        self._plans: set[str] = set()
        self._rejected: set[tuple[str, str]] = set()
        self._made = 0

    def next(self, kind: str) -> Question | None:
        """A new question of a kind; None if the graph gives no more."""
        for _ in range(_TRIES):
            try:
                draft = PLAN_SHAPES[kind](self._lot)
            except DrawError:
                continue
            if draft.question in self._texts or (draft.plan, draft.expects) in self._rejected:
                continue
            if draft.plan in self._plans and draft.expects != NONE:
                continue
            question = self._checked(kind, draft)
            if question is not None:
                self._texts.add(question.question)
                self._plans.add(draft.plan)
                return question
            self._rejected.add((draft.plan, draft.expects))
        return None

    def _checked(self, kind: str, draft: PlanDraft) -> Question | None:
        """The question with the answers of its plan; None if they are not what is expected."""
        try:
            answers = run_plan(self._graph, read_plan(draft.plan, self._names), seconds=_SECONDS).with_ties()
        except PlanError:
            return None  # a name is read in another way, or it takes too long
        cells = list(dict.fromkeys(row[0] for row in answers.rows if row and row[0] is not None))
        if not self._fits(draft, answers, cells):
            return None
        ids: tuple[str, ...] = ()
        labels: tuple[str, ...] = ()
        if draft.expects in _POLAR:
            ids = labels = (draft.expects,)
        elif draft.expects != NONE:
            ids, labels = tuple(map(self._id, cells)), tuple(map(self._label, cells))
        topics = tuple(self._graph.node_id(node) for node in dict.fromkeys(draft.topics))
        question = Question(
            id=f"plan-{self._seed}-{self._made + 1}",
            question=draft.question,
            answers=ids,
            topic=topics,
            topic_labels=tuple(self._graph.labels(list(dict.fromkeys(draft.topics)))),
            answer_labels=labels,
            computed=draft.expects in _POLAR or any(isinstance(cell, Literal) for cell in cells),
            kind=kind,
            extra={"plan": NONE if draft.expects == NONE else draft.plan, "wording": TEMPLATE},
            answers_known=True,
        )
        if question in self._avoided:
            return None
        self._made += 1
        return question

    def _fits(self, draft: PlanDraft, answers: Answers, cells: Sequence[Cell]) -> bool:
        match draft.expects:
            case "yes":
                return answers.boolean is True
            case "no" | "none":
                return answers.boolean is False
            case "zero":
                return len(cells) == 1 and self._is_zero(cells[0])
            case "value":
                return len(cells) == 1 and not answers.notes and not self._is_zero(cells[0])
        nodes = [cell for cell in cells if isinstance(cell, int)]
        told = self._lot.around.can_be_told(nodes) and len(cells) <= self._most
        return told and (draft.expects == "any" or bool(cells)) and not 0 < draft.universe <= len(cells)

    def _is_zero(self, cell: Cell) -> bool:
        found = quantity(cell) if isinstance(cell, Literal) else None
        return found is not None and found.size == 0

    def _id(self, cell: Cell) -> str:
        return self._graph.node_id(cell) if isinstance(cell, int) else self._label(cell)

    def _label(self, cell: Cell) -> str:
        if isinstance(cell, int):
            return value_of(self._graph, cell).lexical
        return "" if cell is None else cell.lexical
