"""The page of results: its tables and pictures are what the published reports say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from documents import DOCS

from triplecheck.evals.results import PAGE, Results, Table
from triplecheck.kg import UserError

CELLS = """table,label,data,model,hits_at_1,calls,proved
main,Alpha,films,m,0.5,4,
main,Beta,films,m,0.25,2.04,0.5
main,Alpha,rivers,m,1.0,3,
main,Alpha,rivers,n,0.75,3,
"""
REPORT = """# Small

Made on 2026-01-02 by `triplecheck report small`.

## Shares

|  | n | right |
| --- | ---: | ---: |
| Alpha | 10 | 20.0% |

## Others

|  | n | right |
| --- | ---: | ---: |
| Alpha | 9 | 11.1% |
"""
SPECS = """
[[tables]]
name = "one"
where = { report = "small", table = "main" }
rows = [{ label = "Alpha" }, { title = "The second", label = "Beta" }]
columns = [
  { title = "films", metric = "hits_at_1", data = "films" },
  { title = "rivers", metric = "hits_at_1", data = "rivers", model = "m" },
  { metric = "calls", data = "films" },
  { metric = "proved", data = "films" },
]
note = "A note."

[[tables]]
name = "two"
head = "shares"
where = { report = "small", quote = "", under = "Others" }
rows = [{ label = "Alpha" }]
columns = [{ title = "questions", metric = "n" }, { metric = "right" }]
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "reports" / "small").mkdir(parents=True)
    (tmp_path / "reports" / "results.toml").write_text(SPECS, "utf-8")
    (tmp_path / "reports" / "small" / "cells.csv").write_text(CELLS, "utf-8")
    (tmp_path / "reports" / "small" / "report.md").write_text(REPORT, "utf-8")
    (tmp_path / PAGE).write_text(
        "# R\n\nOne. <!-- table one -->\n<!-- end -->\n\n<!-- table two -->\nold\n<!-- end -->\nThe end.\n", "utf-8"
    )
    return tmp_path


def test_the_tables_of_the_page_are_what_the_reports_say() -> None:
    made, page = Results.read(DOCS).page(), (DOCS / PAGE).read_text("utf-8")
    assert made == page, "run `triplecheck report results`"


def test_the_pictures_of_the_page_show_the_figures_of_the_reports() -> None:
    image = pytest.importorskip("PIL.Image", reason="needs the extra `plots`")
    results = Results.read(DOCS)
    assert results.specs.pictures
    for drawn in results.specs.pictures:
        with image.open(DOCS / "reports" / "results" / f"{drawn.name}.png") as picture:
            assert json.loads(picture.text["Description"]) == results.figures(drawn), "run `triplecheck report results`"


def test_a_page_has_figures_of_cells_and_of_reports_with_day_and_command(docs: Path) -> None:
    source = "From [small](reports/small/report.md) of 2026-01-02 (`triplecheck report small`)."
    assert Results.read(docs).page().splitlines() == [
        "# R",
        "",
        "One. <!-- table one -->",
        "",
        "|  | films | rivers | calls | proved |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| Alpha | 0.500 | 1.000 | 4.0 | - |",
        "| The second | 0.250 |  | 2.0 | 0.500 |",
        "",
        f"<sub>{source} A note.</sub><!-- end -->",
        "",
        "<!-- table two -->",
        "",
        "| shares | questions | right |",
        "| --- | ---: | ---: |",
        "| Alpha | 9 | 11.1% |",
        "",
        f"<sub>{source}</sub><!-- end -->",
        "The end.",
    ]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"metric": "hits_at_1", "data": "rivers"}, "2 cells are"),
        ({"metric": "hits_at_1", "data": "seas"}, "without a figure"),
        ({"metric": "n", "quote": "other"}, "no report has"),
    ],
)
def test_a_figure_that_is_missing_or_not_one_is_an_error(docs: Path, column: dict[str, str], said: str) -> None:
    table = Table(name="t", where={"report": "small"}, rows=[{"label": "Alpha"}], columns=[column])
    with pytest.raises(UserError, match=said):
        Results.read(docs).table(table)


def test_a_page_without_a_place_for_a_table_is_an_error(docs: Path) -> None:
    (docs / PAGE).write_text("<!-- table one -->\n<!-- end -->\n", "utf-8")
    with pytest.raises(UserError, match="two"):
        Results.read(docs).page()
