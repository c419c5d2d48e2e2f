"""Rows from the Hugging Face hub, or from a copy of it on disk, through `datasets`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from triplecheck.evals.datasets.spec import Hub, Row
from triplecheck.kg import UnavailableError, UserError

PATIENCE = 5.0
"""Seconds to wait for a sign of the hub. The hub's own client tries six times, half a minute in all."""

_SAVED = ("dataset_dict.json", "state.json")


def is_copy(folder: Path) -> bool:
    """Whether a folder holds a data set as the hub has it: saved by `datasets`, or its files."""
    return any((folder / name).is_file() for name in _SAVED) or any(folder.rglob("*.parquet"))


def copied_rows(hub: Hub, split: str, folder: Path) -> Iterator[Row]:
    """The rows of a split in a copy on disk.

    Raises:
        UserError: the split is not there.
    """
    if not any((folder / name).is_file() for name in _SAVED):
        pattern = hub.files.get(hub.splits[split])
        files = hub.files if pattern is not None and any(folder.glob(pattern)) else {}
        yield from hub_rows(replace(hub, id=str(folder), revision=None, files=files), split)
        return
    from datasets import DatasetDict, load_from_disk

    found = load_from_disk(str(folder))
    if isinstance(found, DatasetDict):
        name = next((name for name in (hub.splits[split], split) if name in found), None)
        if name is None:
            raise UserError(f"{folder}: no split {hub.splits[split]!r}; there are: {', '.join(found)}")
        found = found[name]
    yield from found.select_columns([name for name in found.column_names if name not in hub.unused])


def hub_rows(hub: Hub, split: str) -> Iterator[Row]:
    """The rows of a split.

    What has been loaded before is taken from the cache of `datasets` where the hub is out of reach.

    Raises:
        UnavailableError: the hub is out of reach, or has no such data set, or does not give it.
    """
    # Read when the libraries are first imported: nobody asked for bars, or for half a minute of retries.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import datasets
    import httpx
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HfHubHTTPError

    local = Path(hub.id).is_dir()
    files = {hub.splits[split]: hub.files[hub.splits[split]]} if hub.files else None
    try:
        with contextlib.nullcontext() if local or _in_reach() else _offline():
            found = datasets.load_dataset(hub.id, data_files=files, split=hub.splits[split], revision=hub.revision)
            wanted = _index(hub, split) if hub.index.get(split) else None
    except (OSError, ValueError, DatasetsError, HfHubHTTPError, httpx.HTTPError) as error:
        raise UnavailableError(f"{hub.id}: {_first_line(error)}") from error
    found = found.select_columns([name for name in found.column_names if name not in hub.unused])
    yield from (row for row in found if wanted is None or str(row["id"]) in wanted)


def _index(hub: Hub, split: str) -> frozenset[str]:
    name = hub.index[split]
    if Path(hub.id).is_dir():
        place = Path(hub.id) / name
    else:
        from huggingface_hub import hf_hub_download

        place = Path(hf_hub_download(hub.id, name, repo_type="dataset", revision=hub.revision))
    return frozenset(place.read_text("utf-8").split())


def _in_reach() -> bool:
    """Whether the hub answers at all."""
    import httpx
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=PATIENCE)
    except (httpx.HTTPError, OSError):
        return False
    return True


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """The libraries told that there is no network, so that they look into their cache and give up at once."""
    import datasets
    from huggingface_hub import constants

    places: list[Any] = [datasets.config, constants]
    before = [place.HF_HUB_OFFLINE for place in places]
    for place in places:
        place.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
