"""`read_rdf`: the formats, what is an edge and what a description, and malformed files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from kg_parts import write

from triplecheck.kg import build
from triplecheck.kg.errors import ReadError
from triplecheck.kg.readers import ReadOptions
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph
from triplecheck.kg.readers.rdf import read_rdf
from triplecheck.kg.types import XSD

EX = "http://example.org/"
PREFIXES = """@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<ex:City rdf:about="http://example.org/a"><rdfs:label xml:lang="en">A</rdfs:label><ex:p rdf:resource="http://example.org/b"/>
<ex:n rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">007</ex:n></ex:City>
</rdf:RDF>
"""
SAME = {
    "a.nt": "<http://example.org/a> <http://example.org/p> <http://example.org/b> .\n"
    '<http://example.org/a> <http://example.org/n> "007"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '<http://example.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "A"@en .\n'
    "<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/City> . # end",
    "a.nq": "<http://example.org/a> <http://example.org/p> <http://example.org/b> <http://g/1> .\n"
    '<http://example.org/a> <http://example.org/n> "007"^^<http://www.w3.org/2001/XMLSchema#integer> <http://g/2> .\n'
    '<http://example.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "A"@en .\n'
    "<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/City> .\n",
    "a.ttl": PREFIXES + 'ex:a a ex:City ; rdfs:label "A"@en ; ex:p ex:b ; ex:n 007 .',
    "a.trig": PREFIXES + 'ex:g { ex:a a ex:City ; rdfs:label "A"@en } ex:h { ex:a ex:p ex:b ; ex:n 007 . }',
    "a.rdf": RDF_XML,
    "a.owl": RDF_XML,
    "a.xml": RDF_XML,
}
JSON_LD = {
    "@context": {"@vocab": EX, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "p": {"@type": "@id"}},
    "@id": EX + "a",
    "@type": "City",
    "rdfs:label": {"@value": "A", "@language": "en"},
    "p": EX + "b",
    "n": 7,
}


def read(tmp_path: Path, text: str, name: str = "x.ttl", **options: object) -> RawGraph:
    path = tmp_path / name
    path.write_bytes((PREFIXES + text if name.endswith(".ttl") else text).encode())
    return read_rdf([path], ReadOptions(**{"axioms": False} | options))  # type: ignore[arg-type]


def edges(raw: RawGraph) -> set[tuple[str, str, str, str | None]]:
    assert raw.datatypes is not None
    columns = (raw.heads, raw.relations, raw.tails, raw.datatypes)
    return set(zip(*(column.to_pylist() for column in columns), strict=True))


def entities(raw: RawGraph) -> dict[str, dict[str, object]]:
    return {row["id"].removeprefix(EX): row for row in raw.entities.to_pylist()}


class TestFormats:
    @pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
    @pytest.mark.parametrize("name", [*SAME, "a.jsonld"])
    def test_every_format_gives_the_same_graph(self, tmp_path: Path, name: str, zipped: bool) -> None:
        data = SAME.get(name, json.dumps(JSON_LD)).encode()
        path = tmp_path / (name + ".gz" if zipped else name)
        path.write_bytes(gzip.compress(data) if zipped else data)
        raw = read_rdf([path])
        number = "7" if name == "a.jsonld" else "007"  # JSON has no leading zeros
        assert edges(raw) == {(EX + "a", EX + "p", EX + "b", None), (EX + "a", EX + "n", number, XSD + "integer")}
        assert raw.entities.to_pylist() == [
            {"id": EX + "a", "label": "A", "description": None, "aliases": [], "types": [EX + "City"]}
        ]
        assert raw.entities.schema == ENTITY_SCHEMA
        assert raw.relation_rows.schema == RELATION_SCHEMA
        assert raw.skipped == []

    @pytest.mark.parametrize("name", ["a.nt", "a.nq", "a.ttl", "a.trig", "a.rdf", "a.jsonld", "a.nt.gz"])
    def test_an_empty_file_is_an_empty_graph(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
        raw = read_rdf([path])
        assert len(raw) == 0
        assert raw.entities.num_rows == raw.relation_rows.num_rows == 0

    @pytest.mark.parametrize("name", [*SAME, "a.jsonld"])
    def test_a_byte_order_mark_is_skipped(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + SAME.get(name, json.dumps(JSON_LD)).encode())
        assert len(read_rdf([tmp_path / name])) == 2

    def test_relative_iris_do_not_depend_on_the_folder(self, tmp_path: Path) -> None:
        assert {h for h, _, _, _ in edges(read(tmp_path, "<#a> <p> <b> .", "my onto.ttl"))} == {"file:///my%20onto#a"}

    def test_several_files_are_one_graph(self, tmp_path: Path) -> None:
        for name in ("a.nt", "a.rdf"):
            (tmp_path / name).write_text(SAME[name])
        (tmp_path / "b.ttl").write_text(PREFIXES + "ex:b ex:p ex:c ; rdfs:label 'B' .")
        raw = read_rdf([tmp_path / name for name in ("a.nt", "a.rdf", "b.ttl")])
        assert len(edges(raw)) == 3
        assert {id: row["label"] for id, row in entities(raw).items()} == {"a": "A", "b": "B"}

    def test_many_batches_are_one_column(self, tmp_path: Path) -> None:
        calls: list[tuple[str, int, int | None]] = []
        text = "".join(f'<e:{i}> <e:p{i % 3}> "{i % 1000}" .\n' for i in range(250_000))
        raw = read(tmp_path, text, "big.nt", progress=lambda *call: calls.append(call))
        assert len(raw) == 250_000
        assert (len(raw.heads.dictionary), len(raw.relations.dictionary), len(raw.tails.dictionary)) == (
            250_000,
            3,
            1000,
        )
        assert raw.heads[249_999].as_py() == "e:249999"
        assert len(calls) > 0
        assert calls[-1] == ("reading big.nt", 250_000, None)


class TestDescriptions:
    def test_labels_prefer_untagged_and_english(self, tmp_path: Path) -> None:
        raw = read(
            tmp_path,
            """ex:a rdfs:label "Wien"@de , "Vienna"@en , "Bécs"@hu ; skos:altLabel "Beč"@hr , "Wien"@nds .
            ex:b rdfs:label "B"@en-GB , "Ббб"@ru . ex:c foaf:name "Cee" ; rdfs:label "See"@de . ex:d rdfs:label "" .""",
        )
        rows = entities(raw)
        assert {id: row["label"] for id, row in rows.items()} == {"a": "Vienna", "b": "B", "c": "Cee", "d": None}
        assert rows["a"]["aliases"] == ["Wien", "Bécs", "Beč"]
        assert rows["b"]["aliases"] == ["Ббб"]
        assert rows["c"]["aliases"] == ["See"]

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_schema_org_with_either_scheme(self, tmp_path: Path, scheme: str) -> None:
        raw = read(
            tmp_path,
            f"@prefix s: <{scheme}://schema.org/> . ex:a s:name 'A' ; s:alternateName 'AA' ; s:description 'An A.' .",
        )
        (row,) = raw.entities.to_pylist()
        assert (row["label"], row["aliases"], row["description"]) == ("A", ["AA"], "An A.")
        assert len(raw) == 0

    def test_a_relation_is_a_row_and_no_entity(self, tmp_path: Path) -> None:
        raw = read(
            tmp_path,
            """ex:p a rdf:Property ; rdfs:label "pe" , "P"@de ; skos:altLabel "pi" ; rdfs:comment "About p." ;
              rdfs:domain ex:T ; rdfs:range xsd:integer . ex:a ex:p 1 .
            ex:q rdfs:label "used only" . ex:a ex:q 2 . ex:r a owl:ObjectProperty ; rdfs:label "declared only" .
            ex:p rdfs:subPropertyOf ex:q .""",
        )
        rows = {row["id"].removeprefix(EX): row for row in raw.relation_rows.to_pylist()}
        assert rows["p"] == {
            "id": EX + "p",
            "label": "pe",
            "description": "About p.",
            "aliases": ["P", "pi"],
            "domain": EX + "T",
            "range": XSD + "integer",
        }
        assert rows["q"]["label"] == "used only"
        assert rows["r"]["label"] == "declared only"
        assert raw.entities.num_rows == 0
        assert {relation for _, relation, _, _ in edges(raw)} == {EX + "p", EX + "q"}

    def test_a_class_is_a_type_label_and_an_entity_only_if_it_has_edges(self, tmp_path: Path) -> None:
        raw = read(
            tmp_path,
            """ex:a a ex:T , ex:U . ex:T rdfs:label "tee" . ex:U rdfs:label "you"@en ; ex:near ex:a .
            ex:V a owl:Class ; rdfs:label "declared" . ex:W a owl:Class ; rdfs:subClassOf ex:V ; rdfs:label "sub" .""",
        )
        names = {id.removeprefix(EX): label for id, label in raw.type_labels.items()}
        assert names == {"T": "tee", "U": "you", "V": "declared", "W": "sub"}
        assert set(entities(raw)) == {"a", "U"}
        assert sorted(entities(raw)["a"]["types"]) == [EX + "T", EX + "U"]  # type: ignore[arg-type]

    def test_a_literal_and_an_entity_of_the_same_text_are_two_nodes(self, tmp_path: Path) -> None:
        raw = read(tmp_path, 'ex:a ex:p ex:b , "http://example.org/b" , "2014-07-13"^^xsd:date , "hey"@en , "hey" .')
        assert edges(raw) == {
            (EX + "a", EX + "p", EX + "b", None),
            (EX + "a", EX + "p", EX + "b", XSD + "string"),
            (EX + "a", EX + "p", "2014-07-13", XSD + "date"),
            (EX + "a", EX + "p", "hey", XSD + "string"),
        }


class TestBlankNodes:
    TEXT = "ex:a ex:p [ rdfs:label 'inner' ; ex:q _:x ] . _:x ex:q ex:b ; a [ a owl:Restriction ] ."

    def test_ids_are_the_same_at_every_reading(self, tmp_path: Path) -> None:
        first, second = read(tmp_path, self.TEXT), read(tmp_path, self.TEXT)
        assert edges(first) == edges(second)
        blank = {end for h, _, t, _ in edges(first) for end in (h, t) if end.startswith("_:")}
        assert len(blank) == 2
        assert all(id[2:].startswith("b") for id in blank)

    def test_they_are_described_like_others_and_are_not_types(self, tmp_path: Path) -> None:
        rows = read(tmp_path, self.TEXT).entities.to_pylist()
        assert {row["label"] for row in rows if row["id"].startswith("_:")} >= {"inner"}
        assert all(not t.startswith("_:") for row in rows for t in row["types"])

    @pytest.mark.parametrize(
        ("text", "kept"),
        [
            ("ex:hall ex:address [ ex:street 'Low Road' ; ex:town 'Vik' ] .", 0),
            ("ex:hall ex:address [ a ex:Address ; ex:street 'Low Road' ; ex:town 'Vik' ] .", 0),
            ("ex:hall ex:room [ ex:name 'Attic' ; ex:size [ ex:area 4 ] ] .", 0),
            ("ex:hall ex:address [ rdfs:label 'here' ; ex:street 'Low Road' ] .", 1),
            ("ex:hall ex:address [ ex:street 'Low Road' ] ; ex:street 'High Road' .", 1),
            ("ex:hall ex:ticket [ ex:price 3 ] , [ ex:price 5 ] .", 2),
            ("ex:hall ex:weight [ ex:value 3 ; ex:unit 'm' ] .", 1),
            ("ex:hall ex:lease [ ex:startDate 1990 ; ex:rent 5 ] .", 1),
            ("ex:hall ex:front [ ex:paint 'red' ] ; ex:back [ ex:paint 'blue' ] .", 2),
            ("ex:hall ex:ticket [ ex:price 3 ] . ex:shed ex:ticket [ ex:price 3 ] , [ ex:price 5 ] .", 3),
            ("ex:hall ex:address [ ex:town ex:vik ] .", 1),
            ("ex:hall ex:address _:a . ex:shed ex:address _:a . _:a ex:town 'Vik' .", 1),
            ("ex:hall ex:address [ a ex:Address ; ex:town 'Vik' ] . ex:a a ex:Address ; ex:town 'Osby' .", 1),
        ],
    )
    def test_what_one_alone_holds_for_a_thing_are_its_own_values(self, tmp_path: Path, text: str, kept: int) -> None:
        raw = read(tmp_path, text)
        assert len({end for h, _, t, _ in edges(raw) for end in (h, t) if end.startswith("_:")}) == kept
        if not kept:
            assert {h for h, _, _, _ in edges(raw)} == {EX + "hall"}
            assert sum(raw.left_out.values()) == text.count("[")

    def test_equal_labels_in_two_files_are_two_nodes(self, tmp_path: Path) -> None:
        for name in ("a.nt", "b.nt"):
            (tmp_path / name).write_text("_:x <e:p> <e:a> .\n<e:b> <e:p> _:x .\n")
        raw = read_rdf([tmp_path / "a.nt", tmp_path / "b.nt"])
        assert len({h for h, _, _, _ in edges(raw) if h.startswith("_:")}) == 2
        assert len(edges(raw)) == 4

    def test_a_label_is_one_node_throughout_a_file(self, tmp_path: Path) -> None:
        filler = "".join(f"<e:{i}> <e:p> <e:{'x' * 40}> .\n" for i in range(200_000))
        raw = read(tmp_path, "_:x <e:p> <e:a> .\n" + filler + "<e:b> <e:p> _:x .\n", "x.nt")
        assert [end for h, _, t, _ in edges(raw) for end in (h, t) if end.startswith("_:")] == ["_:b0"] * 2


class TestMalformed:
    BAD_NT = (
        "<e:a> <e:p> <e:b> .\n"
        "<e:a> <p> <e:b> .\n"
        'not a triple\n<e:a> <e:p> "open .\n'
        "<e:a> <e:p> <e:c> .\n\n# comment\n"
        '<e:a> <e:p> "bad \\q escape" .\n'
        "<e:a> <e:p> <e:d> .\n"
    )

    def test_a_line_is_named_with_file_number_and_reason(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError, match=r"x\.nt:2: .*scheme") as caught:
            read(tmp_path, self.BAD_NT, "x.nt")
        assert (caught.value.path, caught.value.line) == (tmp_path / "x.nt", 2)

    def test_lines_are_skipped_on_demand_and_reported(self, tmp_path: Path) -> None:
        raw = read(tmp_path, self.BAD_NT, "x.nt", skip_bad=True)
        assert {tail for _, _, tail, _ in edges(raw)} == {"e:b", "e:c", "e:d"}
        assert [bad.line for bad in raw.skipped] == [2, 3, 4, 8]
        assert all(bad.path == str(tmp_path / "x.nt") and bad.reason for bad in raw.skipped)

    def test_line_numbers_go_on_from_block_to_block(self, tmp_path: Path) -> None:
        text = f"<e:a> <e:p> <e:{'x' * 60}> .\n" * 200_000 + "oops\n"
        with pytest.raises(ReadError) as caught:
            read(tmp_path, text, "x.nt")
        assert caught.value.line == 200_001

    def test_bytes_that_are_no_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / "x.nt"
        path.write_bytes(b'<e:a> <e:p> "ok" .\n<e:a> <e:p> "\xff" .\n')
        with pytest.raises(ReadError, match=r"x\.nt:2: .*UTF-8"):
            read_rdf([path])
        assert len(read_rdf([path], ReadOptions(skip_bad=True))) == 1

    def test_turtle_names_the_line(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError) as caught:
            read(tmp_path, "ex:a ex:p ex:b .\nex:a ex:p undefined .\nex:a ex:p ex:c .")
        assert caught.value.line == PREFIXES.count("\n") + 2

    @pytest.mark.parametrize(
        "bad",
        [
            "ex:a ex:p undefined .",
            'ex:a ex:p "not closed .',
            "ex:a ex:p ex:: g g .",
            "ex:a ex:p [ ex:q 5 .",
            "ex:a ex:p un:known .",
            "<http://e/a ex:p ex:b .",
            "ex:a ex:p ex:x\nex:b ex:p ex:y .",
        ],
    )
    def test_turtle_is_read_from_the_next_statement_on(self, tmp_path: Path, bad: str) -> None:
        good = "ex:a ex:p \"1. 2\" , '''3\n.''' , 4.5 , _:n . # a comment.\n<http://e/x#y> ex:p ex:v.1 .\n_:n ex:p 6.\n"
        whole = read(tmp_path, good)
        raw = read(tmp_path, f"{good}{bad}\n_:n ex:q ex:z .", skip_bad=True)
        assert len(raw) == len(whole) + 1
        assert [one.line for one in raw.skipped] == [PREFIXES.count("\n") + good.count("\n") + 1]
        assert raw.heads.to_pylist()[-1] == whole.heads.to_pylist()[-1] == "_:b0"

    @pytest.mark.parametrize("bad", ["@prefix ey <http://e/> .", 'ex:a ex:p """not closed .'])
    def test_turtle_is_not_read_past_what_all_else_depends_on(self, tmp_path: Path, bad: str) -> None:
        with pytest.raises(ReadError, match="what follows cannot be read past it") as caught:
            read(tmp_path, f"ex:a ex:p ex:b .\n{bad}\nex:c ex:p ex:d .", skip_bad=True)
        assert caught.value.line == PREFIXES.count("\n") + 2

    def test_xml_names_the_line(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError) as caught:
            read(tmp_path, RDF_XML.replace("</ex:City>", "</ex:Town>"), "x.rdf")
        assert caught.value.line == 5
        with pytest.raises(ReadError, match="cannot be read past an error"):
            read(tmp_path, RDF_XML[:200], "x.rdf", skip_bad=True)

    def test_xml_entities_may_only_abbreviate(self, tmp_path: Path) -> None:
        def document(entities: str, use: str) -> str:
            start = f'<?xml version="1.0"?>\n<!DOCTYPE r [{entities}]>\n<rdf:RDF xmlns:e="http://e/" '
            start += 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            return start + f'<rdf:Description rdf:about="{use}"><e:p>x</e:p></rdf:Description></rdf:RDF>'

        raw = read(tmp_path, document(f'<!ENTITY ex "{EX}">', "&ex;a"), "x.owl")
        assert edges(raw) == {(EX + "a", "http://e/p", "x", XSD + "string")}
        laughs = '<!ENTITY a0 "lol">' + "".join(f'\n<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
        with pytest.raises(ReadError, match=r"x\.owl:3: entity 'a1' contains other entities"):
            read(tmp_path, document(laughs, "&a11;"), "x.owl")

    def test_xml_that_is_no_rdf(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError, match="namespace"):
            read(tmp_path, "<html><p>hello</p></html>", "x.rdf")

    @pytest.mark.parametrize(
        ("text", "line"), [('{"@id": "e:a",\n"e:p": }', 2), ('{"@context": 5, "@id": "e:a"}', None), ("[" * 9, 1)]
    )
    def test_json_ld(self, tmp_path: Path, text: str, line: int | None) -> None:
        with pytest.raises(ReadError) as caught:
            read(tmp_path, text, "x.jsonld")
        assert caught.value.line == line

    def test_an_unreachable_context_is_named(self, tmp_path: Path) -> None:
        text = json.dumps({"@context": "http://127.0.0.1:1/context", "@id": "e:a", "name": "A"})
        with pytest.raises(ReadError, match=r"@context cannot be fetched.*include the context in the file"):
            read(tmp_path, text, "x.jsonld", fetch_contexts=True)

    @pytest.mark.parametrize(
        "context", ["{file}", ["{file}"], {"@import": "{file}"}, {"p": {"@id": "e:p", "@context": "{file}"}}]
    )
    @pytest.mark.parametrize("nested", [False, True])
    def test_a_context_outside_the_file_is_not_read_unless_allowed(
        self, tmp_path: Path, context: object, nested: bool
    ) -> None:
        other = tmp_path / "c.json"
        other.write_text(json.dumps({"@context": {"secret": "e:secret"}}))
        inner = {"@context": context, "@id": "e:a"}
        whole = {"@id": "e:b", "e:has": [{"@list": [inner]}]} if nested else inner
        text = json.dumps(whole).replace("{file}", other.as_uri())
        with pytest.raises(ReadError, match=r"file:.*which is not read; include the context in the file, or allow it"):
            read(tmp_path, text, "x.jsonld")

    @pytest.mark.parametrize("text", ["null", "3", '"text"', "true"])
    def test_json_that_is_neither_object_nor_list(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ReadError, match="not JSON-LD: neither an object nor a list"):
            read(tmp_path, text, "x.jsonld")

    def test_a_statement_about_a_statement_has_no_place(self, tmp_path: Path) -> None:
        text = "<e:a> <e:p> <<( <e:a> <e:p> <e:b> )>> .\n<e:a> <e:p> <e:b> .\n"
        with pytest.raises(ReadError, match=r"x\.nt:1: .*quoted triple"):
            read(tmp_path, text, "x.nt")
        assert [bad.line for bad in read(tmp_path, text, "x.nt", skip_bad=True).skipped] == [1]

    @pytest.mark.parametrize("cut", [0, 10, -5], ids=["no gzip", "cut", "nearly whole"])
    def test_a_damaged_gzip_file(self, tmp_path: Path, cut: int) -> None:
        path = tmp_path / "x.nt.gz"
        path.write_bytes(gzip.compress(b"<e:a> <e:p> <e:b> .\n" * 100)[:cut] or b"<e:a> <e:p> <e:b> .\n")
        with pytest.raises(ReadError, match="cannot be read"):
            read_rdf([path])

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError, match="cannot be read"):
            read_rdf([tmp_path / "none.nt"])


class TestSchemas:
    ONTOLOGY = """ex:Place a owl:Class ; rdfs:label "place" . ex:Cafe a owl:Class ; rdfs:subClassOf ex:Place ;
      rdfs:comment "Serves coffee." . ex:serves a owl:ObjectProperty ; rdfs:domain ex:Place ; rdfs:range ex:Drink ;
      owl:inverseOf ex:servedAt . ex:Drink a owl:Class . ex:servedAt a owl:ObjectProperty ; rdfs:subPropertyOf ex:at .
      ex:Cafe rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:serves ; owl:someValuesFrom ex:Drink ] .
      ex:blue a ex:Cafe ; rdfs:label "Blue" ; rdfs:isDefinedBy ex:page ."""

    def test_classes_and_relations_of_an_ontology_are_entities_and_axioms_are_edges(self, tmp_path: Path) -> None:
        raw = read(tmp_path, self.ONTOLOGY, axioms=None)
        found = {
            (h.removeprefix(EX), r.rsplit("#")[-1].removeprefix(EX), t.removeprefix(EX)) for h, r, t, _ in edges(raw)
        }
        assert found == {
            ("Cafe", "subClassOf", "Place"),
            ("Cafe", "serves", "Drink"),
            ("serves", "domain", "Place"),
            ("serves", "range", "Drink"),
            ("serves", "inverseOf", "servedAt"),
            ("servedAt", "subPropertyOf", "at"),
            ("blue", "type", "Cafe"),
        }
        assert set(entities(raw)) == {"Place", "Cafe", "Drink", "serves", "servedAt", "blue"}
        assert raw.left_out == {"links to pages (isDefinedBy)": 1}

    @pytest.mark.parametrize("memory", [None, 1.0])
    def test_instances_inherit_the_superclasses_of_their_types(self, tmp_path: Path, memory: float | None) -> None:
        data = self.ONTOLOGY + "".join(f" ex:cafe{i} ex:near ex:blue ." for i in range(9))
        for name, text in (("ontology", self.ONTOLOGY), ("data", data)):
            path = tmp_path / f"{name}.ttl"
            path.write_text(PREFIXES + text)
            graph = build(path, tmp_path / f"{name}-kb", encoder=None, memory=memory).columnar
            node = graph.find(EX + "blue")
            assert node is not None
            assert graph.entity(node).types == (EX + "Cafe", EX + "Place")
            assert graph.superclasses == {EX + "Cafe": [EX + "Place"]}

    def test_without_axioms_types_have_no_superclasses(self, tmp_path: Path) -> None:
        assert read(tmp_path, self.ONTOLOGY, axioms=False).superclasses == {}

    def test_classes_that_are_superclasses_of_each_other(self, tmp_path: Path) -> None:
        path = tmp_path / "circle.ttl"
        path.write_text(PREFIXES + "ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:A . ex:one a ex:A ; ex:p 1 .")
        graph = build(path, tmp_path / "kb", encoder=None).columnar
        node = graph.find(EX + "one")
        assert node is not None
        assert graph.entity(node).types == (EX + "A", EX + "B")

    def test_axioms_of_a_data_file_are_left_out_and_counted(self, tmp_path: Path) -> None:
        data = self.ONTOLOGY + "".join(f" ex:cafe{i} ex:near ex:cafe{i + 1} ." for i in range(9))
        raw = read(tmp_path, data, axioms=None)
        assert len(raw) == 9
        assert raw.left_out["axioms of the schema (--axioms makes them edges)"] == 6
        assert len(read(tmp_path, data, axioms=True)) == 16

    def test_lists_and_statements_that_are_data_stay_edges(self, tmp_path: Path) -> None:
        assert len(read(tmp_path, "ex:a ex:p ( ex:b ex:c ) .")) == 5


class TestStatementsAboutStatements:
    @pytest.mark.parametrize(
        "text",
        [
            "ex:a ex:p ex:b {| ex:since 1993 |} .",
            "ex:a ex:p ex:b . << ex:a ex:p ex:b >> ex:since 1993 .",
            "ex:a ex:p ex:b . [] a rdf:Statement ; rdf:subject ex:a ; rdf:predicate ex:p ; "
            "rdf:object ex:b ; ex:since 1993 .",
            "ex:a ex:p ex:b . [] a owl:Axiom ; owl:annotatedSource ex:a ; owl:annotatedProperty ex:p ; "
            "owl:annotatedTarget ex:b ; ex:since 1993 .",
        ],
    )
    def test_each_form_is_a_property_of_the_edge(self, tmp_path: Path, text: str) -> None:
        raw = read(tmp_path, text)
        assert [(h, r) for h, r, _, _ in edges(raw)] == [(EX + "a", EX + "p")]
        (row,) = raw.edge_properties.to_pylist()
        assert row == {"edge": 0, "name": EX + "since", "value": "1993", "datatype": XSD + "integer"}
        assert raw.entities.num_rows == 0

    def test_what_is_not_asserted_is_left_out_and_counted(self, tmp_path: Path) -> None:
        raw = read(tmp_path, "ex:a ex:p ex:b . << ex:a ex:p ex:c >> ex:since 1993 .")
        assert len(raw) == 1
        assert raw.edge_properties.num_rows == 0
        assert raw.left_out == {"properties of statements that are not edges": 1}


LANGUAGES = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://e/a> rdfs:label "colour"@en , "color"@en-US , "Farbe"@de , "顏色"@zh-Hant , "颜色"@zh-Hans .
<http://e/a> <http://e/p> <http://e/b> .
"""


@pytest.mark.parametrize(
    ("language", "label"),
    [
        ("en", "colour"),
        ("EN", "colour"),
        ("en-US", "color"),
        ("en-us", "color"),
        ("en-GB", "colour"),
        ("en-US-x-twain", "color"),
        ("DE-at", "Farbe"),
        ("zh-Hant", "顏色"),
        ("zh-hant-TW", "顏色"),
        ("zh", "颜色"),
    ],
)
def test_tags_of_languages_fall_back(tmp_path: Path, language: str, label: str) -> None:
    """robot 651."""
    raw = read_rdf([write(tmp_path / "a.ttl", LANGUAGES)], ReadOptions(language=language))
    assert next(row["label"] for row in raw.entities.to_pylist() if row["id"] == "http://e/a") == label
    assert raw.notes == []


def test_a_language_that_nothing_has_is_noted_with_those_there_are(tmp_path: Path) -> None:
    (note,) = read_rdf([write(tmp_path / "a.ttl", LANGUAGES)], ReadOptions(language="fr")).notes
    assert "tagged 'fr'; the tags there are: de, en, en-us, zh-hans, zh-hant (--language TAG)" in note


LENIENT = '<http://e/a[1]> <http://e/p> <http://e/b#c#d> .\n<http://e/b#c#d> <http://e/p> "x"@zh-classical .\n'
LENIENT += "<http://e/c> <http://e/p> <http://e/d> .\n"


@pytest.mark.parametrize("name", ["a.nt", "a.ttl"])
def test_what_other_parsers_read_is_read_and_counted(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, LENIENT)
    raw = read_rdf([path])
    assert len(raw) == 3
    assert raw.notes[0].startswith("2 statements have IRIs or language tags that RDF does not allow")
    with pytest.raises(ReadError) as caught:
        read_rdf([path], ReadOptions(strict=True))
    assert caught.value.line == 1
    for bad in ("<http://e/a b> <http://e/p> <http://e/b> .\n", "<a> <http://e/p> .\n"):
        with pytest.raises(ReadError):
            read_rdf([write(tmp_path / name, LENIENT + bad)])


def test_blank_nodes_stay_the_same_where_a_document_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triplecheck.kg.readers.rdf._BATCH", 2)
    text = "<http://e/a> <http://e/p> [ <http://e/q> <http://e/b> ; <http://e/r> <http://e/c> ] .\n" + LENIENT
    raw = read_rdf([write(tmp_path / "a.ttl", text)])
    rows = list(zip(raw.heads.to_pylist(), raw.relations.to_pylist(), raw.tails.to_pylist(), strict=True))
    assert len(rows) == 6
    assert len({one for row in rows for one in (row[0], row[2]) if one.startswith("_:")}) == 1
