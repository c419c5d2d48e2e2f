"""A program is an ordinary DSPy program: the user's model, adapter and tools work on it, without a session."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.adapters.baml_adapter import BAMLAdapter
from dspy.lm15 import Request, Response
from model_stand_ins import scripted_model
from program_parts import conclude_with, fields, keep, topics
from users_model import UsersEngine

import triplecheck
from triplecheck.evals import Question, evaluate
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.ranker import GENERAL
from triplecheck.lms import Budget, BudgetExceededError, Roles, language_model, session
from triplecheck.lms.engines import messages_of
from triplecheck.lms.roles import warn_of_baseline
from triplecheck.optimize.metrics import feedback_metric
from triplecheck.programs import KERAG, AnchorRAG, Cascade, Program, Sources, resolve_program
from triplecheck.programs.steps import TraceEvent, Wrote, in_words

QUESTION = "Who was the teacher of Bernhard Heiden?"


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


class TestEntrances:
    def test_a_knowledge_base_answers_questions(self, world: KnowledgeBase, users_lm: dspy.LM) -> None:
        with dspy.context(lm=users_lm):
            found = world.ask(QUESTION, hops=1)
        assert (found.answer, found.program) == ("Paul Hindemith", "kerag")

    @pytest.mark.parametrize(
        "question",
        [
            {"question": QUESTION, "answers": ["Paul Hindemith"]},
            {"question": QUESTION, "answer": "Paul Hindemith", "id": "q1"},
            dspy.Example(question=QUESTION, answers=["Paul Hindemith"]).with_inputs("question"),
            Question("q1", QUESTION, ("Paul Hindemith",)),
        ],
        ids=lambda question: type(question).__name__,
    )
    def test_questions_are_evaluated_in_any_form(self, program: KERAG, users_lm: dspy.LM, question: Any) -> None:
        with dspy.context(lm=users_lm):
            assert evaluate(program, [question]).scores.hits_at_1 == 1.0
        assert feedback_metric(program.sources.knowledge_base, [question])

    @pytest.mark.parametrize(
        ("question", "problem"),
        [
            ({"question": QUESTION}, "has no answers; give a list, an empty one if the graph holds no answer"),
            ({"answers": ["Paul Hindemith"]}, "has no question"),
            (QUESTION, "is a str, not a question: give a mapping or a dspy.Example"),
        ],
    )
    def test_what_is_no_question_is_refused(self, program: KERAG, question: Any, problem: str) -> None:
        with pytest.raises(UserError, match=problem):
            evaluate(program, [question])

    def test_a_file_of_questions_is_read_first(self, program: KERAG) -> None:
        with pytest.raises(UserError, match="read a file of questions with read_questions first"):
            evaluate(program, "questions.jsonl")  # type: ignore[arg-type]

    def test_objects_say_what_they_are(self, program: KERAG, world: KnowledgeBase, users_lm: dspy.LM) -> None:
        counts = world.manifest.counts
        base = f"KnowledgeBase({str(world.path)!r}: {counts['entities']} entities, {counts['relations']} relations, "
        assert repr(world).startswith(base)
        assert repr(program) == f"KERAG(Sources({world!r}), hops=1)"
        assert repr(Roles(users_lm, prune="extractive")) == "Roles('users/model', prune='extractive')"
        with session(users_lm, Budget(calls=9)) as ledger:
            program(question=QUESTION)
        assert repr(ledger).startswith("<Ledger: 3 calls, 45 tokens, ")
        assert repr(ledger).endswith(", at most 9 calls>")


class TestSaving:
    @pytest.fixture
    def compiled(self, program: KERAG, world: KnowledgeBase, users_lm: dspy.LM) -> KERAG:
        """A program with demonstrations, a rewritten instruction and settings of its own."""
        metric = feedback_metric(world, [{"question": QUESTION, "answers": ["Paul Hindemith"]}])
        optimizer = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=1, max_labeled_demos=0)
        with dspy.context(lm=users_lm):
            found = optimizer.compile(program, trainset=[dspy.Example(question=QUESTION).with_inputs("question")])
        found.summarize.signature = found.summarize.signature.with_instructions("Answer in `cited` facts.")
        found.summarize.config["max_tokens"] = 77
        return found

    def test_the_state_is_saved_and_loaded_as_json(
        self, compiled: KERAG, world: KnowledgeBase, users_lm: dspy.LM, engine: UsersEngine, tmp_path: Path
    ) -> None:
        compiled.save(tmp_path / "kerag.json")
        loaded = KERAG(world, hops=1)
        loaded.load(tmp_path / "kerag.json")
        asked = len(engine.requests)
        with dspy.context(lm=users_lm):
            compiled(question=QUESTION)
            loaded(question=QUESTION)
        first, second = engine.requests[asked : asked + 3], engine.requests[asked + 3 :]
        assert [messages_of(request) for request in first] == [messages_of(request) for request in second]
        assert loaded.summarize.config == {"max_tokens": 77}
        assert loaded.summarize.demos == compiled.summarize.demos
        assert loaded.summarize.signature.instructions == "Answer in `cited` facts."

    def test_a_model_of_a_model_string_is_made_again(
        self, program: KERAG, world: KnowledgeBase, tmp_path: Path
    ) -> None:
        program.set_lm(language_model("extractive"))
        program.save(tmp_path / "kerag.json")
        loaded = KERAG(world, hops=1)
        loaded.load(tmp_path / "kerag.json")
        assert loaded.get_lm() is language_model("extractive")

    def test_what_compiling_chose_beside_the_steps_is_kept(self, world: KnowledgeBase, tmp_path: Path) -> None:
        ranker, file = tmp_path / "ranker.safetensors", tmp_path / "kept.json"
        shutil.copy(GENERAL, ranker)
        compiled = KERAG(Sources.of(world).with_ranker(ranker))
        compiled.abstain_below, compiled.summarize.lm = 0.9, language_model("openai/x")
        cascade = Cascade([(compiled, "extractive"), KERAG(world)], sure=0.4)
        cascade.abstain_below = 0.2
        made, loaded = KERAG(world), Cascade([(KERAG(world), "extractive"), KERAG(world)])
        for program, other in ((compiled, made), (cascade, loaded)):
            program.save(file)
            other.load(file)
        for one in (made, loaded.programs[0]):
            assert (one.abstain_below, one.sources.ranker, one.summarize.lm.name) == (0.9, ranker, "openai/x")
        assert (loaded.abstain_below, loaded.options.sure) == (0.2, 0.4)
        assert (loaded.programs[1].abstain_below, loaded.programs[1].sources.given_ranker) == (None, None)
        compiled.save(file)
        ranker.unlink()
        with pytest.raises(UserError, match="is not there; restore it"):
            KERAG(world).load(file)

    def test_the_state_of_another_step_is_refused(self, program: KERAG, tmp_path: Path) -> None:
        path = tmp_path / "kerag.json"
        program.save(path)
        path.write_text(path.read_text("utf-8").replace('"cited"', '"quoted"'), "utf-8")
        with pytest.raises(UserError, match=r"'quoted'.*compile the program again"):
            program.load(path)

    def test_a_state_is_never_a_pickle(self, program: KERAG, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"triplecheck\.save_bundle"):
            program.save(tmp_path / "state.pkl")
        assert list(tmp_path.iterdir()) == []

    def test_dspy_load_gives_a_whole_program_in_another_process(
        self, compiled: KERAG, world: KnowledgeBase, tmp_path: Path
    ) -> None:
        compiled.summarize.set_lm(language_model("extractive"))
        cascade = Cascade([(compiled, "extractive"), KERAG(world, hops=1)], sure=0.4)
        cascade.abstain_below = 0.1
        cascade(question=QUESTION)  # what a run leaves behind is not kept
        cascade.save(tmp_path / "whole", save_program=True)
        assert (tmp_path / "whole" / "program.pkl").stat().st_size < 100_000, "without the graph"
        script = (
            "import dspy, json, sys\n"
            "made = dspy.load(sys.argv[1], allow_pickle=True)\n"
            "found = made(question=sys.argv[2])\n"
            "demos = [dict(demo) for demo in made.programs[0].summarize.demos]\n"
            "print(json.dumps([repr(made), made.abstain_below, found.answer, demos]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "whole"), QUESTION],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        shown, below, answer, demos = json.loads(done.stdout.splitlines()[-1])
        assert (shown, below, answer) == (repr(cascade), 0.1, "Paul Hindemith")
        assert demos == [dict(demo) for demo in compiled.summarize.demos]
        cascade.save(tmp_path / "whole", save_program=True)  # again, in the same place

    def test_a_module_of_the_user_keeps_the_program_in_it(self, compiled: KERAG, tmp_path: Path) -> None:
        class Polite(dspy.Module):  # type: ignore[misc]
            def __init__(self, program: KERAG) -> None:
                super().__init__()
                self.program = program

            def forward(self, question: str) -> str:
                return f"{self.program(question=question).answer}, I think"

        Polite(compiled).save(tmp_path / "polite", save_program=True)
        again = dspy.load(tmp_path / "polite", allow_pickle=True)
        assert again(question=QUESTION) == "Paul Hindemith, I think"
        assert again.program.summarize.demos == compiled.summarize.demos

    def test_what_dspy_load_could_not_open_again_is_refused(self, world: KnowledgeBase, tmp_path: Path) -> None:
        def weather(city: str) -> str:
            """The weather of a city."""
            return city

        def saved(program: Program, name: str = "whole") -> str:
            with pytest.raises(UserError) as error:
                program.save(tmp_path / name, save_program=True)
            return str(error.value)

        fleeting = KnowledgeBase.from_triples([("Ada", "works in", "Billing")])
        assert "save_bundle" in saved(KERAG(fleeting))
        assert "save_bundle" in saved(KERAG(Sources.of(world).with_functions([weather])))
        keyed = KERAG(world)
        keyed.set_lm(dspy.LM("openai/gpt-4o-mini", api_key="secret"))
        assert "has a key of its own" in saved(keyed)
        (tmp_path / "mine").mkdir()
        assert "is no saved program" in saved(KERAG(world), "mine")
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]

    def test_a_whole_program_is_saved_as_a_bundle(
        self, compiled: KERAG, world: KnowledgeBase, users_lm: dspy.LM, tmp_path: Path
    ) -> None:
        with dspy.context(lm=users_lm):
            triplecheck.save_bundle(compiled, tmp_path / "bundle")
            loaded = triplecheck.load_bundle(tmp_path / "bundle").program(world.path)
            assert loaded(question=QUESTION).answer == "Paul Hindemith"
        assert repr(loaded).endswith("hops=1)")
        assert loaded.summarize.demos == compiled.summarize.demos


class TestAdapters:
    def test_the_users_adapter_is_kept(self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine) -> None:
        dspy.configure(lm=users_lm, adapter=dspy.JSONAdapter())
        assert program(question=QUESTION).answer == "Paul Hindemith"
        with session("extractive"):
            assert isinstance(dspy.settings.adapter, dspy.JSONAdapter)
        assert all("JSON" in messages_of(request)[-1]["content"] for request in engine.requests)

    @pytest.mark.parametrize(
        "adapter",
        [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter(), BAMLAdapter()],
        ids=lambda a: type(a).__name__,
    )
    def test_adapters_of_dspy_number_facts_and_demonstrations_alike(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine, adapter: dspy.Adapter
    ) -> None:
        demo = {"question": "Who?", "topics": ["Ann"], "facts": ["Ann → child → Bob", "Ann → child → Carl"]}
        demo |= {"reasoning": "So.", "cited": [2], "operation": "none", "answers": ["Carl"]}
        program.summarize.demos = [demo, dspy.Example(**demo)]
        with dspy.context(lm=users_lm, adapter=adapter):
            assert program(question=QUESTION).answer == "Paul Hindemith"
        messages = messages_of(engine.requests[-1])
        shown = [message["content"] for message in messages if message["role"] == "user"]
        assert ["[2] Ann → child → Carl" in text for text in shown] == [True, True, False]
        assert "[1] Bernhard Heiden → student of / teacher → Paul Hindemith" in shown[-1]
        assert demo["facts"] == ["Ann → child → Bob", "Ann → child → Carl"]


class TestTools:
    def test_usage_is_tracked_as_dspy_tracks_it(self, program: KERAG, users_lm: dspy.LM) -> None:
        with dspy.context(lm=users_lm, track_usage=True):
            used = program(question=QUESTION).get_lm_usage()
        assert (used["users/model"]["prompt_tokens"], used["users/model"]["completion_tokens"]) == (30, 15)

    def test_calls_at_the_same_time_keep_their_own_traces_and_counts(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine
    ) -> None:
        async def ask() -> list[dspy.Prediction]:
            heard: list[TraceEvent] = []
            with dspy.context(lm=users_lm, track_usage=True):
                calls = [
                    program.acall(question=QUESTION, on_step=heard.append),
                    dspy.asyncify(program)(question=QUESTION),
                ]
                found = await asyncio.gather(*calls, program.acall(question="Who is Nobody Atall?"))
            assert heard == found[0].steps
            return found

        at_once = threading.Barrier(2, timeout=10)
        waits = iter([at_once.wait] * 2)
        engine.before = lambda: next(waits, float)()
        first, second, other = asyncio.run(ask())
        assert first.answer == second.answer == "Paul Hindemith"
        assert [step.kind for step in first.steps] == [step.kind for step in second.steps]
        assert [one.usage.calls for one in (first, second)] == [3, 3]
        assert other.question == "Who is Nobody Atall?"
        assert other.usage.calls == sum(isinstance(step, Wrote) for step in other.steps)
        assert first.get_lm_usage()["users/model"]["prompt_tokens"] == 30

    def test_a_session_and_its_budget_hold_for_awaited_calls(self, program: KERAG, users_lm: dspy.LM) -> None:
        with session(users_lm, Budget(calls=5)) as ledger:
            asyncio.run(program.acall(question=QUESTION))
            with pytest.raises(BudgetExceededError):
                asyncio.run(program.acall(question=QUESTION))
        assert ledger.usage().calls == 5

    def test_a_cancelled_call_ends_at_its_next_step(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine
    ) -> None:
        go_on = threading.Event()
        engine.before = lambda: go_on.wait(10)

        async def cancel() -> None:
            with dspy.context(lm=users_lm):
                task = asyncio.create_task(program.acall(question=QUESTION))
                while not engine.requests:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            go_on.set()

        asyncio.run(cancel())
        assert len(engine.requests) == 1

    def test_every_program_can_be_awaited(self, world: KnowledgeBase) -> None:
        async def ask(name: str) -> dspy.Prediction:
            return await resolve_program(name)(world).acall(question=QUESTION)

        async def ask_all() -> list[dspy.Prediction]:
            return await asyncio.gather(*map(ask, ("kerag", "anchorrag", "4stepfocus", "bm25", "cot")))

        with session("extractive"):
            assert [found.question for found in asyncio.run(ask_all())] == [QUESTION] * 5

    def test_a_stream_has_a_status_message_for_every_step_and_ends_with_the_prediction(
        self, program: KERAG, users_lm: dspy.LM
    ) -> None:
        stream = dspy.streamify(program, async_streaming=False)
        with dspy.context(lm=users_lm):
            *parts, last = stream(question=QUESTION)
        told = [part.message for part in parts if isinstance(part, dspy.streaming.StatusMessage)]
        assert told == [f"{step.kind}: {in_words(step)}" for step in last.steps]
        assert told[-1] == "answered: Paul Hindemith (proved)"

    def test_steps_of_parallel_branches_are_streamed(self, world: KnowledgeBase) -> None:
        stream = dspy.streamify(AnchorRAG(world), async_streaming=False)
        with session("extractive"):
            *parts, last = stream(question="Who was taught by Paul Hindemith and Bernhard Heiden?")
        told = [part.message for part in parts if isinstance(part, dspy.streaming.StatusMessage)]
        assert sorted(told) == sorted(f"{step.kind}: {in_words(step)}" for step in last.steps)

    def test_a_prediction_is_json(self, program: KERAG, users_lm: dspy.LM) -> None:
        with dspy.context(lm=users_lm):
            found = program(question=QUESTION)
        plain = json.loads(json.dumps(found.toDict()))
        assert plain == found.toDict()
        answered = {"kind": "answered", "answer": "Paul Hindemith", "grounded": True, "verdict": "proved"}
        assert plain["steps"][-1] == answered
        assert plain["usage"]["calls"] == 3
        assert isinstance(found.retrieved, frozenset)
        assert plain["retrieved"] == sorted(found.retrieved)
        assert repr(found).startswith(f"<kerag {QUESTION!r}: 'Paul Hindemith' (grounded, ")

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

    def test_refine_gives_advice_that_reaches_the_steps(
        self, program: KERAG, users_lm: dspy.LM, engine: UsersEngine
    ) -> None:
        refined = dspy.Refine(module=program, N=2, reward_fn=lambda _, found: float(found.answer == "x"), threshold=1.0)
        dspy.configure(lm=users_lm)
        assert refined(question=QUESTION).answer == "Paul Hindemith"
        prompts = [messages_of(request)[-1]["content"] for request in engine.requests]
        assert len(prompts) == 7
        assert "Cite one fact." in prompts[-1]
        assert "[1] Bernhard Heiden → student of / teacher → Paul Hindemith" in prompts[-1]

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
        assert compiled.summarize.demos[:-1] == program.summarize.demos, "the worked examples stay"
        assert compiled.summarize.demos[-1]["answers"] == ["Paul Hindemith"]

    def test_a_run_with_vacuous_reasoning_is_no_demonstration(self, program: KERAG, world: KnowledgeBase) -> None:
        metric = feedback_metric(world, [{"question": QUESTION, "answers": ["Paul Hindemith"]}])
        example = dspy.Example(question=QUESTION).with_inputs("question")
        accepted = []
        for why in ("Bernhard Heiden was a student of Paul Hindemith.", "I look at the facts one by one."):
            said = conclude_with("Paul Hindemith", cite=["student of"], reasoning=why)
            replies = [topics("Bernhard Heiden"), fields(query="none"), keep("student of"), said]
            with scripted_model(replies) as engine, session(engine.name), dspy.context(trace=[]):
                accepted.append(metric(example, program(question=QUESTION), dspy.settings.trace))
        assert accepted == [True, False]
