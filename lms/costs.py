"""What calls took, kept beside their replies: a reply from this cache counts as if the model had made it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dspy.clients.cache import Cache

from triplecheck.lms.ledger import Usage

_ADDRESSES = ["api_key", "api_base", "base_url"]  # DSPy leaves them out of the keys of replies, too


class CostCache(Cache):
    """DSPy's cache that remembers the tokens, dollars and seconds of each call.

    Programs that share calls can then be measured side by side: each call is made once and counts in all of them.
    """

    def counted(self, request: Mapping[str, Any], usage: Usage) -> Usage:
        """The usage of an ended call, as the ledger adds it.

        Args:
            request: the call.
            usage: what it has taken now.

        Returns:
            Of a reply from the cache, what it took when it was made, and these seconds also as `spared_seconds`.
        """
        key = {**request, "_fn_identifier": f"{__name__}.costs"}
        if not usage.cached_calls:
            self.put(key, json.dumps(usage.to_json()), _ADDRESSES)
            return usage
        kept = self.get(key, _ADDRESSES)
        if kept is None:
            return usage
        made = Usage(**json.loads(kept))
        return replace(made, calls=0, cached_calls=1, seconds=made.seconds + usage.seconds, spared_seconds=made.seconds)
