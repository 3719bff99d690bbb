"""Sources, configuration and catalogue of kernels for virtual time; nothing is compiled."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from fairwind.errors import FairwindError
from fairwind.kernels import catalogue, configuration, edits, sources
from fairwind.kernels.catalogue import BuiltKernel, built_kernels, kernel_named, remove

MAKEFILE = "# comment\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = x\n"


@pytest.fixture
def tree(tmp_path) -> Path:
    um = tmp_path / "linux" / "arch" / "um"
    (um / "os-Linux").mkdir(parents=True)
    (um / "Kconfig").write_text("config HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n")
    (um / "os-Linux" / "util.c").write_text(
        f"ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)\n"
        f"{{\n{edits.RANDOM_BEFORE}}}\n"
    )
    (um / "kernel").mkdir()
    (um / "kernel" / "Makefile").write_text("USER_OBJS := config.o\n")
    (um / "kernel" / "time.c").write_text(
        "#include <shared/init.h>\n"
        "static void time_travel_set_time(unsigned long long ns)\n"
        "{\n\ttime_travel_time = ns;\n}\n"
    )
    (tmp_path / "linux" / "Makefile").write_text(MAKEFILE)
    return tmp_path / "linux"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return catalogue.cache()


def put(release: str, frequency: int = 250, digest: str = "0123456789") -> BuiltKernel:
    kernel = BuiltKernel(release, frequency, digest, "test", "gcc", has_seccomp=False, lacking=[])
    kernel.folder.mkdir(parents=True)
    kernel.program.write_bytes(b"")
    kernel.write(kernel.folder)
    return kernel


def test_edits_are_applied_once(tree):
    names = (edits.FREQUENCY[0], edits.RANDOM_FILE, *{name for name, _, _ in edits.CLOCK_EDITS})
    edits.apply(tree)
    once = {name: (tree / name).read_text() for name in names}
    assert "kernel/Kconfig.hz" in once["arch/um/Kconfig"]
    assert "FAIRWIND_KERNEL_SEED" in once["arch/um/os-Linux/util.c"]
    assert "obj-y += virtual_clock.o\n" in once["arch/um/kernel/Makefile"]
    assert "\tfairwind_show_time(ns);\n}" in once["arch/um/kernel/time.c"]
    assert (tree / "arch/um/kernel/virtual_clock.c").read_bytes() == edits.CLOCK.read_bytes()
    edits.apply(tree)
    assert once == {name: (tree / name).read_text() for name in names}


def test_source_without_place_for_edits_is_refused(tree):
    (tree / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 77\n")
    with pytest.raises(FairwindError, match=r"cannot patch .*it differs from all versions"):
        edits.apply(tree)


def test_release_is_read_from_the_tree(tree):
    assert sources.release_of(tree) == "6.12.117"


def test_tarball_is_unpacked_without_its_folder(tree, tmp_path):
    tarball = tmp_path / "linux.tar.xz"
    with tarfile.open(tarball, "w:xz") as archive:
        archive.add(tree, "linux-source-6.12")
    sources.unpack(sources.source_of_file(tarball), tmp_path / "unpacked")
    assert sources.release_of(tmp_path / "unpacked") == "6.12.117"


def test_other_files_are_no_sources(tmp_path):
    with pytest.raises(FairwindError, match="neither a kernel source tree nor a tarball"):
        sources.source_of_file(tmp_path)


def test_every_fragment_says_why():
    for frequency in configuration.FREQUENCIES:
        for file in configuration.fragments(frequency):
            assert file.read_text().startswith("# "), file.name
            assert configuration.options(file.read_text()), file.name


def test_refused_options_are_listed(tmp_path):
    fragment = tmp_path / "x.config"
    fragment.write_text("CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\n# CONFIG_D is not set\n")
    assert configuration.refused("CONFIG_A=y\nCONFIG_C=y\n", [fragment]) == ["CONFIG_B", "CONFIG_C"]


def test_kernel_is_found_by_version_release_and_frequency(cache):
    old, new, fast = put("6.12.9"), put("6.12.117"), put("6.12.117", 1000)
    assert kernel_named("linux-6.12") == new
    assert kernel_named("linux-6.12.9") == old
    assert kernel_named("linux-6.12-hz1000") == fast
    assert kernel_named(old.folder.name) == old
    assert [one.release for one in built_kernels()].index("6.12.9") == 2


def test_kernel_that_is_not_built_is_named_with_its_command(cache):
    put("6.12.117")
    with pytest.raises(FairwindError, match=r"built are: linux-6.12\n.*fairwind kernel build 5.10"):
        kernel_named("linux-5.10")


def test_removed_kernel_is_gone(cache):
    put("6.12.117")
    remove("linux-6.12")
    assert built_kernels() == []


def test_damaged_description_is_passed_over(cache):
    kernel = put("6.12.117")
    (kernel.folder / catalogue.DESCRIPTION).write_text("{")
    assert built_kernels() == []
