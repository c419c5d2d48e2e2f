"""Data sets through `datasets`: the hub's own files in a folder, saved copies, and a hub that is out of reach."""

from __future__ import annotations

import bz2
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from official_files import CRAG, GRAIL, HOTPOT, OFFICIAL, popqa_table

from triplecheck.evals import Question
from triplecheck.evals.datasets.load import data_set, load_dataset
from triplecheck.kg import UnavailableError, UserError

HOTPOT_ROWS = [
    {
        "id": "h0",
        "question": "Which river?",
        "answer": "Brisa",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": {"title": ["Ana Vey", "Tarvos"], "sent_id": [0, 2]},
        "context": {"title": ["Ana Vey"], "sentences": [["..."]]},
    },
    {
        "id": "h1",
        "question": "Is it?",
        "answer": "yes",
        "type": "comparison",
        "level": "easy",
        "supporting_facts": {"title": [], "sent_id": []},
        "context": {"title": [], "sentences": []},
    },
]
ROG_ROWS = [
    {
        "id": "WebQTest-0",
        "question": "who rules tarvos?",
        "answer": ["Ilse Ødegård", "Bo Lind"],
        "q_entity": ["Tarvos"],
        "a_entity": ["Ilse Ødegård", "Bo Lind"],
        "graph": [["Tarvos", "place.rulers", "Bo Lind"]],
    },
    {
        "id": "WebQTest-1",
        "question": "who sank it?",
        "answer": [],
        "q_entity": ["Tarvos"],
        "a_entity": [],
        "graph": [["a", "b", "c"]],
    },
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("hf"))


def _parquet(rows: list[dict[str, Any]], path: Path) -> None:
    from datasets import Dataset

    path.parent.mkdir(parents=True, exist_ok=True)
    Dataset.from_list(rows).to_parquet(path)


def _load(name: str, split: str, folder: Path) -> dict[str, Question]:
    """As from the hub, which is a folder."""
    spec = data_set(name)
    assert spec.hub is not None
    spec = replace(spec, hub=replace(spec.hub, id=str(folder), revision=None))
    return {one.id: one for one in load_dataset(spec, split)}


def test_columns_of_lists_are_read_as_well_as_lists(tmp_path: Path) -> None:
    _parquet(HOTPOT_ROWS, tmp_path / "distractor" / "validation" / "0000.parquet")
    found = _load("hotpotqa", "dev", tmp_path)
    assert found["h0"].documents == ("Ana Vey", "Tarvos")
    assert (found["h1"].computed, found["h1"].documents) == (True, ())


def test_names_in_place_of_ids(tmp_path: Path) -> None:
    _parquet(ROG_ROWS, tmp_path / "data" / "test-00000-of-00001.parquet")
    found = _load("webqsp", "test", tmp_path)
    assert found["WebQTest-0"].answers == ("Ilse Ødegård", "Bo Lind")
    assert (found["WebQTest-0"].topic, found["WebQTest-0"].extra) == (("Tarvos",), {})
    assert not found["WebQTest-1"].answerable


def test_grail_qa_answers_stored_by_column(tmp_path: Path) -> None:
    rows = [
        {
            "qid": str(row["qid"]),
            "question": row["question"],
            "answer": {
                "answer_type": ["Value"],
                "answer_argument": ["3"],
                "entity_name": [""],
            },
            "function": "count",
            "num_edge": 1,
            "level": "zero-shot",
            "graph_query": {
                "nodes": {"node_type": ["entity"], "id": ["m.0aa"], "friendly_name": ["Tarvos"]},
                "edges": {"relation": ["geo.river.crosses"]},
            },
        }
        for row in GRAIL[:1]
    ]
    _parquet(rows, tmp_path / "default" / "validation" / "0000.parquet")
    (found,) = _load("grailqa", "dev", tmp_path).values()
    assert (found.id, found.answers, found.computed, found.topic) == ("grailqa-31", ("3",), True, ("m.0aa",))


def test_tables_and_packed_lines(tmp_path: Path) -> None:
    (tmp_path / "pop").mkdir()
    (tmp_path / "pop" / "test.tsv").write_text(popqa_table(), "utf-8")
    ana = _load("popqa", "test", tmp_path / "pop")["popqa-7"]
    assert (ana.answer_aliases, ana.popularity) == ((("journo", "reporter"),), 236)
    (tmp_path / "crag").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in CRAG)
    place = tmp_path / "crag" / "crag_task_1_and_2_dev_v4_subsample_0a.jsonl.bz2"
    place.write_bytes(bz2.compress(lines.encode()))
    assert list(_load("crag", "test", tmp_path / "crag")) == ["k0", "k1"]


def test_a_split_that_is_a_list_of_ids(tmp_path: Path) -> None:
    (official,) = (one for one in OFFICIAL if one.name == "stark-mag")
    found = _load("stark-mag", "val", official.write(tmp_path))
    assert {id: one.answers for id, one in found.items()} == {
        "stark-mag-val-4": ("11", "12"),
        "stark-mag-val-6": ("13",),
    }


def test_a_saved_copy_is_read_from_its_folder(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    DatasetDict({"validation": Dataset.from_list(HOTPOT_ROWS)}).save_to_disk(tmp_path / "all")
    Dataset.from_list(HOTPOT_ROWS).save_to_disk(tmp_path / "one")
    for folder in ("all", "one"):
        found = load_dataset("hotpotqa", "dev", path=tmp_path / folder)
        assert [one.answers for one in found] == [("Brisa",), ("yes",)]
    with pytest.raises(UserError, match="no split 'train'"):
        load_dataset("hotpotqa", "train", path=tmp_path / "all")


def test_parquet_files_are_read_from_their_folder(tmp_path: Path) -> None:
    _parquet(HOTPOT_ROWS, tmp_path / "data" / "validation-00000-of-00001.parquet")
    assert len(load_dataset("hotpotqa", "dev", path=tmp_path)) == 2


def test_official_files_and_the_hub_agree(tmp_path: Path) -> None:
    (tmp_path / "hotpot_dev_distractor_v1.json").write_text(json.dumps(HOTPOT[:1]), "utf-8")
    (one,) = load_dataset("hotpotqa", "dev", path=tmp_path)
    _parquet([{**HOTPOT_ROWS[0], "question": one.question}], tmp_path / "distractor" / "validation" / "0000.parquet")
    assert _load("hotpotqa", "dev", tmp_path)["h0"] == one


def test_a_hub_out_of_reach_says_at_once_how_else_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets
    from huggingface_hub import constants

    # Nobody listens on the discard port of this machine.
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", str(tmp_path))
    began = time.perf_counter()
    with pytest.raises(UnavailableError) as caught:
        load_dataset("2wikimultihopqa", "dev")
    assert time.perf_counter() - began < 30
    for part in ("ohjoonhee/2WikiMultihopQA", "github.com/Alab-NII", "dev.json", "--path", "hf download"):
        assert part in str(caught.value)
    assert not constants.HF_HUB_OFFLINE


def test_what_the_hub_does_not_have_says_how_to_get_it() -> None:
    with pytest.raises(UnavailableError, match=r"github\.com/yuyuz/MetaQA.*1-hop/vanilla/qa_test\.txt.*--path"):
        load_dataset("metaqa")
