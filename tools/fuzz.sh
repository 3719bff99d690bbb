#!/usr/bin/env bash
# Runs each target of `fuzz/` under libFuzzer: RUNS executions (a million unless said otherwise), beginning with the
# corpus. A find ends the run and is kept in fuzz/finds/<target>/.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${EXECUTIONS:-${RUNS:-1000000}}
targets=${TARGETS:-headers options endpoint conversation script capture frame filter analysis}
folder=${CARGO_TARGET_DIR:-target}/fuzz

# Coverage for libFuzzer: edges, tables of places, and compared values. No sanitizer is needed, since there is no
# unsafe code in what is tried.
instrumentation="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
# An explicit target keeps build scripts and macros without instrumentation.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS=$instrumentation cargo build --quiet --release --locked --manifest-path fuzz/engine/Cargo.toml \
    --target "$host" --target-dir "$folder"

for target in $targets; do
    printf '==== %s: %s executions\n' "$target" "$runs"
    mkdir -p "fuzz/found/$target" "fuzz/finds/$target"
    "$folder/$host/release/$target" -runs="$runs" -max_len=2000 -timeout=20 -rss_limit_mb=2000 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="fuzz/finds/$target/" "fuzz/found/$target" "fuzz/corpus/$target" \
        2>&1 | grep -v "^Running:\|^INFO" | tail -40
done
