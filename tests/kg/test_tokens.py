"""Tokens of English text, compared with spaCy's."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplecheck.kg import tokens
from triplecheck.kg.tokens import tokenize

spacy = pytest.importorskip("spacy")
BUNDLED = Path(tokens.__file__).with_name("bundled")


@pytest.fixture(scope="module")
def english() -> object:
    return spacy.blank("en").tokenizer


def facts_of_spacy(english: object, text: str) -> list[tuple[object, ...]]:
    return [(t.text, t.idx, t.is_stop, t.is_punct, t.is_space) for t in english(text)]  # type: ignore[operator]


def facts(text: str) -> list[tuple[object, ...]]:
    return [(t.text, t.start, t.is_stop, t.is_punct, t.is_space) for t in tokenize(text)]


def test_questions_have_the_tokens_of_spacy(english: object) -> None:
    questions = [
        json.loads(line)["question"] for path in BUNDLED.glob("*.jsonl") for line in path.open(encoding="utf-8")
    ]
    assert len(questions) > 100
    assert [q for q in questions if facts(q) != facts_of_spacy(english, q)] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  two  blanks ",
        "Don't you've Bach's?",
        "the U.S. (1998), at 5p.m.",
        "https://example.org/a-b?c=d, e-mail a@b.org",
        "well-known x/y 10km $5.3 No.7",
        ":) :-( <3 8) (;)",
        "tabs\tand\n\nlines",
        "“quoted” — …and more...",
        "can't-won't I'm.Dr. O'Neil",
    ],
)
def test_signs_and_contractions_have_the_tokens_of_spacy(english: object, text: str) -> None:
    assert facts(text) == facts_of_spacy(english, text)


def test_mixtures_of_exceptions_have_the_tokens_of_spacy(english: object) -> None:
    chance = random.Random(0)
    pieces = [*json.loads(Path(tokens.__file__).with_name("tokens.json").read_text("utf-8"))["exceptions"], "a", "Xy1"]
    texts = ["".join(chance.choices([*pieces, " ", " ", "-", ","], k=4)) for _ in range(300)]
    assert [text for text in texts if facts(text) != facts_of_spacy(english, text)] == []


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_tokens_are_parts_of_the_text_in_order(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert token.start >= end
        assert text[token.start : token.end] == token.text
        end = token.end


def test_the_rules_are_those_of_the_installed_spacy() -> None:
    assert json.loads(Path(tokens.__file__).with_name("tokens.json").read_text("utf-8")) == tokens.rules_of_spacy()
