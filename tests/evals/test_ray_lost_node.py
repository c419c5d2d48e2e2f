"""A node of the cluster is lost while a run goes on."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from eval_parts import sources
from model_stand_ins import STAND_IN, stand_in_server
from ray_parts import Deadly

from triplecheck.evals import Question, evaluate
from triplecheck.evals.executors import RayProcesses
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Budget

pytest.importorskip("ray")

ASKED = [Question(f"q{n}", f"wait w{n} borders of Q142", ("Q183", "Q39"), ("Q142",)) for n in range(12)]


def processes_of(asked: Path) -> list[str]:
    return [line.split()[0] for line in asked.read_text().splitlines()] if asked.exists() else []


def test_a_lost_node_loses_no_question_and_asks_none_for_ever(
    knowledge_base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes with a core each: the node that stays asks the questions of the other one too."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("DSPY_CACHEDIR", str(tmp_path / "cache"))
    program = Deadly(sources(knowledge_base), folder=str(tmp_path), asks=True)
    usual = {"roles": STAND_IN, "knowledge_base": knowledge_base, "workers": 4, "budget": Budget(calls=1000)}
    with stand_in_server("[[ ## answer ## ]]\nnothing") as server, server.environment():
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            other = cluster.add_node(num_cpus=1)
            cluster.wait_for_nodes()

            def lose() -> None:
                while len(set(processes_of(tmp_path / "asked"))) < 2:
                    time.sleep(0.05)
                cluster.remove_node(other, allow_graceful=False)
                (tmp_path / "gone").touch()

            threading.Thread(target=lose, daemon=True).start()
            summary = evaluate(
                program,
                ASKED,
                tmp_path / "out",
                executor=RayProcesses(address=cluster.address, processes=2),
                **usual,  # type: ignore[arg-type]
            )
        finally:
            cluster.shutdown()
    rows = [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_bytes().splitlines()]
    assert sorted(row["id"] for row in rows) == sorted(question.id for question in ASKED)
    assert {row["status"] for row in rows} == {"ok"}, [row.get("error") for row in rows]
    assert summary.scores.n == len(ASKED)
    assert len(processes_of(tmp_path / "asked")) > len(ASKED), "some were under way on the lost node"
