#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fault/bundle.sh <fault build directory> [<stride>] - stop a walk that is judged elsewhere at every durable step: while
# it begins and writes its bundle, while results are imported, and while it goes on. Nothing is lost: git fsck is clean, the
# same commands again end in the same trees. The worker runs once; its results serve every run, since equal jobs
# are equal bytes.
# shellcheck disable=SC2154 # lib.sh sets them
. "$(dirname "$0")/lib.sh"
. "$materials/scale.sh"
GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
export GIT_AUTHOR_DATE GIT_COMMITTER_DATE

# the three commands of such a walk; each is run again after whatever stopped it
begin () {
	if git rev-parse -q --verify refs/klineage/op/main >/dev/null; then
		git klineage deopt --continue -q >"$top/out" 2>"$top/err"
	else
		git klineage deopt --rewriter history --runner bundle --name x -q >"$top/out" 2>"$top/err"
	fi
}
import () {
	git klineage gate --import "$top/results" >"$top/out" 2>"$top/err"
}
go_on () {
	if git rev-parse -q --verify refs/heads/klineage/lineage/scale/x >/dev/null; then
		test -z "$(git for-each-ref refs/klineage/op)" || die "$1: a result and an operation"
		return 0
	fi
	git klineage deopt --continue -q >"$top/out" 2>"$top/err"
}

result () {
	for r in $(git for-each-ref --format='%(refname)' refs/heads/klineage refs/klineage/rejected); do
		echo "$r $(git log --format=%T "$r" | tr '\n' ' ')"
	done
	git notes --ref=klineage/gate list | while read -r blob _; do git cat-file blob "$blob"; done |
		sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' | sort -u
}

# --- the undisturbed run ---------------------------------------------------------------------------------------

KLINEAGE_TIME=2026-01-01T00:00:00Z
export KLINEAGE_TIME
(make_repo "$top/base") || exit 1
cp -R "$top/base" "$top/prime" && cp -R "$top/base" "$top/at.begin" && cd "$top/prime" || exit 1
KLINEAGE_FAULT_LOG=$top/points.begin begin || die "the undisturbed run does not begin"
klineage-worker --bundle .git/klineage/bundles/*.tar -o "$top/results" 2>"$top/err" || die "the worker fails"
cp -R "$top/prime" "$top/at.import"
KLINEAGE_FAULT_LOG=$top/points.import import || die "the undisturbed import fails"
cp -R "$top/prime" "$top/at.go_on"
KLINEAGE_FAULT_LOG=$top/points.go_on go_on prime || die "the undisturbed run does not end"
sound prime
want=$(result)
echo "$want" | grep -q '^refs/heads/klineage/lineage/scale/x ' || die "no lineage: $want"

# --- the sweep ---------------------------------------------------------------------------------------------------

# before <phase>: as the phases before it left the repository
before () {
	rm -rf "$top/run" && cp -R "$top/at.$1" "$top/run" && cd "$top/run" || exit 1
}

tried=0
for phase in begin import go_on; do
	points=$(points_of "$top/points.$phase" 3) || exit 1
	for mode in kill fail; do
		n=1
		while [ "$n" -le "$points" ]; do
			at="$phase $n:$mode ($(point $n "$top/points.$phase"))"
			before "$phase"
			(KLINEAGE_FAULT=$n:$mode; export KLINEAGE_FAULT; $phase "$at")
			rc=$?
			case $mode$rc in kill137|fail128) ;; *)
				die "$at: ended with $rc, the fault was not felt" ;; esac
			sound "$at"
			case $phase in begin) begin || die "$at: cannot begin again" ;; esac
			case $phase in begin|import) import || die "$at: cannot import again" ;; esac
			go_on "$at" || die "$at: cannot go on"
			test "$(result)" = "$want" || die "$at: it ends elsewhere: $(result)"
			sound "$at, at the end"
			tried=$((tried + 1))
			n=$((n + stride))
		done
	done
done
echo "bundle sweep: $tried runs, nothing lost"
