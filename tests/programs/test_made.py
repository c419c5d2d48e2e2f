"""What a program is made of: its steps, those that its options use and no others, its options and its sources."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from program_parts import ask

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import RolePredict, language_model, register_engine, session, unregister_engine
from triplecheck.lms.extractive.engine import ExtractiveEngine
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
from triplecheck.signatures.demonstrations import is_worked

Options = Mapping[str, Any]
_PER_ITEM: Options = {"per_relation_calls": True}
_CHECKED = {"relevance_check": True, "knowledge_models": 1}
_PER_CHECK: Options = {**_CHECKED, "paper_calls": True}
_MEMORY: Options = {"grounded_only": True}

EXCLUDED: list[tuple[str, Options, Options, set[str]]] = [
    ("kerag", {}, {"filtering": "none"}, {"select_paths"}),
    ("kerag", {}, {"assist": "-plans"}, {"write_query"}),
    ("kerag", {"judge_proof": True}, {}, {"judge_proof"}),
    ("anchorrag", _PER_ITEM, {}, {"score_entities", "filter_facts", "judge"}),
    ("anchorrag", {"assist": "-unjudged_facts"}, {}, {"judge"}),
    ("anchorrag", {}, _PER_ITEM, {"judge_and_go_on"}),
    ("anchorrag", {}, {"depth": 1}, {"judge_and_go_on"}),
    ("anchorrag", _PER_ITEM, {**_PER_ITEM, "filter_triples": False}, {"filter_facts"}),
    ("anchorrag", {}, _MEMORY, {"answer_from_memory"}),
    ("4stepfocus", {}, {"rerank": "each"}, {"reranker.score_candidates"}),
    ("4stepfocus", {"rerank": "each"}, {}, {"reranker.score_candidate"}),
    ("4stepfocus", {}, {"rerank": "none"}, {"reranker.score_candidates"}),
    ("vssreranker", {}, {"rerank": "none"}, {"reranker.score_candidates"}),
    ("know3rag", {}, {"turns": 1}, {"next_question"}),
    (
        "know3rag",
        _CHECKED,
        {**_CHECKED, "retrieve": False},
        {
            "next_question",
            "answer_with_references",
            "filter.check_passages",
            "knowledge.write_one[0]",
            "knowledge.write_both[0]",
        },
    ),
    ("know3rag", _CHECKED, {**_CHECKED, "kg_query": False}, {"knowledge.write_both[0]"}),
    ("know3rag", _CHECKED, {**_CHECKED, "raw_query": False}, {"knowledge.write_both[0]"}),
    ("know3rag", _CHECKED, _PER_CHECK, {"knowledge.write_both[0]", "filter.check_passages"}),
    ("know3rag", _PER_CHECK, _CHECKED, {"filter.judge_passage", "filter.extract_triples"}),
    ("know3rag", _PER_CHECK, {**_PER_CHECK, "relevance_check": False}, {"filter.judge_passage"}),
    ("know3rag", _PER_CHECK, {**_PER_CHECK, "triple_check": False}, {"filter.extract_triples"}),
    ("know3rag", {**_CHECKED, "triple_check": False}, _CHECKED, {"filter.select_passages"}),
    ("know3rag", _CHECKED, {**_CHECKED, "filtering": False}, {"filter.check_passages"}),
    ("know3rag", _CHECKED, {**_CHECKED, "knowledge_models": 0}, {"knowledge.write_one[0]", "knowledge.write_both[0]"}),
    ("io", {}, _MEMORY, {"answer"}),
    ("cot", {}, _MEMORY, {"answer"}),
    ("selfconsistency", {}, _MEMORY, {"answer"}),
    ("ragdirect", {}, _MEMORY, {"directly"}),
    ("ragcot", {}, _MEMORY, {"with_reasoning", "from_memory"}),
    ("recite", {}, _MEMORY, {"write", "with_reasoning", "from_memory"}),
    ("skr", {}, _MEMORY, {"judge", "with_reasoning", "from_memory"}),
    ("knowledgecard", {}, _MEMORY, {"knowledge.write_one[0]", "filter.select_passages", "from_memory"}),
    ("chainofknowledge", {}, _MEMORY, {"by_triples"}),
    ("blendfilter", {}, _MEMORY, {"write", "filter.select_passages", "from_memory"}),
    ("tog", {}, _MEMORY, {"answer_from_memory"}),
    ("pog", {}, _MEMORY, {"answer_from_memory"}),
    ("pog", {}, {"reflection": False}, {"reflect"}),
    ("pog", {}, {"depth": 1}, {"reflect"}),
]


def steps(program: Program) -> set[str]:
    return {name for name, _ in program.named_predictors()}


@pytest.mark.parametrize(("name", "having", "excluding", "excluded"), EXCLUDED)
def test_a_step_that_the_options_exclude_is_not_made(
    name: str, having: Options, excluding: Options, excluded: set[str], bundled: KnowledgeBase
) -> None:
    program = resolve_program(name)
    assert excluded <= steps(program(bundled, **having))
    assert excluded.isdisjoint(steps(program(bundled, **excluding)))


@contextmanager
def rules(name: str) -> Iterator[None]:
    """A model that replies as the baseline does and is not taken for it."""
    register_engine(name, ExtractiveEngine())
    try:
        with session(name):
            yield
    finally:
        unregister_engine(name)


_SEARCH = {"bm25", "vss", "multivss", "vssreranker"}  # they ask no model, or by the step of 4stepfocus
_ANSWERING: list[tuple[str, Options]] = [
    *((name, {}) for name in program_names() if name not in _SEARCH),
    *((name, {"preset": "paper"}) for name in ("kerag", "anchorrag", "know3rag")),
    ("4stepfocus", {"preset": "paper", "search": "bm25"}),
]


@pytest.mark.parametrize(("name", "options"), _ANSWERING)
def test_no_step_is_made_while_a_question_is_answered(
    name: str, options: Options, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    before = RolePredict.__init__

    def counted(self: RolePredict, *args: Any, **kwargs: Any) -> None:
        made.append(self)
        before(self, *args, **kwargs)

    monkeypatch.setattr(RolePredict, "__init__", counted)
    program = resolve_program(name)(bundled, **options)
    assert len(made) >= len(steps(program)) > 0
    made.clear()
    asked = read_questions(bundled_questions("dev"))[:12]
    with rules("rules"):
        for question in asked:
            program(question=question.question)
    assert not made


class TestWorkedExamples:
    """The option `demos`."""

    @pytest.mark.parametrize("name", program_names())
    def test_every_step_has_them_unless_the_option_says_none(self, name: str, bundled: KnowledgeBase) -> None:
        kind = resolve_program(name)
        for _, step in kind(bundled).named_predictors():
            assert step.demos and all(map(is_worked, step.demos))
        without = kind(bundled, demos="none")
        for program in (without, without.reset_copy(), without.deepcopy()):
            assert not any(step.demos for step in program.predictors())

    def test_another_value_is_refused(self, bundled: KnowledgeBase) -> None:
        with pytest.raises(UserError, match="option 'demos' of 'kerag' cannot be 'some'"):
            KERAG(bundled, demos="some")

    def test_they_are_in_the_saved_state(self, bundled: KnowledgeBase, tmp_path: Path) -> None:
        program, file = KERAG(bundled), tmp_path / "kerag.json"
        program.select_paths.demos = program.select_paths.demos[:1]
        program.save(file)
        loaded, without = KERAG(bundled), KERAG(bundled, demos="none")
        loaded.load(file)
        without.load(file)
        for name, step in loaded.named_predictors():
            assert step.demos == dict(program.named_predictors())[name].demos
        assert not any(step.demos for step in without.predictors())


class TestSavedStates:
    """States of a program with other options."""

    def test_the_state_of_a_step_that_is_not_there_is_ignored(self, bundled: KnowledgeBase, tmp_path: Path) -> None:
        whole, fewer, file = KERAG(bundled), KERAG(bundled, filtering="none"), tmp_path / "kerag.json"
        whole.summarize.signature = whole.summarize.signature.with_instructions("Look twice.")
        whole.save(file)
        fewer.load(file)
        assert fewer.summarize.signature.instructions == "Look twice."
        assert "select_paths" not in steps(fewer)

    def test_a_state_without_a_step_that_is_there_is_refused_with_its_name(
        self, bundled: KnowledgeBase, tmp_path: Path
    ) -> None:
        KERAG(bundled, filtering="none").save(tmp_path / "kerag.json")
        program = KERAG(Sources.of(bundled))
        with pytest.raises(UserError, match=r"has no step select_paths: .* make the program with the"):
            program.load(tmp_path / "kerag.json")

    def test_one_model_can_be_set_on_all_steps(self, bundled: KnowledgeBase) -> None:
        program = KERAG(bundled, filtering="none")
        with rules("others"):
            lm = language_model("others")
            program.set_lm(lm)
        assert [step.lm for step in program.predictors()] == [lm] * len(steps(program))


# --- presets, options and sources: what `preset="paper"` sets, and what overrides it
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
