#!/usr/bin/env bash
# The demonstration: a session edits a file and runs a command, is killed with SIGKILL in the
# middle of it, and is resumed, reconciled, finished, audited and verified by new processes.
set -euo pipefail

daybook=$(realpath "$1")
scenario=$(dirname "$(realpath "$0")")/demo.toml
place=$(mktemp -d "${TMPDIR:-/tmp}/daybook-demo.XXXXXX")
trap 'rm -rf "$place"' EXIT
export DAYBOOK_HOME=$place/journal
mkdir "$place/workspace"
cd "$place/workspace"
printf 'project: lighthouse\nrelease: March\n' > notes.txt

step() { printf '\n== %s\n' "$*"; }
show() { printf '$ daybook %s\n' "$*"; "$daybook" "$@"; }
expect() {  # expect CODE COMMAND...: a demonstration that goes wrong must say so
  local wanted=$1 code=0
  shift
  show "$@" || code=$?
  [ "$code" = "$wanted" ] || { echo "demo: expected exit code $wanted, got $code" >&2; exit 1; }
}

step "1. A session starts: it reads, edits a file, and runs a long command."
run=(run --session demo --request-id demo-1 --approval-mode bypass-approvals
     --model "script:$scenario" "Correct the release date in notes.txt, then build.")
printf '$ daybook %s\n' "${run[*]}"
"$daybook" "${run[@]}" &
pid=$!
until grep -qs 'build started' build.log; do
  kill -0 "$pid" 2>/dev/null || { echo "demo: the run ended early" >&2; exit 1; }
  sleep 0.05
done

step "2. The process is killed with SIGKILL while the command runs."
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
echo "build.log now holds: $(cat build.log)"

step "3. A new process resumes. The file edit is known; the command's outcome is not, and it is
   neither repeated nor reported as done: a person must say (exit code 5)."
expect 5 resume demo

step "4. A person looks at build.log, sees that the build did not finish, and says so."
expect 0 reconcile demo call-4 --outcome not-applied --note "build.log has no 'build finished' line"

step "5. The session goes on in yet another process, and finishes."
expect 0 resume demo

step "6. The same command again, with the same request id: the first answer, and nothing runs."
before=$(cat build.log)
expect 0 "${run[@]}"
[ "$before" = "$(cat build.log)" ] || { echo "demo: something ran again" >&2; exit 1; }

step "7. The receipts: what ran, by whose decision, and how it ended."
expect 0 audit demo

step "8. The journal is whole: hash chain, digests, blobs, indexes."
expect 0 verify

step "notes.txt and build.log at the end:"
sed 's/^/  /' notes.txt build.log
