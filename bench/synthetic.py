"""Synthetic graphs and names with realistic properties: few hubs and many leaves, homonyms, misspellings."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg.columnar_build import NumberedGraph
from triplecheck.kg.types import Relation

Int = npt.NDArray[Any]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GIVEN = _words(
    """
    James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan
    Joseph Jessica Thomas Sarah Christopher Karen Charles Nancy Daniel Lisa Matthew Betty Anthony Helen Mark
    Sandra Jürgen Zoë Anaïs Søren Łukasz José Renée Giulia Hiroshi Aiko Mei Wei Priya Arjun Fatima Omar Yusuf
    Leila Olga Dmitri Ingrid Lars Niamh Siobhán Kwame Amara Thandiwe Mateo Lucía Camila
    """
)
_ONSETS = _words("b br c ch d dr f fl g gr h j k kl l m n p pr qu r s sch st t tr v w z")
_VOWELS = _words("a e i o u au ei ie ou ai")
_CODAS = _words("n r l s t nd rt ck m ng lt x")
_ENDINGS = _words("son berg mann ski ez ini er a o ova ley ton field sen")
_ADJECTIVES = _words(
    """
    Last Silent Golden Broken Hidden Red Black White Lost Final Secret Burning Frozen Endless Bitter Sweet
    Distant Strange Perfect Wild Dark Bright Forgotten Invisible Electric
    """
)
_NOUNS = _words(
    """
    Garden River King Summer Winter Night Road Mountain House Letter Dream Stranger Soldier Daughter Island
    Harbour Storm Mirror Promise Shadow Kingdom Forest Train Window Empire Lantern Orchard Voyage Harvest
    Witness
    """
)
_PLACES = _words("Upper Lower New Old Saint San Port Mount Lake East West North")


@dataclass(frozen=True)
class Size:
    """Size of a synthetic graph. `triples` is the number of drawn triples, a few of which repeat."""

    triples: int
    nodes: int
    relations: int


SIZES = {
    "200k": Size(200_000, 20_000, 18),
    "1M": Size(1_000_000, 40_000, 18),
    "8M": Size(8_000_000, 129_000, 18),
    "50M": Size(50_000_000, 5_000_000, 200),
}


def edges(size: Size) -> tuple[Int, Int, Int]:
    """Heads, relations, tails of a graph whose degrees and relation frequencies follow power laws."""
    rng = np.random.default_rng(0)
    return (
        _skewed(rng, size.nodes, size.triples, 0.55),
        _skewed(rng, size.relations, size.triples, 0.7),
        _skewed(rng, size.nodes, size.triples, 0.7),
    )


def _skewed(rng: np.random.Generator, n: int, draws: int, exponent: float) -> Int:
    """Numbers below n; the r-th most likely has weight r ** -exponent, and the order of likelihood is random."""
    ranks = (n * rng.random(draws) ** (1 / (1 - exponent))).astype(np.int32)
    return rng.permutation(n).astype(np.int32)[np.minimum(ranks, n - 1)]


def numbered(size: Size, ids: list[str] | None = None) -> NumberedGraph:
    """The graph as input of `kg.columnar_build.write_graph`; labels equal ids."""
    heads, relations, tails = edges(size)
    names = pa.array(ids if ids is not None else short_ids(size.nodes))
    return NumberedGraph(
        heads=heads,
        relations=relations,
        tails=tails,
        ids=names,
        labels=names,
        descriptions=pa.array([""] * size.nodes, pa.string()),
        aliases=pa.array([[]] * size.nodes, pa.list_(pa.string())),
        literal_datatypes=np.empty(0, np.int32),
        datatypes=[],
        type_offsets=np.zeros(size.nodes + 1, np.int64),
        type_codes=np.empty(0, np.int32),
        types=[],
        relation_table=[Relation(name, name.replace("_", " ")) for name in relation_ids(size.relations)],
    )


def short_ids(n: int) -> list[str]:
    return [f"m.{i:06x}" for i in range(n)]


def relation_ids(n: int) -> list[str]:
    return [f"{_ADJECTIVES[i % 25]}_{_NOUNS[i // 25 % 30]}_of".lower() for i in range(n)]


def write_tsv(size: Size, path: Path) -> None:
    """Write the graph as gzipped `head TAB relation TAB tail`; ids are names of people, films and places."""
    with gzip.open(path, "wb", compresslevel=1) as sink:
        for chunk in _lines(size, b"%b\t%b\t%b\n", [n.encode() for n in distinct_names(size.nodes)]):
            sink.write(chunk)


def write_ntriples(size: Size, path: Path) -> None:
    """Write the triples of `write_tsv` as N-Triples; ids are IRIs."""
    iris = [f"http://example.org/{i}".encode() for i in short_ids(size.nodes)]
    with path.open("wb") as sink:
        for chunk in _lines(size, b"<%b> <http://example.org/%b> <%b> .\n", iris):
            sink.write(chunk)


def _lines(size: Size, form: bytes, ids: list[bytes]) -> Iterable[bytes]:
    heads, relations, tails = edges(size)
    names = [r.encode() for r in relation_ids(size.relations)]
    for start in range(0, size.triples, 250_000):
        part = slice(start, start + 250_000)
        rows = zip(heads[part].tolist(), relations[part].tolist(), tails[part].tolist(), strict=True)
        yield b"".join([form % (ids[h], names[r], ids[t]) for h, r, t in rows])


# --- names -------------------------------------------------------------------------------------------
def names(n: int) -> list[str]:
    """Names of people (60%), films (25%) and places (15%); some names repeat."""
    rng = np.random.default_rng(1)
    surnames = _surnames(rng, max(2000, n // 20))
    kinds = rng.random(n)
    a, b, c = (rng.integers(0, 1 << 30, n).tolist() for _ in range(3))
    return [
        _person(surnames, *draw) if kind < 0.6 else _film(surnames, *draw) if kind < 0.85 else _place(surnames, *draw)
        for kind, draw in zip(kinds.tolist(), zip(a, b, c, strict=True), strict=True)
    ]


def distinct_names(n: int) -> list[str]:
    """Names as ids: repeated names get a number."""
    seen: dict[str, int] = {}
    unique = []
    for name in names(n):
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _surnames(rng: np.random.Generator, n: int) -> list[str]:
    draws = rng.integers(0, 1 << 30, (n, 5)).tolist()
    return [
        (
            _ONSETS[a % len(_ONSETS)]
            + _VOWELS[b % len(_VOWELS)]
            + _CODAS[c % len(_CODAS)]
            + (_VOWELS[d % len(_VOWELS)] + _CODAS[d // 64 % len(_CODAS)] if d % 3 else "")
            + (_ENDINGS[e % len(_ENDINGS)] if e % 2 else "")
        ).capitalize()
        for a, b, c, d, e in draws
    ]


def _person(surnames: list[str], a: int, b: int, c: int) -> str:
    given, family = _GIVEN[a % len(_GIVEN)], surnames[b % len(surnames)]
    if c % 4 == 0:
        return f"{given} {_GIVEN[c // 4 % len(_GIVEN)]} {family}"
    return f"{given} {family}-{surnames[c % len(surnames)]}" if c % 4 == 1 else f"{given} {family}"


def _film(surnames: list[str], a: int, b: int, c: int) -> str:
    adjective, noun, name = _ADJECTIVES[a % 25], _NOUNS[b % 30], surnames[c % len(surnames)]
    forms = (
        f"The {adjective} {noun} of {name}",
        f"{name}'s {noun}",
        f"{adjective} {noun}: {name}",
        f"The {noun} of {name}",
    )
    return forms[a // 25 % 4]


def _place(surnames: list[str], a: int, b: int, c: int) -> str:
    name, other = surnames[b % len(surnames)], surnames[c % len(surnames)]
    return (f"{_PLACES[a % 12]} {name}", f"{name} upon {other}", f"{name} County", f"{other}-{name}")[a // 12 % 4]


def misspell(text: str, edits: int, rng: np.random.Generator) -> str:
    """Drop, insert, replace or swap letters; the first letter and spaces do not change."""
    for _ in range(edits):
        at = int(rng.choice([i for i in range(1, len(text)) if text[i].isalpha()]))
        letter = chr(ord("a") + int(rng.integers(26)))
        kind = int(rng.integers(4))
        if kind == 0:
            text = text[:at] + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + letter + text[at:]
        elif kind == 2 or at + 1 >= len(text) or not text[at + 1].isalpha():
            text = text[:at] + letter + text[at + 1 :]
        else:
            text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text
