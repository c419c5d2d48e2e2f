"""Questions over semi-structured knowledge bases: conditions, generated and written questions."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from kg_parts import built
from skb_parts import debian

from triplecheck.evals.questions import read_questions, write_questions
from triplecheck.evals.retrieval.conditions import Condition, answers, bundled_path, materialise, read_written
from triplecheck.evals.retrieval.generate import SHAPES, by_way_of, clause_of, generate, keywords, pattern
from triplecheck.kg import KnowledgeBase, ReadError, UserError


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return debian(tmp_path_factory.mktemp("debian"))


def right(kb: KnowledgeBase, **condition: object) -> set[str]:
    return {kb.graph.node_id(int(node)) for node in answers(kb, Condition.from_json(condition))}


ADMIN = [["?x:Package", "role", "role::program"]]


# --- conditions ----------------------------------------------------------------------------------
def test_patterns_hold_together(kb: KnowledgeBase) -> None:
    assert right(kb, patterns=ADMIN) == {"tmux", "screen", "byobu"}
    assert right(kb, patterns=[*ADMIN, ["?x", "implemented-in", "implemented-in::c"]]) == {"tmux", "screen"}


def test_patterns_may_lead_by_way_of_another_node(kb: KnowledgeBase) -> None:
    assert right(kb, patterns=[["tmux", "maintainer", "?y"], ["?x:Package", "maintainer", "?y"]]) == {"tmux", "ngrep"}


def test_what_must_not_hold_is_taken_away(kb: KnowledgeBase) -> None:
    assert right(kb, patterns=ADMIN, without=[[["?x", "depends", "python3"]]]) == {"tmux", "screen"}


def test_an_excluded_group_excludes_only_if_all_its_patterns_match(kb: KnowledgeBase) -> None:
    group = [["?x", "depends", "?y"], ["?y", "source", "source:glibc"]]
    assert right(kb, patterns=ADMIN, without=[group]) == {"byobu"}


def test_words_are_looked_for_in_the_text_and_not_in_the_relations(kb: KnowledgeBase) -> None:
    assert right(kb, patterns=ADMIN, text=["VIM or Emacs"]) == {"tmux"}
    assert right(kb, patterns=ADMIN, text=["Beckert"]) == set()
    assert right(kb, patterns=ADMIN, without_text=[r"\bVT100"]) == {"tmux", "byobu"}


def test_values_are_compared_as_numbers(kb: KnowledgeBase) -> None:
    # As text, "1029" would come before "600".
    assert right(kb, patterns=[["?x:Package", "depends", "libc6"]], at_most={"installed-size": 600}) == {"ngrep"}


def test_a_name_that_the_knowledge_base_lacks_is_an_error_where_it_must_hold(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="has no 'systemd'"):
        right(kb, patterns=[["?x", "depends", "systemd"]])
    assert right(kb, patterns=ADMIN, without=[[["?x", "depends", "systemd"]]]) == {"tmux", "screen", "byobu"}


def test_a_condition_survives_being_written(kb: KnowledgeBase) -> None:
    row = {"patterns": ADMIN, "without": [[["?x", "depends", "python3"]]], "at_most": {"installed-size": 1050.0}}
    assert Condition.from_json(row).to_json() == row


# --- generated -----------------------------------------------------------------------------------
def test_made_questions_have_all_their_answers(kb: KnowledgeBase) -> None:
    made = generate(kb, 12, seed=1)
    assert [question.kind for question in made] == [*SHAPES, *SHAPES]
    assert len({question.question.split()[0] for question in made}) > 3
    for question in made:
        assert set(question.answers) == right(kb, **question.gold["gold"])
        assert question.answers


def test_words_that_are_asked_for_stand_in_every_answer(kb: KnowledgeBase) -> None:
    documents = kb.node_search.documents
    for question in [q for q in generate(kb, 12, seed=1) if "words" in str(q.kind)]:
        (words,) = question.gold["gold"]["text"]
        rows = documents.rows_of([kb.graph.find(answer) for answer in question.answers])  # type: ignore[misc]
        assert re.search(words, question.question, re.IGNORECASE)
        assert all(re.search(words, documents.text(int(row)), re.IGNORECASE) for row in rows)


def test_words_are_what_a_text_is_about_and_do_not_give_its_name_away(kb: KnowledgeBase) -> None:
    documents = kb.node_search.documents
    (row,) = documents.rows_of([kb.graph.find("ngrep")])  # type: ignore[list-item]
    found = {keywords(documents, int(row), "a question", random.Random(seed)) for seed in range(20)}
    assert found == {"network", "traffic", "network traffic"}
    assert keywords(documents, int(row), "networks, trafficking", random.Random(0)) == ""


def test_words_are_found_however_they_are_spaced() -> None:
    assert re.search(pattern("terminal multiplexer"), "a terminal\n multiplexer")
    assert re.search(pattern("multi-user"), "multi user")
    assert not re.search(pattern("term"), "terminal")


def test_a_node_that_shares_its_name_with_one_of_its_kind_is_not_asked_about(tmp_path: Path) -> None:
    entities = "id\ttype\tlabel\na\tPerson\tAda\nb\tPerson\tBo\nc\tPerson\tBo\n"
    namesakes = built(tmp_path, "a\tknows\tb\n", entities)
    (question,) = generate(namesakes, 1, shapes=("one",))
    assert (question.topic, question.answers) == (("a",), ("b",))
    with pytest.raises(UserError, match="only 1 of 2"):
        generate(namesakes, 2, shapes=("one",))


def test_an_unknown_shape_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="no shape 'three'; there are: one, one"):
        generate(kb, 1, shapes=("three",))


def test_the_middle_of_a_path_is_of_the_kind_that_the_question_names(kb: KnowledgeBase) -> None:
    (question,) = generate(kb, 1, shapes=("path",))
    middle = next(end for row in question.gold["gold"]["patterns"] for end in row if end.startswith("?y:"))
    label = kb.graph.type_label(middle.removeprefix("?y:"))
    assert f"{label} " in question.question


def test_the_same_seed_makes_the_same_questions(kb: KnowledgeBase) -> None:
    assert generate(kb, 6, seed=3) == generate(kb, 6, seed=3)
    assert generate(kb, 6, seed=3) != generate(kb, 6, seed=4)


def test_made_questions_are_read_back_as_they_were(kb: KnowledgeBase, tmp_path: Path) -> None:
    made = generate(kb, 6)
    write_questions(made, tmp_path / "made.jsonl")
    assert [(q.id, q.question, q.answers) for q in read_questions(tmp_path / "made.jsonl")] == [
        (q.id, q.question, q.answers) for q in made
    ]


def test_questions_are_distinct_and_too_high_a_number_is_an_error(tmp_path: Path) -> None:
    small = built(tmp_path, "a\tknows\tb\n", "id\ttype\na\tPerson\nb\tPerson\n")
    with pytest.raises(UserError, match="only 2 of 3 questions"):
        generate(small, 3, shapes=("one",))
    assert {question.answers for question in generate(small, 2, shapes=("one",))} == {("a",), ("b",)}


@pytest.mark.parametrize(
    ("relation", "outgoing", "phrase"),
    [
        ("depends on", True, "that depends on N"),
        ("depends on", False, "that N depends on"),
        ("recommends", True, "that recommends N"),
        ("maintained by", True, "that is maintained by N"),
        ("in section", True, "that is in section N"),
        ("director", True, "with the director N"),
        ("director", False, "that is the director of N"),
    ],
)
def test_labels_become_clauses(relation: str, outgoing: bool, phrase: str) -> None:
    assert clause_of(relation, "N", outgoing=outgoing) == phrase


def test_a_path_is_phrased_from_its_far_end() -> None:
    rest = clause_of("maintained by", "N", outgoing=True)
    assert (
        by_way_of("depends on", "package", rest, outgoing=True) == "that depends on a package that is maintained by N"
    )


# --- written by hand -----------------------------------------------------------------------------
def written_file(folder: Path, *rows: object) -> Path:
    path = folder / "written.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_answers_of_written_questions_are_computed(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "A terminal program?", "condition": {"patterns": ADMIN}},
        {"id": "b", "question": "Unknown?", "condition": {"patterns": [["?x", "depends", "systemd"]]}},
        {"id": "c", "question": "Nothing?", "condition": {"patterns": ADMIN, "text": ["zebra"]}},
    ]
    questions, without = materialise(kb, read_written(written_file(tmp_path, *rows)))
    assert [(q.id, set(q.answers)) for q in questions] == [("a", {"tmux", "screen", "byobu"})]
    assert set(without) == {"b", "c"}
    assert "systemd" in without["b"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"id": "a", "question": "?"}, "has no 'condition'"),
        ({"id": "a", "question": "?", "condition": {}}, "needs patterns"),
        ({"id": "a", "question": "?", "condition": {"patterns": [["?x", "y"]]}}, "a pattern is"),
        ({"id": "a", "question": "?", "condition": {"pattern": []}}, "no field 'pattern'"),
    ],
)
def test_a_malformed_question_is_named_with_its_line(tmp_path: Path, row: object, reason: str) -> None:
    good = {"id": "0", "question": "?", "condition": {"patterns": ADMIN}}
    with pytest.raises(ReadError, match=reason) as caught:
        read_written(written_file(tmp_path, good, row))
    assert caught.value.line == 2


def test_the_questions_about_debian_are_well_formed() -> None:
    written = read_written(bundled_path())
    assert len(written) >= 60
    assert len({one.question for one in written}) == len(written)
    for one in written:
        for text in (*one.condition.text, *one.condition.without_text):
            re.compile(text)
        assert any("?x" in row[0] or "?x" in row[2] for row in one.condition.patterns)


DEBIAN = Path(__file__).parents[2] / "kbs" / "debian"


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="needs `triplecheck kb build-debian kbs/debian`")
def test_the_questions_about_debian_have_answers_on_a_real_release() -> None:
    questions, without = materialise(KnowledgeBase.open(DEBIAN), read_written(bundled_path()))
    # Other releases lack some packages that are named.
    assert len(questions) >= 0.8 * (len(questions) + len(without)), without
    answers_of = {question.id: set(question.answers) for question in questions}
    assert {"tmux", "screen"} <= answers_of["debian-01"]
    assert "sshfs" in answers_of["debian-38"]
    assert all(len(found) <= 20 for found in answers_of.values())
