#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/cheats.sh - cheating and odd device kernels (tests/cheats/cuda) on a GPU, in three steps, so
# that only the second needs one:
#
#	cheats.sh pack <dir> [<name>...]	a repository and a bundle; what is decided without a GPU
#	cheats.sh run <dir> [<worker>]		klineage-worker does the bundle
#	cheats.sh table <dir>			the results come back; a table of all. Exit 1: one is not as it must be
#
# CHEATS names another directory of kernels (tests/cheats/cuda-host: with host code of their own;
# tests/cheats/cuda-cutlass: built of CUTLASS, whose headers KLINEAGE_CUTLASS says).
# `cheats.sh all <dir>` does the three here. git-klineage is taken from PATH or build/.
# shellcheck disable=SC2015,SC2046,SC2013,SC2086 # names of kernels and templates hold no blanks
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cheats=${CHEATS:-$top/tests/cheats/cuda}
PATH=$top/build:$PATH
GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@example.invalid GIT_AUTHOR_DATE=2026-01-01T00:00:00Z
GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.invalid GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
export PATH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
. "$top"/tests/cheats/cuda/lib.sh

die () {
	echo "cheats.sh: $*" >&2
	exit 2
}

pack () {
	mkdir -p "$1" && dir=$(cd "$1" && pwd) || die "no directory '$1'"
	shift
	rm -rf "$dir/repo" "$dir/jobs.tar" "$dir/results"
	cheat_repo "$cheats" "$dir/repo" || die "no repository in '$dir'"
	test $# -gt 0 || set -- $(cheat_names "$cheats")
	printf '%s\n' "$@" >"$dir/names"
	(cd "$dir/repo" && git klineage gate --profile --quiet --runner bundle -o ../jobs.tar "$@") \
		>"$dir/here.out" 2>"$dir/here.err"
	case $? in
	0 | 1 | 125) ;;
	*) cat "$dir/here.err" >&2; die "the gate ended with $?" ;;
	esac
	echo "$(wc -l <"$dir/names") kernels, $(grep -c '^[ra][a-z]*/' "$dir/here.out") decided here," \
		"$(tar tf "$dir/jobs.tar" | grep -c '^jobs/') jobs in $dir/jobs.tar"
}

run () {
	start=$(date +%s)
	"${2:-klineage-worker}" --bundle "$1/jobs.tar" -o "$1/results" || die "the worker ended with $?"
	echo "$(grep -c '"job"' "$1/results") results in $(($(date +%s) - start)) s"
}

# part <event> <member>: the text of a member that stands at the top of an event
part () {
	echo "$1" | sed -n "s/.*\"$2\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" | sed 's/\\\(["\\]\)/\1/g'
}

# row <name>: | name | wanted | got | message | ok |; the message without the command that replays it here
row () {
	want=$(cheat_wants "$cheats" "$1")
	event=$(git -C "$dir/repo" notes --ref=klineage/gate show "$1" 2>/dev/null | grep '^{' | tail -n 1)
	class=$(part "$event" class)
	got=$(part "$event" verdict)${class:+ $class}
	why=$(part "$event" message | sed 's/; replay: .*//' | cut -c 1-200)
	if cheat_ok "$want" "$got"; then ok=yes; else ok=NO; bad=1; fi
	printf '| %s | %s | %s | %s | %s |\n' "$1" "$(echo "$want" | sed 's/|/ or /g')" "${got:--}" \
		"$(echo "$why" | sed 's/|/\\|/g')" $ok
}

table () {
	dir=$(cd "$1" && pwd) || die "no directory '$1'"
	bad=0
	if test -e "$dir/results"; then
		(cd "$dir/repo" && git klineage gate --import ../results) >"$dir/import.out" 2>&1 || tail -3 "$dir/import.out"
	fi
	echo "| kernel | must be | is | what the gate says | ok |"
	echo "| --- | --- | --- | --- | --- |"
	for name in $(cat "$dir/names"); do
		row "$name"
	done
	return $bad
}

what=$1
test -n "$2" || die "usage: cheats.sh pack|run|table|all <dir>"
shift
case $what in
pack) pack "$@" ;;
run) run "$@" ;;
table) table "$@" ;;
all) pack "$@" && run "$1" && table "$1" ;;
*) die "usage: cheats.sh pack|run|table|all <dir>" ;;
esac
