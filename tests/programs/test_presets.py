"""Presets, options and sources of the programs: what `preset="paper"` sets, and what overrides it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from program_parts import ask

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.programs import (
    KERAG,
    AnchorRAG,
    FourStepFocus,
    Know3RAG,
    Program,
    Sources,
    program_names,
    resolve_program,
)
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.anchorrag import names_first
from triplecheck.programs.base import make_program
from triplecheck.programs.steps import Trace

PAPERS = [KERAG, AnchorRAG, FourStepFocus, Know3RAG]
QUESTION = "What was the nationality of Bernhard Heiden's teacher?"


@pytest.mark.parametrize("program", PAPERS)
class TestEveryPaper:
    def test_the_preset_sets_every_option_of_its_table(self, sources: Sources, program: type[Program]) -> None:
        made = program(sources, preset="paper").options
        for name, value in program.presets["paper"].items():
            held = getattr(made, name)
            if isinstance(value, dict):
                assert value.items() <= vars(held).items()
            else:
                assert held == value

    def test_the_default_preset_changes_nothing(self, sources: Sources, program: type[Program]) -> None:
        assert program(sources, preset="default").options == program(sources).options == program.Options()

    def test_an_unknown_preset_is_rejected_with_the_known_presets(
        self, sources: Sources, program: type[Program]
    ) -> None:
        with pytest.raises(UserError, match="no preset 'papr'; there are default, paper"):
            program(sources, preset="papr")

    def test_the_name_of_the_preset_works_like_any_option_of_the_command_line(
        self, sources: Sources, program: type[Program]
    ) -> None:
        assert make_program(program, sources, {"preset": "paper"}).options == program(sources, preset="paper").options

    def test_copies_share_the_sources_and_keep_the_options(self, sources: Sources, program: type[Program]) -> None:
        made = program(sources, preset="paper", grounded_only=True)
        for other in (copy.deepcopy(made), made.deepcopy(), made.reset_copy()):
            assert other.sources is sources and other.graph is sources.graph and other.options == made.options
            for mine, its in zip(made.predictors(), other.predictors(), strict=True):
                assert mine is not its
            other.load_state(made.dump_state())
            assert (ask(other, QUESTION).answer, ask(other, QUESTION).steps) == (
                ask(made, QUESTION).answer,
                ask(made, QUESTION).steps,
            )

    def test_it_accepts_a_knowledge_base_or_its_path(self, program: type[Program], sources: Sources) -> None:
        base = sources.knowledge_base
        assert base is not None
        assert program(base).graph is base.graph
        assert (
            program(str(base.path)).graph.num_nodes == program(Path(base.path)).graph.num_nodes == base.graph.num_nodes
        )

    def test_other_sources_are_rejected_with_the_accepted_ones(self, program: type[Program], sources: Sources) -> None:
        for wrong in (None, 3, sources.graph):
            with pytest.raises(UserError, match="needs a KnowledgeBase"):
                program(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "option", "value"),
    [(KERAG, "hops", 1), (AnchorRAG, "prefilter", 0.1), (FourStepFocus, "rerank", "none"), (Know3RAG, "turns", 1)],
)
def test_an_explicit_option_overrides_the_preset(
    sources: Sources, program: type[Program], option: str, value: Any
) -> None:
    assert getattr(program(sources, preset="paper", **{option: value}).options, option) == value


def test_an_explicit_limit_keeps_the_other_limits_of_the_preset(sources: Sources) -> None:
    limits = KERAG(sources, preset="paper", limits={"tokens": 400}).options.limits
    assert (limits.tokens, limits.candidates) == (400, 1)


def test_names_rank_before_relations_with_the_assist_and_relations_alone_in_the_paper(sources: Sources) -> None:
    candidates = sources.linker.candidates("Michael Jordan", "Which sport does Michael Jordan play?")
    assert len(candidates) > 1
    ranked = sorted(candidates, key=lambda candidate: candidate.lexical)
    by_names = names_first(Assists(), ranked, [candidates], 1, Trace())
    assert by_names[0] is candidates[0]
    assert names_first(Assists("none"), ranked, [candidates], 1, Trace()) is ranked


def test_a_path_without_a_knowledge_base_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none"):
        KERAG(tmp_path / "none")


def test_bundled_names_the_bundled_knowledge_base(bundled: KnowledgeBase) -> None:
    assert KERAG("bundled").graph.num_triples == bundled.graph.num_triples


@pytest.mark.parametrize("name", program_names())
def test_a_program_is_found_by_its_own_name(name: str) -> None:
    assert {resolve_program(name), resolve_program(name.upper()), resolve_program(f"{name[:2]}-{name[2:]}")} == {
        resolve_program(name)
    }
    assert resolve_program(name).name == name


def test_an_unknown_program_is_rejected_with_the_known_names() -> None:
    with pytest.raises(UserError, match=r"no program 'kreag'; there are: .*kerag"):
        resolve_program("kreag")
