from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from triplecheck.evals.datasets.folder import bundled_case, find_cases, read_folder
from triplecheck.kg import KnowledgeBase, ReadError, UserError


def _questions(path: Path, *rows: dict[str, object]) -> None:
    lines = "".join(json.dumps({"id": f"q{n}", "question": "?", **row}) + "\n" for n, row in enumerate(rows))
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())


@pytest.fixture
def films(tmp_path: Path) -> Path:
    folder = tmp_path / "films"
    folder.mkdir()
    (folder / "triples.tsv").write_text("Dawn\tdirected by\tAna Vey\n", "utf-8")
    (folder / "entities.tsv").write_text("id\tlabel\nDawn\tDawn\n", "utf-8")
    (folder / "corpus.jsonl").write_text('{"title": "Dawn", "text": "A film."}\n', "utf-8")
    _questions(folder / "questions_dev.jsonl.gz", {"answers": ["Ana Vey", "A. Vey"]})
    _questions(
        folder / "questions.jsonl",
        {"answers": ["x"], "gold_path": True, "split": "a"},
        {"answers": ["y"], "gold_path": False, "split": "a"},
        {"answers": ["z"], "gold_path": True, "split": "b"},
    )
    (tmp_path / "notes").mkdir()
    return folder


def test_files_of_a_folder_are_recognised_by_name(films: Path, tmp_path: Path) -> None:
    every, dev = find_cases(tmp_path)
    assert (every.name, dev.name) == ("films", "films/dev")
    assert [path.name for path in dev.sources] == ["triples.tsv", "entities.tsv", "corpus.jsonl"]
    assert [path.name for path in (every.questions, dev.questions)] == ["questions.jsonl", "questions_dev.jsonl.gz"]
    base = dev.knowledge_base(tmp_path / "kb")
    assert base.graph.num_triples == 1
    assert base.documents is not None and len(base.documents) == 1


def test_questions_without_a_gold_path_in_the_graph_are_left_out(films: Path) -> None:
    every, _ = read_folder(films)
    assert [one.id for one in every.sample()] == ["q0", "q2"]
    assert len(every.sample(1)) == 1
    assert every.sample(1) == every.sample(2)[:1]


def test_options_come_from_the_cases_file(films: Path, tmp_path: Path) -> None:
    (tmp_path / "cases.toml").write_text(
        '["films*"]\none_answer = true\n["films"]\nsupported_only = false\nwhere = { split = "a" }\n', "utf-8"
    )
    every, dev = find_cases(tmp_path)
    assert [one.id for one in every.sample()] == ["q0", "q1"]
    assert [one.one_answer for one in (*every.sample(), *dev.sample())] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[films]\none_answr = true\n", "unknown option 'one_answr'"),
        ('[films]\none_answer = "yes"\n', "not a bool"),
        ("films = 1\n", "write a table"),
        ("[films\n", "not valid TOML"),
    ],
)
def test_a_wrong_option_is_named(films: Path, text: str, said: str) -> None:
    (films / "cases.toml").write_text(text, "utf-8")
    with pytest.raises(ReadError, match=said):
        read_folder(films)


def test_a_folder_without_questions_is_refused(films: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no questions"):
        find_cases(tmp_path / "notes")
    with pytest.raises(UserError, match="no such folder"):
        find_cases(tmp_path / "none")


def test_where_nothing_is_left_it_says_why(films: Path) -> None:
    (films / "cases.toml").write_text('["*"]\nwhere = { split = "c" }\n', "utf-8")
    with pytest.raises(UserError, match="'split': 'c'"):
        read_folder(films)[0].sample()


def test_the_bundled_questions_are_a_case() -> None:
    case = bundled_case("dev")
    assert case.questions.name == "questions_dev.jsonl"
    assert {path.suffix for path in case.triples} == {".ttl"}
    assert case.sample(3)


def test_the_bundled_graph_of_a_case_is_the_one_that_users_have(tmp_path: Path) -> None:
    base = bundled_case().knowledge_base(tmp_path / "kb")
    assert base.path == KnowledgeBase.open("bundled").path and base.embeddings is not None
    assert not (tmp_path / "kb").exists()


def test_a_graph_of_other_files_is_refused(tmp_path: Path) -> None:
    folder, place = tmp_path / "films", tmp_path / "kbs" / "films"
    folder.mkdir()
    (folder / "questions.jsonl").write_text('{"id": "1", "question": "Who?", "answers": ["A"]}\n', "utf-8")
    for director in ("James Cameron", "Ridley Scott"):
        (folder / "triples.tsv").write_text(f"head\trelation\ttail\nAlien\tdirected by\t{director}\n", "utf-8")
        (case,) = read_folder(folder)
        if director == "James Cameron":
            case.knowledge_base(place)
            assert case.knowledge_base(place).graph.find(director) is not None
        else:
            with pytest.raises(UserError, match="was built from other files"):
                case.knowledge_base(place)
