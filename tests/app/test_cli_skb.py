"""`kb build-debian`, `kb build-stark`, `kb encode`, `data generate` and `data answer`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import Run, ok, refused
from skb_parts import PACKAGES, TRANSLATIONS
from test_skb_stark import write

from triplecheck.kg import KnowledgeBase

CONDITION = {"patterns": [["?x:Package", "role", "role::program"]], "text": ["multiplexer"]}


@pytest.fixture
def debian(run: Run, elsewhere: Path) -> Path:
    """A knowledge base that the command built."""
    (elsewhere / "Packages").write_text(PACKAGES, "utf-8")
    (elsewhere / "Translation-en").write_text(TRANSLATIONS, "utf-8")
    words = ["kb", "build-debian", "out", "--packages", "Packages", "--translation", "Translation-en"]
    ok(run(*words))
    return Path("out")


def test_an_index_becomes_a_knowledge_base(debian: Path) -> None:
    kb = KnowledgeBase.open(debian)
    assert kb.manifest.counts["documents"] == 5
    assert kb.manifest.sources == ["Packages", "Translation-en"]


def test_without_long_descriptions_it_says_so(run: Run, elsewhere: Path) -> None:
    (elsewhere / "Packages").write_text(PACKAGES, "utf-8")
    result = ok(run("kb", "build-debian", "out", "--packages", "Packages"))
    assert "no long descriptions" in result.output


def test_a_file_that_is_not_an_index_is_rejected(run: Run, elsewhere: Path) -> None:
    (elsewhere / "Packages").write_text("not a control file\n", "utf-8")
    refused(run("kb", "build-debian", "out", "--packages", "Packages"), "Packages:1")
    assert not Path("out").exists()


def test_a_folder_of_stark_becomes_a_knowledge_base(run: Run, elsewhere: Path) -> None:
    write(elsewhere / "prime", "npy")
    ok(run("kb", "build-stark", "prime", "out", "--candidates", "drug"))
    assert KnowledgeBase.open("out").manifest.counts["documents"] == 1


def test_a_set_of_stark_is_evaluated_from_its_own_files(run: Run, elsewhere: Path) -> None:
    write(elsewhere / "prime")
    queries = elsewhere / "qa" / "prime"
    (queries / "stark_qa").mkdir(parents=True)
    (queries / "split").mkdir()
    rows = 'id,query,answer_ids\n3,Which drug has the target PHYHIP?,[1]\n4,Left out,"[0, 2]"\n'
    (queries / "stark_qa" / "stark_qa.csv").write_text(rows, "utf-8")
    (queries / "split" / "test.index").write_text("3\n", "utf-8")
    ok(run("kb", "build-stark", "prime", "kb", "--candidates", "drug"))
    ok(run("kb", "encode", "kb"))
    ok(run("data", "convert", "stark-prime", "queries.jsonl", "--path", "qa"))
    assert json.loads(Path("queries.jsonl").read_text("utf-8"))["answers"] == ["1"]
    words = ["eval", "4stepfocus", "--kb", "kb", "--data", "stark-prime", "--path", "qa", "--out", "out", "--json"]
    ok(run(*words))
    scores = json.loads(Path("out/summary.json").read_text("utf-8"))
    assert (scores["n"], scores["mrr"], scores["recall_at_20"]) == (1, 1.0, 1.0)


def test_all_vectors_are_made_at_once(run: Run, debian: Path) -> None:
    ok(run("kb", "encode", debian))
    assert KnowledgeBase.open(debian).node_search.dense.complete


def test_building_can_make_the_vectors_of_nodes(run: Run, elsewhere: Path) -> None:
    Path("graph.tsv").write_text("tmux\tkind\tmultiplexer\nscreen\tkind\tmultiplexer\n", "utf-8")
    ok(run("kb", "build", "kb", "--triples", "graph.tsv", "--node-vectors"))
    assert KnowledgeBase.open("kb").node_search.dense.complete


def test_the_documents_of_a_corpus_get_vectors(run: Run, debian: Path) -> None:
    ok(run("kb", "encode", debian, "--documents"))
    documents = KnowledgeBase.open(debian).documents
    assert documents is not None and documents.search_dense("a terminal multiplexer", 1)


def test_a_graph_without_documents_has_none_to_encode(run: Run) -> None:
    refused(run("kb", "encode", "bundled", "--documents"), "there are no documents")


def test_questions_are_made_and_can_be_read(run: Run, debian: Path) -> None:
    ok(run("data", "generate", debian, "made.jsonl", "--limit", "4", "--seed", "2"))
    rows = [json.loads(line) for line in Path("made.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 4
    assert all(row["answers"] for row in rows)


def test_answers_of_written_questions_are_computed(run: Run, debian: Path) -> None:
    unknown = {"patterns": [["?x", "depends", "systemd"]]}
    rows = [
        {"id": "a", "question": "A multiplexer?", "condition": CONDITION},
        {"id": "b", "question": "Needs systemd?", "condition": unknown},
    ]
    Path("written.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = ok(run("data", "answer", debian, "answered.jsonl", "--questions", "written.jsonl"))
    assert "left out b" in result.output
    (row,) = [json.loads(line) for line in Path("answered.jsonl").read_text("utf-8").splitlines()]
    assert set(row["answers"]) == {"tmux", "screen", "byobu"}
