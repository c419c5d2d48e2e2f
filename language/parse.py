"""The grammar of a question in Universal Dependencies, whatever scheme its pipeline has.

Topics are masked by proper names while a pipeline reads the question, so that it needs to know no name and no capital
letters. Where prepositions are the heads of their nouns and copulas those of their predicates, as in the schemes of
ClearNLP and TIGER, the tree is turned: content words are heads, as in https://universaldependencies.org.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from triplecheck.language.lexicon import Lexicon, lexicon
from triplecheck.language.pipeline import Pipeline, Token, pipeline
from triplecheck.language.text import TOPIC, plain, spans, without_accents

_OF_THINGS = frozenset(("nsubj", "dobj", "obj", "attr"))
_NOMINAL = frozenset({"NOUN", "PROPN", "PRON", "NUM"})
_BEFORE_NOUN = frozenset({"ADJ", "ADV", "VERB", "X"})  # what a noun without one after it was taken for
_FUNCTION = frozenset({"AUX", "DET", "PRON", "ADP", "PART", "CCONJ", "SCONJ", "INTJ", "PUNCT", "SYM"})
_GRADED = frozenset({"ADJ", "ADV", "PROPN", "VERB", "X"})
_PARSES = 2_048


@dataclass(frozen=True)
class Parse:
    """The tokens of a text, without punctuation.

    Attributes:
        tokens: their labels and heads are those of Universal Dependencies; `TOPIC` for a topic.
        topics: of each token, the spelling of the topic that it stands for; else empty.
        words: their texts in lower case, without accents.
        ends: where each ends in the text, exclusive.
        is_trained: whether parts of speech and dependencies are known.
    """

    text: str
    tokens: tuple[Token, ...]
    topics: tuple[str, ...]
    words: tuple[str, ...]
    ends: tuple[int, ...]
    lexicon: Lexicon
    is_trained: bool

    def __len__(self) -> int:
        return len(self.tokens)

    def lemma(self, at: int) -> str:
        """The lemma of a token; empty beyond the ends."""
        return self.tokens[at].lemma if 0 <= at < len(self.tokens) else ""

    def pos(self, at: int) -> str:
        """The part of speech of a token; empty beyond the ends."""
        return self.tokens[at].pos if 0 <= at < len(self.tokens) else ""

    def children(self, at: int) -> Iterator[int]:
        """The tokens whose head is a token."""
        return (i for i, token in enumerate(self.tokens) if token.head == at and i != at)

    def dependents(self, at: int, *labels: str) -> list[int]:
        """The children of a token with one of some labels, subtypes included (`obl` has `obl:npmod`)."""
        return [i for i in self.children(at) if _is(self.tokens[i].dep, labels)]

    def is_a(self, at: int, *labels: str) -> bool:
        """Whether a token has one of some labels."""
        return _is(self.tokens[at].dep, labels)

    def ancestors(self, at: int) -> Iterator[int]:
        """The heads above a token, nearest first."""
        seen = {at}
        while (at := self.tokens[at].head) not in seen:
            seen.add(at)
            yield at

    def acts(self, at: int) -> bool:
        """Whether a token is a verb: "cost" with an auxiliary is one though a pipeline reads a noun."""
        return self.pos(at) == "VERB" or bool(self.dependents(at, "aux"))

    def is_plural(self, at: int) -> bool:
        """Whether a token is in the plural."""
        return self.tokens[at].feature("Number") == "Plur"

    def is_value(self, at: int) -> bool:
        """Whether a token stands for a topic in lower case, such as "altos": more likely a value than a thing."""
        return self.topics[at].islower()

    def is_topic(self, at: int) -> bool:
        """Whether a token stands for a topic."""
        return 0 <= at < len(self.words) and self.words[at] == TOPIC

    def is_stop(self, at: int) -> bool:
        """Whether a token has no content of its own: a function word, or a light one."""
        token, word = self.tokens[at], self.words[at]
        if word in self.lexicon.genitives or token.lemma in self.lexicon.light or word in self.lexicon.light:
            return True
        if not self.is_trained or token.pos == "ADV":
            return token.is_stop
        return token.pos in _FUNCTION

    @property
    def has_finite_verb(self) -> bool:
        """Whether it is a sentence."""
        if self.is_trained:
            return any(token.feature("VerbForm") == "Fin" for token in self.tokens)
        return not self.lexicon.auxiliaries.isdisjoint(self.words)

    def is_noun(self, at: int) -> bool:
        """Whether a word is a noun, or, without parts of speech, may be one."""
        if not 0 <= at < len(self) or self.is_topic(at):
            return False
        if self.is_trained or self.lemma(at) in self.lexicon.nouns:
            return self.pos(at) in ("NOUN", "")
        return not self.is_stop(at) and (self.tokens[at].text[0].isupper() or not self.lexicon.capital_nouns)

    def said(self, at: int, phrase: str) -> int:
        """The end of a phrase that stands at a position, in lemmas or as written; 0 if it does not."""
        parts = phrase.split()
        here = range(at, at + len(parts))
        same = 0 <= at <= len(self) - len(parts) and all(
            p in (self.lemma(i), self.words[i]) for i, p in zip(here, parts, strict=True)
        )
        return here.stop if same else 0

    def said_any(self, at: int, words: Collection[str]) -> bool:
        """Whether one of some words stands at a position."""
        return 0 <= at < len(self) and bool({self.words[at], self.lemma(at)} & set(words))

    def find(self, phrases: Sequence[str]) -> tuple[int, int] | None:
        """The first place [start, end) of one of some phrases, the longest there; None if there is none."""
        for at in range(len(self)):
            if end := max((self.said(at, phrase) for phrase in phrases), default=0):
                return at, end
        return None

    def before(self, at: int) -> str:
        """The last character before a token that is no blank; empty at the beginning."""
        return self.text[: self.tokens[at].start].rstrip()[-1:]

    def written(self, start: int, end: int) -> str:
        """The words of the question from a token to another, exclusive."""
        return self.text[self.tokens[start].start : self.ends[end - 1]] if end > start else ""


def _is(label: str, labels: Sequence[str]) -> bool:
    return any(label == one or label.startswith(f"{one}:") for one in labels)


@functools.lru_cache(_PARSES)
def parse(text: str, topics: tuple[str, ...], language: str) -> Parse:
    """The grammar of a question.

    Args:
        language: a code, or the name of a pipeline.
    """
    reader = pipeline(language)
    words = lexicon(reader.code)
    names = [name for name in words.names if name.casefold() not in text.casefold()]
    places = spans(text, topics, reader.stop_words)
    masked, kept, at = "", [], 0
    for number, (start, end, topic) in enumerate(places):
        name = names[number % len(names)] if names else text[start:end]
        masked += text[at:start]
        kept.append((len(masked), len(masked) + len(name), start, end, topic))
        masked, at = masked + name, end
    masked += text[at:]
    read = without_accents(masked) if words.borrowed_accents else masked
    tokens = _reread(read, reader, words) if reader.is_trained else reader.tokens(read)
    if read != masked:
        tokens = tuple(replace(token, text=masked[token.start : token.end]) for token in tokens)
    placed = [_placed(token, kept) for token in tokens]
    tree = _asked_nouns(universal([token for token, _, _ in placed], words), words, reader)
    own = [
        i for i, (token, _, topic) in enumerate(placed) if _is_word(token, words, topic) and not _continues(i, placed)
    ]
    numbers = {old: new for new, old in enumerate(own)}
    found = tuple(replace(tree[i], head=numbers[_above(tree, i, numbers)]) for i in own)
    return Parse(
        text,
        found,
        tuple(placed[i][2] for i in own),
        tuple(TOPIC if placed[i][2] else plain(placed[i][0].text) for i in own),
        tuple(placed[i][1] for i in own),
        words,
        reader.is_trained,
    )


def _reread(text: str, reader: Pipeline, words: Lexicon) -> tuple[Token, ...]:
    """The tokens of a text. A word that was taken for another part of speech is parsed again, with a known one in its
    place."""
    tokens = reader.parse(text)
    known: dict[int, tuple[str, str]] = {}
    for pos, missed in (("NOUN", _missed_noun), ("VERB", _missed_verb)):
        at = missed(tokens, reader, words)
        if at is None:
            continue
        is_plural = reader.lemma(tokens[at].text, "NOUN") != tokens[at].text.casefold()
        likely = words.known_nouns[is_plural] if pos == "NOUN" else words.known_verb
        if again := _with_known({**known, at: (likely, pos)}, tokens, text, reader):
            known[at] = likely, pos
            tokens = again
    return _with_subject(tokens)


def _with_known(
    known: Mapping[int, tuple[str, str]], tokens: Sequence[Token], text: str, reader: Pipeline
) -> tuple[Token, ...]:
    """The tokens, parsed with known words in the place of some; none if these are not read as the given parts of
    speech."""
    said = text
    for at in sorted(known, reverse=True):
        said = said[: tokens[at].start] + known[at][0] + said[tokens[at].end :]
    again = reader.parse(said)
    if len(again) != len(tokens) or any(again[at].pos != pos for at, (_, pos) in known.items()):
        return ()
    own = [
        replace(new, text=old.text, lemma=old.lemma, start=old.start) for new, old in zip(again, tokens, strict=True)
    ]
    for at, (_, pos) in known.items():
        own[at] = replace(own[at], lemma=reader.lemma(tokens[at].text, pos))
    return tuple(own)


def _with_subject(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens, with a subject for a verb that the parser joined to the name before it: in "which riders did Ada
    train", Ada is the subject, and the riders are the object."""
    found = list(tokens)
    for at, token in enumerate(tokens[:-1]):
        if token.pos == "PROPN" and token.dep == "compound" and token.head == at + 1 and tokens[at + 1].pos == "VERB":
            found[at] = replace(token, dep="nsubj")
            for i, other in enumerate(tokens[:at]):
                if other.head == token.head and other.dep == "nsubj":
                    found[i] = replace(other, dep="dobj")
    return tuple(found)


def _missed_verb(tokens: Sequence[Token], reader: Pipeline, words: Lexicon) -> int | None:
    """The place of the verb that was taken for another word; None if there is none.

    The parser took "cross" for a noun in "which rivers do the bridges cross", and "stock" in "which pubs stock ale".
    """
    for at, token in enumerate(tokens[1:-1], 1):
        asks = words.questions.get(tokens[at - 1].text.casefold()) == "thing"
        after, behind = tokens[at + 1], tokens[at + 2 : at + 3]
        is_plural = token.pos in ("NOUN", "VERB") and reader.lemma(token.text, "NOUN") != token.text.casefold()
        if asks and is_plural and after.pos == "NOUN" and after.feature("Number") == "Sing":
            has_object = any(one.pos in _NOMINAL or one.pos == "DET" for one in behind)
            return at + 1 if token.pos == "NOUN" or has_object else None
    helps = [at for at, token in enumerate(tokens) if token.lemma in words.supports]
    final = max((at for at, token in enumerate(tokens) if token.text.isalnum()), default=0)
    if helps and final > helps[0] + 1 and tokens[final].text.casefold() in words.orders:
        return final if tokens[final].pos != "VERB" else None  # "how long does the race last"
    alone = [at for at in helps if tokens[at].pos == "VERB"]  # "did" as the verb of the question
    others = [token for token in tokens if token.pos == "VERB" and token.lemma not in words.supports]
    own = [at for at, token in enumerate(tokens) if token.head in alone and token in others]
    things = [at for at in own if tokens[at].dep in _OF_THINGS]
    if things and things[-1] > alone[0] + 1:  # "whom did Ada train", read as what a train did
        return things[-1]
    if not helps or (others and not (alone and all(one.feature("VerbForm") == "Part" for one in others))):
        return None
    end = _before_total(tokens, words)
    last = max((at for at, token in enumerate(tokens[:end]) if token.pos == "NOUN"), default=0)
    return last if last > helps[0] + 1 else None


def _missed_noun(tokens: Sequence[Token], reader: Pipeline, words: Lexicon) -> int | None:
    """The place of a noun that was taken for another word; None if there is none: a determiner stands before it, and
    no noun after it ("every apiary that lies higher", "which peaks can be climbed")."""
    if not all(words.known_nouns):
        return None
    for at, token in enumerate(tokens[1:], 1):
        if token.pos not in _BEFORE_NOUN or _stands_alone(token, words) or not _is_led(tokens, at, words):
            continue
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        is_last = after is None or not (_may_be_before_noun(after) or after.text == "-")  # "a first-aid kit"
        if is_last and reader.lists_noun(reader.lemma(token.text, "NOUN")):
            return at
    return None


def _is_led(tokens: Sequence[Token], at: int, words: Lexicon) -> bool:
    """Whether a determiner stands before a word that may be its noun: before a verb, an article or a question word."""
    before = tokens[at - 1]
    if words.questions.get(before.text.casefold()) == "thing":
        return _comes_before_verb(tokens, at)
    return before.pos == "DET" and (tokens[at].pos != "VERB" or before.text.casefold() in words.articles)


def _comes_before_verb(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb follows a word in the same clause."""
    ends = (one for one in tokens[at + 1 :] if one.pos in ("VERB", "AUX", "PRON", "SCONJ") or one.is_punct)
    return next((one.pos in ("VERB", "AUX") for one in ends), False)


def _may_be_before_noun(token: Token) -> bool:
    """Whether a noun may follow in the same phrase, or a token is one."""
    is_part = token.pos != "VERB" or token.feature("VerbForm") == "Part"
    return token.pos in _BEFORE_NOUN | _NOMINAL and token.pos != "PRON" and is_part


def _stands_alone(token: Token, words: Lexicon) -> bool:
    """Whether a word after a determiner can be without a noun: "the first", "the same", "the oldest"."""
    is_number = bool(token.feature("NumType")) or token.lemma in words.ordinals
    return is_number or token.feature("Degree") in ("Cmp", "Sup") or token.lemma in {*words.orders, *words.light}


def _before_total(tokens: Sequence[Token], words: Lexicon) -> int:
    """The number of tokens before the words for a sum or an average at the end: "in total", "on average"."""
    places = [at for at, token in enumerate(tokens) if any(map(str.isalnum, token.text))]
    said = [tokens[at].text.casefold() for at in places]
    for phrase in sorted((one.split() for some in words.aggregates.values() for one in some), key=len, reverse=True):
        if said[-len(phrase) :] == phrase:
            return places[-len(phrase)]
    return len(tokens)


def _placed(token: Token, kept: Sequence[tuple[int, int, int, int, str]]) -> tuple[Token, int, str]:
    """A token of the masked text with its place in the question, its end there, and the topic that it stands for."""
    moved = 0
    for start, end, own_start, own_end, topic in kept:
        if start <= token.start < end:
            return replace(token, text=TOPIC, lemma=TOPIC, start=own_start, pos="PROPN"), own_end, topic
        if token.start >= end:
            moved = own_end - end
    return replace(token, start=token.start + moved), token.end + moved, ""


def _continues(at: int, placed: Sequence[tuple[Token, int, str]]) -> bool:
    """Whether a token is a further part of the same topic."""
    return bool(at and placed[at][2]) and placed[at][0].start == placed[at - 1][0].start


def _is_word(token: Token, words: Lexicon, topic: str) -> bool:
    return bool(topic) or any(map(str.isalnum, token.text)) or (token.text in words.genitives)


def _above(tokens: Sequence[Token], at: int, own: dict[int, int]) -> int:
    """The head of a token among the words: of one under punctuation, the next above; its own place for a root."""
    head, seen = tokens[at].head, {at}
    while head not in own and head not in seen:
        seen.add(head)
        head = tokens[head].head
    return head if head in own else at


def universal(tokens: Sequence[Token], words: Lexicon) -> list[Token]:
    """The tokens of a pipeline with labels and heads of Universal Dependencies."""
    labelled = [replace(token, dep=_label(token, words)) for token in tokens]
    beside = zip(labelled, [None, *labelled], [*labelled[1:], None], strict=False)
    found = [_in_form(token, before, after, words) for token, before, after in beside]
    for at, token in enumerate(found):
        noun = next((i for i, t in enumerate(found) if t.head == at and i != at and t.pos in _NOMINAL), None)
        if noun is not None and (token.pos == "ADP" or _is(token.dep, ("case",))):
            above = token.head if token.head != at else noun
            label = "nmod" if above != noun and found[above].pos in _NOMINAL else "obl"
            agent = ":agent" if token.lemma in words.agents and label == "obl" else ""
            found[noun] = replace(found[noun], head=above, dep="root" if above == noun else label + agent)
            found[at] = replace(token, head=noun, dep="case")
    for at, token in enumerate(found):
        own = [i for i, t in enumerate(found) if t.head == at and i != at]
        predicate = next((i for i in own if found[i].dep == "predicate"), None)
        if predicate is None:
            continue
        if token.pos != "AUX":  # "became mayor"
            found[predicate] = replace(found[predicate], dep="xcomp")
            continue
        above = predicate if token.head == at else token.head
        found[predicate] = replace(found[predicate], head=above, dep=token.dep)
        found[at] = replace(token, head=predicate, dep="aux" if found[predicate].pos == "VERB" else "cop")
        for i in own:
            if i != predicate:
                label = "nsubj" if found[i].dep == "predicate" else found[i].dep
                found[i] = replace(found[i], head=predicate, dep=label)
    return found


def _label(token: Token, words: Lexicon) -> str:
    """The label of a token in Universal Dependencies; a scheme may need the part of speech to tell it."""
    return words.labels.get(f"{token.dep}:{token.pos}") or words.labels.get(token.dep, token.dep)


def _asked_nouns(tokens: list[Token], words: Lexicon, reader: Pipeline) -> list[Token]:
    """The tokens; one after "which" is a noun, though it may look like a verb, if a verb of the same clause follows."""
    for at, token in enumerate(tokens[1:], 1):
        asks = words.questions.get(tokens[at - 1].text.lower()) == "thing"
        if asks and token.pos == "VERB" and _comes_before_verb(tokens, at):
            lemma = reader.lemma(token.text, "NOUN")
            number = "Sing" if lemma == token.text.lower() else "Plur"
            tokens[at] = replace(token, pos="NOUN", lemma=lemma, features=(("Number", number),))
            tokens[at - 1] = replace(tokens[at - 1], pos="DET", head=at, dep="det")
    return tokens


def _in_form(token: Token, before: Token | None, after: Token | None, words: Lexicon) -> Token:
    """A token with the lemma and the degree that the lexicon gives its form."""
    text = token.text.casefold()
    stems = (text[:end] + "*" for end in range(len(text), 0, -1))
    form = words.forms.get(text) or next((words.forms[stem] for stem in stems if stem in words.forms), None)
    form = form or _graded(token, before, after, words)
    if form is None:
        return replace(token, lemma=plain(token.lemma))
    features = {**dict(token.features), "Degree": form[1]} if form[1] else dict(token.features)
    return replace(token, lemma=form[0], features=tuple(sorted(features.items())))


def _graded(token: Token, before: Token | None, after: Token | None, words: Lexicon) -> tuple[str, str] | None:
    """The lemma and the degree of an adjective that a pipeline does not know in this form, or gives no lemma: "dearer",
    "second oldest hut"; else None."""
    after_much = before is not None and before.lemma in words.amounts  # a noun there is none: "how much dearer"
    before_than = after is not None and after.lemma in words.than  # nor in "is A pricier than B", "which is dearer"
    is_predicate = before is not None and before.lemma in words.copulas
    text = token.text.casefold()
    is_known = token.feature("Degree") in ("Cmp", "Sup") and token.lemma.casefold() != text
    if is_known or not (token.pos in _GRADED or after_much or before_than or is_predicate):
        return None
    for ending, degree in words.degree_endings.items():
        stem = text.removesuffix(ending)
        likely = [stem, f"{stem}e", f"{stem[:-1]}y", stem[:-1]] if stem != text else []
        known = next((one for one in likely if one in words.scales), None)
        if known is not None:
            return known, degree
    return None


@functools.cache
def stop_words(language: str) -> frozenset[str]:
    """The words of a language that have no content of their own, in lower case."""
    reader = pipeline(language)
    return reader.stop_words | lexicon(reader.code).light
