#!/usr/bin/env bash
# Compile the core with profile-guided optimization, for this machine's processor: `make tuned`.
#
# Results are the same to the byte, in some 17 % less time; worth a quarter of an hour of compiling before a study that takes an hour. The
# core is compiled with instrumentation, runs the scenarios below, and is compiled again with the profile. It replaces the usual core until
# `make build` finds changed sources. If `make tuned` fails, the next `make build` compiles the core again. Arguments go to maturin.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$PWD/target/tuned
core=python/fairwind/_core.abi3.so
fairwind=.venv/bin/fairwind
profdata=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/llvm-profdata

if [ ! -x "$profdata" ]; then
    echo "missing: llvm-profdata of this compiler, which merges what was counted" >&2
    echo "  get it: rustup component add llvm-tools" >&2
    exit 1
fi

# develop FOLDER FLAGS MATURIN...: puts a core in place that is compiled with these flags.
develop() {
    local folder=$1 flags=$2
    shift 2
    # Divided by the character 31, so that folders may have blanks in their names.
    CARGO_ENCODED_RUSTFLAGS="$flags"$'\x1f'-Ctarget-cpu=native CARGO_TARGET_DIR=$home/$folder VIRTUAL_ENV=$PWD/.venv PIP_QUIET=1 \
        .venv/bin/maturin develop --release --locked "$@"
}

# run SCENARIO SETTING...: one simulation of each cell, which nobody looks at.
run() {
    local scenario=$1 setting settings=()
    shift
    for setting in "$@"; do
        settings+=(--set "$setting")
    done
    "$fairwind" run "$scenario" --out "$home/run" --force --format json "${settings[@]}" >/dev/null
}

# Until the tuned core is in place, a failure takes the one away that counts.
done=no
take_away() {
    [ $done = yes ] || rm -f "$core"
}
trap take_away EXIT

mkdir -p "$home"
develop counting "-Cprofile-generate=$home/counted" "$@"
# What build scripts have counted.
rm -rf "$home/counted"
echo "counting what the core does"
study=studies/congestion_control_evaluation
run $study/symmetric.toml 'sweep.repeat=1' 'sweep.path.rtt=["22 ms", "162 ms"]' 'sweep.path.queue.limit=["20 % bdp"]' \
    'sweep.bandwidth={ "100 Mbit/s" = { "path.rate" = "100 Mbit/s", duration = "60 s", "measure.warmup" = "10 s" } }'
run $study/rtt-unfairness.toml 'sweep.repeat=1' 'sweep.rtt=["22 ms"]' 'sweep.limit=["20 % bdp"]' \
    'sweep.bandwidth={ "100 Mbit/s" = { "path.rate" = "100 Mbit/s", duration = "60 s", "measure.warmup" = "10 s" } }'
for name in A B C D; do
    run benches/scenarios/$name.toml
done
"$profdata" merge --output "$home/profile" "$home/counted"

develop following "-Cprofile-use=$home/profile" "$@"
done=yes
rm -rf "$home/run" "$home/counted"
