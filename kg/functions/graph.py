"""`FunctionGraph`: a graph, and the results of functions about its entities as further edges.

The functions are described by their schema, so that paths through them are offered and filtered as others are. A
function is called when the edges of its relation are expanded, which is when a path was kept.
"""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from triplecheck.kg.functions.calls import Arguments, Call, Caller
from triplecheck.kg.functions.function import STRING, Function, Parameter
from triplecheck.kg.functions.limits import CallLimits
from triplecheck.kg.functions.shapes import Shape, text, values
from triplecheck.kg.graph import EdgeProperties, Edges, Graph, IntArray, RelationCount, RelationSchema
from triplecheck.kg.linking import Candidate, Linker
from triplecheck.kg.mentions import Mention, ReadText
from triplecheck.kg.names import normalize
from triplecheck.kg.queried import Numbering, ints
from triplecheck.kg.readable import relation_label
from triplecheck.kg.types import XSD, Direction, Entity, Literal, Relation

_PREFIX = "function:"
_TITLES = ("name", "title", "label")
_NOT_KIND = {"name", "id", "title"}

_Key = Entity | Literal
"""A node that is not in the graph: a value, an object of a result (it has a type), or a name that was asked for."""


@dataclass(frozen=True)
class _Offered:
    """A relation that functions add.

    Attributes:
        function: what is called for it about its heads; None for a property of an object of a result.
        key: the property; empty for the result itself.
        domain: type of its heads, if they are objects of a result.
    """

    relation: Relation
    function: Function | None
    key: str
    shape: Shape
    domain: str


class _Told(NamedTuple):
    """The values of one relation in the result of a call, or in an object of it.

    Attributes:
        total: number of the values, with those that a limit cuts off.
    """

    tails: tuple[int, ...]
    total: int


class FunctionGraph:
    """Implements `kg.graph.Graph`. Nodes and relations of the graph keep their numbers. Thread-safe.

    Tails are values, entities of the graph whose only name a text is, and objects of results, which have their
    properties as edges. `relation_counts` counts one edge for each entity that a function takes: what it returns is not
    known before the call. A function with further arguments is offered in the graph of one question alone (`asked`);
    they are properties of its edges.

    Args:
        graph: a graph in files, whose relations are all known.
        linker: finds its entities by name.
        functions: what can be called.
    """

    def __init__(
        self, graph: Graph, linker: Linker, functions: Sequence[Function], limits: CallLimits | None = None
    ) -> None:
        self.stored, self.limits = graph, limits or CallLimits()
        self._linker = linker
        self._caller = Caller(self.limits)
        self._nodes: Numbering[_Key] = Numbering("node")
        self._first_node, self._first_relation = graph.num_nodes, graph.num_relations
        self._offered: list[_Offered] = []
        self._at: dict[tuple[str, str], int] = {}  # (function or type, property) -> relation
        self._lock = threading.Lock()
        self._tails: dict[tuple[int, int], dict[Arguments, _Told]] = {}
        self._heads: dict[tuple[int, int], dict[int, None]] = {}
        self._given: tuple[Sequence[Literal], Sequence[int]] = (), ()  # values and topics of a question
        kinds = {normalize(graph.type_label(id)): id for id in graph.type_ids}
        self._kinds: dict[str, tuple[str, ...]] = {}
        for function in functions:
            for name in (function.subject.name, *(argument.name for argument in function.further)):
                named = normalize(" ".join(w for w in relation_label(name).split() if w not in _NOT_KIND))
                self._kinds[name] = (kinds[named],) if named in kinds else ()
            self._offer(function)

    def __getattr__(self, name: str) -> Any:
        # What functions do not change is that of the graph; only what the protocol names is passed on.
        if name.startswith("_") or not hasattr(Graph, name):
            raise AttributeError(name)
        return getattr(self.stored, name)

    def asked(self, values: Sequence[Literal], topics: Sequence[int]) -> FunctionGraph:
        """The graph of one question, which gives the further arguments of functions. Nodes and results are shared.

        Args:
            values: its dates and numbers.
            topics: nodes; each may be an argument of what is called about another one.
        """
        other = copy.copy(self)
        other._given = values, topics
        return other

    # --- the relations ---------------------------------------------------------------------------
    def _offer(self, function: Function) -> None:
        id, shape = f"{_PREFIX}{function.id}", function.shape
        if not shape.fields or function.shape.many:
            self._add(id, function.label, function.description, function, "", shape, "")
        for key, about, part in () if function.shape.many else shape.fields:
            label = f"{function.label} {relation_label(key)}"
            self._add(f"{id}/{key}", label, about or function.description, function, key, part, "")
        self._add_parts(shape, inside=function.shape.many)

    def _add_parts(self, shape: Shape, *, inside: bool) -> None:
        """The relations of the objects of a result, and of the objects within them."""
        kind = f"{_PREFIX}{shape.title}"
        for key, about, part in shape.fields:
            if inside and (kind, key) not in self._at:
                self._add(f"{kind}/{key}", relation_label(key), about, None, key, part, kind)
            self._add_parts(part, inside=True)

    def _add(
        self, id: str, label: str, about: str, function: Function | None, key: str, shape: Shape, domain: str
    ) -> None:
        self._at[domain if function is None else function.id, key] = self._first_relation + len(self._offered)
        self._offered.append(_Offered(Relation(id, label, (), about), function, key, shape, domain))

    @property
    def added(self) -> list[Relation]:
        """The relations that functions add, in order."""
        return [offered.relation for offered in self._offered]

    def offered(self, relation: int) -> _Offered | None:
        """What a relation is that functions add; None for one of the graph."""
        return self._offered[relation - self._first_relation] if relation >= self._first_relation else None

    @property
    def num_nodes(self) -> int:
        return self._first_node + len(self._nodes)

    @property
    def num_relations(self) -> int:
        return self._first_relation + len(self._offered)

    def relation(self, relation: int) -> Relation:
        offered = self.offered(relation)
        return self.stored.relation(relation) if offered is None else offered.relation

    def find_relation(self, id: str) -> int | None:
        own = (self._first_relation + at for at, offered in enumerate(self._offered) if offered.relation.id == id)
        return next(own, None) if id.startswith(_PREFIX) else self.stored.find_relation(id)

    def schema(self, relation: int) -> RelationSchema:
        """As the function declares it."""
        offered = self.offered(relation)
        if offered is None:
            return self.stored.schema(relation)
        kinds = (offered.domain,) if offered.function is None else self._kinds[offered.function.subject.name]
        end = offered.shape.datatype or f"{_PREFIX}{offered.shape.title}"
        return RelationSchema(relation, 0, tuple((kind, 1) for kind in kinds), ((end, 1),))

    # --- nodes -----------------------------------------------------------------------------------
    def _key(self, node: int) -> _Key | None:
        return None if node < self._first_node else self._nodes.key(node - self._first_node)

    def named(self, name: str) -> int:
        """The node of a name that no entity of the graph has: functions may know it."""
        return self._first_node + self._nodes.number(Entity(name, name))

    def find(self, id: str | Literal) -> int | None:
        found = self.stored.find(id)
        if found is not None:
            return found
        known = self._nodes.known(Entity(id, id) if isinstance(id, str) else id)
        if known is None and isinstance(id, str):
            added = range(self._first_node, self.num_nodes)
            return next((node for node in added if self.literal(node) is None and self.node_id(node) == id), None)
        return None if known is None else self._first_node + known

    def node_id(self, node: int) -> str:
        return self.stored.node_id(node) if node < self._first_node else self.entity(node).id

    def label(self, node: int) -> str:
        return self.stored.label(node) if node < self._first_node else self.entity(node).label

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        at = ints(nodes)
        known = iter(self.stored.labels([node for node in at if node < self._first_node]))
        return [next(known) if node < self._first_node else self.label(node) for node in at]

    def entity(self, node: int) -> Entity:
        """Label and types; an entity of the graph has more."""
        key = self._key(node)
        if key is None:
            return self.stored.entity(node)
        return Entity(key.lexical, key.lexical, types=(key.datatype,)) if isinstance(key, Literal) else key

    def literal(self, node: int) -> Literal | None:
        key = self._key(node)
        if key is None:
            return self.stored.literal(node)
        return key if isinstance(key, Literal) else None

    def types(self, node: int) -> tuple[str, ...]:
        return self.stored.types(node) if node < self._first_node else self.entity(node).types

    def type_label(self, type_id: str) -> str:
        own = type_id.startswith(_PREFIX)
        return type_id.removeprefix(_PREFIX) if own else self.stored.type_label(type_id)

    # --- edges -----------------------------------------------------------------------------------
    def arguments(self, node: int, function: Function) -> list[Arguments]:
        """What a function is called with about a node; nothing where it is not offered."""
        if not self._fits(node, function.subject):
            return []
        values, topics = self._given
        given = [
            dict.fromkeys(
                [
                    *(self._text(other, one) for other in topics if other != node and self._fits(other, one)),
                    *(v.lexical for v in values if v.datatype == one.datatype and one.reads(v.lexical)),
                ]
            )
            for one in function.further
        ]
        return list(itertools.product([self._text(node, function.subject)], *given))

    def _text(self, node: int, argument: Parameter) -> str:
        return self.node_id(node) if argument.takes_id else self.label(node)

    def _fits(self, node: int, argument: Parameter) -> bool:
        """Whether a node may be an argument: its type (a value: its datatype) and its text must fit."""
        value = self.literal(node)
        if value is not None:
            kind = _DATATYPES.get(value.datatype, value.datatype)
            return kind != STRING and kind == argument.datatype
        kinds, own = self._kinds[argument.name], self.types(node)
        is_named = self._key(node) is not None
        if own and is_named:  # an object of a result
            return False
        is_of_type = is_named or not kinds or not {*kinds}.isdisjoint(own)
        return is_of_type and (argument.datatype == STRING or argument.reads(self._text(node, argument)))

    def _counts(self, nodes: Sequence[int]) -> Iterator[RelationCount]:
        for direction in Direction:
            for relation, offered in enumerate(self._offered, self._first_relation):
                with self._lock:
                    found = [len(self._known(node, relation, direction)) for node in nodes]
                if offered.function is not None and direction is Direction.OUT:
                    taken = (bool(self.arguments(node, offered.function)) for node in nodes)
                    found = [max(pair) for pair in zip(found, taken, strict=True)]
                if edges := sum(found):
                    yield RelationCount(relation, direction, edges, sum(n > 0 for n in found))

    def _known(self, node: int, relation: int, direction: Direction) -> list[int]:
        """The other ends of the edges that results have added."""
        if direction is Direction.IN:
            return list(self._heads.get((node, relation), ()))
        return [tail for told in self._told(node, relation) for tail in told.tails]

    def _told(self, node: int, relation: int) -> list[_Told]:
        """What results say about a node. A call with further arguments counts if the question gives these."""
        found, function = self._tails.get((node, relation), {}), self._offered[relation - self._first_relation].function
        own = self.arguments(node, function) if found and function is not None and function.further else found
        return [found[arguments] for arguments in own if arguments in found]

    def _of_stored(self, nodes: IntArray | Sequence[int]) -> list[int]:
        return [node for node in ints(nodes) if node < self._first_node]

    def relation_counts(self, nodes: IntArray | Sequence[int]) -> list[RelationCount]:
        """Relations at a set of nodes; nothing is called."""
        own = self._of_stored(nodes)
        found = [*(self.stored.relation_counts(own) if own else ()), *self._counts(ints(nodes))]
        return sorted(found, key=lambda count: (count.direction, count.relation))

    def relations_of(self, node: int) -> list[RelationCount]:
        """Relations at one node; nothing is called."""
        return self.relation_counts([node])

    def degree(self, node: int) -> int:
        """Number of edges of the graph, and of those that results have added."""
        own = self.stored.degree(node) if node < self._first_node else 0
        return own + len(self._added_edges([node], None, None))

    def neighbors(
        self, node: int, relation: int, direction: Direction = Direction.OUT, limit: int | None = None
    ) -> IntArray:
        edges = self.expand([node], relation, direction, limit)
        return np.unique(edges.tails if direction is Direction.OUT else edges.heads)

    def expand(
        self,
        nodes: IntArray | Sequence[int],
        relation: int | None = None,
        direction: Direction | None = None,
        limit_per_node: int | None = None,
    ) -> Edges:
        """Edges at the nodes. Functions are called if their relation is named and followed from the head alone.

        At most `CallLimits.calls` of the nodes are called about; of the others the edges are missing.
        """
        offered = None if relation is None else self.offered(relation)
        if offered is not None and offered.function is not None and direction is Direction.OUT:
            self._call(ints(nodes), offered.function)
        added = self._added_edges(ints(nodes), relation, direction)
        kept, seen = [], dict[tuple[int, int, bool], int]()
        for edge, is_out in added:
            place = (edge[0] if is_out else edge[2], edge[1], is_out)
            seen[place] = seen.get(place, 0) + 1
            if limit_per_node is None or seen[place] <= limit_per_node:
                kept.append(edge)
        heads, relations, tails = np.array(kept, np.int64).reshape(-1, 3).T
        own = self._of_stored(nodes)
        if relation is not None and offered is not None:
            heads_asked = [] if direction is Direction.IN else ints(nodes)
            with self._lock:
                told = [one for node in heads_asked for one in self._told(node, relation)]
            return Edges(heads, relations, tails, len(added) + sum(one.total - len(one.tails) for one in told))
        if not own:
            return Edges(heads, relations, tails, len(added))
        found = self.stored.expand(own, relation, direction, limit_per_node)
        return Edges(
            np.concatenate([found.heads, heads]),
            np.concatenate([found.relations, relations]),
            np.concatenate([found.tails, tails]),
            found.total + len(added),
        )

    def _added_edges(
        self, nodes: Sequence[int], relation: int | None, direction: Direction | None
    ) -> list[tuple[tuple[int, int, int], bool]]:
        """The edges of results, and whether each was followed from its head."""
        first = self._first_relation
        if relation is not None and relation < first:
            return []
        relations = range(first, self.num_relations) if relation is None else (relation,)
        found = []
        with self._lock:
            for node in nodes if len(self._tails) else ():
                for one in relations:
                    if direction is not Direction.IN:
                        found += [((node, one, tail), True) for tail in self._known(node, one, Direction.OUT)]
                    if direction is not Direction.OUT:
                        found += [((head, one, node), False) for head in self._known(node, one, Direction.IN)]
        return found

    def contains(self, head: int, relation: int, tail: int) -> bool:
        """Whether the graph has this edge, or a call has returned it."""
        if relation < self._first_relation:
            return max(head, tail) < self._first_node and self.stored.contains(head, relation, tail)
        with self._lock:
            return any(tail in told.tails for told in self._tails.get((head, relation), {}).values())

    def contains_many(self, heads: IntArray, relations: IntArray, tails: IntArray) -> npt.NDArray[np.bool_]:
        rows = zip(ints(heads), ints(relations), ints(tails), strict=True)
        return np.array([self.contains(*row) for row in rows], bool)

    @property
    def has_edge_properties(self) -> bool:
        return self.stored.has_edge_properties or any(one.function and one.function.further for one in self._offered)

    def edge_properties(self, head: int, relation: int, tail: int) -> tuple[EdgeProperties, ...]:
        """The properties in the graph. Of a function: its further arguments, if the question gives them."""
        offered = self.offered(relation)
        if offered is None:
            return self.stored.edge_properties(head, relation, tail) if max(head, tail) < self._first_node else ()
        function = offered.function
        if function is None or not function.further:
            return ()
        with self._lock:
            found = [one for one, told in self._tails.get((head, relation), {}).items() if tail in told.tails]
        own = self.arguments(head, function)
        return tuple(
            tuple(
                (relation_label(argument.name), Literal(text, argument.datatype))
                for argument, text in zip(function.further, arguments[1:], strict=True)
            )
            for arguments in [one for one in found if one in own] or found
        )

    # --- calls -----------------------------------------------------------------------------------
    def calls(self, nodes: Sequence[int], relation: int) -> list[Call | None]:
        """The calls about some nodes that a relation takes: those that were made and are still kept, else None."""
        offered = self.offered(relation)
        if offered is None or (function := offered.function) is None:
            return []
        return [self._caller.known(function, one) for node in nodes for one in self.arguments(node, function)]

    def _call(self, nodes: Sequence[int], function: Function) -> None:
        wanted = [(node, one) for node in nodes for one in self.arguments(node, function)][: self.limits.calls]
        made = self._caller.call(function, [arguments for _, arguments in wanted])
        for (node, arguments), call in zip(wanted, made, strict=True):
            self._read(node, arguments, function, None if call.error else call.result)

    def _read(self, node: int, arguments: Arguments, function: Function, result: Any) -> None:
        """Store the edges of a result in place of those of an earlier one. None has no edges."""
        place = f"{_PREFIX}{function.id}({', '.join(arguments)})"
        if not function.shape.fields or function.shape.many:
            self._tie(node, self._at[function.id, ""], function.shape, result, place, arguments)
            return
        first: Mapping[str, Any] = next(iter(values(function.shape, result)), {})
        for key, _, part in function.shape.fields:
            self._tie(node, self._at[function.id, key], part, first.get(key), f"{place}/{key}", arguments)

    def _tie(self, head: int, relation: int, shape: Shape, result: Any, place: str, arguments: Arguments = ()) -> None:
        tails: dict[int, None] = {}
        found = list(values(shape, result))
        for at, one in enumerate(found[: self.limits.values]):
            if not isinstance(one, Mapping):
                tails[self._value(one, shape.datatype or STRING)] = None
                continue
            title, own = f"{_PREFIX}{shape.title}", f"{place}/{at + 1}"
            row = self._first_node + self._nodes.number(Entity(own, _name(one, shape, at), types=(title,)))
            tails[row] = None
            for key, _, part in shape.fields:
                self._tie(row, self._at[title, key], part, one.get(key), f"{own}/{key}")
        with self._lock:
            known = self._tails.setdefault((head, relation), {})
            for tail in known[arguments].tails if arguments in known else ():
                self._heads[tail, relation].pop(head, None)
            known[arguments] = _Told(tuple(tails), len(tails) + max(0, len(found) - self.limits.values))
            for tail in tails:
                self._heads.setdefault((tail, relation), {})[head] = None

    def _value(self, lexical: str, datatype: str) -> int:
        """The node of a value: an entity whose only name it is, else a literal."""
        if datatype == STRING:
            named = [c.node for c in self._linker.candidates(lexical, limit=3) if c.source == "label"]
            if len(named) == 1 and normalize(self.stored.label(named[0])) == normalize(lexical):
                return named[0]
        value = Literal(lexical, datatype)
        found = self.stored.find(value)
        return self._first_node + self._nodes.number(value) if found is None else found


_DATATYPES = {XSD + "double": XSD + "decimal"}  # of literals that are given as another one


def _name(row: Mapping[str, Any], shape: Shape, at: int) -> str:
    """What to call an object of a result: its name, or its first text; else its number."""
    texts = [key for key, _, part in shape.fields if part.datatype == STRING and row.get(key)]
    first = next((key for key in _TITLES if key in texts), texts[0] if texts else None)
    return f"{shape.title} {at + 1}" if first is None else f"{shape.title}: {text(row[first])}"


def stored_graph(graph: Graph) -> Graph:
    """The graph without functions."""
    return graph.stored if isinstance(graph, FunctionGraph) else graph


def is_function(graph: Graph, relation: int) -> bool:
    """Whether the edges of a relation are known only after a call."""
    if not isinstance(graph, FunctionGraph):
        return False
    offered = graph.offered(relation)
    return offered is not None and offered.function is not None


def calls_at(graph: Graph, nodes: Sequence[int], relation: int) -> list[Call | None]:
    """The calls about some nodes that a relation takes (`FunctionGraph.calls`); none of a relation of the graph."""
    return graph.calls(nodes, relation) if isinstance(graph, FunctionGraph) else []


class FunctionLinker:
    """A `kg.linking.Linker`. A name that the graph does not have becomes a node, because a function may know it."""

    def __init__(self, linker: Linker, graph: FunctionGraph) -> None:
        self._linker, self._graph = linker, graph

    def mentions(self, question: ReadText) -> list[Mention]:
        """See `kg.Linker`."""
        return self._linker.mentions(question)

    def candidates(
        self, text: str | Mention, question: str | None = None, limit: int = 10, **how: Any
    ) -> list[Candidate]:
        """See `kg.Linker`; a name that the graph does not have is a node, which functions are called with."""
        found = self._linker.candidates(text, question, limit, **how)
        if found or isinstance(text, Mention) or not (written := text.strip()):
            return found
        node = self._graph.named(written)
        return [Candidate(node, written, written, "name", 1.0, score=1.0)]
