"""WordNet as a knowledge base: reads the files of Debian's package wordnet-base (`data.noun`, `data.verb`, ...).

apt-get install wordnet-base
python examples/wordnet.py /usr/share/wordnet kbs/wordnet
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from triplecheck import KnowledgeBase

# The pointer symbols of wninput(5).
RELATIONS = {
    "!": "antonym",
    "@": "hypernym",
    "@i": "instance of",
    "~": "hyponym",
    "~i": "has instance",
    "#m": "member of",
    "#s": "substance of",
    "#p": "part of",
    "%m": "has member",
    "%s": "has substance",
    "%p": "has part",
    "=": "attribute",
    "+": "derivationally related form",
    "*": "entails",
    ">": "causes",
    "^": "also see",
    "$": "verb group",
    "&": "similar to",
    "<": "participle of",
    "\\": "pertains to",
    ";c": "topic",
    ";r": "region",
    ";u": "usage",
    "-c": "is topic of",
    "-r": "is region of",
    "-u": "is usage of",
}
PARTS = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}


def synsets(path: Path) -> Iterator[tuple[dict[str, str], list[tuple[str, str, str]]]]:
    """Each set of synonyms of a file: its description, and its triples."""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("  "):  # the licence
            continue
        data, _, gloss = line.partition(" | ")
        offset, _, part, count, *rest = data.split()
        words = [word.replace("_", " ").split("(")[0] for word in rest[: 2 * int(count, 16) : 2]]
        pointers = rest[2 * int(count, 16) :]
        kind = part.replace("s", "a")
        triples = []
        for at in range(int(pointers[0])):
            symbol, target, other, _ = pointers[1 + 4 * at : 5 + 4 * at]
            triples.append((f"{kind}{offset}", RELATIONS[symbol], f"{other}{target}"))
        about = {"id": f"{kind}{offset}", "label": words[0], "aliases": "|".join(words[1:])}
        yield about | {"description": gloss.strip(), "type": PARTS[part]}, triples


def build(folder: Path, out: Path) -> KnowledgeBase:
    """Read all four files and build a knowledge base."""
    entities, triples = [], []
    for name in ("data.noun", "data.verb", "data.adj", "data.adv"):
        for about, found in synsets(folder / name):
            entities.append(about)
            triples += found
    return KnowledgeBase.from_triples(triples, out, entities=pd.DataFrame(entities))


if __name__ == "__main__":
    print(build(Path(sys.argv[1]), Path(sys.argv[2])))
