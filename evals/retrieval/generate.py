"""Questions made from any semi-structured knowledge base, after the manner of STaRK (arXiv 2404.13207, section 3).

A node with a document is drawn, some of its edges and words of its text become constraints, and every node
that satisfies all of them is an answer: found by the exact solver, not by the wording. The wording comes
from templates. The same knowledge base and seed give the same questions.
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

# Words of a document that tell it from others: what a made question says of its text.


_RARE = 0.01  # share of the documents that have a word which is asked for, at most
_USUAL = 0.05  # of one that stands beside a rare one
_TOKEN = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|\d[\w.]*|[^\s\w]|\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_ONE_WORD = 1 / 3  # of the questions ask for one word where two would be there
_LEAST_LETTERS = 4
_SHARED_STEM = 5  # letters: words that begin with the same ones say the same
# Words that say how something is said. Adverbs are told by their ending.
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


def keywords(documents: NodeDocuments, row: int, used: str, lot: random.Random) -> str:
    """A word or two adjacent ones of a text that few documents have; empty where there are none.

    They come from the first sentence, or from what the text repeats: what a text is about stands there.
    None is in the question or in the node's name, in another form either.

    Args:
        documents: of the knowledge base.
        row: which of them.
        used: what the question says already.
        lot: decides which.
    """
    title, _, text = documents.text(row).partition("\n")
    taken = {word.lower() for word in re.findall(r"[^\W\d_]+", f"{used} {title}")}
    name = "".join(character for character in title.lower() if character.isalnum())
    said = [word for run in _runs(text) for word in run]
    first = {word for run in _runs(_SENTENCE.split(text.strip(), maxsplit=1)[0]) for word in run}
    telling = {word for word in said if word in first or said.count(word) > 1}

    def free(word: str) -> bool:
        return word.replace("-", "") not in name and all(not _alike(word, other) for other in taken)

    beside = {pair for run in _runs(text) for pair in itertools.pairwise(run) if pair[0] != pair[1]}
    pairs = {pair for pair in beside if telling.issuperset(pair)}
    offered = sorted({(word,) for word in telling} | pairs)
    offered = [words for words in offered if all(map(free, words))]
    lot.shuffle(offered)
    offered.sort(key=lambda words: -len(words))  # two say more than one
    if lot.random() < _ONE_WORD:
        offered = [words for words in offered if len(words) == 1]
    return next((" ".join(words) for words in offered if _tells(documents, words)), "")


def pattern(words: str) -> str:
    """A regular expression that finds these words one after the other, however they are spaced or hyphenated."""
    return r"\b" + r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", words))) + r"\b"


def _runs(text: str) -> Iterator[list[str]]:
    """Content words that stand side by side, in lower case."""
    run: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.lower()
        # What is written in capitals inside is a name of its own: an acronym, a product.
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
    """Share of the documents that have a word, as far as that matters; one document alone never is too many."""
    most = max(1, int(_USUAL * len(documents)))
    count = len(documents.store.best_rows(word, most + 1)[0])
    return 0.0 if count <= 1 else count / len(documents)


def _alike(one: str, other: str) -> bool:
    return one == other or (len(other) >= _SHARED_STEM and one[:_SHARED_STEM] == other[:_SHARED_STEM])


# Wording of made questions: templates that need to know nothing of the graph but its labels.

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


def question_of(kind: str, clauses: Sequence[str], words: str, lot: random.Random) -> str:
    """One question from its clauses, in an order and with an opening that the lot decides.

    Args:
        kind: of the answer.
        clauses: relative clauses about it.
        words: of its description; empty: none.
        lot: decides.
    """
    parts = list(clauses)
    lot.shuffle(parts)
    body = " and ".join(parts)
    if words:
        # One word may be a verb or an adjective, of which no text is "about".
        about = lot.choice(_MENTIONS if len(words.split()) == 1 else _MENTIONS + _ABOUT).format(words=words)
        body = lot.choice((f"{body}, {about}", f"{about} and {body}")) if body else about
        parts.append(about)
    if all(map(_says_what_it_does, parts)) and lot.random() < 0.5:
        return f"Which {kind} {' and '.join(part.removeprefix(_THAT) for part in parts)}?"
    opening = lot.choice(_OPENINGS).format(kind=kind, a=_article(kind))
    return f"{opening} {body}{'?' if opening.startswith(_ASKS) else '.'}"


def clause_of(relation: str, name: str, *, outgoing: bool, how: int = 0) -> str:
    """That the answer has an edge to a named node, or (incoming) the named node one to the answer.

    Args:
        relation: its label or an alias.
        name: the other node.
        outgoing: whether the edge runs from the answer.
        how: which of the wordings that there are for a noun.

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
    """That the answer has an edge to (incoming: from) some node of a kind, of which the rest holds.

    >>> by_way_of("depends on", "package", "that is maintained by Jane Roe", outgoing=True)
    'that depends on a package that is maintained by Jane Roe'
    """
    kind = kind or "thing"
    return clause_of(first, f"{_article(kind)} {kind} {rest}", outgoing=outgoing)


def _article(kind: str) -> str:
    return "an" if kind[:1].lower() in "aeiou" else "a"


def _says_what_it_does(clause: str) -> bool:
    """Whether it goes on with what the answer does: not with another thing that does something to it."""
    return clause.startswith(_THAT) and ((first := clause.split()[1]) in ("is", "has") or _is_verb([first]))


def _is_verb(words: Sequence[str]) -> bool:
    """Third person: "recommends", "pre-depends on", "conflicts with"."""
    third_person = _VERB.fullmatch(words[0].split("-")[-1]) is not None
    return third_person and (len(words) == 1 or words[-1] in _PREPOSITIONS)


SHAPES = ("one+words", "two", "path+words", "two+words", "path", "one+words")
"""What is asked: edges of the answer, or a path of two edges, without and with words of its text."""

_KNOWN = {f"{edges}{words}" for edges in ("one", "two", "path") for words in ("", "+words")}

MOST_ANSWERS = 20
_WIDEST = 20_000  # nodes at the other end of a constraint: more of them say nothing
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
    """Questions with all their answers.

    Args:
        kb: a knowledge base; better one with documents.
        count: how many.
        seed: which ones.
        most_answers: a question with more answers is drawn again.
        shapes: "one", "two" or "path", each also with "+words"; they take turns.

    Raises:
        UserError: there is no such shape, or so many different questions could not be drawn.
    """
    if unknown := sorted(set(shapes) - _KNOWN):
        raise UserError(f"no shape {unknown[0]!r}; there are: {', '.join(sorted(_KNOWN))}")
    lot = random.Random(seed)
    maker = _Maker(kb, lot, most_answers)
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
    def __init__(self, kb: KnowledgeBase, lot: random.Random, most_answers: int) -> None:
        self._kb, self._graph, self._lot, self._most = kb, kb.graph, lot, most_answers
        self._documents = kb.node_search.documents

    def draw(self, shape: str, id: str) -> tuple[Question, Condition] | None:
        """A question about a node that is drawn, and its condition; None where it makes none of this shape."""
        row = self._lot.randrange(len(self._documents))
        node = int(self._documents.nodes[row])
        type_id = next(iter(self._graph.types(node)), "")
        constraints = self._constraints(node, shape.partition("+")[0])
        if not constraints:
            return None
        used = " ".join(c.clause for c in constraints) + " " + self._graph.label(node)
        words = keywords(self._documents, row, used, self._lot) if shape.endswith("+words") else ""
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
            question=question_of(kind, [c.clause for c in constraints], words, self._lot),
            answers=tuple(self._graph.node_id(int(n)) for n in found),
            answer_labels=tuple(self._graph.labels(found)),
            topic=tuple(dict.fromkeys(self._graph.node_id(c.topic) for c in constraints)),
            kind=shape,
            gold={"gold": condition.to_json()},
        )
        return question, condition

    def _constraints(self, node: int, shape: str) -> list[_Constraint]:
        edges = list(self._edges(node, avoid={node}))
        self._lot.shuffle(edges)
        if shape == "path":
            return next(([path] for edge in edges[:4] if (path := self._path(node, *edge)) is not None), [])
        wanted = 2 if shape == "two" else 1
        made = [self._edge(relation, direction, end) for relation, direction, end in edges[:wanted]]
        return made if len(made) == wanted else []

    def _edges(self, node: int, avoid: set[int]) -> Iterator[tuple[int, Direction, int]]:
        """Edges of a node to named entities that not everything is connected with: one draw per relation."""
        for count in self._graph.relations_of(node):
            ends = self._graph.neighbors(node, count.relation, count.direction)
            end = int(ends[self._lot.randrange(len(ends))])
            if end in avoid or self._graph.literal(end) is not None or len(self._graph.label(end)) > _NAME_LENGTH:
                continue
            back = self._graph.neighbors(end, count.relation, count.direction.reverse)
            if len(back) <= _WIDEST and not self._has_namesake(end):
                yield count.relation, count.direction, end

    def _has_namesake(self, node: int) -> bool:
        """Whether a question cannot tell a node from another of its kind by its name."""
        kinds = set(self._graph.types(node))
        others = {named.node for named in self._kb.names.nodes(normalize(self._graph.label(node)))} - {node}
        return any(not kinds or not kinds.isdisjoint(self._graph.types(other)) for other in others)

    def _edge(self, relation: int, direction: Direction, end: int) -> _Constraint:
        row = self._pattern(f"?{TARGET}", relation, direction, self._graph.node_id(end))
        return _Constraint((row,), self._clause(relation, direction, end), end)

    def _clause(self, relation: int, direction: Direction, end: int) -> str:
        outgoing, how = direction is Direction.OUT, self._lot.randrange(3)
        return clause_of(self._called(relation), self._graph.label(end), outgoing=outgoing, how=how)

    def _called(self, relation: int) -> str:
        """A relation by its label, or as often by an alias of as few words."""
        about = self._graph.relation(relation)
        short = [alias for alias in about.aliases if len(alias.split()) <= max(2, len(about.label.split()))]
        return self._lot.choice((about.label, self._lot.choice(short))) if short else about.label

    def _path(self, node: int, relation: int, direction: Direction, middle: int) -> _Constraint | None:
        further = list(self._edges(middle, avoid={node, middle}))
        if not further:
            return None
        second, way, end = self._lot.choice(further)
        if (second, way) == (relation, direction.reverse):
            return None  # the siblings of a node: asked for more naturally by one edge
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
    """The patterns, the first mention of the answer with its type."""
    if not type_id:
        return tuple(patterns)
    head, relation, tail = patterns[0]
    typed = f"?{TARGET}:{type_id}"
    first = (typed, relation, tail) if head == f"?{TARGET}" else (head, relation, typed)
    return (first, *patterns[1:])
