"""Data sets from their official files: rows and the questions made from them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from official_files import OFFICIAL, Official

from triplecheck.evals import Question, read_questions, write_questions
from triplecheck.evals.datasets.load import data_set, data_sets, load_dataset
from triplecheck.kg import ReadError, UserError


def _by_id(name: str, folder: Path) -> dict[str, Question]:
    (official,) = (one for one in OFFICIAL if one.name == name)
    return {one.id: one for one in load_dataset(name, official.split, path=official.write(folder))}


@pytest.mark.parametrize("official", OFFICIAL, ids=lambda one: one.name)
def test_all_rows_become_questions_that_can_be_written_and_read_again(official: Official, tmp_path: Path) -> None:
    questions = load_dataset(official.name, official.split, path=official.write(tmp_path / "data"))
    assert len({question.id for question in questions}) == len(questions) == official.count
    for name in ("a.jsonl", "b.jsonl.gz"):
        assert write_questions(questions, tmp_path / name) == official.count
        assert read_questions(tmp_path / name) == questions
        for again, question in zip(read_questions(tmp_path / name), questions, strict=True):
            assert (again.gold, again.extra) == (question.gold, question.extra)


@pytest.mark.parametrize("official", OFFICIAL, ids=lambda one: one.name)
def test_a_file_of_another_data_set_is_refused(official: Official, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.json"
    foreign.write_text('[{"neither": "this"}]', "utf-8")
    with pytest.raises(ReadError, match=r"foreign\.json"):
        load_dataset(official.name, official.split, path=foreign)


def test_every_family_is_tested() -> None:
    tested = {one.name.split("-")[0] for one in OFFICIAL}
    assert {name.split("-")[0] for name in data_sets()} == tested


def test_hotpotqa(tmp_path: Path) -> None:
    found = _by_id("hotpotqa", tmp_path)
    assert found["h0"].answers == ("Brisa",)
    assert found["h0"].documents == ("Ana Vey", "Tarvos")
    assert (found["h0"].kind, found["h0"].extra) == ("bridge", {"level": "hard"})
    assert (found["h1"].answers, found["h1"].computed) == (("no",), True)
    assert (found["h2"].answers, found["h2"].answerable, found["h2"].answers_known) == ((), True, False)


def test_two_wiki_has_aliases_from_a_second_file(tmp_path: Path) -> None:
    found = _by_id("2wikimultihopqa", tmp_path)
    assert found["w0"].answer_aliases == (("A. Vey",),)
    assert found["w1"].computed


def test_popqa_has_one_answer_with_aliases_and_a_popularity(tmp_path: Path) -> None:
    found = _by_id("popqa", tmp_path)
    ana = found["popqa-7"]
    assert (ana.answers, ana.answer_aliases) == (("journalist",), (("journo", "reporter"),))
    assert (ana.topic, ana.popularity) == (("Ana Vey",), 236)
    assert (found["popqa-8"].topic, found["popqa-8"].popularity) == (('Bo "Bö" Vey',), 0)


def test_webqsp_joins_the_answers_of_all_parses(tmp_path: Path) -> None:
    found = _by_id("webqsp", tmp_path)
    rules = found["WebQTest-0"]
    assert (rules.answers, rules.answer_labels) == (("m.0bb", "m.0cc"), ("Ilse Ødegård", "Bo Lind"))
    assert (rules.topic, rules.topic_labels, rules.hops) == (("m.0aa",), ("Tarvos",), 2)
    assert rules.gold["gold_paths"] == [["place.rulers", "rule.person"], ["place.mayor"]]
    assert rules.extra["answers_by_parse"] == [["m.0bb", "m.0cc"], ["m.0cc"]]
    assert found["WebQTest-1"].answers == ("1741",)
    assert (found["WebQTest-2"].answerable, found["WebQTest-2"].answers_known) == (False, True)


def test_cwq_tells_no_answer_from_a_hidden_one(tmp_path: Path) -> None:
    found = _by_id("cwq", tmp_path)
    assert found["c0"].answers == ("m.0bb", "m.0ee")
    assert found["c0"].answer_aliases == (("I. Ødegård",), ())
    assert found["c0"].topic == ("m.0aa", "m.0dd")
    assert [found[id].answerable for id in ("c1", "c2")] == [False, True]


def test_grailqa_counts_are_computed(tmp_path: Path) -> None:
    found = _by_id("grailqa", tmp_path)
    rivers = found["grailqa-31"]
    assert (rivers.answers, rivers.computed, rivers.kind, rivers.hops) == (("3",), True, "zero-shot", 1)
    assert (rivers.topic, rivers.topic_labels) == (("m.0aa",), ("Tarvos",))
    assert (found["grailqa-32"].answer_labels, found["grailqa-32"].computed) == (("Ilse",), False)
    assert not found["grailqa-33"].answers_known


def test_webquestions_read_names_in_and_out_of_quotes(tmp_path: Path) -> None:
    (found,) = _by_id("webquestions", tmp_path).values()
    assert found.answers == ('Brisa "Bri" Vey', "Tarvos", "Ærø (old)")
    assert found.topic == ("ana vey",)


def test_stark_takes_the_rows_of_the_split(tmp_path: Path) -> None:
    found = _by_id("stark-mag", tmp_path)
    assert list(found) == ["stark-mag-val-4", "stark-mag-val-6"]
    assert found["stark-mag-val-4"].answers == ("11", "12")
    assert found["stark-mag-val-4"].question == 'Papers on "tides"\nby Vey?'
    with pytest.raises(ReadError, match=r"test\.index"):
        load_dataset("stark-mag", "test", path=tmp_path)
    (tmp_path / "qa" / "mag" / "split" / "test.index").write_text("".join(f"{id}\n" for id in (4, 6, *range(20, 38))))
    assert [one.id for one in load_dataset("stark-mag", "test-0.1", path=tmp_path)] == [
        "stark-mag-test-0.1-4",
        "stark-mag-test-0.1-6",
    ]


def test_crag_has_false_premises_alternatives_and_bands(tmp_path: Path) -> None:
    found = _by_id("crag", tmp_path)
    assert (found["k0"].answers, found["k0"].answer_aliases) == (("Ana Vey",), (("A. Vey",),))
    assert (found["k0"].popularity, found["k1"].popularity) == ("tail", None)
    assert (found["k1"].answers, found["k1"].answerable, found["k1"].kind) == ((), False, "false_premise")
    (dev,) = load_dataset("crag", "dev", path=tmp_path)
    assert dev.computed


def test_head_to_tail_has_bands(tmp_path: Path) -> None:
    head, torso, tail = _by_id("head-to-tail", tmp_path).values()
    assert [one.popularity for one in (head, torso, tail)] == ["head", "torso", "tail"]
    assert (head.answers, torso.answers) == (("1999",), ("Bo Vey", "Ana Vey"))
    assert (tail.topic, tail.extra["triples"]) == (("http://x/A",), [["http://x/A", "http://x/r", "http://x/B"]])


def test_metaqa_topics_lose_their_brackets_and_kinds_come_from_the_qtype_file(tmp_path: Path) -> None:
    found = _by_id("metaqa", tmp_path)
    first = found["metaqa-1hop-dev-0"]
    assert (first.question, first.topic) == ("what did Ana Vey direct", ("Ana Vey",))
    assert (first.answers, first.hops, first.kind) == (("Dawn", "Ebb"), 1, "director_to_movie")
    assert found["metaqa-3hop-dev-0"].topic == ("X (2)",)
    assert [one.id for one in load_dataset("metaqa-2hop", "dev", path=tmp_path)] == ["metaqa-2hop-dev-0"]
    (tmp_path / "1-hop" / "qa_dev_qtype.txt").write_text("director_to_movie\n", "utf-8")
    with pytest.raises(ReadError, match="kinds of 1"):
        load_dataset("metaqa-1hop", "dev", path=tmp_path)


def test_path_question_reads_all_answers_and_the_path(tmp_path: Path) -> None:
    found = _by_id("pathquestion", tmp_path)
    son, band = found["PQ-2H-0"], found["PQ-3H-0"]
    assert (son.answers, son.topic, son.hops) == (("c", "d"), ("a_b",), 2)
    assert son.gold == {"relations": ["spouse", "children"]}
    assert (band.answers, band.hops) == (("AC/DC_(band)",), 3)


def test_a_larger_sample_begins_with_the_smaller_one(tmp_path: Path) -> None:
    lines = "".join(f"who made [Film {n}]\tAna {n}\n" for n in range(40))
    file = tmp_path / "1-hop" / "qa_dev.txt.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(lines.encode()))
    small, large = ([one.id for one in load_dataset("metaqa", "dev", path=file, limit=n)] for n in (5, 20))
    assert large[:5] == small
    assert small != [one.id for one in load_dataset("metaqa", "dev", path=file)][:5]
    assert [one.id for one in load_dataset("metaqa", "dev", path=file, limit=5, seed=1)] != small


def test_a_repeated_id_gets_a_suffix(tmp_path: Path) -> None:
    row = {"_id": "m", "question": "Who?", "answer": "x"}
    (tmp_path / "dev.json").write_text(json.dumps([row, row]), "utf-8")
    assert [one.id for one in load_dataset("2wikimultihopqa", "dev", path=tmp_path)] == ["m", "m#2"]


def test_invalid_requests_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean popqa"):
        data_set("PopQA!")
    with pytest.raises(UserError, match="train, dev, test"):
        load_dataset("2wikimultihopqa", "validation")
    with pytest.raises(UserError, match="limit is 0"):
        load_dataset("2wikimultihopqa", "dev", path=tmp_path, limit=0)
    with pytest.raises(UserError, match=r"no dev\.json in the folder or below.*github\.com/Alab-NII"):
        load_dataset("2wikimultihopqa", "dev", path=tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dev.json").write_text("[]", "utf-8")
    with pytest.raises(UserError, match="2 files match"):
        load_dataset("2wikimultihopqa", "dev", path=tmp_path)


def test_every_data_set_says_what_it_is() -> None:
    for name, spec in data_sets().items():
        assert name == spec.name
        assert spec.default_split in spec.splits
        assert set(spec.sizes) <= set(spec.splits)
        assert spec.url.startswith("https://")
        if spec.hub is not None:
            assert set(spec.hub.splits) <= set(spec.splits)
            assert not spec.hub.files or set(spec.hub.splits.values()) <= set(spec.hub.files)
