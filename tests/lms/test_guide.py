"""Guided decoding: whatever a model prefers to write, its reply can be read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Literal

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.lms.adapter import TolerantAdapter
from triplecheck.lms.local.form import Field, as_items, as_numbers, beginnings, fields_of, shown
from triplecheck.lms.local.guide import Guide, dictated
from triplecheck.signatures import STEPS, AnswerFromFacts, SelectPaths, Step, without_reasoning
from triplecheck.signatures.step import CopiedFrom, Numbers, hint_of

ALPHABET = "\n ,.-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ#[]_→|"
END = len(ALPHABET)
HEADER = END + 1  # one token for "[[", as many tokenizers have it


class Letters:
    """A vocabulary of single letters, the mark `[[`, and an end token."""

    ends = frozenset({END})
    digits = frozenset(map(ALPHABET.index, "0123456789"))
    commas = frozenset(map(ALPHABET.index, " ,"))
    point = frozenset({ALPHABET.index(".")})
    minus = frozenset({ALPHABET.index("-")})

    def text(self, token: int) -> str:
        return self.decode([token])

    def encode(self, text: str) -> list[int]:
        return [HEADER if c == "\0" else ALPHABET.index(c) for c in text.replace("[[", "\0")]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join("" if t == END else "[[" if t == HEADER else ALPHABET[t] for t in tokens)


class Steps(dspy.Signature):
    """Fill in everything there is."""

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    cited: list[int] = dspy.OutputField()
    operation: Literal["none", "count", "counts"] = dspy.OutputField()
    sure: bool = dspy.OutputField()
    score: float = dspy.OutputField()
    answers: list[str] = dspy.OutputField()


def write(fields: list[Field], preferences: Sequence[Sequence[int]], limit: int = 400, longest: int = 40) -> str:
    """What a model writes that, at each step, likes tokens in some order best."""
    words = Letters()
    guide = Guide(fields, words, limit, longest)
    tokens: list[int] = []
    for step in range(limit):
        order = preferences[step % len(preferences)]
        allowed = guide.allowed(lambda some, order=order: next(t for t in order if some is None or t in some))  # type: ignore[misc]
        token = next(t for t in order if allowed is None or t in allowed)
        tokens.append(token)
        guide.took(token)
        if words.decode(tokens).endswith("completed ## ]]"):
            break
    return words.decode(tokens)


def written_at_random(fields: list[Field], seed: int) -> str:
    """What a model writes that likes tokens in an order of chance at each step."""
    rng = random.Random(seed)
    tokens = [*range(len(ALPHABET)), END, HEADER]
    return write(fields, [rng.sample(tokens, len(tokens)) for _ in range(37)])


class Point(Step):
    """Point at what there is."""

    names: list[str] = dspy.InputField()
    paths: list[str] = dspy.InputField()
    facts: list[str] = dspy.InputField()
    keep: Annotated[list[int], Numbers("paths")] = dspy.OutputField(desc="what to keep")
    proof: Annotated[list[int], Numbers("facts")] = dspy.OutputField(desc="numbers of the names or paths that prove it")


LISTS = {
    "names": ["a"],
    "paths": ["oak → tree", "oak → tree → leaf", "oak → acorn", "oak → tree"],
    "facts": ["elm → tall", "ash"],
}


def asked(signature: type[dspy.Signature], **inputs: object) -> list[tuple[str, str]]:
    return [(m["role"], m["content"]) for m in TolerantAdapter().format(signature, [], inputs)]


def prompt() -> list[tuple[str, str]]:
    return asked(Steps, question="?")


def test_the_fields_are_read_off_the_reminder() -> None:
    assert fields_of(prompt()) == [
        Field("reasoning", "text"),
        Field("cited", "numbers"),
        Field("operation", "choice", ("none", "count", "counts")),
        Field("sure", "choice", ("True", "False")),
        Field("score", "number"),
        Field("answers", "lines"),
    ]
    assert fields_of([("user", "Tell me a story. Reply with `joy`.")]) == []


def test_numbers_of_listed_items_are_written_as_how_the_items_begin() -> None:
    keep, proof = fields_of(asked(Point, **LISTS), [Point])
    assert keep == Field("keep", "items", ("oak → tree", "oak → tree →", "oak → acorn"), (1, 2, 3), ((4, 1),))
    assert proof == Field("proof", "items", ("elm", "ash"), (1, 2)), "by the hint, whatever the description says"
    assert as_items(keep, "3, 1") == ["oak → acorn", "oak → tree"]
    assert as_items(keep, "1, 3, 4") == ["oak → tree", "oak → acorn"], "an item that is listed twice is written once"
    assert as_items(keep, "none") == ["none"]
    assert as_items(keep, "3, 7") is None
    assert as_items(keep, "3: 0.7\n1: 0.25") == ["oak → acorn", "oak → tree"], "a small model writes no scores"
    written = "[[ ## keep ## ]]\noak → acorn\noak → tree\noak → ac\n\n[[ ## proof ## ]]\nnone\n\n[[ ## completed ## ]]"
    assert TolerantAdapter().parse(Point, as_numbers([keep, proof], written)) == {"keep": [3, 1], "proof": []}


def test_a_model_is_shown_earlier_replies_as_it_writes_them() -> None:
    inputs = {"names": ["cat"], "paths": ["elm → tree", "elm → leaf"], "facts": ["ant"]}
    demos = [{**inputs, "keep": [2], "proof": []}]
    repairing = TolerantAdapter().repairing("[[ ## keep ## ]]\n3, 2\n\n[[ ## proof ## ]]\nmany", "proof is unreadable")
    chat = [(m["role"], m["content"]) for m in repairing.format(Point, demos, LISTS)]
    read = shown(chat, [Point])
    assert "[[ ## keep ## ]]\nelm → leaf\n\n[[ ## proof ## ]]\nnone" in read[2][1], "by the lists of the demonstration"
    assert "[[ ## keep ## ]]\noak → acorn\noak → tree →\n" in read[4][1]
    assert read[4][1].endswith("[[ ## proof ## ]]\nmany"), "what cannot be read stays"
    for (role, before), (_, after) in zip(chat, read, strict=True):
        if role != "assistant":
            assert after == before.partition("\n\nReply with ")[0], "the guide writes what the reminder asks for"
    assert "proof is unreadable" in read[-1][1]
    assert fields_of(chat, [Point]) == fields_of(asked(Point, **LISTS), [Point]), (
        "a request to mend a reply repeats no lists"
    )


def test_a_signature_of_a_users_own_is_decoded_by_its_types() -> None:
    assert fields_of(asked(Point, **LISTS)) == [Field("keep", "numbers"), Field("proof", "numbers")]


def test_hints_stay_where_an_optimizer_rewrites_a_step() -> None:
    inputs = {"question": "?", "topics": ["oak"], "paths": ["oak → tree", "oak → leaf"]}
    rewritten = SelectPaths.with_instructions("Choose.").with_updated_fields("keep", desc="the good ones")
    assert fields_of(asked(rewritten, **inputs)) == fields_of(asked(SelectPaths, **inputs))
    assert fields_of(asked(SelectPaths, **inputs))[0].kind == "items"


@pytest.mark.parametrize("step", [*STEPS, without_reasoning(AnswerFromFacts)])
def test_the_fields_of_every_step_are_decoded_as_its_hints_say(step: type[Step]) -> None:
    inputs = {name: ["oak → part of → wood", "elm → tree"] for name in step.input_fields}
    fields = {field.name: field for field in fields_of(asked(step, **inputs))}
    assert list(fields) == [name for name, field in step.output_fields.items() if field.is_required()]
    for name, field in fields.items():
        match hint_of(step, name):
            case Numbers():
                assert (field.kind, field.options, field.numbers) == ("items", ("oak", "elm"), (1, 2))
            case CopiedFrom(cited=cited, besides=besides):
                assert (field.kind, field.source, field.besides) == ("copies", cited, besides)
                assert field.copied == (("oak", "wood"), ("elm → tree",))
            case None:
                assert field.kind in ("text", "lines", "number", "choice")


def test_without_a_list_numbers_are_numbers() -> None:
    empty = asked(Point, names=[], paths=[], facts=[])
    assert [field.kind for field in fields_of(empty, [Point])] == ["numbers", "numbers"]


@given(
    st.lists(st.text("ab ", min_size=1, max_size=6).map(str.strip).filter(bool), min_size=1, max_size=6, unique=True)
)
def test_a_beginning_belongs_to_one_text(texts: list[str]) -> None:
    found = beginnings(texts)
    assert len(set(found)) == len(texts)
    for start, text in zip(found, texts, strict=True):
        assert text == start or text.startswith(f"{start} ")
        assert text == start or not any(other != text and f"{other} ".startswith(f"{start} ") for other in texts)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_preferred_items_are_written_whole_and_once(seed: int) -> None:
    fields = fields_of(asked(Point, **LISTS), [Point])
    reply = written_at_random(fields, seed)
    assert reply.endswith("[[ ## completed ## ]]")
    for field in fields:
        lines = reply.split(f"[[ ## {field.name} ## ]]\n")[1].split("\n\n[[")[0].split("\n")
        assert lines == ["none"] or (set(lines) <= set(field.options) and len(set(lines)) == len(lines))
    parsed = TolerantAdapter().parse(Point, as_numbers(fields, reply))
    assert set(parsed["keep"]) <= {1, 2, 3} and set(parsed["proof"]) <= {1, 2}


@pytest.mark.parametrize(("keep", "proof"), [("3, 1", "2"), ("none", "1, 2"), ("2, 1, 3", "none")])
def test_what_is_taught_is_what_the_guide_lets_a_model_write(keep: str, proof: str) -> None:
    fields = fields_of(asked(Point, **LISTS), [Point])
    tokens = dictated(fields, [keep, proof], Letters(), 200, 40)
    assert tokens is not None
    reply = as_numbers(fields, Letters().decode(tokens))
    assert reply == f"[[ ## keep ## ]]\n{keep}\n\n[[ ## proof ## ]]\n{proof}\n\n[[ ## completed ## ]]"
    assert dictated(fields, ["5", proof], Letters(), 200, 40) is None
    assert dictated(fields, ["4", proof], Letters(), 200, 40) == dictated(fields, ["1", proof], Letters(), 200, 40)


FACTS = {
    "question": "?",
    "topics": ["oak"],
    "facts": [
        "oak → part of → wood",
        "oak → has → leaf | root | ... 3 more",
        "elm ← kind ← tree",
        "all that is told",
        "wood → near → lake",
    ],
}
HELD = [{"oak", "wood", "lake"}, {"oak", "leaf", "root"}, {"elm", "tree"}, {"all that is told"}, {"wood", "lake"}]


def test_answers_are_copied_from_the_facts_that_are_cited_and_from_where_they_lead() -> None:
    answers = fields_of(asked(AnswerFromFacts, **FACTS))[-1]
    assert (answers.kind, answers.source, answers.besides) == ("copies", "cited", ("yes", "no"))
    assert [set(held) for held in answers.copied] == HELD
    without = fields_of(asked(AnswerFromFacts, **{**FACTS, "facts": []}))[-1]
    assert without == Field("answers", "lines"), "nothing to point at"


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_preferred_nothing_is_answered_that_is_not_cited(seed: int) -> None:
    fields = fields_of(asked(AnswerFromFacts, **FACTS))
    reply = written_at_random(fields, seed)
    parsed = TolerantAdapter().parse(AnswerFromFacts, as_numbers(fields, reply))
    held = {text for number in parsed["cited"] for text in HELD[number - 1]}
    assert set(parsed["answers"]) <= (held | {"yes", "no"} if held else set())
    assert parsed["answers"] or not parsed["cited"] or parsed["operation"] != "none"


@pytest.mark.parametrize(
    ("cited", "operation", "answers", "lets"),
    [
        ("2", "none", "leaf\nroot", True),
        ("1, 3", "none", "tree", True),
        ("1", "none", "no", True),
        ("2", "none", "wood", False),
        ("2", "none", "none", False),
        ("2", "count", "none", True),
        ("2, 1", "common", "oak", True),
        ("none", "none", "none", True),
        ("none", "none", "yes", False),
    ],
)
def test_what_is_taught_is_copied_from_what_is_cited(cited: str, operation: str, answers: str, lets: bool) -> None:
    fields = fields_of(asked(AnswerFromFacts, **FACTS))
    tokens = dictated(fields, ["so", cited, operation, answers], Letters(), 400, 40)
    assert (tokens is not None) == lets
    if tokens is not None:
        assert f"[[ ## answers ## ]]\n{answers}\n" in Letters().decode(tokens)


def test_what_a_guide_puts_in_needs_no_scores() -> None:
    fields, words = [Field("keep", "choice", ("a", "b")), Field("why", "text")], Letters()
    guide = Guide(fields, words, 100, 10)
    assert words.decode(guide.put_in()) == "[[ ## keep ## ]]\n"
    assert guide.put_in() == []
    assert guide.allowed(lambda _: END) == [ALPHABET.index("a"), ALPHABET.index("b")]
    guide.took(ALPHABET.index("b"))
    frame = words.encode("\n\n[[ ## why ## ]]\n")
    assert guide.allowed(lambda _: END) == frame[:1]
    guide.took(frame[0])
    assert guide.put_in() == frame[1:]


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_preferred_the_reply_can_be_read(seed: int) -> None:
    reply = written_at_random(fields_of(prompt()), seed)
    assert reply.endswith("[[ ## completed ## ]]")
    parsed = TolerantAdapter().parse(Steps, reply)
    assert parsed["operation"] in ("none", "count", "counts")
    assert isinstance(parsed["sure"], bool)
    assert all(isinstance(number, int) for number in parsed["cited"])


def test_the_model_writes_freely_in_free_text_fields() -> None:
    words = Letters()
    wanted = "[[ ## thought ## ]]\nshort\n\n[[ ## keep ## ]]\n1, 3\n\n[[ ## completed ## ]]"
    every = [*range(len(ALPHABET)), END, HEADER]
    preferences = [[t, *every] for t in words.encode(wanted)]
    assert write([Field("thought", "text"), Field("keep", "numbers")], preferences) == wanted


def test_an_empty_list_of_numbers_is_none() -> None:
    words = Letters()
    every = [*range(len(ALPHABET)), END, HEADER]
    wanted = "[[ ## keep ## ]]\nnone\n\n[[ ## completed ## ]]"
    assert write([Field("keep", "numbers")], [[t, *every] for t in words.encode(wanted)]) == wanted


def test_a_model_that_never_ends_is_ended_in_time() -> None:
    letter = ALPHABET.index("x")
    order = [letter, *range(len(ALPHABET)), END, HEADER]
    fields = [Field("reasoning", "text"), Field("answers", "lines")]
    short = write(fields, [order], limit=400, longest=10)
    assert short.count("x" * 10) == 2 and "x" * 11 not in short
    tight = write(fields, [order], limit=90, longest=500)
    assert tight.endswith("[[ ## completed ## ]]") and len(Letters().encode(tight)) <= 90


def test_a_prompt_of_another_form_is_not_guided() -> None:
    assert Guide([], Letters(), 10, 10).allowed(lambda some: 0) is None
