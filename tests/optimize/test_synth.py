"""Synthetic questions: their English, their answers, and their kinds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_stand_ins import scripted_model
from program_parts import build_rows, fields

from triplecheck.evals import read_questions, write_questions
from triplecheck.evals.questions import Question
from triplecheck.kg import Direction, KnowledgeBase, UserError, normalize
from triplecheck.optimize.synth import KINDS, synthesise
from triplecheck.optimize.synth.english import (
    End,
    EndKind,
    WordingKind,
    base_form,
    is_person,
    noun_phrase,
    plural,
    predicate,
    questions,
    read_wording,
    singular,
    wordings_of,
)
from triplecheck.optimize.synth.make import keeps
from triplecheck.optimize.synth.shapes import solved
from triplecheck.optimize.traces.gold_paths import given_paths
from triplecheck.programs import KERAG, Sources

PERSON, CITY, FILM = (
    End(EndKind.PERSON, "composer"),
    End(EndKind.PLACE, "city"),
    End(EndKind.THING, "film"),
)
DATE, NUMBER = End(EndKind.DATE, "date"), End(EndKind.NUMBER)


@pytest.fixture(scope="module")
def made(bundled: KnowledgeBase) -> Sequence[Question]:
    return synthesise(bundled, 80, seed=3).questions


# --- English -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("director", WordingKind.NOUN, "director"),
        ("directed_by", WordingKind.PASSIVE, "directed by"),
        ("is located in", WordingKind.PASSIVE, "located in"),
        ("died in", WordingKind.PAST, "died in"),
        ("flows through", WordingKind.VERB, "flows through"),
        ("lies on the river", WordingKind.VERB, "lies on"),
        ("plays for country", WordingKind.VERB, "plays for"),
        ("borders", WordingKind.VERB, "borders"),
        ("member of", WordingKind.ROLE_OF, "member of"),
        ("has genre", WordingKind.NOUN, "genre"),
        ("starred actors", WordingKind.NOUN, "starred actor"),
        ("area in square kilometres", WordingKind.NOUN, "area"),
    ],
)
def test_a_label_is_read_as_a_part_of_speech(text: str, kind: WordingKind, said: str) -> None:
    wording = read_wording(text)
    assert wording is not None
    assert (wording.kind, wording.text) == (kind, said)


@pytest.mark.parametrize("text", ["", "in", "starring", "aged", "a b c d e f", "what? (really)"])
def test_labels_that_match_no_rule_are_not_used(text: str) -> None:
    assert read_wording(text) is None


@pytest.mark.parametrize(
    ("text", "direction", "end", "expected"),
    [
        ("director", Direction.OUT, PERSON, "Who is the director of Alien?"),
        ("director", Direction.OUT, PERSON, "Who is Alien's director?"),
        ("directed by", Direction.OUT, PERSON, "By whom was Alien directed?"),
        ("directed by", Direction.IN, FILM, "Which film was directed by Alien?"),
        ("born in", Direction.OUT, CITY, "Where was Alien born?"),
        ("born in", Direction.OUT, CITY, "Which city was Alien born in?"),
        ("born on", Direction.OUT, DATE, "When was Alien born?"),
        ("located in", Direction.OUT, CITY, "Where is Alien located?"),
        ("flows through", Direction.OUT, CITY, "Which city does Alien flow through?"),
        ("borders", Direction.IN, CITY, "Which city borders Alien?"),
        ("died in", Direction.OUT, CITY, "Where was it that Alien died?"),
        ("studied with", Direction.IN, PERSON, "Who studied with Alien?"),
        ("member of", Direction.OUT, End(EndKind.THING, "band"), "Which band is Alien a member of?"),
        ("area in square kilometres", Direction.OUT, NUMBER, "What is the area of Alien in square kilometres?"),
        ("capital", Direction.OUT, CITY, "Which city is the capital of Alien?"),
        ("award received", Direction.OUT, FILM, "What is the award received by Alien?"),
    ],
)
def test_one_relation_is_asked_for_in_good_english(text: str, direction: Direction, end: End, expected: str) -> None:
    wording = read_wording(text)
    assert wording is not None
    assert expected in questions(wording, direction, "Alien", end)


def test_several_are_asked_for_in_the_plural() -> None:
    cast, borders = read_wording("cast member"), read_wording("borders")
    assert cast and borders
    assert "Who are the cast members of Alien?" in questions(cast, Direction.OUT, "Alien", PERSON, many=True)
    assert "Which cities border Ulm?" in questions(borders, Direction.IN, "Ulm", CITY, many=True)


def test_clauses_can_be_nested() -> None:
    director, born = read_wording("director"), read_wording("born in")
    assert director and born
    person = noun_phrase(director, Direction.OUT, "Alien", PERSON)
    assert person == "the director of Alien"
    assert noun_phrase(born, Direction.OUT, person, CITY) == "the city that the director of Alien was born in"
    assert predicate(director, Direction.IN, "Ridley Scott", many=True) == "have Ridley Scott as director"


@given(st.sampled_from("composer city capital country church child person place award film novel class".split()))
def test_a_plural_is_that_of_its_singular(noun: str) -> None:
    assert singular(plural(noun)) == noun
    assert plural(singular(plural(noun))) == plural(noun)


def test_nouns_for_people_are_recognised() -> None:
    assert all(map(is_person, ["composer", "film director", "politician", "spouse", "starred actors", "poet"]))
    assert not any(map(is_person, ["river", "number", "city", "chemical element", "newspaper", "instrument"]))
    assert base_form("flies") == "fly"
    assert base_form("status") is None


def test_kin_of_one_gender_are_not_asked_for_where_both_are_meant(bundled: KnowledgeBase) -> None:
    spouse = bundled.graph.find_relation("http://triplecheck.example/relation/spouse")
    assert spouse is not None
    texts = [wording.text for wording in wordings_of(bundled.graph, spouse)]
    assert "spouse" in texts
    assert not {"wife", "husband"} & set(texts)


# --- questions -----------------------------------------------------------------------------------
def test_all_kinds_take_turns(made: Sequence[Question]) -> None:
    assert Counter(question.kind for question in made) == dict.fromkeys(KINDS, 10)


def test_answers_are_what_the_solver_finds_at_the_end_of_the_paths(
    bundled: KnowledgeBase, made: Sequence[Question]
) -> None:
    graph = bundled.graph
    for question in made:
        paths = given_paths(graph, question.gold)
        if question.kind in ("one", "two", "three", "conjunction"):
            found = [graph.node_id(int(node)) for node in solved(bundled, paths)]
            assert set(found) == set(question.answers), question.question
            assert question.hops == {"two": 2, "three": 3}.get(question.kind or "", 1)
        if question.kind == "count":
            assert (str(len(solved(bundled, paths))),) == question.answers


def test_a_question_names_its_topics_and_gives_no_answer_away(made: Sequence[Question]) -> None:
    for question in made:
        assert all(label in question.question for label in question.topic_labels), question
        if question.kind in ("one", "two", "three", "conjunction"):
            assert not set(question.answers) & set(question.topic)
        assert 0 < len(question.answers) <= 10 or question.kind == "unanswerable"


def test_what_is_unanswerable_has_no_edge_that_answers_it(bundled: KnowledgeBase, made: Sequence[Question]) -> None:
    unanswerable = [question for question in made if question.kind == "unanswerable"]
    assert unanswerable
    assert all(not question.answers and not question.answerable and question.topic for question in unanswerable)


def test_the_same_seed_makes_the_same_questions(bundled: KnowledgeBase, made: Sequence[Question]) -> None:
    assert list(synthesise(bundled, 16, seed=3).questions) == list(made[:16])
    assert list(synthesise(bundled, 16, seed=4).questions) != list(made[:16])


def test_test_questions_are_avoided(bundled: KnowledgeBase, made: Sequence[Question]) -> None:
    def asks(questions: Iterable[Question]) -> set[tuple[frozenset[str], frozenset[str]]]:
        return {(frozenset(question.topic), frozenset(question.answers)) for question in questions}

    kept_apart = made[::2]
    others = synthesise(bundled, len(made) // 2, seed=3, avoid=kept_apart).questions
    assert not asks(others) & asks(kept_apart)
    assert asks(others) & asks(made), "the rest is drawn as ever"


def test_no_two_questions_are_nearly_the_same(made: Sequence[Question]) -> None:
    assert len({normalize(question.question) for question in made}) == len(made)


def test_questions_are_written_and_read_again(made: Sequence[Question], tmp_path: Path) -> None:
    write_questions(made, tmp_path / "made.jsonl")
    assert read_questions(tmp_path / "made.jsonl") == list(made)


def test_wordings_of_one_question_share_a_group(bundled: KnowledgeBase) -> None:
    asked = synthesise(bundled, 20, kinds=["one"], phrasings=4).questions
    by_group: dict[str, set[str]] = {}
    for question in asked:
        by_group.setdefault(question.extra["group"], set()).add(question.question)
    assert max(map(len, by_group.values())) > 1
    assert len(asked) == 20


def test_some_names_are_misspelt_on_request(bundled: KnowledgeBase) -> None:
    asked = synthesise(bundled, 20, kinds=["one"], typos=0.5).questions
    changed = [question for question in asked if "variant" in question.extra]
    assert len(changed) == 10
    assert all(question.question != question.extra["variant"]["from"] for question in changed)


def test_a_graph_without_types_or_values_gives_what_it_can(tmp_path: Path) -> None:
    rows = [(f"Film {a}", "directed_by", f"Person {b}") for a in "abcdefgh" for b in "xyz"[: 1 + ord(a) % 3]]
    made = synthesise(build_rows(rows, tmp_path), 6)
    assert {"comparison", "superlative"} <= set(made.exhausted)
    assert any(question.kind == "one" for question in made.questions)


def test_too_many_questions_are_refused(tmp_path: Path) -> None:
    base = build_rows(
        [("Alien", "directed_by", "Ridley Scott"), ("Blade Runner", "directed_by", "Ridley Scott")], tmp_path
    )
    with pytest.raises(UserError, match="ask for fewer"):
        synthesise(base, 1_000)
    with pytest.raises(UserError, match="there are: one, two"):
        synthesise(base, 1, kinds=["riddle"])


# --- other words ---------------------------------------------------------------------------------
def test_a_model_words_the_questions_as_far_as_it_keeps_their_names(bundled: KnowledgeBase) -> None:
    plain = synthesise(bundled, 2, kinds=["one"]).questions
    name = plain[0].topic_labels[0]
    replies = [fields(paraphrases=f"tell me about {name} then"), fields(paraphrases="who is it?")]
    with scripted_model(replies) as engine:
        made = synthesise(bundled, 2, kinds=["one"], roles=engine.name)
    assert [question.question for question in made.questions] == [f"tell me about {name} then", plain[1].question]
    assert [question.extra["wording"] for question in made.questions] == ["scripted", "template"]
    assert made.questions[0].answers == plain[0].answers
    assert made.paraphrased == 1


def test_without_a_model_templates_are_used(bundled: KnowledgeBase) -> None:
    made = synthesise(bundled, 8, roles="extractive")
    assert made.paraphrased == 0
    assert [q.question for q in made.questions] == [q.question for q in synthesise(bundled, 8).questions]


@pytest.mark.parametrize("text", ["Who made it?", "who directed ALIEN?", "", "Alien " + "and more " * 20])
def test_a_wording_without_the_name_the_same_or_much_longer_is_not_taken(text: str) -> None:
    assert not keeps(text, "Who directed Alien?", ["Alien"])
    assert keeps("Alien was made by which director?", "Who directed Alien?", ["Alien"])


# --- use -----------------------------------------------------------------------------------------
def test_right_steps_can_be_computed_for_every_made_question(
    bundled: KnowledgeBase, made: Sequence[Question], tmp_path: Path
) -> None:
    from triplecheck.optimize.traces import collect

    asked = made[:24]
    manifest = collect(KERAG(Sources.of(bundled), hops=3), asked, tmp_path / "out", passes=["gold"])
    (about,) = manifest.passes.values()
    assert (about["kept"], about["rejected"]) == (len(asked), {})
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["by_source"] == {"gold": manifest.rows}
