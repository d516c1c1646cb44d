#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/workloads.sh - the shipped CUDA workloads on a GPU: is each contract sound (its audit), and are its
# first and its last state right by it? In three steps, so that only the second needs a GPU:
#
#	workloads.sh pack <dir> [-p] [<template>...]	repositories and bundles; -p: the last state is timed, too
#	workloads.sh run <dir> [<worker>]		klineage-worker does the bundles
#	workloads.sh table <dir>			the results come back; a table of all. Exit 1: one is not right
#
# `workloads.sh all <dir> ...` does the three here. git-klineage is taken from PATH or build/.
# shellcheck disable=SC2015,SC2046,SC2013,SC2086 # names of kernels and templates hold no blanks
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
PATH=$top/build:$PATH
GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@example.invalid GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.invalid
export PATH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

die () {
	echo "workloads.sh: $*" >&2
	exit 2
}

# pack_one <dir> <template> <option>: its first state, without the past that it was not made from, and its last
pack_one () {
	git klineage init --template "$2" "$1/$2" >"$1/$2.log" 2>&1 || { cat "$1/$2.log" >&2; die "no '$2'"; }
	(
		cd "$1/$2" || exit 2
		git tag first "$(git rev-list HEAD | tail -1)"
		git tag last "$(git commit-tree -m last "HEAD^{tree}")"
		git klineage gate $3 --no-note --quiet --runner bundle -o "../$2.tar" first last
	) >>"$1/$2.log" 2>&1
	case $? in
	0 | 1 | 125) echo "$2: $(tar tf "$1/$2.tar" | grep -c '^jobs/') jobs in $1/$2.tar" ;;
	*) tail -4 "$1/$2.log" >&2; die "'$2' cannot be packed" ;;
	esac
}

pack () {
	mkdir -p "$1" && dir=$(cd "$1" && pwd) || die "no directory '$1'"
	shift
	option=--no-profile
	test "$1" = -p && option=--profile && shift
	test $# -gt 0 || set -- $(cd "$top/templates/workloads" && echo cuda-*)
	printf '%s\n' "$@" >"$dir/names"
	echo "$option" >"$dir/option"
	for name; do
		rm -rf "${dir:?}/$name" "$dir/$name.tar" "$dir/$name.results"
		pack_one "$dir" "$name" "$option"
	done
}

run () {
	for name in $(cat "$1/names"); do
		start=$(date +%s)
		"${2:-klineage-worker}" --bundle "$1/$name.tar" -o "$1/$name.results" ||
			echo "$name: the worker ended with $?" >&2
		echo "$name: $(($(date +%s) - start)) s"
	done
}

# row <name> <state>: | workload | state | verdict | worst error | what else |
row () {
	line=$(sed -n "s/^$2: [^:]*: \([a-z-]*\)\( [a-z-]*\)\{0,1\}  (.*/\1\2/p" "$dir/$1.out")
	worst=$(awk -v at="$2: " 'index($0, at) == 1 { f = 1; next } /^[^ ]/ { f = 0 }
		f && /^  correct/ { sub(/^  correct */, ""); print }' "$dir/$1.out")
	why=$(awk -v at="$2: " 'index($0, at) == 1 { f = 1; next } /^[^ ]/ { f = 0 }
		f && !/^  (correct|features|notes)/ { sub(/^ */, ""); printf "%s; ", $0 }' "$dir/$1.out")
	test "$line" = pass || bad=1
	test -n "$line" || why=$(tail -2 "$dir/$1.err" | head -1)
	printf '| %s | %s | %s | %s | %s |\n' "$1" "$2" "${line:--}" "$worst" "$(echo "$why" | sed 's/|/\\|/g')"
}

table () {
	dir=$(cd "$1" && pwd) || die "no directory '$1'"
	bad=0
	echo "| workload | state | verdict | inputs and worst error | what else |"
	echo "| --- | --- | --- | --- | --- |"
	for name in $(cat "$dir/names"); do
		(cd "$dir/$name" && git klineage gate --import "../$name.results") >"$dir/$name.import" 2>&1
		(cd "$dir/$name" && git klineage gate "$(cat "$dir/option")" --no-note --quiet --runner bundle -o ../left.tar \
			first last) >"$dir/$name.out" 2>"$dir/$name.err"
		grep -h 'cannot\|audit' "$dir/$name.import" | head -3
		row "$name" first
		row "$name" last
	done
	return $bad
}

what=$1
test -n "$2" || die "usage: workloads.sh pack|run|table|all <dir>"
shift
case $what in
pack) pack "$@" ;;
run) run "$@" ;;
table) table "$@" ;;
all) pack "$@" && run "$1" && table "$1" ;;
*) die "usage: workloads.sh pack|run|table|all <dir>" ;;
esac
