#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fault/search.sh <fault build directory> [<stride>] - stop `search` at every durable step, by SIGKILL and by a failure, and
# see that nothing is lost: the search goes on to the very commits of an undisturbed one, no reply that is stored is asked for
# again, the purse is never over, and git fsck and git klineage fsck find nothing. Verdicts come from a cache that one undisturbed
# run primed.
# shellcheck disable=SC2154 # lib.sh sets them
. "$(dirname "$0")/lib.sh"
. "$materials/materials.sh"
chain=$(long_chain)

ref=refs/klineage/cells/scale/x
# search <options>: 0 if it ran to its end, whether it found something or not
search () {
	git klineage search -q --name x "$@" >"$top/out" 2>"$top/err"
	rc=$?
	test "$rc" = 1 && grep -q candidates "$top/out" && rc=0
	return "$rc"
}
begin () { search --rewriter exec --exec "$model" --budget 3 --candidates 3 --policy "$policy" --set "$set" scale; }
again_or_begin () {
	if git rev-parse -q --verify $ref >/dev/null; then search --continue scale; else begin; fi
}
whole () {
	sound "$1"
	git klineage fsck >"$top/fsck" 2>&1 || { cat "$top/fsck" >&2; die "$1: git klineage fsck"; }
	spent=$(git cat-file -p refs/klineage/purse/scale/x:ledger.json 2>/dev/null |
		sed 's/.*"materialize":{"reserved":\([0-9]*\),"settled":\([0-9]*\)}.*/\1+\2/')
	test "$((${spent:-0}))" -le 3000000000 || die "$1: the purse is over: $spent"
}

answering "$top/answers"
git init -q -b main "$top/base" && cd "$top/base" && git config klineage.profileMs 300 && mkdir k && contract k scale scale.c "v $chain" &&
	plain k/scale.c scale "v $chain" "/* root */" && commit "scale: a kernel" && git config klineage.chat.metered true &&
	git config klineage.chat.model m && git config klineage.chat.price 'input=3 output=15' || exit 1
plain "$top/wrong" scale "v * 3.0f" "/* wrong */" && wide "$top/fast" scale "v $chain" "/* fast */"
for role in coder proposer executor
do
	answer t1-$role.0 scale.c "$top/wrong" && answer t2-$role.0 scale.c "$top/fast" && answer t3-$role.0 scale.c "$top/wrong"
	cp "$ANSWERS/t2-$role.0" "$ANSWERS/t4-$role.0"
done
echo 'use vectors' | tee "$ANSWERS/t1-planner.0" "$ANSWERS/t2-planner.0" "$ANSWERS/t7-planner.0" "$ANSWERS/t8-planner.0" "$ANSWERS/t5-summariser.0" >"$ANSWERS/t6-summariser.0"
echo '<nothing-left>no idea</nothing-left>' >"$ANSWERS/t9-executor.0"

stop () {	# stop <n> <mode>
	at="$policy $1:$2 ($(point "$1" "$top/points"))"
	rm -rf "$top/run" && cp -R "$top/ready" "$top/run" && cd "$top/run" || exit 1
	: >"$ANSWERS/log"
	KLINEAGE_FAULT=$1:$2 begin
	rc=$?
	case $2$rc$at in kill137*|fail128*|fail0*"(ledger-"*|fail0*"(txn-"*|fail130*"(chat-heard)") ;; *)
		die "$at: ended with $rc, the fault was not felt" ;; esac
	whole "$at"
	again_or_begin || die "$at: a second try fails"
	test "$(git rev-parse $ref)" = "$want" || die "$at: a second try ends elsewhere"
	bought "$at"
	no_locks "$at"
	whole "$at, then again"
	tried=$((tried + 1))
}

tried=0
for policy in climb accelopt
do
	test "$policy" = climb && set=repairs=0 || set=beam=1,plans=2,samples=1,top=2
	rm -rf "$top/primed" "$top/ready" && cp -R "$top/base" "$top/primed" && cd "$top/primed" || exit 1
	begin || die "$policy: the undisturbed run fails"
	whole "$policy"
	cp -R "$top/base" "$top/ready" && mkdir -p "$top/ready/.git/klineage" && cp -R .git/klineage/cache "$top/ready/.git/klineage/"
	rm -rf "$top/count" "$top/points" && cp -R "$top/ready" "$top/count" && cd "$top/count" || exit 1
	KLINEAGE_FAULT_LOG=$top/points begin || die "$policy: the counting run fails"
	want=$(git rev-parse $ref)
	points=$(points_of "$top/points" 10) || exit 1
	for point in cell-propose cell-called cell-judged cell-link cell-linked
	do
		grep -q " $point\$" "$top/points" || die "no point $point"
	done
	for mode in kill fail
	do
		n=1
		while [ "$n" -le "$points" ]
		do
			stop "$n" "$mode"
			n=$((n + stride))
		done
	done
done
echo "sweep of search: $tried runs, nothing lost"
