"""The questions that come with Triplecheck, for its bundled knowledge base."""

from __future__ import annotations

from pathlib import Path

from triplecheck import kg
from triplecheck.kg import UserError

SPLITS = ("train", "dev", "test")


def bundled_questions(split: str) -> Path:
    """Where the bundled questions of a split lie: `train`, `dev` or `test`.

    Raises:
        UserError: there is no such split, or this installation lacks its file.
    """
    if split not in SPLITS:
        raise UserError(f"no bundled questions {split!r}; there are: {', '.join(SPLITS)}")
    folder = Path(kg.__file__).parent / "bundled"
    for name in (f"questions_{split}.jsonl", f"questions_{split}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise UserError(f"{folder / f'questions_{split}.jsonl'}: missing; install Triplecheck again")
