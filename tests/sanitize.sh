#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/sanitize.sh <build directory> - the tests of `make check SANITIZE=1`: all units, and the commands gate, deopt and chat.
# It fails if a test fails, or if a process that a test started wrote a report of a sanitizer.
set -u
build=$1
here=$(cd "$(dirname "$0")" && pwd)
reports=$build/reports
skipped=
rc=0

# skip <test> <reason>: leave out this command test
skip () {
	echo "# skipped: $1: $2"
	skipped="$skipped $1"
}

skip 0410-fault.sh "the program with fault points is built without sanitizers"
skip 0412-chat-fault.sh "the program with fault points is built without sanitizers"
echo "# skipped: 0240-gate-trouble.sh, 'little memory' and 'no /proc': a sanitizer needs terabytes of address space and /proc/self/maps"
echo "# skipped: test_worker_escape, 'the_worker_hides': the leak check traces the worker"
echo "# skipped: test_worker_gpu, 'test_hangs_are_known_soon': sanitizers slow down the calls that predict a hang"
echo "# without sanitizers: kernels and the process that calls them, to which the seal leaves no system call"

# the gate, walks by deopt, conversations
set --
for t in "$here"/t/02*.sh "$here"/t/03*.sh "$here"/t/04*.sh "$here"/t/0510-walk-elsewhere.sh "$here"/t/0520-chat.sh \
	"$here"/t/07*.sh; do
	case " $skipped " in *" ${t##*/} "*) ;; *) set -- "$@" "$t" ;; esac
done

# tests run programs as other users, too
rm -rf "$reports" && mkdir -p "$reports" && chmod 1777 "$reports" || exit 1
# one second: of the kernels of tests/cheats, ten of each kind
KLINEAGE_REPORTS=$reports KLINEAGE_CHEATS_SECONDS=1 "$here/run.sh" "$build" "$@" || rc=1

# a process without the variables that name a file writes its report to stderr
report="Sanitizer|: runtime error: |ERROR: Can't open file: "
found=$build/tests/reported
find "$reports" -type f >"$found"
grep -lE "$report" "$build"/tests/log/*.err >>"$found"
while read -r file; do
	echo "--- a sanitizer reports in $file:"
	grep -m 1 -E "$report" "$file"
	grep -m 4 '^ *#[0-9]' "$file"
done <"$found"
units=$(find "$here/unit" -name 'test_*.c' | wc -l)
failed=$(find "$build/tests/log" -name '*.failed' | wc -l)
n=$(wc -l <"$found")
echo "$units unit tests, $# command tests, $(echo "$skipped" | wc -w) skipped by name: $failed failed, $n reports of sanitizers"
[ "$n" -eq 0 ] || rc=1
exit $rc
