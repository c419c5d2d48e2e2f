"""From a data set's place in a configuration to its knowledge base and a sample of its questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triplecheck.evals.datasets.folder import Case, CaseOptions, bundled_case, find_cases
from triplecheck.evals.experiments.config import DataSpec
from triplecheck.evals.questions import Question, part_of, sampled
from triplecheck.evals.variants import make_variant
from triplecheck.kg import KnowledgeBase, UserError


@dataclass(frozen=True)
class OpenedSet:
    """A knowledge base and the questions that are asked about it."""

    knowledge_base: KnowledgeBase
    questions: Sequence[Question]


class SetOpener:
    """Opens data sets, each once.

    Args:
        data: folder of benchmarks (`evals.datasets.folder`); None where there is none.
        kbs: where knowledge bases are built.
        missing: told of each data set, model and bundle that is not at hand, once; None: that is an error.
    """

    def __init__(self, data: Path | None, kbs: Path, missing: Callable[[str], None] | None = None) -> None:
        self._cases = {} if data is None else {case.name: case for case in find_cases(data)}
        self._kbs = kbs
        self._missing = missing
        self._told: set[str] = set()
        self._bases: dict[Path, KnowledgeBase] = {}
        self._opened: dict[tuple[str, int, int], OpenedSet] = {}

    def open(self, name: str, spec: DataSpec, limit: int, seed: int) -> OpenedSet | None:
        """A data set with a sample of its questions, the same for the same seed; a larger one begins with a smaller.

        Returns:
            None where it is not at hand and somebody is told so.

        Raises:
            UserError: it is not at hand, or holds no such questions.
            ReadError: one of its files is malformed.
        """
        if spec.case is not None and spec.case not in self._cases:
            self.leave_out(name, f"no benchmark {spec.case!r} in the data directory")
            return None
        if spec.kb is not None and not (spec.kb / "manifest.json").is_file():
            self.leave_out(name, f"no knowledge base {spec.kb}")
            return None
        if spec.kb is not None and spec.questions is not None and not spec.questions.is_file():
            self.leave_out(name, f"no questions {spec.questions}; `triplecheck data generate {spec.kb}` makes some")
            return None
        if (name, limit, seed) not in self._opened:
            self._opened[name, limit, seed] = self._read(spec, limit, seed)
        return self._opened[name, limit, seed]

    def _read(self, spec: DataSpec, limit: int, seed: int) -> OpenedSet:
        case = self._case(spec)
        base = self._base(spec.kb or self._kbs / case.folder.name, case)
        questions = [q for q in case.sample(None) if spec.part is None or part_of(q.id) == spec.part]
        questions = sampled(questions, limit, seed)
        if spec.variant is not None:
            # After sampling, so that the drop is told on the same questions.
            questions, base = make_variant(spec.variant, questions, base, self._kbs / "variants", seed)
        return OpenedSet(base, questions)

    def _case(self, spec: DataSpec) -> Case:
        if spec.bundled is not None:
            case = bundled_case(spec.bundled)
        elif spec.case is not None:
            case = self._cases[spec.case]
        else:
            assert spec.kb is not None and spec.questions is not None
            case = Case(name=spec.kb.name, folder=spec.kb, questions=spec.questions)
        options = CaseOptions(
            spec.one_answer or case.options.one_answer,
            case.options.supported_only,
            {**case.options.where, **spec.where},
        )
        return replace(case, options=options, questions=spec.questions or case.questions)

    def _base(self, place: Path, case: Case) -> KnowledgeBase:
        if place not in self._bases:
            self._bases[place] = case.knowledge_base(place)
        return self._bases[place]

    def leave_out(self, name: str, why: str) -> None:
        """Tell, once, what cannot be run here and why.

        Raises:
            UserError: nobody is told.
        """
        if self._missing is None:
            raise UserError(f"{name}: {why}")
        if name not in self._told:
            self._told.add(name)
            self._missing(f"{name}: {why}")
