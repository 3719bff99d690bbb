#!/usr/bin/env bash
# Run all parts of the tests, even if one fails, and print how many tests were skipped and why.
#
#   tools/test.sh TARGET...    targets of the Makefile; exit code 1 if any has failed
set -uo pipefail
cd "$(dirname "$0")/.."

FAIRWIND_SKIPPED_TESTS=$(mktemp)
export FAIRWIND_SKIPPED_TESTS
trap 'rm -f "$FAIRWIND_SKIPPED_TESTS"' EXIT

failed=()
for target in "$@"; do
    "${MAKE:-make}" --no-print-directory "$target" || failed+=("$target")
done

echo
for suite in Rust Python; do
    echo "$suite: $(grep -c "^$suite"$'\t' "$FAIRWIND_SKIPPED_TESTS") tests skipped"
    awk -F '\t' -v suite="$suite" '$1 == suite { print $3 }' "$FAIRWIND_SKIPPED_TESTS" | sort | uniq -c | sort -rn
done
if [ "${#failed[@]}" -gt 0 ]; then
    echo "FAILED: ${failed[*]}"
    exit 1
fi
