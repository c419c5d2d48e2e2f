"""Questions of a published data set by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from triplecheck.evals.datasets.hub import copied_rows, hub_rows, is_copy
from triplecheck.evals.datasets.registry import data_set
from triplecheck.evals.datasets.spec import Adapter, DataSet, Hub, Row
from triplecheck.evals.questions import Question, check_limit, sampled
from triplecheck.kg import ReadError, UnavailableError, UserError


def load_dataset(
    name: str | DataSet,
    split: str | None = None,
    *,
    path: Path | str | None = None,
    limit: int | None = None,
    seed: int = 0,
    revision: str | None = None,
) -> list[Question]:
    """The questions of a split.

    Args:
        name: of the data set (`data_sets`).
        split: None: the one that results are usually given for.
        path: one of its official files, or a folder that has them anywhere below; or a copy of the hub's
            data set: what `save_to_disk` wrote, or its parquet files. None: from the hub.
        limit: take a random sample of this many. A larger one, same seed, begins with the same questions.
        seed: which sample.
        revision: of the hub's data set, in place of the one that is known.

    Returns:
        The questions, without `limit` in the order of the data set. Where it gives an id twice, the
        second is made different by `#2`.

    Raises:
        UserError: no such data set or split, a limit below 1, or the files are not under `path`.
        ReadError: a file is not in the data set's format.
        UnavailableError: the hub does not have it, or is out of reach; the message says how else to get it.
    """
    spec = data_set(name) if isinstance(name, str) else name
    split = split or spec.default_split
    if split not in spec.splits:
        raise UserError(f"{spec.name} has no split {split!r}; there are: {', '.join(spec.splits)}")
    check_limit(limit)
    if path is not None:
        found = _from_path(spec, split, Path(path))
    elif spec.hub is None or split not in spec.hub.splits:
        raise UnavailableError(
            f"{spec.name} {split}: no copy on the Hugging Face hub is known. {how_to_get(spec, split)}"
        )
    else:
        found = _from_hub(spec, spec.hub, split, revision)
    questions = list(_distinct(found))
    if not questions:
        raise ReadError(path or spec.name, None, f"holds no questions of the split {split}")
    return questions if limit is None else sampled(questions, limit, seed)


def how_to_get(spec: DataSet, split: str) -> str:
    """What to do for the official files of a split to be read."""
    files = " and ".join(spec.splits[split])
    return f"{spec.get} Then name the folder with {files}, or that file, with --path."


def _from_hub(spec: DataSet, hub: Hub, split: str, revision: str | None) -> Iterator[Question]:
    try:
        rows = list(hub_rows(replace(hub, revision=revision or hub.revision), split))
    except UnavailableError as error:
        pinned = f" --revision {hub.revision}" if hub.revision else ""
        raise UnavailableError(
            f"{error}\n{spec.name} could not be had from https://huggingface.co/datasets/{hub.id}. "
            f"{how_to_get(spec, split)} Or copy the hub's on a machine that reaches it, and give --path DIR here: "
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
        raise UserError(f"{path}: no {' and no '.join(missing)} here or below. {how_to_get(spec, split)}")


def _found(folder: Path, pattern: str) -> Path | None:
    """The file below a folder whose path ends as the pattern says, packed or not."""
    for ending in ("", ".gz", ".bz2"):
        files = sorted(file for file in folder.rglob(pattern + ending) if file.is_file())
        if len(files) > 1:
            raise UserError(f"{folder}: {len(files)} files could be meant ({files[0]}, {files[1]} ...); name the one")
        if files:
            return files[0]
    return None


def _adapted(
    spec: DataSet, split: str, adapt: Adapter, place: Path, rows: Iterable[tuple[int | None, Row]], start: int
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
    """The questions, ids that stand more than once made different."""
    seen: dict[str, int] = {}
    for question in questions:
        times = seen[question.id] = seen.get(question.id, 0) + 1
        yield question if times == 1 else replace(question, id=f"{question.id}#{times}")
