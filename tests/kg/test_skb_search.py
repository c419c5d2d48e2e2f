"""Search among nodes by their documents."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from kg_parts import built
from skb_parts import debian

from triplecheck.kg import Entity, KnowledgeBase, KnowledgeBaseError, Triple, build
from triplecheck.kg.documents import Document
from triplecheck.kg.encode import Encoder
from triplecheck.kg.export import raw_of
from triplecheck.kg.skb import VectorSearch, described
from triplecheck.kg.skb.node_documents import NAMES_PER_RELATION, relation_texts
from triplecheck.kg.skb.search import NodeSearches
from triplecheck.kg.vectors import LazyVectors


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> KnowledgeBase:
    return debian(tmp_path_factory.mktemp("debian"), encoder.name)


def node(kb: KnowledgeBase, id: str) -> int:
    found = kb.graph.find(id)
    assert found is not None
    return found


def names(kb: KnowledgeBase, nodes: Sequence[int] | np.ndarray) -> list[str]:
    return [kb.graph.node_id(int(n)) for n in nodes]


@pytest.fixture(params=["bm25", "dense", "multi", "fused"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- documents of nodes --------------------------------------------------------------------------
def test_a_document_contains_the_text_and_the_relations(kb: KnowledgeBase) -> None:
    documents = kb.node_search.documents
    row = int(documents.rows_of([node(kb, "byobu")])[0])
    assert documents.text(row).startswith("byobu\ntext window manager")
    assert "depends on" not in documents.text(row)
    assert "depends on: screen, tmux, python3" in documents.relations(row).replace("tmux, screen", "screen, tmux")
    assert documents.relations(row) in documents.whole(row) or documents.text(row) in documents.whole(row)


def test_incoming_edges_are_part_of_a_document(kb: KnowledgeBase) -> None:
    assert "inverse recommends: byobu" in relation_texts(kb.graph, [node(kb, "screen")])[0]


def test_of_many_neighbours_the_rest_is_counted(tmp_path: Path) -> None:
    hub = built(tmp_path, "".join(f"n{i:03}\tneeds\thub\n" for i in range(100)))
    (text,) = relation_texts(hub.graph, [node(hub, "hub")])
    assert text.count("n0") == NAMES_PER_RELATION
    assert text.endswith(f"(+ {100 - NAMES_PER_RELATION})")


def test_only_nodes_with_documents_are_found(kb: KnowledgeBase) -> None:
    assert sorted(names(kb, kb.node_search.documents.nodes)) == ["byobu", "libc6", "ngrep", "screen", "tmux"]


def test_without_documents_every_entity_is_found_by_what_is_known_of_it(tmp_path: Path) -> None:
    people = built(tmp_path, "obama\tspouse\tmichelle\n", "id\tlabel\tdescription\nobama\tBarack Obama\tPresident.\n")
    assert names(people, people.node_search.bm25.rank("president", limit=1).nodes) == ["obama"]
    assert len(people.node_search.documents) == 2


# --- ranking -------------------------------------------------------------------------------------
def test_the_best_come_first(kb: KnowledgeBase, kind: str) -> None:
    ranking = getattr(kb.node_search, kind).rank("terminal multiplexer")
    assert set(names(kb, ranking.nodes[:3])) == {"tmux", "screen", "byobu"}
    assert (np.diff(ranking.scores) <= 0).all()


def test_only_candidates_are_ranked_and_all_of_them(kb: KnowledgeBase, kind: str) -> None:
    wanted = [node(kb, id) for id in ("libc6", "ngrep", "ngrep")]
    ranking = getattr(kb.node_search, kind).rank("terminal multiplexer", wanted)
    assert set(ranking.nodes.tolist()) == set(wanted)
    assert (ranking.total, ranking.compared) == (2, 2)


def test_a_node_without_a_document_ranks_last(kb: KnowledgeBase, kind: str) -> None:
    ranking = getattr(kb.node_search, kind).rank("admin", [node(kb, "section:admin"), node(kb, "libc6")])
    assert names(kb, ranking.nodes) == ["libc6", "section:admin"]
    assert ranking.scores[-1] == -np.inf


def test_the_limit_is_kept_exactly(kb: KnowledgeBase, kind: str) -> None:
    search = getattr(kb.node_search, kind)
    assert [len(search.rank("zebra", limit=n)) for n in (0, 2, 5, 50)] == [0, 2, 5, 5]


def test_no_candidates_give_no_ranking(kb: KnowledgeBase, kind: str) -> None:
    assert len(getattr(kb.node_search, kind).rank("tmux", [])) == 0


def test_ties_stand_in_the_order_of_nodes(kb: KnowledgeBase) -> None:
    ranking = kb.node_search.bm25.rank("word that nothing holds")
    assert ranking.nodes.tolist() == sorted(ranking.nodes.tolist())


def test_fused_a_node_that_both_searches_rank_beats_one_that_one_of_them_ranks_first(kb: KnowledgeBase) -> None:
    searches, query = kb.node_search, "multiplexer"
    places = {
        kind: {int(n): at for at, n in enumerate(ranking.nodes) if ranking.scores[at] != 0}
        for kind, ranking in (("bm25", searches.bm25.rank(query)), ("dense", searches.dense.rank(query)))
    }
    expected = {
        n: sum(1 / (61 + of[n]) for of in places.values() if n in of) for n in searches.documents.nodes.tolist()
    }
    fused = searches.fused.rank(query)
    assert fused.nodes.tolist() == sorted(expected, key=lambda n: (-expected[n], n))
    assert fused.scores.tolist() == pytest.approx([expected[n] for n in fused.nodes.tolist()])
    assert len(places["bm25"]) < len(places["dense"]), "some nodes share no word with the query"


def test_words_of_the_relations_are_found_too(kb: KnowledgeBase) -> None:
    assert names(kb, kb.node_search.bm25.rank("Beckert", limit=1).nodes) == ["screen"]


def test_candidates_too_many_to_list_give_the_same_as_few(tmp_path: Path) -> None:
    triples = "".join(f"n{i:05}\tis\tthing\n" for i in range(9000))
    entities = "id\tdescription\n" + "".join(f"n{i:05}\t{'red ' * (i % 7)}fish\n" for i in range(9000))
    searches = built(tmp_path, triples, entities).node_search
    search, some = searches.bm25, searches.documents.nodes[:8000]
    ranking = search.rank("red", some, limit=50)
    whole = search.rank("red", None, limit=9000)
    allowed = set(some.tolist())
    expected = [n for n in whole.nodes.tolist() if n in allowed][:50]
    assert ranking.nodes.tolist() == expected


def test_without_an_encoder_only_words_are_compared(tmp_path: Path) -> None:
    searches = debian(tmp_path).node_search
    assert len(searches.bm25.rank("tmux"))
    with pytest.raises(KnowledgeBaseError, match="--no-vectors"):
        _ = searches.dense


# --- lazy vectors --------------------------------------------------------------------------------
class CountingEncoder:
    """Notes which texts it was given; a vector says how many letters a text has."""

    name, fingerprint, dimensions = "counting", "f" * 64, 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str], progress: object = None) -> np.ndarray:
        self.texts += texts
        return np.array([[len(text), 1] for text in texts], np.float32)


@pytest.fixture
def counting() -> CountingEncoder:
    return CountingEncoder()


def lazy(folder: Path, encoder: CountingEncoder, rows: int = 300) -> LazyVectors:
    return LazyVectors(folder / "vectors", rows, lambda row: "x" * row, encoder)


def test_a_vector_is_made_once_and_kept_on_disk(tmp_path: Path, counting: CountingEncoder) -> None:
    lazy(tmp_path, counting).fill(np.array([3, 5, 3]))
    assert sorted(counting.texts) == ["xxx", "xxxxx"]
    again = lazy(tmp_path, counting)
    again.fill(np.array([5, 3]))
    assert len(counting.texts) == 2
    assert again.cosines(np.array([1, 0], np.float32), np.array([3, 4, 5])).tolist() == [3, -np.inf, 5]


def test_vectors_of_another_encoder_are_not_used(tmp_path: Path, counting: CountingEncoder) -> None:
    lazy(tmp_path, counting).fill(np.array([3]))
    counting.fingerprint = "e" * 64
    assert not len(lazy(tmp_path, counting).filled()[0])


def test_interrupted_work_is_resumed(tmp_path: Path, counting: CountingEncoder) -> None:
    class StoppedError(Exception):
        pass

    def stop(what: str, done: int, total: int | None) -> None:
        if done:
            raise StoppedError

    rows = np.arange(300)
    with pytest.raises(StoppedError):
        lazy(tmp_path, counting).fill(rows, stop)
    done = len(counting.texts)
    assert 0 < done < 300
    lazy(tmp_path, counting).fill(rows)
    assert len(counting.texts) == 300


def test_threads_fill_it_together(tmp_path: Path, counting: CountingEncoder) -> None:
    vectors = lazy(tmp_path, counting)
    threads = [threading.Thread(target=vectors.fill, args=(np.arange(i, 300, 2),)) for i in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert vectors.cosines(np.array([1, 0], np.float32), np.arange(300)).tolist() == list(range(300))


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that nothing can be made in; permissions do not stop the superuser, so mkdir says so itself."""

    def refuse(self: Path, *args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    yield tmp_path
    monkeypatch.undo()


def test_vectors_stay_in_memory_if_the_folder_is_not_writable(read_only: Path, counting: CountingEncoder) -> None:
    vectors = lazy(read_only, counting)
    vectors.fill(np.array([7]))
    assert vectors.cosines(np.array([1, 0], np.float32), np.array([7])).tolist() == [7]
    assert not (read_only / "vectors").exists()


@pytest.fixture
def beyond_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any graph has too many nodes to make all vectors at first use; one query makes two."""
    monkeypatch.setattr("triplecheck.kg.skb.search.ENCODED_AT_FIRST", 0)
    monkeypatch.setattr("triplecheck.kg.skb.search.ENCODED_AT_ONCE", 2)


def searched_by_vectors(kb: KnowledgeBase, folder: Path, encoder: CountingEncoder) -> VectorSearch:
    documents = kb.node_search.documents
    return VectorSearch(documents, [LazyVectors(folder, len(documents), documents.whole, encoder)])


@pytest.mark.usefixtures("beyond_first_use")
def test_only_what_fits_by_words_is_encoded(kb: KnowledgeBase, tmp_path: Path, counting: CountingEncoder) -> None:
    ranking = searched_by_vectors(kb, tmp_path / "v", counting).rank("Beckert multiplexer")
    texts = [text for text in counting.texts if "\n" in text]
    assert sorted(text.split("\n")[0] for text in texts) == ["byobu", "screen"]
    assert (ranking.compared, ranking.total) == (2, 5)
    assert np.isneginf(ranking.scores[2:]).all()


@pytest.mark.usefixtures("beyond_first_use")
def test_an_answer_does_not_depend_on_what_was_asked_before(
    kb: KnowledgeBase, tmp_path: Path, counting: CountingEncoder
) -> None:
    search = searched_by_vectors(kb, tmp_path / "v", counting)
    before = search.rank("Beckert multiplexer")
    search.rank("grep for network traffic")
    assert search.rank("Beckert multiplexer").nodes.tolist() == before.nodes.tolist()


@pytest.mark.usefixtures("beyond_first_use")
def test_once_all_is_encoded_every_candidate_is_compared(
    kb: KnowledgeBase, tmp_path: Path, counting: CountingEncoder
) -> None:
    search = searched_by_vectors(kb, tmp_path / "v", counting)
    search.encode_all()
    assert search.complete
    assert search.rank("Beckert multiplexer").compared == 5


def test_the_first_query_encodes_all_once_however_many_threads_ask(
    kb: KnowledgeBase, tmp_path: Path, counting: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = kb.node_search.documents
    original = CountingEncoder.encode

    def slowly(self: CountingEncoder, texts: Sequence[str], progress: object = None) -> np.ndarray:
        time.sleep(0.05)
        return original(self, texts, progress)

    monkeypatch.setattr(CountingEncoder, "encode", slowly)
    search = searched_by_vectors(kb, tmp_path / "v", counting)
    compared = []
    ask = functools.partial(search.rank, "grep")
    threads = [threading.Thread(target=lambda: compared.append(ask().compared)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compared == [5, 5, 5]
    assert sorted(text for text in counting.texts if text != "grep") == sorted(map(documents.whole, range(5)))


def test_copies_of_programs_share_the_searches(kb: KnowledgeBase) -> None:
    import copy

    searches: NodeSearches = kb.node_search
    assert copy.deepcopy(searches) is searches


def test_documents_that_are_the_exception_do_not_decide_what_may_be_meant(tmp_path: Path) -> None:
    raw = raw_of(
        [Triple(f"film{n}", "made by", f"person{n % 3}") for n in range(9)],
        [Entity(f"film{n}", f"Film {n}", types=("Film",)) for n in range(9)]
        + [Entity(f"person{n}", f"Person {n}", types=("Person",)) for n in range(3)],
    )

    def meant(*nodes: str) -> set[str] | None:
        documents = [Document(node, node, node, "a text") for node in nodes]
        base = build(raw, tmp_path / "kb", documents=documents, encoder=None)
        found = described(base.graph, base.node_search.documents.nodes)
        return None if found is None else {base.graph.node_id(node) for node in found.tolist()}

    assert meant("film1", "person1") is None
    assert meant(*(f"film{n}" for n in range(6))) == {f"film{n}" for n in range(9)}, "all of a kind that has documents"
