"""Knowledge bases in the layout of STaRK."""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplecheck.kg import KnowledgeBase, ReadError, UserError, build
from triplecheck.kg.readers.stark import read_plain_pickle, read_stark

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just(())
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)

NODES: dict[int, dict[str, Any]] = {
    0: {"id": "9796", "type": "gene/protein", "name": "PHYHIP", "details": {"summary": "Binds a kinase.", "_id": ""}},
    1: {"id": "DB01", "type": "drug", "name": "Aspirin", "details": {"half_life": float("nan"), "groups": ["a", "b"]}},
    2: {"id": "MONDO", "type": "disease", "name": "headache"},
}
PARTS: dict[str, Any] = {
    "node_info": NODES,
    "node_types": [0, 1, 2],
    "edge_index": [[1, 1, 2], [2, 0, 1]],
    "edge_types": [0, 1, 0],
    "node_type_dict": {0: "gene/protein", 1: "drug", 2: "disease"},
    "edge_type_dict": {0: "indication", 1: "target"},
}


def write(folder: Path, form: str = "pt", **changed: Any) -> Path:
    """As stark-qa saves it (`pt`: tensors and pickles), or as arrays and JSON (`npy`)."""
    place = folder / "processed"
    place.mkdir(parents=True)
    for name, value in (PARTS | changed).items():
        if isinstance(value, list):
            array = np.array(value, np.int64)
            if form == "npy":
                np.save(place / f"{name}.npy", array)
            else:
                import torch

                torch.save(torch.from_numpy(array), place / f"{name}.pt")
        elif form == "npy":
            (place / f"{name}.json").write_text(json.dumps(value), "utf-8")
        else:
            (place / f"{name}.pkl").write_bytes(pickle.dumps(value))
    return folder


@pytest.mark.parametrize("form", ["pt", "npy"])
def test_nodes_edges_and_documents_are_read(tmp_path: Path, form: str) -> None:
    raw, documents = read_stark(write(tmp_path / "prime", form))
    kb: KnowledgeBase = build(raw, tmp_path / "kb", documents=documents, encoder=None)
    aspirin = kb.graph.entity(kb.graph.find("1"))  # type: ignore[arg-type]
    assert (aspirin.label, aspirin.types) == ("Aspirin", ("drug",))
    assert kb.graph.contains(*(kb.graph.find("1"), kb.graph.find_relation("indication"), kb.graph.find("2")))  # type: ignore[arg-type]
    assert kb.graph.num_triples == 3
    assert kb.documents is not None
    assert kb.documents.of_node("0")[0].text == "details:\n  summary: Binds a kinase."
    assert kb.documents.of_node("1")[0].text == "details:\n  groups: a, b"


def test_only_candidate_types_get_documents(tmp_path: Path) -> None:
    _, documents = read_stark(write(tmp_path), ["drug"])
    assert [document.id for document in documents] == ["1"]


def test_an_unknown_candidate_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no node type 'pill'; there are disease, drug, gene/protein"):
        read_stark(write(tmp_path), ["pill"])


def test_relations_of_mag_are_named_by_their_middle(tmp_path: Path) -> None:
    raw, _ = read_stark(write(tmp_path, edge_type_dict={0: "author___writes___paper", 1: "paper___has_topic___field"}))
    assert raw.relation_rows["label"].to_pylist() == ["writes", "has topic"]


def test_numbers_and_texts_of_numpy_may_stand_in_a_pickle(tmp_path: Path) -> None:
    nodes = NODES | {2: {"brand_name": np.str_("Émile"), "count": np.int64(3), "score": np.float64(0.5)}}
    _, documents = read_stark(write(tmp_path, node_info=nodes | {1: {"brand_name": np.str_("")}}))
    found = list(documents)
    assert [document.title for document in found] == ["PHYHIP", "1", "Émile"]
    assert found[2].text == "count: 3\nscore: 0.5"


def test_amazon_has_its_parts_in_a_cache(tmp_path: Path) -> None:
    (write(tmp_path / "made") / "processed").rename(tmp_path / "brand-category-color")
    cache = tmp_path / "amazon" / "processed" / "cache"
    cache.mkdir(parents=True)
    (tmp_path / "brand-category-color").rename(cache / "brand-category-color")
    # Beside it lies the graph of the products alone.
    (tmp_path / "amazon" / "processed" / "node_info.pkl").write_bytes(pickle.dumps({0: {"title": "a product"}}))
    _, documents = read_stark(tmp_path / "amazon")
    assert len(list(documents)) == 3


def test_mag_needs_no_names_of_its_types(tmp_path: Path) -> None:
    nodes = {
        0: {"mag_id": 7, "new_id": 0, "type": "author", "DisplayName": "Ada", "PaperCount": 2},
        1: {"mag_id": 8, "new_id": 1, "type": "paper", "title": "Tides", "abstract": "Of seas.", "Date": "-1"},
        2: {"mag_id": 9, "new_id": 2, "type": "institution", "DisplayName": -1},
    }
    edges: dict[str, Any] = {"node_types": [0, 3, 1], "edge_index": [[0, 0], [1, 2]], "edge_types": [3, 0]}
    folder = write(tmp_path, node_info=nodes, **edges)
    for name in ("node_type_dict", "edge_type_dict"):
        (folder / "processed" / f"{name}.pkl").unlink()
    raw, documents = read_stark(folder, ["paper"])
    assert raw.relation_rows["label"].to_pylist() == ["writes", "affiliated with"]
    assert raw.entities["label"].to_pylist() == ["Ada", "Tides", "2"]
    assert [document.text for document in documents] == ["abstract: Of seas."]


class Malicious:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("made-by-a-pickle",)


def test_a_pickle_that_names_code_is_refused_and_does_not_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match=r"node_info\.pkl.*mkdir"):
        read_stark(write(tmp_path, node_info={0: Malicious()}))
    assert not Path("made-by-a-pickle").exists()


def test_a_tensor_file_that_names_code_is_refused_and_does_not_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    place = write(tmp_path) / "processed"
    torch.save({0: Malicious()}, place / "edge_types.pt")
    with pytest.raises(ReadError, match=r"edge_types\.pt"):
        read_stark(tmp_path)
    assert not Path("made-by-a-pickle").exists()


CALLS: dict[str, bytes] = {
    "a global": b"cos\nsystem\n(S'touch made-by-a-pickle'\ntR.",
    "a stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x17touch made-by-a-pickle\x85R.",
    "an instance": b"(S'touch made-by-a-pickle'\nios\nsystem\n.",
    "an object": b"(cos\nsystem\nS'touch made-by-a-pickle'\no.",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent id": b"Pmade-by-a-pickle\n.",
    "the inside of numpy": b"cnumpy.core.multiarray\n_reconstruct\n)R.",
    "an attribute of numpy's": b"\x80\x04\x8c\x05numpy\x8c\x0ddtype.__new__\x93.",
    "a new class": b"\x80\x04cbuiltins\ntype\n)\x81.",
    "eval": b"c__builtin__\neval\n(S'1'\ntR.",
}


@pytest.mark.parametrize("content", CALLS.values(), ids=CALLS)
def test_no_way_of_a_pickle_to_call_something_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.pkl"
    path.write_bytes(content)
    with pytest.raises(ReadError, match=r"data\.pkl: is not a pickle of plain data"):
        read_plain_pickle(path)
    assert not Path("made-by-a-pickle").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cnumpy\ndtype\n}S'__setstate__'\nS'x'\nsb.",  # the state of the stand-in's class
        b"cnumpy.core.multiarray\nscalar\n}S'name'\nS'x'\nsb.",
        b"cnumpy.core.multiarray\nscalar\nN}S'__call__'\nS'x'\ns\x86b.",
        b"cnumpy\ndtype\nN}S'kind'\nS'x'\ns\x86b.",
        b"cnumpy\ndtype\n(S'O8'\ntR.",
        b"cnumpy\ndtype\n(S'V8'\ntR.",
    ],
)
def test_a_pickle_cannot_change_how_the_next_one_is_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.pkl"
    path.write_bytes(content)
    with pytest.raises(ReadError):
        read_plain_pickle(path)
    path.write_bytes(pickle.dumps([np.int64(3), np.str_("Émile"), np.float32(0.5), np.bool_(True)]))
    assert read_plain_pickle(path) == [3, "Émile", 0.5, True]


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit on memory")
@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04Nr\xff\xff\xff\x7f.",  # a memo index of two thousand millions
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x0f" + b"x.",  # bytes of a length that no machine has
        b"\x80\x04\x8d" + b"\xff" * 5 + b"\x00" * 3 + b"x.",
        b"\x80\x04\x95" + b"\xff" * 7 + b"\x0fN.",  # a frame of such a length
    ],
    ids=["memo", "bytes", "text", "frame"],
)
def test_a_few_bytes_cannot_ask_for_all_memory(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.pkl"
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read_plain_pickle(path)
    except ReadError as error:
        assert error.path == path
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_numbers_keep_their_value_in_either_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "data.pkl"
    path.write_bytes(pickle.dumps(np.array([258], ">i4")[0]))
    assert read_plain_pickle(path) == 258


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"edge_types": [0, 1]}, r"edge_index has the shape \(2, 3\)"),
        ({"edge_index": [[1, 1, 7], [2, 0, 1]]}, "not in node_info"),
        ({"node_types": [0, 1]}, "3 nodes"),
        ({"node_types": [0, 1, 9]}, "node_types contains 9"),
        ({"edge_types": [0, 1, 5]}, "edge_types contains 5"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read_stark(write(tmp_path, **changed))


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    (write(tmp_path) / "processed" / "edge_types.pt").unlink()
    with pytest.raises(UserError, match="edge_types"):
        read_stark(tmp_path)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@settings(max_examples=40)
@given(data=PLAIN)
def test_plain_data_survives_a_pickle_unchanged(
    tmp_path_factory: pytest.TempPathFactory, protocol: int, data: object
) -> None:
    path = tmp_path_factory.mktemp("pickles") / "data.pkl"
    path.write_bytes(pickle.dumps([data, data], protocol))
    assert read_plain_pickle(path) == [data, data]


@given(junk=st.binary(max_size=64))
def test_junk_is_refused_as_such(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    path = tmp_path_factory.mktemp("junk") / "data.pkl"
    path.write_bytes(b"\x80\x04" + junk)
    try:
        read_plain_pickle(path)
    except ReadError as error:
        assert error.path == path


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_an_array_that_is_not_a_tensor_is_rejected(tmp_path: Path) -> None:
    (write(tmp_path) / "processed" / "edge_types.pt").write_bytes(pickle.dumps([1, 2, 3]))
    with pytest.raises(ReadError, match="edge_types"):
        read_stark(tmp_path)
