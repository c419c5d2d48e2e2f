"""Another language: German by tokens and its lexicon alone; and texts that no lexicon and no pipeline knows."""

from __future__ import annotations

import pytest

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import read_graph
from triplecheck.language.described import asked_class
from triplecheck.language.lexicon import Lexicon, languages, lexicon
from triplecheck.language.question import Question, read_question
from triplecheck.lms import session
from triplecheck.programs import KERAG

ISLANDS = {"Aro": 12, "Bry": 40, "Cor": 7}
TRIPLES = [
    *((name, "Fläche", str(area)) for name, area in ISLANDS.items()),
    ("Aro", "gehört zu", "Norland"),
    ("Bry", "gehört zu", "Norland"),
    ("Cor", "gehört zu", "Sutland"),
    ("Norland", "Hauptstadt", "Nordby"),
    ("Sutland", "Hauptstadt", "Sutby"),
    ("Nordby", "gegründet von", "Liv Berg"),
    ("Nordby", "Gründungsjahr", "1410"),
    ("Sutby", "Gründungsjahr", "1622"),
    ("Liv Berg", "Geburtsort", "Sutby"),
]
TYPES = {"Insel": ISLANDS, "Land": ["Norland", "Sutland"], "Stadt": ["Nordby", "Sutby"], "Person": ["Liv Berg"]}


def german(text: str, *topics: str) -> Question:
    return read_question(text, topics, language="de")


@pytest.fixture(scope="module")
def inseln(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("inseln")
    (folder / "triples.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), "utf-8")
    rows = [f"{name}\t{name}\t{kind}\n" for kind, names in TYPES.items() for name in names]
    (folder / "entities.tsv").write_text("id\tlabel\ttype\n" + "".join(rows), "utf-8")
    raw = read_graph([folder / "triples.tsv"], entities=folder / "entities.tsv")
    return build(raw, folder / "kb", language="de")


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Was ist die Hauptstadt von Norland?", {"Nordby"}),
        ("was ist die hauptstadt von sutland", {"Sutby"}),
        ("Wie viele Inseln gibt es?", {"3"}),
        ("Wie viele Städte gibt es?", {"2"}),
        ("Nenne alle Inseln", {"Aro", "Bry", "Cor"}),
        ("Welche Insel hat die größte Fläche?", {"Bry"}),
        ("Wer hat Nordby gegründet?", {"Liv Berg"}),
        ("Was ist der Geburtsort von Liv Berg?", {"Sutby"}),
    ],
)
def test_german_questions_are_answered(inseln: KnowledgeBase, question: str, answers: set[str]) -> None:
    with session():
        found = KERAG(inseln, verdict="any")(question=question)
    assert set(found.answer.split(", ")) == answers


class TestGerman:
    @pytest.mark.parametrize(
        ("text", "kind", "noun"),
        [
            ("Wer gründete Nordby?", "person", ""),
            ("Wo liegt Nordby?", "place", ""),
            ("Wann wurde Nordby gegründet?", "time", ""),
            ("In welchem Jahr wurde Nordby gegründet?", "time", "Jahr"),
            ("Welche Inseln gehören zu Norland?", "thing", "Inseln"),
            ("Wie viele Inseln gehören zu Norland?", "number", "Inseln"),
            ("Ist Nordby die Hauptstadt von Norland?", "yes or no", ""),
        ],
    )
    def test_what_is_asked_for(self, text: str, kind: str, noun: str) -> None:
        asked = german(text, "Nordby", "Norland").asked
        assert (asked.kind, asked.noun) == (kind, noun)

    def test_an_extreme(self) -> None:
        found = german("Welche Insel ist die kleinste?").compares
        assert found is not None and (found.degree, found.operation) == ("Sup", "min")

    def test_a_plural_names_its_class(self) -> None:
        assert asked_class(german("Welche Länder haben Inseln?"), ["Insel", "Land"]) == ("Land",)

    def test_comparison_bounds_times_and_negation(self) -> None:
        compares = german("Ist Nordby älter als Sutby?", "Nordby", "Sutby").compares
        assert compares is not None and {sense.operation for sense in compares.senses} == {"min", "max"}
        (limit,) = german("Welche Städte haben mehr als 3000 Einwohner?").limits
        assert (limit.operator, limit.value, limit.quantity) == (">", 3000, "einwohner")
        (time,) = german("Welche Städte wurden vor 1500 gegründet?").times
        assert (time.start, time.end) == (None, 1499)
        (negation,) = german("Welche Inseln gehören nicht zu Norland?", "Norland").negations
        assert negation.text == "nicht"


class TestUnknownLanguages:
    @pytest.mark.parametrize(
        "text", ["東京の首都は何ですか", "Какая столица Норвегии?", "ما عاصمة النرويج؟", "", "???"]
    )
    @pytest.mark.parametrize("language", ["en", "de", "sv"])
    def test_any_script_is_read_by_its_tokens(self, text: str, language: str) -> None:
        question = read_question(text, [], language=language)
        assert question.segments and question.compares is None

    def test_its_topics_are_masked(self) -> None:
        assert read_question("Какая столица Норвегии?", ["Норвегии"]).words == ("какая", "столица", "§")

    def test_a_language_without_a_file_has_an_empty_lexicon(self) -> None:
        assert lexicon("sv") == Lexicon()
        assert languages() == ["de", "en"]
        assert read_question("Vad är huvudstaden i Norge?", ["Norge"], language="sv").segments


@pytest.mark.parametrize("code", languages())
@pytest.mark.parametrize("field", ["negations", "neither", "excluding", "tallies", "fillers", "aged", "same", "than"])
def test_a_lexicon_has_the_words_that_queries_need(code: str, field: str) -> None:
    assert getattr(lexicon(code), field)


def test_german_adjectives_are_read_in_their_forms() -> None:
    asked = german("Welche Insel ist die teuerste?").compares
    assert asked is not None
    assert (asked.lemma, asked.degree, asked.operation, asked.quantity) == ("teuer", "Sup", "max", "Preis Kosten")
    assert [one.text for one in german("Welche Inseln außer Aro haben keine Stadt?", "Aro").negations] == [
        "außer",
        "keine",
    ]
