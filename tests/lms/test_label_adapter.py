"""The adapter for language models in general: labels, and items named by their beginnings."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from model_stand_ins import STAND_IN, stand_in_server

from triplecheck.kg import UserError
from triplecheck.lms import RolePredict, session
from triplecheck.lms.adapter import LabelAdapter, TolerantAdapter
from triplecheck.lms.predict import ModelReplyError
from triplecheck.signatures import STEPS, AnswerFromFacts, NameTopics, ScoreRelations, SelectPaths, Step, demonstrations

PATHS = ["Oak → part of → height (1 × number)", "Oak ← planted / set by (2 × person)", "Elm → height (1 × number)"]
INPUTS = {"question": "Who planted the oak?", "topics": ["Oak"], "paths": PATHS}


def keeps(reply: str) -> list[int]:
    keep: list[int] = LabelAdapter()._about(INPUTS).parse(SelectPaths, f"Reasoning: so.\nKeep:{reply}")["keep"]
    return keep


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("\n- Oak ← planted / set by", [2]),
        ("\n- Oak ← planted / set by (2 × person)\n- Elm → height", [2, 3]),
        ("\n- Oak → planted by", [2]),
        ("\n1. Elm → height", [3]),
        ("\n- planted", [2]),  # held by one path alone
        (" [2]", [2]),
        (" 1, 3", [1, 3]),
        (" none", []),
        (" The paths do not give the height of the ash.", []),
    ],
)
def test_paths_are_named_by_their_beginnings_or_numbers(reply: str, numbers: list[int]) -> None:
    assert keeps(reply) == numbers


def test_the_arrow_tells_two_paths_with_the_same_words_apart() -> None:
    paths = ["Oak → near (1 × tree)", "Oak ← near (3 × tree)", "Oak → height (1)"]
    inputs = {"question": "What is near the oak?", "topics": ["Oak"], "paths": paths}
    for number in (1, 2):
        row = LabelAdapter().format_finetune_data(SelectPaths, [], inputs, {"keep": [number]})
        written = row["messages"][-1]["content"]
        assert LabelAdapter()._about(inputs).parse(SelectPaths, written)["keep"] == [number]


def test_a_row_may_name_one_of_two_items_that_begin_alike() -> None:
    paths = ["Oak → near (1 × tree)", "Oak → near (2 × shed)", "Oak → height (1)"]
    inputs = {"question": "What is near the oak?", "topics": ["Oak"], "paths": paths}
    adapter = LabelAdapter()._about(inputs)
    (written,) = {
        adapter.format_finetune_data(SelectPaths, [], inputs, {"keep": keep})["messages"][-1]["content"]
        for keep in ([1], [2], [1, 2])
    }
    assert adapter.parse(SelectPaths, written)["keep"] == [1, 2]
    with pytest.raises(UserError, match="would be read back as"):
        adapter.format_finetune_data(SelectPaths, [], inputs, {"keep": [9]})


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ("\n- Oak ← planted / set by: 0.8\n- Elm → height: 0.2", {2: 0.8, 3: 0.2}),
        ("\n- Elm → height (0.7)\n- Elm → height: 0.1", {3: 0.7}),
        ("\n- Oak ← planted\n- Elm → height", {2: 1.0, 3: 1.0}),
        ("\n2: 0.8\n3: 0.2", {2: 0.8, 3: 0.2}),
        (" none", {}),
    ],
)
def test_each_path_is_named_with_its_score(reply: str, scores: dict[int, float]) -> None:
    parsed = LabelAdapter()._about(INPUTS).parse(ScoreRelations, f"Reasoning: so.\nRelations:{reply}")
    assert parsed["relations"] == scores


def test_a_path_without_a_score_among_others_is_refused() -> None:
    reply = "Relations:\n- Oak ← planted / set by: 0.8\n- Elm → height"
    with pytest.raises(AdapterParseError, match="have no score"):
        LabelAdapter()._about(INPUTS).parse(ScoreRelations, reply)


def test_a_text_that_names_no_item_is_unreadable() -> None:
    with pytest.raises(AdapterParseError, match="none of the paths"):
        keeps(" the river Thames")


@pytest.mark.parametrize(("step", "field", "value"), [(SelectPaths, "keep", []), (ScoreRelations, "relations", {})])
def test_of_an_empty_list_nothing_can_be_named(step: type[Step], field: str, value: object) -> None:
    adapter = LabelAdapter()._about({**INPUTS, "paths": []})
    assert adapter.parse(step, f"Reasoning: so.\n{field.capitalize()}: the ash")[field] == value


def test_a_json_reply_is_read() -> None:
    reply = '```json\n{"reasoning": "so", "Keep": ["Elm → height"]}\n```'
    assert LabelAdapter()._about(INPUTS).parse(SelectPaths, reply)["keep"] == [3]


def test_reasoning_may_be_left_out() -> None:
    assert LabelAdapter()._about(INPUTS).parse(SelectPaths, "Keep: none") == {"reasoning": "", "keep": []}


@pytest.mark.parametrize("step", STEPS)
def test_a_reply_as_the_examples_write_it_is_read_back(step: type[Step]) -> None:
    for row in demonstrations(step):
        inputs, outputs = dict(row.inputs()), dict(row.labels())
        messages = LabelAdapter().format(step, [row], inputs)
        assert LabelAdapter()._about(inputs).parse(step, messages[-2]["content"]) == outputs
        trained = LabelAdapter().format_finetune_data(step, [], inputs, outputs)["messages"]
        assert trained[-1]["content"] == messages[-2]["content"]


class TestAModelOfTheUsers:
    def ask(self, reply: str, step: type[Step] = SelectPaths, **inputs: Any) -> tuple[dspy.Prediction, list[Any]]:
        with stand_in_server(lambda _: reply) as server, server.environment(), session(STAND_IN):
            return RolePredict(step)(**(inputs or INPUTS)), server.asked

    def test_it_reads_worked_examples_with_labels(self) -> None:
        prediction, asked = self.ask("Reasoning: so.\nKeep:\n- Oak ← planted")
        assert prediction.keep == [2]
        messages = asked[0].messages
        assert len(messages) == 2 + 2 * len(demonstrations(SelectPaths))
        assert "[[ ##" not in str(messages)

    @pytest.mark.parametrize("kept", [0, 1, 3])
    def test_it_reads_the_demonstrations_that_the_step_has_and_no_others(self, kept: int) -> None:
        step = RolePredict(SelectPaths)
        step.demos = step.demos[:kept]
        with stand_in_server(lambda _: "Keep: none") as server, server.environment(), session(STAND_IN):
            step(**INPUTS)
        assert len(server.asked[0].messages) == 2 + 2 * kept

    def test_the_mark_of_a_worked_example_is_not_shown(self) -> None:
        _, asked = self.ask("Keep: none")
        assert "worked" not in str(asked[0].messages).casefold()

    def test_a_configured_adapter_is_kept(self) -> None:
        reply = '{"reasoning": "so", "keep": [2]}'
        serving = stand_in_server(lambda _: reply)
        with serving as server, server.environment(), dspy.context(adapter=dspy.JSONAdapter()), session(STAND_IN):
            assert RolePredict(SelectPaths)(**INPUTS).keep == [2]
        assert "JSON" in server.asked[0].prompt

    def test_names_that_it_joined_are_taken_apart_where_they_are_known(self) -> None:
        known = {"question": "q?", "types": [], "known_names": ["Ek, Moe and Co (company)", "Holm (island)", "Vestra"]}
        reply = "Topics: Holm, Vestra\nDomain: island"
        assert self.ask(reply, NameTopics, **known)[0].topics == ["Holm", "Vestra"]
        reply = "Topics: Ek, Moe and Co\nDomain: company"
        assert self.ask(reply, NameTopics, **known | {"question": "other?"})[0].topics == ["Ek, Moe and Co"]

    def test_answers_that_it_joined_are_taken_apart_where_facts_hold_them(self) -> None:
        facts = {"question": "q?", "topics": ["Oak"], "facts": ["Oak ← planted by ← Ann | Bo", "Oak → height → 9"]}
        reply = "Reasoning: r\nCited:\n- Oak ← planted by\nOperation: none\nAnswers: Ann and Bo"
        prediction = self.ask(reply, AnswerFromFacts, **facts)[0]
        assert (prediction.cited, prediction.answers) == ([1], ["Ann", "Bo"])

    def test_a_second_reply_that_names_no_path_on_offer_names_none(self) -> None:
        assert self.ask("Keep:\n- Ash → age\n- Oak → seeds → age")[0].keep == []

    def test_a_second_reply_that_names_topics_in_place_of_paths_names_none(self) -> None:
        assert self.ask("Keep: Oak")[0].keep == []

    def test_a_path_on_offer_beside_others_counts_at_once(self) -> None:
        found, asked = self.ask("Keep:\n- Ash → age\n- Elm → height")
        assert (found.keep, len(asked)) == ([3], 1)

    def test_two_unreadable_replies_are_an_error(self) -> None:
        with pytest.raises(ModelReplyError, match="none of the paths"):
            self.ask("Keep: the river Thames")


def test_the_baseline_reads_headers_without_examples() -> None:
    with session("extractive"):
        prediction = RolePredict(SelectPaths)(**INPUTS)
    assert prediction.keep
    assert isinstance(TolerantAdapter(), dspy.ChatAdapter)


class Propose(dspy.Signature):  # type: ignore[misc]
    """Write a better instruction."""

    tip: str = dspy.InputField()
    proposed_instruction: str = dspy.OutputField()


def test_modules_that_are_no_steps_are_asked_in_the_form_of_their_model() -> None:
    with stand_in_server("Name the topics,\none per line.") as server, server.environment(), session(STAND_IN):
        found = dspy.Predict(Propose)(tip="Be creative.")
    assert "Proposed instruction: <text>" in server.asked[0].system
    assert found.proposed_instruction == "Name the topics,\none per line."


def test_a_text_alone_is_not_taken_for_the_reply_to_a_step() -> None:
    with pytest.raises(AdapterParseError, match="missing"):
        LabelAdapter().parse(AnswerFromFacts, "I am sorry, I cannot help with that.")


def test_a_second_try_is_the_first_request_with_what_was_wrong() -> None:
    # A small model takes its own reply, and a message about it, for the next of the examples.
    replies = iter(["Reasoning: a question.", "Reasoning: so.\nTopics: Oak\nDomain: tree"])
    with stand_in_server(lambda _: next(replies)) as server, server.environment(), session(STAND_IN):
        assert RolePredict(NameTopics)(question="Who set the oak?", types=[], known_names=[]).topics == ["Oak"]
    first, second = (one.messages for one in server.asked)
    assert second[:-1] == first[:-1]
    assert second[-1]["role"] == "user"
    request = second[-1]["content"]
    assert request.startswith(first[-1]["content"])
    assert "could not be used: Topics:" in request
    assert "in exactly this form:\nTopics: <" in request
    assert "a question." not in request
