"""Knowledge bases of STaRK (arXiv 2404.13207), as its package stark-qa keeps them in a folder `processed`.

The parts, each by its name: `node_info` (a dictionary of fields per node), `node_types`, `edge_types`
(numbers), `edge_index` (two rows: heads, tails), `node_type_dict`, `edge_type_dict` (names of the numbers).
Arrays are `.pt` or `.npy`, dictionaries `.json` or `.pkl`; of a pickle only plain data is read, and nothing
that it names is run. A node's id is its number, as in STaRK's questions. AMAZON has its parts in
`processed/cache/brand-category-color`; MAG lacks the names of its types, which are known here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg.documents import Document
from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.readers._plain_pickle import read_plain_pickle
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph

_NAMES = ("name", "title", "DisplayName", "brand_name", "category_name", "color_name")
_NOT_TEXT = {"id", "type", "mag_id", "new_id", *_NAMES}
_UNKNOWN = ("", "nan", "-1", -1)
# MAG writes its relations as `author___writes___paper`.
_JOINT = "___"
# The names of MAG's numbers, which stark-qa does not write beside them.
_OF_MAG = {
    "node_type_dict": {0: "author", 1: "institution", 2: "field_of_study", 3: "paper"},
    "edge_type_dict": {
        0: "author___affiliated_with___institution",
        1: "paper___cites___paper",
        2: "paper___has_topic___field_of_study",
        3: "author___writes___paper",
    },
}


class StarkDocuments:
    """The documents of the nodes, rendered as they are iterated over."""

    def __init__(self, nodes: Mapping[int, Mapping[str, Any]], types: list[str], only: Collection[str]) -> None:
        self._nodes, self._types, self._only = nodes, types, only

    def __iter__(self) -> Iterator[Document]:
        for number, info in sorted(self._nodes.items()):
            if not self._only or self._types[number] in self._only:
                lines = [line for name, value in info.items() if name not in _NOT_TEXT for line in _lines(name, value)]
                yield Document(str(number), str(number), _name(number, info), "\n".join(lines))


def read_stark(folder: Path, candidate_types: Collection[str] = ()) -> tuple[RawGraph, StarkDocuments]:
    """The graph and the documents of a folder.

    Args:
        folder: it, or one above it.
        candidate_types: node types that can be answers: only these get documents. None given: all.

    Raises:
        ReadError: a part cannot be read, or the parts contradict each other.
        UserError: a part is missing, or there is no such node type.
    """
    place = _place(folder)
    nodes = {int(number): info for number, info in _dictionary(place, "node_info").items()}
    is_mag = any("mag_id" in info for info in nodes.values())
    type_names, relation_names = (_type_names(place, name, is_mag) for name in ("node_type_dict", "edge_type_dict"))
    codes, edges, relations = (_array(place, name) for name in ("node_types", "edge_index", "edge_types"))
    if sorted(nodes) != list(range(len(codes))):
        raise ReadError(place, None, f"node_info tells of {len(nodes)} nodes, node_types numbers {len(codes)}")
    if edges.shape != (2, len(relations)):
        raise ReadError(place, None, f"edge_index has the shape {edges.shape}, not (2, {len(relations)}) as edge_types")
    if edges.size and not 0 <= edges.min() <= edges.max() < len(codes):
        raise ReadError(place, None, "edge_index names a node that is not in node_info")
    for name, names, used in (("node_types", type_names, codes), ("edge_types", relation_names, relations)):
        if unknown := sorted(set(np.unique(used).tolist()) - set(names)):
            raise ReadError(place, None, f"{name} holds {unknown[0]}, which has no name")
    if unknown := sorted(set(candidate_types) - set(type_names.values())):
        raise UserError(f"{place}: no node type {unknown[0]!r}; there are {', '.join(sorted(type_names.values()))}")
    types = [type_names[code] for code in codes.tolist()]
    graph = _raw_graph(nodes, types, edges, [relation_names[code] for code in relations.tolist()])
    return graph, StarkDocuments(nodes, types, candidate_types)


def _raw_graph(
    nodes: Mapping[int, Mapping[str, Any]], types: list[str], edges: npt.NDArray[np.int64], relations: list[str]
) -> RawGraph:
    ids = pa.array([str(number) for number in range(len(nodes))], pa.string())
    ends = [pa.DictionaryArray.from_arrays(pa.array(row.astype(np.int32)), ids) for row in edges]
    rows = [
        {"id": str(n), "label": _name(n, nodes[n]), "description": None, "aliases": None, "types": [types[n]]}
        for n in range(len(nodes))
    ]
    named = [
        {"id": relation, "label": relation.split(_JOINT)[1].replace("_", " ") if _JOINT in relation else relation}
        | {"description": None, "aliases": None, "domain": None, "range": None}
        for relation in dict.fromkeys(relations)
    ]
    return RawGraph(
        ends[0],
        pa.array(relations, pa.string()).dictionary_encode(),
        ends[1],
        # Nothing is a literal; without this, numbers for ids would be taken for values.
        pa.DictionaryArray.from_arrays(pa.nulls(len(relations), pa.int32()), pa.array([], pa.string())),
        entities=pa.Table.from_pylist(rows, ENTITY_SCHEMA),
        relation_rows=pa.Table.from_pylist(named, RELATION_SCHEMA),
    )


def _place(folder: Path) -> Path:
    """Where the parts are."""
    place = folder / "processed" if (folder / "processed").is_dir() else folder
    caches = sorted(cache for cache in place.glob("cache/*") if any(cache.glob("node_info.*")))
    if len(caches) > 1:
        raise UserError(f"{place}: which of {', '.join(str(cache) for cache in caches)} is meant? Name that folder")
    return caches[0] if caches else place


def _name(number: int, info: Mapping[str, Any]) -> str:
    names = (str(info.get(name, "")).strip() for name in _NAMES)
    return next((name for name in names if name not in _UNKNOWN), str(number))


def _lines(name: str, value: Any, depth: int = 0) -> Iterator[str]:
    """`name: value`, a nested value below its name; what is empty or unknown is left out."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or value in _UNKNOWN:
        return
    indent = "  " * depth
    if isinstance(value, Mapping):
        below = [line for key, inner in value.items() for line in _lines(str(key), inner, depth + 1)]
    elif isinstance(value, list | tuple):
        if not any(isinstance(item, Mapping | list | tuple) for item in value):
            if text := ", ".join(str(item) for item in value if str(item).strip()):
                yield f"{indent}{name}: {text}"
            return
        below = [line for item in value for line in _lines("-", item, depth + 1)]
    else:
        yield f"{indent}{name}: {value}"
        return
    if below:
        yield f"{indent}{name}:"
        yield from below


def _type_names(place: Path, name: str, is_mag: bool) -> dict[int, str]:
    if is_mag and not any(place.glob(f"{name}.*")):
        return _OF_MAG[name]
    return {int(number): str(label) for number, label in _dictionary(place, name).items()}


def _dictionary(place: Path, name: str) -> dict[Any, Any]:
    path = _part(place, name, (".json", ".pkl"))
    try:
        found = json.loads(path.read_text("utf-8")) if path.suffix == ".json" else read_plain_pickle(path)
    except ValueError as error:
        raise ReadError(path, None, f"is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise ReadError(path, None, f"holds a {type(found).__name__}, not a dictionary")
    return found


def _array(place: Path, name: str) -> npt.NDArray[np.int64]:
    path = _part(place, name, (".npy", ".pt"))
    try:
        if path.suffix == ".npy":
            found = np.load(path, allow_pickle=False)
        else:
            import torch

            found = torch.load(path, map_location="cpu", weights_only=True).numpy()
        return np.asarray(found, np.int64)
    except Exception as error:  # torch raises whatever its many parts raise
        reason = next(iter(str(error).splitlines()), repr(error))
        raise ReadError(path, None, f"is no array of numbers ({reason})") from error


def _part(place: Path, name: str, suffixes: tuple[str, ...]) -> Path:
    found = next((place / f"{name}{end}" for end in suffixes if (place / f"{name}{end}").is_file()), None)
    if found is None:
        raise UserError(f"{place}: {name}{' or '.join(suffixes)} is missing; STaRK's parts lie in a folder `processed`")
    return found
