#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/seconds.sh - seconds from source to verdict, on the machine that has the GPU:
#
#	seconds.sh <dir> [<template>...]	writes <dir>/log, which docs.sh makes a table of
#
# The last state of a template is judged alone and then with the three states before it, each with a profile, nothing
# taken from a cache; what three more take says what one more takes. The first state is judged alone.
# git-klineage, klineage-worker and nvcc are taken from PATH or build/. SECONDS_LIMIT: for one of these (85).
# SECONDS_STATES: which of these (default: "last many first"); "stages": the milliseconds of each stage of the worker
# for the last state, compiled before.
# shellcheck disable=SC2015,SC2046
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$here/../.." && pwd)/build:$PATH
GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@example.invalid GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.invalid
export PATH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

die () {
	echo "seconds.sh: $*" >&2
	exit 2
}

# judge <name> <revision>...
judge () {
	name=$1
	shift
	from=$(date +%s.%N)
	(cd "$dir/$name" && timeout "${SECONDS_LIMIT:-85}" git klineage gate --fresh --no-note "$@") \
		>"$dir/out" 2>"$dir/err"
	rc=$?
	took=$(echo "$from $(date +%s.%N)" | awk '{ printf "%.2f", $2 - $1 }')
	echo "[$(($(date +%s) - start)) s] $name $*: rc $rc, $took s"
	sed 's/^/    /' "$dir/out"
	tr '\r' '\n' <"$dir/err" | tail -2 | sed 's/^/    ! /'
}

# judge_inside <name>: what the worker alone takes for the last state, by stages
judge_inside () {
	(cd "$dir/$1" && git klineage gate --fresh --no-note --runner bundle -o "../$1.jobs" last) >"$dir/out" 2>"$dir/err" ||
		test -s "$dir/$1.jobs" || return 0
	rm -f "$dir/$1.results"
	timeout "${SECONDS_LIMIT:-85}" klineage-worker --bundle "$dir/$1.jobs" -o "$dir/$1.results" >/dev/null 2>"$dir/err"
	echo "[$(($(date +%s) - start)) s] $1 stages: $(sh "$here/stages.sh" "$dir/$1.results")"
}

test -n "$1" || die "usage: seconds.sh <dir> [<template>...]"
mkdir -p "$1" && dir=$(cd "$1" && pwd) || die "no directory '$1'"
shift
test $# -gt 0 || set -- cuda-gemm cuda-topk
start=$(date +%s)
{
	date -u +%Y-%m-%d
	nvidia-smi --query-gpu=name,uuid,driver_version --format=csv,noheader,nounits | sed 's/$/,/'
	nvcc --version | grep release
	for template; do
		name=${template#cuda-}
		rm -rf "${dir:?}/$name"
		git klineage init --template "$template" "$dir/$name" >/dev/null 2>&1 || die "no template '$template'"
		git -C "$dir/$name" tag first "$(git -C "$dir/$name" rev-list HEAD | tail -1)"
		# each without a parent, which would be judged as well
		for i in 0 1 2 3; do
			tree=$(git -C "$dir/$name" rev-parse -q --verify "HEAD~$i^{tree}") || continue
			git -C "$dir/$name" tag s$i "$(git -C "$dir/$name" commit-tree -m s$i "$tree")"
		done
		git -C "$dir/$name" tag last s0
		for which in ${SECONDS_STATES:-last many first}; do
			case $which in
			stages) judge_inside "$name" ;;
			many) judge "$name" last $(git -C "$dir/$name" tag -l 's[1-3]') ;;
			*) judge "$name" "$which" ;;
			esac
		done
	done
} >"$dir/log"
