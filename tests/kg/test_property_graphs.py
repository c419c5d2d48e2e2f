"""Property graphs in their file formats, and Wikidata's dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from kg_parts import write

from triplecheck.kg import KnowledgeBase, Literal, ReadError, UserError
from triplecheck.kg.readers import ReadOptions, read_graph
from triplecheck.kg.types import XSD

NODES = [
    {"id": "1", "name": "Ada Novak", "type": "Person", "age": 36},
    {"id": "2", "name": "Billing", "type": "Team"},
]
EDGE = {"source": "1", "target": "2", "relation": "works in", "since": 2017}
NEO4J_NODES = "personId:ID(Person),name,age:int,:LABEL\n1,Ada Novak,36,Person\n"
NEO4J_TEAMS = "teamId:ID(Team),name,:LABEL\n2,Billing,Team\n"
NEO4J_EDGES = ":START_ID(Person),since:int,:END_ID(Team),:TYPE\n1,2017,2,works in\n"
APOC_CSV = (
    '"_id","_labels","name","age","_start","_end","_type","since"\n"1",":Person","Ada Novak","36",,,,\n'
    '"2",":Team","Billing",,,,,\n,,,,"1","2","works in","2017"\n'
)
APOC_JSON = [
    {"type": "node", "id": "1", "labels": ["Person"], "properties": {"name": "Ada Novak", "age": 36}},
    {"type": "node", "id": "2", "labels": ["Team"], "properties": {"name": "Billing"}},
    {
        "type": "relationship",
        "id": "9",
        "label": "works in",
        "properties": {"since": 2017},
        "start": {"id": "1", "labels": ["Person"]},
        "end": {"id": "2", "labels": ["Team"]},
    },
]


def network() -> Any:
    found = nx.DiGraph()
    for node in NODES:
        found.add_node(node["id"], **{k: v for k, v in node.items() if k != "id"})
    found.add_edge("1", "2", relation="works in", since=2017)
    return found


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


APOC_GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="name" for="node" attr.name="name" attr.type="string"/>
<key id="labels" for="node" attr.name="labels" attr.type="string"/>
<key id="age" for="node" attr.name="age" attr.type="long"/>
<key id="label" for="edge" attr.name="label" attr.type="string"/>
<key id="since" for="edge" attr.name="since" attr.type="long"/>
<graph id="G" edgedefault="directed">
<node id="1" labels=":Person"><data key="labels">:Person</data><data key="name">Ada Novak</data>
<data key="age">36</data></node>
<node id="2" labels=":Team"><data key="labels">:Team</data><data key="name">Billing</data></node>
<edge id="0" source="1" target="2" label="works in"><data key="label">works in</data>
<data key="since">2017</data></edge>
</graph></graphml>
"""


FORMS = {
    "graphml": {"a.graphml": "\n".join(nx.generate_graphml(network()))},
    "json lines": {"a.jsonl": lines([*NODES, EDGE])},
    "json lines in two files": {"n.jsonl": lines(NODES), "e.jsonl.gz": lines([EDGE])},
    "node-link": {"a.json": json.dumps({"nodes": NODES, "links": [EDGE]})},
    "cytoscape.js": {"a.json": json.dumps({"elements": [{"data": row} for row in [*NODES, EDGE | {"id": "e"}]]})},
    "cytoscape": {"a.cyjs": json.dumps(nx.cytoscape_data(network()))},
    "neo4j-admin": {"p.csv": NEO4J_NODES, "t.csv": NEO4J_TEAMS, "e.csv": NEO4J_EDGES},
    "apoc csv": {"a.csv": APOC_CSV},
    "apoc json": {"a.jsonl": lines(APOC_JSON)},
    "apoc graphml": {"a.graphml": APOC_GRAPHML},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_graph(tmp_path: Path, form: str) -> None:
    files = [write(tmp_path / name, text) for name, text in FORMS[form].items()]
    graph = KnowledgeBase.from_triples(files, encoder=None).graph
    ada, team = graph.find("1"), graph.find("2")
    assert ada is not None and team is not None
    assert (graph.label(ada), graph.types(ada)) == ("Ada Novak", ("Person",))
    assert (graph.label(team), graph.types(team)) == ("Billing", ("Team",))
    relation, age = graph.find_relation("works in"), graph.find_relation("age")
    assert relation is not None and age is not None
    assert graph.contains(ada, relation, team)
    assert [graph.node_id(n) for n in graph.neighbors(ada, age)] == ["36"]
    ((since,),) = graph.edge_properties(ada, relation, team)
    assert (since[0], getattr(since[1], "lexical", since[1])) == ("since", "2017")
    assert graph.num_triples == 2


def test_gexf(tmp_path: Path) -> None:
    nx.write_gexf(network(), tmp_path / "a.gexf")
    kb = KnowledgeBase.from_triples(tmp_path / "a.gexf", encoder=None)
    assert kb.graph.find_relation("works in") is not None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"id": 1}\nnot json\n', r"a\.jsonl:2: not JSON"),
        ("a.jsonl", '{"source": 1}\n', "both ends"),
        ("a.jsonl", '{"x": 1}\n', "neither a node"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", "[" * 100_000, r"a\.jsonl:1: not JSON: nested too deeply"),
        ("a.json", "{}", "nodes"),
        ("a.json", '{"nodes": [], "links": 1}', "nodes"),
        ("a.json", '{"elements": [1]}', "Cytoscape"),
        ("a.json", '{"elements": {"nodes": 1}}', "Cytoscape"),
        ("a.graphml", "<graphml", "graphml"),
        ("a.gexf", "nothing", "gexf"),
        ("a.csv", ":START_ID,:END_ID,:TYPE\n1,2\n", r"a\.csv:2: 2 fields"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ReadError, match=said):
        read_graph([write(tmp_path / name, text)])


def test_edges_of_one_key_stay_apart(tmp_path: Path) -> None:
    rows = [
        {"source": "1", "target": "2", "relation": name, "key": "k", "u_for_edge": 1} for name in ("likes", "knows")
    ]
    graph = KnowledgeBase.from_triples(read_graph([write(tmp_path / "a.jsonl", lines(rows))]), encoder=None).graph
    assert graph.num_triples == 2


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"id": "1", "name": "\\ud83d\\ude00"}\n{"id": "2", "name": "\\ud83d"}\n')
    with pytest.raises(ReadError, match=r"a\.jsonl:2: .*half a character"):
        read_graph([path])
    with pytest.raises(UserError, match="half a character"):
        KnowledgeBase.from_triples([("a", "b", "\ud83d")], encoder=None)


def snak(number: str, kind: str, value: Any) -> dict[str, Any]:
    return {"snaktype": "value", "property": number, "datavalue": {"type": kind, "value": value}}


def item(number: str) -> dict[str, Any]:
    return {"entity-type": "item", "id": number}


def year(text: str) -> dict[str, Any]:
    return {"time": f"+{text}-00-00T00:00:00Z", "precision": 9}


ITEM = {
    "type": "item",
    "id": "Q1",
    "labels": {"en": {"value": "Grover"}, "de": {"value": "Grover (de)"}},
    "aliases": {"en": [{"value": "Stephen"}]},
    "claims": {
        "P31": [{"mainsnak": snak("P31", "wikibase-entityid", item("Q5")), "rank": "normal"}],
        "P39": [
            {
                "mainsnak": snak("P39", "wikibase-entityid", item("Q2")),
                "rank": "normal",
                "qualifiers": {"P580": [snak("P580", "time", year("1885"))]},
            },
            {"mainsnak": snak("P39", "wikibase-entityid", item("Q3")), "rank": "deprecated"},
        ],
        "P569": [
            {
                "mainsnak": snak("P569", "time", {"time": "+1837-03-18T00:00:00Z", "precision": 11}),
                "rank": "normal",
            },
            {"mainsnak": {"snaktype": "somevalue", "property": "P569"}, "rank": "normal"},
        ],
        "P2048": [{"mainsnak": snak("P2048", "quantity", {"amount": "+180", "unit": "1"}), "rank": "normal"}],
    },
}
OTHERS = [
    {"type": "item", "id": "Q2", "labels": {"en": {"value": "president"}}, "claims": {}},
    {"type": "item", "id": "Q5", "labels": {"en": {"value": "human"}}, "claims": []},
    {"type": "property", "id": "P580", "labels": {"en": {"value": "start time"}}, "claims": {}},
    {"type": "property", "id": "P39", "labels": {"en": {"value": "position held"}}, "claims": {}},
]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.jsonl"])
def test_wikidatas_dump_with_qualifiers(tmp_path: Path, name: str) -> None:
    rows = [json.dumps(row, separators=(",", ":")) for row in [ITEM, *OTHERS]]
    text = "\n".join(rows) if name.endswith("l") else "[\n" + ",\n".join(rows) + "\n]\n"
    (raw,) = read_graph([write(tmp_path / name, text)])
    kb = KnowledgeBase.from_triples(raw, encoder=None)
    graph = kb.graph
    grover, position, president = graph.find("Q1"), graph.find_relation("P39"), graph.find("Q2")
    assert grover is not None and position is not None and president is not None
    assert (graph.label(grover), graph.entity(grover).aliases) == ("Grover", ("Stephen",))
    assert graph.relation(position).label == "position held"
    assert [graph.type_label(kind) for kind in graph.types(grover)] == ["human"]
    assert graph.edge_properties(grover, position, president) == ((("start time", Literal("1885", XSD + "gYear")),),)
    assert graph.find(Literal("1837-03-18", XSD + "date")) is not None
    assert graph.find(Literal("180", XSD + "decimal")) is not None
    assert raw.left_out == {"statements that are deprecated or have no value": 2}
    assert graph.find("Q3") is None


@pytest.mark.parametrize(
    "line",
    [
        "1",
        '{"type": "item"}',
        '{"type": "item", "id": 5}',
        '{"type": "item", "id": "Q2", "labels": {"en": 3}}',
        '{"type": "item", "id": "Q2", "claims": {"P1": [{"mainsnak": 4}]}}',
        '{"type": "item", "id": "Q2", "aliases": {"en": [{"value": "\\ud800"}]}}',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_entity_is_named_or_skipped(tmp_path: Path, line: str) -> None:
    whole = '{"type":"item","id":"Q1","labels":{"en":{"value":"Ada"}}}'
    path = write(tmp_path / "dump.json", f"[\n{whole},\n{line}\n]\n")
    with pytest.raises(ReadError, match=r"dump\.json:3: not an entity as Wikidata writes it"):
        read_graph([path])
    (graph,) = read_graph([path], how=ReadOptions(skip_bad=True))
    assert [bad.line for bad in graph.skipped] == [3]
    assert graph.entities["label"].to_pylist() == ["Ada"]


def test_names_of_wikidata_in_another_language(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", "[\n" + json.dumps(ITEM, separators=(",", ":")) + "\n]")
    for language in ("de", "DE", "de-AT"):
        (raw,) = read_graph([path], how=ReadOptions(language=language))
        assert (raw.entities["label"].to_pylist(), raw.notes) == (["Grover (de)"], [])
    (raw,) = read_graph([path], how=ReadOptions(language="sr-Latn"))
    assert "tagged 'sr-Latn'; the tags there are: de" in raw.notes[0]


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="c" for="node" attr.name="colour" attr.type="string"><default>red</default></key>
<key id="n" for="node" attr.name="size" attr.type="int"/>
<key id="r" for="edge" attr.name="relation" attr.type="string"><default>knows</default></key>
<key id="w" for="edge" attr.name="weight" attr.type="double"><default>1.5</default></key>
<graph edgedefault="{default}">
<node id="a"><data key="n">3</data></node><node id="b"><data key="c">blue</data></node>
<edge source="a" target="b" directed="{one}"/>
<edge source="b" target="a"><data key="r">likes</data><data key="w">2</data></edge>
</graph></graphml>"""


@pytest.mark.parametrize(("default", "one"), [("directed", "false"), ("directed", "true"), ("undirected", "true")])
def test_defaults_and_directions_of_graphml(tmp_path: Path, default: str, one: str) -> None:
    """networkx 1385, 3167: defaults of keys are values; an edge may have a direction of its own."""
    path = tmp_path / "a.graphml"
    path.write_text(GRAPHML.format(default=default, one=one), "utf-8")
    (raw,) = read_graph(path)
    triples = set(zip(raw.heads.to_pylist(), raw.relations.to_pylist(), raw.tails.to_pylist(), strict=True))
    assert triples >= {("a", "knows", "b"), ("b", "likes", "a"), ("a", "colour", "red"), ("b", "colour", "blue")}
    assert len(raw) == 5
    assert sorted(row["value"] for row in raw.edge_properties.to_pylist()) == ["1.5", "2.0"]


def test_attributes_that_are_lists_are_several_values(tmp_path: Path) -> None:
    """networkx 613."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": "a", "skills": ["Go", "SQL"], "marks": [1, 2.5, null], "address": {"city": "Oslo"}}\n'
        '{"source": "a", "target": "b", "type": "knows", "since": [2017, 2019], "by": {"x": 1}}\n',
        "utf-8",
    )
    (raw,) = read_graph(path)
    triples = set(zip(raw.heads.to_pylist(), raw.relations.to_pylist(), raw.tails.to_pylist(), strict=True))
    assert triples >= {("a", "skills", "Go"), ("a", "skills", "SQL"), ("a", "marks", "1"), ("a", "marks", "2.5")}
    about = [(row["name"], row["value"]) for row in raw.edge_properties.to_pylist()]
    assert (len(raw), about) == (5, [("since", "2017"), ("since", "2019")])
    assert raw.left_out == {"attributes 'address' that are no values": 1, "attributes 'by' that are no values": 1}
    kb = KnowledgeBase.from_triples(raw, encoder=None)
    assert kb.manifest.report["left_out"] == raw.left_out


def test_a_property_whose_name_ends_with_name_is_the_label(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("serverId:ID(S),os,hostname,:LABEL\ns1,RHEL,db-01,Server\ns2,RHEL,db-02,Server\n")
    (tmp_path / "e.csv").write_text(":START_ID(S),:END_ID(S),:TYPE\ns1,s2,BACKS_UP\n")
    (raw,) = read_graph([tmp_path / "s.csv", tmp_path / "e.csv"])
    assert set(raw.entities["label"].to_pylist()) == {"db-01", "db-02"}
    assert "hostname" not in raw.relations.to_pylist()


def test_only_the_row_says_what_is_connected(tmp_path: Path) -> None:
    lines = [
        {"type": "node", "id": "0", "labels": ["User"], "properties": {"id": "u-17", "name": "Adam", "start": 1939}},
        {"type": "node", "id": "1", "labels": ["User"], "properties": {"name": "Eve", "subject": "History"}},
        {
            **{"type": "relationship", "id": "9", "label": "KNOWS", "start": {"id": "0"}, "end": {"id": "1"}},
            "properties": {"source": "Wikipedia", "start": 1993, "end": 2001},
        },
    ]
    apoc = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    nodes = [{"id": "0", "name": "Adam", "start": 1939, "end": 1945}, {"id": "1", "name": "Eve", "subject": "History"}]
    links = [{"source": "0", "target": "1", "relation": "KNOWS"}]
    document = write(tmp_path / "b.json", json.dumps({"nodes": nodes, "links": links}))
    table = (
        "_id,_labels,id,name,source,_start,_end,_type\n0,:User,u-17,Adam,x,,,\n1,:User,u-18,Eve,y,,,\n,,,,z,0,1,KNOWS\n"
    )
    for file in (apoc, document, write(tmp_path / "c.csv", table)):
        graph = KnowledgeBase.from_triples([file], encoder=None).graph
        adam, eve, knows = graph.find("0"), graph.find("1"), graph.find_relation("KNOWS")
        assert adam is not None and eve is not None and knows is not None
        assert (graph.label(adam), graph.label(eve)) == ("Adam", "Eve")
        assert graph.contains(adam, knows, eve)
        assert graph.find("Wikipedia") is None


def test_ids_of_several_spaces_are_different_things(tmp_path: Path) -> None:
    files = {
        "p.csv": "personId:ID(Person){label:Person},name,:LABEL\n1,Keanu,Person\n2,Carrie,Person\n",
        "m.csv": "movieId:ID(Movie),name,:LABEL,links:string[]\n1,The Matrix,Movie,http://a.org/x;b\n",
        "e.csv": ":START_ID(Person),:END_ID(Movie),:TYPE\n1,1,ACTED_IN\n2,1,ACTED_IN\n",
    }
    paths = [write(tmp_path / name, text) for name, text in files.items()]
    graph = KnowledgeBase.from_triples(paths, encoder=None).graph
    keanu, carrie, matrix = (graph.find(id) for id in ("Person/1", "2", "Movie/1"))
    acted = graph.find_relation("ACTED_IN")
    assert keanu is not None and carrie is not None and matrix is not None and acted is not None
    assert [graph.label(node) for node in (keanu, carrie, matrix)] == ["Keanu", "Carrie", "The Matrix"]
    assert graph.contains(keanu, acted, matrix) and graph.contains(carrie, acted, matrix)
    values = {graph.label(node) for node in range(graph.num_nodes)}
    assert graph.find("http://a.org/x") is not None and "b" in values
