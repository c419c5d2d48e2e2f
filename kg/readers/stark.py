"""Knowledge bases of STaRK (arXiv 2404.13207), as its package stark-qa keeps them in a folder `processed`.

The parts, each by its name: `node_info` (a dictionary of fields per node), `node_types`, `edge_types`
(numbers), `edge_index` (two rows: heads, tails), `node_type_dict`, `edge_type_dict` (names of the numbers).
Arrays are `.pt` or `.npy`, dictionaries `.json` or `.pkl`. Pickles come from elsewhere: only plain data and numpy's
numbers and texts are read from them, and no code that they name is run. A node's id is its number, as in STaRK's
questions. AMAZON has its parts in `processed/cache/brand-category-color`; MAG does not name its types, so this module
does.
"""

from __future__ import annotations

import math
import pickle
import struct
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg._arrays import load_array
from triplecheck.kg.documents import Document
from triplecheck.kg.errors import ReadError, UserError, extra
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph
from triplecheck.kg.values import parse_json

_NAMES = ("name", "title", "DisplayName", "brand_name", "category_name", "color_name")
_NOT_TEXT = {"id", "type", "mag_id", "new_id", *_NAMES}
_UNKNOWN = ("", "nan", "-1", -1)
# MAG writes its relations as `author___writes___paper`.
_JOINT = "___"
# The names of MAG's type numbers, which stark-qa does not store.
_OF_MAG = {
    "node_type_dict": {0: "author", 1: "institution", 2: "field_of_study", 3: "paper"},
    "edge_type_dict": {
        0: "author___affiliated_with___institution",
        1: "paper___cites___paper",
        2: "paper___has_topic___field_of_study",
        3: "author___writes___paper",
    },
}

_NUMPY_SCALAR = {"numpy.core.multiarray", "numpy._core.multiarray"}
# Errors of a damaged or hostile pickle; a wrong length may request all memory.
_DAMAGE = (
    *(pickle.UnpicklingError, struct.error, EOFError, ValueError, TypeError, LookupError),
    *(AttributeError, AssertionError, OverflowError, MemoryError),
)


def read_stark(folder: Path, candidate_types: Collection[str] = ()) -> tuple[RawGraph, Iterator[Document]]:
    """The graph and the documents of a folder.

    Args:
        candidate_types: node types of answers: only these get documents. Default: all.

    Raises:
        ReadError: a part cannot be read, or the parts are inconsistent.
        UserError: a part is missing, or there is no such node type.
    """
    place = _place(folder)
    nodes = {int(number): info for number, info in _dictionary(place, "node_info").items()}
    is_mag = any("mag_id" in info for info in nodes.values())
    type_names, relation_names = (_type_names(place, name, is_mag) for name in ("node_type_dict", "edge_type_dict"))
    codes, edges, relations = (_array(place, name) for name in ("node_types", "edge_index", "edge_types"))
    if sorted(nodes) != list(range(len(codes))):
        raise ReadError(place, None, f"node_info has {len(nodes)} nodes, node_types has {len(codes)}")
    if edges.shape != (2, len(relations)):
        raise ReadError(place, None, f"edge_index has the shape {edges.shape}, not (2, {len(relations)}) as edge_types")
    if edges.size and not 0 <= edges.min() <= edges.max() < len(codes):
        raise ReadError(place, None, "edge_index contains a node that is not in node_info")
    for name, names, used in (("node_types", type_names, codes), ("edge_types", relation_names, relations)):
        if unknown := sorted(set(np.unique(used).tolist()) - set(names)):
            raise ReadError(place, None, f"{name} contains {unknown[0]}, which has no name")
    if unknown := sorted(set(candidate_types) - set(type_names.values())):
        raise UserError(f"{place}: no node type {unknown[0]!r}; there are {', '.join(sorted(type_names.values()))}")
    types = [type_names[code] for code in codes.tolist()]
    graph = _raw_graph(nodes, types, edges, [relation_names[code] for code in relations.tolist()])
    only = candidate_types or type_names.values()
    return graph, (_document(number, nodes[number]) for number, kind in enumerate(types) if kind in only)


def _document(number: int, info: Mapping[str, Any]) -> Document:
    lines = [line for name, value in info.items() if name not in _NOT_TEXT for line in _lines(name, value)]
    return Document(str(number), str(number), _name(number, info), "\n".join(lines))


def _raw_graph(
    nodes: Mapping[int, Mapping[str, Any]], types: list[str], edges: npt.NDArray[np.int64], relations: list[str]
) -> RawGraph:
    ids = pa.array([str(number) for number in range(len(nodes))], pa.string())
    ends = [pa.DictionaryArray.from_arrays(pa.array(row.astype(np.int32)), ids) for row in edges]
    rows = [{"id": str(n), "label": _name(n, nodes[n]), "types": [types[n]]} for n in range(len(nodes))]
    named = [
        {"id": relation, "label": relation.split(_JOINT)[1].replace("_", " ") if _JOINT in relation else relation}
        for relation in dict.fromkeys(relations)
    ]
    return RawGraph(
        ends[0],
        pa.array(relations, pa.string()).dictionary_encode(),
        ends[1],
        # No tail is a literal; otherwise numeric ids would be read as values.
        pa.DictionaryArray.from_arrays(pa.nulls(len(relations), pa.int32()), pa.array([], pa.string())),
        entities=pa.Table.from_pylist(rows, ENTITY_SCHEMA),
        relation_rows=pa.Table.from_pylist(named, RELATION_SCHEMA),
    )


def _place(folder: Path) -> Path:
    place = folder / "processed" if (folder / "processed").is_dir() else folder
    caches = sorted(cache for cache in place.glob("cache/*") if any(cache.glob("node_info.*")))
    if len(caches) > 1:
        raise UserError(
            f"{place}: several graphs ({', '.join(str(cache) for cache in caches)}); name one of these folders"
        )
    return caches[0] if caches else place


def _name(number: int, info: Mapping[str, Any]) -> str:
    names = (str(info.get(name, "")).strip() for name in _NAMES)
    return next((name for name in names if name not in _UNKNOWN), str(number))


def _lines(name: str, value: Any, depth: int = 0) -> Iterator[str]:
    """`name: value`, nested values indented below their name; empty and unknown values are left out."""
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
        found = parse_json(path.read_text("utf-8")) if path.suffix == ".json" else read_plain_pickle(path)
    except ValueError as error:
        raise ReadError(path, None, f"is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise ReadError(path, None, f"contains a {type(found).__name__}, not a dictionary")
    return found


def _array(place: Path, name: str) -> npt.NDArray[np.int64]:
    path = _part(place, name, (".npy", ".pt"))
    try:
        if path.suffix == ".npy":
            found = load_array(path)
        else:
            with extra("train", "An array in PyTorch's format"):
                import torch

            found = torch.load(path, map_location="cpu", weights_only=True).numpy()
        return np.asarray(found, np.int64)
    except Exception as error:  # torch raises errors of many kinds
        reason = next(iter(str(error).splitlines()), repr(error))
        raise ReadError(path, None, f"is not an array of numbers ({reason})") from error


def _part(place: Path, name: str, suffixes: tuple[str, ...]) -> Path:
    found = next((place / f"{name}{end}" for end in suffixes if (place / f"{name}{end}").is_file()), None)
    if found is None:
        raise UserError(
            f"{place}: {name}{' or '.join(suffixes)} is missing; STaRK keeps its parts in a folder `processed`"
        )
    return found


# --- pickles -------------------------------------------------------------------------------------
def read_plain_pickle(path: Path) -> Any:
    """Dictionaries, lists, texts and numbers of a pickle.

    Raises:
        ReadError: it holds anything else, or is damaged.
    """
    try:
        with path.open("rb") as source:
            return _PlainUnpickler(source).load()
    except OSError as error:
        raise ReadError(path, None, error.strerror or str(error)) from error
    except _DAMAGE as error:
        raise ReadError(path, None, f"is not a pickle of plain data ({error})") from error


class _PlainUnpickler(pickle._Unpickler):
    """Resolves numpy's numbers and texts to stand-ins and rejects all other names, so that a pickle cannot run code.

    This is the Python class, not the C class: the C class keeps its memo in an array, and a file of ten bytes with a
    large memo index makes it fill all memory.
    """

    def find_class(self, module_name: str, global_name: str) -> Any:
        """The stand-in for a name; other names are an error."""
        if (module_name, global_name) == ("numpy", "dtype"):
            return _Dtype
        if module_name in _NUMPY_SCALAR and global_name == "scalar":
            return _Scalar()
        raise pickle.UnpicklingError(f"it refers to {module_name}.{global_name}; only plain data is read")


class _Dtype:
    """Stands in for `numpy.dtype`: numbers and texts only."""

    __slots__ = ("kind",)

    def __init__(self, name: object, *_: object) -> None:
        self.kind = np.dtype(str(name))
        if self.kind.kind not in "biufU":
            raise ValueError(f"it contains numpy's {self.kind}; of numpy only numbers and texts are read")

    def __setstate__(self, state: Any) -> None:
        """Read the byte order from the state of a dtype; the rest is ignored."""
        if state[1] in ("<", ">"):
            self.kind = self.kind.newbyteorder(state[1])


class _Scalar:
    """Stands in for `numpy.core.multiarray.scalar`: a number or a text from a dtype and bytes."""

    __slots__ = ()

    def __call__(self, dtype: object, data: bytes) -> Any:
        if not isinstance(dtype, _Dtype):
            raise ValueError("it contains a number of numpy's without its type")
        return np.frombuffer(data, dtype=dtype.kind, count=1)[0].item() if dtype.kind.itemsize else ""
