"""The rule-based baseline on texts: which ones help, what they state, what answers the question."""

from __future__ import annotations

import pytest

from triplecheck.kg.encode import load_encoder
from triplecheck.lms.extractive.references import Reader, check_passages, judge_passage, next_question, select_passages
from triplecheck.lms.extractive.sentences import (
    passage_sentences,
    salient_spans,
    statements,
)
from triplecheck.lms.prompt import Prompt

HEIDEN = (
    "Bernhard Heiden: Bernhard Heiden (born 24 August 1910 in Frankfurt) was a composer. "
    "He studied with Paul Hindemith."
)
HINDEMITH = "Paul Hindemith: Paul Hindemith was a composer and violist. He wrote 12 operas before 1940."
BREAD = "Bread: Bread is made from flour and water."
REFERENCES = [HEIDEN, HINDEMITH, BREAD]


def numbered(texts: list[str]) -> str:
    return "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


class TestSentences:
    def test_a_title_is_no_sentence(self) -> None:
        assert [(s.title, s.text) for s in passage_sentences("A, B: One is here. Two is there.", "en")] == [
            ("A, B", "One is here."),
            ("A, B", "Two is there."),
        ]

    def test_dates_and_numbers_are_distinguished(self) -> None:
        spans = salient_spans("In 1910 and on 24 August 1911, 12,000 people came.", "en")
        assert [(s.text, s.kind) for s in spans] == [("1910", "date"), ("24 August 1911", "date"), ("12,000", "number")]


class TestStatements:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("Paul Hindemith was born in Hanau.", ("Paul Hindemith", "was born in", "Hanau")),
            ("Paris is the capital of France.", ("Paris", "capital of", "France")),
            ("Etna is a volcano in Sicily.", ("Etna", "volcano in", "Sicily")),
            ("Ada was an English mathematician.", ("Ada", "was", "English mathematician")),
            (HEIDEN, ("Bernhard Heiden", "born in", "Frankfurt")),
            (HEIDEN, ("Bernhard Heiden", "born", "24 August 1910")),
            (HEIDEN, ("Bernhard Heiden", "studied with", "Paul Hindemith")),
            ("Ada was born in Rome and died in Paris.", ("Ada", "died in", "Paris")),
            ("The capital of France is Paris.", ("France", "capital", "Paris")),
            ("Ada's teacher was Paul Hindemith.", ("Ada", "teacher", "Paul Hindemith")),
            ("Ada, who was born in Rome, directed Alien.", ("Ada", "directed", "Alien")),
        ],
    )
    def test_what_a_sentence_states(self, text: str, wanted: tuple[str, str, str]) -> None:
        assert wanted in statements(text, "en")

    @pytest.mark.parametrize("text", ["", "It rains.", "Rome, Paris and London.", "a | b | c"])
    def test_what_states_nothing(self, text: str) -> None:
        assert statements(text, "en") == []


class TestReading:
    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("Who did Bernhard Heiden study with?", "Paul Hindemith"),
            ("In what city was Bernhard Heiden born?", "Frankfurt"),
            ("When was Bernhard Heiden born?", "24 August 1910"),
            ("How many operas did Paul Hindemith write?", "12"),
            ("What is Bernhard Heiden's occupation?", "composer"),
        ],
    )
    def test_the_span_that_is_asked_for(self, question: str, answer: str) -> None:
        sentence, found = Reader(question, REFERENCES, load_encoder().encode, "en").answer()
        assert found == answer
        assert answer in sentence

    def test_of_two_things_the_one_that_compares_as_asked(self) -> None:
        passages = ["Alpha: Alpha is a journal founded in 1950.", "Beta: Beta is a journal founded in 1922."]
        reader = Reader("Which journal is older, Alpha or Beta?", passages, load_encoder().encode, "en")
        assert reader.answer()[1] == "Beta"

    def test_without_references_there_is_no_answer(self) -> None:
        assert Reader("Who?", [], load_encoder().encode, "en").answer()[1] == "none"

    def test_the_next_question_names_what_leads_on(self) -> None:
        inputs = {
            "question": "What is the nationality of Bernhard Heiden's teacher?",
            "references": numbered([HEIDEN]),
            "answer_so_far": "unknown",
        }
        found = next_question(Prompt(inputs, ("next_question",)), load_encoder().encode)
        assert "Paul Hindemith" in str(found["next_question"]) or "Frankfurt" in str(found["next_question"])


class TestRelevance:
    def test_passages_near_to_the_question_help(self) -> None:
        inputs = {"question": "Who did Bernhard Heiden study with?", "passages": numbered(REFERENCES)}
        encode = load_encoder().encode
        useful = select_passages(Prompt(inputs, ("useful",)), encode)["useful"]
        assert useful == [1]
        both = check_passages(Prompt(inputs, ("useful", "triples")), encode)
        assert both["useful"] == [1]
        assert "1 | Bernhard Heiden | studied with | Paul Hindemith" in both["triples"]  # type: ignore[operator]
        for passage, helps in ((HEIDEN, True), (BREAD, False)):
            one = {"question": inputs["question"], "passage": passage}
            assert judge_passage(Prompt(one, ("helps",)), encode) == {"helps": helps}
