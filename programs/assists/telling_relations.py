"""`telling_relations`: of a relation's wordings and types, the prompt shows those that tell most."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.kg import Graph, Words
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import RelationNames
from triplecheck.signatures.notation import WrittenRelation, clean, wordings, write_relation, write_wordings

_AS_COMMON = 0.9  # of the edges of the commonest type: then a type is about as common


def telling_relations(
    assists: Assists, graph: Graph, vectors: RelationVectors | None, numbers: Sequence[int], question: str, trace: Trace
) -> list[str]:
    """Relations for a prompt (E.types), with the types at both ends if the graph has types.

    With the assist a relation has the aliases that the question uses, and of several types that are about as common at
    an end, such as a class and its superclasses, the one that is rarest in the graph.

    Args:
        vectors: of the relations; None to write labels alone.
        trace: records the lines that change.
    """
    names, asked = RelationNames(graph, vectors, question), Words(question)
    rarity = {kind: place for place, kind in enumerate(graph.type_ids)}  # most frequent first

    def line(number: int, telling: bool) -> str:
        schema = graph.schema(number) if graph.has_types else None
        sides = (schema.domain, schema.range) if schema else ()
        ends = [graph.type_label(_type(side, rarity if telling else {})) for side in sides if side]
        head, tail = ends if len(ends) == 2 else ("", "")
        own = [clean(a) for a in graph.relation(number).aliases if telling and a in asked]
        label = write_wordings(dict.fromkeys([*wordings(names[number]), *own]))
        return write_relation(WrittenRelation(label, clean(head), clean(tail)))

    plain = [line(number, False) for number in numbers]
    if "telling_relations" not in assists:
        return plain
    lines = [line(number, True) for number in numbers]
    assists.note(trace, "telling_relations", "TripletsFromQuery", plain, lines)
    return lines


def _type(side: Sequence[tuple[str, int]], rarity: dict[str, int]) -> str:
    """The commonest type at an end of a relation; of those about as common the rarest.

    Args:
        side: types with their edges, most edges first.
        rarity: the place of each type among those of the graph, most frequent first; empty for the commonest.
    """
    common = [kind for kind, edges in side if edges >= _AS_COMMON * side[0][1]]
    return max(common, key=lambda kind: rarity.get(kind, len(rarity))) if rarity else common[0]
