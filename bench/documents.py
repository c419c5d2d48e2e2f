"""How long documents take to store and to search: in the files of a knowledge base, in LanceDB, in Qdrant.

python -m bench.documents --documents 10000 64000 --places files lancedb
python -m bench.documents --documents 64000 --places qdrant:http://localhost:6333

Passages of 60 words, skewed as in real text, and random vectors of 384 dimensions: their encoding is not measured here.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.timing import each, percentile
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.document_stores import upload
from triplecheck.kg.documents import Document, Documents, DocumentStore

_WORDS, _LENGTH, _QUESTIONS = 50_000, 60, 50


class Passages:
    """Synthetic documents, the same whenever they are read."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Document]:
        random = np.random.default_rng(0)
        for row in range(self.count):
            words = (_WORDS * random.random(_LENGTH) ** 4).astype(int)
            yield Document(f"d{row}", f"node {row // 4}", f"title {row}", " ".join(f"word{n}" for n in words))


class RandomVectors:
    """An encoder of random vectors of length 1."""

    name, fingerprint, dimensions = "random", "random", 384

    def encode(self, texts: Sequence[str], *_: Any) -> FloatArray:
        vectors = np.random.default_rng(len(texts[0])).standard_normal((len(texts), self.dimensions), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _stored(place: str, passages: Passages, folder: Path) -> Documents:
    if place == "files":
        store = DocumentStore.build(passages, folder / "files")
        store.build_vectors(RandomVectors())
        return store
    where = place if ":http" in place else f"{place}:{folder / place}"
    return upload(passages, where, RandomVectors())


def _milliseconds(search: Callable[[str], Any]) -> float:
    questions = [" ".join(f"word{n}" for n in (7 * q % 400, 900 + q, 20_000 + 31 * q)) for q in range(_QUESTIONS)]
    search(questions[0])
    return 1000 * percentile(each(search, questions), 0.5)


def main() -> None:
    """Measure each size and place, and print a table; what is in --out is not repeated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000])
    parser.add_argument("--places", nargs="+", default=["files", "lancedb"])
    parser.add_argument("--out", type=Path, default=Path("build/bench/documents.jsonl"))
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    print("| documents | place | stored, s | documents/s | MB | by words, ms | by vectors, ms |\n|" + "---|" * 7)
    for count in asked.documents:
        for place in asked.places:
            key = {"documents": count, "place": place}
            found = next((row for row in known if key.items() <= row.items()), None)
            if found is None:
                with tempfile.TemporaryDirectory() as folder:
                    began = time.perf_counter()
                    documents = _stored(place, Passages(count), Path(folder))
                    seconds = time.perf_counter() - began
                    found = key | {
                        "seconds": seconds,
                        "bytes": sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()),
                        "words": _milliseconds(documents.search),
                        "vectors": _milliseconds(partial(documents.search_dense, encoder=RandomVectors())),
                    }
                with asked.out.open("a") as rows:
                    rows.write(json.dumps(found) + "\n")
            print(
                f"| {count:,} | {place} | {found['seconds']:.0f} | {count / found['seconds']:,.0f} "
                f"| {found['bytes'] / 1e6:,.0f} | {found['words']:.1f} | {found['vectors']:.1f} |"
            )


if __name__ == "__main__":
    main()
