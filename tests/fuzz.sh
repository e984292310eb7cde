#!/bin/bash
# fuzz.sh PACKAGE TARGET TIME fuzzes one target for a time.
#
# When the time is over just while a worker answers, Go's own coordinator ends
# (go.dev/issue/75804, mended in Go 1.27)
# with "context deadline exceeded" and the target is said to have failed, though
# nothing was found. A finding always comes with more: the input that was
# written down, the place of the complaint, or a panic. So that one line alone,
# without any of these, is no failure.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" 2>&1 | tee "$log"; then
	exit 0
fi
if grep -qx '    context deadline exceeded' "$log" && ! grep -qE 'Failing input|panic|fatal error|[a-z_]+\.go:[0-9]+:|build failed|hung or terminated' "$log"; then
	echo "the time was over, nothing was found"
	exit 0
fi
exit 1
