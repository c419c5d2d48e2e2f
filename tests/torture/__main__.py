"""Runs the attacks: `python -m torture [ATTACK ...]`; `make torture` sets the path.

Attacks run one after another, each in a process of its own that is started again when it dies. A run that was stopped
continues where it was, unless the seed is another one. A failure is printed as the command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from torture.attack import Attack, State, attempt, run, temporary
from torture.table import ATTACKS

_HERE = Path(__file__).parent
_CHOICES = ("TORTURE_COMMANDS", "TORTURE_TARGETS")
"""Variables that the number of a case depends on."""


def main() -> int:
    options = _options()
    names = options.attacks or list(ATTACKS)
    if options.case is not None:
        return _one(ATTACKS[names[0]], options.seed, options.case)
    if options.worker:
        attack = ATTACKS[names[0]]
        run(attack, State(options.folder), options.seed, options.tries, options.deadline)
        return 0
    failed = 0
    print(f"{'attack':<14}{'tries':>9}{'failures':>10}{'seconds':>9}")
    for name in names:
        failed += _attack(ATTACKS[name], options, len(names))
    return int(failed > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tries", type=int, help="cases of each attack; default: as in the table")
    parser.add_argument("--hours", type=float, help="attack for so long, in equal parts, instead of a number of cases")
    parser.add_argument("--case", type=int, help="repeat one case of one attack, with its traceback")
    parser.add_argument("--folder", type=Path, default=Path("runs/torture"), help="where the state is")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--deadline", type=float, default=float("inf"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.attacks) - set(ATTACKS)
    if unknown:
        parser.error(f"no attack {', '.join(sorted(unknown))}; there are: {', '.join(ATTACKS)}")
    return options


def _attack(attack: Attack, options: argparse.Namespace, attacks: int) -> int:
    """Run an attack to its end in as many processes as it takes; print and return its failures."""
    folder = (options.folder / f"{attack.name}-{options.seed}").absolute()
    state, began = State(folder), time.time()
    tries, deadline = options.tries or attack.tries, float("inf")
    if options.hours and not attack.fixed:
        tries, deadline = sys.maxsize, began + options.hours * 3600 / attacks
    while state.next < tries and time.time() < deadline:
        before = state.next
        words = [attack.name, "--worker", "--seed", str(options.seed), "--tries", str(tries)]
        words += ["--folder", str(folder), "--deadline", str(deadline)]
        ended = subprocess.run([sys.executable, "-m", "torture", *words], env=environment(attack), check=False)
        if ended.returncode:
            state.fail(state.next, f"the process ended with {ended.returncode}", "")
            state.passed(1)
            if state.next == before + 1:  # not even prepared
                break
    failures = state.failures()
    print(f"{attack.name:<14}{state.tries:>9,}{len(failures):>10,}{time.time() - began:>9.0f}", flush=True)
    kinds = Counter(failure["kind"] for failure in failures)
    for kind, count in kinds.most_common():
        case = next(failure["case"] for failure in failures if failure["kind"] == kind)
        chosen = "".join(f"{name}={os.environ[name]} " for name in _CHOICES if name in os.environ)
        print(f"  {count} x {kind}\n    {chosen}python -m torture {attack.name} --seed {options.seed} --case {case}")
    return len(failures)


def _one(attack: Attack, seed: int, number: int) -> int:
    """Run one case and print its failure."""
    if attack.preloaded and "TORTURE_PRELOADED" not in os.environ:
        os.execve(sys.executable, [sys.executable, "-m", "torture", *sys.argv[1:]], environment(attack))
    with temporary() as folder, attack.cases(folder) as case:
        _, problem = attempt(attack, case, seed, number)
    print("no failure" if problem is None else problem[1])
    return int(problem is not None)


def environment(attack: Attack) -> dict[str, str]:
    """The environment of an attack's process: with `faults.c` preloaded where it needs it."""
    found = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    if attack.preloaded:
        library = Path(tempfile.gettempdir()) / f"torture-faults-{(_HERE / 'faults.c').stat().st_mtime_ns}.so"
        if not library.is_file():
            draft = library.with_suffix(f".{os.getpid()}")
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", draft, _HERE / "faults.c", "-ldl"], check=True)
            draft.replace(library)
        found |= {"LD_PRELOAD": str(library), "TORTURE_PRELOADED": "1"}
    return found


if __name__ == "__main__":
    sys.exit(main())
