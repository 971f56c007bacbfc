#!/usr/bin/env bash
# ./dev fuzz [SECONDS]: every fuzzer for that long (default 20), from its corpus of past finds.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-20}
for fuzzer in build/fuzz/*_fuzz; do
  name=$(basename "$fuzzer")
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  echo "== $name, $seconds s" >&2
  seeds=()
  [ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
    -verbosity=0 -artifact_prefix="build/fuzz/$name-" "$corpus" "${seeds[@]}"
done
