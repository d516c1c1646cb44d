#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/walks.sh - walks templates backward on the machine that has the GPU, under the contracts that they have now:
#
#	walks.sh <dir> [<template>...]	(default: cuda-gemm)
#
# For each template: the attempts that must be refused, then its history. <dir>/log has what the walk says, the lineage, and what
# was refused; <dir>/lineages/<template> is the lineage as `git klineage export` writes it. Exit 1: a walk did not end, or it has
# other steps or refused other attempts than the lineage that is shipped. git-klineage, klineage-worker and nvcc are taken from
# PATH or build/. WALKS_LIMIT: seconds for each walk (150). Where they are not installed, with what everything.sh packed in <p>:
#
#	PATH=<p>/bin:$PATH LD_LIBRARY_PATH=<p>/lib KLINEAGE_SHARE=<p> sh tests/device/walks.sh <dir> cuda-gemm cuda-fmha-causal
# shellcheck disable=SC2015 # `a && b || die` is meant
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
PATH=$PATH:$top/build
GIT_AUTHOR_NAME=git-klineage GIT_AUTHOR_EMAIL=klineage@example.invalid
GIT_COMMITTER_NAME=git-klineage GIT_COMMITTER_EMAIL=klineage@example.invalid
export PATH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
bad=0

die () {
	echo "walks.sh: $*" >&2
	exit 2
}

# missing <what>: say what is not as it must be
missing () {
	echo "WRONG: $*"
	bad=1
}

# found: action and mechanism of each step of the lineage in this repository, and each attempt that was refused
found () {
	git klineage log | awk '$1 ~ /^K_[1-9]/ && $3 !~ /^\|/ { print $1, $2, $3 }'
	refused | sed 's/ ([a-z-]*):/:/' | sort
}
refused () {
	git log --format=%s --glob=refs/klineage/rejected/* --not --branches
}

# compare <template>: what was found, beside what is shipped
compare () {
	git klineage log && refused
	shipped=
	for place in lineages held-out; do
		test ! -d "$top/skills/$place/$1" || shipped=$top/skills/$place/$1
	done
	test "$shipped" || {
		echo "$1: no lineage is shipped, so nothing is compared"
		return 0
	}
	found >"$dir/have"
	git init -q "$dir/$1-shipped" && cd "$dir/$1-shipped" && git klineage import "$shipped" >/dev/null &&
		found >"$dir/want" || die "the shipped lineage of '$1' cannot be read"
	diff "$dir/want" "$dir/have" || missing "$1: other steps or other refused attempts than the shipped lineage has"
}

# walk <template>
walk () {
	from=$(date +%s)
	rejected=$top/templates/workloads/$1/rejected
	rewriter=history
	test ! -d "$rejected" || rewriter=patches:$rejected,history
	timeout "${WALKS_LIMIT:-150}" git klineage deopt -q --no-rederive --rewriter "$rewriter" 2>&1
	rc=$?
	echo "[$(($(date +%s) - from)) s] $1: exit $rc"
	test $rc -eq 0 || {
		missing "$1: the walk did not end"
		git klineage deopt --quit 2>&1
	}
	git klineage export "$dir/lineages/$1" 2>&1 || missing "$1: no lineage to export"
}

test -n "$1" || die "usage: walks.sh <dir> [<template>...]"
mkdir -p "$1/lineages" && dir=$(cd "$1" && pwd) || die "no directory '$1'"
shift
test $# -gt 0 || set -- cuda-gemm
{
	date -u +%Y-%m-%d
	nvidia-smi --query-gpu=name,uuid,driver_version --format=csv,noheader,nounits
	nvcc --version | grep release
	for template; do
		rm -rf "${dir:?}/$template" "${dir:?}/$template-shipped" "${dir:?}/lineages/$template"
		git klineage init --template "$template" "$dir/$template" >/dev/null 2>&1 || die "no template '$template'"
		cd "$dir/$template" || die "no directory '$dir/$template'"
		walk "$template"
		compare "$template"
	done
	exit $bad
} >"$dir/log"
