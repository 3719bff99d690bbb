"""Edits of a kernel's source: three, all in the part that makes it a process (``arch/um``).

The network stack is never touched.

- The timer frequency of User-Mode Linux is fixed at 100 Hz. The edit makes it an option, as on
  other architectures, because retransmission timers count in ticks.
- Kernels since 6.0 draw random numbers from the machine. The edit lets them follow from
  the variable ``FAIRWIND_KERNEL_SEED`` (SplitMix64), so that a seed gives the same bytes.
- The virtual clock becomes a page that processes map (`CLOCK`), because reading it by a system
  call costs as much as sending a packet.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fairwind.errors import FairwindError

FREQUENCY = ("arch/um/Kconfig", "config HZ\n\tint\n\tdefault 100\n", 'source "kernel/Kconfig.hz"\n')

RANDOM_FILE = "arch/um/os-Linux/util.c"
RANDOM_BEFORE = "\treturn getrandom(buf, len, flags);\n"
RANDOM_AFTER = """\
	static unsigned long long state;
	static int seeded;
	const char *seed = getenv("FAIRWIND_KERNEL_SEED");
	unsigned char *out = buf;
	size_t i;

	if (!seed)
		return getrandom(buf, len, flags);
	if (!seeded) {
		state = strtoull(seed, NULL, 10);
		seeded = 1;
	}
	for (i = 0; i < len; i++) {
		unsigned long long z = (state += 0x9e3779b97f4a7c15ULL);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		out[i] = z ^ (z >> 31);
	}
	return len;
"""

CLOCK = Path(__file__).with_name("virtual_clock.c")
"""Goes into the tree as it is."""

CLOCK_EDITS = [
    ("arch/um/kernel/Makefile", "USER_OBJS := config.o\n", "obj-y += virtual_clock.o\n"),
    (
        "arch/um/kernel/time.c",
        "#include <shared/init.h>\n",
        "void fairwind_show_time(unsigned long long ns);\n",
    ),
    ("arch/um/kernel/time.c", "\ttime_travel_time = ns;\n", "\tfairwind_show_time(ns);\n"),
]
"""File, a line of it, and what follows that line then."""

TEXT = "\0".join(
    (*FREQUENCY, RANDOM_BEFORE, RANDOM_AFTER, CLOCK.read_text("utf-8"), *map("".join, CLOCK_EDITS))
)
"""All edits, for digests."""


def apply(tree: Path) -> None:
    """Edit a source tree; what is edited already stays.

    Raises
    ------
    FairwindError
        If the tree has no place for an edit.
    """
    file, before, after = FREQUENCY
    _replace(tree / file, before, after)
    random = tree / RANDOM_FILE
    if "getrandom" in random.read_text(encoding="utf-8"):
        _replace(random, RANDOM_BEFORE, RANDOM_AFTER)
    for name, line, following in CLOCK_EDITS:
        _replace(tree / name, line, line + following)
    shutil.copyfile(CLOCK, tree / "arch/um/kernel" / CLOCK.name)


def _replace(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    if after in text:
        return
    if before not in text:
        raise FairwindError(
            f"cannot patch {file}: it differs from all versions that Fairwind knows",
            "build a version of Debian's linux-source, or report this one as an issue",
        )
    file.write_text(text.replace(before, after), encoding="utf-8")
