from __future__ import annotations

from typing import Any

import pytest

from triplecheck.evals.rows import lost_at, within_hops
from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG, AnchorRAG, Cascade


@pytest.mark.parametrize(
    ("case", "stage"),
    [
        ({"unreadable": True}, "unreadable_reply"),
        ({"answerable": False}, "answered_unanswerable"),
        ({"retrieval_recall": 0.5}, "summarization"),
        ({"retrieval_recall": 0.5, "answered": False}, "abstained"),
        ({"link_recall": 0.0, "retrieval_recall": 0.0}, "linking"),
        ({"link_recall": 0.0, "retrieval_recall": 1.0}, "summarization"),
        ({"link_recall": 0.5, "retrieval_recall": 0.0}, "filtering"),
        ({"link_recall": 0.5, "retrieval_recall": 0.0, "within_reach": lambda: False}, "retrieval"),
        ({"retrieval_recall": None}, "unplaced"),
        ({"retrieval_recall": None, "answered": False}, "abstained"),
        ({"retrieval_recall": None, "link_recall": 0.0}, "linking"),
    ],
)
def test_the_stage_that_lost_an_answer(case: dict[str, Any], stage: str) -> None:
    usual = {
        "answerable": True,
        "answered": True,
        "unreadable": False,
        "link_recall": 1.0,
        "retrieval_recall": 1.0,
        "within_reach": lambda: True,
    }
    assert lost_at(**{**usual, **case}) == stage


def test_how_far_a_program_may_go(knowledge_base: KnowledgeBase) -> None:
    far, near = KERAG(knowledge_base, hops=3), AnchorRAG(knowledge_base, depth=1)
    assert (far.reach, near.reach, KERAG(knowledge_base).reach) == (3, 1, 2)
    assert Cascade([near, far]).reach == 3


def _nodes(knowledge_base: KnowledgeBase, id: str) -> list[int]:
    node = knowledge_base.graph.find(id)
    assert node is not None
    return [node]


@pytest.mark.parametrize(
    ("start", "end", "distance"),
    [("Q142", "Q142", 0), ("Q142", "Q90", 1), ("Q142", "Wegner", 3), ("Hidalgo", "Wegner", 5)],
)
def test_distance_in_the_graph(knowledge_base: KnowledgeBase, start: str, end: str, distance: int) -> None:
    graph, starts, ends = knowledge_base.graph, _nodes(knowledge_base, start), _nodes(knowledge_base, end)
    assert [within_hops(graph, starts, ends, hops) for hops in range(7)] == [hops >= distance for hops in range(7)]


def test_what_is_not_connected_is_never_reached(knowledge_base: KnowledgeBase) -> None:
    france = _nodes(knowledge_base, "Q142")
    assert not within_hops(knowledge_base.graph, _nodes(knowledge_base, "Lamar"), france, 6)
    assert not within_hops(knowledge_base.graph, [], france, 6)
