"""Training of the ranker of relation paths (`kg.ranker`) from questions with their gold paths.

The loss is the cross-entropy of the right paths among all relations in both directions as one hop, and paths of two and
three hops: the gold path with a hop too many or too few, in another order, with one hop replaced, the gold paths of
other questions, and random ones. A second term does the same for the first hop alone. The sentence encoder is frozen,
so questions and wordings are encoded once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.errors import UserError, extra
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, HEADS, LONGEST, PathRanker, load_ranker

if TYPE_CHECKING:
    with extra("train", "Training a path ranker"):
        import torch

LEAST_QUESTIONS = 50
"""Fewer questions are refused: a ranker trained on them is not measurable."""

_START_SCALE = 14.0
_INPUT_SCALE = 8.0  # of the linear layers for the length, whose input is a vector of length 1
_FIRST_WEIGHT = 0.5
_WARM_UP = 0.1
_MOST_OFFERED = 200  # wrong paths of the topic in a step
_FIRST_WORDING = 0.6  # how often a relation is written by its label rather than by any of its wordings


HopNumbers = tuple[tuple[int, bool], ...]
"""A path: for each hop the number of the relation, and whether it is followed backwards."""


@dataclass(frozen=True)
class PathQuestion:
    """A question with the paths from its topic to its answers.

    Attributes:
        text: the question, with its topics masked (`kg.ranker.OWN_TOPIC`).
        vocabulary: name of the vocabulary of its relations.
        paths: the right ones, of 1 to 3 hops; if there are several, each is as good.
        offered: wrong ones that its topic has.
    """

    text: str
    vocabulary: str
    paths: tuple[HopNumbers, ...]
    offered: tuple[HopNumbers, ...] = ()


@dataclass(frozen=True)
class Training:
    """Settings of a training run.

    Attributes:
        epochs: passes over the questions.
        rate: learning rate at its peak.
        batch: questions of one vocabulary in a step.
        least_steps: at least so many steps, however few the questions are.
        rank: of the low-rank changes.
        seed: of all random choices.
    """

    epochs: float = 3
    rate: float = 2e-3
    batch: int = 64
    least_steps: int = 1
    rank: int = 32
    seed: int = 0


FURTHER = Training(epochs=20, least_steps=300)
"""Settings of `train_further`."""


def check_installed() -> None:
    """Check that a ranker can be trained here.

    Raises:
        MissingExtraError: torch is not installed.
    """
    with extra("train", "Training a ranker of paths"):
        import torch  # noqa: F401


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one thread: small tensors gain nothing by more, and on a busy machine threads wait.

    Raises:
        MissingExtraError: torch is not installed.
    """
    check_installed()
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def train(
    questions: Sequence[PathQuestion],
    vocabularies: Mapping[str, Sequence[Sequence[str]]],
    encoder: Encoder,
    training: Training = Training(),
    progress: ProgressCallback = no_progress,
    start: PathRanker | None = None,
) -> dict[str, FloatArray]:
    """Train a ranker; its weights, for `kg.ranker.save_ranker`.

    Args:
        vocabularies: by name, the wordings of each relation, its label first.
        progress: called as ("training", steps done, steps in all).
        start: the ranker to train further; None: a new one.

    Raises:
        UserError: there are too few questions, or a path is longer than three hops.
        MissingExtraError: torch is not installed.
    """
    import torch

    if len(questions) < LEAST_QUESTIONS:
        raise UserError(
            f"a path ranker needs at least {LEAST_QUESTIONS} questions with paths; there are {len(questions)}"
        )
    if any(not 1 <= len(path) <= LONGEST for question in questions for path in (*question.paths, *question.offered)):
        raise UserError(f"a path ranker is trained on paths of 1 to {LONGEST} hops; leave longer ones out")
    torch.manual_seed(training.seed)
    chance = random.Random(training.seed)
    vectors = torch.tensor(encoder.encode([question.text for question in questions]))
    tables = {name: _Wordings(wordings, encoder) for name, wordings in vocabularies.items()}
    student = _student(encoder.dimensions, training.rank) if start is None else _copy(start)
    rows: dict[str, list[int]] = {}
    for row, question in enumerate(questions):
        rows.setdefault(question.vocabulary, []).append(row)
    longer = {name: [path for row in of for path in questions[row].paths if len(path) > 1] for name, of in rows.items()}
    offered = [_offered(question, len(vocabularies[question.vocabulary])) for question in questions]
    scale = student["scale"]
    others = [tensor for name, tensor in student.items() if name != "scale"]
    optimizer = torch.optim.AdamW(
        [{"params": others}, {"params": [scale], "lr": 20 * training.rate, "weight_decay": 0.0}], lr=training.rate
    )
    steps = max(training.least_steps, round(training.epochs * len(questions) / training.batch))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (_WARM_UP * steps)) * max(0.0, 1 - step / steps)
    )
    pool: list[tuple[str, list[int]]] = []
    for step in range(steps):
        if not pool:
            for name, of in rows.items():
                chance.shuffle(of)
                pool += [(name, of[at : at + training.batch]) for at in range(0, len(of), training.batch)]
            chance.shuffle(pool)
        name, batch = pool.pop()
        asked = [questions[row] for row in batch]
        wrong = [offered[row] for row in batch]
        loss = _loss(student, vectors[batch], tables[name].draw(chance), asked, wrong, longer[name], chance)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        progress("training", step + 1, steps)
    weights: dict[str, FloatArray] = {name: tensor.detach().numpy() for name, tensor in student.items()}
    for layer in ("lengths", "starts"):
        weights[f"{layer}.weight"] = _INPUT_SCALE * weights[f"{layer}.weight"]
    return weights


def train_further(
    questions: Sequence[PathQuestion],
    wordings: Sequence[Sequence[str]],
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> dict[str, FloatArray]:
    """Train the ranker in the package further, on one vocabulary; a new one if it was made with another encoder.

    Args, errors: see `train`; `wordings` of each relation, its label first.
    """
    encoder, general = load_encoder(), load_ranker(GENERAL)
    start = general if general.encoder == encoder.fingerprint else None
    vocabulary = {questions[0].vocabulary: wordings}
    return train(questions, vocabulary, encoder, replace(FURTHER, seed=seed), progress, start)


class _Wordings:
    """The vectors of a vocabulary's wordings."""

    def __init__(self, wordings: Sequence[Sequence[str]], encoder: Encoder) -> None:
        import torch

        self._starts = np.cumsum([0, *map(len, wordings)])
        self._vectors = torch.tensor(encoder.encode([text for several in wordings for text in several]))

    def draw(self, chance: random.Random) -> torch.Tensor:
        """The vectors of the relations, shape (n, d), each of one of its wordings at random."""
        spans = zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)
        return self._vectors[[s if chance.random() < _FIRST_WORDING else chance.randrange(s, e) for s, e in spans]]


def _student(width: int, rank: int) -> dict[str, torch.Tensor]:
    import torch

    weights = {"scale": torch.full((LONGEST,), _START_SCALE)}
    names = [*(f"question.{length}.{hop}" for length, hop in HEADS), "relation.0", "relation.1"]
    for name in names:
        weights[f"{name}.down"] = torch.randn(rank, width) / width**0.5
        weights[f"{name}.up"] = torch.zeros(width, rank)
        weights[f"{name}.shift"] = torch.zeros(width)
    for name in ("lengths", "starts"):
        weights[f"{name}.weight"] = torch.zeros(LONGEST, width)
        weights[f"{name}.bias"] = torch.zeros(LONGEST)
    weights["lengths.bias"] = -_START_SCALE / 2 * torch.arange(LONGEST, dtype=torch.float32)
    return {name: tensor.requires_grad_() for name, tensor in weights.items()}


def _copy(ranker: PathRanker) -> dict[str, torch.Tensor]:
    import torch

    weights = {name: torch.tensor(array) for name, array in ranker.weights.items()}
    for layer in ("lengths", "starts"):
        weights[f"{layer}.weight"] /= _INPUT_SCALE
    return {name: tensor.requires_grad_() for name, tensor in weights.items()}


def _loss(
    student: Mapping[str, torch.Tensor],
    questions: torch.Tensor,
    wordings: torch.Tensor,
    asked: Sequence[PathQuestion],
    offered: Sequence[npt.NDArray[np.int64]],
    longer: Sequence[HopNumbers],
    chance: random.Random,
) -> torch.Tensor:
    import torch
    from torch.nn.functional import linear, normalize

    def head(name: str, x: torch.Tensor) -> torch.Tensor:
        down, up, shift = (student[f"{name}.{part}"] for part in ("down", "up", "shift"))
        return normalize(x + x @ down.T @ up.T + shift, dim=-1)

    relations = torch.cat([head("relation.0", wordings), head("relation.1", wordings)])
    tables = {
        (length, hop): student["scale"][length - 1] * (head(f"question.{length}.{hop}", questions) @ relations.T)
        for length, hop in HEADS
    }
    lengths, starts = (
        linear(_INPUT_SCALE * questions, student[f"{name}.weight"], student[f"{name}.bias"])
        for name in ("lengths", "starts")
    )
    count = len(wordings)

    right = [[_numbered(path, count) for path in question.paths] for question in asked]
    others = [_numbered(path, count) for path in longer]
    several = []
    for own, wrong in zip(right, offered, strict=True):
        made = [path for path in _wrong(chance.choice(own), count, others, chance) if path not in own]
        known = [_padded(path) for path in (*own, *made) if len(path) > 1]
        drawn = chance.sample(range(len(wrong)), min(len(wrong), _MOST_OFFERED))
        several.append(np.concatenate([np.array(known, np.int64), wrong[drawn]]))
    most = max(map(len, several))
    paths = torch.from_numpy(np.stack([np.pad(rows, ((0, most - len(rows)), (0, 0))) for rows in several]))
    hops, size = paths[:, :, :LONGEST], paths[:, :, LONGEST]
    scores = torch.full(size.shape, -1e9)
    for length in range(2, LONGEST + 1):
        summed = lengths[:, length - 1 : length].expand(size.shape)
        for hop in range(1, length + 1):
            summed = summed + tables[length, hop].gather(1, hops[:, :, hop - 1])
        scores = torch.where(size == length, summed, scores)
    scores = torch.cat([lengths[:, :1] + tables[1, 1], scores], 1)
    ahead = torch.stack([starts[:, n - 1 : n] + tables[n, 1] for n in range(1, LONGEST + 1)]).logsumexp(0)
    golden, first = torch.zeros(scores.shape, dtype=torch.bool), torch.zeros(ahead.shape, dtype=torch.bool)
    for row, own in enumerate(right):
        golden[row, [path[0] for path in own if len(path) == 1]] = True
        golden[row, 2 * count : 2 * count + sum(len(path) > 1 for path in own)] = True
        first[row, [path[0] for path in own]] = True
    return marginal(scores, golden) + _FIRST_WEIGHT * marginal(ahead, first)


def _offered(question: PathQuestion, count: int) -> npt.NDArray[np.int64]:
    """The wrong paths of two or more hops from a topic, shape (n, LONGEST + 1).

    Wrong single hops need no list: all relations are scored, and those that are not right are wrong.
    """
    right = set(question.paths)
    rows = [_padded(_numbered(path, count)) for path in question.offered if len(path) > 1 and path not in right]
    return np.array(rows, np.int64).reshape(-1, LONGEST + 1)


def _numbered(path: HopNumbers, count: int) -> list[int]:
    """A relation followed backwards has its number plus the number of relations."""
    return [relation + count * backward for relation, backward in path]


def _padded(path: Sequence[int]) -> list[int]:
    """The hops, zeros, and the length."""
    return [*path, *[0] * (LONGEST - len(path)), len(path)]


def marginal(scores: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Negative log-probability that one of the right ones is chosen, the mean over rows; both of shape (rows, n)."""
    return (scores.logsumexp(1) - scores.masked_fill(~right, -1e9).logsumexp(1)).mean()


def _wrong(gold: list[int], count: int, others: Sequence[list[int]], chance: random.Random) -> list[list[int]]:
    """Wrong paths of two and three hops. A relation followed backwards has its number plus `count`."""

    def any_hop() -> int:
        return chance.randrange(2 * count)

    wrong = [[any_hop(), any_hop()] for _ in range(12)] + [[any_hop(), any_hop(), any_hop()] for _ in range(4)]
    if len(gold) < LONGEST:
        wrong += [[*gold, any_hop()] for _ in range(6)] + [[any_hop(), *gold] for _ in range(6)]
    if len(gold) == 1:
        inverse = (gold[0] + count) % (2 * count)
        wrong += [gold * 2, [*gold, inverse], [inverse, *gold]]
    else:
        wrong += [gold[::-1], *((gold[:2], gold[1:]) if len(gold) > 2 else ())]
        wrong += [[*gold[:at], any_hop(), *gold[at + 1 :]] for at in range(len(gold)) for _ in range(6)]
    if others:
        wrong += [chance.choice(others) for _ in range(20)]
    return wrong
