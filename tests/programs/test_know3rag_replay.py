"""Replaying a full trace with other values of theta_0 and T gives the same result as a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from model_stand_ins import scripted_model
from program_parts import fields, steps
from text_parts import DEFAULTS, QUESTION, StepReply, knows, step_of, talk

from triplecheck.evals import Question
from triplecheck.lms import Roles
from triplecheck.optimize.fit import FitPlan, fit_program, read_space
from triplecheck.programs import Know3RAG, Sources
from triplecheck.programs.know3rag.replay import Recorded, read_turns, replay_turns
from triplecheck.programs.steps import Weighed

TOLD = ("answer", "answers", "evidence", "grounded", "abstained", "reason", "confidence")
REPLIES: dict[str, Mapping[str, StepReply]] = {
    "as ever": {},
    "first answer without triples": {"triples": lambda request: _triples(request)},
    "later answers say nothing": {"reasoning answer": fields(reasoning="hm", answer="none")},
    "never an answer": {"reasoning answers": knows(), "reasoning answer": fields(reasoning="hm", answer="unknown")},
    "no triples": {"triples": fields(triples="none")},
    "unreadable triples": {"triples": "?"},
    "nothing useful": {"useful triples": fields(useful="none", triples="none")},
}


def _triples(request: Any) -> str:
    said = str(request)
    return fields(triples="1 | Paul Hindemith | nationality | German" if "references" in said else "none")


def recorded(sources: Sources, result: Any) -> Recorded:
    """Replay from steps as read back from a row."""
    steps = [json.loads(json.dumps(step.to_json())) for step in result.steps]
    return read_turns(Know3RAG(sources), QUESTION, steps)


@pytest.mark.parametrize("replies", REPLIES.values(), ids=list(REPLIES))
def test_a_replay_equals_a_run(replies: Mapping[str, StepReply], embedded: Sources) -> None:
    all_turns, _ = talk(Know3RAG(embedded, adaptive=False, turns=3, theta_0=7.0), replies)
    trace = recorded(embedded, all_turns)
    ended = set()
    for theta_0 in (0.0, 0.003, 0.01, 0.02, 0.03, 0.1, 1.0, 100.0):
        for turns in (0, 1, 2, 3):
            program = Know3RAG(embedded, theta_0=theta_0, turns=turns)
            replayed, (run, _) = replay_turns(program, trace), talk(program, replies)
            assert {name: replayed[name] for name in TOLD} == {name: run[name] for name in TOLD}
            assert steps(replayed, Weighed) == steps(run, Weighed)
            if "?" not in replies.values():  # what cannot be read is asked for twice
                assert replayed.usage.calls == run.usage.calls
            ended.add(len(steps(run, Weighed)))
    assert len(ended) == 4, "the values make a difference"


def test_a_replay_abstains_like_the_program(embedded: Sources) -> None:
    all_turns, _ = talk(Know3RAG(embedded, adaptive=False))
    program = Know3RAG(embedded, theta_0=1000.0)
    program.abstain_below = 0.999
    replayed, (run, _) = replay_turns(program, recorded(embedded, all_turns)), talk(program)
    assert (replayed.abstained, replayed.reason) == (run.abstained, run.reason) == (True, "low_confidence")


def test_a_trace_that_is_too_short_is_rejected(embedded: Sources) -> None:
    all_turns, _ = talk(Know3RAG(embedded, adaptive=False, turns=1))
    with pytest.raises(ValueError, match="too few turns"):
        replay_turns(Know3RAG(embedded, theta_0=0.0, turns=2), recorded(embedded, all_turns))


def test_fitting_theta_and_turns_needs_one_run(embedded: Sources, tmp_path: Path) -> None:
    asked = [Question(f"q{n}", f"{QUESTION[:-1]}, {n}?", ("German",)) for n in range(8)]
    space = read_space(["theta_0=0.0,0.01,0.1,100.0", "turns=0,1,2"])

    def replies(request: Any) -> str:
        given = DEFAULTS[step_of(request)]
        assert not isinstance(given, Exception)
        return given if isinstance(given, str) else given(request)

    with scripted_model([replies] * 400) as engine:
        plan = FitPlan(Know3RAG, embedded, asked, Roles(engine.name), options={"corpus_passages": 3}, space=space)
        fitted = fit_program(plan, tmp_path / "run")
    tried = fitted.searched.tried
    assert len(tried) > 4 and all(one.replayed for one in tried)
    assert len(list((tmp_path / "run" / "fitting").iterdir())) == 1, "one run for all of them"
    assert len({one.scored.calls for one in tried}) > 1, "those that end earlier take less"
    never = next(one for one in tried if one.setting["turns"] == 0)
    assert never.scored.score == 0 and fitted.searched.chosen.scored.score == 1, "from memory it is wrong"
    options = json.loads((fitted.bundle / "manifest.json").read_text("utf-8"))["options"]
    assert options["corpus_passages"] == 3, "also what the program does not keep under its name"
