"""Cascades: a cheap program first, a dear one only where the answer of the first is not proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self, TypeAlias

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import Roles, session
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.lms.roles import LINK, Model, name_of
from triplecheck.programs.base import Program, Sources, make_program
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.registry import resolve_program
from triplecheck.programs.steps import Asked, Chosen, Trace

Member: TypeAlias = Program | tuple[Program, Roles | Model | None]
"""A program that answers with the models of the session, or a program with models of its own."""


@dataclass(frozen=True)
class CascadeOptions(ProgramOptions):
    """What a cascade is made of.

    Attributes:
        programs: the name and the options of each program.
        members: per member the place of its program in `programs`, and its models (`Roles.to_json`); None: those of
            the session.
        sure: the confidence from which an answer stands; None: a proved answer does.
    """

    programs: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    members: tuple[tuple[int, Mapping[str, str] | None], ...] = ()
    sure: float | None = None


_SHARED = vars(ProgramOptions())
"""The options of every program, with their defaults."""


class Cascade(Program):
    """Asks programs one after the other until an answer is proved; `Cascade([first, second])` is a `dspy.Module`.

    A proved answer stands and ends the question. If none is proved, the answer with the highest confidence stands; of
    equal ones, the first. With `sure`, an answer that is at least so sure stands, proved or not; `triplecheck.compile`
    finds such a threshold. A member abstains by its own options, such as `verdict` and `abstain_below`; if all abstain,
    the first abstention stands. The trace has the steps of all members, `Asked` before those of each and `Chosen` at
    the end, and the usage counts all calls. After FrugalGPT (Chen, Zaharia and Zou 2023, arXiv 2305.05176, section 3),
    with a proof, or the fitted confidence, in place of its scorer.

    Args:
        members: at least two programs over the same graph, the cheapest first; `(program, roles)` gives a program its
            own models: `Cascade([(kerag, "extractive"), (kerag, "openai/gpt-4o-mini")])`. A program without models
            has those of the session. Rules without a model for the role `link` ask that of the session what words mean
            (the assist `matched_words`). Members that are the same object share their prompts.
        sure: the confidence from which an answer stands, from 0 to 1; None: a proved answer does.

    Raises:
        UserError: fewer than two members, a member that is no program, programs over different graphs, or a `sure` that
            is no confidence.
    """

    name = "cascade"
    options: CascadeOptions
    Options: ClassVar[type[ProgramOptions]] = CascadeOptions

    def __init__(self, members: Sequence[Member], *, sure: float | None = None) -> None:
        if sure is not None and not 0 <= sure <= 1:
            raise UserError(f"sure cannot be {sure!r}: give a confidence, from 0 to 1")
        pairs = [_pair(member) for member in members]
        if len(pairs) < 2:
            raise UserError(f"a cascade needs two programs or more, not {len(pairs)}: Cascade([first, second])")
        programs = list({id(program): program for program, _ in pairs}.values())
        for program in programs[1:]:
            _check_same_graph(programs[0], program)
        super().__init__(programs[0].sources)
        self.programs = programs
        self.places = [next(at for at, one in enumerate(programs) if one is program) for program, _ in pairs]
        self.roles = [roles for _, roles in pairs]
        self.options = CascadeOptions(
            programs=tuple((program.name, _given(program)) for program in programs),
            members=tuple(
                (at, None if roles is None else roles.to_json())
                for at, roles in zip(self.places, self.roles, strict=True)
            ),
            sure=sure,
        )

    @classmethod
    def made(cls, sources: Sources, options: Mapping[str, Any]) -> Self:
        """A cascade with the `CascadeOptions` of another one; options of every program replace those of its members.

        Raises:
            UserError: there are no members, no such program, or no such option.
        """
        if not options.get("members"):
            raise UserError(
                "a cascade has no options of its own: name the model that is asked first with --cascade, or a bundle "
                "of a cascade with --bundle"
            )
        changed = {name: options[name] for name in _SHARED if options.get(name, _SHARED[name]) != _SHARED[name]}
        programs = [
            make_program(resolve_program(name), sources, given | changed) for name, given in options["programs"]
        ]
        models = [(at, None if given is None else Roles.from_json(given)) for at, given in options["members"]]
        return cls([(programs[at], roles) for at, roles in models], sure=options.get("sure"))

    def __repr__(self) -> str:
        pairs = zip(self.places, self.roles, strict=True)
        sure = "" if self.options.sure is None else f", sure={self.options.sure}"
        return f"Cascade([{', '.join(f'({self.programs[at]!r}, {roles!r})' for at, roles in pairs)}]{sure})"

    @property
    def title(self) -> str:
        """Its name with those of its programs."""
        return "-".join([self.name, *dict.fromkeys(program.title for program in self.programs)])

    @property
    def reach(self) -> int:
        """That of the program that goes farthest."""
        return max(program.reach for program in self.programs)

    @property
    def thresholds(self) -> Mapping[str, float]:
        """Those of its programs; of several with the same name those of the last."""
        return {name: value for program in self.programs for name, value in program.thresholds.items()}

    @property
    def own_roles(self) -> tuple[Roles, ...]:
        """The models that members have of their own."""
        return tuple(roles for roles in self.roles if roles is not None)

    def judged(self, question: str, trace: Trace) -> Outcome:
        """The proved or surest outcome of the members, who judge their own; see `Program.judged`."""
        found: list[Outcome] = []
        for number, (place, roles) in enumerate(zip(self.places, self.roles, strict=True), 1):
            program = self.programs[place]
            branch = trace.branch()
            models = None if roles is None else with_link(roles)
            with session(models, ranker=program.sources.own_ranker, language=program.sources.language):
                trace.add(Asked(number, program.name, dspy.settings.lm_roles.to_json()))
                try:
                    found.append(program.judged(question, branch))
                finally:
                    trace.steps += branch.steps
            if stands(found[-1], self.options.sure):
                break
        at = surest(found, self.options.sure)
        best = found[at]
        about = best.answer, best.verdict, best.confidence, _reason(best, self.options.sure)
        trace.add(Chosen(at + 1, len(found), *about))
        return best if best.abstained else self.above_threshold(question, best, trace)

    def run(self, question: str, trace: Trace) -> Outcome:
        """As `judged`: the members judge their answers themselves."""
        return self.judged(question, trace)


def with_link(roles: Roles) -> Roles:
    """The models of a member. Rules that have no model for the role `link` take that of the session."""
    outer: Roles | None = dspy.settings.get("lm_roles")
    model = dspy.settings.lm if outer is None else outer.by_role.get(LINK, outer.default)
    if model is None or is_no_language_model(name_of(model)) or not is_no_language_model(name_of(roles.default)):
        return roles
    return Roles(roles.default, {LINK: model, **roles.by_role})


def _pair(member: Member) -> tuple[Program, Roles | None]:
    program, models = member if isinstance(member, tuple) and len(member) == 2 else (member, None)
    if not isinstance(program, Program):
        raise UserError(
            f"a cascade is made of programs, or of pairs of a program and its models, not {type(member).__name__}: "
            "Cascade([(kerag, 'extractive'), (kerag, 'openai/gpt-4o-mini')])"
        )
    return program, models if models is None or isinstance(models, Roles) else Roles(models)


def _given(program: Program) -> dict[str, Any]:
    return asdict(program.options) | {"abstain_below": program.abstain_below}


def _check_same_graph(first: Program, other: Program) -> None:
    if first.graph is other.graph:
        return
    bases = [program.sources.knowledge_base for program in (first, other)]
    if None in bases or bases[0].identity != bases[1].identity:  # type: ignore[union-attr]
        raise UserError(
            f"the programs of a cascade answer from one graph, and {first!r} and {other!r} have different ones: make "
            "them of the same knowledge base"
        )


def stands(found: Outcome, sure: float | None) -> bool:
    """Whether an answer ends the question: it is proved, or with `sure` at least so sure."""
    if sure is None:
        return found.verdict == "proved"
    return found.abstained is None and (found.confidence or 0.0) >= sure


def surest(found: Sequence[Outcome], sure: float | None) -> int:
    """The place of the outcome that is given: the proved one, else, and with `sure`, the most confident answer."""

    def surety(at: int) -> tuple[bool, bool, float]:
        one = found[at]
        answers = one.abstained is None
        return sure is None and one.verdict == "proved", answers, (one.confidence or 0.0) if answers else 0.0

    return max(range(len(found)), key=surety)


def _reason(found: Outcome, sure: float | None) -> str:
    if stands(found, sure):
        return "it is proved" if sure is None else f"it is sure enough, {sure:.2f} or more"
    short = "proved" if sure is None else "sure enough"
    return "nobody answers" if found.abstained else f"none is {short}, and this is the surest"
