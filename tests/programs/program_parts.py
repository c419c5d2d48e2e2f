"""A small knowledge base in Turtle, and scripted models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy
from dspy.lm15 import Request
from model_stand_ins import QueueEngine, ScriptedReply, scripted_model

from triplecheck.kg import Graph, KnowledgeBase
from triplecheck.kg import build as build_knowledge_base
from triplecheck.kg.documents import Document
from triplecheck.kg.readers import read_graph
from triplecheck.lms import session
from triplecheck.lms.engines import messages_of
from triplecheck.programs import KERAG, Sources
from triplecheck.programs.steps import TraceEvent

EX = "http://example.org/"
PREFIXES = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <http://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
WORLD = """
:heiden a :Composer ; rdfs:label "Bernhard Heiden" ; :studentOf :hindemith ; :bornIn :frankfurt ;
  :birthDate "1910-08-24"^^xsd:date .
:hindemith a :Composer ; rdfs:label "Paul Hindemith" ; :nationality :german ; :bornIn :hanau ;
  :instrument :viola , :piano ; :birthDate "1895-11-16"^^xsd:date ; :studentOf :sekles .
:sekles a :Composer ; rdfs:label "Bernhard Sekles" ; :bornIn :frankfurt ; :nationality :german .
:lukas a :Composer ; rdfs:label "Lukas Foss" ; skos:altLabel "Luke Fuchs" ; :studentOf :hindemith ; :instrument :piano .
:german a :Nationality ; rdfs:label "German" .
:viola a :Instrument ; rdfs:label "viola" . :piano a :Instrument ; rdfs:label "piano" .
:frankfurt a :City ; rdfs:label "Frankfurt" ; :population 753056 ; :country :germany .
:hanau a :City ; rdfs:label "Hanau" ; :population 96492 ; :country :germany .
:germany a :Country ; rdfs:label "Germany" .
:mj_player a :Athlete ; rdfs:label "Michael Jordan" ; :plays :basketball ; :bornIn :brooklyn .
:mj_scholar a :Scientist ; rdfs:label "Michael Jordan" ; :field :statistics ; :employer :berkeley .
:basketball a :Sport ; rdfs:label "basketball" . :statistics a :Field ; rdfs:label "statistics" .
:berkeley a :University ; rdfs:label "UC Berkeley" . :brooklyn a :City ; rdfs:label "Brooklyn" .
:hermit a :Composer ; rdfs:label "Silent Hermit" .
:studentOf rdfs:label "student of" ; skos:altLabel "teacher" , "studied with" .
:bornIn rdfs:label "born in" ; skos:altLabel "place of birth" .
:birthDate rdfs:label "date of birth" .
"""
Build = Callable[[str], KnowledgeBase]


def build_turtle(
    turtle: str, folder: Path, encoder: str | None = None, documents: Sequence[Document] | None = None
) -> KnowledgeBase:
    path = folder / "graph.ttl"
    path.write_text(PREFIXES + turtle, encoding="utf-8")
    return build_knowledge_base(read_graph([path]), folder / "kb", documents=documents, encoder=encoder)


def written_rows(text: str) -> list[tuple[str, str, str]]:
    """Rows "head|relation|tail", each on a line or before a semicolon."""
    rows = (row.split("|") for row in text.replace("\n", ";").split(";") if row.strip())
    return [(head.strip(), relation.strip(), tail.strip()) for head, relation, tail in rows]


def build_rows(rows: Sequence[tuple[str, str, str]], folder: Path, encoder: str | None = None) -> KnowledgeBase:
    """A knowledge base from TSV rows, without types and labels."""
    path = folder / "graph.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return build_knowledge_base(read_graph([path]), folder / "kb", encoder=encoder)


def written_tables(tables: Mapping[str, str], folder: Path) -> list[Path]:
    """The CSV file of each table. `tables` has the text of each by its name, with bars between the cells."""
    paths = []
    for name, text in tables.items():
        lines = (line.strip().split("|") for line in text.strip().splitlines())
        paths.append(folder / f"{name}.csv")
        paths[-1].write_text("".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines), "utf-8")
    return paths


def node(graph: Graph, id: str) -> int:
    found = graph.find(EX + id)
    assert found is not None, id
    return found


# --- models --------------------------------------------------------------------------------------
def fields(**values: str) -> str:
    return "\n\n".join([*(f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()), "[[ ## completed ## ]]"])


def topics(*names: str, domain: str = "unknown") -> str:
    return fields(topics="\n".join(names) or "none", domain=domain)


def items(request: Request, section: str) -> list[str]:
    """The numbered items of one section of the prompt; of the latest that has it, as the model may be asked again."""
    header = f"[[ ## {section} ## ]]\n"
    text = [m["content"] for m in messages_of(request) if m["role"] == "user" and header in m["content"]][-1]
    body = text.split(header, 1)[1].split("\n\n", 1)[0]
    return [match[1] for line in body.splitlines() if (match := re.match(r"\[\d+\] (.*)", line))]


def numbers(lines: Sequence[str], wanted: Sequence[str]) -> str:
    found = [n for n, line in enumerate(lines, 1) if any(w in line for w in wanted)]
    return ", ".join(map(str, found)) or "none"


def keep(*wanted: str) -> Callable[[Request], str]:
    """Keeps the paths that contain one of these texts."""
    return lambda request: fields(keep=numbers(items(request, "paths"), wanted))


def conclude_with(
    *answers: str, cite: Sequence[str] = (), operation: str = "none", reasoning: str = "so it is"
) -> Callable[[Request], str]:
    """Cites the facts that contain one of these texts."""
    return lambda request: fields(
        reasoning=reasoning,
        cited=numbers(items(request, "facts"), cite),
        operation=operation,
        answers="\n".join(answers) or "none",
    )


def play(program: dspy.Module, question: str, *replies: ScriptedReply) -> tuple[Any, QueueEngine]:
    """One question with a model that gives these replies; all of them must be used."""
    with scripted_model(replies) as engine, session(engine.name):
        result = program(question=question)
    assert engine.left == 0, f"{engine.left} replies were not asked for"
    return result, engine


def ask(program: dspy.Module, question: str, model: str = "extractive") -> Any:
    with session(model):
        return program(question=question)


def recall(*answers: str, reasoning: str = "as far as I remember") -> str:
    """An answer from memory."""
    return fields(reasoning=reasoning, answers="\n".join(answers) or "none")


def ids(result: Any) -> list[str]:
    """The last parts of the answers' addresses."""
    return [answer["id"].rsplit("/", 1)[-1] for answer in result.answers]


def kinds(result: Any) -> list[str]:
    return [step.kind for step in result.steps]


def steps(result: Any, kind: type[TraceEvent]) -> list[Any]:
    return [step for step in result.steps if isinstance(step, kind)]


def kerag(base: KnowledgeBase | Sources, **options: Any) -> KERAG:
    """KERAG that follows nothing but what the scripted model names and selects."""
    return KERAG(base, **{"assist": "-all_topics -plans", **options})


class WatchedGraph:
    """A graph that records its look-ups in `events`, among other events of a test."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.events: list[str] = []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._graph, name)
        if not callable(value):
            return value

        def look_up(*args: Any, **options: Any) -> Any:
            self.events.append(name)
            return value(*args, **options)

        return look_up
