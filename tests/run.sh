#!/usr/bin/env bash
# ./dev test: everything that must hold, on a fresh clone. CI runs exactly this.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '== %s (%s s)\n' "$*" "$SECONDS" >&2; }

./dev build release
step "tests"
ctest --test-dir build/release --output-on-failure "$@"
step "demonstration"
./dev run > build/release/demo.out 2>&1 || { cat build/release/demo.out; exit 1; }
step "benchmarks still run; their figures are not judged here"
build/release/daybook_bench fold > build/release/bench.out 2>&1 || [ $? -eq 1 ] || { cat build/release/bench.out; exit 1; }
step "done"
