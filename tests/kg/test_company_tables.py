"""The example company: five tables with relations between them, and questions with answers that pandas computes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.readers import TableOptions, read_tables
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import quantity

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "company"
TABLES = ("people.csv", "teams.csv", "products.csv", "customers.tsv", "orders.csv")


@pytest.fixture(scope="module")
def made() -> ModuleType:
    """The script that makes the tables."""
    spec = importlib.util.spec_from_file_location("company", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    out = tmp_path_factory.mktemp("company") / "kb"
    return KnowledgeBase.from_tables([FOLDER / name for name in TABLES], out, split="; ", encoder=None)


def tails(kb: KnowledgeBase, relation: str) -> dict[str, list[Any]]:
    """The tails of a relation by the label of the head: labels of entities, numbers of literals."""
    found: dict[str, list[Any]] = {}
    frame = kb.to_pandas()
    for head, tail in frame[frame["relation"] == relation][["head", "tail"]].itertuples(index=False):
        label, value = (
            text if (node := kb.graph.find(text)) is None else kb.graph.label(node) for text in (head, tail)
        )
        found.setdefault(label, []).append(value)
    return found


def test_the_files_are_those_that_the_script_makes(made: ModuleType, tmp_path: Path) -> None:
    made.make(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_text("utf-8") == (FOLDER / path.name).read_text("utf-8"), path.name


def test_there_are_thirty_questions_with_answers() -> None:
    rows = [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text("utf-8").splitlines()]
    assert len({row["question"] for row in rows}) == 30
    assert all(row["answers"] and all(isinstance(one, str) for one in row["answers"]) for row in rows)
    assert {row["kind"] for row in rows} == {"fact", "join", "list", "count", "sum", "most", "date"}


def test_each_file_is_recognised_as_a_wide_table() -> None:
    raw = read_tables([FOLDER / name for name in TABLES], TableOptions(split=["; "]))
    assert [line.partition(" (")[0].rpartition(" ")[2] for line in raw.recognised] == [
        Path(name).stem for name in TABLES
    ]
    assert raw.notes == []


def test_joins_are_edges(kb: KnowledgeBase, made: ModuleType) -> None:
    tables = made.read(FOLDER)
    people, orders, customers = tables["people"], tables["orders"], tables["customers"]
    assert tails(kb, "team") == {row["name"]: [row["team"]] for _, row in people.iterrows()}
    assert tails(kb, "manager") == {row["name"]: [row["manager"]] for _, row in people.iterrows() if row["manager"]}
    skills = {name: sorted(known) for name, known in tails(kb, "skills").items()}
    assert skills == {row["name"]: sorted(row["skills"]) for _, row in people.iterrows() if row["skills"]}
    name_of = customers.set_index("customer_id")["name"]
    bought = tails(kb, "customer")
    assert bought == {f"order {row['order_id']}": [name_of[row["customer_id"]]] for _, row in orders.iterrows()}


def test_numbers_and_dates_are_those_of_pandas(kb: KnowledgeBase, made: ModuleType) -> None:
    tables = made.read(FOLDER)
    for relation, table in (("salary", "people"), ("price", "products"), ("margin", "products"), ("amount", "orders")):
        texts = [value for values in tails(kb, relation).values() for value in values]
        found = sorted(float(size.amount) for text in texts if (size := quantity(Literal(text))) is not None)
        assert found == sorted(tables[table][relation].astype(float)), relation
    for relation, table in (("start date", "people"), ("launched", "products"), ("date", "orders")):
        found = sorted(value for values in tails(kb, relation).values() for value in values)
        assert found == sorted(str(day.date()) for day in tables[table][relation]), relation
    assert kb.graph.find(Literal("2023-10-17", XSD + "date")) is not None


def test_amounts_keep_their_unit(kb: KnowledgeBase) -> None:
    assert tails(kb, "price")["Lantern"] == ["€181"]
