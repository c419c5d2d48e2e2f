"""The query of a question: written by a model, checked against the question, run, and concluded from with its proof."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

from triplecheck.kg import Direction, Graph, Literal, UserError
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.functions import stored_graph
from triplecheck.kg.graph import RelationSchema
from triplecheck.kg.plans import (
    Answers,
    Named,
    Plan,
    PlanError,
    PlanNames,
    check,
    excluding_nothing,
    read_plan,
    run_plan,
    write_label,
)
from triplecheck.kg.readable import singular
from triplecheck.kg.types import XSD, Edge
from triplecheck.kg.values import converted, quantity, value_of, written
from triplecheck.kg.values.units import own_unit
from triplecheck.language.content import settings
from triplecheck.language.coverage import LeftOut, QuerySays, left_out, unasked
from triplecheck.language.likeness import Likeness, measured_names
from triplecheck.language.question import Question
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.assists.implied_classes import with_implied_classes
from triplecheck.programs.base import Program
from triplecheck.programs.judge.features import query_features
from triplecheck.programs.judge.left_out import is_no_person
from triplecheck.programs.offers import Line, described, names_of, offer, things, values_named
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.query_form import COMPARISONS, COMPUTED, TIMES, QueryForm, unquoted
from triplecheck.programs.steps import Planned, Stopped, Trace
from triplecheck.signatures.notation import clean, write_topic
from triplecheck.signatures.query_notation import THING, without_things

_TRIES = 2
_TRIPLES = 200  # in the evidence of an answer
_CLASSES = 200
_RELATIONS = 1_000  # whose names are looked at
_PATTERNS = 4  # of a topic that was left out
_ZERO = Literal("0", XSD + "integer")
_PARTS = 2_000  # of a whole that are looked at for parts of their own
_BESIDE = 5  # triples of a thing and a relation that stand in place of what was asked for
_NONE = ("", "none")


class Planning:
    """Lets a model write the query of one question; `kg.plans` reads, checks and runs it.

    A query that cannot be read, or that leaves out a word of the question, is shown to the model once with the reason.

    Args:
        program: has the graph.
        step: writes queries.
        read: the question, with its topics.
        topics: of each node the name in prompts and the spelling in the question.
        tokens: estimated tokens of the relations in a prompt.
        implied: whether a graph without classes gets those that the nouns of the question name.
    """

    def __init__(
        self,
        program: Program,
        step: RolePredict,
        read: Question,
        topics: Mapping[int, tuple[str, str]],
        tokens: int,
        trace: Trace,
        *,
        implied: bool = True,
    ) -> None:
        self._program, self._step, self._trace = program, step, trace
        self._graph: Graph = stored_graph(program.graph)  # a query calls no function
        if self._graph is not program.graph:
            topics = {node: topic for node, topic in topics.items() if node < self._graph.num_nodes}
        self._likeness = Likeness(load_encoder().encode, read.language)
        self._untyped = None if self._graph.has_types else self._graph
        linker = program.sources.linker
        if implied:
            self._graph = with_implied_classes(
                program.assists, self._graph, linker, read, topics, self._likeness, trace
            )
        values = values_named(self._graph, linker, read, self._likeness)
        self._topics = things(self._graph, {**topics, **values})
        if self._topics.keys() != topics.keys():  # only things are topics
            read = program.read(read.text, [write_topic(name, spelt) for name, spelt in self._topics.values()])
        self._read = read
        self._shown = offer(self._graph, self._read, self._topics, program.sources.relations, tokens)
        self._names = PlanNames(self._graph, linker, topics=names_of(self._topics))

    @property
    def has_implied_classes(self) -> bool:
        """Whether the graph got classes that it has not."""
        return self._graph.has_types and self._untyped is not None

    def outcome(self) -> Outcome | None:
        """What the query computes; None if the model writes none that can be run."""
        problem, before, found = "", "", None
        for tries in range(_TRIES):
            text = self._written(problem)
            if text.casefold().rstrip(".") in _NONE or text == before:
                return found
            try:
                found, reason = self._answered(text, tries)
            except UserError as error:
                found, reason = None, str(error)
            if not reason:
                return found
            self._trace.add(Planned(text, reason, 0, ""))
            problem, before = f"{text}\n{reason}", text
        return found

    def _written(self, problem: str) -> str:
        """The query that the model writes; empty if its reply cannot be read, so that the question goes on without."""
        shown = self._shown
        try:
            reply = self._program.ask(
                self._trace,
                self._step,
                question=self._read.text,
                topics=shown.topics,
                beside=shown.beside,
                classes=shown.classes,
                relations=shown.relations,
                problem=problem,
            )
        except (ModelReplyError, PromptTooLongError) as error:
            self._trace.add(Planned("", str(error), 0, ""))
            return ""
        return str(reply.query).strip()

    def _answered(self, text: str, tries: int) -> tuple[Outcome | None, str]:
        """The outcome of a query after so many others, and what may be wrong with it; none where it is surely wrong.

        Raises:
            UserError: it cannot be read or run.
        """
        if not self._program.sources.schema_names.type_ids(THING):
            text = without_things(text)
        plan = read_plan(text, self._names)
        if problem := self._form_problem(plan):
            return None, problem
        plan = self._going_on(plan)
        missing = self._left_out(plan)
        if missing.surely:
            return None, f"The query says nothing of {', '.join(map(repr, missing.surely))}."
        if self._is_of_other_time(plan):
            return None, "The question asks for the time of what joins two things: this is the time of one of them."
        answers = run_plan(self._graph, plan)
        plan, missing = self._without_implied(plan, answers, missing)
        found = answers.boolean or any(cell != _ZERO for row in answers.rows for cell in row)
        hints = () if found else check(self._graph, plan)
        if self._names_all(plan):
            hints = tuple(replace(hint, instead=False) for hint in hints)
        if plan.kind == "ask" or plan.has("count"):
            hints = tuple(hint for hint in hints if hint.turned or hint.instead)  # "no" and 0 are answers
        vague = self._untyped is not None or len(plan.relations) > 1
        if any(hint.turned or hint.instead or (hint.alone and vague) for hint in hints):
            return None, " ".join(hint.text for hint in hints)
        if self._is_echo(plan, answers):
            return None, "The question names the answer: select what it asks for."
        nodes, _ = self._first_column(answers, is_computed=False)
        found_texts = {text.casefold() for text in self._graph.labels(nodes)}
        if any({yes, no} <= found_texts for yes, no in self._read.parse.lexicon.flags.items()):
            return None, "The query finds both yes and no: select the things that are so."
        if self._finds_no_person(nodes, plan):
            return None, "The question asks for a person: select who it is."
        implied = [name for one in plan.classes for name in one.classes] if self._untyped is not None else []
        doubts = [f"the graph has no classes, and {name!r} may mean other things" for name in implied]
        doubts += [f"the query may mean something else than {word!r}" for word in missing.maybe]
        names = self._unasked([one for one in plan.bridges if not set(self._containments).issuperset(one)])
        said = set(self._read.words)  # "the inn in Osby" says `located in`
        names += [name for name in self._unasked(plan.stated) if said.isdisjoint(name.casefold().split())]
        if plan.kind == "ask" and not found and names and len(plan.relations) > 1:
            return None, f"The query says no by way of {names[0]!r}, of which the question does not speak."
        if plan.has("count") and not found:
            if names:
                return None, f"The query counts nothing by way of {names[0]!r}, of which the question does not speak."
            if meant := self._named_otherwise(plan, missing.maybe):
                return None, f"The query counts nothing, and says nothing of {meant!r}, which the question may mean."
        doubts += [f"the question does not speak of {name!r}" for name in dict.fromkeys(names)]
        if not answers.has_proof:  # a server, or rdflib, has computed it
            doubts.append("no triples show how it was computed")
        if answers.truncated:
            doubts.append(f"only {len(answers.rows):,} of {answers.total:,} answers are given")
        features = query_features(plan, answers, missing, hints, tries)
        concluded = replace(self._concluded(plan, answers), doubts=tuple(doubts), features=features)
        return concluded, " ".join(hint.text for hint in hints)

    def _finds_no_person(self, nodes: Sequence[int], plan: Plan) -> bool:
        """Whether "who" is answered by amounts, or by things that are no persons.

        Those that the question lets choose from may be any. So may those by whom something is done, if their class says
        so: sponsors for `sponsored by`.
        """
        if self._read.asked.kind != "person":
            return False
        graph, lexicon = self._graph, self._read.parse.lexicon
        if any(quantity(value_of(graph, node)) is not None for node in nodes):
            return True
        if self._read.chooses and set(nodes) <= self._topics.keys():
            return False
        classes = [graph.type_label(kind).casefold() for node in nodes[:1] for kind in graph.types(node)]
        labels = [graph.relation(number).label.casefold().split() for one in plan.relations for number in one.relations]
        by_agents = len(plan.relations) == 1 and any(label[-1:] and label[-1] in lexicon.agents for label in labels)
        if by_agents and any(name.endswith(lexicon.agent_endings) for name in map(singular, classes)):
            return False
        return is_no_person(graph, self._read, self._topics, nodes, load_encoder().encode)

    def _is_of_other_time(self, plan: Plan) -> bool:
        """Whether "when" is answered by a date of one thing, which no word names, where the question joins two: "when
        did X move to Y"."""
        joined = {number for numbers in plan.stated for number in numbers}
        others = [one.relations for one in plan.relations if joined.isdisjoint(one.relations)]
        if self._read.asked.kind != "time" or not joined or not others:
            return False
        return len(self._unasked(others, besides_noun=True)) == len(others)

    def _unasked(self, relations: Sequence[Sequence[int]], *, besides_noun: bool = False) -> list[str]:
        """The labels of relations that no word of the question names, see `language.coverage.unasked`; without those
        that are called as the class that they lead to, as keys of tables are: they say no more."""
        numbers = [own[0] for own in relations if own and not self._is_key(own[0])]
        abouts = map(self._graph.relation, numbers)
        names = [(about.label, *about.aliases) for about in abouts]
        return unasked(self._read, names, self._likeness, besides_noun=besides_noun)

    def _is_key(self, relation: int) -> bool:
        """Whether a relation leads to one class, by the name of which it is called."""
        tails = {line.ends[1] for line in described(self._graph, relation, _labels(self._graph))}
        label = self._likeness.bases(self._graph.relation(relation).label)
        return len(tails) == 1 and bool(label) and label == self._likeness.bases(*tails)

    def _left_out(self, plan: Plan, graph: Graph | None = None) -> LeftOut:
        """The words of the question that a plan leaves out; `graph`: in place of the one with implied classes."""
        unused, names = self._unused(plan), self._every_name if settings(self._read.parse) else []
        return left_out(self._read, self._said(plan, graph), self._likeness, unused, names)

    @functools.cached_property
    def _every_name(self) -> list[str]:
        """The names of the first classes and relations of the graph."""
        abouts = map(self._graph.relation, range(min(self._graph.num_relations, _RELATIONS)))
        return [*_labels(self._graph), *(name for about in abouts for name in (about.label, *about.aliases))]

    def _said(self, plan: Plan, graph: Graph | None = None) -> QuerySays:
        return _says(graph or self._graph, plan, self._read.parse.lexicon.flags, self._read.language)

    def _without_implied(self, plan: Plan, answers: Answers, missing: LeftOut) -> tuple[Plan, LeftOut]:
        """A plan without the implied classes that change neither answers nor coverage, and what it leaves out."""
        for name in plan.classes if self._untyped is not None else ():
            text = re.sub(rf"\?\w+\s+a\s+{re.escape(name.text)}\s*\.\s*", "", plan.text)
            if text == plan.text:
                continue
            try:
                other = read_plan(text, self._names)
            except PlanError:
                continue
            left = self._left_out(other, self._untyped)
            if (left.surely, left.maybe) != (missing.surely, missing.maybe):
                continue
            found = run_plan(self._graph, other)
            if found.boolean == answers.boolean and set(found.with_ties().rows) == set(answers.with_ties().rows):
                plan, missing = other, self._left_out(other)
        return plan, missing

    def _named_otherwise(self, plan: Plan, words: Sequence[str]) -> str:
        """The label of a relation that a query does not use, and that has the stem of one of some words: `leader` for
        "leads"; empty if there is none."""
        used = {number for one in plan.relations for number in one.relations}
        others = (one for one in range(min(self._graph.num_relations, _RELATIONS)) if words and one not in used)
        labels = (self._graph.relation(one).label for one in others)
        return next((one for one in labels if any(self._likeness.of_form(word, [one]) for word in words)), "")

    def _unused(self, plan: Plan) -> list[str]:
        """The labels of relations that the question names and the plan does not, though its classes have them."""
        graph, kinds = self._graph, {id for one in plan.classes for id in one.classes}
        used = {number for one in plan.relations for number in one.relations}
        said = self._likeness.bases(self._read.text)
        labels = {number: graph.relation(number).label for number in range(graph.num_relations) if number not in used}
        asked = {number: label for number, label in labels.items() if self._likeness.bases(label) & said}
        return [label for number, label in asked.items() if _are_of(kinds, graph.schema(number))]

    def _going_on(self, plan: Plan) -> Plan:
        """A plan that reads on through places within the places that it names: `<located in>/(<located in>|<part of>)*`
        for `<located in>`.

        What lies in a part lies in the whole, by relations whose names say so (`Lexicon.containments`).
        """
        text = plan.text
        for relation in self._containing(plan):
            for node in plan.nodes:
                if onward := self._onward(relation, node):
                    text = _with_path(text, relation, node, self._path(relation, onward))
        return plan if text == plan.text else read_plan(text, self._names)

    def _path(self, relation: Named, onward: Sequence[int]) -> str:
        """A relation, followed by itself and by others any number of times."""
        others = [write_label(self._graph.relation(one).label) for one in onward if one not in relation.relations]
        return f"{relation.text}/({'|'.join([relation.text, *others])})*" if others else f"{relation.text}+"

    def _onward(self, relation: Named, node: Named) -> list[int]:
        """The relations by which something lies in a node that has parts itself."""
        further = set(relation.relations)
        return [
            one
            for one in self._containments
            if any(_has_parts(self._graph, one, {one, *further}, whole) for whole in node.nodes)
        ]

    def _containing(self, plan: Plan) -> list[Named]:
        """The relations of a plan that go on from a part to the whole."""
        return [one for one in plan.relations if set(self._containments).issuperset(one.relations)]

    @functools.cached_property
    def _containments(self) -> list[int]:
        """The relations of the graph from a part to the whole."""
        says_part, relation = self._read.parse.lexicon.says_part, self._graph.relation
        return [number for number in range(self._graph.num_relations) if says_part(relation(number).label)]

    def _form_problem(self, plan: Plan) -> str:
        """Why a query cannot be what was asked: its form, or a topic that it says nothing of; empty if it can."""
        asked = self._read.asked
        if plan.kind == "ask" and not self._read.asks_whether and (asked.word or asked.noun):
            return "The question does not expect yes or no: write SELECT."
        if plan.kind != "ask" and self._read.asks_whether:
            return "The question expects yes or no: write ASK."
        form = QueryForm(self._graph, self._read, self._topics, self._likeness, _labels(self._graph))
        if problem := form.problem(plan, self._said):
            return problem
        if plan.apart:
            return f"Nothing joins {', '.join(f'?{name}' for name in plan.apart)} with what the query selects."
        nothing = excluding_nothing(self._graph, plan)
        said = {node for one in plan.nodes for node in one.nodes} - nothing
        texts = {one.text.strip('<>"').casefold() for one in plan.names if nothing.isdisjoint(one.nodes)}
        texts |= {spelt for node in said & self._topics.keys() for spelt in self._topics[node]}  # also for homonyms
        names = [
            name
            for node, (name, spelt) in self._topics.items()
            if node not in said and texts.isdisjoint({name, name.casefold(), spelt} - {""})
        ]
        if not names:
            return ""
        own = [pattern for name in names for pattern in self._shown.beside if write_label(name) in pattern]
        hint = f" Patterns with it: {', '.join(own[:_PATTERNS])}." if own else ""
        return f"The query says nothing of {', '.join(map(repr, names))}.{hint}"

    def _is_echo(self, plan: Plan, answers: Answers) -> bool:
        """Whether a query selects nothing but things that the question names, and none of them is to be chosen."""
        if plan.kind == "ask" or self._read.chooses or len(self._topics) < 2:
            return False
        nodes, values = self._first_column(answers, is_computed=COMPUTED.match(plan.text) is not None)
        return bool(nodes) and not values and set(nodes) <= self._topics.keys()

    def _names_all(self, plan: Plan) -> bool:
        """Whether the name of each relation has a word of the question, so that no other relation can be meant."""
        abouts = [self._graph.relation(number) for one in plan.relations for number in one.relations]
        parse, likeness = self._read.parse, self._likeness
        words = [word for at, word in enumerate(parse.words) if not parse.is_topic(at) and not parse.is_stop(at)]
        return all(
            any(likeness.bases(word) & likeness.bases(name) for word in words for name in (about.label, *about.aliases))
            for about in abouts
        )

    def _concluded(self, plan: Plan, answers: Answers) -> Outcome:
        """The answer of a plan, with its proof."""
        looked = tuple(one.sentence for one in answers.looked_through)
        if plan.kind == "ask":
            said = "yes" if answers.boolean else "no"
            if not answers.boolean and self._is_untold(plan):
                return self._nothing(plan, looked)
            self._trace.add(Planned(plan.text, "", 1, said))
            edges = answers.edges(0, _TRIPLES) if answers.boolean else self._beside(plan)
            return Outcome(said, evidence=tuple(edges), grounded=True, query=plan.text, looked_through=looked)
        found, itself = answers.with_ties(), self._itself(plan)
        nodes, values = self._first_column(found, is_computed=COMPUTED.match(plan.text) is not None)
        others = [node for node in nodes if node not in itself]
        if others and not self._read.chooses:  # nobody is a partner of their own
            nodes, kept = others, [at for at, row in enumerate(found.rows) if row[0] not in itself]
        else:
            kept = list(range(len(found.rows)))
        totals = plan.has("sum", "avg") and answers.has_proof and not answers.edges(0, 1)
        if totals or not (nodes or values):
            return self._nothing(plan, looked)
        texts = [*self._graph.labels(nodes), *(_in_unit(value, self._read.asked.noun) for value in values)]
        proof = dict.fromkeys(edge for row in kept for edge in found.edges(row, _TRIPLES))
        self._trace.add(Planned(plan.text, "", len(texts), ", ".join(texts[:10])))
        return Outcome(
            ", ".join(texts), tuple(nodes), tuple(proof)[:_TRIPLES], True, query=plan.text, looked_through=looked
        )

    def _itself(self, plan: Plan) -> set[int]:
        """The topic of a query that names one topic. It is left out of the answers if there are others."""
        said = {node for one in plan.nodes for node in one.nodes} & self._topics.keys()
        return said if len(said) == 1 else set()

    def _nothing(self, plan: Plan, looked: tuple[str, ...]) -> Outcome:
        self._trace.add(Planned(plan.text, "", 0, ""))
        self._trace.add(Stopped("nothing_found", "nothing in the graph satisfies the query"))
        return Outcome(abstained="nothing_found", query=plan.text, looked_through=looked)

    def _is_untold(self, plan: Plan) -> bool:
        """Whether the graph answers yes for some things and no for others, but neither for those asked about."""
        flags = self._read.parse.lexicon.flags
        opposites = {**flags, **{no: yes for yes, no in flags.items()}}
        for word in _named_as(plan, opposites):
            try:
                other = self._names.node(write_label(opposites[word]))
            except PlanError:
                continue
            into = {one.relation for one in self._graph.relation_counts(other.nodes) if one.direction is Direction.IN}
            asked = into.intersection(number for one in plan.relations for number in one.relations)
            said = product((node for one in plan.nodes for node in one.nodes), asked, other.nodes)
            if asked and not any(self._graph.contains(*edge) for edge in said):
                return True
        return False

    def _beside(self, plan: Plan) -> list[Edge]:
        """What stands in place of what was asked for: the triples of the query's things by its relations."""
        found: list[Edge] = []
        for relation in (number for one in plan.relations for number in one.relations):
            for node in (node for one in plan.nodes for node in one.nodes):
                edges = self._graph.expand([node], relation, Direction.OUT, _BESIDE)
                rows = zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True)
                found += rows
        return list(dict.fromkeys(found))

    def _first_column(self, answers: Answers, *, is_computed: bool) -> tuple[list[int], list[str]]:
        """The nodes and the values of the first column, each once; a computed 4 is not the 4 of some triple."""
        nodes: dict[int, None] = {}
        values: dict[str, None] = {}
        for row in answers.rows:
            cell = row[0]
            value = self._graph.literal(cell) if isinstance(cell, int) and is_computed else cell
            if isinstance(value, Literal):
                values[value.lexical] = None
            elif isinstance(cell, int):
                nodes[cell] = None
        return list(nodes), list(values)


def _in_unit(value: str, noun: str) -> str:
    """A computed size as the number that a question asks for: 90 for "1.5 h" where it asks how many minutes."""
    size = quantity(Literal(value))
    amount = converted(size.amount, size.unit, noun) if size is not None and size.unit else None
    return value if amount is None else written(amount)


def _named_as(plan: Plan, words: Collection[str]) -> list[str]:
    """Of some words, those that are things or values in a plan."""
    return [word for one in plan.names if (word := one.text.strip('<>"').casefold()) in words]


def _are_of(kinds: Collection[str], schema: RelationSchema) -> bool:
    """Whether things of some classes have a relation; without a class, any relation will do."""
    return not kinds or any(kind in kinds for kind, _ in (*schema.domain, *schema.range))


def _has_parts(graph: Graph, relation: int, further: Collection[int], node: int) -> bool:
    """Whether a part of a node, by a relation, has parts of its own by one of others."""
    inside = graph.expand([node], relation, Direction.IN, _PARTS).heads
    return any(len(inside) > 0 and len(graph.expand(inside, one, Direction.IN, 1).heads) > 0 for one in further)


def _with_path(text: str, relation: Named, node: Named, path: str) -> str:
    """A query with a path in place of a relation before a node."""
    return re.sub(rf"{re.escape(relation.text)}(?=\s+{re.escape(node.text)})", lambda _: path, text)


def _labels(graph: Graph) -> list[str]:
    return [clean(graph.type_label(id)) for id in graph.type_ids[:_CLASSES]]


def _named(graph: Graph, relation: int, lines: Sequence[Line], language: str) -> tuple[str, ...]:
    """The names of a relation, with its `measured_names`."""
    about = graph.relation(relation)
    more = (noun for line in lines for noun in measured_names(about.label, line.example, language))
    return about.label, *about.aliases, *more


def _says(graph: Graph, plan: Plan, flags: Mapping[str, str], language: str) -> QuerySays:
    """What a plan says, in words; `flags`: see `Lexicon.flags`."""
    numbers = [number for one in plan.relations for number in one.relations]
    lines = {number: described(graph, number, _labels(graph)) for number in numbers}
    ends = {end for own in lines.values() for line in own for end in line.ends}
    operations = {one.name for one in plan.operations}
    operations |= {f"{one.name} {one.values[0]}" for one in plan.operations if one.name in ("order", "limit")}
    operations |= {"filter"} if operations & COMPARISONS else set()
    operations |= {"difference"} if "minus" in operations else set()
    operations |= {"not equal"} if operations & {"!=", "not in"} else set()
    operations |= {"minus"} if "minus pattern" in operations else set()
    operations |= {"not"} if _named_as(plan, flags.values()) else set()
    values: Sequence[str] = [value for one in plan.operations for value in one.values]
    by_values = (one.variables for one in plan.operations if one.name in ("order", "max", "min"))
    ordered = next(by_values, ())  # the first key; further ones only part ties
    by = {number for own in plan.leading_to(ordered) for number in own}
    units = (own_unit(kind) for number in numbers for kind, _ in graph.schema(number).range)
    return QuerySays(
        [_named(graph, number, lines[number], language) for number in numbers],
        not ends.isdisjoint(TIMES),
        list(dict.fromkeys([*(graph.type_label(id) for one in plan.classes for id in one.classes), *ends])),
        THING in ends,
        operations,
        {unquoted(value).replace(",", "") for value in values},
        plan.triples,
        {one.text for one in units if one is not None},
        [_named(graph, number, lines[number], language) for number in numbers if number in by],
        any(not TIMES.isdisjoint(line.ends) for number in numbers if number in by for line in lines[number]),
    )
