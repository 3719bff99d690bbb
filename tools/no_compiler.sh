#!/bin/sh
# A C compiler that compiles nothing: `cargo check` for another system needs no object files, but the build
# scripts of C libraries insist on some.
for argument in "$@"; do
    [ "${previous:-}" = -o ] && : > "$argument"
    previous=$argument
done
