"""`triplecheck serve` from the command line."""

from __future__ import annotations

import socket
from pathlib import Path

from cli_support import Run, refused


def test_listening_on_a_network_needs_keys(run: Run, kb: Path) -> None:
    refused(run("serve", "--kb", kb, "--host", "0.0.0.0"), "name their keys in triplecheck.toml")


def test_a_short_key_is_refused(run: Run, kb: Path, elsewhere: Path) -> None:
    (elsewhere / "triplecheck.toml").write_text("[serve.keys.alice]\nkey_env = 'ALICE'\n", "utf-8")
    refused(run("serve", "--kb", kb, ALICE="short"), "the variable ALICE has 5 characters")


def test_a_wrong_key_of_the_table_is_named(run: Run, kb: Path, elsewhere: Path) -> None:
    (elsewhere / "triplecheck.toml").write_text("[serve]\nprot = 8080\n", "utf-8")
    refused(run("serve", "--kb", kb), "unknown key 'serve.prot'; the keys are host, port")


def test_a_port_in_use_is_named(run: Run, kb: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        result = run("serve", "--kb", kb, "--port", other.getsockname()[1])
    assert result.exit_code == 2
    assert "choose another --port" in result.output
