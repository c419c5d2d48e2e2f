"""A Virtuoso server on loopback (Debian: virtuoso-opensource-7), for the tests that query a real one."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

GRAPH = "http://example.org/graph"
_INI = """\
[Database]
DatabaseFile = {place}/virtuoso.db
ErrorLogFile = {place}/virtuoso.log
LockFile = {place}/virtuoso.lck
TransactionFile = {place}/virtuoso.trx
xa_persistent_file = {place}/virtuoso.pxa
FileExtend = 200
MaxCheckpointRemap = 2000
[TempDatabase]
DatabaseFile = {place}/temp.db
TransactionFile = {place}/temp.trx
MaxCheckpointRemap = 2000
[Parameters]
ServerPort = {sql}
DirsAllowed = /
NumberOfBuffers = {buffers}
MaxDirtyBuffers = {dirty}
CheckpointInterval = 0
ServerThreads = 20
[HTTPServer]
ServerPort = {http}
ServerThreads = 10
[SPARQL]
ResultSetMaxRows = 1000000
MaxQueryExecutionTime = 600
"""


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextlib.contextmanager
def virtuoso(place: Path, files: Sequence[Path], *, buffers: int = 2000, text_index: bool = True) -> Iterator[str]:
    """The URL of a server that has the triples of the files, as long as the block lasts.

    Args:
        place: an empty directory for its database.
        files: Turtle or N-Triples.
        buffers: pages of 8 KB in memory.
        text_index: index all strings for `bif:contains`.
    """
    program, isql = shutil.which("virtuoso-t"), shutil.which("isql-vt")
    if program is None or isql is None:
        pytest.skip("virtuoso-t is not installed (Debian: virtuoso-opensource-7)")
    sql, http = free_port(), free_port()
    (place / "virtuoso.ini").write_text(
        _INI.format(place=place, sql=sql, http=http, buffers=buffers, dirty=buffers * 3 // 4), "utf-8"
    )
    server = subprocess.Popen(
        [program, "+configfile", "virtuoso.ini", "+foreground"],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(server, f"http://127.0.0.1:{http}/sparql")
        rule = "DB.DBA.RDF_OBJ_FT_RULE_ADD(null, null, 'All');\n" if text_index else ""
        loads = "".join(f"ld_dir('{f.parent}', '{f.name}', '{GRAPH}');\n" for f in files)
        index = "DB.DBA.VT_INC_INDEX_DB_DBA_RDF_OBJ();\n" if text_index else ""
        script = f"{rule}{loads}rdf_loader_run();\n{index}checkpoint;\n"
        done = subprocess.run(
            [isql, str(sql), "dba", "dba"], input=script, text=True, capture_output=True, timeout=600, check=True
        )
        assert "*** Error" not in done.stderr, done.stderr
        yield f"http://127.0.0.1:{http}/sparql?default-graph-uri={GRAPH}"
    finally:
        stop(server)


def stop(server: subprocess.Popen[bytes]) -> None:
    """End a server: politely, then by force."""
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _wait(server: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert server.poll() is None, "virtuoso-t ended at once"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError("virtuoso-t does not answer")
