"""What each step is worth: worst, model and gold replies at one step, the model's at the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from optimize_parts import Pupil, engines, kerag, questions

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, BudgetExceededError, session
from triplecheck.optimize.bracket import bracket
from triplecheck.programs import resolve_program


def test_gold_replies_gain_where_the_model_fails_and_the_worst_lose_where_it_does_not(
    bundled: KnowledgeBase, tmp_path: Path
) -> None:
    asked = questions("dev")[:4]
    with engines(pupil=Pupil()), session("pupil"):
        found = bracket(kerag(bundled), asked, tmp_path / "pupil", knowledge_base=bundled)
    by_step = {one.step: one for one in found}
    assert set(by_step) == {"name_topics", "select_paths", "summarize"}
    assert found[0].step == "summarize", "most room first"
    assert (by_step["summarize"].model, by_step["summarize"].gold) == (0, 1)
    assert by_step["select_paths"].room == 0, "right paths do not help a model that then answers nothing"
    with session("extractive"):
        right = {one.step: one for one in bracket(kerag(bundled), asked, tmp_path / "baseline", knowledge_base=bundled)}
    assert all(one.worst <= one.model <= one.gold == 1 for one in right.values())
    assert right["summarize"].worst == 0


def test_a_bracket_is_resumed_without_repeated_calls(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil, asked = Pupil(), questions("dev")[:2]
    with engines(pupil=pupil):
        with session("pupil", Budget(calls=2)), pytest.raises(BudgetExceededError, match="used up"):
            bracket(kerag(bundled), asked, tmp_path, knowledge_base=bundled)
        with session("pupil"):
            first = bracket(kerag(bundled), asked, tmp_path, knowledge_base=bundled)
            made = len(pupil.requests)
            assert bracket(kerag(bundled), asked, tmp_path, knowledge_base=bundled) == first
    assert len(pupil.requests) == made


def test_without_right_replies_there_is_no_bracket(bundled: KnowledgeBase, tmp_path: Path) -> None:
    bare = resolve_program("bm25")(bundled)
    with session("extractive"), pytest.raises(UserError, match="the right replies to no step of 'bm25'"):
        bracket(bare, questions("dev")[:1], tmp_path)
    with session("extractive"), pytest.raises(UserError, match="no questions"):
        bracket(kerag(bundled), [], tmp_path)
