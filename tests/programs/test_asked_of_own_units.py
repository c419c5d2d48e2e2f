"""What people ask of amounts in units that only one graph has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program_parts import ask

from triplecheck.kg import KnowledgeBase, build
from triplecheck.programs import KERAG

EXPEDITIONS = """name,leader,budget,crew,country
Nordic Star,Ann Berg,4200 crowns,12,Norway
Polar Dawn,Bo Lind,9100 crowns,30,Sweden
Desert Wind,Cy Holt,3800 crowns,8,Denmark
Amber Road,Di Falk,12500 crowns,41,Sweden
"""


@pytest.fixture(scope="module")
def expeditions(tmp_path_factory: pytest.TempPathFactory) -> KERAG:
    folder: Path = tmp_path_factory.mktemp("expeditions")
    (folder / "expeditions.csv").write_text(EXPEDITIONS, "utf-8")
    return KERAG(build(folder / "expeditions.csv", folder / "kb"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which expedition had the smallest budget?", "Desert Wind"),
        ("Which expeditions have a budget of more than 8000 crowns?", "Polar Dawn, Amber Road"),
        ("Which expeditions have a budget over 8000?", "Polar Dawn, Amber Road"),
        ("What is the total budget of the expeditions from Sweden?", "21600 crowns"),
        ("What is the average budget of the expeditions?", "7400 crowns"),
        ("How much larger is the budget of Polar Dawn than that of Nordic Star?", "4900 crowns"),
    ],
)
def test_it_is_answered(expeditions: KERAG, question: str, answer: str) -> None:
    result: Any = ask(expeditions, question)
    assert (result.answer, result.verdict) == (answer, "proved")


def test_an_amount_is_not_counted(expeditions: KERAG) -> None:
    result: Any = ask(expeditions, "How many crowns is the budget of Polar Dawn?")
    assert result.answer != "1"


def test_a_unit_that_no_value_has_leaves_a_doubt(tmp_path: Path) -> None:
    rows = [f"Lorry{n}\ttype\tlorry\nLorry{n}\tweight\t{w}\n" for n, w in enumerate((800, 3500, 1200, 9000, 700, 2500))]
    file = tmp_path / "lorries.tsv"
    file.write_text("head\trelation\ttail\n" + "".join(rows), "utf-8")
    program = KERAG(KnowledgeBase.from_triples([file]))
    found = program(question="Which lorries weigh more than 3 tons?")
    assert found.verdict == "supported" and any("tons" in doubt for doubt in found.doubts)
    found = program(question="Which lorries have a weight over 3000?")
    assert (found.answer, found.verdict) == ("Lorry1, Lorry3", "proved")
