from __future__ import annotations

import asyncio
import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import ContextLengthError, Message, RateLimitError, Response, TextPart, Usage
from dspy.teleprompt.bootstrap_trace import bootstrap_trace_data
from dspy.utils.dummies import DummyLM
from dspy.utils.exceptions import AdapterParseError
from model_stand_ins import scripted_model

from triplecheck.kg.errors import TriplecheckError, UserError
from triplecheck.lms import (
    Budget,
    BudgetExceededError,
    ModelReplyError,
    ModelUnavailableError,
    PromptTooLongError,
    RolePredict,
    Roles,
    session,
)
from triplecheck.lms.engines import messages_of
from triplecheck.lms.predict import Doubt
from triplecheck.signatures import STEPS, NameTopics, SelectPaths, Step, demonstrations
from triplecheck.signatures.demonstrations import is_worked

PARIS = "[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]"
ROME = PARIS.replace("Paris", "Rome")


def _cut(text: str) -> Response:
    return Response(
        id=None,
        model="cut",
        message=Message.assistant([TextPart(text)]),
        finish_reason="length",
        usage=Usage(input_tokens=5, output_tokens=7),
    )


class Two(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.prune = RolePredict("question -> answer", role="prune")
        self.answer = RolePredict("question, hint -> answer", role="answer")

    def forward(self, question: str) -> dspy.Prediction:
        hint = self.prune(question=question).answer
        return self.answer(question=question, hint=hint)


def test_each_step_asks_the_model_of_its_role() -> None:
    with scripted_model([PARIS], "a") as a, scripted_model([ROME], "b") as b:
        with session(Roles(default="a", by_role={"answer": "b"})) as ledger:
            assert Two()(question="Q?").answer == "Rome"
        assert "Paris" in b.prompts[0]
        assert a.left == b.left == 0
    usage = ledger.usage()
    assert (usage.calls, usage.failed_calls, usage.unpriced_calls, usage.dollars) == (2, 0, 0, 0.0)
    assert set(usage.by_role) == {"answer", "prune"}
    assert set(usage.by_model) == {"a", "b"}
    assert usage.prompt_tokens > 20 and usage.completion_tokens == 2 * len(PARIS.split())


def test_an_unknown_role_is_refused_when_the_step_is_made() -> None:
    with pytest.raises(UserError, match="unknown role"):
        RolePredict("question -> answer", role="oracle")


def test_a_cached_call_counts_as_a_call_but_makes_no_tokens() -> None:
    with scripted_model([PARIS], "a"), session("a") as ledger:
        step = RolePredict("question -> answer")
        step(question="Q?")
        once = ledger.usage()
        assert step(question="Q?").answer == "Paris"
        twice = ledger.usage()
    assert (once.calls, once.cached_calls) == (1, 0)
    assert (twice.calls, twice.cached_calls) == (2, 1)
    assert twice.tokens == once.tokens


def test_usage_is_right_also_where_history_is_off_and_trackers_are_outside() -> None:
    with scripted_model([PARIS, ROME], "a"), session("a") as ledger:
        with dspy.context(disable_history=True), dspy.track_usage() as tracker:
            RolePredict("question -> answer")(question="Q?")
        assert ledger.usage().tokens == tracker.get_total_tokens()[dspy.settings.lm.model]["total_tokens"]
        assert dspy.settings.lm.history == []
        RolePredict("question -> answer")(question="other")
        assert len(dspy.settings.lm.history) == 1


def test_calls_of_plain_predictors_are_counted_too() -> None:
    with scripted_model([PARIS], "a"), session("a") as ledger:
        dspy.Predict("question -> answer")(question="Q?")
    assert set(ledger.usage().by_role) == {"other"}


def test_an_unreadable_reply_is_answered_once_with_what_is_wrong() -> None:
    with scripted_model(["It is Paris.", PARIS], "a") as engine, session("a") as ledger:
        assert RolePredict("question -> answer")(question="Q?").answer == "Paris"
        first, second = (messages_of(request) for request in engine.requests)
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": "It is Paris."}
    assert "[[ ## answer ## ]] is missing" in second[-1]["content"]
    assert ledger.usage().calls == 2


@pytest.mark.parametrize(
    ("reply", "shown"), [("It was Ida Brandt who designed the tower", 1), ("I do not know who designed that", 2)]
)
def test_a_model_that_answers_a_demonstration_is_asked_again_without_any(reply: str, shown: int) -> None:
    step = RolePredict("question -> answer")
    step.demos = [dspy.Example(question="Who drew it?", answer="It was Ida Brandt who designed the tower.")]
    with scripted_model([reply, PARIS], "a") as engine, session("a"):
        assert step(question="Where is it?").answer == "Paris"
        asked = [" ".join(str(message["content"]) for message in messages_of(one)) for one in engine.requests]
    assert ["Who drew it?" in text for text in asked] == [True, shown == 2]


def test_a_readable_reply_about_a_demonstration_is_doubted_once() -> None:
    step = RolePredict("question, facts: list[str] -> answer")
    step.demos = [dspy.Example(question="Who drew it?", facts=["Tower → architect → Ida Brandt"], answer="Ida Brandt")]
    about_example = PARIS.replace("Paris", "The tower is by Ida Brandt")
    about_question = PARIS.replace("Paris", "The house is by Paul Brandt")
    for replies, expected in (
        ([about_example, PARIS], "Paris"),
        ([about_example, about_example], "The tower is by Ida Brandt"),
        ([about_question], "The house is by Paul Brandt"),
    ):
        with scripted_model(replies, "a") as engine, session("a"):
            assert step(question="Who built the house?", facts=["House → architect → Paul Brandt"]).answer == expected
            assert engine.left == 0


def test_a_repeated_run_finds_both_tries_in_the_cache() -> None:
    with scripted_model(["It is Paris.", PARIS], "a"), session("a") as ledger:
        for _ in range(2):
            assert RolePredict("question -> answer")(question="Q?").answer == "Paris"
        assert (ledger.usage().calls, ledger.usage().cached_calls) == (4, 2)


def test_two_unreadable_replies_are_an_error_that_names_the_role_the_model_and_the_reply() -> None:
    with (
        scripted_model(["Paris?", "Paris!"], "a"),
        session("a"),
        pytest.raises(ModelReplyError, match=r"a \(role judge.*is missing.*'Paris!'") as raised,
    ):
        RolePredict("question -> answer", role="judge")(question="Q?")
    error = raised.value
    assert error.lm_response == "Paris!"
    assert isinstance(error, TriplecheckError)
    assert isinstance(error, AdapterParseError)


def test_an_empty_reply_is_unreadable() -> None:
    with scripted_model(["", PARIS], "a") as engine, session("a"):
        assert RolePredict("question -> answer")(question="Q?").answer == "Paris"
        assert "empty" in engine.prompts[1]


def test_a_reply_that_was_cut_is_not_taken_for_a_whole_one_not_even_from_the_cache() -> None:
    cut = _cut("[[ ## answer ## ]]\nPar")
    with scripted_model([cut, PARIS], "a") as engine, session("a") as ledger:
        for _ in range(2):
            assert RolePredict("question -> answer")(question="Q?").answer == "Paris"
        assert "cut off" in engine.prompts[1]
        assert ledger.usage().cached_calls == 2
    with scripted_model([cut, cut], "b"), session("b"), pytest.raises(ModelReplyError, match="cut off"):
        RolePredict("question -> answer")(question="Q?")


def test_a_reply_that_says_that_it_is_complete_is_whole_wherever_it_was_cut() -> None:
    with scripted_model([_cut(PARIS + " and so on and")], "a"), session("a"):
        assert RolePredict("question -> answer")(question="Q?").answer == "Paris"


def test_a_reply_that_was_cut_while_it_repeated_itself_is_read_without_the_repetitions() -> None:
    lines = ["1 | Ada | born in | London", *(f"{n} | Ada | wrote | notes" for n in range(2, 9)), "9 | Ada | wr"]
    looping = _cut("\n".join(["[[ ## triples ## ]]", *lines]))
    with scripted_model([looping], "a") as engine, session("a"):
        reply = RolePredict("text -> triples: list[str]")(text="Ada Lovelace ...")
        assert reply.triples == ["1 | Ada | born in | London", "2 | Ada | wrote | notes"]
        assert engine.left == 0


def test_a_cut_reply_leaves_no_trace() -> None:
    with scripted_model([_cut("[[ ## answer ## ]]\nPar"), PARIS], "a"), session("a"), dspy.context(trace=[]):
        RolePredict("question -> answer")(question="Q?")
        assert [prediction.answer for _, _, prediction in dspy.settings.trace] == ["Paris"]


def test_only_the_reply_that_is_accepted_is_in_the_trace() -> None:
    def check(inputs: Any, reply: dspy.Prediction) -> str | None:
        return Doubt("it is not Paris") if reply.answer == "Rome" else None

    step = RolePredict("question -> answer", check=check)
    for replies, expected in (([ROME, PARIS], "Paris"), ([ROME, ROME], "Rome"), (["?", PARIS], "Paris")):
        with scripted_model(replies, "a"), session("a"), dspy.context(trace=[("earlier", {}, None)]):
            assert step(question="Q?").answer == expected
            earlier, (predictor, inputs, outputs) = dspy.settings.trace
            assert earlier[0] == "earlier" and predictor is step
            assert (inputs, dict(outputs.items())) == ({"question": "Q?"}, {"answer": expected})
    with scripted_model(["?", "?"], "a"), session("a"), dspy.context(trace=[]):
        with pytest.raises(ModelReplyError):
            step(question="Q?")
        assert dspy.settings.trace == []


def test_a_trace_is_as_long_as_dspy_lets_it_be_and_none_where_there_is_none() -> None:
    step = RolePredict("question -> answer")
    with scripted_model([PARIS] * 4, "a"), session("a"):
        with dspy.context(trace=[], max_trace_size=2):
            for number in range(3):
                step(question=str(number))
            assert [inputs["question"] for _, inputs, _ in dspy.settings.trace] == ["1", "2"]
        with dspy.context(trace=None):
            assert step(question="3").answer == "Paris"
            assert dspy.settings.trace is None


def test_optimizers_see_one_call_of_each_step_with_its_inputs() -> None:
    examples = [dspy.Example(question="Q?").with_inputs("question")]
    with scripted_model(["?", PARIS, "?", ROME], "a"), session("a"):
        (row,) = bootstrap_trace_data(program=Two(), dataset=examples, num_threads=1)
    calls = [(step.role, inputs, dict(outputs.items())) for step, inputs, outputs in row["trace"]]
    assert calls == [
        ("prune", {"question": "Q?"}, {"answer": "Paris"}),
        ("answer", {"question": "Q?", "hint": "Paris"}, {"answer": "Rome"}),
    ]


class TestWorkedExamples:
    """The demonstrations that a step is made with."""

    def test_a_step_has_them_from_the_start(self) -> None:
        step, examples = RolePredict(SelectPaths), demonstrations(SelectPaths)
        assert examples and all(map(is_worked, step.demos))
        assert [demo.without("worked") for demo in step.demos] == examples
        assert [demo.inputs() for demo in step.demos] == [example.inputs() for example in examples]
        assert RolePredict("question -> answer").demos == []

    def test_steps_do_not_share_them(self) -> None:
        one, two = RolePredict(SelectPaths), RolePredict(SelectPaths)
        one.demos[0].keep.append(99)
        one.demos.pop()
        assert two.demos == RolePredict(SelectPaths).demos

    def test_a_reset_takes_away_only_what_was_bootstrapped(self) -> None:
        step = RolePredict(SelectPaths)
        worked, bootstrapped = list(step.demos), step.demos[0].copy(worked=False, augmented=True)
        step.demos = [*worked, bootstrapped]
        assert step.reset_copy().demos == worked
        step.demos = worked[:1]
        assert step.reset_copy().demos == worked[:1]
        step.demos = []
        assert step.reset_copy().demos == []

    def test_what_is_assigned_first_after_a_reset_is_added(self) -> None:
        step = RolePredict(SelectPaths)
        worked, own = list(step.demos), demonstrations(SelectPaths)[0]
        other = step.reset_copy()
        copied = other.deepcopy()
        other.demos = [own]
        assert other.demos == [*worked, own]
        other.demos = copied.demos = [own]
        assert other.demos == copied.demos == [own]

    def test_without_them_a_step_keeps_its_own(self) -> None:
        step, own = RolePredict(SelectPaths), demonstrations(SelectPaths)[0]
        step.demos.append(own)
        step.without_worked_examples()
        assert step.demos == [own]

    def test_they_are_told_from_others_after_saving(self) -> None:
        step = RolePredict(SelectPaths)
        step.demos.append(dspy.Example(augmented=True, **demonstrations(SelectPaths)[0]))
        state = json.loads(json.dumps(step.dump_state()))
        loaded, without = RolePredict(SelectPaths), RolePredict(SelectPaths)
        without.without_worked_examples()
        for other in (loaded, without):
            other.load_state(state)
        assert loaded.demos == step.demos
        assert [is_worked(demo) for demo in loaded.demos] == [True] * (len(step.demos) - 1) + [False]
        assert without.demos == step.demos[-1:]

    def test_a_model_made_for_the_prompts_of_this_project_reads_the_others_only(self) -> None:
        step = RolePredict(NameTopics)
        topics = "[[ ## topics ## ]]\nOak\n\n[[ ## domain ## ]]\ntree\n\n[[ ## completed ## ]]"
        asked = {"question": "How old is Oak?", "types": [], "known_names": []}
        with scripted_model([topics, topics], "a") as engine, session("a"):
            step(**asked)
            step.demos.append(demonstrations(NameTopics)[0])
            step(**asked)
        assert [len(messages_of(request)) for request in engine.requests] == [2, 4]


class Careless(dspy.ChatAdapter):  # type: ignore[misc]
    """An adapter of the user's whose formatting has a bug."""

    def format(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("a bug")


def test_an_error_elsewhere_than_in_parsing_is_not_taken_for_an_unreadable_reply() -> None:
    with (
        scripted_model([], "a"),
        session("a"),
        dspy.context(adapter=Careless()),
        pytest.raises(ValueError, match="a bug"),
    ):
        RolePredict("question -> answer")(question="Q?")


def test_the_call_over_budget_is_not_made() -> None:
    with scripted_model([PARIS, PARIS], "a") as engine, session("a", Budget(calls=1)) as ledger:
        with pytest.raises(BudgetExceededError, match="budget of 1 calls"):
            Two()(question="Q?")
        assert engine.left == 1
        assert ledger.usage().calls == 1


def test_a_second_try_needs_budget_too() -> None:
    with scripted_model(["?", PARIS], "a"), session("a", Budget(calls=1)), pytest.raises(BudgetExceededError):
        RolePredict("question -> answer")(question="Q?")


def test_inner_sessions_count_outside_too_and_keep_the_roles() -> None:
    with scripted_model([PARIS, ROME], "a"), session("a") as outer:
        RolePredict("question -> answer")(question="1")
        with session() as inner:
            RolePredict("question -> answer")(question="2")
        assert (inner.usage().calls, outer.usage().calls) == (1, 2)


def test_parallel_threads_see_the_session() -> None:
    with scripted_model([PARIS] * 8, "a"), session("a", Budget(calls=8)) as ledger:
        step = RolePredict("question -> answer")
        pairs = [(step, {"question": str(number)}) for number in range(8)]
        results = dspy.Parallel(num_threads=4, disable_progress_bar=True)(pairs)
    assert [result.answer for result in results] == ["Paris"] * 8
    assert ledger.usage().calls == 8
    assert ledger.usage().by_role["answer"].completion_tokens == 8 * len(PARIS.split())


def test_coroutines_are_served_too() -> None:
    async def ask() -> list[Any]:
        step = RolePredict("question -> answer")
        return list(await asyncio.gather(*(step.acall(question=str(number)) for number in range(3))))

    with scripted_model(["?", PARIS, PARIS, PARIS], "a"), session("a") as ledger:
        results = asyncio.run(ask())
    assert [result.answer for result in results] == ["Paris"] * 3
    assert ledger.usage().calls == 4


def test_a_prompt_that_is_too_long_has_its_own_error() -> None:
    with (
        scripted_model([ContextLengthError("9000 tokens")], "a"),
        session("a") as ledger,
        pytest.raises(PromptTooLongError, match="fewer or shorter facts"),
    ):
        RolePredict("question -> answer")(question="Q?")
    assert ledger.usage().failed_calls == 1


def test_an_engine_that_cannot_load_its_model_says_so_itself() -> None:
    with (
        scripted_model([ModelUnavailableError("not installed: pip install x")], "a"),
        session("a"),
        pytest.raises(ModelUnavailableError, match=r"^not installed: pip install x$"),
    ):
        RolePredict("question -> answer")(question="Q?")


def test_an_engine_that_fails_is_unavailable_and_is_not_asked_again() -> None:
    with scripted_model([RateLimitError("no"), PARIS], "a") as engine, session("a"):
        with pytest.raises(ModelUnavailableError, match=r"a \(role answer\)"):
            RolePredict("question -> answer")(question="Q?")
        assert engine.left == 1


def test_a_model_that_somebody_set_or_passes_is_used_instead() -> None:
    with scripted_model([], "a"), session("a") as ledger:
        step = RolePredict("question -> answer")
        step.lm = DummyLM([{"answer": "set"}])
        assert step(question="Q?").answer == "set"
        assert step(question="Q?", lm=DummyLM([{"answer": "passed"}])).answer == "passed"
        assert ledger.usage().calls == 2


def test_outside_a_session_the_model_of_dspy_is_used() -> None:
    with dspy.context(lm=DummyLM([{"answer": "configured"}])):
        assert RolePredict("question -> answer")(question="Q?").answer == "configured"


def test_nothing_about_models_is_saved_and_everything_else_is(tmp_path: Path) -> None:
    with scripted_model([PARIS], "a"), session("a"):
        program = Two()
        program.answer.demos = [dspy.Example(question="q", hint="h", answer="demo").with_inputs("question", "hint")]
        program.answer.signature = program.answer.signature.with_instructions("Be brief.")
        program.save(tmp_path / "program.json")
        assert '"lm": null' in (tmp_path / "program.json").read_text()
        loaded = Two()
        loaded.load(tmp_path / "program.json")
        assert loaded.answer.signature.instructions == "Be brief."
        assert loaded.answer.role == "answer"
        assert dict(loaded.answer.demos[0])["answer"] == "demo"
        assert loaded.prune(question="Q?").answer == "Paris"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_demonstrations_are_equal_after_saving_whatever_their_fields_are(step: type[Step], tmp_path: Path) -> None:
    class One(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.step = RolePredict(step)

    program, loaded = One(), One()
    program.step.demos = [demo.copy(augmented=True) for demo in program.step.demos]
    program.save(tmp_path / "program.json")
    loaded.load(tmp_path / "program.json")
    assert loaded.step.demos == program.step.demos


def test_a_saved_ensemble_loads_into_another() -> None:
    first, second = (dspy.Ensemble(reduce_fn=dspy.majority).compile([Two(), Two()]) for _ in range(2))
    first.programs[1].answer.demos = [dspy.Example(question="q", hint="h", answer="demo", augmented=True)]
    second.load_state(json.loads(json.dumps(first.dump_state())))
    assert [[dict(demo) for demo in step.demos] for step in second.predictors()] == [
        [dict(demo) for demo in step.demos] for step in first.predictors()
    ]


def test_copies_keep_their_roles_and_are_found_by_optimizers() -> None:
    program = Two()
    for other in (copy.deepcopy(program), program.deepcopy(), program.reset_copy()):
        assert [(name, step.role) for name, step in other.named_predictors()] == [
            ("prune", "prune"),
            ("answer", "answer"),
        ]
        assert other.answer is not program.answer
        assert other.answer.lm is None


@pytest.mark.parametrize("adapter", [None, dspy.JSONAdapter(), dspy.XMLAdapter(), dspy.ChatAdapter()])
@pytest.mark.parametrize("reply", ['{"answer": ' + "[" * 3000, "<answer>\udfff</answer>", '{"answer": "\\ud800"}'])
def test_what_no_parser_reads_is_unreadable_in_every_adapter(adapter: Any, reply: str) -> None:
    step = RolePredict("question -> answer")
    with (
        scripted_model([reply] * 8, "odd"),
        session("odd"),
        dspy.context(adapter=adapter),
        contextlib.suppress(ModelReplyError),
    ):
        step(question="Q?").answer.encode("utf-8")


@pytest.mark.parametrize(("field", "value"), [("score: float", "NaN"), ("scores: list[float]", "[0.5, NaN]")])
def test_a_number_that_is_not_finite_is_unreadable(field: str, value: str) -> None:
    reply = f'{{"{field.partition(":")[0]}": {value}}}'
    step = RolePredict(f"question -> {field}")
    with (
        scripted_model([reply] * 4, "odd"),
        session("odd"),
        dspy.context(adapter=dspy.JSONAdapter()),
        pytest.raises(ModelReplyError, match="no finite number"),
    ):
        step(question="Q?")
