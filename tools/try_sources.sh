#!/usr/bin/env bash
# Unpacks the source distribution in a folder, and checks that everything is there that the core is compiled of.
set -euo pipefail

archive=$(ls "$1"/fairwind-*.tar.gz)
target=$(realpath "${CARGO_TARGET_DIR:-target}")
place=$(mktemp --directory)
trap 'rm -rf "$place"' EXIT
# As new files: those in the archive are all of one old day, and cargo would take what it checked of an earlier archive.
tar --extract --touch --gzip --file "$archive" --directory "$place" --strip-components 1
# Not with --locked: what only the rest of the repository needs is left out of its lock file.
cargo check --quiet --manifest-path "$place/Cargo.toml" --target-dir "$target" --package fairwind-python
test -s "$place/python/fairwind/cli/__init__.py"
echo "$(basename "$archive"): $(($(stat --format %s "$archive") >> 10)) KiB, its core compiles"
