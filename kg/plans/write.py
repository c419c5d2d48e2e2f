"""Parts of a plan as text, with labels for names: for proofs and messages."""

from __future__ import annotations

import re

from triplecheck.kg.plans import algebra as of
from triplecheck.kg.types import XSD

INFIX = frozenset(("=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"))
"""The operators between two expressions."""
_BINDS = {"or": 1, "and": 2, **dict.fromkeys(("=", "!=", "<", ">", "<=", ">=", "in", "not in"), 3)}
_BINDS |= {"+": 4, "-": 4, "*": 5, "/": 5, "not": 6, "minus": 6, "plus": 6}


def write_expression(expression: of.Expression, within: int = 0) -> str:
    """An expression; `within` is the precedence of the operator around it."""
    match expression:
        case of.Var(name):
            return f"?{name}"
        case of.Constant(text):
            return text
        case of.Relations() | of.IsA() | of.Labelled():
            return write_predicate(expression)
        case of.Exists(pattern, negated):
            return f"{'NOT ' * negated}EXISTS {{ {write_pattern(pattern)} }}"
        case of.Call(name, arguments):
            binds = _BINDS.get(name, 7)
            right = binds + (name in ("-", "/"))
            written = [write_expression(one, right if at else binds) for at, one in enumerate(arguments)]
            if name in ("and", "or"):
                text = {"and": " && ", "or": " || "}[name].join(written)
            elif name in INFIX:
                text = f" {name} ".join(written)
            elif name in ("in", "not in"):
                text = f"{written[0]} {name.upper()} ({', '.join(written[1:])})"
            elif name in ("not", "minus", "plus"):
                text = {"not": "!", "minus": "-", "plus": "+"}[name] + written[0]
            else:
                function = f"xsd:{name.removeprefix(XSD)}" if name.startswith(XSD) else name.upper()
                text = f"{function}({', '.join(written)})"
            return f"({text})" if binds < within else text
    raise AssertionError(expression)


def write_predicate(predicate: of.Predicate) -> str:
    """A predicate or path."""
    match predicate:
        case of.Relations(text):
            return text
        case of.IsA():
            return "a"
        case of.Labelled():
            return "rdfs:label"
        case of.Var(name):
            return f"?{name}"
        case of.Inverse(part):
            return f"^{write_predicate(part)}"
        case of.Chain(parts):
            return f"({'/'.join(map(write_predicate, parts))})"
        case of.Path("|", parts):
            return f"({'|'.join(map(write_predicate, parts))})"
        case of.Path("!", parts):
            return f"!({'|'.join(map(write_predicate, parts))})"
        case of.Path(operator, parts):
            return f"{write_predicate(parts[0])}{operator}"
    raise AssertionError(predicate)


def write_triple(pattern: of.TriplePattern) -> str:
    """A triple pattern."""
    tail = pattern.tail.text if isinstance(pattern.tail, of.Classes) else _end(pattern.tail)
    return f"{_end(pattern.head)} {write_predicate(pattern.predicate)} {tail}"


def _end(end: of.End) -> str:
    if isinstance(end, of.Constant):
        return end.text
    return end.name if end.name.startswith("_:") else f"?{end.name}"


def write_pattern(operator: of.Operator) -> str:
    """A pattern, without the braces around it."""
    match operator:
        case of.Basic(patterns):
            return " . ".join(map(write_triple, patterns))
        case of.Join(left, right):
            return f"{_group(left)} . {_group(right)}"
        case of.LeftJoin(left, right, condition):
            also = "" if condition is None else f" . FILTER({write_expression(condition)})"
            return f"{write_pattern(left)} OPTIONAL {{ {write_pattern(right)}{also} }}"
        case of.Minus(left, right):
            return f"{write_pattern(left)} MINUS {{ {write_pattern(right)} }}"
        case of.Union(left, right):
            return f"{{ {write_pattern(left)} }} UNION {{ {write_pattern(right)} }}"
        case of.Filter(inner, conditions):
            written = " && ".join(write_expression(one, 2) for one in conditions)
            return f"{write_pattern(inner)} . FILTER({written})"
        case of.Extend(inner, name, value):
            return f"{write_pattern(inner)} . BIND({write_expression(value)} AS ?{name})"
        case of.Group(inner):
            return write_pattern(inner)
        case of.Values(names, rows):
            head = " ".join(f"?{name}" for name in names)
            listed = " ".join(f"({' '.join('UNDEF' if one is None else one.text for one in row)})" for row in rows)
            return f"VALUES ({head}) {{ {listed} }}"
        case of.Select(inner):
            return f"{{ {write_pattern(inner)} }}"
    raise AssertionError(operator)


def _group(operator: of.Operator) -> str:
    text = write_pattern(operator)
    return text if isinstance(operator, of.Basic | of.Values | of.Select | of.Filter | of.Join) else f"{{ {text} }}"


# --- aggregates ----------------------------------------------------------------------------------
def aggregated(one: of.Aggregate) -> str:
    """What an aggregate is of."""
    return "DISTINCT " * one.distinct + ("*" if one.of is None else write_expression(one.of))


def with_aggregates(text: str, query: of.Operator) -> str:
    """A text with the aggregates of a query in place of the hidden variables that hold their results."""
    group = of.group_of(query)
    aggregates = () if group is None else group.aggregates
    written = {f"?{one.result}": f"{one.name.upper()}({aggregated(one)})" for one in aggregates}
    return re.sub(r"\?\w+", lambda match: written.get(match[0], match[0]), text)
