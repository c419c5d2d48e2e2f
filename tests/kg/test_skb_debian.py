"""The package index of Debian as a knowledge base."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from skb_parts import PACKAGES, debian

from triplecheck.kg import Direction, KnowledgeBase, ReadError, UserError
from triplecheck.kg.readers.debian import parse_stanzas, read_debian, read_stanzas


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return debian(tmp_path_factory.mktemp("debian"))


def ends(kb: KnowledgeBase, node: str, relation: str, direction: Direction = Direction.OUT) -> set[str]:
    at, number = kb.graph.find(node), kb.graph.find_relation(relation)
    assert at is not None and number is not None
    return {kb.graph.node_id(int(end)) for end in kb.graph.neighbors(at, number, direction)}


def text(kb: KnowledgeBase, package: str) -> str:
    assert kb.documents is not None
    return kb.documents.of_node(package)[0].text


def test_dependencies_become_edges_without_versions_and_architectures(kb: KnowledgeBase) -> None:
    assert ends(kb, "tmux", "depends") == {"libc6", "libevent-core-2.1-7", "libtinfo6"}


def test_each_alternative_of_a_dependency_is_an_edge(kb: KnowledgeBase) -> None:
    assert ends(kb, "screen", "depends") == {"libc6", "libtinfo6", "libncurses6"}
    assert ends(kb, "screen", "suggests") == {"byobu", "screenie"}


def test_what_is_no_package_of_the_index_has_a_type_of_its_own(kb: KnowledgeBase) -> None:
    kinds = {id: kb.graph.types(kb.graph.find(id)) for id in ("tmux", "packet-grep", "screenie")}  # type: ignore[arg-type]
    assert kinds == {"tmux": ("Package",), "packet-grep": ("VirtualPackage",), "screenie": ("MissingPackage",)}


def test_a_maintainer_is_one_node_whatever_the_case_of_the_address(kb: KnowledgeBase) -> None:
    assert ends(kb, "mailto:rfrancoise@debian.org", "maintainer", Direction.IN) == {"tmux", "ngrep"}
    assert kb.graph.label(kb.graph.find("mailto:abe@debian.org")) == "Axel Beckert"  # type: ignore[arg-type]


def test_facets_of_tags_are_relations(kb: KnowledgeBase) -> None:
    assert ends(kb, "byobu", "implemented-in") == {"implemented-in::python"}
    assert ends(kb, "tmux", "works-with") == {"works-with::software:running", "works-with::text"}


def test_the_source_package_is_named_without_its_version(kb: KnowledgeBase) -> None:
    assert ends(kb, "ngrep", "source") == {"source:ngrep"}
    assert ends(kb, "tmux", "source") == {"source:tmux"}


def test_long_descriptions_are_joined_from_the_translations(kb: KnowledgeBase) -> None:
    assert text(kb, "tmux").splitlines() == [
        "terminal multiplexer",
        "tmux enables a number of terminals to be accessed and controlled from one.",
        "It offers a choice of vim or Emacs key layouts.",
    ]


def test_a_long_description_of_the_index_itself_counts_too(kb: KnowledgeBase) -> None:
    assert text(kb, "byobu").splitlines()[1:] == [
        "Byobu is a profile for the multiplexer of your choice.",
        "It includes:",
        "* status notifications",
    ]


def test_of_two_stanzas_of_one_name_the_first_counts(kb: KnowledgeBase) -> None:
    assert ends(kb, "tmux", "section") == {"section:admin"}
    assert kb.manifest.counts["documents"] == 5


def test_a_packed_index_is_read_like_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "Packages.xz").write_bytes(lzma.compress(PACKAGES.encode()))
    (tmp_path / "Packages").write_text(PACKAGES, encoding="utf-8")
    assert list(read_stanzas(tmp_path / "Packages.xz")) == list(read_stanzas(tmp_path / "Packages"))


@pytest.mark.parametrize(
    ("lines", "line"), [("Package: a\nno field\n", 2), (" continued\n", 1), ("Package: a\n\n\tb\n", 3)]
)
def test_a_line_that_is_none_of_a_control_file_is_named(lines: str, line: int) -> None:
    with pytest.raises(ReadError) as caught:
        list(parse_stanzas(lines.encode().splitlines(), "Packages"))
    assert caught.value.line == line


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "Packages.xz").write_bytes(b"nothing packed")
    with pytest.raises(ReadError, match=r"Packages\.xz"):
        list(read_stanzas(tmp_path / "Packages.xz"))


def test_an_index_without_packages_is_refused() -> None:
    with pytest.raises(UserError, match="no package"):
        read_debian(iter([{"name": "x"}]))
