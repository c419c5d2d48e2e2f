"""Tables: triples, entities and relations from TSV, CSV and Parquet."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kg_parts import write

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.numbering import concat
from triplecheck.kg.readers import (
    RawGraph,
    ReadOptions,
    parse_mapping,
    read_entities,
    read_graph,
    read_relations,
    read_triples,
)

Rows = list[tuple[str, ...]]
TWO = "ada\tknows\tcharles\ncharles\tborn in\tLondon\n"
SKIP_BAD = ReadOptions(skip_bad=True)
TWO_ROWS: Rows = [("ada", "knows", "charles"), ("charles", "born in", "London")]


def rows(raw: RawGraph) -> Rows:
    return list(zip(raw.heads.to_pylist(), raw.relations.to_pylist(), raw.tails.to_pylist(), strict=True))


def refusal(path: Path, mapping: dict[str, str] | None = None) -> ReadError:
    with pytest.raises(ReadError) as caught:
        read_triples(path, ReadOptions(mapping=mapping or {}))
    assert caught.value.path == path
    assert str(path) in str(caught.value)
    return caught.value


class TestTriples:
    @pytest.mark.parametrize("name", ["a.tsv", "a.txt", "A.TSV", "a.tsv.gz"])
    def test_tab_separated(self, tmp_path: Path, name: str) -> None:
        assert rows(read_triples(write(tmp_path / name, TWO))) == TWO_ROWS

    @pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
    def test_comma_separated(self, tmp_path: Path, name: str) -> None:
        assert rows(read_triples(write(tmp_path / name, TWO.replace("\t", ",")))) == TWO_ROWS

    def test_parquet(self, tmp_path: Path) -> None:
        columns = dict(zip(("head", "relation", "tail"), map(list, zip(*TWO_ROWS, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        assert rows(read_triples(tmp_path / "a.parquet")) == TWO_ROWS

    @pytest.mark.parametrize("content", [TWO.replace("\n", "\r\n"), TWO.rstrip("\n"), "\ufeff" + TWO, TWO + "\n\n"])
    def test_line_ends_a_byte_order_mark_and_empty_lines_do_not_matter(self, tmp_path: Path, content: str) -> None:
        assert rows(read_triples(write(tmp_path / "a.tsv", content))) == TWO_ROWS

    @pytest.mark.parametrize(
        "header",
        [
            *("head relation tail", "Head Relation Tail", "subject predicate object", "source relation target"),
            *("s p o", "h r t", "from edge to", "src rel dst", "start type end", "node1 label node2"),
            *(":START_ID :TYPE :END_ID", "s_id p_id o_id", "subjectLabel predicateLabel objectLabel"),
            *("source_name relationship target_name", "item property value", "itemLabel propLabel valueLabel"),
            *("entity attribute value", "parent relation child", "x rel y"),
        ],
    )
    def test_a_first_line_that_names_the_columns_is_a_header(self, tmp_path: Path, header: str) -> None:
        assert rows(read_triples(write(tmp_path / "a.tsv", header.replace(" ", "\t") + "\n" + TWO))) == TWO_ROWS

    def test_a_header_gives_the_order_of_the_columns(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", "id,source,target,type\n1,ada,charles,knows\n2,charles,London,born in\n")
        assert rows(read_triples(path)) == TWO_ROWS

    def test_a_header_without_a_column_of_relations_is_an_error(self, tmp_path: Path) -> None:
        error = refusal(write(tmp_path / "a.csv", "source,target,weight\na,b,1\n"))
        assert "--map relation=COLUMN" in error.reason

    def test_a_table_of_entities_is_not_read_as_triples(self, tmp_path: Path) -> None:
        error = refusal(write(tmp_path / "a.csv", "id,label,type\nn1,Ada,Person\n"))
        assert "--entities" in error.reason
        path = write(tmp_path / "b.tsv", "id\tlabel\ttype\na\tb\tc\n")
        assert len(read_triples(path, ReadOptions(header=False))) == 2

    def test_any_other_first_line_is_a_triple(self, tmp_path: Path) -> None:
        content = "thing\thow\tother\n"
        raw = read_triples(write(tmp_path / "a.tsv", content))
        assert rows(raw) == [("thing", "how", "other")]
        assert raw.notes == []

    def test_an_odd_first_line_is_read_as_a_triple_with_a_note(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "person\tverb\tthing\na\tlikes\tb\nb\tlikes\tc\nc\tlikes\td\n")
        raw = read_triples(path)
        assert len(raw) == 4
        assert "person verb thing" in raw.notes[0]
        assert "--header" in raw.notes[0]

    @pytest.mark.parametrize(
        "line", ["left\topposite\tright", "parent\tantonym\tchild", "a\tr\tb", "x\tis\ty", "u\tp\tv"]
    )
    def test_words_that_are_names_of_columns_elsewhere_are_data(self, tmp_path: Path, line: str) -> None:
        assert len(read_triples(write(tmp_path / "a.tsv", f"{line}\n{TWO}"))) == 3

    def test_an_odd_first_line_with_a_word_for_relations_is_a_header(self, tmp_path: Path) -> None:
        text = "person\trelation\tcompany\tfrom\na\tlikes\tb\t1\nb\tlikes\tc\t2\nc\tlikes\td\t3\n"
        raw = read_triples(write(tmp_path / "a.tsv", text), ReadOptions(edge_properties=["from"]))
        assert len(raw) == len(raw.edge_properties) == 3
        assert "--no-header" in raw.notes[0]

    def test_a_first_line_with_a_known_cell_needs_no_note(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "a\tknows\tx\na\tlikes\tb\nb\tlikes\tc\nc\tlikes\td\n")
        assert read_triples(path).notes == []

    @pytest.mark.parametrize(("header", "count"), [(True, 1), (False, 2)])
    def test_the_caller_says_whether_there_is_a_header(self, tmp_path: Path, header: bool, count: int) -> None:
        path = write(tmp_path / "a.tsv", "subject\tverb\tobject\nada\tknows\tcharles\n")
        assert len(read_triples(path, ReadOptions(header=header))) == count

    def test_further_columns_may_be_edge_properties(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "subject\tpredicate\tobject\tsince\tnote\na\tr\tb\t1993\t\na\tr\tc\t\tx\n")
        found = read_triples(path, ReadOptions(edge_properties=["*"])).edge_properties.to_pylist()
        assert [(row["edge"], row["name"], row["value"]) for row in found] == [(0, "since", "1993"), (1, "note", "x")]
        assert len(read_triples(path, ReadOptions(edge_properties=["since"])).edge_properties) == 1
        with pytest.raises(ReadError, match="no column 'until'"):
            read_triples(path, ReadOptions(edge_properties=["until"]))

    def test_a_header_is_only_on_the_first_line(self, tmp_path: Path) -> None:
        raw = read_triples(write(tmp_path / "a.tsv", TWO + "head\trelation\ttail\n"))
        assert rows(raw)[-1] == ("head", "relation", "tail")

    def test_further_columns_are_ignored(self, tmp_path: Path) -> None:
        raw = read_triples(write(tmp_path / "a.tsv", "a\tr\tb\t0.5\nc\tr\td\t0.7\n"))
        assert rows(raw) == [("a", "r", "b"), ("c", "r", "d")]

    def test_quotes_in_tab_separated_files_are_text(self, tmp_path: Path) -> None:
        raw = read_triples(write(tmp_path / "a.tsv", 'a\tnickname\t"Duke\nb\tnickname\tthe "Count"\n'))
        assert rows(raw) == [("a", "nickname", '"Duke'), ("b", "nickname", 'the "Count"')]

    def test_quoted_fields_of_comma_separated_files_may_hold_anything(self, tmp_path: Path) -> None:
        raw = read_triples(write(tmp_path / "a.csv", 'a,said,"no,\nnever"\n"b ""Bee""",said,"yes"\n'))
        assert rows(raw) == [("a", "said", "no,\nnever"), ('b "Bee"', "said", "yes")]

    def test_words_that_look_like_missing_values_or_numbers_are_kept(self, tmp_path: Path) -> None:
        content = "".join(f"{word}\tis\t{word}\n" for word in ("NA", "null", "NaN", "true", "007", "1e5", "#N/A"))
        raw = read_triples(write(tmp_path / "a.tsv", content))
        assert raw.tails.to_pylist() == ["NA", "null", "NaN", "true", "007", "1e5", "#N/A"]

    def test_a_triple_given_twice_is_read_twice(self, tmp_path: Path) -> None:
        assert rows(read_triples(write(tmp_path / "a.tsv", TWO + TWO))) == TWO_ROWS * 2

    @pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.tsv.gz"])
    @pytest.mark.parametrize("content", ["", "\n"])
    def test_an_empty_file_has_no_triples(self, tmp_path: Path, name: str, content: str) -> None:
        raw = read_triples(write(tmp_path / name, content))
        assert rows(raw) == []

    def test_a_header_alone_has_no_triples(self, tmp_path: Path) -> None:
        assert len(read_triples(write(tmp_path / "a.tsv", "head\trelation\ttail\n"))) == 0

    def test_more_than_one_block_is_read(self, tmp_path: Path) -> None:
        pick = random.Random(3)
        content = "".join(f"entity {pick.random()}\tr{i % 7}\tentity {i}\n" for i in range(300_000))
        raw = read_triples(write(tmp_path / "a.tsv", content))
        assert len(raw) == 300_000
        assert raw.tails[299_999].as_py() == "entity 299999"
        assert len(raw.relations.dictionary) == 7

    @given(
        st.lists(
            st.tuples(
                *[st.text(st.characters(exclude_characters='\t\r\n\x00"', codec="utf-8"), min_size=1, max_size=8)] * 3
            ),
            min_size=1,
            max_size=6,
        )
    )
    def test_what_is_written_is_read(self, tmp_path_factory: pytest.TempPathFactory, triples: Rows) -> None:
        wanted = [t for t in triples if all(field.strip() for field in t)]
        content = "head\trelation\ttail\n" + "".join("\t".join(t) + "\n" for t in wanted)
        assert rows(read_triples(write(tmp_path_factory.mktemp("round") / "a.tsv", content))) == wanted


class TestMapping:
    def test_columns_are_named(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", "weight,object,subject,verb\n1,b,a,likes\n")
        how = ReadOptions(mapping={"head": "subject", "relation": "verb", "tail": "object"})
        assert rows(read_triples(path, how)) == [("a", "likes", "b")]

    def test_a_column_of_datatypes_makes_literals(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "s\tp\to\tkind\na\tage\t42\thttp://example.org/years\n")
        mapping = {"head": "s", "relation": "p", "tail": "o", "datatype": "kind"}
        raw = read_triples(path, ReadOptions(mapping=mapping))
        assert raw.datatypes is not None
        assert raw.datatypes.to_pylist() == ["http://example.org/years"]

    def test_a_column_that_is_missing_is_named_with_those_there_are(self, tmp_path: Path) -> None:
        error = refusal(write(tmp_path / "a.tsv", "s\tp\to\na\tb\tc\n"), {"head": "subject"})
        assert error.line == 1
        assert "'subject'" in error.reason
        assert "s, p, o" in error.reason

    def test_parquet_columns_are_named_too(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"x": ["a"], "y": ["r"], "z": ["b"]}), tmp_path / "a.parquet")
        assert "'head'" in refusal(tmp_path / "a.parquet").reason
        raw = read_triples(tmp_path / "a.parquet", ReadOptions(mapping={"head": "x", "relation": "y", "tail": "z"}))
        assert rows(raw) == [("a", "r", "b")]

    def test_pairs_are_parsed(self) -> None:
        assert parse_mapping(["head=subject,tail=object", "label=name"]) == {
            "head": "subject",
            "tail": "object",
            "label": "name",
        }

    @pytest.mark.parametrize("pair", ["head", "head=", "=subject", "heat=subject"])
    def test_a_wrong_pair_is_refused_with_the_names_that_are_known(self, pair: str) -> None:
        with pytest.raises(UserError, match="head, id, label"):
            parse_mapping([pair])


class TestMalformed:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"a\tr", "2 fields, 3 expected"),
            (b"a\tr\tb\tc", "4 fields, 3 expected"),
            (b"a\t\tb", "empty relation"),
            (b"\tr\t ", "empty head, tail"),
            (b"a\tr\tb\x00", "NUL"),
            (b"a\tr\tcaf\xe9", "not UTF-8"),
        ],
        ids=["few", "many", "empty", "blank", "NUL", "latin-1"],
    )
    @pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.csv"])
    def test_a_line_is_refused_by_file_number_and_reason(
        self, tmp_path: Path, name: str, line: bytes, reason: str
    ) -> None:
        content = TWO.encode() + line + b"\n" + TWO.encode()
        error = refusal(write(tmp_path / name, content.replace(b"\t", b",") if "csv" in name else content))
        assert error.line == 3
        assert reason in error.reason
        assert str(error).startswith(f"{tmp_path / name}:3: ")

    def test_a_skipped_line_is_counted_with_its_reason(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", TWO.encode() + b"a\tr\n" + TWO.encode() + b"\xff\xfe\tr\tb\n")
        raw = read_triples(path, SKIP_BAD)
        assert rows(raw) == TWO_ROWS * 2
        assert [(bad.path, bad.line) for bad in raw.skipped] == [(str(path), 3), (str(path), 6)]
        assert "2 fields" in raw.skipped[0].reason
        assert "UTF-8" in raw.skipped[1].reason

    def test_a_record_of_several_lines_is_numbered_by_its_first(self, tmp_path: Path) -> None:
        error = refusal(write(tmp_path / "a.csv", 'a,r,b\na,said,"no,\nnever"\nc,r\n'))
        assert error.line == 4
        assert refusal(write(tmp_path / "b.csv", 'a,r,b\n"one\ntwo",r\nc,r,d\n')).line == 2

    def test_a_quote_that_is_never_closed(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", 'a,r,b\na,r,"open\nc,r,d\n')
        assert refusal(path).line == 2
        raw = read_triples(path, SKIP_BAD)
        assert rows(raw) == [("a", "r", "b")]
        assert [(bad.line, bad.reason) for bad in raw.skipped] == [(2, "a quote is never closed")]

    def test_a_quote_within_a_field_is_text(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", 'disk,size,5"\nb,r\ndisk,size,"8"" or\n5"""\n')
        raw = read_triples(path, SKIP_BAD)
        assert rows(raw) == [("disk", "size", '5"'), ("disk", "size", '8" or\n5"')]
        assert [bad.line for bad in raw.skipped] == [2]

    def test_a_file_of_bad_lines_only(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "a\tr\tb\n\tr\tb\na\t\tb\n".removeprefix("a\tr\tb\n"))
        raw = read_triples(path, SKIP_BAD)
        assert (rows(raw), len(raw.skipped)) == ([], 2)

    def test_one_column_is_not_a_table_of_triples(self, tmp_path: Path) -> None:
        error = refusal(write(tmp_path / "a.tsv", "a,r,b\n"))
        assert error.line == 1
        assert error.reason == "1 field; is ',' the delimiter? head, relation and tail are required"

    def test_no_such_file(self, tmp_path: Path) -> None:
        assert "no such file" in refusal(tmp_path / "nothing.tsv").reason

    def test_a_directory_is_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.tsv").mkdir()
        refusal(tmp_path / "a.tsv")

    @pytest.mark.parametrize("where", ["none", "cut", 0.001, 0.01, 0.3, 0.5, 0.9, 0.9999])
    def test_a_damaged_gzip(self, tmp_path: Path, where: float | str) -> None:
        pick = random.Random(1)
        text = "".join(f"{pick.random()}\tr\t{pick.random()}\n" for _ in range(5000)).encode()
        whole = bytearray(text if where == "none" else gzip.compress(text))
        if isinstance(where, float):
            whole[int(len(whole) * where)] ^= 0xFF
        path = tmp_path / "a.tsv.gz"
        path.write_bytes(whole[: len(whole) // 2] if where == "cut" else whole)
        refusal(path)
        with pytest.raises(ReadError):
            read_triples(path, SKIP_BAD)

    @pytest.mark.parametrize("read", [read_triples, read_entities, read_relations])
    def test_a_parquet_file_that_is_none(self, tmp_path: Path, read: object) -> None:
        path = write(tmp_path / "a.parquet", TWO)
        with pytest.raises(ReadError, match="Parquet"):
            read(path)  # type: ignore[operator]

    def test_a_parquet_row_without_a_head(self, tmp_path: Path) -> None:
        pq.write_table(
            pa.table({"head": ["a", None], "relation": ["r", "r"], "tail": ["b", "c"]}), tmp_path / "a.parquet"
        )
        assert "row 2 has no 'head'" in refusal(tmp_path / "a.parquet").reason

    def test_an_unknown_extension(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"'.docx'.*known: .tsv"):
            read_graph([tmp_path / "a.docx"])


class TestDescriptions:
    def test_entities(self, tmp_path: Path) -> None:
        header = "id\tlabel\taliases\ttype\tdescription\tmore\n"
        content = "Q1\tAda\tCountess | Byron|\tPerson|Poet\tFirst.\tx\nQ2\t\t\t\t\t\n"
        table, skipped = read_entities(write(tmp_path / "e.tsv", header + content))
        assert table.to_pylist() == [
            {
                "id": "Q1",
                "label": "Ada",
                "description": "First.",
                "aliases": ["Countess", "Byron"],
                "types": ["Person", "Poet"],
            },
            {"id": "Q2", "label": None, "description": None, "aliases": [], "types": []},
        ]
        assert skipped == []

    def test_only_the_id_is_required(self, tmp_path: Path) -> None:
        table, _ = read_entities(write(tmp_path / "e.csv", "label,id\nAda,Q1\n"))
        assert table["label"].to_pylist() == ["Ada"]
        with pytest.raises(ReadError, match="'id'"):
            read_entities(write(tmp_path / "f.csv", "label,name\nAda,Q1\n"))

    def test_relations(self, tmp_path: Path) -> None:
        content = "id,label,aliases,domain,range\nbornIn,born in,birthplace|native of,Person,City\n"
        table, _ = read_relations(write(tmp_path / "r.csv.gz", content))
        assert table.to_pylist() == [
            {
                "id": "bornIn",
                "label": "born in",
                "description": None,
                "aliases": ["birthplace", "native of"],
                "domain": "Person",
                "range": "City",
            }
        ]

    def test_columns_are_mapped(self, tmp_path: Path) -> None:
        path = write(tmp_path / "e.csv", "qid,name\nQ1,Ada\n")
        table, _ = read_entities(path, ReadOptions(mapping={"id": "qid", "label": "name"}))
        assert (table["id"].to_pylist(), table["label"].to_pylist()) == (["Q1"], ["Ada"])
        with pytest.raises(ReadError, match="'title'"):
            read_entities(path, ReadOptions(mapping={"id": "qid", "label": "title"}))

    def test_parquet_with_lists(self, tmp_path: Path) -> None:
        table = pa.table({"id": ["Q1", "Q2"], "aliases": [["a", "b"], None], "label": ["Ada", None]})
        pq.write_table(table, tmp_path / "e.parquet")
        found, _ = read_entities(tmp_path / "e.parquet")
        assert found["aliases"].to_pylist() == [["a", "b"], []]
        assert found["label"].to_pylist() == ["Ada", None]

    def test_lines_skipped_in_the_tables_are_counted_with_the_graph(self, tmp_path: Path) -> None:
        triples = write(tmp_path / "t.tsv", TWO + "a\n")
        entities = write(tmp_path / "e.tsv", "id\tlabel\nQ1\tAda\nQ2\n\tnameless\n")
        relations = write(tmp_path / "r.tsv", "id\tlabel\nknows\n")
        raw = concat(read_graph([triples], entities, relations, SKIP_BAD))
        assert [(Path(bad.path).name, bad.line) for bad in raw.skipped] == [
            ("t.tsv", 3),
            ("e.tsv", 3),
            ("e.tsv", 4),
            ("r.tsv", 2),
        ]
        assert raw.entities["id"].to_pylist() == ["Q1"]
        assert raw.relation_rows.num_rows == 0

    def test_a_malformed_line_of_a_table_is_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "e.tsv", "id\tlabel\nQ1\tAda\nQ2\n")
        with pytest.raises(ReadError, match="2 expected") as caught:
            read_entities(path)
        assert caught.value.line == 3

    @pytest.mark.parametrize("read", [read_entities, read_relations])
    def test_an_empty_table_has_no_header(self, tmp_path: Path, read: object) -> None:
        with pytest.raises(ReadError, match="it has: nothing"):
            read(write(tmp_path / "e.tsv", ""))  # type: ignore[operator]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize(("name", "comma"), [("h.tsv", "\t"), ("h.csv", ",")])
def test_a_header_alone_is_an_empty_table(tmp_path: Path, name: str, comma: str, end: str) -> None:
    assert rows(read_triples(write(tmp_path / name, comma.join(["head", "relation", "tail"]) + end))) == []
    assert read_entities(write(tmp_path / name, comma.join(["id", "label"]) + end))[0].num_rows == 0


def test_a_parquet_file_with_an_undecodable_column_name_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"head": ["a"], "relation": ["b"], "tail": ["c"]}), tmp_path / "t.parquet")
    damaged = write(tmp_path / "d.parquet", (tmp_path / "t.parquet").read_bytes().replace(b"head", b"\xff\xfead"))
    assert "not a readable Parquet file" in str(refusal(damaged))


def test_a_parquet_column_that_is_no_text_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"head": [{"x": 1}], "relation": ["b"], "tail": ["c"]}), tmp_path / "t.parquet")
    assert "the column 'head' is struct<x: int64>, not text" in str(refusal(tmp_path / "t.parquet"))


class TestLabels:
    """Names of codes: `P1`, `name`, `Anna Lindqvist`."""

    def test_names_of_codes_are_labels_and_no_things(self, tmp_path: Path) -> None:
        raw = read_triples(write(tmp_path / "a.tsv", "P1\tname\tAnna Lind\nP2\tname\tTom Reid\nP2\ttrained by\tP1\n"))
        assert rows(raw) == [("P2", "trained by", "P1")]
        assert raw.entities.select(["id", "label"]).to_pylist() == [
            {"id": "P1", "label": "Anna Lind"},
            {"id": "P2", "label": "Tom Reid"},
        ]
        assert (raw.read, raw.described) == (3, 2)

    @pytest.mark.parametrize(
        "text",
        [
            "Anna\tname\tAnna Lind\nTom\tname\tTom Reid\nTom\ttrained by\tAnna\n",
            "P1\tname\tAnna Lind\nP1\tname\tAnna Reid\nP2\ttrained by\tP1\n",
            "P1\ttitle\tDr\nP2\ttitle\tDr\nP2\ttrained by\tP1\n",
        ],
        ids=["heads are no codes", "several names", "the same for all"],
    )
    def test_other_names_are_edges(self, tmp_path: Path, text: str) -> None:
        raw = read_triples(write(tmp_path / "a.tsv", text))
        assert rows(raw) == [tuple(line.split("\t")) for line in text.splitlines()]
        assert raw.entities.num_rows == 0
