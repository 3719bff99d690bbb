#!/usr/bin/env bash
# Installs the wheel in a folder into an empty environment, without compilers, and does the main job with it.
set -euo pipefail

folder=$(cd "$1" && pwd)
wheel=$(ls "$folder"/fairwind-*.whl)
most_bytes=$((30 << 20))
bytes=$(stat --format %s "$wheel")
if [ "$bytes" -gt "$most_bytes" ]; then
    echo "$wheel has $bytes bytes, more than $most_bytes" >&2
    exit 1
fi
case $wheel in
    *-abi3-manylinux*) ;;
    *) echo "$wheel is no abi3 wheel for manylinux" >&2; exit 1 ;;
esac

place=$(mktemp --directory)
trap 'rm -rf "$place"' EXIT
"${PYTHON:-python3}" -m venv "$place/venv"
# Only the environment itself is in the path, so nothing can be compiled.
env --chdir="$place" PATH="$place/venv/bin" PYTHONPATH= \
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$wheel"
run() { env --chdir="$place" --unset=PYTHONPATH PATH="$place/venv/bin:/usr/bin:/bin" "$@"; }

run fairwind --version
run fairwind init --help > /dev/null
run fairwind run tcp-up-down --set duration='"20 s"' --set repeat=1 --yes --out run > "$place/table"
test -s "$place/table"
test -s "$place/run/groups.parquet"
run fairwind report run
test -s "$place/run/report.html"

# The other extras resolve, to packages that need no compiler either.
env --chdir="$place" PATH="$place/venv/bin" PYTHONPATH= \
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --dry-run --only-binary :all: "$wheel[cluster,pandas,tune]"

# One-shot use, without an environment that anybody has made.
if uvx=$(command -v uvx); then
    env --chdir="$place" --unset=PYTHONPATH "$uvx" --quiet --from "$wheel" fairwind --version
else
    echo "one-shot use is not tried: uvx is not there (pip install uv)"
fi

# The extra `studies` takes the wheel beside it; nothing else is needed.
env --chdir="$place" PATH="$place/venv/bin" PYTHONPATH= \
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$folder" "fairwind[studies]"
run fairwind study > "$place/studies"
grep --quiet application-limited-streams "$place/studies"
echo "$(basename "$wheel"): $((bytes >> 20)) MiB, installs without a compiler, runs and reports"
