"""The server: REST, a page, and the Model Context Protocol, over knowledge bases that are opened once."""

from triplecheck.app.serve.command import serve

__all__ = ["serve"]
