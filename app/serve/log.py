"""The server's log: one JSON object on a line of standard error."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from triplecheck.kg.redaction import redacted

LOGGER = "triplecheck.serve"


class JsonFormatter(logging.Formatter):
    """Writes a record as a JSON object, without credentials."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        row: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return redacted(json.dumps(row, ensure_ascii=False, default=str))


def event(name: str, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Log an event with its fields."""
    logging.getLogger(LOGGER).log(level, name, extra={"fields": fields}, exc_info=error)


def start_logging() -> None:
    """Write the log of the server, and warnings of everything else, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger(LOGGER).setLevel(logging.INFO)
