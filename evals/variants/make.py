"""Harder variants of any question set. They are seeded, and `extra["variant"]` of a question records the change.

Questions keep their ids, so that answers to both versions can be compared. A question that cannot be changed (no name
to misspell, no edge to remove) is left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from triplecheck.evals.configuration import digest, plain
from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question, bundled_questions, read_questions, sampled
from triplecheck.evals.variants.graph_edits import GRAPH_EDITORS, GraphEdit
from triplecheck.evals.variants.rewriting import REWRITERS, topic_mentions
from triplecheck.kg import KnowledgeBase, UserError, build

FOREIGN = "foreign"
OPEN_WORLD = "open-world"
_ABOUT_FOREIGN = "questions about another graph; this graph has none of their topics or answers: abstaining is correct"
_ABOUT_OPEN_WORLD = "one typing error in the name of a topic, plus 10% questions about another graph"
_UNANSWERABLE_SHARE = 0.1


def variants() -> dict[str, str]:
    """Descriptions of the variants, by name."""
    about = {name: what for name, (what, _) in (*REWRITERS.items(), *GRAPH_EDITORS.items())}
    return about | {FOREIGN: _ABOUT_FOREIGN, OPEN_WORLD: _ABOUT_OPEN_WORLD}


def make_variant(
    name: str, questions: Sequence[Question], base: KnowledgeBase, place: Path, seed: int = 0
) -> tuple[list[Question], KnowledgeBase]:
    """Make a harder variant of questions, or of their graph.

    Args:
        place: folder in which changed knowledge bases are built, one for each choice of questions and seed.
        seed: random choices depend on the seed and the question, not on other questions.

    Returns:
        The changed questions, and the knowledge base to ask.

    Raises:
        UserError: the variant is unknown, or no question can be changed.
    """
    if name in REWRITERS:
        changed = _rewritten(name, questions, base, seed)
    elif name in GRAPH_EDITORS:
        changed, base = _edited(name, questions, base, place, seed)
    elif name == FOREIGN:
        changed = _foreign(base)
    elif name == OPEN_WORLD:
        changed = _rewritten("typo1", questions, base, seed)
        changed += sampled(_foreign(base), round(_UNANSWERABLE_SHARE * len(changed)), seed)
    else:
        raise UserError(f"no variant {name!r}; known: {', '.join(variants())}")
    if not changed:
        raise UserError(f"variant {name!r}: none of {len(questions)} questions can be changed")
    return changed, base


def _dice(seed: int, name: str, question: Question) -> random.Random:
    return random.Random(f"{seed}\0{name}\0{question.id}")


def _rewritten(name: str, questions: Iterable[Question], base: KnowledgeBase, seed: int) -> list[Question]:
    _, rewrite = REWRITERS[name]
    changed = []
    for question in questions:
        rng = _dice(seed, name, question)
        for asked in topic_mentions([question], base.graph, base.linker):
            made = rewrite(asked, base.graph, rng)
            if made is not None:
                text, done = made
                wording = question.question[: asked.start] + text + question.question[asked.end :]
                extra = {**question.extra, "variant": {"name": name, "from": question.question} | done}
                changed.append(replace(question, question=wording, extra=extra))
                break
    return changed


def _edited(
    name: str, questions: Iterable[Question], base: KnowledgeBase, place: Path, seed: int
) -> tuple[list[Question], KnowledgeBase]:
    _, change = GRAPH_EDITORS[name]
    names = linker_names(base.linker)
    edit = GraphEdit()
    changed = []
    for question in questions:
        made = change(
            question, resolve_gold(question, base.graph, names), base.columnar, _dice(seed, name, question), edit
        )
        if made is not None:
            changed.append(replace(made, extra={**made.extra, "variant": {"name": name} | made.extra["variant"]}))
    return changed, _changed_base(name, edit, base, place) if changed else base


def _changed_base(name: str, edit: GraphEdit, base: KnowledgeBase, place: Path) -> KnowledgeBase:
    """The edited knowledge base; built once."""
    content = digest([base.manifest.content_hash, sorted(edit.removed), plain(edit.triples), plain(edit.documents)])
    out = place / f"{base.path.name}-{name}-{content[:8]}"
    if (out / "manifest.json").is_file():
        return KnowledgeBase.open(out)
    documents = None
    if edit.documents or base.documents is not None:
        held = base.documents
        documents = [*(held.document(row) for row in range(len(held or ())) if held), *edit.documents]
    return build(
        edit.raw(base.columnar), out, documents=documents, encoder=base.encoder, sources=[f"{base.path.name}, {name}"]
    )


def _foreign(base: KnowledgeBase) -> list[Question]:
    """The bundled test questions whose topics and answers are not in this graph by name."""
    names = linker_names(base.linker)

    def known(texts: Iterable[str]) -> bool:
        return any(base.graph.find(text) is not None or any(True for _ in names(text)) for text in texts)

    changed = []
    for question in read_questions(bundled_questions("test")):
        about: list[str] = [_last(id) for id in question.topic]
        if question.answerable and not known([*about, *question.topic, *question.answer_labels]):
            extra: dict[str, Any] = {**question.extra, "variant": {"name": FOREIGN, "answers there": question.answers}}
            changed.append(replace(question, answers=(), answer_labels=(), answer_aliases=(), extra=extra))
    return changed


def _last(iri: str) -> str:
    """The name that an IRI ends with."""
    return iri.rsplit("/", 1)[-1].rsplit("#", 1)[-1].replace("_", " ")
