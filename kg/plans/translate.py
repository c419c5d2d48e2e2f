"""From the algebra of rdflib to that of `kg.plans.algebra`, with every name looked up."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, SequencePath
from rdflib.paths import Path as RdflibPath
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, URIRef, Variable
from rdflib.term import Literal as RdflibLiteral

from triplecheck.kg.errors import PlanError
from triplecheck.kg.plans import algebra as to
from triplecheck.kg.plans.names import PlanNames
from triplecheck.kg.plans.notation import name_of, write_value
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.vocabulary import RDF

RDF_NIL = URIRef(RDF + "nil")
_AGGREGATES = {
    f"Aggregate_{name}": name.lower().replace("groupconcat", "group_concat")
    for name in ("Count", "Sum", "Avg", "Min", "Max", "Sample", "GroupConcat")
}


def translate(found: Any, names: PlanNames, shown: Sequence[str] = ()) -> to.Select:
    """A query in our algebra.

    Args:
        shown: the variables of `SELECT *` in their order, which rdflib does not keep.

    Raises:
        PlanError: a name is unknown, or a variable is neither grouped nor computed.
    """
    result = _Translation(names).select(found.p)
    return replace(result, names=tuple(shown)) if set(shown) == set(result.names) else result


class _Translation:
    def __init__(self, names: PlanNames) -> None:
        self._names = names
        self._unnamed: dict[str, str] = {}
        self._steps = itertools.count(1)
        self._aliases: dict[str, Any] = {}  # what the SELECT above computes, which HAVING may name
        self._meant: dict[str, to.Expression] = {}  # what rdflib's samples of single variables stand for

    # --- queries and groups ----------------------------------------------------------------------
    def select(self, found: Any) -> to.Select:
        start, length, distinct = 0, None, False
        if found.name == "Slice":
            start, length = int(found.start or 0), None if found.length is None else int(found.length)
            found = found.p
        if found.name in ("Distinct", "Reduced"):
            distinct, found = found.name == "Distinct", found.p
        names = tuple(str(one) for one in found.PV if isinstance(one, Variable))
        found, outer = found.p, (self._aliases, self._meant)
        conditions = []
        if found.name == "OrderBy":
            conditions, found = found.expr, found.p
        self._aliases, self._meant = {}, {}
        inner = self.operator(found)
        order = tuple((self.expression(one.expr), one.order == "DESC") for one in conditions)
        if to.group_of(inner):
            self._check_order(order, inner)
        self._aliases, self._meant = outer
        return to.Select(inner, tuple(dict.fromkeys(names)), order, distinct, start, length)

    def _check_order(self, order: Sequence[tuple[to.Expression, bool]], inner: to.Operator) -> None:
        """Refuse to sort groups by a variable that they do not have."""
        known = set()
        while not isinstance(inner, to.Group):
            assert isinstance(inner, to.Extend | to.Filter)
            known |= {inner.name} if isinstance(inner, to.Extend) else set()
            inner = inner.of
        known |= {one.name for one in inner.keys if isinstance(one, to.Var)} | {a.result for a in inner.aggregates}
        if unknown := sorted(to.variables(tuple(one for one, _ in order)) - known):
            raise PlanError(f"?{unknown[0]} is neither grouped nor computed: add GROUP BY ?{unknown[0]}")

    def _group(self, found: Any) -> to.Group:
        of = self.operator(found.p.p)
        keys = tuple(self.expression(one) for one in found.p.expr or ())
        grouped = {key.name for key in keys if isinstance(key, to.Var)}
        aggregates = []
        later: dict[str, Any] = {}
        for one in found.A:
            name, result = _AGGREGATES[one.name], str(one.res)
            if name == "sample" and "distinct" not in one:  # rdflib's own, for a variable outside of aggregates
                computed = self._aliases.get(str(one.vars))
                if str(one.vars) not in grouped and computed is None:
                    raise PlanError(f"?{one.vars} is neither grouped nor computed: add GROUP BY ?{one.vars}")
                if str(one.vars) in grouped:
                    self._meant[result] = to.Var(str(one.vars))
                else:
                    later[result] = computed
                continue
            of_what = None if one.vars == "*" else self.expression(one.vars)
            separator = " " if one.separator is None else str(one.separator)
            aggregates.append(to.Aggregate(name, of_what, one.distinct == "DISTINCT", result, separator))
        self._meant |= {result: self.expression(one) for result, one in later.items()}
        return to.Group(of, keys, tuple(aggregates))

    # --- patterns --------------------------------------------------------------------------------
    def operator(self, found: Any) -> to.Operator:
        made: Callable[[Any], to.Operator] | None = getattr(self, f"_{found.name.lower()}", None)
        if made is None:
            raise PlanError(f"{found.name.upper()} is not supported in queries")
        return made(found)

    def _bgp(self, found: Any) -> to.Operator:
        return _together(part for triple in found.triples for part in self._parts(*triple))

    def _parts(self, head: Any, predicate: Any, tail: Any) -> Iterator[to.TriplePattern | to.Operator]:
        """The patterns of one triple; sequences, inverses and alternatives of paths are taken apart."""
        if isinstance(predicate, InvPath):
            yield from self._parts(tail, predicate.arg, head)
        elif isinstance(predicate, SequencePath):
            ends = [head, *(BNode(f"step{next(self._steps)}") for _ in predicate.args[1:]), tail]
            for at, one in enumerate(predicate.args):
                yield from self._parts(ends[at], one, ends[at + 1])
        elif isinstance(predicate, AlternativePath):
            yield functools.reduce(to.Union, [_together(self._parts(head, one, tail)) for one in predicate.args])
        else:
            meant = self._predicate(predicate)
            is_class = isinstance(meant, to.IsA) and isinstance(tail, URIRef | RdflibLiteral)
            end = self._names.classes(str(tail)) if is_class else self._end(tail)
            yield to.TriplePattern(self._end(head), meant, end)

    def _predicate(self, found: Any) -> to.Predicate:
        if isinstance(found, Variable):
            return to.Var(str(found))
        if isinstance(found, URIRef):
            return self._names.predicate(str(found))
        if isinstance(found, InvPath):
            return to.Inverse(self._predicate(found.arg))
        if isinstance(found, SequencePath):
            return to.Chain(tuple(self._predicate(one) for one in found.args))
        if isinstance(found, MulPath):
            return to.Path(found.mod, (self._predicate(found.path),))
        if isinstance(found, NegatedPath):
            if any(isinstance(one, CompValue) for one in found.args):  # rdflib loses what is inverted
                raise PlanError("^ inside !(...) is not supported; invert the whole: ^!(...)")
            return to.Path("!", tuple(self._predicate(one) for one in found.args))
        assert isinstance(found, AlternativePath | RdflibPath)
        return to.Path("|", tuple(self._predicate(one) for one in found.args))

    def _end(self, found: Any) -> to.End:
        if isinstance(found, Variable):
            return to.Var(str(found))
        if isinstance(found, BNode):
            return to.Var(self._unnamed.setdefault(str(found), f"_:{len(self._unnamed) + 1}"))
        return self._listed(found)

    def _join(self, found: Any) -> to.Operator:
        return _join(self.operator(found.p1), self.operator(found.p2))

    def _leftjoin(self, found: Any) -> to.LeftJoin:
        condition = None if found.expr.name == "TrueFilter" else self.expression(found.expr)
        return to.LeftJoin(self.operator(found.p1), self.operator(found.p2), condition)

    def _minus(self, found: Any) -> to.Minus:
        return to.Minus(self.operator(found.p1), self.operator(found.p2))

    def _union(self, found: Any) -> to.Union:
        return to.Union(self.operator(found.p1), self.operator(found.p2))

    def _filter(self, found: Any) -> to.Filter:
        of = self.operator(found.p)
        below = found.p
        while below.name == "Extend":
            below = below.p
        return to.Filter(of, tuple(_conjuncts(self.expression(found.expr))), below.name == "AggregateJoin")

    def _extend(self, found: Any) -> to.Operator:
        name = str(found.var)
        if _is_sample(found):  # the variable is a key
            return self.operator(found.p)
        self._aliases[name] = found.expr
        of = self.operator(found.p)
        if name in to.variables(of) and not to.group_of(of):
            raise PlanError(f"?{name} has a value already: compute with another variable")
        return to.Extend(of, name, self.expression(found.expr))

    _aggregatejoin = _group

    def _tomultiset(self, found: Any) -> to.Operator:
        inner = found.p
        if not isinstance(inner, CompValue):
            return to.Values((), ())
        if inner.name != "values":
            return self.select(inner)
        names = tuple(dict.fromkeys(str(name) for row in inner.res for name in row))
        rows = tuple(
            tuple(None if row[Variable(name)] == "UNDEF" else self._listed(row[Variable(name)]) for name in names)
            for row in inner.res
        )
        return to.Values(names, rows)

    def _listed(self, found: Any) -> to.Constant:
        return self._names.value(_literal(found)) if isinstance(found, RdflibLiteral) else self._names.node(str(found))

    # --- expressions -----------------------------------------------------------------------------
    def expression(self, found: Any) -> to.Expression:
        if isinstance(found, Variable):
            return self._meant.get(str(found), to.Var(str(found)))
        if isinstance(found, RdflibLiteral):
            value = _literal(found)
            return to.Constant(write_value(value), (), value)
        if isinstance(found, URIRef):
            return self._named(str(found))
        name = found.name
        if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            return to.Exists(self.operator(found.graph), name == "Builtin_NOTEXISTS")
        if name in ("ConditionalOrExpression", "ConditionalAndExpression"):
            word = "or" if "Or" in name else "and"
            return to.Call(word, (self.expression(found.expr), *map(self.expression, found.other)))
        if name == "RelationalExpression":
            many = found.other if isinstance(found.other, list) else [found.other]
            many = [one for one in many if one != RDF_NIL]  # of an empty list
            return to.Call(found.op.lower(), (self.expression(found.expr), *map(self.expression, many)))
        if name in ("AdditiveExpression", "MultiplicativeExpression"):
            result = self.expression(found.expr)
            for operator, other in zip(found.op, found.other, strict=True):
                result = to.Call(str(operator), (result, self.expression(other)))
            return result
        if name.startswith("Unary"):
            if name == "UnaryMinus" and isinstance(found.expr, RdflibLiteral) and str(found.expr)[:1].isdigit():
                value = _literal(found.expr)  # "-40" is a number, and a year
                value = Literal(f"-{value.lexical}", value.datatype)
                return to.Constant(write_value(value), (), value)
            word = {"UnaryNot": "not", "UnaryMinus": "minus", "UnaryPlus": "plus"}[name]
            return to.Call(word, (self.expression(found.expr),))
        if name == "Function":
            arguments = tuple(map(self.expression, found.expr if isinstance(found.expr, list) else [found.expr]))
            return to.Call(name_of(str(found.iri)), arguments)
        if name.startswith("Builtin_"):
            return to.Call(name.removeprefix("Builtin_").lower(), tuple(self._arguments(found)))
        raise PlanError(f"{name} is not supported in queries")

    def _named(self, iri: str) -> to.Expression:
        """The nodes of a name, or a predicate that is compared with a variable predicate."""
        try:
            return self._names.node(iri)
        except PlanError:
            with contextlib.suppress(PlanError):
                return self._names.predicate(iri)
            raise

    def _arguments(self, found: Mapping[str, Any]) -> Iterable[to.Expression]:
        for key, argument in found.items():
            if key == "_vars" or argument is None:
                continue
            for one in argument if isinstance(argument, list) else [argument]:
                yield self.expression(one)


def _join(left: to.Operator, right: to.Operator) -> to.Operator:
    nothing = to.Basic(())
    return right if left == nothing else left if right == nothing else to.Join(left, right)


def _together(parts: Iterable[to.TriplePattern | to.Operator]) -> to.Operator:
    listed = list(parts)
    first: to.Operator = to.Basic(tuple(part for part in listed if isinstance(part, to.TriplePattern)))
    return functools.reduce(_join, (part for part in listed if not isinstance(part, to.TriplePattern)), first)


def _is_sample(found: Any) -> bool:
    """Whether rdflib gives a variable its own sample, as it does for those that SELECT names without an aggregate."""
    below = found.p
    while below.name in ("Extend", "Filter"):
        below = below.p
    if below.name != "AggregateJoin":
        return False
    return any(one.res == found.expr and one.vars == found.var and "distinct" not in one for one in below.A)


def _conjuncts(condition: to.Expression) -> Iterable[to.Expression]:
    if isinstance(condition, to.Call) and condition.name == "and":
        for one in condition.arguments:
            yield from _conjuncts(one)
    else:
        yield condition


def _literal(found: RdflibLiteral) -> Literal:
    return Literal(str(found), XSD + "string" if found.datatype is None else str(found.datatype))
