"""What questions can ask of the things of a class: their relations, with the ends of each, and clauses about them."""

from __future__ import annotations

import functools
import random
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from triplecheck.kg import Direction, IntArray, KnowledgeBase
from triplecheck.kg.plans import write_label, write_value
from triplecheck.kg.types import Literal
from triplecheck.kg.values import Exact, quantity, value_of
from triplecheck.optimize.synth.english import (
    CAMEL,
    Wording,
    WordingKind,
    article,
    base_form,
    be,
    is_participle,
    plural,
    wordings_of,
)
from triplecheck.optimize.synth.shapes import Surroundings, require
from triplecheck.signatures.notation import clean

_MEMBERS, _SAMPLED, _PER_NODE = 5_000, 300, 20  # things of a class whose edges are drawn from
_MOSTLY = 0.8  # share of the values that are of one kind
_YEAR = re.compile(r"(1\d{3}|20\d{2})(?:-\d\d(?:-\d\d)?)?(?:T.*)?")
_SIZES = {
    "age": ("older", "younger", "oldest", "youngest"),
    "area": ("larger", "smaller", "largest", "smallest"),
    "depth": ("deeper", "shallower", "deepest", "shallowest"),
    "elevation": ("higher", "lower", "highest", "lowest"),
    "height": ("taller", "shorter", "tallest", "shortest"),
    "length": ("longer", "shorter", "longest", "shortest"),
    "mass": ("heavier", "lighter", "heaviest", "lightest"),
    "speed": ("faster", "slower", "fastest", "slowest"),
    "weight": ("heavier", "lighter", "heaviest", "lightest"),
    "width": ("wider", "narrower", "widest", "narrowest"),
}
_ACTIVE = {
    "built": "builds",
    "composed": "composed",
    "created": "created",
    "designed": "designed",
    "directed": "directed",
    "employed": "employs",
    "founded": "founded",
    "made": "makes",
    "managed": "manages",
    "owned": "owns",
    "painted": "painted",
    "produced": "produced",
    "published": "published",
    "written": "wrote",
}


@dataclass(frozen=True, eq=False)
class Facet:
    """A relation of the things of a class.

    Attributes:
        sort: what its ends are: thing, number or year.
        ends: the label of the class of most ends; empty if they have none.
        heads, tails: edges of the things.
        sizes: of the values, by position; only of numbers and years.
    """

    label: str
    wording: Wording
    sort: str
    ends: str
    heads: IntArray
    tails: IntArray
    sizes: tuple[Exact, ...] = field(repr=False, default=())

    @property
    def name(self) -> str:
        """As plans write it."""
        return write_label(self.label)

    @property
    def adjectives(self) -> tuple[str, str, str, str] | None:
        """More, less, most and least of it, as adjectives."""
        return _SIZES.get(self.wording.text.lower()) if self.wording.kind is WordingKind.NOUN else None


@dataclass(frozen=True, eq=False)
class Kind:
    """A class, or the whole graph where it has no classes.

    Attributes:
        label: of the class; empty for the whole graph.
    """

    label: str
    nodes: IntArray
    facets: tuple[Facet, ...]

    @property
    def one(self) -> str:
        """A noun for one of its things."""
        return noun(self.label) or "thing"

    @property
    def many(self) -> str:
        """A noun for several of its things."""
        return plural(self.one)

    @property
    def variable(self) -> str:
        """The variable of its things in plans."""
        plain = re.sub(r"\W+", "_", self.one)
        return f"?{plain}" if re.fullmatch(r"[a-z][a-z_]*", plain) and plain not in ("n", "total") else "?x"

    def pattern(self, variable: str = "") -> str:
        """What a plan says of the class, up to the first predicate."""
        variable = variable or self.variable
        return f"{variable} a {write_label(self.label)} ; " if self.label else f"{variable} "


def noun(label: str) -> str:
    """The label of a class as a noun."""
    words = CAMEL.sub(" ", label).strip()
    return words if words.isupper() else words.lower()


class Lot:
    """Draws classes, relations and things of a knowledge base at random; raises `DrawError` where there are none."""

    def __init__(self, kb: KnowledgeBase, lot: random.Random) -> None:
        self.graph, self.lot = kb.columnar, lot
        self.around = Surroundings(kb, lot)
        self._ids: dict[str, list[str]] = {}
        for id in self.graph.type_ids:
            self._ids.setdefault(clean(self.graph.type_label(id)), []).append(id)
        self._kind = functools.lru_cache(500)(self._read)

    def kind(self, label: str | None = None) -> Kind:
        """A class, drawn if not given; the whole graph if it has no classes."""
        if label is None:
            label = self.lot.choice(list(self._ids)) if self._ids else ""
        return self._kind(label)

    def facet(self, kind: Kind, *sorts: str, other: Facet | None = None) -> Facet:
        """A relation of a class whose ends are of one of these sorts."""
        found = [one for one in kind.facets if one.sort in sorts and one is not other]
        require(found)
        return self.lot.choice(found)

    def link(self, kind: Kind, other: Facet | None = None) -> tuple[Facet, int, int]:
        """A relation of a class to things, other than this one, with an edge whose ends have names."""
        facet = self.facet(kind, "thing", other=other)
        return (facet, *self.edge(facet))

    def edge(self, facet: Facet) -> tuple[int, int]:
        """An edge whose ends have names, or a head with a name and a value."""
        at = self.lot.randrange(len(facet.heads))
        head, tail = self.around.named(int(facet.heads[at])), int(facet.tails[at])
        return head, self.around.named(tail) if facet.sort == "thing" else tail

    def value(self, facet: Facet) -> tuple[str, str, Exact]:
        """A value of a relation of numbers or years: as a question says it, as a plan writes it, and its size."""
        at = self.lot.randrange(len(facet.tails))
        text, size = value_of(self.graph, int(facet.tails[at])).lexical.strip(), facet.sizes[at]
        if facet.sort == "year":
            year = text[:4]
            return year, year, size
        found = quantity(Literal(text))
        if found is not None and found.unit:
            return text, write_value(Literal(text)), size
        unit = facet.wording.unit
        plain = text.replace(",", "")
        return (f"{text} {unit}" if unit else text), plain, size

    def name(self, node: int) -> tuple[str, str]:
        """The name of a thing, if it is unique, in a question and in a plan."""
        return self.around.name(self.around.named(node)), write_label(self.graph.label(node))

    # --- reading ---------------------------------------------------------------------------------
    def _read(self, label: str) -> Kind:
        if label:
            nodes = np.unique(np.concatenate([np.asarray(self.graph.nodes_of_type(id)) for id in self._ids[label]]))
        else:
            nodes = np.arange(self.graph.num_entities, dtype=np.int64)
        drawn = _spread(nodes, _MEMBERS)
        counts = self.graph.relation_counts(_spread(nodes, _SAMPLED)) if len(nodes) else ()
        relations = [count.relation for count in counts if count.direction is Direction.OUT]
        facets = [found for one in relations if (found := self._facet(one, drawn)) is not None]
        return Kind(label, nodes, tuple(facets))

    def _facet(self, relation: int, nodes: IntArray) -> Facet | None:
        graph = self.graph
        edges = graph.expand(nodes, relation, Direction.OUT, _PER_NODE)
        heads, tails = edges.heads.astype(np.int64), edges.tails.astype(np.int64)
        label = clean(graph.relation(relation).label)
        seen = _spread(np.arange(len(heads)), _SAMPLED).tolist()
        if not seen or all(graph.node_id(int(tails[at])) in graph.types(int(heads[at])) for at in seen):
            return None  # nothing, or what `a` says
        words = wordings_of(graph, relation)
        found = [quantity(value_of(graph, int(tail))) for tail in tails]
        sizes = Counter(one.kind for one in found if one is not None)
        if sizes and sizes.most_common(1)[0][1] >= _MOSTLY * len(found):
            kind = sizes.most_common(1)[0][0]
            if not words and is_participle(label):
                words = [Wording(WordingKind.PASSIVE, label)]
            kept = [at for at, one in enumerate(found) if one is not None and one.kind == kind]
            texts = [value_of(graph, int(tails[at])).lexical.strip() for at in kept]
            years = all(_YEAR.fullmatch(text) for text in texts)
            if not words or (kind == "time" and not years) or (not years and words[0].kind is not WordingKind.NOUN):
                return None
            of = tuple(one.size for one in found if one is not None and one.kind == kind)
            return Facet(label, words[0], "year" if years else "number", "", heads[kept], tails[kept], of)
        if not words or any(graph.literal(int(tails[at])) is not None for at in seen):
            return None
        types = Counter(clean(graph.type_label(kind)) for at in seen for kind in graph.types(int(tails[at])))
        return Facet(label, words[0], "thing", types.most_common(1)[0][0] if types else "", heads, tails)


def _spread(nodes: IntArray, count: int) -> IntArray:
    found: IntArray = nodes[np.linspace(0, len(nodes) - 1, min(count, len(nodes))).astype(int)]
    return found


# --- clauses -------------------------------------------------------------------------------------
def bounded(facet: Facet, comparison: str, value: str, *, many: bool = True) -> str:
    """What follows "the things that" of a bound: "were made before 1900", "have a price of at least 18"."""
    wording, have, are = facet.wording, "have" if many else "has", "are" if many else "is"
    if facet.sort == "year":
        said = {"<": "before", ">": "after"}.get(comparison, comparison)
        return f"{timed(facet, many)} {said} {value}"
    if facet.adjectives and comparison in "<>":
        return f"{are} {facet.adjectives[comparison == '<']} than {value}"
    words = {">": "of more than", "<": "of less than", ">=": "of at least", "<=": "of at most"}
    return f"{have} {article(wording.text)} {words.get(comparison, comparison)} {value}"


def timed(facet: Facet, many: bool = True) -> str:
    """The beginning of a clause that ends with a point in time: "were made", "have a date"."""
    wording = facet.wording
    if wording.kind in (WordingKind.NOUN, WordingKind.ROLE_OF):
        return f"{'have' if many else 'has'} {article(wording.text)}"
    words = wording.words[:-1] if wording.preposition and len(wording.words) > 1 else wording.words
    if wording.kind is WordingKind.PASSIVE:
        return " ".join([be(wording, many), *words])
    first = (base_form(words[0]) or words[0]) if many and wording.kind is WordingKind.VERB else words[0]
    return " ".join([first, *words[1:]])


def is_it(facet: Facet, head: str, tail: str) -> str:
    """Whether an edge is there, as a question."""
    wording = facet.wording
    match wording.kind:
        case WordingKind.NOUN:
            return f"Is {tail} the {wording.text} of {head}?"
        case WordingKind.ROLE_OF:
            return f"Is {head} {article(wording.text)} {tail}?"
        case WordingKind.PASSIVE:
            return f"{be(wording).capitalize()} {head} {wording.text} {tail}?"
        case WordingKind.VERB:
            first, *rest = wording.words
            return " ".join(["Does", head, base_form(first) or first, *rest, f"{tail}?"])
        case WordingKind.PAST:
            return f"Is it true that {head} {wording.text} {tail}?"


def has_many(facet: Facet, things: str, which: str) -> str:
    """Which thing at the end of a relation has so many at its beginning ("the most ships")."""
    wording = facet.wording
    match wording.kind:
        case WordingKind.NOUN:
            return f"Which {which} is the {wording.text} of {things}?"
        case WordingKind.ROLE_OF:
            return f"Of which {which} are {things} {plural(wording.text.removesuffix(' of'))}?"
        case WordingKind.PASSIVE:
            active = _ACTIVE.get(wording.words[0]) if wording.words[1:] == ["by"] else None
            return (
                f"Which {which} {active} {things}?"
                if active
                else f"Which {which} {be(wording, True)} {things} {wording.text}?"
            )
        case WordingKind.VERB:
            first, *rest = wording.words
            return " ".join([f"Which {which} do", things, base_form(first) or first, *rest]) + "?"
        case WordingKind.PAST:
            return f"Which {which} is it that {things} {wording.text}?"
