"""A small part of `make torture`, and everything that it has found."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torture import inputs, replies, servers
from torture.attack import Attack, Case, Failure, State, attempt, chance, signature
from torture.mutate import mutated

from triplecheck.kg import TriplecheckError

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[inputs.Target, Path]]:
    """The files of a target, written once."""
    made: dict[str, Path] = {}

    def get(name: str) -> tuple[inputs.Target, Path]:
        target, write = next(pair for pair in inputs._targets() if pair[0].name == name)
        if name not in made:
            made[name] = tmp_path_factory.mktemp("torture") / name
            made[name].mkdir()
            write(made[name])
        return target, made[name]

    return get


def object_with(**changes: Any) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps(json.loads(content) | changes).encode()


def line_with(**changes: Any) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        first, _, rest = content.partition(b"\n")
        return object_with(**changes)(first) + b"\n" + rest

    return change


def with_inner(key: str, **changes: Any) -> Callable[[bytes], bytes]:
    """Changes the first value of an object, or of the object under a key."""

    def change(content: bytes) -> bytes:
        found = json.loads(content)
        inner = found if not key else found[key]
        first = next(iter(inner))
        inner[first] |= changes
        return json.dumps(found).encode()

    return change


DEEP = b'{"a":' * 3000
FOUND: list[tuple[str, str, bytes | Callable[[bytes], bytes]]] = [
    ("traces", "traces/manifest.json", b"[]"),
    ("traces", "traces/manifest.json", DEEP),
    ("traces", "traces/manifest.json", b'{"sha256": "\\x"}'),
    ("traces", "traces/traces.jsonl", b"\xff\n"),
    ("traces", "traces/traces.jsonl", line_with(messages=5)),
    ("traces", "traces/traces.jsonl", line_with(other="x")),
    ("bundles", "bundle/program.json", with_inner("", config=5)),
    ("bundles", "bundle/program.json", with_inner("", demos=5)),
    ("bundles", "bundle/program.json", with_inner("", fields=None)),
    ("bundles", "bundle/program.json", with_inner("", instructions="\ud800")),
    ("bundles", "bundle/program.json", DEEP),
    ("bundles", "bundle/manifest.json", object_with(program=5)),
    ("bundles", "bundle/manifest.json", object_with(options=5)),
    ("bundles", "bundle/manifest.json", object_with(signatures={"a": {"fields": [], "text": ""}})),
    ("bundles", "bundle/manifest.json", object_with(model_ids={"extractive": 5})),
    ("bundles", "bundle/manifest.json", object_with(versions={"no such package": "1"})),
    ("bundles", "bundle/manifest.json", object_with(models={"local/x": {"folder": "../..", "sha256": "0"}})),
    ("models", "adapter/adapter_config.json", b"5"),
    ("models", "adapter/adapter_config.json", object_with(base_model_name_or_path="[0" * 3000)),
    ("models", "adapter/adapter_config.json", DEEP),
    ("models", "adapter/adapter_model.safetensors", (1 << 60).to_bytes(8, "little") + b"{}"),
    ("models", "adapter/adapter_model.safetensors", lambda content: content[:-3]),
    ("official", "2wikimultihopqa/data/id_aliases.json", b'{"Q_id": "Q1", "aliases": 5, "demonyms": []}\n'),
    ("official", "head-to-tail/head_to_tail_imdb.json", b'{"head": 5}'),
    ("official", "hotpotqa/hotpot_dev_distractor_v1.json", b"\xff"),
    ("official", "hotpotqa/hotpot_dev_distractor_v1.json", b"[" + b"9" * 5000 + b"]"),
    ("readers", "b.csv", b'a,"b\rc,d\n'),
    ("runs", "a/rows.jsonl", b"null\n"),
    ("runs", "a/rows.jsonl", line_with(hit="x")),
    ("runs", "a/rows.jsonl", line_with(usage=None)),
    ("runs", "a/rows.jsonl", DEEP + b"\n"),
    ("runs", "b/run.json", object_with(format=[])),
    ("runs", "b/run.json", DEEP),
    ("runs", "a/run.json", object_with(configuration=0.5)),
    ("settings", "triplecheck.toml", b"a = " + b"[" * 3000),
    ("settings", "environment", b"A=" + b"[" * 3000),
    ("experiments", "kerag.toml", b"a = " + b"[" * 3000),
    ("base", "kb/manifest.json", object_with(encoder=True)),
    ("base", "kb/manifest.json", object_with(counts={"entities": None})),
    ("base", "kb/manifest.json", DEEP),
    ("questions", "a.jsonl", line_with(question="\ud800")),
    ("readers", "g.rdf", b"<?xml version='1.0' encoding='nutf-8'?><a/>"),
    ("settings", "triplecheck.toml", b"hops = " + b"9" * 5000),
    ("base", "kb/manifest.json", object_with(blocks="x")),
    ("official", "stark-mag/qa/mag/stark_qa/stark_qa.csv", b"other,query,answer_ids\n4,Who?,[1]\n"),
    ("weights", "ranker.safetensors", lambda content: content[:5000] + b"\xff" * 5000 + content[10000:]),
    ("weights", "common.safetensors", lambda content: content[:-7]),
    ("weights", "embeddings/weights.safetensors", lambda content: content[:-7]),
    ("weights", "embeddings/embeddings.json", object_with(num_entities="many")),
    ("training", "questions_train.jsonl.gz", b'{"id": "q"}\n'),
    ("training", "questions_train.jsonl.gz", b'{"id": "q"\n'),
    ("training", "questions_train.jsonl.gz", lambda content: gzip.decompress(content).replace(b"P1", b"P9")),
    ("training", "questions_train.jsonl.gz", lambda content: content[:40] + b"\xff" * 9 + content[49:]),
    ("training", "relations.tsv.gz", b"vocabulary\tid\nwikidata\tP1\n"),
    ("extracted", ".made.extract/documents.jsonl", line_with(id=["d0"])),
    ("extracted", ".made.extract/documents.jsonl", line_with(stated=[["a", "b", "c"]])),
    ("requests", "ask", object_with(question="\ud800")),
    ("patterns", "results.json", b'{"results": {"bindings": [{"x": {"type": "uri", "value": 5}}]}}'),
]


@pytest.mark.parametrize(("name", "file", "damage"), FOUND, ids=lambda value: value if isinstance(value, str) else "")
def test_a_damaged_file_is_an_error_of_ours_or_harmless(
    folders: Any, name: str, file: str, damage: bytes | Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, folder = folders(name)
    was = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    path = folder / file
    path.write_bytes(damage if isinstance(damage, bytes) else damage(was[path]))
    monkeypatch.setenv("TORTURE_DAMAGED", str(path))
    try:
        target.read(folder)
    except TriplecheckError:
        pass
    finally:
        for other, content in was.items():
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_bytes(content)


@pytest.mark.parametrize("name", ["readers", "tables", "official", "models", "settings", "bundles"])
def test_some_damaged_files(folders: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, folder = folders(name)
    source = random.Random(name)
    for _ in range(15):
        path = source.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        content = path.read_bytes()
        path.write_bytes(mutated(content, source))
        monkeypatch.setenv("TORTURE_DAMAGED", str(path))
        try:
            target.read(folder)
        except TriplecheckError:
            pass
        finally:
            path.write_bytes(content)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    with replies.cases(tmp_path_factory.mktemp("replies")) as case:
        yield case


def test_some_hostile_replies(hostile: Case) -> None:
    for number in (*range(36), 207):
        hostile(number, chance(replies.REPLIES, 0, number))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], None]]:
    routes = ("native", "litellm", "coroutine", "sparql", "run")
    with servers.cases(tmp_path_factory.mktemp("servers")) as case:

        def meet(fault: str, route: str) -> None:
            case(list(servers.FAULTS).index(fault) * len(routes) + routes.index(route), random.Random(0))

        yield meet


@pytest.mark.parametrize(
    ("fault", "route"),
    [
        ("drip of the head", "sparql"),
        ("drip of headers", "sparql"),
        ("flood of a body", "litellm"),
        ("gzip bomb", "native"),
        ("gzip bomb", "litellm"),
        ("gzip bomb", "coroutine"),
        ("gzip bomb", "sparql"),
        ("gzip", "sparql"),
        ("redirect to another host", "sparql"),
        ("terms of another type", "sparql"),
        ("reset in the body", "run"),
        ("401 echo", "native"),
    ],
)
def test_a_server_that_fails(faulty: Callable[[str, str], None], fault: str, route: str) -> None:
    faulty(fault, route)


def run_torture(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    places = [TESTS, *(TESTS / name for name in ("app", "evals", "kg", "lms", "optimize", "programs"))]
    path = os.pathsep.join([*map(str, places), *sys.path])
    return subprocess.run(
        [sys.executable, "-m", "torture", *words, "--folder", str(folder)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform != "linux", reason="needs a C compiler on Linux")
def test_some_kills(tmp_path: Path) -> None:
    ended = run_torture(tmp_path, "kills", "--tries", "2", TORTURE_COMMANDS="build")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "kills-0" / "next").is_file()


def test_a_failure_is_recorded_and_the_next_case_runs(tmp_path: Path) -> None:
    def case(number: int, _: random.Random) -> None:
        if number == 1:
            raise Failure("wrong")
        if number == 2:
            while True:
                pass

    attack = Attack("own", "", 3, 0.2, lambda folder: None)  # type: ignore[arg-type, return-value]
    assert attempt(attack, case, 0, 0) == (1, None)
    _, problem = attempt(attack, case, 0, 1)
    assert problem is not None and problem[0] == "wrong"
    _, problem = attempt(attack, case, 0, 2)
    assert problem is not None and "not finished after 0.2 s" in problem[1]
    state = State(tmp_path / "state")
    state.fail(1, *problem)
    state.passed(5)
    again = State(tmp_path / "state")
    assert (again.next, again.tries, len(again.failures())) == (1, 5, 1)
    assert signature(Failure("x")) == "x"


def test_importing_uses_no_network() -> None:
    code = (
        "import sys\n"
        "def hook(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.sendto'):\n"
        "        raise SystemExit(f'network: {event} {args}')\n"
        "sys.addaudithook(hook)\n"
        "import triplecheck\n"
        "[getattr(triplecheck, name) for name in triplecheck.__all__]\n"
        "import triplecheck.app.main, triplecheck.evals, triplecheck.optimize, triplecheck.programs\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
