"""The trees of pipelines with other schemes become those of Universal Dependencies."""

from __future__ import annotations

import pytest

from triplecheck.language.lexicon import lexicon
from triplecheck.language.parse import Parse, parse, universal
from triplecheck.language.pipeline import Token
from triplecheck.language.text import TOPIC


def tree(language: str, *rows: tuple[str, str, str, int]) -> dict[str, tuple[str, str]]:
    """The label and the head of each word of a sentence, given as text, part of speech, label and head."""
    tokens = [
        Token(text, at, text.lower(), pos, dep, head, (), False, False, False)
        for at, (text, pos, dep, head) in enumerate(rows)
    ]
    return {token.text: (token.dep, rows[token.head][0]) for token in universal(tokens, lexicon(language))}


def heads(parsed: Parse) -> dict[str, tuple[str, str]]:
    return {
        word: (token.dep, parsed.words[token.head]) for word, token in zip(parsed.words, parsed.tokens, strict=True)
    }


def test_the_scheme_of_tiger() -> None:
    found = tree(
        "de",
        ("Wer", "PRON", "sb", 1),
        ("wurde", "AUX", "ROOT", 1),
        ("von", "ADP", "sbp", 4),
        ("Maria", "PROPN", "nk", 2),
        ("unterrichtet", "VERB", "oc", 1),
    )
    assert found == {
        "Wer": ("nsubj", "unterrichtet"),
        "wurde": ("aux", "unterrichtet"),
        "von": ("case", "Maria"),
        "Maria": ("obl:agent", "unterrichtet"),
        "unterrichtet": ("root", "unterrichtet"),
    }


def test_the_scheme_of_clearnlp() -> None:
    found = tree(
        "en",
        ("What", "PRON", "attr", 1),
        ("is", "AUX", "ROOT", 1),
        ("the", "DET", "det", 3),
        ("capital", "NOUN", "nsubj", 1),
        ("of", "ADP", "prep", 3),
        ("Norland", "PROPN", "pobj", 4),
    )
    assert found == {
        "What": ("root", "What"),
        "is": ("cop", "What"),
        "the": ("det", "capital"),
        "capital": ("nsubj", "What"),
        "of": ("case", "Norland"),
        "Norland": ("nmod", "capital"),
    }


def test_universal_dependencies_stay() -> None:
    rows = [("Whom", "PRON", "obj", 2), ("did", "AUX", "aux", 2), ("teach", "VERB", "root", 2)]
    assert tree("en", *rows) == {row[0]: (row[2], rows[row[3]][0]) for row in rows}


@pytest.mark.parametrize("text", ["who founded the island of light in aro", "Who founded The Island of Light in Aro?"])
def test_a_topic_is_one_word_whatever_it_is_made_of(text: str) -> None:
    parsed = parse(text, ("The Island of Light",), "en")
    assert parsed.words == ("who", "founded", TOPIC, "in", "aro")
    assert heads(parsed)[TOPIC] == ("obj", "founded")
    assert parsed.written(2, 3).casefold() == "the island of light"


@pytest.mark.parametrize(
    "text", ["which captains live in aro", "what lakes does aro have", "Which lighthouses did Mary visit?"]
)
def test_a_noun_that_looks_like_a_verb_is_one_after_a_question_word(text: str) -> None:
    parsed = parse(text, ("Aro", "Mary"), "en")
    assert (parsed.pos(1), parsed.tokens[1].feature("Number")) == ("NOUN", "Plur")


@pytest.mark.parametrize(
    ("text", "noun", "above"),
    [
        ("List every apiary that lies above 100 metres.", "apiary", "List"),
        ("Which bridges over the *Aro* were designed by Ada?", "bridges", "designed"),
        ("Which peaks can you climb from a hut?", "peaks", "climb"),
        ("Which flat in the house has the lowest rent?", "flat", "has"),
    ],
)
def test_a_noun_is_one_if_no_other_stands_after_its_determiner(text: str, noun: str, above: str) -> None:
    found = parse(text.replace("*", ""), ("Aro",), "en")
    at = found.words.index(noun)
    assert (found.pos(at), found.tokens[found.tokens[at].head].text) == ("NOUN", above)


@pytest.mark.parametrize("text", ["Which hut was the second to open?", "Does Aro charge the same per hour as Ada?"])
def test_a_word_that_can_be_without_a_noun_stays_one(text: str) -> None:
    found = parse(text, ("Aro",), "en")
    assert found.pos(next(i for i, word in enumerate(found.words) if word in ("second", "same"))) == "ADJ"


@pytest.mark.parametrize("text", ["what caused the flood of aro", "which owns the boats that sank"])
def test_a_verb_after_a_question_word_stays_one(text: str) -> None:
    assert parse(text, ("Aro",), "en").pos(1) == "VERB"


def test_words_with_borrowed_accents_are_read_as_words_without() -> None:
    found = parse("Which cafés sell crêpes?", (), "en")
    assert heads(found)["cafes"] == ("nsubj", "sell")
    assert [token.text for token in found.tokens] == ["Which", "cafés", "sell", "crêpes"]
