"""Hooks of MkDocs: links to files outside of `docs/` lead to the repository, or become plain text without one."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Called by MkDocs with the text of each page."""
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def outward(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        if target.startswith("docs/"):
            return match[0]
        return f"[{match[1]}]({config.repo_url}/blob/main/{target})" if config.repo_url else match[1]

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(outward, part) for part in parts)
