"""Streaming: the text of one output field, piece by piece, as a model writes it."""

from __future__ import annotations

from typing import Any

from dspy.streaming import StreamListener as _StreamListener

from triplecheck.lms.adapter import TolerantAdapter


class StreamListener(_StreamListener):
    """A `dspy.streaming.StreamListener` that also works inside a session.

    DSPy looks up how fields begin and end by the name of the adapter's class and refuses names that it
    does not know. The session's `TolerantAdapter` has fields headed as `dspy.ChatAdapter` has them.
    What it forgives beyond that, such as a bold header, is not streamed: the prediction at the end holds it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.adapter_identifiers[TolerantAdapter.__name__] = self.adapter_identifiers["ChatAdapter"]
