"""Training of the general ranker from public questions with relation paths."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import load_ranker
from triplecheck.optimize.distil import general_ranker
from triplecheck.optimize.distil.general_ranker import GeneralOptions, train_general
from triplecheck.optimize.distil.path_ranker import Training

RELATIONS = [
    ("wikidata", "P1", "zork", "zorking|zorked by"),
    ("wikidata", "P2", "plim", ""),
    ("freebase", "a.b", "quax", ""),
]
QUICK = GeneralOptions(templates=20, measured=3, training=Training(epochs=1, least_steps=20))
PERMITTED, OTHER = "simplequestions-wikidata train", "lcquad1 train"


def row(number: int, source: str = PERMITTED) -> dict[str, object]:
    way = "backward" if number % 2 else "forward"
    return {
        "id": f"q{number}",
        "question": f"Who painted Quastel Brandywine{number}?",
        "vocabulary": "wikidata",
        "paths": [[["P1", way]]],
        "topics": [f"Q{number}"],
        "operation": "none",
        "source": source,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, [row(n) for n in range(500)] + [row(n, OTHER) for n in range(500, 540)])
    return tmp_path


def write(folder: Path, rows: list[dict[str, object]]) -> None:
    (folder / "questions_train.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(one) + "\n" for one in rows).encode())
    )
    table = [("vocabulary", "id", "label", "aliases"), *RELATIONS]
    (folder / "relations.tsv.gz").write_bytes(gzip.compress("".join("\t".join(line) + "\n" for line in table).encode()))


def test_only_what_may_be_distributed_is_trained_on_and_the_file_says_so(folder: Path) -> None:
    about = train_general(folder, folder / "r.safetensors", replace(QUICK, sources=[PERMITTED]))
    assert about["questions"] <= 500 + 20
    assert about["sources"] == [
        "SimpleQuestions on Wikidata (CC BY 3.0)",
        "20 template questions of this project",
    ]
    stored = load_ranker(folder / "r.safetensors")
    assert stored.about == about and stored.is_general
    measured = about["held_out"]["wikidata"]
    assert measured["questions"] == 3 and measured.keys() == {"questions", "hand", "package", "new"}


def test_the_same_seed_gives_the_same_ranker(folder: Path) -> None:
    options = replace(QUICK, sources=[PERMITTED])
    files = folder / "a.safetensors", folder / "b.safetensors"
    one, two = (dict(train_general(folder, file, options)) for file in files)
    assert one.pop("seconds") and two.pop("seconds")
    assert one == two
    tensors = [load_ranker(file).weights for file in files]
    assert all((tensors[0][name] == tensors[1][name]).all() for name in tensors[0])


def test_a_vocabulary_that_is_left_out_is_measured_alone(folder: Path) -> None:
    options = replace(QUICK, sources=[PERMITTED], leave_out=["freebase"])
    about = train_general(folder, folder / "r.safetensors", options)
    assert about["left_out"] == ["freebase"] and about["held_out"]["freebase"]["questions"] == 0
    with pytest.raises(UserError, match="at least 50 questions"):
        train_general(folder, folder / "r.safetensors", replace(options, leave_out=["wikidata"]))


def test_questions_to_measure_on_are_left_out(folder: Path) -> None:
    without = [str(row(n)["question"]) for n in range(480)]
    with pytest.raises(UserError, match="at least 50 questions"):
        train_general(folder, folder / "r.safetensors", replace(QUICK, sources=[PERMITTED], templates=0), without)


def test_an_unknown_source_and_a_missing_file_are_named(folder: Path) -> None:
    with pytest.raises(UserError, match=r"has no questions of 'films'; it has freebase, lcquad1 train, simple"):
        train_general(folder, folder / "r.safetensors", replace(QUICK, sources=["films"]))
    (folder / "relations.tsv.gz").unlink()
    with pytest.raises(UserError, match=r"relations\.tsv\.gz: cannot be read"):
        train_general(folder, folder / "r.safetensors", QUICK)


def test_the_mention_is_the_rarest_run_of_words() -> None:
    rarity = {"who": 1.0, "painted": 3.0, "the": 0.5, "garden": 7.0, "of": 0.5, "delights": 9.0}
    mention = general_ranker._mention
    assert mention(["who", "painted", "garden", "delights"], rarity) == (2, 4)
    assert mention(["who", "painted"], rarity) == (1, 2)
    assert mention([], rarity) == (0, 0)
