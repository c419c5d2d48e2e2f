"""Superlatives over what patterns found."""

from __future__ import annotations

import numpy as np
import pytest
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.patterns import extreme

TRIPLES = """\
inception\treleased\t2010-07-16
memento\treleased\t2000-09-05
alien\treleased\t1979
gladiator\treleased\t2000-09-05
legend\treleased\tlong ago
inception\tminutes\t148
"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return built(tmp_path_factory.mktemp("films"), TRIPLES)


@pytest.mark.parametrize(
    ("names", "relation", "last"),
    [
        (("inception", "memento", "gladiator"), "released", "inception"),
        (("memento", "gladiator"), "released", None),  # both
        (("inception", "alien"), "released", None),  # 1979 is a number
        (("inception", "memento", "legend"), "released", None),  # "long ago" is neither
        (("memento",), "minutes", None),
    ],
)
def test_a_superlative_is_one_thing_of_which_all_others_are_less(
    films: KnowledgeBase, names: tuple[str, ...], relation: str, last: str | None
) -> None:
    number = films.graph.find_relation(relation)
    assert number is not None
    found = extreme(films.graph, np.array([films.graph.find(name) for name in names]), number, greatest=True)
    assert found == (None if last is None else films.graph.find(last))
