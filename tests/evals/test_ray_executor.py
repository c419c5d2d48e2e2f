"""The same rows from processes of Ray as from threads, whatever happens to the processes."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eval_parts import OneHop, sources
from model_stand_ins import STAND_IN, stand_in_server
from ray_parts import Deadly

from triplecheck.evals import Question, evaluate
from triplecheck.evals.configuration import describe
from triplecheck.evals.executors.ray_processes import Blueprint, RayProcesses
from triplecheck.evals.executors.threads import QuestionJob
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.ranker import GENERAL
from triplecheck.lms import Budget, Roles, session
from triplecheck.programs import KERAG, Sources

ray = pytest.importorskip("ray")

SILENT_REPLY = "[[ ## answer ## ]]\nnothing"
TIMES = ("seconds", "seconds_outside_lm", "usage")
ASKED = [
    Question("capital", "capital of Q142", ("Paris",), ("France",), hops=1),
    Question("counted", "count borders of Q142", ("2",), ("Q142",)),
    Question("wrong", "wrong capital of Q142", ("Q90",), ("Q142",)),
    Question("abstained", "abstain capital of Q142", ("Q90",), ("Q142",)),
    Question("crashed", "crash capital of Q142", ("Q90",), ("Q142",)),
    *(Question(f"q{n}", f"w{n} borders of Q142", ("Q183", "Q39")) for n in range(12)),
]
ONCE = Question("once", "killonce capital of Q142", ("Paris",))
SLOW = Question("slow", "hang capital of Q142", ("Q90",), ("Q142",))
ALWAYS = Question("always", "kill capital of Q142", ("Paris",))


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A model that all processes can reach: Ray's processes inherit the environment that they start in."""
    with stand_in_server(SILENT_REPLY, latency=0.02, slots=8) as running, running.environment():
        yield running


@pytest.fixture(scope="module")
def cluster(server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One cluster for all tests here, of two nodes with a core each; its processes have a cache of their own."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("DSPY_CACHEDIR", str(tmp_path_factory.mktemp("cache")))
        running = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            running.add_node(num_cpus=1)
            running.wait_for_nodes()
            yield running
        finally:
            running.shutdown()


@pytest.fixture
def connected(cluster: Any) -> Iterator[None]:
    """A connection to the cluster that is there before the run."""
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def reachable(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", server.api_base)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def asked_in(folder: Path) -> list[str]:
    """The process and the question of each time that the program was asked one."""
    return (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]
    assert len({row["id"] for row in rows}) == len(rows), "no question has two rows"
    return {row["id"]: {name: value for name, value in row.items() if name not in TIMES} for row in rows}


@pytest.mark.usefixtures("connected")
def test_processes_write_what_threads_write_and_a_death_loses_nothing(
    knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    program = Deadly(sources(knowledge_base), folder=str(tmp_path))
    usual: dict[str, Any] = {"roles": STAND_IN, "knowledge_base": knowledge_base, "timeout": 8.0}
    evaluate(program, ASKED, tmp_path / "threads", workers=4, **usual)
    (tmp_path / "asked").unlink()
    summary = evaluate(
        program, [ONCE, ALWAYS, SLOW, *ASKED], tmp_path / "ray", workers=4, executor=RayProcesses(processes=2), **usual
    )
    rows, expected = rows_of(tmp_path / "ray"), rows_of(tmp_path / "threads")
    lost, once, slow = (rows.pop(one.id) for one in (ALWAYS, ONCE, SLOW))
    assert once["status"] == "ok", once
    assert (lost["status"], lost["error"]["kind"]) == ("error", "WorkerLostError")
    assert slow["error"]["kind"] == "QuestionTimeoutError"
    for id, row in rows.items():  # the encoder's sums differ with the number of threads, scores in their third digit
        for scores in ("confidence", "features"):
            assert row.pop(scores) == pytest.approx(expected[id].pop(scores), abs=0.05), id
    assert rows == expected
    assert summary.scores.n == len(ASKED) + 3
    assert str(os.getpid()) not in {line.split()[0] for line in asked_in(tmp_path)}
    times = Counter(line.split(maxsplit=1)[1] for line in asked_in(tmp_path))
    assert times[ALWAYS.question] == 3
    assert times[ONCE.question] in (2, 3), "it may have been beside the other killer once"

    again = evaluate(program, [ONCE, *ASKED[:3]], tmp_path / "ray", executor=RayProcesses(processes=2), **usual)
    assert again.scores.coverage == 1
    assert len(asked_in(tmp_path)) == times.total(), "finished questions are not redone"


def test_a_budget_of_calls_is_exact_over_all_processes(
    knowledge_base: KnowledgeBase, tmp_path: Path, server: Any, cluster: Any
) -> None:
    program = Deadly(sources(knowledge_base), folder=str(tmp_path), asks=True)
    asked = [Question(f"q{n}", f"v{n} borders of Q142", ("Q183", "Q39")) for n in range(20)]
    before = server.calls
    with session(STAND_IN) as ledger:
        summary = evaluate(
            program,
            asked,
            tmp_path / "out",
            knowledge_base=knowledge_base,
            workers=6,
            budget=Budget(calls=11),
            executor=RayProcesses(address=cluster.address, processes=2),
        )
    assert summary.stopped is not None and "budget of 11 calls" in summary.stopped
    assert server.calls - before == 11
    assert summary.scores.status == {"not_run": 9, "ok": 11}
    assert ledger.usage().calls == 11, "the ledger around the run has all of it"
    assert ledger.usage().by_model[STAND_IN].completion_tokens == 11 * 6


def test_a_lost_node_loses_no_question_and_asks_none_for_ever(
    knowledge_base: KnowledgeBase, tmp_path: Path, cluster: Any
) -> None:
    """The node that stays asks the questions of the other one too."""
    asked = [Question(f"q{n}", f"wait w{n} borders of Q142", ("Q183", "Q39"), ("Q142",)) for n in range(8)]

    def lose() -> None:
        while len({line.split()[0] for line in asked_in(tmp_path)}) < 2:
            time.sleep(0.05)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        (tmp_path / "gone").touch()

    threading.Thread(target=lose, daemon=True).start()
    summary = evaluate(
        Deadly(sources(knowledge_base), folder=str(tmp_path), asks=True),
        asked,
        tmp_path / "out",
        roles=STAND_IN,
        knowledge_base=knowledge_base,
        workers=4,
        budget=Budget(calls=1000),
        executor=RayProcesses(address=cluster.address, processes=2),
    )
    rows = rows_of(tmp_path / "out")
    assert rows.keys() == {question.id for question in asked}
    assert {row["status"] for row in rows.values()} == {"ok"}, [row["error"] for row in rows.values()]
    assert summary.scores.n == len(asked)
    assert len(asked_in(tmp_path)) > len(asked), "some were under way on the lost node"


def test_a_trained_ranker_goes_along(knowledge_base: KnowledgeBase) -> None:
    program = KERAG(Sources.of(knowledge_base).with_ranker(GENERAL))
    described = describe(program, Roles(), knowledge_base, {})
    opened = Blueprint.of(QuestionJob(program, knowledge_base, described, {}, None)).open()
    assert opened._program.sources.given_ranker == GENERAL.resolve()


def test_a_program_that_other_processes_cannot_open_is_rejected(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    class Local(OneHop):
        name = "local"

    with pytest.raises(UserError, match=r"'local' cannot be opened by other processes: .*cannot be imported"):
        evaluate(Local(sources(knowledge_base)), ASKED[:1], tmp_path / "a", executor=RayProcesses())
    with pytest.raises(UserError, match="do not come from a knowledge base"):
        elsewhere = OneHop(sources(KnowledgeBase.open(knowledge_base.path)))
        evaluate(elsewhere, ASKED[:1], tmp_path / "c", knowledge_base=knowledge_base, executor=RayProcesses())
