#!/usr/bin/env bash
# Check the prerequisites of the build, and print what is missing and how to get it.
#
#   tools/prerequisites.sh build    compilers and Python; exit code 1 if one is missing
#   tools/prerequisites.sh ebpf     what eBPF programs are compiled with; exit code 1 if something is missing, and
#                                   then the core is built without them
#   tools/prerequisites.sh tests    programs that only some tests use; a test that misses one is skipped with
#                                   a printed reason, so nothing fails here. As root with CI=true they are
#                                   installed as Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
missing=0

# is_at_least WANTED FOUND: whether the dotted version FOUND is not older than WANTED.
is_at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

lacks() {
    echo "missing: $1" >&2
    echo "  get it: $2" >&2
    missing=1
}

check_rust() {
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        lacks "rustc and cargo $wanted or newer" "install Rust with rustup (rustup.rs)"
        return
    fi
    found=$(rustc --version | cut -d ' ' -f 2)
    is_at_least "$wanted" "${found%%-*}" || lacks "rustc $wanted or newer (found $found)" "rustup update stable"
}

check_python() {
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        lacks "Python 3.11 or newer as '$python'" "apt-get install python3 python3-venv, or: make PYTHON=/path/to/python3"
    elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        lacks "Python's venv module for '$python'" "apt-get install python3-venv"
    fi
}

check_build() {
    check_rust
    check_python
    command -v cc >/dev/null || lacks "a C compiler as 'cc'" "apt-get install gcc libc6-dev"
    return "$missing"
}

# get WHY PACKAGE...: installs Debian packages, as root with CI=true; else says WHY they would be good.
get() {
    local why=$1
    shift
    local command=(apt-get install -y --no-install-recommends "$@")
    if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        "${command[@]}"
    else
        echo "note: $why without $*; as root: ${command[*]}" >&2
    fi
}

# Whether the C compiler finds a header and a library.
can_link() {
    echo "#include <$1>
int main(void) { return 0; }" | cc -x c - "-l$2" -o /dev/null 2>/dev/null
}

# Debian packages that eBPF programs and their loader are compiled with, as far as they are missing.
missing_for_ebpf() {
    command -v "${CLANG:-clang}" >/dev/null || echo clang
    command -v make >/dev/null || echo make
    command -v "${PKG_CONFIG:-pkg-config}" >/dev/null || echo pkg-config
    can_link libelf.h elf || echo libelf-dev
    can_link zlib.h z || echo zlib1g-dev
}

is_linux() {
    [ "$(uname -s)" = Linux ]
}

check_ebpf() {
    is_linux && [ -z "$(missing_for_ebpf)" ]
}

get_ebpf() {
    local packages
    is_linux || return 0
    mapfile -t packages < <(missing_for_ebpf)
    [ "${#packages[@]}" -eq 0 ] || get "the core is built without eBPF" "${packages[@]}"
}

# Debian packages by the program that each is wanted for.
get_tests() {
    local packages=() program
    for program in tshark tcptrace tcpdump chromium; do
        command -v "$program" >/dev/null || packages+=("$program")
    done
    command -v nft >/dev/null || packages+=(nftables)
    [ "${#packages[@]}" -eq 0 ] || get "some tests will be skipped" "${packages[@]}"
}

case "${1:-}" in
build)
    check_build
    get_ebpf || echo "note: the core is built without eBPF" >&2
    ;;
ebpf) check_ebpf ;;
tests) get_tests ;;
*)
    echo "usage: tools/prerequisites.sh build|ebpf|tests" >&2
    exit 2
    ;;
esac
