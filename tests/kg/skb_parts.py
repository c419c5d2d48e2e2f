"""A small package index, as `apt-cache dumpavail` prints it, and the knowledge base of it."""

from __future__ import annotations

from pathlib import Path

from triplecheck.kg import KnowledgeBase, Triple, build
from triplecheck.kg.documents import Document
from triplecheck.kg.export import raw_of
from triplecheck.kg.readers.debian import parse_stanzas, read_debian

PACKAGES = """\
Package: tmux
Version: 3.3a-3
Installed-Size: 1106
Maintainer: Romain Francoise <rfrancoise@debian.org>
Architecture: amd64
Depends: libc6 (>= 2.34), libevent-core-2.1-7 (>= 2.1.8-stable),
 libtinfo6 (>= 6)
Description: terminal multiplexer
Description-md5: aa
Tag: implemented-in::c, interface::text-mode, role::program,
 works-with::{software:running,text}
Section: admin

Package: screen
Version: 4.9.0-4
Installed-Size: 1029
Maintainer: "Axel Beckert" <abe@debian.org>
Depends: libc6:any (>= 2.34), libtinfo6 | libncurses6 [linux-any]
Suggests: byobu | screenie
Description: terminal multiplexer with VT100/ANSI terminal emulation
Tag: implemented-in::c, interface::text-mode, role::program
Section: misc

Package: byobu
Version: 5.133-1
Installed-Size: 600
Maintainer: Jason Pleau <jason@jpleau.ca>
Depends: tmux | screen, python3
Recommends: screen
Enhances: screen
Description: text window manager, shell multiplexer, integrated DevOps environment
 Byobu is a profile for the
 multiplexer of your choice.
 .
 It includes:
  * status notifications
Tag: implemented-in::python, interface::text-mode, role::program
Section: misc

Package: ngrep
Version: 1.47
Installed-Size: 80
Source: ngrep (1.47+ds1)
Maintainer: Romain Francoise <RFrancoise@debian.org>
Depends: libc6, libpcap0.8
Provides: packet-grep (= 1)
Description: grep for network traffic
Section: net

Package: libc6
Version: 2.36-9
Installed-Size: 12986
Source: glibc
Maintainer: GNU Libc Maintainers <debian-glibc@lists.debian.org>
Description: GNU C Library: Shared libraries
Section: libs

Package: tmux
Version: 9
Maintainer: Nobody <nobody@example.org>
Description: a second stanza of the same name
Section: doc
"""
TRANSLATIONS = """\
Package: tmux
Description-md5: aa
Description-en: terminal multiplexer
 tmux enables a number of terminals
 to be accessed and controlled from one.
 .
 It offers a choice of vim or Emacs key layouts.
"""


def debian(folder: Path, encoder: str | None = None) -> KnowledgeBase:
    """The knowledge base of the small index."""
    packages, known = (parse_stanzas(text.encode().splitlines(), "index") for text in (PACKAGES, TRANSLATIONS))
    raw, documents = read_debian(packages, known)
    return build(raw, folder / "kb", documents=documents, encoder=encoder)


def numbered(folder: Path, count: int) -> KnowledgeBase:
    """So many nodes with a short document each, and an encoder; no vector of a node is made yet."""
    raw = raw_of([Triple(f"n{n}", "next", f"n{(n + 1) % count}") for n in range(count)], [])
    documents = [Document(f"d{n}", f"n{n}", "", f"Number {n}.") for n in range(count)]
    return build(raw, folder, documents=documents, encoder="all-MiniLM-L6-v2")
