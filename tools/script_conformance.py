"""Run the kernel's own packetdrill scripts on every engine and write the page: `make conformance`.

    python tools/script_conformance.py [--scripts DIR | --version 7.3] [--engines NAME...]
        [--original PROGRAM] [--jobs N] [--page FILE]

The scripts are those of the kernel's selftests (tools/testing/selftests/net/packetdrill): in a
folder, or taken from Debian's package linux-source-VERSION, which apt has to offer. Each is run
with the IP versions and arguments that the kernel's runner gives it. Engines are `sim:PROFILE`,
`kernel` (the running one; root) and built kernels by their names; by default our endpoint with the
profiles of current kernels, the running kernel where it can be used, and the built ones where there
are any.

--original also runs the tool that the language comes from, where one is installed, and tells where
its verdicts differ from ours on the running kernel.

Exit code: 0 the page is written, 2 something is missing.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from importlib import import_module
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.packetdrill import FollowSettings, Verdict, find_scripts, follow, kernel_problem

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "conformance-scripts.md"
REASONS = ROOT / "docs" / "conformance-scripts.toml"
INSIDE = "tools/testing/selftests/net/packetdrill"
PROFILES = ("linux-6.18", "linux-7.3")
# Real time is never quite on time: a script on the kernel is tried so often.
TRIES = 6

V4 = {
    "local_ip": "192.168.0.1",
    "gateway_ip": "192.168.0.1",
    "netmask_ip": "255.255.0.0",
    "remote_ip": "192.0.2.1",
}
# What the kernel's runner gives to each IP version; names such as TFO_COOKIE follow from it.
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "ipv4": {"ip_version": "ipv4", **V4},
    "ipv6": {
        "ip_version": "ipv6",
        "mtu": "1520",
        "local_ip": "fd3d:0a0b:17d6::1",
        "gateway_ip": "fd3d:0a0b:17d6:8888::1",
        "remote_ip": "fd3d:fa7b:d17d::1",
    },
    "ipv4-mapped-ipv6": {"ip_version": "ipv4-mapped-ipv6", **V4},
}
# The same for the tool itself, which does not define the names.
NAMES: Mapping[str, Sequence[str]] = {
    version: [
        f"-DTFO_COOKIE={cookie}",
        f"-DTFO_COOKIE_ZERO={zero}",
        f"-DCMSG_LEVEL_IP=SOL_IP{six}",
        f"-DCMSG_TYPE_RECVERR=IP{six}_RECVERR",
    ]
    for version, cookie, zero, six in (
        ("ipv4", "3021b9d889017eeb", "b7c12350a90dc8f5", ""),
        ("ipv6", "c1d1e9742a47a9bc", "82af1a8f9a205c34", "V6"),
        ("ipv4-mapped-ipv6", "3021b9d889017eeb", "b7c12350a90dc8f5", "V6"),
    )
}


@dataclass(frozen=True)
class Result:
    """What became of a script with one IP version on one engine."""

    verdict: str
    message: str = ""

    @property
    def passed(self) -> bool:
        """Whether the engine keeps to the script."""
        return self.verdict == Verdict.PASSED


def main() -> int:
    """Run everything and write the page."""
    arguments = _arguments()
    try:
        engines = arguments.engines or default_engines()
        with scripts_in(arguments.scripts, arguments.version) as (folder, source):
            scripts = find_scripts([folder])
            table = {
                engine: results(scripts, partial(run, engine=engine), arguments.jobs)
                for engine in engines
            }
            if arguments.original:
                original = partial(run_original, program=arguments.original)
                table["original"] = results(scripts, original, arguments.jobs)
        arguments.page.write_text(page(scripts, table, source), encoding="utf-8")
    except FairwindError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for engine, of_scripts in table.items():
        print(f"{engine}: {passed(of_scripts)} of {len(scripts)} scripts")
    if arguments.original and "kernel" in table:
        tell_disagreements(table["kernel"], table["original"])
    print(arguments.page)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scripts", type=Path, metavar="DIR", help="folder with the scripts")
    parser.add_argument("--version", default="7.3", help="of the package linux-source-VERSION")
    parser.add_argument("--engines", nargs="*", metavar="NAME", help="sim:PROFILE, kernel, ...")
    parser.add_argument("--original", metavar="PROGRAM", help="the tool that the language is of")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args()


def default_engines() -> list[str]:
    """List the engines that there are."""
    engines = [f"sim:{profile}" for profile in PROFILES if _has_profile(profile)]
    if kernel_problem() is None:
        engines.append("kernel")
    try:
        kernels = import_module("fairwind.kernels")
    except ModuleNotFoundError:
        return engines
    return engines + [kernel.name for kernel in kernels.built_kernels()]


def _has_profile(profile: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.pkt"
        script.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", encoding="utf-8")
        try:
            return follow(script, FollowSettings(profile=profile)).verdict is Verdict.PASSED
        except FairwindError:
            return False


@contextmanager
def scripts_in(folder: Path | None, version: str) -> Iterator[tuple[Path, str]]:
    """Give a folder with the scripts, and say where they are from."""
    if folder is not None:
        yield folder, source_name(folder)
        return
    with tempfile.TemporaryDirectory(prefix="fairwind-scripts-") as place:
        work = Path(place)
        name = f"linux-source-{version}"
        _command(["apt-get", "download", name], work)
        packages = list(work.glob("*.deb"))
        if not packages:
            raise FairwindError(f"apt offers no {name}", "name a folder with --scripts")
        _command(["dpkg-deb", "--extract", str(packages[0]), "."], work)
        archive = next(work.glob("usr/src/linux-source-*.tar.xz"))
        wanted = f"linux-source-{version}/{INSIDE}"
        _command(["tar", "--extract", "--file", str(archive), wanted], work)
        yield work / wanted, f"Linux {version} ({packages[0].name})"


def source_name(folder: Path) -> str:
    """Say which kernel's sources a folder belongs to."""
    for above in folder.resolve().parents:
        makefile = above / "Makefile"
        if (above / "Kbuild").exists() or above.name.startswith("linux-source-"):
            text = makefile.read_text(encoding="utf-8") if makefile.exists() else ""
            numbers = re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)$", text, re.M)
            release = ".".join(numbers) or above.name.removeprefix("linux-source-")
            return f"Linux {release}"
    return str(folder)


def _command(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FairwindError(f"{' '.join(command)}: {done.stderr.strip()}")


def versions_of(script: Path) -> list[str]:
    """List the IP versions that a script is run with."""
    own = re.findall(r"^--ip_version=(\S+)", script.read_text(encoding="utf-8"), re.M)
    return own or list(ARGUMENTS)


def results(
    scripts: Sequence[Path], run_one: Callable[[Path, str], Result], jobs: int
) -> dict[tuple[Path, str], Result]:
    """Run all scripts with all their IP versions, several at once."""
    cases = [(script, version) for script in scripts for version in versions_of(script)]
    with ThreadPoolExecutor(jobs) as pool:
        told = list(pool.map(lambda case: run_one(*case), cases))
    return dict(zip(cases, told, strict=True))


def run(script: Path, version: str, *, engine: str) -> Result:
    """Run one script with one IP version."""
    on, _, profile = engine.partition(":")
    settings = FollowSettings(
        on=on, profile=profile or FollowSettings.profile, options=ARGUMENTS[version]
    )
    for _ in range(TRIES if on == "kernel" else 1):
        outcome = follow(script, settings)
        if outcome.verdict is Verdict.PASSED:
            break
    place = f"line {outcome.line}: " if outcome.line else ""
    return Result(outcome.verdict, f"{place}{outcome.message}" if outcome.message else "")


def run_original(script: Path, version: str, *, program: str) -> Result:
    """Run one script with the tool that the language comes from."""
    lines = [f"--{name}={value}" for name, value in ARGUMENTS[version].items()]
    command = ["unshare", "-n", program, *lines, *NAMES[version], script.name]
    for _ in range(TRIES):
        done = subprocess.run(
            command, cwd=script.parent, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return Result(Verdict.PASSED)
    said = (done.stderr or done.stdout).strip().splitlines()
    return Result(Verdict.FAILED, said[-1] if said else f"exit code {done.returncode}")


Table = Mapping[tuple[Path, str], Result]


def passed(of_scripts: Table) -> int:
    """Count the scripts that pass with all their IP versions."""
    scripts = {script for script, _ in of_scripts}
    failed = {script for (script, _), result in of_scripts.items() if not result.passed}
    return len(scripts - failed)


def tell_disagreements(ours: Table, original: Table) -> None:
    """Print where the tool's verdict on the running kernel is another than ours."""
    for (script, version), result in ours.items():
        if result.passed != original[script, version].passed:
            says = f"ours {result.verdict}, original {original[script, version].verdict}"
            print(f"  {script.name} ({version}): {says}")


def page(scripts: Sequence[Path], table: Mapping[str, Table], source: str) -> str:
    """Write the page: who passes, script by script, and why where one does not."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    names = {engine: _heading(engine) for engine in table}
    lines = [
        "<!-- Made by `make conformance`; a change made here is lost. -->",
        "",
        "# The kernel's own packetdrill scripts",
        "",
        f"The {len(scripts)} scripts of the selftests of {source}, run with our interpreter and",
        "the arguments of the kernel's runner. A script passes if it does with every IP version",
        "that it is run with; otherwise the share of them is written. The reason is what the first",
        "one that did not pass told, and what is known of it.",
        "",
        "| engine | scripts that pass |",
        "|---|---|",
        *(f"| {names[engine]} | {passed(table[engine])} of {len(scripts)} |" for engine in table),
        "",
        f"| script | {' | '.join(names[engine] for engine in table)} |",
        f"|---|{'---|' * len(table)}",
    ]
    for script in scripts:
        marks = [_mark(of_scripts, script) for of_scripts in table.values()]
        lines.append(f"| {script.stem} | {' | '.join(marks)} |")
    for engine, of_scripts in table.items():
        told = [(script, _first_message(of_scripts, script)) for script in scripts]
        broken = [(script, message) for script, message in told if message is not None]
        if not broken:
            continue
        lines += ["", f"## Where {names[engine]} differs", ""]
        for script, message in broken:
            reason = _reason(reasons.get(engine.partition(":")[0], {}), script)
            lines.append(f"- {script.stem}: `{message}`{reason}")
    return "\n".join(lines) + "\n"


def _heading(engine: str) -> str:
    on, _, profile = engine.partition(":")
    if on == "sim":
        return f"our endpoint, {profile}"
    if on == "kernel":
        return f"running kernel {platform.release()}"
    return "the original tool" if on == "original" else on


def _mark(of_scripts: Table, script: Path) -> str:
    told = [of_scripts[script, version] for version in versions_of(script)]
    good = sum(result.passed for result in told)
    if good == len(told):
        return "yes"
    if all(result.verdict == Verdict.UNSUPPORTED for result in told):
        return "unsupported"
    return f"{good} of {len(told)}" if good else "no"


def _reason(known: Mapping[str, str], script: Path) -> str:
    """Tell what is known of a script that does not pass; names in the file may be patterns."""
    found = [reason for pattern, reason in known.items() if fnmatch(script.stem, pattern)]
    return f". {found[0]}" if found else ""


def _first_message(of_scripts: Table, script: Path) -> str | None:
    for version in versions_of(script):
        result = of_scripts[script, version]
        if not result.passed:
            return result.message.replace("`", "'").replace("\n", "; ")
    return None


if __name__ == "__main__":
    raise SystemExit(main())
