#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/aa.sh - how often does the profile on a GPU tell a kernel from itself? The last state of shipped
# CUDA workloads is profiled against a parent of the same code, many times. Only the second step needs a GPU:
#
#	aa.sh pack <dir> [<template>...]		jobs (default: cuda-topk, cuda-gdn-cumsum, cuda-gemm)
#	aa.sh run <dir> [<worker> [<times>]]		klineage-worker does each (default: 17 times)
#	aa.sh table <dir>				words and half-widths; exit 1: one is "fast" or "slow"
#
# `aa.sh all <dir> ...` does the three here. git-klineage is taken from PATH or build/; table and pack need perl.
# shellcheck disable=SC2015
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
PATH=$top/build:$PATH
GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@example.invalid GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.invalid
export PATH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

die () {
	echo "aa.sh: $*" >&2
	exit 2
}

# the one job of a bundle, as its own parent, without what is not timed
# shellcheck disable=SC2016 # perl has dollars of its own
rewrite='
	use JSON::PP; local $/;
	my $j = JSON::PP->new->canonical;
	my $d = $j->decode(scalar <STDIN>);
	$d->{parent} = $d->{candidate}; $d->{parent_plan} = $d->{plan};
	$d->{baseline} = undef; delete $d->{baseline_cubin}; delete $d->{baseline_plan};
	$d->{do} = ["profile"]; $d->{exact} = []; $d->{bands} = [];
	$d->{points} = [ grep { $_->{perf} } @{$d->{points}} ];
	print $j->encode($d);'

pack () {
	mkdir -p "$1" && dir=$(cd "$1" && pwd) || die "no directory '$1'"
	shift
	test $# -gt 0 || set -- cuda-topk cuda-gdn-cumsum cuda-gemm
	printf '%s\n' "$@" >"$dir/names"
	for name; do
		rm -rf "${dir:?}/$name"
		mkdir "$dir/$name" && git klineage init --template "$name" "$dir/$name/repo" >/dev/null 2>&1 ||
			die "no template '$name'"
		(
			cd "$dir/$name/repo" || exit 2
			git tag last "$(git commit-tree -m last "HEAD^{tree}")"
			git klineage gate --no-note --quiet --runner bundle -o ../bundle.tar last
		) >/dev/null 2>"$dir/$name/err"
		(cd "$dir/$name" && tar xf bundle.tar) || die "'$name' cannot be packed: $(tail -1 "$dir/$name/err")"
		perl -e "$rewrite" <"$(echo "$dir/$name"/jobs/*.json)" >"$dir/$name/job.json" || die "perl"
		rm -rf "$dir/$name/repo" "$dir/$name/jobs" "$dir/$name/bundle.tar"
	done
}

run () {
	worker=${2:-klineage-worker}
	case $worker in
	*/*) worker=$(cd "$(dirname "$worker")" && pwd)/$(basename "$worker") ;;
	esac
	while read -r name; do
		(
			cd "$1/$name" || exit 2
			sed "s#\"files/#\"$PWD/files/#g; s#\"pools/#\"$PWD/pools/#g" job.json >here.json
			mkdir -p pools
			: >results
			i=0
			while [ $i -lt "${3:-17}" ]; do
				"$worker" <here.json >>results 2>>err || tail -1 err >&2
				i=$((i + 1))
			done
			rm -rf pools
		)
	done <"$1/names"
}

table () {
	dir=$(cd "$1" && pwd) || die "no directory '$1'"
	bad=0
	echo "| workload | device | runs | fast | slow | same | ambiguous | A/A half-width, median and worst |"
	echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
	while read -r name; do
		NAME=$name perl -MJSON::PP -e '
			my (%n, @half, $device, $runs);
			while (<STDIN>) {
				my $r = decode_json($_);
				my $p = $r->{profile}{points}[0] or next;
				my ($lo, $hi) = ($p->{aa}{lo_ppm} / 1e6, $p->{aa}{hi_ppm} / 1e6);
				my $reach = $hi - 1 > 1 - $lo ? $hi - 1 : 1 - $lo;
				my $far = 1 + (3 * $reach > 0.01 ? 3 * $reach : 0.01);
				my ($a, $b) = ($p->{vs}[0]{lo_ppm} / 1e6, $p->{vs}[0]{hi_ppm} / 1e6);
				$n{$a > $far ? "fast" : $b < 1 / $far ? "slow" :
					$a >= 1 / $far && $b <= $far ? "same" : "ambiguous"}++;
				push @half, ($hi - $lo) / 2;
				$device = "$r->{device}, driver $r->{driver}";
				$runs++;
			}
			@half = sort { $a <=> $b } @half;
			printf "| %s | %s | %d | %d | %d | %d | %d | %.2f %%, %.2f %% |\n", $ENV{NAME}, $device // "-",
				$runs // 0, $n{fast} // 0, $n{slow} // 0, $n{same} // 0, $n{ambiguous} // 0,
				100 * ($half[$#half / 2] // 0), 100 * ($half[-1] // 0);
			exit(!$runs || $n{fast} || $n{slow} ? 1 : 0);' <"$dir/$name/results" || bad=1
	done <"$dir/names"
	return $bad
}

what=$1
test -n "$2" || die "usage: aa.sh pack|run|table|all <dir>"
shift
case $what in
pack) pack "$@" ;;
run) run "$@" ;;
table) table "$@" ;;
all) pack "$@" && run "$1" && table "$1" ;;
*) die "usage: aa.sh pack|run|table|all <dir>" ;;
esac
