"""Relations and types of a graph by how people write them: id, label, alias, in any spelling of its words."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process

from triplecheck.kg.graph import Graph
from triplecheck.kg.names import normalize
from triplecheck.kg.readable import entity_label, local_name, relation_label

_SUGGESTED = 3


class SchemaNames:
    """Looks up relations and types of one graph by their names.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._relations: dict[str, set[int]] = {}
        self._types: dict[str, set[str]] = {}
        for number in range(graph.num_relations):
            relation = graph.relation(number)
            names = (relation.id, relation.label, *relation.aliases, relation_label(relation.id))
            for form in _forms(names):
                self._relations.setdefault(form, set()).add(number)
        for id in graph.type_ids:
            for form in _forms((id, graph.type_label(id), local_name(id), entity_label(id))):
                self._types.setdefault(form, set()).add(id)

    def relations(self, name: str) -> tuple[int, ...]:
        """Relations that an id or a name means, ascending; none where it is unknown."""
        known = self._graph.find_relation(name)
        if known is not None:
            return (known,)
        return tuple(sorted(self._relations.get(_form(name), ())))

    def type_id(self, name: str) -> str | None:
        """The type that an id or a name means; of several the first by id."""
        return min(self._types.get(_form(name), ()), default=None)

    def like_relation(self, name: str) -> list[str]:
        """Labels of relations that are spelt like a name, for a message."""
        found = process.extract(_form(name), list(self._relations), limit=_SUGGESTED, score_cutoff=60)
        numbers = dict.fromkeys(min(self._relations[form]) for form, _, _ in found)
        return list(dict.fromkeys(self._graph.relation(number).label for number in numbers))

    def like_type(self, name: str) -> list[str]:
        """Labels of types that are spelt like a name, for a message."""
        found = process.extract(_form(name), list(self._types), limit=_SUGGESTED, score_cutoff=60)
        return list(dict.fromkeys(self._graph.type_label(min(self._types[form])) for form, _, _ in found))


def _forms(names: Iterable[str]) -> set[str]:
    return {_form(name) for name in names} - {""}


def _form(name: str) -> str:
    """A name without case, accents, punctuation and spaces: `directed_by`, `directedBy` and "directed by" are one."""
    return normalize(name).replace(" ", "")
