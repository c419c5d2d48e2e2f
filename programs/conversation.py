"""Follow-up questions: rewritten so that a program, which knows no conversation, understands them."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.signatures import RewriteFollowUp
from triplecheck.signatures.conversation import write_turn

_REMEMBERED = 8  # turns


class FollowUps:
    """Rewrites follow-up questions."""

    def __init__(self) -> None:
        self._rewrite = RolePredict(RewriteFollowUp, role="query")

    def understood(self, question: str, conversation: Sequence[tuple[str, str]]) -> str:
        """A question as it is understood after a conversation; unchanged if it can be understood alone.

        The step `RewriteFollowUp` (role `query`) sees the last eight turns. If its reply cannot be read, the question
        stays.

        Args:
            conversation: earlier questions with their answers; an empty answer for none.

        Raises:
            TriplecheckError: a budget is spent or the model is not available.
        """
        if not conversation:
            return question
        turns = [write_turn(*turn) for turn in conversation[-_REMEMBERED:]]
        try:
            reply = self._rewrite(conversation=turns, question=question)
        except ModelReplyError:
            return question
        return str(reply.rewritten).strip() or question
