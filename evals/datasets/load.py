"""Load the questions of a published data set by name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from triplecheck.evals.datasets.sets.freebase import CWQ, GRAILQA, WEBQSP, WEBQUESTIONS
from triplecheck.evals.datasets.sets.generated import HEAD_TO_TAIL, METAQA, PATH_QUESTION
from triplecheck.evals.datasets.sets.open_domain import CRAG, HOTPOTQA, POPQA, STARK, TWO_WIKI
from triplecheck.evals.datasets.spec import Adapter, DataSet, Hub, Record
from triplecheck.evals.questions import Question, check_limit, sampled
from triplecheck.kg import ReadError, UnavailableError, UserError
from triplecheck.kg.errors import extra

# The known data sets.


def data_sets() -> dict[str, DataSet]:
    """All known data sets, by name."""
    found = (
        HOTPOTQA,
        TWO_WIKI,
        POPQA,
        WEBQSP,
        CWQ,
        GRAILQA,
        WEBQUESTIONS,
        *STARK,
        CRAG,
        HEAD_TO_TAIL,
        *METAQA,
        PATH_QUESTION,
    )
    return {one.name: one for one in found}


def data_set(name: str) -> DataSet:
    """The data set with a name.

    Raises:
        UserError: the name is unknown.
    """
    known = data_sets()
    if name in known:
        return known[name]
    close = get_close_matches(name.casefold(), known, 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    raise UserError(f"no data set {name!r}{meant} Known: {', '.join(known)}")


# Read rows from the Hugging Face hub, or from a local copy, with `datasets`.

PATIENCE = 5.0
"""Seconds to wait for the hub to respond. Its own client retries six times, half a minute in total."""

_SAVED = ("dataset_dict.json", "state.json")


def is_copy(folder: Path) -> bool:
    """Whether a folder has a copy of a hub data set: saved by `datasets`, or its files."""
    return any((folder / name).is_file() for name in _SAVED) or any(folder.rglob("*.parquet"))


def copied_rows(hub: Hub, split: str, folder: Path) -> Iterator[Record]:
    """The rows of a split in a local copy.

    Raises:
        UserError: the copy does not have the split.
    """
    if not any((folder / name).is_file() for name in _SAVED):
        pattern = hub.files.get(hub.splits[split])
        files = hub.files if pattern is not None and any(folder.glob(pattern)) else {}
        yield from hub_rows(replace(hub, id=str(folder), revision=None, files=files), split)
        return
    with extra("data", "A data set of the hub"):
        from datasets import DatasetDict, load_from_disk

    found = load_from_disk(str(folder))
    if isinstance(found, DatasetDict):
        name = next((name for name in (hub.splits[split], split) if name in found), None)
        if name is None:
            raise UserError(f"{folder}: no split {hub.splits[split]!r}; available: {', '.join(found)}")
        found = found[name]
    yield from found.select_columns([name for name in found.column_names if name not in hub.unused])


def hub_rows(hub: Hub, split: str) -> Iterator[Record]:
    """The rows of a split.

    If the hub is unreachable, rows come from the cache of `datasets`.

    Raises:
        UnavailableError: the hub is unreachable, or the data set is missing there or cannot be accessed.
    """
    # The libraries read this variable when they are imported.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import httpx
    from huggingface_hub.errors import HfHubHTTPError

    with extra("data", "A data set of the hub"):
        import datasets
        from datasets.exceptions import DatasetsError

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
    """Whether the hub responds."""
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
    """Set the libraries to offline mode, so that they read their cache and fail without retries."""
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


def load_dataset(
    name: str | DataSet,
    split: str | None = None,
    *,
    path: Path | str | None = None,
    limit: int | None = None,
    seed: int = 0,
    revision: str | None = None,
) -> list[Question]:
    """Load the questions of a split.

    Args:
        split: name of the split; None: the split that papers usually report.
        path: an official file, or a folder with the official files at any depth; or a copy of the hub's data set:
            the output of `save_to_disk`, or its Parquet files. None: load from the hub.
        limit: size of a random sample; None: all questions. With the same seed a larger sample begins with the smaller.
        revision: revision of the hub's data set, in place of the pinned one.

    Returns:
        The questions; without `limit` in the order of the data set. The second question with the same id gets the
        suffix `#2`.

    Raises:
        UserError: the data set or split is unknown, `limit` is below 1, or the files are not under `path`.
        ReadError: a file is not in the data set's format.
        UnavailableError: the hub is unreachable or does not have the data set; the message says how else to get it.
    """
    spec = data_set(name) if isinstance(name, str) else name
    split = split or spec.default_split
    if split not in spec.splits:
        raise UserError(f"{spec.name} has no split {split!r}; available: {', '.join(spec.splits)}")
    check_limit(limit)
    if path is not None:
        found = _from_path(spec, split, Path(path))
    elif spec.hub is None or split not in spec.hub.splits:
        raise UnavailableError(f"{spec.name} {split}: no known copy on the Hugging Face hub. {how_to_get(spec, split)}")
    else:
        found = _from_hub(spec, spec.hub, split, revision)
    questions = list(_distinct(found))
    if not questions:
        raise ReadError(path or spec.name, None, f"has no questions of the split {split}")
    return questions if limit is None else sampled(questions, limit, seed)


def how_to_get(spec: DataSet, split: str) -> str:
    """How to get and read the official files of a split."""
    files = " and ".join(spec.splits[split])
    return f"{spec.get} Then give the folder with {files}, or the file, as --path."


def _from_hub(spec: DataSet, hub: Hub, split: str, revision: str | None) -> Iterator[Question]:
    try:
        rows = list(hub_rows(replace(hub, revision=revision or hub.revision), split))
    except UnavailableError as error:
        pinned = f" --revision {hub.revision}" if hub.revision else ""
        raise UnavailableError(
            f"{error}\n{spec.name} could not be loaded from https://huggingface.co/datasets/{hub.id}. "
            f"{how_to_get(spec, split)} Or copy it on a machine with access to the hub, and give --path DIR here: "
            f"`hf download {hub.id} --repo-type dataset{pinned} --local-dir DIR`"
        ) from error
    yield from _adapted(spec, split, hub.adapt or spec.adapt, Path(hub.id), ((None, row) for row in rows), 0)


def _from_path(spec: DataSet, split: str, path: Path) -> Iterator[Question]:
    if path.is_file():
        yield from _adapted(spec, split, spec.adapt, path, spec.read(path, split), 0)
        return
    if not path.is_dir():
        raise UserError(f"{path}: no such file or folder. {how_to_get(spec, split)}")
    files = [_found(path, pattern) for pattern in spec.splits[split]]
    if all(files):
        number = 0
        for file in filter(None, files):
            for question in _adapted(spec, split, spec.adapt, file, spec.read(file, split), number):
                yield question
                number += 1
    elif spec.hub is not None and split in spec.hub.splits and is_copy(path):
        rows = ((None, row) for row in copied_rows(spec.hub, split, path))
        yield from _adapted(spec, split, spec.hub.adapt or spec.adapt, path, rows, 0)
    else:
        missing = [pattern for pattern, file in zip(spec.splits[split], files, strict=True) if file is None]
        raise UserError(f"{path}: no {' and no '.join(missing)} in the folder or below. {how_to_get(spec, split)}")


def _found(folder: Path, pattern: str) -> Path | None:
    """The file below a folder whose path ends with the pattern, compressed or not."""
    for ending in ("", ".gz", ".bz2"):
        files = sorted(file for file in folder.rglob(pattern + ending) if file.is_file())
        if len(files) > 1:
            raise UserError(f"{folder}: {len(files)} files match ({files[0]}, {files[1]} ...); give one of them")
        if files:
            return files[0]
    return None


def _adapted(
    spec: DataSet, split: str, adapt: Adapter, place: Path, rows: Iterable[tuple[int | None, Record]], start: int
) -> Iterator[Question]:
    number = start
    for line, row in rows:
        if spec.keep is not None and not spec.keep(row, split):
            continue
        try:
            yield adapt(row, f"{spec.name}-{split}-{number}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
            which = "" if line is not None else f"question {number}: "
            raise ReadError(place, line, f"{which}{reason}; is this a file of {spec.title}?") from error
        number += 1


def _distinct(questions: Iterable[Question]) -> Iterator[Question]:
    """The questions, with a suffix on repeated ids."""
    seen: dict[str, int] = {}
    for question in questions:
        times = seen[question.id] = seen.get(question.id, 0) + 1
        yield question if times == 1 else replace(question, id=f"{question.id}#{times}")
