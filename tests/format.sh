#!/usr/bin/env bash
# ./dev format: clang-format every source file, then clang-tidy the ones that changed since the
# main branch (all of them with --all). --check only says what is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=-i
every=no
for argument in "$@"; do
  case "$argument" in
    --check) mode="--dry-run --Werror" ;;
    --all) every=yes ;;
    *) echo "format: unknown option '$argument'; there are --check and --all" >&2; exit 2 ;;
  esac
done
mapfile -t files < <(git ls-files -co --exclude-standard '*.cc' '*.h')
# shellcheck disable=SC2086  # mode is one or two words
clang-format $mode "${files[@]}"

[ -f build/release/compile_commands.json ] || ./dev build release
if [ "$every" = yes ]; then
  mapfile -t sources < <(git ls-files -co --exclude-standard '*.cc' ':!tests')
else
  base=$(git rev-parse -q --verify origin/main || git rev-parse HEAD)
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" -- '*.cc' ':!tests')
fi
[ "${#sources[@]}" -eq 0 ] || printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy --quiet -p build/release --extra-arg=-Wno-unknown-warning-option
