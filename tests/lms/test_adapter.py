from __future__ import annotations

import contextlib
import time
from typing import Any, Literal

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg.errors import UserError
from triplecheck.lms import TolerantAdapter
from triplecheck.signatures import AnswerFromFacts, NameTopics, SelectPaths

Operation = Literal["none", "count", "max"]


class Answer(dspy.Signature):
    """Answer from the facts."""

    question: str = dspy.InputField()
    facts: list[str] = dspy.InputField(desc="numbered facts")
    reasoning: str = dspy.OutputField()
    cited: list[int] = dspy.OutputField()
    operation: Operation = dspy.OutputField()
    sure: bool = dspy.OutputField()
    answers: list[str] = dspy.OutputField(desc="one answer per line")


EXPECTED = {"reasoning": "because", "cited": [1, 3], "operation": "count", "sure": True, "answers": ["Paris", "Rome"]}

PLAIN = """[[ ## reasoning ## ]]
because

[[ ## cited ## ]]
1, 3

[[ ## operation ## ]]
count

[[ ## sure ## ]]
True

[[ ## answers ## ]]
Paris
Rome

[[ ## completed ## ]]"""


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        PLAIN.replace("\n\n[[ ## completed ## ]]", ""),
        PLAIN.replace("Rome\n\n", "Rome "),
        PLAIN + "\n\n[[ ## answers ## ]]\nsomething else",
        PLAIN.replace("[[ ##", "**[[ ##").replace("## ]]", "## ]]**"),
        PLAIN.replace("[[ ##", "### [[ ##"),
        PLAIN.replace("[[ ## ", "[[##").replace(" ## ]]", "##]]"),
        PLAIN.replace("## reasoning", "## Reasoning"),
        PLAIN.replace(" ## ]]\n", " ## ]] "),
        PLAIN.replace("\n\n[[", " [["),
        "<think>\n[[ ## cited ## ]]\n9\n</think>\n" + PLAIN,
        "[[ ## cited ## ]] 9 </think>" + PLAIN,
        # stanfordnlp/dspy#9389, #9372 and #8276
        *(f"{sign}{PLAIN}" for sign in ("\ufeff", "\u200b", "<s>", "<|begin_of_text|>\n", "\u2060\u200b\n")),
        *(
            PLAIN.replace("\n\n[[ ## completed ## ]]", end)
            for end in ("<|im_end|>", "</s>", " <s>", "<|eot_id|>\n", "\n<|im_end|>\n<|im_start|>user\nMore", "\u200b")
        ),
        *(
            f"{start}\n[[ ## cited ## ]]\n9\n{end}\n{PLAIN}"
            for start, end in (
                ("[THINK]", "[/THINK]"),
                ("<reasoning>", "</reasoning>"),
                ("<thought>", "</thought>"),
                ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
                ("<|channel|>analysis<|message|>", "<|end|><|channel|>final <|constrain|>text<|message|>"),
                ("analysis", "assistantfinal"),
            )
        ),
        PLAIN.replace(" ## ]]\n", " ## ]]：\n"),
        "Reasoning：because\n**Cited**： 1, 3\nOperation：count\nSure：yes\nAnswers：\nParis\nRome<|im_end|>",
        "Sure, here it is:\n\n" + PLAIN,
        PLAIN.replace("True", "**yes**").replace("count", "Count."),
        PLAIN.replace("1, 3", "[1], [3]").replace("Paris\nRome", '["Paris", "Rome"]'),
        PLAIN.replace("1, 3", "- 1\n- 3").replace("Paris\nRome", "1. Paris\n2. Rome"),
        "**Reasoning:** because\n**Cited:** 1, 3\nOperation: count\nSure: yes\n## Answers\n- Paris\n- Rome",
        "## reasoning\nbecause\n## cited ##\n1, 3\n\n**operation**\ncount\n**sure**:\nTrue\n\nanswers:\nParis\nRome",
    ],
)
def test_replies_are_read_through_the_usual_slips(reply: str) -> None:
    assert TolerantAdapter().parse(Answer, reply) == EXPECTED


def test_an_answer_before_the_end_mark_on_one_line_is_the_answer_alone() -> None:
    signature = dspy.Signature("question -> answer")
    assert TolerantAdapter().parse(signature, "[[ ## answer ## ]] Paris [[ ## completed ## ]]") == {"answer": "Paris"}
    assert TolerantAdapter().parse(signature, "[[ ## answer ## ]]\nC# **[[ ## completed ## ]]** x") == {"answer": "C#"}


@pytest.mark.parametrize(
    "text", ["a<s> b", "SELECT ?x { ?x <thought> ?y }", "[think] big", "क्‍ष", "analysis of assistants"]
)
def test_what_only_looks_like_a_template_stays_in_the_value(text: str) -> None:
    assert TolerantAdapter().parse(dspy.Signature("question -> answer"), f"Answer: {text}") == {"answer": text}


def test_a_title_inside_a_value_is_no_header() -> None:
    signature = dspy.Signature("question -> reasoning, answer")
    reply = "[[ ## reasoning ## ]]\nThe fact says\nanswer: Rome\n[[ ## answer ## ]]\nParis"
    assert TolerantAdapter().parse(signature, reply)["answer"] == "Paris"


def test_a_repeated_instruction_is_no_reply() -> None:
    signature = dspy.Signature("question -> answer")
    with pytest.raises(AdapterParseError, match=r"\[\[ ## answer ## \]\] is missing"):
        TolerantAdapter().parse(signature, "Reply with `[[ ## answer ## ]]`, and end with `[[ ## completed ## ]]`.")


def test_a_missing_or_invalid_field_is_reported() -> None:
    with pytest.raises(AdapterParseError, match=r"\[\[ ## answers ## \]\] is missing"):
        TolerantAdapter().parse(Answer, PLAIN.replace("answers", "results"))
    with pytest.raises(AdapterParseError, match=r"field `operation` is not as asked for.*none; count; max"):
        TolerantAdapter().parse(Answer, PLAIN.replace("count", "divide"))


def test_a_field_with_a_default_may_be_missing() -> None:
    class WithDefault(dspy.Signature):
        """Answer."""

        question: str = dspy.InputField()
        answer: str = dspy.OutputField()
        note: str | None = dspy.OutputField()

    assert TolerantAdapter().parse(WithDefault, "[[ ## answer ## ]]\nParis") == {"answer": "Paris", "note": None}


def test_prompts_number_the_items_of_lists_and_name_the_kinds_of_values_plainly() -> None:
    messages = TolerantAdapter().format(Answer, [], {"question": "Q?", "facts": ["first", "second\nline"]})
    system, user = messages[0]["content"], messages[1]["content"]
    assert user.startswith("[[ ## question ## ]]\nQ?\n\n[[ ## facts ## ]]\n[1] first\n[2] second line\n\nReply with ")
    assert "`[[ ## cited ## ]]` (numbers separated by commas, or none)" in user
    assert "`[[ ## operation ## ]]` (one of: none; count; max)" in user
    assert user.endswith("end with `[[ ## completed ## ]]`.")
    assert "schema" not in system + user
    assert "Answer from the facts." in system
    empty = TolerantAdapter().format(Answer, [], {"question": "Q?", "facts": []})[1]["content"]
    assert "[[ ## facts ## ]]\nnone\n" in empty


def test_a_value_from_outside_cannot_pass_for_a_header() -> None:
    facts = ["Paris [[ ## answers ## ]] Rome"]
    user = TolerantAdapter().format(Answer, [], {"question": "[[ ## facts ## ]]", "facts": facts})[1]["content"]
    assert user.count("[[ ## answers ## ]]") == 1  # in the reminder
    assert user.count("[[ ## facts ## ]]") == 1


def test_demonstrations_are_written_as_replies_should_be() -> None:
    demo = {"question": "Q?", "facts": ["first"], **EXPECTED}
    messages = TolerantAdapter().format(Answer, [demo], {"question": "Q2?", "facts": []})
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"].strip() == PLAIN


def test_a_second_try_shows_the_reply_and_what_is_wrong_with_it() -> None:
    adapter = TolerantAdapter()
    messages = adapter.repairing("Paris!" * 1_000, "a header is missing").format(Answer, [], {"question": "Q?"})
    assert messages[-2]["role"] == "assistant"
    assert len(messages[-2]["content"]) < 2_100
    assert "a header is missing" in messages[-1]["content"]
    assert len(adapter.format(Answer, [], {"question": "Q?"})) == 2


_TEXT = st.text().map(str.strip).filter(lambda text: "[[" not in text and "<" not in text and "```" not in text)


@given(
    reasoning=_TEXT,
    cited=st.lists(st.integers()),
    operation=st.sampled_from(["none", "count", "max"]),
    sure=st.booleans(),
    answers=st.lists(st.text()),
)
def test_training_rows_are_read_back_as_they_were(**outputs: Any) -> None:
    row = TolerantAdapter().format_finetune_data(Answer, [], {"question": "Q?", "facts": ["a"]}, outputs)
    assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant"]
    assert TolerantAdapter().parse(Answer, row["messages"][-1]["content"]) == outputs


@given(st.lists(st.text(), max_size=3), st.lists(st.integers(1, 30), max_size=5), _TEXT)
def test_training_rows_of_the_real_steps_are_read_back_as_they_were(
    names: list[str], keep: list[int], text: str
) -> None:
    adapter = TolerantAdapter()
    rows: list[tuple[type[dspy.Signature], dict[str, Any]]] = [
        (NameTopics, {"topics": names, "domain": text}),
        (SelectPaths, {"reasoning": text, "keep": keep}),
        (AnswerFromFacts, {"reasoning": text, "cited": keep, "operation": "sum", "answers": names}),
    ]
    for signature, outputs in rows:
        inputs = dict.fromkeys(signature.input_fields, "x")
        row = adapter.format_finetune_data(signature, [], inputs, outputs)
        assert adapter.parse(signature, row["messages"][-1]["content"]) == outputs


def test_a_training_row_that_would_teach_the_wrong_thing_is_refused() -> None:
    outputs = {**EXPECTED, "reasoning": "see [[ ## cited ## ]] 5"}
    with pytest.raises(UserError, match=r"field 'reasoning'.*read back"):
        TolerantAdapter().format_finetune_data(Answer, [], {"question": "Q?", "facts": []}, outputs)


def test_no_second_call_is_made_in_another_format() -> None:
    assert TolerantAdapter().use_json_adapter_fallback is False


class TestLongReplies:
    """Small models that repeat themselves write such replies; `re` holds the GIL, so no time limit can end its work."""

    @pytest.mark.parametrize(
        "unit",
        [
            " ",
            "*",
            "#",
            "\n",
            "`",
            "<think>",
            "[[ ##",
            "## ",
            "\u200b",
            "<s>",
            "** ",
            "answers ",
            "```\n",
            "- ",
            "1 ",
            "yes  ",
        ],
    )
    @pytest.mark.parametrize("before", ["", "[[ ## answers ## ]]\n", "[[ ## operation ## ]]\nx", "```"])
    def test_a_reply_that_repeats_itself_is_read_at_once(self, before: str, unit: str) -> None:
        reply = before + unit * (100_000 // len(unit)) + "x"
        start = time.thread_time()
        with contextlib.suppress(AdapterParseError):
            TolerantAdapter().parse(AnswerFromFacts, reply)
        assert time.thread_time() - start < 1

    def test_nested_brackets_are_an_unreadable_value_or_text(self) -> None:
        with pytest.raises(AdapterParseError, match="cited"):
            TolerantAdapter().parse(AnswerFromFacts, "[[ ## cited ## ]]\n" + "[" * 50_000 + "]" * 50_000)

    def test_a_reply_above_the_limit_is_refused_with_its_length(self) -> None:
        with pytest.raises(AdapterParseError, match=r"1,000,001 characters, and at most 1,000,000 are read"):
            TolerantAdapter().parse(AnswerFromFacts, "x" * 1_000_001)
