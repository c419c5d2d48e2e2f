"""Generate questions from any semi-structured knowledge base, as in STaRK (arXiv 2404.13207, section 3).

A node with a document is sampled. Some of its edges and words of its text become constraints, and every node that
satisfies all constraints is a gold answer, found by the exact solver. Templates give the wording. The same knowledge
base and seed give the same questions.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.evals.questions import Question
from triplecheck.evals.retrieval.conditions import TARGET, Condition, PatternText, answers
from triplecheck.kg import Direction, KnowledgeBase, UserError, normalize
from triplecheck.kg.skb import NodeDocuments

# Distinctive words of a document, for the text constraint of a question.


_RARE = 0.01  # maximum document frequency of a distinctive word, as a share
_USUAL = 0.05  # the same for a word next to a distinctive one
_TOKEN = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|\d[\w.]*|[^\s\w]|\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_ONE_WORD = 1 / 3  # share of questions that use one word although two are available
_LEAST_LETTERS = 4
_SHARED_STEM = 5  # words that share a prefix of this many letters count as the same word
# Words without topical content. Adverbs are recognised by their ending.
_EMPTY = frozenset(
    """able about above according across actually after again against allow allowed allows almost along also although
    always among amount another around available based because become been before behind being below best better
    between beyond both case cases certain common commonly complete completely contain contained containing contains
    could created current default describe described describes detail details different does doing done down during
    each easy either else enough especially etc even every example examples existing extra feature features file files
    find first following full further general generic give given gives good great have help helpful here high however
    important include included includes including inside instead into just keep kind know known large later least less
    like likely list little long look made main mainly make makes making many might more most much multiple must name
    named near need needed needs never next none note nothing number often once only other others otherwise over
    package packages part particular perhaps please possible powerful primarily program programs project provide
    provided provides providing purpose quite rather really recommended related release require required requires same
    several should similar simple simply since small some something special specific still such support supported
    supports than that their them then there therefore these they thing things this those though through thus together
    type under until upon used useful user users uses using usual various version versions very want wants well were
    what when where whether which while whole whose will with within without would your yours""".split()
)


def keywords(documents: NodeDocuments, row: int, used: str, rng: random.Random) -> str:
    """Return one word, or two adjacent words, of a text that few documents contain; empty if there are none.

    The words come from the first sentence or occur more than once, so that they say what the text is about. Neither
    they nor words with the same stem are in the question or in the node's name.
    """
    title, _, text = documents.text(row).partition("\n")
    taken = {word.lower() for word in re.findall(r"[^\W\d_]+", f"{used} {title}")}
    name = "".join(character for character in title.lower() if character.isalnum())
    all_words = [word for run in _runs(text) for word in run]
    first = {word for run in _runs(_SENTENCE.split(text.strip(), maxsplit=1)[0]) for word in run}
    telling = {word for word in all_words if word in first or all_words.count(word) > 1}

    def free(word: str) -> bool:
        return word.replace("-", "") not in name and all(not _alike(word, other) for other in taken)

    beside = {pair for run in _runs(text) for pair in itertools.pairwise(run) if pair[0] != pair[1]}
    pairs = {pair for pair in beside if telling.issuperset(pair)}
    offered = sorted({(word,) for word in telling} | pairs)
    offered = [words for words in offered if all(map(free, words))]
    rng.shuffle(offered)
    offered.sort(key=lambda words: -len(words))  # prefer two words
    if rng.random() < _ONE_WORD:
        offered = [words for words in offered if len(words) == 1]
    return next((" ".join(words) for words in offered if _tells(documents, words)), "")


def pattern(words: str) -> str:
    """Return a regular expression for these words in sequence, with any spacing or hyphenation."""
    return r"\b" + r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", words))) + r"\b"


def _runs(text: str) -> Iterator[list[str]]:
    """Yield runs of adjacent content words, in lower case."""
    run: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.lower()
        # A word with inner capitals is a name (an acronym, a product).
        content = len(word) >= _LEAST_LETTERS and token[1:].islower() and word not in _EMPTY and word[-2:] != "ly"
        if content and word[0].isalpha():
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _tells(documents: NodeDocuments, words: tuple[str, ...]) -> bool:
    shares = sorted(_share(documents, word) for word in words)
    return shares[0] <= _RARE and shares[-1] <= _USUAL


def _share(documents: NodeDocuments, word: str) -> float:
    """Return the share of documents that contain a word, counted only up to the threshold; 0 for a single document."""
    most = max(1, int(_USUAL * len(documents)))
    count = len(documents.store.best_rows(word, most + 1)[0])
    return 0.0 if count <= 1 else count / len(documents)


def _alike(one: str, other: str) -> bool:
    return one == other or (len(other) >= _SHARED_STEM and one[:_SHARED_STEM] == other[:_SHARED_STEM])


# Wording of generated questions: templates over labels.

_PREPOSITIONS = {"by", "in", "on", "of", "from", "with", "to", "for", "at", "as"}
_OPENINGS = (
    "What {kind} is there",
    "Find {a} {kind}",
    "I am looking for {a} {kind}",
    "Is there any {kind}",
    "Show me {a} {kind}",
    "Can you name {a} {kind}",
    "I need {a} {kind}",
    "Could you recommend {a} {kind}",
)
_MENTIONS = ("whose description mentions {words}", "that mentions {words}", "with {words} in its description")
_ABOUT = ("that has to do with {words}", "that is about {words}", "described as dealing with {words}")
_VERB = re.compile(r"[a-z]+(?<![su])s")
_ASKS = ("What", "Is", "Can", "Could")
_THAT = "that "


def question_of(kind: str, clauses: Sequence[str], words: str, rng: random.Random) -> str:
    """Return a question from its clauses, in random order and with a random opening.

    Args:
        clauses: relative clauses about the answer.
        words: words of its description; empty: none.
    """
    parts = list(clauses)
    rng.shuffle(parts)
    body = " and ".join(parts)
    if words:
        # A single word can be a verb or an adjective, which does not fit after "about".
        about = rng.choice(_MENTIONS if len(words.split()) == 1 else _MENTIONS + _ABOUT).format(words=words)
        body = rng.choice((f"{body}, {about}", f"{about} and {body}")) if body else about
        parts.append(about)
    if all(map(_says_what_it_does, parts)) and rng.random() < 0.5:
        return f"Which {kind} {' and '.join(part.removeprefix(_THAT) for part in parts)}?"
    opening = rng.choice(_OPENINGS).format(kind=kind, a=_article(kind))
    return f"{opening} {body}{'?' if opening.startswith(_ASKS) else '.'}"


def clause_of(relation: str, name: str, *, outgoing: bool, how: int = 0) -> str:
    """Return a relative clause for an edge between the answer and a named node.

    Args:
        outgoing: whether the answer is the head of the edge.
        how: index of the wording, if the relation is a noun.

    >>> clause_of("depends on", "tmux", outgoing=True), clause_of("director", "Ridley Scott", outgoing=True)
    ('that depends on tmux', 'with the director Ridley Scott')
    >>> clause_of("recommends", "byobu", outgoing=False), clause_of("director", "Alien", outgoing=False)
    ('that byobu recommends', 'that is the director of Alien')
    """
    words = relation.split()
    if _is_verb(words):
        return f"that {relation} {name}" if outgoing else f"that {name} {relation}"
    if words[0] in _PREPOSITIONS or (len(words) > 1 and words[-1] in _PREPOSITIONS):
        return f"that is {relation} {name}" if outgoing else f"such that {name} is {relation} it"
    if not outgoing:
        return f"that is the {relation} of {name}"
    forms = (f"with the {relation} {name}", f"whose {relation} is {name}", f"with {name} as {relation}")
    return forms[how % len(forms)]


def by_way_of(first: str, kind: str, rest: str, *, outgoing: bool) -> str:
    """Return a relative clause for an edge between the answer and a node of a type that satisfies another clause.

    >>> by_way_of("depends on", "package", "that is maintained by Jane Roe", outgoing=True)
    'that depends on a package that is maintained by Jane Roe'
    """
    kind = kind or "thing"
    return clause_of(first, f"{_article(kind)} {kind} {rest}", outgoing=outgoing)


def _article(kind: str) -> str:
    return "an" if kind[:1].lower() in "aeiou" else "a"


def _says_what_it_does(clause: str) -> bool:
    """Whether the subject of the clause is the answer, not another node."""
    return clause.startswith(_THAT) and ((first := clause.split()[1]) in ("is", "has") or _is_verb([first]))


def _is_verb(words: Sequence[str]) -> bool:
    """Whether the words are a verb in the third person: "recommends", "pre-depends on", "conflicts with"."""
    third_person = _VERB.fullmatch(words[0].split("-")[-1]) is not None
    return third_person and (len(words) == 1 or words[-1] in _PREPOSITIONS)


SHAPES = ("one+words", "two", "path+words", "two+words", "path", "one+words")
"""Default shapes: one or two edges of the answer, or a path of two edges; `+words` adds a text constraint."""

_KNOWN = {f"{edges}{words}" for edges in ("one", "two", "path") for words in ("", "+words")}

MOST_ANSWERS = 20
_WIDEST = 20_000  # a constraint that more nodes satisfy is not selective
_DRAWS_PER_QUESTION = 200
_NAME_LENGTH = 60


@dataclass(frozen=True)
class _Constraint:
    patterns: tuple[PatternText, ...]
    clause: str
    topic: int


def generate(
    kb: KnowledgeBase,
    count: int,
    seed: int = 0,
    most_answers: int = MOST_ANSWERS,
    shapes: Sequence[str] = SHAPES,
) -> list[Question]:
    """Generate questions with their complete gold answers.

    Args:
        most_answers: maximum number of answers of a question; others are rejected.
        shapes: "one", "two" or "path", each optionally with "+words"; used in rotation.

    Raises:
        UserError: a shape is unknown, or the knowledge base does not yield `count` distinct questions.
    """
    if unknown := sorted(set(shapes) - _KNOWN):
        raise UserError(f"no shape {unknown[0]!r}; there are: {', '.join(sorted(_KNOWN))}")
    rng = random.Random(seed)
    maker = _Maker(kb, rng, most_answers)
    questions: list[Question] = []
    asked: set[Condition] = set()
    for _ in range(count * _DRAWS_PER_QUESTION):
        if len(questions) == count:
            return questions
        made = maker.draw(shapes[len(questions) % len(shapes)], f"generated-{seed}-{len(questions) + 1}")
        if made is None:
            continue
        question, condition = made
        if condition not in asked:
            asked.add(condition)
            questions.append(question)
    if len(questions) < count:
        raise UserError(f"{kb.path}: only {len(questions)} of {count} questions could be drawn; ask for fewer")
    return questions


class _Maker:
    def __init__(self, kb: KnowledgeBase, rng: random.Random, most_answers: int) -> None:
        self._kb, self._graph, self._rng, self._most = kb, kb.graph, rng, most_answers
        self._documents = kb.node_search.documents

    def draw(self, shape: str, id: str) -> tuple[Question, Condition] | None:
        """Return a question about a random node, with its condition; None if the node yields none of this shape."""
        row = self._rng.randrange(len(self._documents))
        node = int(self._documents.nodes[row])
        type_id = next(iter(self._graph.types(node)), "")
        constraints = self._constraints(node, shape.partition("+")[0])
        if not constraints:
            return None
        used = " ".join(c.clause for c in constraints) + " " + self._graph.label(node)
        words = keywords(self._documents, row, used, self._rng) if shape.endswith("+words") else ""
        if shape.endswith("+words") and not words:
            return None
        patterns = [pattern for constraint in constraints for pattern in constraint.patterns]
        condition = Condition(_typed(patterns, type_id), text=(pattern(words),) if words else ())
        found = answers(self._kb, condition)
        if not 0 < len(found) <= self._most:
            return None
        kind = self._graph.type_label(type_id) if type_id else "thing"
        question = Question(
            id=id,
            question=question_of(kind, [c.clause for c in constraints], words, self._rng),
            answers=tuple(self._graph.node_id(int(n)) for n in found),
            answer_labels=tuple(self._graph.labels(found)),
            topic=tuple(dict.fromkeys(self._graph.node_id(c.topic) for c in constraints)),
            kind=shape,
            gold={"gold": condition.to_json()},
        )
        return question, condition

    def _constraints(self, node: int, shape: str) -> list[_Constraint]:
        edges = list(self._edges(node, avoid={node}))
        self._rng.shuffle(edges)
        if shape == "path":
            return next(([path] for edge in edges[:4] if (path := self._path(node, *edge)) is not None), [])
        wanted = 2 if shape == "two" else 1
        made = [self._edge(relation, direction, end) for relation, direction, end in edges[:wanted]]
        return made if len(made) == wanted else []

    def _edges(self, node: int, avoid: set[int]) -> Iterator[tuple[int, Direction, int]]:
        """Yield selective edges of a node to named entities, one random edge per relation."""
        for count in self._graph.relations_of(node):
            ends = self._graph.neighbors(node, count.relation, count.direction)
            end = int(ends[self._rng.randrange(len(ends))])
            if end in avoid or self._graph.literal(end) is not None or len(self._graph.label(end)) > _NAME_LENGTH:
                continue
            back = self._graph.neighbors(end, count.relation, count.direction.reverse)
            if len(back) <= _WIDEST and not self._has_namesake(end):
                yield count.relation, count.direction, end

    def _has_namesake(self, node: int) -> bool:
        """Whether another node of the same type has the same name."""
        kinds = set(self._graph.types(node))
        others = {named.node for named in self._kb.names.nodes(normalize(self._graph.label(node)))} - {node}
        return any(not kinds or not kinds.isdisjoint(self._graph.types(other)) for other in others)

    def _edge(self, relation: int, direction: Direction, end: int) -> _Constraint:
        row = self._pattern(f"?{TARGET}", relation, direction, self._graph.node_id(end))
        return _Constraint((row,), self._clause(relation, direction, end), end)

    def _clause(self, relation: int, direction: Direction, end: int) -> str:
        outgoing, how = direction is Direction.OUT, self._rng.randrange(3)
        return clause_of(self._called(relation), self._graph.label(end), outgoing=outgoing, how=how)

    def _called(self, relation: int) -> str:
        """Return the label of a relation, or with probability 1/2 a short alias."""
        about = self._graph.relation(relation)
        short = [alias for alias in about.aliases if len(alias.split()) <= max(2, len(about.label.split()))]
        return self._rng.choice((about.label, self._rng.choice(short))) if short else about.label

    def _path(self, node: int, relation: int, direction: Direction, middle: int) -> _Constraint | None:
        further = list(self._edges(middle, avoid={node, middle}))
        if not further:
            return None
        second, way, end = self._rng.choice(further)
        if (second, way) == (relation, direction.reverse):
            return None  # back over the same relation: only finds siblings of the answer
        kind = next(iter(self._graph.types(middle)), "")
        patterns = (
            self._pattern(f"?{TARGET}", relation, direction, f"?y:{kind}" if kind else "?y"),
            self._pattern("?y", second, way, self._graph.node_id(end)),
        )
        label = self._graph.type_label(kind) if kind else ""
        rest = self._clause(second, way, end)
        clause = by_way_of(self._called(relation), label, rest, outgoing=direction is Direction.OUT)
        return _Constraint(patterns, clause, end)

    def _pattern(self, near: str, relation: int, direction: Direction, far: str) -> PatternText:
        id = self._graph.relation(relation).id
        return (near, id, far) if direction is Direction.OUT else (far, id, near)


def _typed(patterns: list[PatternText], type_id: str) -> tuple[PatternText, ...]:
    """Return the patterns, with the answer's type in the first one."""
    if not type_id:
        return tuple(patterns)
    head, relation, tail = patterns[0]
    typed = f"?{TARGET}:{type_id}"
    first = (typed, relation, tail) if head == f"?{TARGET}" else (head, relation, typed)
    return (first, *patterns[1:])
