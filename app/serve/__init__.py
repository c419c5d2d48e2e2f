"""The server: REST, a page, and the Model Context Protocol, over knowledge bases that are opened once."""

from triplecheck.app.serve.command import mcp, serve

__all__ = ["mcp", "serve"]
