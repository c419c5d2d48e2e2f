"""Embedding scores on arrays, compared with PyKEEN's predict functions; five million memory-mapped entities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.measurement import Measurement, Options
from bench.timing import fresh_process, interleaved
from triplecheck.kg.embedding import TrainingOptions
from triplecheck.kg.embedding.models import make_model
from triplecheck.kg.embedding.training import scorer_of

_TRIPLES, _PAIRS, _BEST, _DIMENSIONS = 1000, 20, 10, 128
_ENTITIES, _RELATIONS = 15_000, 237
_LARGE, _LARGE_DIMENSIONS, _BLOCK = 5_000_000, 256, 50_000
_AGREE = 1e-4

_SCORE = """
import json, sys, time
from pathlib import Path
from bench.timing import peak_memory
import numpy as np
from triplecheck.kg.embedding import ArrayScorer, _files
from triplecheck.kg.embedding.scoring import interaction_of
arrays, _ = _files.open_mapped(Path(sys.argv[1]))
scorer = ArrayScorer(interaction_of("ComplEx"), arrays["entities"], arrays["relations"])
rng = np.random.default_rng(0)
heads, tails = rng.integers(0, scorer.num_entities, (2, 1000))
relations = rng.integers(0, len(arrays["relations"]) // 2, 1000)
scorer.score(heads, relations, tails)
start = time.perf_counter()
scorer.score(heads, relations, tails)
triples = time.perf_counter() - start
scorer.all_tails(heads[:1], relations[:1])
start = time.perf_counter()
assert np.isfinite(scorer.all_tails(heads[1:2], relations[1:2])).all()
tails = time.perf_counter() - start
peak = peak_memory()
print(json.dumps({"triples": triples, "tails": tails, "peak": peak}))
"""


def embeddings(options: Options) -> Iterator[Measurement]:
    """Time for 1,000 triples and for all tails of a pair, and memory for millions of entities."""
    yield from _against_pykeen(options)
    yield from _large(options)


def _against_pykeen(options: Options) -> Iterator[Measurement]:
    import torch
    from pykeen.predict import predict_target, predict_triples

    model = make_model(TrainingOptions(dimensions=_DIMENSIONS), _ENTITIES, _RELATIONS).eval()
    scorer = scorer_of(model)
    rng = np.random.default_rng(0)
    triples = np.stack([rng.integers(0, top, _TRIPLES) for top in (_ENTITIES, _RELATIONS, _ENTITIES)], axis=1)
    given = torch.from_numpy(triples)
    theirs = predict_triples(model, triples=given).scores.numpy()
    _agree(scorer.score(*triples.T), theirs)
    median = interleaved(
        {"ours": lambda: scorer.score(*triples.T), "theirs": lambda: predict_triples(model, triples=given)},
        options.rounds,
    )
    note = f"ComplEx, {_DIMENSIONS} dimensions; equal within {_AGREE:g}"
    yield Measurement(
        "score 1,000 triples", median["ours"] * 1e3, "ms", "PyKEEN", median["theirs"] * 1e3, 10, note=note
    )

    heads, relations = triples[:_PAIRS, 0], triples[:_PAIRS, 1]
    with torch.inference_mode():
        all_theirs = model.predict_t(given[:_PAIRS, :2]).numpy()
    _agree(scorer.all_tails(heads, relations), all_theirs)

    def rank() -> None:
        scores = scorer.all_tails(heads, relations)
        best = np.argpartition(scores, -_BEST, axis=1)[:, -_BEST:]
        np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)

    def rank_pykeen() -> None:
        for head, relation in triples[:_PAIRS, :2].tolist():
            predict_target(model, head=head, relation=relation)

    median = interleaved({"ours": rank, "theirs": rank_pykeen}, options.rounds, _PAIRS)
    label = f"the {_BEST} best of all {_ENTITIES:,} tails"
    note += f"; {_PAIRS} pairs, ours in one call; PyKEEN's predict_target takes one at a time and sorts all"
    yield Measurement(label, median["ours"] * 1e3, "ms", "PyKEEN", median["theirs"] * 1e3, 10, note=note)


def _agree(ours: Any, theirs: Any) -> None:
    if (difference := float(np.abs(ours - theirs).max())) > _AGREE:
        raise RuntimeError(f"scores differ from PyKEEN's by {difference:g}")


def _large(options: Options) -> Iterator[Measurement]:
    entities = _LARGE // 100 if options.quick else _LARGE
    path = options.work / "large.safetensors"
    _write_large(path, entities)
    size = path.stat().st_size
    found = fresh_process(_SCORE, path)
    path.unlink()
    label = f"{entities:,} entities x {_LARGE_DIMENSIONS} complex, half precision, mapped"
    note = f"{size / 1e9:.2f} GB on disk; the peak includes mapped pages"
    yield Measurement(f"{label}: peak memory", found["peak"] / 1e9, "GB", bound=6, note=note)
    yield Measurement(f"{label}: score 1,000 triples", found["triples"] * 1e3, "ms")
    yield Measurement(f"{label}: all tails of a pair", found["tails"], "s")


def _write_large(path: Path, entities: int) -> None:
    """Write a file of embeddings block by block, without holding it in memory."""
    width = 2 * _LARGE_DIMENSIONS
    header: dict[str, Any] = {}
    at = 0
    for name, rows in (("entities", entities), ("relations", 2 * _RELATIONS)):
        end = at + rows * width * 2
        header[name] = {"dtype": "F16", "shape": [rows, width], "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    rng = np.random.default_rng(0)
    block = (0.1 * rng.standard_normal((_BLOCK, width), np.float32)).astype(np.float16)
    with path.open("wb") as sink:
        sink.write(len(text).to_bytes(8, "little") + text)
        left = entities + 2 * _RELATIONS
        while left > 0:
            # Repeat one random block: the values do not affect the time.
            sink.write(block[: min(left, _BLOCK)].data)
            left -= _BLOCK
