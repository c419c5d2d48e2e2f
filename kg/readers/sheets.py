"""Tables of Excel's workbooks, by openpyxl: each sheet is one."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triplecheck.kg.errors import ReadError, extra
from triplecheck.kg.readers.wide import WideTable

SHEET_SUFFIXES = (".xlsx", ".xlsm")
_PLAIN_NAME = re.compile(r"(?:sheet|tabelle|feuil|hoja|foglio|blad)\s*\d*", re.IGNORECASE)
_ISO_CODE = re.compile(r"\[\$([^\]-]*)")
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}


def read_sheets(path: Path) -> list[WideTable]:
    """The sheets of a workbook that have a header and rows. Rows of a title above the header are left out.

    Raises:
        ReadError: the file is missing or no workbook, or it has no table.
        MissingExtraError: openpyxl is not installed.
    """
    with extra("excel", "An Excel file"):
        import openpyxl
    if not path.is_file():
        raise ReadError(path, None, "no such file")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = [(sheet.title, [list(row) for row in sheet.iter_rows()]) for sheet in book.worksheets]
        book.close()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, openpyxl.utils.exceptions.InvalidFileException) as error:
        raise ReadError(path, None, f"not a readable Excel workbook: {error}") from error
    found = []
    for title, rows in sheets:
        only = len(sheets) == 1 or (_PLAIN_NAME.fullmatch(title) and sum(bool(r) for _, r in sheets) == 1)
        if (table := _table(path, path.stem if only else title, title, rows)) is not None:
            found.append(table)
    if not found:
        raise ReadError(path, None, "no sheet has a header and a row")
    if _formulas_without_values(path):
        found[0].notes.append(f"{path}: formulas whose values are not stored are empty; save the file once in Excel")
    return found


def _table(path: Path, name: str, title: str, rows: Sequence[Sequence[Any]]) -> WideTable | None:
    """A sheet as a table, from its first row with as many cells as most."""
    filled = [sum(cell.value is not None for cell in row) for row in rows]
    widest = max(filled, default=0)
    start = next((at for at, count in enumerate(filled) if 2 * count > widest and count > 1), None)
    if start is None:
        return None
    header = rows[start]
    below = [row for row, count in zip(rows[start + 1 :], filled[start + 1 :], strict=True) if count]
    if not below:
        return None
    columns, units = [], {}
    for at, cell in enumerate(header):
        cells = [row[at] if at < len(row) else None for row in below]
        values = [None if one is None else one.value for one in cells]
        if cell.value is None and all(value is None for value in values):
            continue
        head = f"column {at + 1}" if cell.value is None else str(cell.value).strip()
        columns.append((head, values))
        found = [None if one is None else _unit(one) for one in cells]
        if any(found):
            units[head] = found
    return WideTable(name, f"{path} [{title}]", columns, units)


def _unit(cell: Any) -> str | None:
    """The unit that the format of a number shows: "%", or a currency."""
    form = getattr(cell, "number_format", None) or ""
    if not isinstance(cell.value, int | float) or form == "General":
        return None
    if "%" in form:
        return "%"
    code = match[1].strip() if (match := _ISO_CODE.search(form)) else ""
    if len(code) == 3 and code.isalpha():
        return code.upper()
    return _SIGNS.get(code) or next((name for sign, name in _SIGNS.items() if sign in form and not code), None)


def _formulas_without_values(path: Path) -> bool:
    """Whether cells hold formulas whose values no program has stored."""
    with zipfile.ZipFile(path) as packed:
        names = [name for name in packed.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        return any(re.search(rb"</f>\s*(?:<v\s*/>|<v></v>|</c>)", packed.read(name)) for name in names)
