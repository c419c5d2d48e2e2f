"""The page of results (`docs/results.md`): its tables and pictures are made from the published reports.

`docs/reports/results.toml` names the figures of each table and picture: lines of the `cells.csv` of any report, or, if
they are computed from the answers, cells of a table of a `report.md`. The page has a place for each table, from
`<!-- table NAME -->` to `<!-- end -->`.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from triplecheck.evals.experiments.markdown import markdown_table, number, title
from triplecheck.evals.experiments.pictures import draw_series
from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text

PAGE = "results.md"
_REPORTS = Path("reports")
_SPECS = _REPORTS / "results.toml"
_PICTURES = _REPORTS / "results"
_PLACE = re.compile(r"(<!-- table (\S+) -->\n)[^<]*(?:<(?!!--)[^<]*)*(<!-- end -->)")
_MADE = re.compile(r"Made on (\S+) by `([^`]+)`")

Where = dict[str, str]
"""Values of columns of `cells.csv`. `report` is the name of its directory, `metric` the column that is shown, `title`
what the page says in place of `label` or `metric`. With `quote` it is the table of `report.md` that begins so,
under a heading that begins with `under`; `label` is then the first cell of a row, `metric` the heading of a column."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: each row and column names the cells that it takes; a cell that was not measured is empty."""

    name: str
    head: str = ""
    where: Where = field(default_factory=dict)
    rows: Sequence[Where]
    columns: Sequence[Where]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture: a colour for each of `series`, and a point (with `x`) or a bar for each of `rows`."""

    name: str
    title: str
    x: str = ""
    y: str
    where: Where = field(default_factory=dict)
    rows: Sequence[Where]
    series: Sequence[Where]


@dataclass(frozen=True, kw_only=True)
class _Specs:
    tables: Sequence[Table]
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Results:
    """The published reports of a directory `docs`.

    Raises:
        UserError: a file is missing or malformed, or a table names cells that are not there or several at once.
    """

    docs: Path
    specs: _Specs
    cells: Sequence[Where]

    @classmethod
    def read(cls, docs: Path) -> Results:
        """The specifications and the cells of all reports."""
        try:
            content = tomllib.loads((docs / _SPECS).read_text("utf-8"))
            specs = TypeAdapter(_Specs).validate_python(content, extra="forbid", by_name=True)
        except FileNotFoundError:
            raise UserError(f"{docs / _SPECS} is missing: run this in a clone of the repository") from None
        except (ValidationError, ValueError) as error:
            raise UserError(f"{docs / _SPECS}: {error}") from None
        cells = []
        for path in sorted((docs / _REPORTS).glob("*/cells.csv")):
            lines = csv.DictReader(io.StringIO(path.read_text("utf-8")))
            cells += [line | {"report": path.parent.name} for line in lines]
        return cls(docs, specs, cells)

    def page(self) -> str:
        """The text of the page with its tables made anew."""
        text = (self.docs / PAGE).read_text("utf-8")
        made = {table.name: self.table(table) for table in self.specs.tables}
        places = [match[2] for match in _PLACE.finditer(text)]
        if sorted(places) != sorted(made):
            raise UserError(f"{PAGE} has the tables {sorted(places)}, {_SPECS} has {sorted(made)}")
        return _PLACE.sub(lambda match: f"{match[1]}{made[match[2]]}{match[3]}", text)

    def table(self, table: Table) -> str:
        """A table, and below it where its figures are from."""
        used: dict[str, None] = {}
        grid = [[self._text(table, row, column, used) for column in table.columns] for row in table.rows]
        if not all(map(any, [*grid, *zip(*grid, strict=True)])):
            raise UserError(f"{_SPECS}: table {table.name!r} has a row or a column without a figure")
        heads = [table.head, *map(_title, table.columns)]
        rows = [[_title(row), *found] for row, found in zip(table.rows, grid, strict=True)]
        sources = " and ".join(self._source(report) for report in used)
        note = f" {' '.join(table.note.split())}" if table.note else ""
        return f"\n{markdown_table(heads, rows)}\n<sub>From {sources}.{note}</sub>"

    def figures(self, drawn: Picture) -> dict[str, dict[str, list[float]]]:
        """The y, or x and y, of each row of each series."""
        metrics = [metric for metric in (drawn.x, drawn.y) if metric]
        found: dict[str, dict[str, list[float]]] = {}
        for series in drawn.series:
            cells = {_title(row): self._cell(drawn.where | series | row) for row in drawn.rows}
            found[_title(series)] = {
                name: [float(cell[metric]) for metric in metrics] for name, cell in cells.items() if cell is not None
            }
        return found

    def write(self) -> Path:
        """Write the page and its pictures."""
        page = self.page()
        for drawn in self.specs.pictures:
            path = self.docs / _PICTURES / f"{drawn.name}.png"
            draw_series(
                path, drawn.title, drawn.x and f"{title(drawn.x)} a question", title(drawn.y), self.figures(drawn)
            )
        write_text(self.docs / PAGE, page)
        return self.docs / PAGE

    def _text(self, table: Table, row: Where, column: Where, used: dict[str, None]) -> str:
        wanted = table.where | row | column
        if "quote" in wanted:
            used[wanted["report"]] = None
            return self._quoted(wanted)
        cell = self._cell(wanted)
        if cell is None:
            return ""
        used[cell["report"]] = None
        text = cell.get(wanted["metric"], "")
        return number(float(text) if text else None, wanted["metric"])

    def _cell(self, wanted: Where) -> Where | None:
        keys = wanted.keys() - {"title", "metric"}
        found = [cell for cell in self.cells if all(cell.get(key) == wanted[key] for key in keys)]
        if len(found) > 1:
            raise UserError(f"{_SPECS}: {len(found)} cells are {wanted}")
        return found[0] if found else None

    def _quoted(self, wanted: Where) -> str:
        tables = _tables((self.docs / _REPORTS / wanted["report"] / "report.md").read_text("utf-8"))
        for heading, (head, *rows) in tables:
            if head[0] == wanted["quote"] and heading.startswith(wanted.get("under", "")):
                for row in rows:
                    if row[0] == wanted["label"] and wanted["metric"] in head:
                        return row[head.index(wanted["metric"])]
        raise UserError(f"{_SPECS}: no report has {wanted}")

    def _source(self, report: str) -> str:
        place = _REPORTS / report / "report.md"
        made = _MADE.search((self.docs / place).read_text("utf-8"))
        if made is None:
            raise UserError(f"{place} does not say when it was made")
        return f"[{report}]({place.as_posix()}) of {made[1]} (`{made[2]}`)"


def _title(where: Where) -> str:
    return where.get("title") or where.get("metric") or where.get("label", "")


def _tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """The tables of a report, each with the heading above it; the first row is the header."""
    heading = ""
    for part in re.split(r"\n{2,}", text):
        if part.startswith("#"):
            heading = part.lstrip("# ")
        elif part.startswith("|"):
            lines = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in part.splitlines()]
            yield heading, [lines[0], *lines[2:]]
