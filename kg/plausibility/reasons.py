"""Why a triple has no score."""

from __future__ import annotations

from enum import StrEnum


class Skip(StrEnum):
    """Why a triple is left out of a score; the value is for people to read."""

    UNKNOWN_HEAD = "the graph does not know the head"
    UNKNOWN_RELATION = "the graph knows no such relation"
    UNKNOWN_TAIL = "the graph does not know the tail"
    DENIAL = "it is a denial, and the graph says only what is so"
    HEAD_WITHOUT_VECTOR = "the head has no embedding"
    TAIL_WITHOUT_VECTOR = "the tail has no embedding"
    NO_REFERENCE = "the graph has no other triple to compare it with"
