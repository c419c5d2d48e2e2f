"""Metrics of retrieval steps: topics, pruning, relevance, sufficiency, and further questions."""

from __future__ import annotations

from collections.abc import Callable

from triplecheck.kg import Words
from triplecheck.optimize.metrics.case import (
    Case,
    StepCall,
    StepMetric,
    StepScore,
    is_written,
    leads_on,
    listed,
    overlap,
)
from triplecheck.programs.fourstepfocus.rerank import read_verdicts
from triplecheck.signatures.notation import read_fact, read_path

_MEANT = 3
"""Candidates per name."""


def names_topics(output: str) -> StepMetric:
    """F1 of the names in a field against the gold topics, as the linker resolves them."""

    def score(call: StepCall, case: Case) -> StepScore | None:
        if not case.gold.topics:
            return None
        names = list(dict.fromkeys(str(name) for name in call.outputs.get(output) or () if str(name).strip()))
        meant = {name: [c.node for c in case.sources.linker.candidates(name, None, _MEANT)] for name in names}
        missing = [topic for topic in case.gold.topics if not any(topic & set(nodes) for nodes in meant.values())]
        needless = [name for name, nodes in meant.items() if not case.topics & set(nodes)]
        right = len(case.gold.topics) - len(missing)
        f1 = 2 * right / (right + len(needless) + len(case.gold.topics))
        unlinked = [f"{name!r}" for name in needless if not meant[name]]
        wrong = [f"{name!r} (linked to {case.graph.label(meant[name][0])})" for name in needless if meant[name]]
        return StepScore(
            f1,
            listed("Missing topics of the question", [_topic_labels(case, topic) for topic in missing])
            + listed("Named, but not a topic of the question", wrong)
            + listed("Named, but no entity of the graph has this name", unlinked)
            or "The topics are correct. ",
        )

    return score


def _topic_labels(case: Case, topic: frozenset[int]) -> str:
    return case.graph.label(min(topic)) if topic else "a topic that is not in the graph"


_BETA = 2.0
"""Recall has more weight: a dropped path is lost, an unnecessary one only costs tokens."""


def keeps_paths(output: str) -> StepMetric:
    """F2 of the numbers in a field against the paths that lead on to the answer.

    Where every offered path is longer than the paths to the answer, the right reply keeps none of them.
    """

    def is_right(case: Case, line: str) -> bool:
        written = read_path(line).hops
        return any(leads_on(case.graph, written, path) for path in case.paths)

    keeps = _keeps(output, "paths", is_right, "relation")

    def score(call: StepCall, case: Case) -> StepScore | None:
        lengths = [len(read_path(str(line)).hops) for line in call.inputs.get("paths") or ()]
        if not case.paths or not lengths or min(lengths) <= max(map(len, case.paths)):
            return keeps(call, case)
        kept = call.outputs.get(output) or ()
        told = "The facts at hand already answer the question, so no further path is needed. "
        return StepScore(float(not kept), told)

    return score


def _is_on_path(case: Case, line: str) -> bool:
    fact = read_fact(line)
    return fact is not None and any(is_written(case.graph, hop, fact.hop) for path in case.paths for hop in path)


def _keeps(output: str, offered: str, is_right: Callable[[Case, str], bool], what: str) -> StepMetric:
    def score(call: StepCall, case: Case) -> StepScore | None:
        lines = [str(line) for line in call.inputs.get(offered) or ()]
        wanted = {number for number, line in enumerate(lines, 1) if is_right(case, line)}
        if not wanted:
            return None  # no correct item was offered, or it is unknown: not an error of this step
        kept = {int(number) for number in call.outputs.get(output) or ()}
        dropped = [lines[number - 1] for number in sorted(wanted - kept)]
        needless = [lines[number - 1] for number in sorted(kept - wanted) if 0 < number <= len(lines)]
        invented = [str(number) for number in sorted(kept) if not 0 < number <= len(lines)]
        return StepScore(
            overlap(kept, wanted, _BETA),
            listed(f"Dropped a {what} that leads to the answer", dropped)
            + listed(f"Kept a {what} that does not lead to the answer", needless)
            + listed("Kept numbers that are not in the list", invented)
            or f"Kept exactly each {what} that leads to the answer. ",
        )

    return score


keeps_facts = _keeps("relevant", "facts", _is_on_path, "fact")
"""F2 of the numbers in `relevant` against the facts whose relation is on a gold path."""

_LEAST_SCORE = 0.5
"""Minimum score of a candidate that counts as an answer."""


def helps(case: Case, passage: str) -> bool:
    """Whether a passage is a gold document; if those are unknown, whether it names an answer."""
    titles = case.question.documents
    if titles:
        words = Words(passage)
        return any(title in words for title in titles)
    return case.names_answer(passage)


def selects_passages(call: StepCall, case: Case) -> StepScore | None:
    """F1 of the numbers in `useful` against the passages that help."""
    if not case.gold.answers:
        return None
    passages = [str(passage) for passage in call.inputs.get("passages") or ()]
    wanted = {number for number, passage in enumerate(passages, 1) if helps(case, passage)}
    chosen = {int(number) for number in call.outputs.get("useful") or ()}
    missed = [passages[number - 1][:200] for number in sorted(wanted - chosen)]
    return StepScore(
        overlap(chosen, wanted),
        listed("Not selected, although it helps", missed)
        + listed("Selected, although it does not help", [str(number) for number in sorted(chosen - wanted)])
        or "The selected passages are correct. ",
    )


def judges_passage(call: StepCall, case: Case) -> StepScore | None:
    """1 if the judgement of one passage is correct."""
    if not case.gold.answers:
        return None
    right = helps(case, str(call.inputs.get("passage", "")))
    reply = bool(call.outputs.get("helps"))
    return StepScore(float(reply is right), f"The passage {'helps' if right else 'does not help'}. ")


def judges_sufficiency(call: StepCall, case: Case) -> StepScore | None:
    """1 if the facts were judged sufficient and name an answer, or insufficient and name none."""
    if not case.gold.answers or case.question.computed:
        return None
    right = any(case.holds_answer(str(fact)) for fact in call.inputs.get("facts") or ())
    reply = bool(call.outputs.get("sufficient"))
    return StepScore(float(reply is right), f"The facts {'contain' if right else 'do not contain'} the answer. ")


def scores_candidate(call: StepCall, case: Case) -> StepScore | None:
    """1 minus the distance of a candidate's score from 1 for a correct answer, or from 0 for another."""
    if not case.gold.answers:
        return None
    right = case.names_answer(_first_line(str(call.inputs.get("candidate") or "")))
    given = min(1.0, max(0.0, float(call.outputs.get("score") or 0.0)))
    return StepScore(1 - abs(float(right) - given), f"The candidate is {'' if right else 'not '}a correct answer. ")


def scores_candidates(call: StepCall, case: Case) -> StepScore | None:
    """F1 of the candidates with a score of at least 0.5 against the gold answers."""
    candidates = [str(text) for text in call.inputs.get("candidates") or ()]
    wanted = {n for n, text in enumerate(candidates, 1) if case.names_answer(_first_line(text))}
    if not wanted:
        return None
    verdicts = read_verdicts(call.outputs.get("verdicts") or (), len(candidates))
    chosen = {number for number, score in verdicts.items() if score.value is not None and score.value >= _LEAST_SCORE}
    return StepScore(
        overlap(chosen, wanted),
        listed("A correct answer has a low score", [_first_line(candidates[n - 1]) for n in sorted(wanted - chosen)])
        + listed(
            "A wrong candidate has a high score", [_first_line(candidates[n - 1]) for n in sorted(chosen - wanted)]
        )
        or "Correct answers have high scores and wrong candidates low ones. ",
    )


def _first_line(candidate: str) -> str:
    return candidate.partition("\n")[0]


def asks_further(output: str) -> StepMetric:
    """1 if a search for the text of a field finds a correct answer (`Case.found_by`)."""

    def score(call: StepCall, case: Case) -> StepScore | None:
        if not case.gold.answers or case.question.computed:
            return None
        query = str(call.outputs.get(output) or "").strip()
        if not query:
            return StepScore(0.0, "The query is empty. ")
        if case.found_by(query):
            return StepScore(1.0, "The query finds the answer. ")
        return StepScore(0.0, f"The query {query!r} does not find the answer. ")

    return score
