"""What a question names."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.mentions import Mention, MentionDetector
from triplecheck.language.pipeline import read_text


def texts(kb: KnowledgeBase, question: str) -> list[str]:
    """The mentions of a question that match a name, in the order in which they stand there."""
    return [m.text for m in sorted(kb.linker.mentions(read_text(question)), key=lambda m: m.start) if m.forms]


def only(kb: KnowledgeBase, question: str) -> Mention:
    (mention,) = (m for m in kb.linker.mentions(read_text(question)) if m.forms)
    return mention


class TestExact:
    @pytest.mark.parametrize(
        ("question", "names"),
        [
            ("Who taught Bernhard Heiden?", ["Bernhard Heiden"]),
            ("Who was Bernhard Heiden's teacher?", ["Bernhard Heiden"]),
            ("Did Michelle Robinson marry Barack Obama?", ["Michelle Robinson", "Barack Obama"]),
            ("Where was Zsa Zsa Gabor born?", ["Zsa Zsa Gabor"]),
            ("Where was Anna of Holstein Gottorp born?", ["Anna of Holstein Gottorp"]),
            ("Who directed The Godfather?", ["The Godfather"]),
            ("WHO DIRECTED THE GODFATHER?", ["THE GODFATHER"]),
            ("In which country is the Big Apple?", ["Big Apple"]),
            ("Which film came out in 1972?", ["1972"]),
            ("What is the capital of France?", ["France"]),
            ("北京 is the capital of which country?", ["北京"]),
            ("Is USA larger than France?", ["USA", "France"]),
            ("who taught bernhard heiden?", ["bernhard heiden"]),
            ("where was zsa zsa gabor born", ["zsa zsa gabor"]),
            ("Who is Anna of Holstein-Gottorp?", ["Anna of Holstein-Gottorp"]),
            ("Where is Gottorp?", ["Gottorp"]),
            ("Is Frankfurt am Main older than Frankfurt?", ["Frankfurt am Main", "Frankfurt"]),
        ],
    )
    def test_the_longest_names_are_found(self, people: KnowledgeBase, question: str, names: list[str]) -> None:
        assert texts(people, question) == names

    def test_a_mention_knows_its_place(self, people: KnowledgeBase) -> None:
        question = "Who taught Bernhard Heiden?"
        mention = only(people, question)
        assert question[mention.start : mention.end] == mention.text
        assert (mention.forms, mention.similarity) == (("bernhard heiden",), 1.0)
        assert 0 < mention.salience <= 1

    def test_the_most_salient_come_first(self, people: KnowledgeBase) -> None:
        mentions = people.linker.mentions(read_text("Was Paris the home of Anna of Holstein-Gottorp in 1972?"))
        assert mentions[0].text == "Anna of Holstein-Gottorp"
        assert [m.salience for m in mentions] == sorted((m.salience for m in mentions), reverse=True)

    @pytest.mark.parametrize("question", ["what is it, and who is she?", "Us and them?", "?", "Where to?", ""])
    def test_ordinary_words_are_no_mentions(self, people: KnowledgeBase, question: str) -> None:
        assert "us" not in {text.lower() for text in texts(people, question)}
        assert "?" not in texts(people, question)


class TestMisspelt:
    @pytest.mark.parametrize(
        ("question", "written", "form"),
        [
            ("Who taught Bernhard Heidn?", "Bernhard Heidn", "bernhard heiden"),
            ("Who taught Bernard Haiden?", "Bernard Haiden", "bernhard heiden"),
            ("where was barak obama born", "barak obama", "barack obama"),
            ("Who directed The Godfahter?", "The Godfahter", "the godfather"),
            ("Who is Fransis Ford Copola?", "Fransis Ford Copola", "francis ford coppola"),
            ("Where was Zsazsa Gabor born?", "Zsazsa Gabor", "zsa zsa gabor"),
            ("Where was Anna of Holsteingottorp born?", "Anna of Holsteingottorp", "anna of holstein gottorp"),
        ],
    )
    def test_a_misspelt_name_is_found(self, people: KnowledgeBase, question: str, written: str, form: str) -> None:
        mention = only(people, question)
        assert mention.text.removeprefix("The ") == written.removeprefix("The ")
        assert mention.forms[0] == form
        assert 0.75 < mention.similarity < 1

    def test_a_misspelt_name_is_found_over_a_shorter_exact_one(self, people: KnowledgeBase) -> None:
        mentions = people.linker.mentions(read_text("Where was Anna of Holstien Gottorp born?"))
        assert ("Anna of Holstien Gottorp", ("anna of holstein gottorp",)) in [(m.text, m.forms) for m in mentions]
        assert "Gottorp" in [m.text for m in mentions]

    @pytest.mark.parametrize(
        ("question", "form"),
        [
            ("where was jya z raised", "jay z"),
            ("what is the government of chlie", "chile"),
            ("what did james i polk believe in", "james k polk"),
            ("who shares actors with So in Law", "son in law"),
            ("which sport do the new york ginats play", "new york giants"),
        ],
    )
    def test_a_misspelt_name_is_found_whatever_its_words(self, tmp_path: Path, question: str, form: str) -> None:
        names = ("Jay Z", "Chile", "James K. Polk", "Son in Law", "New York Giants", "The New York Times")
        kb = built(tmp_path, "".join(f"{name}\trelated to\tLaw\n" for name in names))
        assert form in [m.forms[0] for m in kb.linker.mentions(read_text(question)) if m.forms]

    def test_an_article_makes_a_name_of_a_pronoun(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "The US\tborders\tCanada\nUs\tgenre\thorror\n")
        assert texts(kb, "which country borders the us") == ["the us"]
        assert texts(kb, "which country borders us") == []

    def test_of_two_names_that_overlap_the_one_with_more_to_it_counts(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "The Pacific\ta\tseries\nPacific Ocean\tan\tocean\n")
        assert texts(kb, "what borders the pacific ocean?") == ["pacific ocean"]

    def test_an_exact_name_beats_a_similar_one(self, people: KnowledgeBase) -> None:
        assert only(people, "Where is Paris?").forms == ("paris",)

    @pytest.mark.parametrize(
        "question",
        ["which city is the birthplace of her supervisors", "what field of research is that", "Who is her teacher?"],
    )
    def test_words_of_relations_are_no_misspelt_names(self, people: KnowledgeBase, question: str) -> None:
        assert texts(people, question) == []

    def test_the_first_word_of_a_sentence_is_a_relation_rather_than_a_misspelt_name(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "Wirth\tdate of birth\t1934\nWirth\tborn in\tWinterthur\n")
        assert texts(kb, "Birth date of the man from Winterthur?") == ["Winterthur"]

    @pytest.mark.parametrize(
        ("question", "span"),
        [
            ("Who taught Wolfgang Amadeus Mozart?", "Wolfgang Amadeus Mozart"),
            ("who is wolfgang xqzt", "wolfgang xqzt"),
            ("Who is Xqzt?", "Xqzt"),
        ],
    )
    def test_what_looks_like_a_name_and_matches_none_is_a_candidate_span(
        self, people: KnowledgeBase, question: str, span: str
    ) -> None:
        (mention,) = people.linker.mentions(read_text(question))
        assert (mention.text, mention.forms, mention.similarity) == (span, (), 0.0)

    def test_a_month_with_its_year_is_no_misspelt_name(self, tmp_path: Path) -> None:
        base = built(tmp_path, "Dune\tview\tsea\n")
        assert texts(base, "Which events were held after June 2024?") == []
        assert texts(base, "Which view has Dume?") == ["Dume"]

    def test_a_candidate_span_may_be_part_of_a_name(self, people: KnowledgeBase) -> None:
        (mention,) = (m for m in people.linker.mentions(read_text("Who taught Hindemith in Paris?")) if not m.forms)
        assert mention.text == "Hindemith"
        assert people.linker.candidates(mention)[0].label == "Paul Hindemith"


class TestAnything:
    @pytest.mark.parametrize(
        "question",
        [
            "",
            " ",
            "\x00",
            "\x00Who\x01 taught\x7f \x1b[31mthem\x1b[0m?",
            "\u202eWho taught\u202c them\u200b?",
            "\N{VIOLIN}\N{GRINNING FACE}\N{ZERO WIDTH JOINER}",
            "\ud83d",
            "谁是贝多芬的老师？",
            "من كان معلم بيتهوفن؟",
            "बीथोवेन के शिक्षक कौन थे?",
            "-" * 500,
            "((((((((((",
            "'s 's 's",
            "a" * 5000,
        ],
        ids=ascii,
    )
    def test_any_text_is_accepted(self, people: KnowledgeBase, question: str) -> None:
        assert texts(people, question) == []

    @pytest.mark.parametrize("noise", ["\x00", "\N{VIOLIN}", "\ud83d", "\u200b", "\t\n"])
    def test_a_name_is_found_amid_noise(self, people: KnowledgeBase, noise: str) -> None:
        question = f"{noise} Who taught {noise} Bernhard Heiden {noise} then?"
        mention = only(people, question)
        assert (mention.forms, question[mention.start : mention.end]) == (("bernhard heiden",), "Bernhard Heiden")

    def test_a_question_of_a_hundred_words_is_read_to_its_end(self, people: KnowledgeBase) -> None:
        pick = random.Random(5)
        words = ["Heidn", "Paul", "of", "the", "Gottorp", "Anna", "Jordan", "Michel", "Zsa", "and", "Ford", "Francis"]
        question = " ".join(pick.choice(words) for _ in range(100)) + "?"
        people.linker.mentions(read_text("Warm up."))
        started = time.perf_counter()
        people.linker.mentions(read_text(question))
        assert time.perf_counter() - started < 30

    @pytest.mark.parametrize("capitals", [False, True])
    def test_nonsense_as_long_as_a_question_may_be_takes_no_time(self, people: KnowledgeBase, capitals: bool) -> None:
        pick = random.Random(5)
        words = ["".join(pick.choice("abcdefghijklmnop") for _ in range(6)) for _ in range(570)]
        question = " ".join(word.title() if capitals else word for word in words) + " what"
        people.linker.mentions(read_text("Warm up."))
        started = time.process_time()
        for mention in people.linker.mentions(read_text(question)):
            people.linker.candidates(mention, question)
        assert time.process_time() - started < 2


def test_a_very_long_word_is_cut_before_the_tokenizer() -> None:
    start = time.thread_time()
    mentions = MentionDetector(frozenset({"heiden"}), None).detect(read_text("Who is " + "(" * 200_000 + " Heiden?"))
    assert time.thread_time() - start < 5
    assert [(m.text, m.start) for m in mentions if m.forms] == [("Heiden", 200_008)]


def test_several_words_are_found_in_the_plural(tmp_path: Path) -> None:
    kb = built(tmp_path, "Ada\tposition\tPhD student\nBen\tposition\tstudent\n")
    assert texts(kb, "Which PhD students are there?") == ["PhD students"]
    assert only(kb, "Which PhD students are there?").forms == ("phd student",)
    assert texts(kb, "Which students are there?") == []
