"""Makes synthetic questions with answers and gold paths from any knowledge base, to train and to measure on."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from triplecheck.evals.configuration import digest
from triplecheck.evals.executors.threads import spread
from triplecheck.evals.questions import Question, sampled
from triplecheck.evals.variants.make import make_variant
from triplecheck.kg import KnowledgeBase, UserError, Words, normalize
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import ModelReplyError, RolePredict, Roles, session
from triplecheck.optimize.synth.avoid import Avoided
from triplecheck.optimize.synth.shapes import KINDS, MOST_ANSWERS, SHAPES, Draft, DrawError, Surroundings
from triplecheck.optimize.traces.gold_paths import gold_row
from triplecheck.signatures.synthesis import ParaphraseQuestion

_LONGEST = 3.0
"""Maximum length of a paraphrase, as a multiple of the question's length."""


def _paraphrased(
    questions: Sequence[str], names: Sequence[Sequence[str]], count: int, workers: int, progress: ProgressCallback
) -> list[list[str]]:
    """At most `count` paraphrases of each question, with its names, by the model of the role `query`."""
    step = RolePredict(ParaphraseQuestion, role="query")
    found: list[list[str]] = [[] for _ in questions]

    def ask(at: int) -> tuple[int, list[str]]:
        try:
            reply = step(question=questions[at], names=list(names[at]), count=count)
        except ModelReplyError:
            return at, []
        return at, [text for text in reply.paraphrases if keeps(text, questions[at], names[at])][:count]

    for done, (at, texts) in enumerate(spread(ask, range(len(questions)), workers, threading.Event()), 1):
        found[at] = list(dict.fromkeys(texts))
        progress("wording questions", done, len(questions))
    return found


def keeps(text: str, question: str, names: Sequence[str]) -> bool:
    """Whether a paraphrase differs from the question, contains all names, and is not much longer."""
    words = Words(text)
    differs = normalize(text) not in ("", normalize(question))
    return differs and all(name in words for name in names) and len(text) <= _LONGEST * len(question)


TEMPLATE = "template"
_TRIES = 1_000  # tries without a new question of a kind before the graph counts as exhausted
_ALIKE = 95  # similarity (of 100) from which two questions about the same topics count as duplicates


@dataclass(frozen=True)
class Synthesis:
    """Synthetic questions.

    Attributes:
        questions: kinds alternate; wordings of the same question are consecutive. `Question.extra["plan"]` is the plan
            of one with a plan, `none` where the graph cannot tell.
        exhausted: kinds for which the graph has no more questions.
        paraphrased: number of questions worded by a model.
    """

    questions: tuple[Question, ...]
    exhausted: tuple[str, ...]
    paraphrased: int = 0


def synthesise(
    kb: KnowledgeBase,
    count: int,
    *,
    seed: int = 0,
    kinds: Sequence[str] = KINDS,
    most_answers: int = MOST_ANSWERS,
    phrasings: int = 1,
    typos: float = 0.0,
    avoid: Sequence[Question] = (),
    roles: Roles | str | None = None,
    workers: int = 1,
    progress: ProgressCallback = no_progress,
) -> Synthesis:
    """Make questions from a knowledge base.

    Kinds alternate. Answers are found by traversing the graph and checked with the exact pattern solver. The same
    knowledge base, seed and models give the same questions; a larger `count` starts with the same ones.

    Args:
        count: number of questions, counting every wording.
        kinds: from `optimize.synth.shapes.KINDS`.
        most_answers: maximum answers of a question.
        phrasings: maximum wordings of each question.
        typos: share of the questions with a typing error in the name of a topic.
        avoid: test questions; no question that asks the same is made, see `Avoided`.
        roles: the model of the role `query` paraphrases the questions; None: only templates.
        workers: questions to paraphrase in parallel.
        progress: called with the stage, the number done and the total.

    Raises:
        UserError: an invalid argument, or the graph does not have enough questions.
    """
    check_kinds(kinds, KINDS)
    if count < 1 or phrasings < 1:
        raise UserError(f"cannot make {count} questions in {phrasings} wordings: give 1 or more")
    if not 0 <= typos <= 1:
        raise UserError(f"the share of typing errors is {typos}: give a number from 0 to 1")
    exhausted: list[str] = []
    drafts = _drafts(Surroundings(kb, random.Random(seed), most_answers), kinds, exhausted, progress)
    avoided, numbers = Avoided(kb, avoid), itertools.count(1)
    questions: list[Question] = []
    while len(questions) < count:
        drawn = list(itertools.islice(drafts, -(-(count - len(questions)) // phrasings)))
        if not drawn:
            break
        for draft, texts in _worded(kb, drawn, phrasings, roles, workers, progress):
            made = _questions(kb, draft, texts, f"synth-{seed}-{next(numbers)}")
            questions += [question for question in made if question not in avoided]
        questions = _distinct(questions)
    if len(questions) < count:
        spare = "" if phrasings == 1 else ", or with fewer wordings of each"
        raise UserError(f"{kb.path}: only {len(questions)} of {count} questions could be made; ask for fewer{spare}")
    questions = questions[:count]
    by_model = sum(question.extra["wording"] != TEMPLATE for question in questions)
    return Synthesis(tuple(_misspelt(kb, questions, typos, seed)), tuple(exhausted), by_model)


def _drafts(
    around: Surroundings, kinds: Sequence[str], exhausted: list[str], progress: ProgressCallback
) -> Iterator[Draft]:
    """Drafts of alternating kinds, without duplicates. A kind of which there are no more is added to `exhausted`."""
    left, asked = list(kinds), set[object]()
    while left:
        kind = left.pop(0)
        for _ in range(_TRIES):
            try:
                draft = SHAPES[kind](around)
            except DrawError:
                continue
            # A question without paths is identified by its text. Paths are a set: each pair is compared once.
            key = (kind, frozenset(draft.paths) or (draft.topics, draft.wordings))
            if key not in asked:
                break
        else:
            exhausted.append(kind)
            continue
        asked.add(key)
        left.append(kind)
        texts = list(dict.fromkeys(map(_sentence, draft.wordings)))
        around.lot.shuffle(texts)
        progress("drawing", len(asked), None)
        yield replace(draft, wordings=tuple(texts))


def _worded(
    kb: KnowledgeBase,
    drafts: Sequence[Draft],
    phrasings: int,
    roles: Roles | str | None,
    workers: int,
    progress: ProgressCallback,
) -> list[tuple[Draft, list[tuple[str, str]]]]:
    """Each draft with its wordings and their source: paraphrases of the model first, then templates."""
    model, others = TEMPLATE, [list[str]() for _ in drafts]
    if roles is not None:
        roles = Roles(roles) if isinstance(roles, str) else roles
        names = [kb.graph.labels(list(draft.topics)) for draft in drafts]
        with session(roles):
            others = _paraphrased([draft.wordings[0] for draft in drafts], names, phrasings, workers, progress)
        model = roles.model("query")
    return [
        (draft, [*((text, model) for text in by_model), *((text, TEMPLATE) for text in draft.wordings)][:phrasings])
        for draft, by_model in zip(drafts, others, strict=True)
    ]


def _questions(kb: KnowledgeBase, draft: Draft, texts: Sequence[tuple[str, str]], id: str) -> list[Question]:
    graph = kb.graph
    paths = [gold_row(graph, path) for path in draft.paths]
    topics = tuple(graph.node_id(node) for node in draft.topics)
    answers = (draft.computed,) if draft.computed else tuple(graph.node_id(node) for node in draft.answers)
    group = digest([draft.kind, topics, paths, draft.wordings if not paths else ""])[:16]
    return [
        Question(
            id=id + (f"-{at}" if len(texts) > 1 else ""),
            question=text,
            answers=answers,
            topic=topics,
            topic_labels=tuple(graph.labels(list(draft.topics))),
            answer_labels=(draft.computed,) if draft.computed else tuple(graph.labels(list(draft.answers))),
            computed=draft.computed is not None,
            hops=draft.hops,
            kind=draft.kind,
            gold={"gold_paths": paths} if paths else {},
            extra={"group": group, "wording": by},
            answers_known=True,
        )
        for at, (text, by) in enumerate(texts, 1)
    ]


def _distinct(questions: Sequence[Question]) -> list[Question]:
    """The questions without near-duplicates about the same topics."""
    of_topics: dict[tuple[str, ...], list[str]] = {}
    kept = []
    for question in questions:
        text = normalize(question.question)
        like = of_topics.setdefault(tuple(sorted(question.topic)), [])
        if all(fuzz.ratio(text, other) < _ALIKE for other in like):
            like.append(text)
            kept.append(question)
    return kept


def _misspelt(kb: KnowledgeBase, questions: Sequence[Question], share: float, seed: int) -> list[Question]:
    if not share:
        return list(questions)
    drawn = sampled(questions, round(share * len(questions)), seed)
    changed, _ = make_variant("typo1", drawn, kb, kb.path.parent, seed)
    by_id = {question.id: question for question in changed}
    return [by_id.get(question.id, question) for question in questions]


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def check_kinds(kinds: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError unless there are kinds, all of which are known."""
    unknown = sorted(set(kinds) - set(known))
    if unknown or not kinds:
        raise UserError(f"no kind {', '.join(unknown) or 'is given'}; there are: {', '.join(known)}")
