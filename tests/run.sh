#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh <build directory> [<command test>...] - the units (cmocka, as TAP), then the commands (sharness), by prove.
# Without names, all command tests run. KLINEAGE_REPORTS=<directory> receives the reports of sanitizers, named after the test.
set -u
build=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
export KLINEAGE_BUILD="$build"
rc=0

for tool in nvcc clang; do
	command -v $tool >/dev/null || echo "# no $tool here: what needs it is skipped"
done
browser=
for tool in chromium-headless-shell chromium chromium-browser google-chrome; do
	command -v $tool >/dev/null && browser=$tool
done
[ "$browser" ] || echo "# no browser here: reports are not looked at in one"
unshare -Ur true 2>/dev/null || echo "# no user namespaces here: the bubblewrap jail is skipped"

units=$(find "$here/unit" -name 'test_*.c' | sort | sed "s,.*/\(.*\)\.c\$,$build/tests/\1,")
# those that say "# Runs alone" judge by time, and come last, one by one
commands=
alone=
[ $# -gt 0 ] || set -- "$here"/t/[0-9]*.sh
for t in "$@"; do
	if grep -q '^# Runs alone' "$t"; then alone="$alone $t"; else commands="$commands $t"; fi
done
# Prove shows no comments, so all words of a test are kept, and those of what failed are printed last. A command test is run
# verbosely; its results are the lines that count on from the result before.
log=$build/tests/log
rm -rf "$log" && mkdir -p "$log"
cat >"$build/tests/run-one" <<'X'
#!/bin/sh
said=${0%/*}/log/$(basename "$1" .sh)
if [ "${KLINEAGE_REPORTS-}" ]; then
	to=print_suppressions=0:log_exe_name=1:log_path=$KLINEAGE_REPORTS/$(basename "$1" .sh)
	export ASAN_OPTIONS="$to" UBSAN_OPTIONS="print_stacktrace=1:$to"
fi
case $1 in
*.sh)
	cd "$(dirname "$1")" && sh "$1" -v >"$said" 2>&1
	rc=$?
	awk '/^(not )?ok [0-9]/ && $(/^not/ ? 3 : 2) == seen + 1 { seen++; print; next } /^1\.\.[0-9]/ { plan = $0 }
		END { if (plan) print plan }' "$said" ;;
*)
	CMOCKA_MESSAGE_OUTPUT=TAP "$1" >"$said" 2>"$said.err"
	rc=$?
	# cmocka reports a skipped test as "not ok", which prove counts as failed
	sed -i 's/^not \(ok [0-9]* # SKIP\)/\1/' "$said"
	cat "$said.err" >&2
	cat "$said" ;;
esac
[ $rc -eq 0 ] || : >"$said.failed"
exit $rc
X
chmod +x "$build/tests/run-one"
# shellcheck disable=SC2086 # lists of words
prove --timer -j "${KLINEAGE_JOBS:-2}" --exec "$build/tests/run-one" $units $commands || rc=1
# shellcheck disable=SC2086
[ -z "$alone" ] || prove --timer --exec "$build/tests/run-one" $alone || rc=1
for failed in "$log"/*.failed; do
	[ -e "$failed" ] || continue
	name=${failed##*/}
	echo "--- ${name%.failed}: what it said where it failed"
	if [ -e "${failed%.failed}.err" ]; then
		grep -A20 '^not ok' "${failed%.failed}" | grep -v '^ok' | head -n 60
		tail -n 20 "${failed%.failed}.err"
		continue
	fi
	# the last lines of each command that failed
	awk '/^expecting success:/ { n = 0 } /^not ok/ { for (i = n > 25 ? n - 25 : 0; i < n; i++) print line[i]; print; n = 0 }
		{ line[n++] = $0 }' "${failed%.failed}" | cut -c 1-400 | head -n 120
done
exit $rc
