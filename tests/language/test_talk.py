"""Talk beside a question."""

from __future__ import annotations

import pytest

from triplecheck.language.talk import asked_and_talk


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("I am new here, so who repairs the boats?", "who repairs the boats?"),
        ("For the newsletter: which boats were sold in 2019?", "which boats were sold in 2019?"),
        ("My uncle loves the sea. How many boats does Ida Falk own?", "How many boats does Ida Falk own?"),
        ("Who owns the Gull? I am asking for a friend.", "Who owns the Gull?"),
        ("My back hurts; list the boats under 300 kg", "list the boats under 300 kg"),
    ],
)
def test_talk_is_parted_from_the_question(text: str, asked: str) -> None:
    found, talk = asked_and_talk(text)
    assert found == asked and talk and talk in text


@pytest.mark.parametrize(
    "text",
    [
        "Who owns the Gull?",
        "My uncle has a boat. Where is it?",  # "it" is the boat
        "I like boats. Which one is the oldest?",
        "I carry 40 kilos at most, so which boats are lighter than that?",
        "Ida Falk is my aunt: which boats did she build?",
        "I saw Ida Falk in town. Which boats are hers?",
        "I was there in 2019. Which boats were sold?",  # perhaps in that year
        "I need something cheap. Which boats were sold?",
        "Is there a boat that has no owner? Which one?",
        "Which boat is longer: the Gull or the Tern?",
        "Which boats does Ida Falk own, and which boats did Jon Brook build?",
        "Boats of Ida Falk",
    ],
)
def test_a_question_that_may_need_what_stands_beside_it_is_whole(text: str) -> None:
    assert asked_and_talk(text) == (text, "")


def test_a_language_without_a_trained_pipeline_parts_nothing() -> None:
    text = "Ich bin neu hier. Wer besitzt die Möwe?"
    assert asked_and_talk(text, "de") == (text, "")
