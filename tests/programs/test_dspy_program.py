"""A program is an ordinary DSPy program: the user's model, adapter and tools work on it, without a session."""

from __future__ import annotations

import copy
import json
import logging
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Roles, session
from triplecheck.lms.engines import messages_of, reply
from triplecheck.lms.roles import warn_of_baseline
from triplecheck.optimize.metrics import feedback_metric
from triplecheck.programs import KERAG
from triplecheck.programs.steps import Wrote

QUESTION = "Who was the teacher of Bernhard Heiden?"


class UsersEngine:
    """Behind a user's own `dspy.LM`: answers the steps of KERAG, as headers or as JSON, as the prompt asks."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        messages = messages_of(request)
        system, asked = messages[0]["content"], messages[-1]["content"]
        values: dict[str, Any]
        if "`cited`" in system:
            assert "Bernhard Heiden → student of / teacher → Paul Hindemith" in asked
            values = {"reasoning": "So it is.", "cited": [1], "operation": "none"}
            values["answers"] = ["Paul Hindemith"]
        elif "`keep`" in system:
            values = {"keep": list(range(1, 7))}
        else:
            values = {"topics": ["Bernhard Heiden"], "domain": "Composer"}
        if "JSON" in asked:
            text = json.dumps(values)
        else:
            texts = {name: ", ".join(map(str, v)) if isinstance(v, list) else v for name, v in values.items()}
            text = "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in texts.items())
            text += "[[ ## completed ## ]]"
        return reply(request, text, prompt_tokens=10, completion_tokens=5)

    def __deepcopy__(self, memo: dict[int, object]) -> UsersEngine:
        return self


class _Async:
    def __init__(self, engine: UsersEngine) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        return self.engine.complete(request)


@pytest.fixture
def engine() -> UsersEngine:
    return UsersEngine()


@pytest.fixture
def users_lm(engine: UsersEngine) -> dspy.LM:
    return dspy.LM("users/model", engine=engine, async_engine=_Async(engine), cache=False)


@pytest.fixture
def program(world: KnowledgeBase) -> KERAG:
    return KERAG(world, hops=1)


def models(result: dspy.Prediction) -> set[str]:
    """The models that the trace and the ledger name."""
    return {step.model for step in result.steps if isinstance(step, Wrote)} | set(result.usage.by_model)


class TestModels:
    def test_the_configured_model_answers(self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine) -> None:
        dspy.configure(lm=users_lm)
        result = program(question=QUESTION)
        assert (result.answer, len(engine.requests), models(result)) == ("Paul Hindemith", 3, {"users/model"})
        assert dspy.settings.lm is users_lm

    def test_the_model_of_a_context_answers(self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine) -> None:
        with dspy.context(lm=users_lm):
            assert program(question=QUESTION).answer == "Paul Hindemith"
        assert len(engine.requests) == 3

    def test_a_model_set_on_the_program_answers_and_survives_a_reset(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine
    ) -> None:
        program.set_lm(users_lm)
        assert models(program(question=QUESTION)) == {"users/model"}
        assert models(program.reset_copy()(question=QUESTION)) == {"users/model"}
        assert len(engine.requests) == 6

    def test_a_session_takes_models_as_objects(self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine) -> None:
        with session(users_lm):
            program(question=QUESTION)
        with session(Roles(extract=users_lm, prune="extractive")) as ledger:
            result = program(question=QUESTION)
        assert len(engine.requests) == 4
        assert set(ledger.usage().by_model) == models(result) == {"users/model", "extractive"}
        assert Roles(extract=users_lm).to_json() == {"default": "extractive", "extract": "users/model"}

    def test_without_any_model_the_baseline_answers_and_says_so_once(
        self, program: KERAG, caplog: pytest.LogCaptureFixture
    ) -> None:
        warn_of_baseline.cache_clear()
        with caplog.at_level(logging.WARNING, logger="triplecheck"):
            assert models(program(question=QUESTION)) == {"extractive"}
            program(question=QUESTION)
        assert [record.getMessage() for record in caplog.records if "dspy.configure" in record.getMessage()] == [
            "no language model is configured: 'extractive' answers, a rule-based baseline; "
            "set a model with dspy.configure(lm=...) or triplecheck.session(...)"
        ]


class TestAdapters:
    def test_the_users_adapter_is_kept(self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine) -> None:
        dspy.configure(lm=users_lm, adapter=dspy.JSONAdapter())
        assert program(question=QUESTION).answer == "Paul Hindemith"
        with session("extractive"):
            assert isinstance(dspy.settings.adapter, dspy.JSONAdapter)
        assert all("JSON" in messages_of(request)[-1]["content"] for request in engine.requests)


class TestTools:
    def test_usage_is_tracked_as_dspy_tracks_it(self, program: KERAG, users_lm: dspy.LM) -> None:
        with dspy.context(lm=users_lm, track_usage=True):
            used = program(question=QUESTION).get_lm_usage()
        assert (used["users/model"]["prompt_tokens"], used["users/model"]["completion_tokens"]) == (30, 15)

    def test_the_history_has_the_prompts(
        self, program: KERAG, users_lm: dspy.LM, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with dspy.context(lm=users_lm):
            program(question=QUESTION)
            dspy.inspect_history(n=1)
        assert "Bernhard Heiden → student of" in capsys.readouterr().out

    def test_best_of_n_asks_the_users_model_in_each_round(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine
    ) -> None:
        best = dspy.BestOfN(module=program, N=2, reward_fn=lambda _, found: float(found.answer == "x"), threshold=1.0)
        with dspy.context(lm=users_lm):
            assert best(question=QUESTION).answer == "Paul Hindemith"
        assert len(engine.requests) == 6

    def test_parallel_evaluation_asks_the_users_model(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine, world: KnowledgeBase
    ) -> None:
        metric = feedback_metric(world, [{"question": QUESTION, "answers": ["Paul Hindemith"]}])
        examples = [dspy.Example(question=QUESTION).with_inputs("question")] * 3
        with dspy.context(lm=users_lm):
            scored = dspy.Evaluate(devset=examples, metric=metric, num_threads=2, display_progress=False)(program)
        assert (scored.score, len(engine.requests)) == (100.0, 9)

    @pytest.mark.parametrize("labelled", [0, 1])
    def test_demonstrations_are_collected_with_the_users_model(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine, world: KnowledgeBase, labelled: int
    ) -> None:
        metric = feedback_metric(world, [{"question": QUESTION, "answers": ["Paul Hindemith"]}])
        optimizer = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=1, max_labeled_demos=labelled)
        program.set_lm(users_lm)
        compiled = optimizer.compile(program, trainset=[dspy.Example(question=QUESTION).with_inputs("question")])
        assert len(engine.requests) == 3
        assert compiled.summarize.demos[0]["answers"] == ["Paul Hindemith"]

    def test_a_copy_is_a_program_of_its_own(self, program: KERAG, users_lm: dspy.LM) -> None:
        other = copy.deepcopy(program)
        other.set_lm(users_lm)
        assert models(other(question=QUESTION)) == {"users/model"}
        assert models(program(question=QUESTION)) == {"extractive"}
