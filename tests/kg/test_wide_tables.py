"""Wide tables: a row is a thing, a column a relation."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kg_parts import write

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.errors import ReadError
from triplecheck.kg.readers import RawGraph, ReadOptions, TableOptions, read_graph, read_tables
from triplecheck.kg.types import XSD

COMPANIES = (
    "Company,CEO,Founded,Employees,City\n"
    'Atlas,Ines Roy,1990,"1,200",Oslo\nBorealis,Jon Dahl,2001,350,Bergen\nCetus,Mia Lund,2015,48,Oslo\n'
)
PEOPLE = "name,team_id,manager\nAda Novak,1,\nBen Ortiz,2,Ada Novak\nChiara Rossi,1,Ada Novak\n"
TEAMS = "id,name,city\n1,Billing,Oslo\n2,Search,Turin\n"
THREE = {("Atlas", "CEO", "Ines Roy"), ("Atlas", "Founded", "1990"), ("Atlas", "Employees", "1200")}


def triples(raw: RawGraph) -> set[tuple[str, str, str]]:
    return set(zip(raw.heads.to_pylist(), raw.relations.to_pylist(), raw.tails.to_pylist(), strict=True))


def datatype(raw: RawGraph, relation: str) -> set[str | None]:
    assert raw.datatypes is not None
    kinds = zip(raw.relations.to_pylist(), raw.datatypes.to_pylist(), strict=True)
    return {kind and kind.removeprefix(XSD) for name, kind in kinds if name == relation}


def entity(raw: RawGraph, id: str) -> dict[str, Any]:
    return next(row for row in raw.entities.to_pylist() if row["id"] == id)


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("companies.csv", COMPANIES),
            ("companies.csv", "\ufeff" + COMPANIES.replace("\n", "\r\n")),
            ("companies.csv", COMPANIES.replace(",", ";").replace('"1;200"', "1 200")),
            ("companies.csv", COMPANIES.replace('"1,200"', "1200").replace(",", "\t")),
            ("companies.tsv", COMPANIES.replace('"1,200"', "1 200").replace(",", "\t")),
            ("companies.tsv", COMPANIES),
            ("companies.txt", COMPANIES.replace('"1,200"', "1200").replace(",", "|")),
        ],
    )
    def test_delimited(self, tmp_path: Path, name: str, content: str) -> None:
        (raw,) = read_graph(write(tmp_path / name, content))
        assert (triples(raw) >= THREE, len(raw)) == (True, 12)
        assert entity(raw, "Atlas")["types"] == ["companies"]

    def test_gzipped(self, tmp_path: Path) -> None:
        (tmp_path / "companies.csv.gz").write_bytes(gzip.compress(COMPANIES.encode()))
        (raw,) = read_graph(tmp_path / "companies.csv.gz")
        assert triples(raw) >= THREE
        assert entity(raw, "Atlas")["types"] == ["companies"]

    def test_parquet(self, tmp_path: Path) -> None:
        frame = {
            "company": ["Atlas", "Cetus"],
            "CEO": ["Ines Roy", None],
            "founded": [1990, 2015],
            "tags": [["a", "b"], []],
        }
        pq.write_table(pa.table(frame), tmp_path / "companies.parquet")
        (raw,) = read_graph(tmp_path / "companies.parquet")
        assert triples(raw) == {
            ("Atlas", "CEO", "Ines Roy"),
            ("Atlas", "founded", "1990"),
            ("Cetus", "founded", "2015"),
            ("Atlas", "tags", "a"),
            ("Atlas", "tags", "b"),
        }

    def test_excel(self, tmp_path: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        people = book.active
        people.title = "people"
        people.append(["Our people"])
        people.append([])
        people.append(["name", "team", "share", "salary", "start"])
        people.append(["Ada Novak", "Billing", 0.25, 1200.5, pd.Timestamp("2020-01-02").to_pydatetime()])
        people.append(["Ben Ortiz", "Search", 0.5, 900, pd.Timestamp("2021-01-02").to_pydatetime()])
        for row in (4, 5):
            people.cell(row, 3).number_format = "0.0%"
            people.cell(row, 4).number_format = "#,##0.00 [$€-407]"
        teams = book.create_sheet("teams")
        for line in (["team", "city"], ["Billing", "Oslo"], ["Search", "Turin"]):
            teams.append(line)
        book.create_sheet("empty")
        book.save(tmp_path / "book.xlsx")
        (raw,) = read_graph(tmp_path / "book.xlsx")
        assert triples(raw) >= {
            ("Ada Novak", "team", "Billing"),
            ("Ada Novak", "share", "25%"),
            ("Ada Novak", "salary", "€1200.50"),
            ("Ada Novak", "start", "2020-01-02"),
            ("Billing", "city", "Oslo"),
        }
        assert "book.xlsx [people]: a wide table of people (2 rows, key name, team → teams)" in raw.recognised[0]

    def test_a_sheet_may_be_named_as_triples(self, tmp_path: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (["name", "role", "team"], ["Ada", "leads", "Billing"], ["Ben", "joins", "Search"]):
            book.active.append(row)
        book.save(path := tmp_path / "book.xlsx")
        (raw,) = read_graph(path, how=ReadOptions(tables=TableOptions(triples=[str(path)])))
        assert triples(raw) == {("Ada", "leads", "Billing"), ("Ben", "joins", "Search")}

    def test_a_file_that_is_no_workbook_is_refused(self, tmp_path: Path) -> None:
        pytest.importorskip("openpyxl")
        with pytest.raises(ReadError, match="not a readable Excel workbook"):
            read_graph(write(tmp_path / "a.xlsx", "a,b\n"))

    def test_data_frames(self) -> None:
        frame = pd.DataFrame(
            {
                "name": ["Ada", "Ben"],
                "born": [pd.Timestamp("1990-05-06"), None],
                "team": ["Billing", "Search"],
                "age": [30.0, None],
            }
        )
        kb = KnowledgeBase.from_triples(frame, encoder=None)
        found = kb.to_pandas()
        assert set(zip(found["head"], found["relation"], found["tail"], strict=True)) == {
            ("Ada", "born", "1990-05-06"),
            ("Ada", "team", "Billing"),
            ("Ben", "team", "Search"),
            ("Ada", "age", "30"),
        }

    def test_tables_by_name_are_linked(self, tmp_path: Path) -> None:
        people = [{"id": 1, "name": "Ada", "team_id": 7}, {"id": 2, "name": "Ben", "team_id": 8}]
        tables = {"people": people, "teams": pd.DataFrame({"id": [7, 8], "name": ["Billing", "Search"]})}
        kb = KnowledgeBase.from_tables(tables, tmp_path / "kb", classes={"people": "persons"}, encoder=None)
        graph = kb.graph
        assert kb.to_pandas().query("relation == 'team'")["tail"].tolist() == ["teams/7", "teams/8"]
        ada = graph.find("persons/1")
        assert ada is not None
        assert (graph.entity(ada).label, graph.entity(ada).types) == ("Ada", ("persons",))

    @pytest.mark.parametrize("tables", [{}, 3, [{"name": "Ada"}, 3], {"people": 3}, "nothing.csv"])
    def test_other_things_are_refused(self, tables: object) -> None:
        with pytest.raises(UserError):
            read_tables(tables)


class TestThings:
    def test_the_issue_in_the_first_words(self, tmp_path: Path) -> None:
        (raw,) = read_graph(write(tmp_path / "companies.csv", COMPANIES))
        assert triples(raw) >= THREE
        assert datatype(raw, "CEO") == {None}
        assert datatype(raw, "Founded") == datatype(raw, "Employees") == {"integer"}
        assert raw.recognised == [
            f"{tmp_path / 'companies.csv'}: a wide table of companies (3 rows, key Company); first triples: "
            "Atlas —CEO→ Ines Roy; Atlas —Founded→ 1990; Atlas —Employees→ 1200"
        ]

    def test_ids_are_keys_and_names_are_labels(self, tmp_path: Path) -> None:
        (raw,) = read_graph(write(tmp_path / "staff.csv", "person_id,name,age\nP1,Ada,30\nP2,Ada,41\n"))
        assert triples(raw) == {
            ("P1", "person_id", "P1"),
            ("P1", "age", "30"),
            ("P2", "person_id", "P2"),
            ("P2", "age", "41"),
        }
        assert [row["label"] for row in raw.entities.to_pylist()] == ["Ada", "Ada"]

    def test_rows_that_are_called_by_numbers_are_called_by_their_class(self, tmp_path: Path) -> None:
        (raw,) = read_graph(write(tmp_path / "orders.csv", "order_id,product,amount\n1001,Tea,12\n1002,Tea,7\n"))
        about = entity(raw, "orders/1001")
        assert (about["label"], about["aliases"], about["types"]) == ("order 1001", ["1001"], ["orders"])
        assert datatype(raw, "order_id") == {"string"}

    def test_first_and_last_names_are_a_name(self, tmp_path: Path) -> None:
        (raw,) = read_graph(write(tmp_path / "staff.csv", "id,first name,last name\nP1,Ada,Novak\nP2,Ben,Ortiz\n"))
        assert entity(raw, "P1")["label"] == "Ada Novak"

    def test_rows_without_a_key_are_numbered(self, tmp_path: Path) -> None:
        path = write(tmp_path / "lines.csv", "order_id,product,amount\nO1,Tea,1\nO1,Tea,1\nO2,Tea,7\n")
        (raw,) = read_graph(path)
        assert entity(raw, "lines/1")["label"] == "line 1"
        assert "--key COLUMN" in raw.notes[0]

    def test_the_key_may_be_named(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", "name,code,age\nAda,x1,30\nBen,x2,40\n")
        (raw,) = read_graph(path, how=ReadOptions(tables=TableOptions(key=["code"], classes=["persons"])))
        assert (entity(raw, "x1")["label"], entity(raw, "x1")["types"]) == ("Ada", ["persons"])
        with pytest.raises(UserError, match="no table has such a column; there are: name, code, age"):
            read_graph(path, how=ReadOptions(tables=TableOptions(key=["nome"])))
        with pytest.raises(UserError, match="row 2 has no 'age'"):
            read_graph(
                write(tmp_path / "b.csv", "name,age\nAda,30\nBen,\n"),
                how=ReadOptions(tables=TableOptions(key=["age"], wide=[str(tmp_path / "b.csv")])),
            )

    def test_things_of_two_tables_with_one_name_stay_two(self) -> None:
        raw = read_tables({"teams": [{"team": "Atlas", "size": 3}], "products": [{"product": "Atlas", "price": 9}]})
        assert triples(raw) == {("teams/Atlas", "size", "3"), ("products/Atlas", "price", "9")}
        assert {row["label"] for row in raw.entities.to_pylist()} == {"Atlas"}

    def test_money_of_several_currencies_is_noted(self, tmp_path: Path) -> None:
        (raw,) = read_graph(write(tmp_path / "a.csv", "name,price\nTea,$5\nRice,€7\nOil,€9\n"))
        assert "$, €; nothing is converted" in raw.notes[0]


class TestLinks:
    def test_a_role_leads_to_the_only_table_with_names_that_has_such_keys(self, tmp_path: Path) -> None:
        paths = [
            write(tmp_path / "members.csv", "id,name,mentor_id\n1,Ada,\n2,Ben,1\n3,Cleo,1\n"),
            write(
                tmp_path / "visits.csv",
                "id,day,member_id,batch_id\n1,2024-01-02,2,1\n2,2024-01-03,3,2\n3,2024-01-04,1,3\n",
            ),
        ]
        raws = read_graph(paths)
        found = {triple for raw in raws for triple in triples(raw)}
        assert ("members/2", "mentor", "members/1") in found and ("visits/1", "batch_id", "1") in found
        assert any("is taken for keys of members" in note for raw in raws for note in raw.notes)

    def test_columns_of_names_and_keys_are_edges(self, tmp_path: Path) -> None:
        paths = [write(tmp_path / "people.csv", PEOPLE), write(tmp_path / "teams.csv", TEAMS)]
        (raw,) = read_graph(paths)
        assert triples(raw) == {
            ("Ada Novak", "team", "teams/1"),
            ("Ben Ortiz", "team", "teams/2"),
            ("Chiara Rossi", "team", "teams/1"),
            ("Ben Ortiz", "manager", "Ada Novak"),
            ("Chiara Rossi", "manager", "Ada Novak"),
            ("teams/1", "id", "1"),
            ("teams/1", "city", "Oslo"),
            ("teams/2", "id", "2"),
            ("teams/2", "city", "Turin"),
        }
        about = {row["id"]: (row["domain"], row["range"]) for row in raw.relation_rows.to_pylist()}
        assert (about["team"], about["manager"], about["city"]) == (
            ("people", "teams"),
            ("people", "people"),
            ("teams", None),
        )

    def test_numbers_are_no_keys_without_a_word_for_it(self, tmp_path: Path) -> None:
        paths = [write(tmp_path / "people.csv", "name,age\nAda,1\nBen,2\n"), write(tmp_path / "teams.csv", TEAMS)]
        (raw,) = read_graph(paths)
        assert datatype(raw, "age") == {"integer"}

    def test_a_link_may_be_named(self, tmp_path: Path) -> None:
        people = write(tmp_path / "people.csv", "id,name,boss_id\n1,Ada,2\n2,Ben,1\n")
        paths = [people, write(tmp_path / "teams.csv", TEAMS)]
        (raw,) = read_graph(paths)
        assert "--link people.boss_id=TABLE" in raw.notes[0]
        (raw,) = read_graph(paths, how=ReadOptions(tables=TableOptions(links=["people.boss_id=people"])))
        assert ("people/1", "boss", "people/2") in triples(raw)
        with pytest.raises(UserError, match="write COLUMN=TABLE"):
            read_graph(paths, how=ReadOptions(tables=TableOptions(links=["boss=people"])))

    def test_several_links_in_a_cell(self) -> None:
        raw = read_tables(
            {"people": [{"name": "Ada"}, {"name": "Ben"}], "teams": [{"team": "Billing", "members": "Ada; Ben"}]},
            TableOptions(split=["; "]),
        )
        assert triples(raw) == {("Billing", "members", "Ada"), ("Billing", "members", "Ben")}
        assert dict(zip(*[raw.relation_rows[name].to_pylist() for name in ("id", "range")], strict=True)) == {
            "members": "people"
        }

    def test_lists_in_cells_are_seen(self) -> None:
        staff = [
            {"name": "Ada", "speaks": "Danish; Dutch", "note": "left; came back"},
            {"name": "Ben", "speaks": "Dutch", "note": ""},
            {"name": "Cy", "speaks": "Danish; Welsh", "note": "new"},
        ]
        raw = read_tables({"staff": staff})
        assert {tail for _, relation, tail in triples(raw) if relation == "speaks"} == {"Danish", "Dutch", "Welsh"}
        assert ("Ada", "note", "left; came back") in triples(raw)
        assert raw.notes == ["staff: speaks: cells are split at ';'; --split none keeps them whole"]
        whole = read_tables({"staff": staff}, TableOptions(split=["none"]))
        assert ("Ada", "speaks", "Danish; Dutch") in triples(whole) and not whole.notes

    @pytest.mark.parametrize(
        ("column", "cells"),
        [
            ("id", ["A;1", "A;2", "B;1", "B;2"]),
            ("name", ["Marsh &amp; Sons", "Holt &amp; Sons", "Rye", "Sons"]),
            ("score", ["2|2", "1|2", "2|1", "1"]),
            ("note", ["cold; dark", "", "wet", "far"]),
        ],
    )
    def test_other_signs_are_no_lists(self, column: str, cells: list[str]) -> None:
        rows = [{"key": f"k{n}", column: cell} for n, cell in enumerate(cells)]
        assert not any("split" in note for note in read_tables({"things": rows}).notes)

    def test_keys_in_a_cell_are_links(self) -> None:
        shelves = [{"shelf_id": "S1", "shelf_name": "North"}, {"shelf_id": "S2", "shelf_name": "South"}]
        raw = read_tables({"shelves": shelves, "staff": [{"name": "Ada", "shelf_ids": "S1|S2"}, {"name": "Ben"}]})
        assert {("Ada", "shelf", "S1"), ("Ada", "shelf", "S2")} <= triples(raw)
        assert dict(zip(*[raw.entities[name].to_pylist() for name in ("id", "label")], strict=True))["S2"] == "South"

    def test_a_code_names_rows_that_a_number_tells_apart(self) -> None:
        orders = [{"order_id": 7, "order_no": "A-1", "total": 3}, {"order_id": 8, "order_no": "A-2", "total": 4}]
        raw = read_tables({"orders": orders})
        assert set(raw.entities["label"].to_pylist()) == {"A-1", "A-2"}
        assert "order_no" not in {relation for _, relation, _ in triples(raw)}
        assert {"7", "order 7"} <= {*raw.entities["aliases"].to_pylist()[0]}

    @pytest.mark.parametrize(
        ("row", "other"),
        [
            ({"id": 1, "first_name": "Ada", "last_name": "Holt", "staff_no": "E-1"}, {"staff_no": "E-2"}),
            ({"id": 1, "phone_number": "+31 6"}, {"phone_number": "+31 7"}),
        ],
    )
    def test_another_code_is_no_name(self, row: dict[str, object], other: dict[str, object]) -> None:
        raw = read_tables({"staff": [row, row | {"id": 2} | other]})
        assert not {"E-1", "+31 6"} & {*raw.entities["label"].to_pylist()}


class TestRecognised:
    @pytest.mark.parametrize(
        "content",
        [
            "Alien\tdirected by\tRidley Scott\nBrazil\tdirected by\tTerry Gilliam\nAlien\tstars\tJohn Hurt\n",
            "subject,predicate,object,from\nAda,works in,Billing,2017\n",
            "Ada\tknows\tBen\t2014-01-01\nBen\tmeets\tCleo\t2014-01-02\nCleo\tvisits\tAda\t2014-01-03\n",
            "m.01\t/film/film/year\t1979\nm.02\t/film/film/year\t1982\n",
        ],
    )
    def test_triples_stay_triples(self, tmp_path: Path, content: str) -> None:
        (raw,) = read_graph(write(tmp_path / "a.txt", content))
        assert raw.recognised[0].startswith(f"{tmp_path / 'a.txt'}: triples; first triples: ")
        assert raw.entities.num_rows == 0

    def test_where_it_cannot_be_told_both_readings_are_shown(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "a.csv",
            "who,group,place\nAda,Billing,Oslo\nBen,Billing,Turin\nCleo,Search,Graz\nDora,Search,Rome\n",
        )
        with pytest.raises(ReadError) as caught:
            read_graph(path)
        said = str(caught.value)
        assert f"As triples (--triples-of {path}): who —group→ place; Ada —Billing→ Oslo" in said
        assert f"As a wide table (--wide {path}): Ada —group→ Billing; Ada —place→ Oslo" in said
        (wide,) = read_graph(path, how=ReadOptions(tables=TableOptions(wide=[str(path)])))
        assert ("Ada", "group", "Billing") in triples(wide)
        (raw,) = read_graph(path, how=ReadOptions(tables=TableOptions(triples=[str(path)])))
        assert ("Ada", "Billing", "Oslo") in triples(raw)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("country,capital\nFrance,Paris\nItaly,Rome\n", "they are a wide table (--wide "),
            ("country,2019,2020\nFrance,2.7,2.6\nItaly,2.0,1.9\n", "As a wide table (--wide "),
            ("origin,destination,date,price\nOslo,Rome,2024-01-01,100\n", "or read a wide table: --wide "),
        ],
    )
    def test_the_other_reading_is_named(self, tmp_path: Path, content: str, said: str) -> None:
        path = write(tmp_path / "a.csv", content)
        with pytest.raises(ReadError) as caught:
            read_graph(path)
        assert said in caught.value.reason
        (raw,) = read_graph(path, how=ReadOptions(tables=TableOptions(wide=[str(path)])))
        assert "a wide table of a" in raw.recognised[0]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("a;r;b\n", "1 field; is ';' the delimiter?"),
            ("abc\ndef\n", "1 field; head, relation and tail are required"),
        ],
    )
    def test_a_wrong_delimiter_is_named(self, tmp_path: Path, content: str, said: str) -> None:
        with pytest.raises(ReadError) as caught:
            read_graph(write(tmp_path / "a.csv", content))
        assert said in caught.value.reason

    def test_triples_with_another_delimiter_are_read(self, tmp_path: Path) -> None:
        (raw,) = read_graph(write(tmp_path / "a.csv", 'a;knows;"b;c"\nd;knows;"say ""e"""\n'))
        assert triples(raw) == {("a", "knows", "b;c"), ("d", "knows", 'say "e"')}
        with pytest.raises(ReadError, match="2 fields, 3 expected") as caught:
            read_graph(write(tmp_path / "b.csv", "a;knows;b\nb;knows;a\nc;knows;a\nd;knows\n" + "e;knows;a\n" * 60))
        assert caught.value.line == 4


def test_half_a_character_is_refused() -> None:
    with pytest.raises(UserError, match="half a character"):
        read_tables({"people": [{"name": "\ud800", "age": 3}]})
