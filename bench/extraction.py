"""How well triples are extracted: precision and recall against triples that others extracted from the same passages.

`python -m bench.extraction DATA --limit 300`, where DATA has `corpus.jsonl.gz` (title, text, src) and
`musique_openie_triples.tsv.gz`. The reference does not say which passage a triple is from: it belongs to the passages
that hold both its ends as whole words. It was made by an OpenIE program and is noisy.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from triplecheck.kg import normalize
from triplecheck.kg.documents import Document
from triplecheck.lms import session
from triplecheck.programs.extract import TripleExtractor

Triple = tuple[str, str, str]
_SMALL = frozenset(
    "a an the of in on at to by for from with and is are was were be been has have had its their his her".split()
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.extraction", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="passages, chosen by a hash of their titles")
    parser.add_argument("--lm", default="extractive")
    parser.add_argument("--show", type=int, default=0, help="passages to print with both lists")
    asked = parser.parse_args()
    passages = sorted(_passages(asked.data), key=lambda one: hashlib.sha256(one.title.encode()).hexdigest())
    reference = _of_passages(asked.data, passages)
    chosen = [one for one in passages if reference[one.id]][: asked.limit]
    started = time.perf_counter()
    with session(asked.lm) as ledger:
        extractor = TripleExtractor()
        found = {one.id: [_plain(s.triple) for s in extractor.read(one).stated] for one in chosen}
    seconds = time.perf_counter() - started
    given, wanted = sum(map(len, found.values())), sum(len(reference[one.id]) for one in chosen)
    print(f"{len(chosen)} passages, {wanted} reference triples, {given} extracted by {asked.lm}")
    print(f"{seconds:.0f} s, {ledger.usage().calls} calls")
    for name, same in MATCHES.items():
        right = sum(any(same(one, other) for other in reference[p.id]) for p in chosen for one in found[p.id])
        met = sum(any(same(one, other) for one in found[p.id]) for p in chosen for other in reference[p.id])
        precision, recall = right / max(given, 1), met / max(wanted, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        print(f"{name}: precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")
    for passage in chosen[: asked.show]:
        print(f"\n{passage.title}: {passage.text}")
        print("reference", *sorted(reference[passage.id]), sep="\n  ")
        print("extracted", *found[passage.id], sep="\n  ")


def _passages(data: Path) -> Iterator[Document]:
    with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            if row["src"] == "musique":
                yield Document(str(number), None, row["title"], row["text"])


def _of_passages(data: Path, passages: Iterable[Document]) -> dict[str, set[Triple]]:
    """The reference triples of each passage."""
    with gzip.open(data / "musique_openie_triples.tsv.gz", "rt", encoding="utf-8") as lines:
        triples = [
            _plain((row[0], row[1], row[2])) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    by_head: dict[str, list[Triple]] = defaultdict(list)
    for triple in triples:
        if all(triple):
            by_head[triple[0]].append(triple)
    longest = max(len(head.split()) for head in by_head)
    found: dict[str, set[Triple]] = {}
    for passage in passages:
        text = normalize(f"{passage.title} {passage.text}")
        words = text.split()
        heads = {
            " ".join(words[at : at + size]) for at in range(len(words)) for size in range(1, longest + 1)
        } & by_head.keys()
        found[passage.id] = {one for head in heads for one in by_head[head] if f" {one[2]} " in f" {text} "}
    return found


def _plain(triple: Triple) -> Triple:
    head, relation, tail = (normalize(part) for part in triple)
    return head, relation, tail


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text)) - _SMALL


def _overlap(one: Collection[str], other: Collection[str]) -> float:
    """F1 of two sets of words."""
    return 2 * len(set(one) & set(other)) / max(len(one) + len(other), 1)


def _same_ends(one: Triple, other: Triple) -> bool:
    return one[0] == other[0] and one[2] == other[2]


def _near_ends(one: Triple, other: Triple) -> bool:
    return all(_overlap(_words(one[at]), _words(other[at])) >= 0.5 for at in (0, 2))


def _near(one: Triple, other: Triple) -> bool:
    stems = [{word[:5] for word in _words(triple[1])} for triple in (one, other)]
    return _near_ends(one, other) and (bool(stems[0] & stems[1]) or one[1] == other[1])


MATCHES: dict[str, Callable[[Triple, Triple], bool]] = {
    "head and tail equal": _same_ends,
    "half of the words of head and of tail": _near_ends,
    "the same, and a word of the relation": _near,
}
"""When an extracted triple is a reference triple; words without articles, prepositions and auxiliaries."""


if __name__ == "__main__":
    main()
