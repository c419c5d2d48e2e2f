"""The requests and replies of the server, as REST and the Model Context Protocol describe them to clients."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

BASE_HELP = "Knowledge base, by its name in `/v1/bases`. Default: the first one."
PROGRAM_HELP = "Program that answers, by its name in `/v1/programs`. Default: that of the server."
TEXT_HELP = "A name, possibly misspelt or partial, or words of documents."
ID_HELP = "Id of an entity, or a value as it is written."
ANSWER_HELP = "The variable to list. Default: the first one."
PATTERNS_HELP = (
    "Patterns `head relation tail`, separated by `;`, with variables such as `?film` or, with a type, `?film:Film`; "
    "names of several words in quotes; `*` for any relation. Example: `?person 'student of' 'Paul Hindemith'`."
)


class Record(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class Node(Record):
    """A node of the graph: an entity, or a value."""

    id: str
    label: str


class Statement(Record):
    """A triple, with ids and names."""

    head: str
    relation: str
    tail: str
    head_label: str
    relation_label: str
    tail_label: str
    tail_datatype: str | None = None
    """IRI of the datatype, if the tail is a value."""
    properties: list[dict[str, str]] = Field(default_factory=list)
    """What each statement of the edge says besides it, such as a start and an end."""


class Step(Record):
    """One step of a program."""

    kind: str
    """`linked`, `pruned`, `expanded`, `wrote`, `checked` and so on."""
    text: str
    """The step on one line."""
    seconds: float
    """When it happened, from the start of the program."""
    detail: dict[str, Any]
    """Every field of the step."""


class Cost(Record):
    """Calls to language models."""

    calls: int = 0
    cached_calls: int = 0
    """Answered from the cache, without tokens."""
    failed_calls: int = 0
    unpriced_calls: int = 0
    """Of unknown price."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0
    """Sum of the calls' durations."""
    dollars: float = 0
    """Sum of the known prices."""
    by_role: dict[str, Cost] = Field(default_factory=dict)
    by_model: dict[str, Cost] = Field(default_factory=dict)


Weight = Literal["looked_at", "kept", "proved"]
"""What a program did with a triple: offered to a model (an example of its relation), fetched, or cited as proof."""


class PictureNode(Record):
    """A node of the picture."""

    id: str
    """Unique in the picture."""
    node: str
    """Id in the graph; lexical form of a value."""
    label: str
    is_value: bool
    weight: Weight
    part: Literal["topic", "answer", ""]
    """Named in the question, an answer, or neither."""


class PictureEdge(Record):
    """An edge of the picture, from head to tail."""

    source: str
    target: str
    relation: str
    """Id of the relation."""
    label: str
    weight: Weight
    more: int = 0
    """Triples of the same relation that are not drawn."""


class Picture(Record):
    """The part of the graph that a program looked at, kept, and proved its answer with."""

    nodes: list[PictureNode]
    edges: list[PictureEdge]
    left_out: int
    """Triples that are not drawn, because the picture has room for a limited number."""


class Answer(Record):
    """An answer with its proof, or an abstention with the nearest facts."""

    question: str
    base: str
    program: str
    answer: str
    """Empty if the program abstained."""
    answers: list[Node]
    """Nodes that answer the question; empty for a count, a yes or a no."""
    verdict: Literal["proved", "supported", "unsupported", "unknown"]
    """`proved`: its triples say what the question asks. `supported`: its triples are in the graph, but may not answer
    the question. `unsupported`: from a model alone. `unknown`: there is no answer."""
    confidence: float | None
    """Probability that the answer is right, from 0 to 1."""
    grounded: bool
    """Whether the answer rests on the triples alone."""
    abstained: bool
    reason: str
    """Why the program abstained."""
    proof: list[Statement]
    """The triples that the answer rests on, each found again in the graph."""
    doubts: list[str]
    """Why the proof may not answer the question."""
    query: str = ""
    """The query over the graph that computed the answer; empty if none did."""
    looked_through: list[str] = []
    """What the query went through for what it counts, orders or excludes."""
    missing: str
    """Of an abstention: the part of the question that the graph says least of."""
    nearest: list[Statement]
    """Of an abstention: triples that are nearest to the question."""
    steps: list[Step]
    usage: Cost
    seconds: float
    """Wall-clock time of the program."""
    picture: Picture | None = None
    """If the request asked for it."""


class Turn(Record):
    """An earlier question of a conversation, and its answer."""

    question: str
    answer: str = ""
    """Empty if there was none."""


class Ask(Record):
    """A question."""

    question: str = Field(description="In natural language.", examples=["Who was the teacher of Bernhard Heiden?"])
    base: str | None = Field(default=None, description=BASE_HELP)
    program: str | None = Field(default=None, description=PROGRAM_HELP)
    stream: bool = Field(default=False, description="Send the steps as they happen, as server-sent events.")
    picture: bool = Field(default=False, description="Add the picture of the subgraph to the answer.")
    conversation: list[Turn] = Field(
        default_factory=list,
        description="Earlier questions with their answers, the latest last; a question may refer to them.",
    )


class Candidate(Record):
    """An entity that a text may mean."""

    id: str
    label: str
    types: list[str]
    """Names of its types."""
    description: str
    source: str
    """How its name was matched: label, alias, value, typo, partial or dense."""
    score: float


class Passage(Record):
    """A document."""

    id: str
    node: str | None
    """Id of the node that it is about."""
    title: str
    text: str


class Found(Record):
    """What a search found."""

    base: str
    candidates: list[Candidate]
    documents: list[Passage]


class Group(Record):
    """The edges of one relation and direction at a node."""

    relation: str
    relation_label: str
    direction: Literal["out", "in"]
    """`out`: the node is the head."""
    total: int
    """Number of edges."""
    nodes: list[Node]
    """The nodes at the other end, or the first of them."""


class Neighbours(Record):
    """A node, its edges, and its documents."""

    base: str
    id: str
    label: str
    aliases: list[str]
    description: str
    types: list[str]
    """Names of its types."""
    groups: list[Group]
    documents: list[Passage]


class Solution(Record):
    """A node that satisfies the patterns."""

    id: str
    label: str
    triples: list[tuple[str, str, str]]
    """One triple for each pattern, by names."""


class Matched(Record):
    """The nodes that satisfy triple patterns."""

    base: str
    variable: str
    count: int | None
    """Number of all nodes; None: any node of the graph."""
    exact: bool
    """Whether every node is in a complete solution."""
    emptied_by: str | None
    """The pattern that left nothing."""
    left_out: list[str]
    """Patterns that were dropped."""
    warnings: list[str]
    answers: list[Solution]


class Text(Record):
    """A text to verify."""

    text: str
    base: str | None = Field(default=None, description=BASE_HELP)


class Claim(Record):
    """A statement of a text."""

    head: str
    relation: str
    tail: str
    verdict: Literal["in the graph", "contradicted", "plausible", "implausible", "unknown"]
    why: str
    evidence: list[Statement]
    tail_rank: float | None
    """Rank of the tail by the embeddings, as a share of all entities."""
    swapped: bool
    """Whether head and tail were found in the other order."""


class VerifiedText(Record):
    """The statements of a text, each with the graph's verdict."""

    base: str
    claims: list[Claim]
    verdicts: dict[str, int]
    """Number of statements by verdict."""
    notes: list[str]
    """Parts of the text that could not be read."""
    usage: Cost


class BaseInfo(Record):
    """A knowledge base."""

    name: str
    entities: int | None
    """None: the graph is on a server and is not counted."""
    relations: int | None
    triples: int | None
    documents: int | None
    examples: list[str]
    """Questions that it can answer, if any are known."""


class Bases(Record):
    """The knowledge bases; the first one is the default."""

    bases: list[BaseInfo]


class ProgramInfo(Record):
    """A program."""

    name: str
    summary: str
    cites_graph: bool
    """Whether its answers may rest on triples."""


class Programs(Record):
    """The programs."""

    default: str
    programs: list[ProgramInfo]


class Problem(Record):
    """What is wrong with a request."""

    type: str
    message: str


class Failure(Record):
    """The reply to a request that failed."""

    error: Problem
