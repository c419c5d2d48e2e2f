"""Compile tries cascades: the baseline answers what it proves, and the model is asked for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from dspy.lm15 import Request, Response
from optimize_parts import engines, questions

from triplecheck.evals import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Roles, session
from triplecheck.lms.engines import messages_of
from triplecheck.optimize.bundle import load_bundle
from triplecheck.optimize.examples import three_parts
from triplecheck.optimize.paired import measure
from triplecheck.optimize.traces.gold.engine import GoldEngine, WorstEngine
from triplecheck.optimize.tuning.result import ALL, HEADER, PLAIN, WRITTEN, Tuned
from triplecheck.optimize.tuning.run import tune
from triplecheck.optimize.tuning.state import best_rule
from triplecheck.optimize.tuning.tries import TunePlan
from triplecheck.programs import KERAG, Cascade, Sources
from triplecheck.programs.steps import Asked

PARTIAL = "partial"
EASY, HARD = ("one_hop", "alias"), ("homonym", "misspelt", "unanswerable")


class Partial:
    """Knows all that is asked but the easy questions: its replies to these are the worst."""

    fingerprint = "1"

    def __init__(self, sources: Sources, asked: Sequence[Question]) -> None:
        self.easy = [question.question for question in asked if question.kind in EASY]
        self.right, self.worst = GoldEngine(sources, asked, hops=1), WorstEngine(sources, asked, hops=1)
        self.calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        asked = messages_of(request)[-1]["content"]
        is_easy = any(f"\n{question}\n" in asked for question in self.easy)
        return (self.worst if is_easy else self.right).complete(request)

    def __deepcopy__(self, memo: dict[int, object]) -> Partial:
        return self


def _asked() -> list[Question]:
    return [question for part in ("train", "dev") for question in questions(part, EASY + HARD)]


@pytest.fixture(scope="module")
def tuned(bundled: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tuned, Path, Partial]:
    asked = _asked()
    program, out = KERAG(bundled, hops=1, assist="none"), tmp_path_factory.mktemp("tuned")
    model = Partial(program.sources, asked)
    plan = TunePlan(program, three_parts(asked), Roles(PARTIAL), students=(), each=True)
    with engines(**{PARTIAL: model}):
        return tune(plan, out, knowledge_base=bundled), out, model


def test_the_model_is_asked_where_the_baseline_is_not_sure(
    tuned: tuple[Tuned, Path, Partial], bundled: KnowledgeBase, tmp_path: Path
) -> None:
    result, _, model = tuned
    (line,) = (line for line in result.choices if line.name.startswith("cascade: "))
    assert line.kept and line.validation is not None and result.choices[0].validation is not None
    assert line.validation.share > result.choices[0].validation.share + 0.2
    assert line.validation.tokens < result.choices[0].validation.tokens / 2
    # What the rule promises from the answers of both models is what the cascade does.
    before = [one for one in result.choices[: result.choices.index(line)] if one.kept][-1]
    with engines(**{PARTIAL: model}):
        asked = [question for question in _asked() if question.id in line.validation.rows]
        program = KERAG(bundled, hops=1, assist="none")
        first = measure(program, asked, tmp_path, roles=Roles("extractive"), knowledge_base=bundled)
    assert before.validation is not None
    rule = best_rule(first, before.validation)
    steps = [step for row in line.validation.rows.values() for step in row["steps"] if step["kind"] == Asked.kind]
    assert (rule.right, rule.asked) == (sum(line.validation.right()), sum(step["number"] == 2 for step in steps))
    assert str(rule) == line.note


def test_each_kind_of_choice_is_measured_alone_on_the_test_questions(tuned: tuple[Tuned, Path, Partial]) -> None:
    rows = {row.name: row for row in tuned[0].rows}
    assert list(rows) == [WRITTEN, PLAIN, "demonstrations compiled", "cascade", ALL], "no student was asked for"
    written, cascade = rows[WRITTEN], rows["cascade"]
    assert written.gain is None and cascade.gain is not None and cascade.gain.won > cascade.gain.lost == 0
    assert {row.scores.n for row in rows.values()} == {27}
    assert cascade.calls < written.calls and cascade.tokens < written.tokens
    assert written.scores.hits_at_1 is not None and cascade.scores.hits_at_1 is not None
    assert cascade.scores.hits_at_1 > written.scores.hits_at_1
    assert len(cascade.cells()) == len(HEADER)


def test_a_compiled_cascade_is_a_cascade_again(
    tuned: tuple[Tuned, Path, Partial], bundled: KnowledgeBase, tmp_path: Path
) -> None:
    result, _, model = tuned
    assert isinstance(result.program, Cascade) and result.bundle is not None
    with engines(**{PARTIAL: model}), session(PARTIAL):
        again = load_bundle(result.bundle).program(Sources.of(bundled))
        assert isinstance(again, Cascade) and again.options.sure == result.program.options.sure
        assert again.abstain_below == result.program.abstain_below is not None
        before = model.calls
        found = [program(question=model.easy[0]) for program in (result.program, again)]
        assert model.calls == before and found[0].answer == found[1].answer != ""
        hard = next(question.question for question in _asked() if question.kind == "homonym")
        found = [program(question=hard) for program in (result.program, again)]
        assert found[0].answer == found[1].answer
        result.program.save(tmp_path / "state.json")
        kerag = KERAG(bundled, hops=1, assist="none")
        made = Cascade([(kerag, "extractive"), kerag], sure=again.options.sure)
        made.load(tmp_path / "state.json")
        assert made(question=hard).answer == found[0].answer
