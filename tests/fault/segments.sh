#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fault/segments.sh <fault build directory> [<stride>] - stop an import into a segment at every durable step, by SIGKILL and by
# a failure. What another import had made durable before is there at every moment, in the log or in a segment; the same import
# again ends with the same events, each once.
# shellcheck disable=SC2154 # lib.sh sets them
. "$(dirname "$0")/lib.sh"
. "$materials/scale.sh"

ref=refs/klineage/campaign/scale/night
log=.git/klineage/campaign/scale/night.jsonl

# ids <reader>: of the events that it prints, with copies
ids () { "$1" | sed -n 's/.*"id":"\([0-9a-f]\{64\}\)".*/\1/p' | sort; }
in_segments () {
	git rev-parse -q --verify $ref >/dev/null || return 0
	git ls-tree -r --name-only $ref | while read -r f; do git cat-file blob "$ref:$f" | tail -n +2; done
}
in_log () { test ! -e $log || cat $log; }
everywhere () { in_segments; in_log; }

import () { git klineage gate --import "$top/$1.results" --segment night >"$top/out" 2>"$top/err"; }

whole () {
	sound "$1"
	no_locks "$1"
	git klineage fsck >"$top/fsck" 2>&1 || { cat "$top/fsck" >&2; die "$1: git klineage fsck"; }
	ids everywhere | grep -q "^$first$" || die "$1: the event that was durable is lost"
}

# --- the undisturbed imports ------------------------------------------------------------------------------------

(make_repo "$top/base") || exit 1
cd "$top/base" || exit 1
for part in one two; do
	case $part in one) rev=HEAD ;; two) rev=HEAD^ ;; esac
	git klineage gate --runner bundle -o "$top/$part.tar" "$rev" >"$top/out" 2>"$top/err"
	klineage-worker --bundle "$top/$part.tar" -o "$top/$part.results" 2>"$top/err" || die "the worker fails"
done
# the first import is stopped when its event is in the log, before it is in a segment
cp -R "$top/base" "$top/count" && cd "$top/count" || exit 1
KLINEAGE_FAULT_LOG=$top/points import one || die "the undisturbed import fails"
n=$(sed -n 's/^\([0-9]*\) segment-objects$/\1/p' "$top/points")
cd "$top/base" || exit 1
(KLINEAGE_FAULT=${n:?}:kill; export KLINEAGE_FAULT; import one)
first=$(ids in_log)
if test -z "$first" || test -n "$(ids in_segments)"; then die "the first import is not in the log alone"; fi
cp -R "$top/base" "$top/whole" && cd "$top/whole" || exit 1
rm -f "$top/points"
KLINEAGE_FAULT_LOG=$top/points import two || die "the second import fails"
want=$(ids in_segments)
if test "$(echo "$want" | wc -l)" != 2 || test -n "$(ids in_log)"; then die "not both events are in a segment: $want"; fi

# --- the sweep ---------------------------------------------------------------------------------------------------

points=$(points_of "$top/points" 8) || exit 1
tried=0
for mode in kill fail; do
	n=1
	while [ "$n" -le "$points" ]; do
		at="$n:$mode ($(point $n "$top/points"))"
		rm -rf "$top/run" && cp -R "$top/base" "$top/run" && cd "$top/run" || exit 1
		(KLINEAGE_FAULT=$n:$mode; export KLINEAGE_FAULT; import two)
		rc=$?
		# a transaction that has moved its refs is done, whatever comes after
		case $mode$rc$at in kill137*|fail128*|fail0*"(txn-"*) ;; *) die "$at: ended with $rc, the fault was not felt" ;; esac
		whole "$at"
		import two || die "$at: cannot import again"
		test "$(ids in_segments)" = "$want" || die "$at: other events: $(ids in_segments)"
		test -z "$(ids in_log)" || die "$at: events stay in the log"
		whole "$at, at the end"
		tried=$((tried + 1))
		n=$((n + stride))
	done
done
echo "sweep of segments: $tried runs, nothing lost"
