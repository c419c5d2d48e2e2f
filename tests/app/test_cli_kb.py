"""`triplecheck kb`: building, describing and searching knowledge bases."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from cli_support import TRIPLES, Process, Run, ok, refused

from triplecheck.kg import KnowledgeBase

MORE = "Hanau\tlies in\tGermany\n"


@pytest.fixture
def files(elsewhere: Path) -> tuple[Path, Path]:
    (elsewhere / "a.tsv").write_text(TRIPLES, "utf-8")
    with gzip.open(elsewhere / "b.tsv.gz", "wt", encoding="utf-8") as sink:
        sink.write(MORE)
    return Path("a.tsv"), Path("b.tsv.gz")


def test_several_files_may_follow_one_flag_or_the_flag_be_repeated(run: Run, files: tuple[Path, Path]) -> None:
    a, b = files
    forms = [
        ["out0", "--triples", a, "--triples", b, "--no-vectors"],
        ["--no-vectors", "--triples", a, b, "out1"],
    ]
    hashes = set()
    for number, words in enumerate(forms):
        ok(run("kb", "build", *words))
        kb = KnowledgeBase.open(f"out{number}")
        assert kb.manifest.counts["triples"] == 6
        hashes.add(kb.manifest.content_hash)
    assert len(hashes) == 1


def test_columns_are_named_by_map(run: Run, elsewhere: Path) -> None:
    (elsewhere / "orders.csv").write_text("what,who,verb\nbook,Ada,bought\n", "utf-8")
    words = ["--triples", "orders.csv", "--map", "head=who", "relation=verb", "--map", "tail=what", "--no-vectors"]
    ok(run("kb", "build", "out", *words))
    assert KnowledgeBase.open("out").graph.find("Ada") is not None


def test_triples_are_sorted_on_disk_within_the_memory_that_is_given(run: Run, files: tuple[Path, Path]) -> None:
    words = ["--triples", *files, "--no-vectors", "--skip-bad"]
    files[0].write_text(TRIPLES + "two\tfields\n", "utf-8")
    ok(run("kb", "build", "whole", *words))
    result = ok(run("kb", "build", "sorted", *words, "--memory", "0.5"))
    assert "a.tsv:" in result.stderr
    hashes = {KnowledgeBase.open(name).manifest.content_hash for name in ("whole", "sorted")}
    assert len(hashes) == 1


def test_a_missing_out_after_triples_is_explained(run: Run, files: tuple[Path, Path]) -> None:
    refused(run("kb", "build", "--triples", *files), "name the directory to write")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["out"], "nothing to build: name files"),
        (["out", "--triples"], "--triples"),
        (["out", "--triples", "missing.tsv"], "missing.tsv"),
        (["out", "--triples", "bad.tsv"], "bad.tsv:2"),
        (["out", "--triples", "a.doc"], "a.doc"),
        (["out", "--triples", "good.tsv", "--documents", "missing.jsonl"], "missing.jsonl"),
        (["out", "--triples", "good.tsv", "--map", "hed=x"], "hed"),
        (["out", "--triples", "good.tsv", "--no-vectors", "--name-vectors"], "exclude each other"),
        (["out", "--triples", "good.tsv", "--no-vectors", "--node-vectors"], "exclude each other"),
        (["foreign", "--triples", "good.tsv"], "foreign"),
        (["out", "--triples", "good.tsv", "--memory", "0"], "at least 0.5"),
        (["out", "--triples", "good.tsv", "--memory", "1", "--edge-properties", "*"], "edge properties"),
        (["good.tsv/out", "--triples", "good.tsv", "--no-vectors"], "good.tsv"),
    ],
)
def test_a_mistake_is_explained_and_nothing_is_written(run: Run, elsewhere: Path, words: list[str], said: str) -> None:
    (elsewhere / "good.tsv").write_text(TRIPLES, "utf-8")
    (elsewhere / "bad.tsv").write_text("a\tb\tc\na\tb\n", "utf-8")
    (elsewhere / "a.doc").write_text("x", "utf-8")
    (elsewhere / "foreign").mkdir()
    (elsewhere / "foreign" / "letter.txt").write_text("dear", "utf-8")
    result = refused(run("kb", "build", *words), said)
    assert "Traceback" not in result.output
    assert not result.stdout.strip()
    assert not (elsewhere / "out").exists()
    assert [path.name for path in (elsewhere / "foreign").iterdir()] == ["letter.txt"]


def test_bad_lines_are_left_out_and_listed(run: Run, elsewhere: Path) -> None:
    (elsewhere / "bad.tsv").write_text("a\tb\tc\na\tb\n", "utf-8")
    result = ok(run("kb", "build", "out", "--triples", "bad.tsv", "--skip-bad", "--no-vectors"))
    assert "bad.tsv:2" in result.stderr
    assert KnowledgeBase.open("out").manifest.skipped == 1


def test_info_shows_the_contents(run: Run, kb: Path) -> None:
    about = json.loads(run("kb", "info", kb, "--verify", "--json").stdout)
    assert about["counts"]["triples"] == 5
    assert about["counts"]["documents"] == 1
    assert about["verified"] is True
    assert len(about["content_hash"]) == 64
    plain = ok(run("kb", "info", kb))
    assert "triples" in plain.stdout


def test_verify_finds_a_changed_byte(run: Run, files: tuple[Path, Path]) -> None:
    run("kb", "build", "out", "--triples", files[0], "--no-vectors")
    victim = max((p for p in Path("out/graph").iterdir()), key=lambda p: p.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[-1] ^= 1
    victim.write_bytes(content)
    refused(run("kb", "info", "out", "--verify"), victim.name)


@pytest.mark.parametrize("command", [["info"], ["search"]])
def test_an_unknown_knowledge_base_is_the_users_mistake(run: Run, command: list[str]) -> None:
    refused(run("kb", *command, "nowhere", *(["x"] if command == ["search"] else [])), "nowhere")


def test_search_finds_misspelt_names_and_documents(run: Run, kb: Path) -> None:
    found = json.loads(run("kb", "search", kb, "Paul Hindemit", "--json").stdout)
    assert found["candidates"][0]["id"] == "Paul Hindemith"
    assert found["candidates"][0]["source"] == "typo"
    assert {"id", "label", "source", "score", "lexical"} <= found["candidates"][0].keys()
    texts = json.loads(run("kb", "search", kb, "violist", "--json").stdout)
    assert texts["documents"][0]["node"] == "Paul Hindemith"
    assert "Paul Hindemith" in run("kb", "search", kb, "Paul Hindemit").stdout


def test_the_knowledge_base_may_be_given_as_a_flag(run: Run, kb: Path, files: tuple[Path, Path]) -> None:
    assert "Paul Hindemith" in run("kb", "search", "Paul Hindemit", "--kb", kb).stdout
    assert run("kb", "info", "--kb", kb).stdout == run("kb", "info", kb).stdout
    ok(run("kb", "build", "--triples", *files, "--out", "out", "--no-vectors"))
    assert KnowledgeBase.open("out").manifest.counts["triples"] == 6


def test_search_says_when_it_finds_nothing_and_keeps_to_its_limit(run: Run, kb: Path) -> None:
    assert "nothing found" in run("kb", "search", kb, "qqqqqq").stdout
    assert run("kb", "search", kb, "  ").exit_code == 2
    assert run("kb", "search", kb, "Germany", "--limit", 0).exit_code == 2
    assert len(json.loads(run("kb", "search", kb, "Paul Hindemith", "--limit", 1, "--json").stdout)["candidates"]) == 1


def test_control_characters_are_not_printed(run: Run, elsewhere: Path) -> None:
    (elsewhere / "evil.tsv").write_text("\x1b[31mred[/bold]\tis\tb\n", "utf-8")
    run("kb", "build", "out", "--triples", "evil.tsv", "--no-vectors")
    result = ok(run("kb", "search", "out", "red"))
    assert "\x1b" not in result.output


def test_building_in_a_process_leaves_nothing_but_the_summary(process: Process, files: tuple[Path, Path]) -> None:
    result = process("kb", "build", "out", "--triples", *files)
    assert result.returncode == 0, result.stderr
    assert "all-MiniLM-L6-v2" in result.stdout
    assert [line.partition("; ")[0] for line in result.stderr.splitlines()] == [f"{file}: triples" for file in files]


def test_the_table_says_what_became_of_what_was_read(run: Run, elsewhere: Path) -> None:
    (elsewhere / "a.ttl").write_text(
        """@prefix ex: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        ex:a ex:p ex:b ; rdfs:label "A" ; rdfs:isDefinedBy ex:page . ex:T rdfs:subClassOf ex:U . ex:c ex:p ex:d .""",
        "utf-8",
    )
    (elsewhere / "b.ttl").write_text("<http://e/a> <http://e/p> <http://e/b> .", "utf-8")
    result = ok(run("kb", "build", "out", "--triples", "a.ttl", "b.ttl", "--no-vectors"))
    said = " ".join(result.stdout.split())
    assert "statements read 6 " in said
    assert "kept as descriptions 1 " in said
    assert "merged as duplicates 1 " in said
    assert "1 links to pages (isDefinedBy)" in said
    assert "1 axioms of the schema" in said
    with_axioms = run("kb", "build", "out", "--triples", "a.ttl", "b.ttl", "--no-vectors", "--axioms")
    assert "triples 3 " in " ".join(with_axioms.stdout.split())


def test_an_odd_first_line_is_noted_and_can_be_called_a_header(run: Run, elsewhere: Path) -> None:
    (elsewhere / "a.tsv").write_text("person\tverb\tthing\n" + "".join(f"a{i}\tlikes\ta{i + 1}\n" for i in range(4)))
    result = run("kb", "build", "out", "--triples", "a.tsv", "--no-vectors")
    assert "person verb thing" in result.stderr
    assert KnowledgeBase.open("out").graph.num_triples == 5
    result = run("kb", "build", "out", "--triples", "a.tsv", "--no-vectors", "--header")
    assert result.stderr == "a.tsv: triples; first triples: a0 —likes→ a1; a1 —likes→ a2; a2 —likes→ a3\n"
    assert KnowledgeBase.open("out").graph.num_triples == 4


def test_a_wide_table_is_recognised_and_built(run: Run, elsewhere: Path) -> None:
    (elsewhere / "people.csv").write_text("name;team;skills\nAda;Billing;Go, SQL\nBen;Search;\n", "utf-8")
    (elsewhere / "teams.tsv").write_text("team\tcity\tsize\nBilling\tOslo\t3\nSearch\tTurin\t9\n", "utf-8")
    source = ("--triples", "people.csv", "teams.tsv", "--split", "skills=, ", "--class", "people=persons")
    result = ok(run("kb", "build", "out", *source, "--no-vectors"))
    assert result.stderr.splitlines() == [
        "people.csv: a wide table of persons (2 rows, key name, delimiter ';', team → teams); first triples: "
        "Ada —team→ Billing; Ada —skills→ Go; Ada —skills→ SQL",
        "teams.tsv: a wide table of teams (2 rows, key team); first triples: Billing —city→ Oslo; Billing —size→ 3; "
        "Search —city→ Turin",
    ]
    assert KnowledgeBase.open("out").graph.num_triples == 8
    (elsewhere / "more.csv").write_text(
        "name,team,city\nCleo,Search,Graz\nDora,Search,Rome\nEve,Billing,Oslo\n", "utf-8"
    )
    added = ok(run("kb", "add", "out", "--wide", "more.csv", "--class", "persons"))
    assert "more.csv: a wide table of persons" in added.stderr
    assert "triples added 6" in " ".join(added.stdout.split())


def test_both_readings_are_shown_and_one_can_be_said(run: Run, elsewhere: Path) -> None:
    rows = "Ada,Billing,Oslo\nBen,Billing,Turin\nCleo,Search,Graz\nDora,Search,Rome\n"
    (elsewhere / "a.csv").write_text(f"who,group,place\n{rows}", "utf-8")
    refused(
        run("kb", "build", "out", "--triples", "a.csv", "--no-vectors"),
        "--wide a.csv",
        "--triples-of a.csv",
    )
    for flag, count in (("--wide", 8), ("--triples-of", 5)):
        ok(run("kb", "build", "out", flag, "a.csv", "--no-vectors"))
        assert KnowledgeBase.open("out").graph.num_triples == count


def test_options_of_wide_tables_are_refused_for_triples(run: Run, files: tuple[Path, Path]) -> None:
    result = run("kb", "build", "out", "--triples", files[0], "--key", "name", "--no-vectors")
    assert (result.exit_code, "for wide tables" in result.stderr) == (2, True)


def test_further_columns_become_edge_properties(run: Run, elsewhere: Path) -> None:
    (elsewhere / "a.csv").write_text("source,type,target,since\nAda,knows,Ben,1993\n", "utf-8")
    ok(run("kb", "build", "out", "--triples", "a.csv", "--no-vectors", "--edge-properties", "since"))
    assert KnowledgeBase.open("out").graph.has_edge_properties


def test_labels_are_in_the_preferred_language(run: Run, elsewhere: Path) -> None:
    text = (
        '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "tree"@en , "Baum"@de ; <http://e/p> <http://e/b> .'
    )
    (elsewhere / "a.ttl").write_text(text, "utf-8")
    ok(run("kb", "build", "out", "--triples", "a.ttl", "--no-vectors", "--language", "de"))
    graph = KnowledgeBase.open("out").graph
    assert graph.label(graph.find("http://e/a") or 0) == "Baum"


def test_documents_are_stored_elsewhere_and_searched_there(run: Run, elsewhere: Path) -> None:
    pytest.importorskip("lancedb")
    (elsewhere / "t.tsv").write_text(TRIPLES, "utf-8")
    lines = [{"id": f"d{i}", "text": text} for i, text in enumerate(["tea from Assam", "coffee from Kenya"])]
    (elsewhere / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    ok(run("kb", "build", "kb", "--triples", "t.tsv", "--no-vectors"))
    stored = ok(run("kb", "upload", "lancedb:stores#drinks", "--documents", "texts.jsonl", "--no-vectors"))
    assert "2 documents stored in lancedb:stores#drinks" in stored.stdout
    assert json.loads(run("kb", "search", "kb", "kenya", "--json").stdout)["documents"] == []
    (elsewhere / "triplecheck.toml").write_text('documents = "lancedb:stores#drinks"\n', "utf-8")
    found = json.loads(run("kb", "search", "kb", "kenya", "--json").stdout)["documents"]
    assert [hit["id"] for hit in found] == ["d1"]
    refused(run("ask", "Where is Hanau?", "--kb", "kb", "--documents-at", "lancedb:stores#others"), "kb upload")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lancedb:x"], "either --kb KB or --documents FILE"),
        (["lancedb:x", "--kb", "kb", "--documents", "t.jsonl"], "either --kb KB or --documents FILE"),
        (["lancedb:x", "--kb", "kb"], "there are no documents"),
        (["somewhere", "--documents", "t.jsonl"], "no place of documents"),
    ],
)
def test_a_mistake_in_an_upload_is_explained(run: Run, elsewhere: Path, words: list[str], said: str) -> None:
    (elsewhere / "t.tsv").write_text(TRIPLES, "utf-8")
    (elsewhere / "t.jsonl").write_text('{"text": "tea"}\n', "utf-8")
    ok(run("kb", "build", "kb", "--triples", "t.tsv", "--no-vectors"))
    refused(run("kb", "upload", *words, "--no-vectors"), said)
