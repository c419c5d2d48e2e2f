"""When asks for a date, who for a person, where for a place; and who does it to whom."""

from __future__ import annotations

import pytest

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.encode import load_encoder
from triplecheck.language.kinds import fit, kinds_of, named_like_things
from triplecheck.language.pipeline import pipeline
from triplecheck.language.question import read_question
from triplecheck.language.roles import Verb, head_of, head_to, names_deed, verb_of
from triplecheck.programs import KERAG


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was Rosalind Franklin born?", "1920-07-25"),
        ("Where was Rosalind Franklin born?", "London"),
        ("Who taught Bernhard Heiden?", "Paul Hindemith"),
        ("Where did Bernhard Heiden teach?", "Indiana University"),
        ("Who studied with Bernhard Sekles?", "Paul Hindemith"),
        ("Who did Bernhard Sekles teach?", "Paul Hindemith"),
        ("Who composed the opera Tosca?", "Giacomo Puccini"),
    ],
)
def test_the_question_word_and_the_verb_decide(bundled: KnowledgeBase, question: str, answer: str) -> None:
    assert answer in KERAG(bundled)(question=question).answer.split(", ")


def test_no_pupil_is_given_for_a_teacher(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled)(question="Whom did Nadia Boulanger teach?")
    assert found.evidence and all(triple["tail_label"] == "Nadia Boulanger" for triple in found.evidence)


def test_a_relation_that_the_question_names_is_not_doubted(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled)(question="Who were Nadia Boulanger's students?")
    assert "Philip Glass" in found.answer and not found.abstained


class TestKinds:
    @pytest.mark.parametrize(
        ("label", "kind"),
        [
            ("film director", "person"),
            ("violinist", "person"),
            ("human", "person"),
            ("city in Norway", "place"),
            ("mountain range", "place"),
            ("football club", "group"),
            ("Company", "group"),
            ("literary work", "other"),
            ("programming language", "other"),
        ],
    )
    def test_of_a_class(self, label: str, kind: str) -> None:
        assert kinds_of([label], load_encoder().encode) == {kind}

    @pytest.mark.parametrize("label", ["", "Q5", "thing"])
    def test_an_unclear_class_has_none(self, label: str) -> None:
        assert kinds_of([label], load_encoder().encode) <= {None}

    @pytest.mark.parametrize(
        ("asked", "classes", "expected"),
        [
            ("person", ["actor"], 1),
            ("person", ["language"], -1),
            ("person", ["university"], 0),
            ("person", ["award", "person"], 1),
            ("place", ["city"], 1),
            ("place", ["university"], 0),
            ("place", ["composer", "conductor"], -1),
            ("thing", ["composer"], 0),
            ("person", [], 0),
        ],
    )
    def test_fit_of_what_is_asked_for(self, asked: str, classes: list[str], expected: int) -> None:
        assert fit(asked, classes, load_encoder().encode) == expected


class TestVerbs:
    @pytest.mark.parametrize(
        ("question", "verb"),
        [
            ("Who taught §?", Verb("taught", "teach", "object")),
            ("Whom did § teach?", Verb("teach", "teach", "subject")),
            ("Where did § work at?", Verb("work at", "work", "subject")),
            ("Who came after §?", Verb("came after", "follow", "object")),
            ("Who studied with §?", Verb("studied with", "study", "object")),
            ("Who was taught by §?", Verb("taught", "teach", "subject")),
            ("Who was § taught by?", Verb("taught", "teach", "object")),
            ("By whom was § taught?", Verb("taught", "teach", "object")),
            ("Who taught the brother of §?", None),
            ("Who is the teacher of §?", None),
            ("Who was § married to?", None),
            ("Who borders §?", None),
            ("What number did § wear?", None),
            ("Did § teach §?", None),
            ("§", None),
        ],
    )
    def test_of_a_question(self, question: str, verb: Verb | None) -> None:
        marked = question.replace("§", "Xenia", 1).replace("§", "Yara")
        assert verb_of(read_question(marked, ["Xenia", "Yara"]).parse) == verb

    @pytest.mark.parametrize(
        ("wording", "role"),
        [
            ("taught by", "object"),
            ("teacher", "object"),
            ("student of", "subject"),
            ("taught at", "subject"),
            ("directs", "subject"),
            ("spouse", None),
            ("capital", None),
            ("borders", None),
            ("", None),
        ],
    )
    def test_of_the_head_of_a_relation(self, wording: str, role: str | None) -> None:
        assert head_of(wording) == role

    @pytest.mark.parametrize(
        ("verb", "wordings", "role"),
        [
            ("taught", ["student of", "taught by"], "object"),
            ("teach", ["student of", "teacher"], "object"),
            ("studied with", ["student of", "taught by"], "subject"),
            ("acted in", ["cast member", "actor"], "object"),
            ("wrote", ["author", "written by"], "object"),
            ("wear", ["wears number"], "subject"),  # a number is nobody who does something
            ("play", ["plays for country"], "subject"),
            ("make", ["glass maker"], "object"),
            ("taught", ["student of"], None),  # the one who is taught, or who teaches?
            ("bought", ["sold by"], None),
        ],
    )
    def test_the_name_with_the_verb_decides(self, verb: str, wordings: list[str], role: str | None) -> None:
        assert head_to(Verb(verb, pipeline().lemma(verb.split()[0], "VERB"), "object"), wordings) == role


@pytest.mark.parametrize(
    ("names", "things"),
    [
        (["Terrace Bed", "Moss Wall", "Pond Edge"], True),
        (["Ida Falk", "Jon Brook", "Olaf Grimm"], False),
        (["Docklands", "Northgate"], False),
        ([], False),
    ],
)
def test_names_of_things_end_with_common_nouns(names: list[str], things: bool) -> None:
    assert named_like_things(names) is things


@pytest.mark.parametrize(("name", "kind"), [("customers", "person"), ("branches of banks", None), ("cities", "place")])
def test_a_class_in_the_plural_has_the_kind_of_its_noun(name: str, kind: str | None) -> None:
    encode = load_encoder().encode
    assert kinds_of([name], encode) == kinds_of([pipeline("en").lemma(name.split()[0], "NOUN")], encode)
    assert kind is None or kinds_of([name], encode) == {kind}


@pytest.mark.parametrize(
    ("verb", "name", "is_one"),
    [
        ("rent", "rentals", True),
        ("hire", "hire", True),
        ("book", "booking", True),
        ("book", "booker", False),
        ("move", "movie", False),
        ("train", "tractor", False),
        ("start", "station", False),
        ("rent", "", False),
    ],
)
def test_what_a_verb_says_that_is_done(verb: str, name: str, is_one: bool) -> None:
    assert names_deed(verb, name) == is_one
