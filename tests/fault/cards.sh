#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fault/cards.sh <fault build directory> [<stride>] - stop `materialize` and `admit` with a model, and a roundtrip without
# one, at every durable step, by SIGKILL and by a failure, and see that nothing is lost and nothing is half: git fsck is clean,
# what a branch or a card names is kept by its chain and noted, a second try ends in the same trees as an undisturbed run, and no
# reply that is stored is asked for again. Verdicts come from a cache that one undisturbed run primed.
# shellcheck disable=SC2154 # lib.sh sets them
. "$(dirname "$0")/lib.sh"
. "$materials/materials.sh"

says () { grep -F -e "$1" "$2" >/dev/null || { echo "no '$1' in $2" >&2; cat "$2" >&2; false; }; }

whole () {
	sound "$1"
	git klineage fsck >"$top/fsck" 2>&1 || { cat "$top/fsck" >&2; die "$1: git klineage fsck"; }
	git notes --ref klineage/gate list 2>/dev/null | while read -r _ c; do
		test -n "$(git for-each-ref --contains "$c")" || { echo "a note stands on $c, which nothing keeps"; exit 1; }
	done >"$top/out" || die "$1: a note"
}

# --- materialize -------------------------------------------------------------------------------------------------

materialize () {
	git klineage materialize --library "$top/lib" -q "$@" >"$top/out" 2>"$top/err"
}
begin () { materialize --name x --rewriter exec --exec "$model" shift; }
again_or_begin () {
	if git rev-parse -q --verify refs/klineage/nodes/shift/x >/dev/null; then materialize --continue --name x shift; else begin; fi
}
# trees of what was kept, in order, and of the branch: the same however the run went
made () {
	git log --topo-order --format=%T refs/klineage/nodes/shift/x
	git log --format=%T klineage/materialize/shift/x
	git rev-list --count refs/klineage/chat/shift/x/materialize
}
# what the branch names is kept, and judged
half () {
	git for-each-ref --format='%(refname)' refs/heads/klineage/materialize | while read -r b; do
		git merge-base --is-ancestor "$b" refs/klineage/nodes/shift/x || exit 1
		git notes --ref klineage/gate show "$b" | grep -q '"verdict":"pass"' || exit 1
	done || die "$1: a branch without its chain or its note"
}

# --- admit -----------------------------------------------------------------------------------------------------------

admit () { git klineage admit -q --arms card,intent --seed 4 --rewriter exec --exec "$model" "$id" >"$top/out" 2>"$top/err"; }
trials () { git show "klineage/skills:cards/$id.yaml" | grep -c '^ *- trial:'; }
kept () { git log --topo-order --format=%T "refs/klineage/trials/$id" 2>/dev/null | wc -l; }
both_or_none () {	# a card with its trial, and what was made
	case $(trials):$(kept) in 0:0) ;; "$want_trial") ;; *) die "$1: $(trials) trials, $(kept) kept commits" ;; esac
}

# --- a roundtrip, by tools alone --------------------------------------------------------------------------------------

roundtrip () { git klineage materialize --roundtrip scale/x --trials 2 --status admitted,hypothesis -q "$@" >"$top/out" 2>"$top/err"; }
both_trials () {
	for n in 1 2; do
		git log --topo-order --format=%T refs/klineage/nodes/scale/rt-x-$n
		git log --format=%T klineage/materialize/scale/rt-x-$n
	done
	cat "$top/out"
}

# --- the undisturbed runs, which prime the cache --------------------------------------------------------------------

answering "$top/answers"
(library "$top/lib" >"$top/out" 2>"$top/err") || die "no library"
metered () { git config klineage.chat.metered true && git config klineage.chat.model m && git config klineage.chat.price 'input=3 output=15'; }
cd "$top/lib" && metered && id=$(the_card) && cp -R "$top/lib" "$top/lib-base"
eight "$top/wrong" shift "$shift" "" && eight "$top/right" shift "$shift" "$tail"
answer materialize.0 shift.c "$top/wrong" "$id" && answer materialize.1 shift.c "$top/right" "$id"
echo '<nothing-left>done</nothing-left>' >"$ANSWERS/materialize.2"
eight "$top/wrong" poly "v * v $chain" "" && eight "$top/right" poly "v * v $chain" "for (; x != end; x++) { float v = *x; *y++ = ELEMENT(v); }"
answer admit.0 poly.c "$top/wrong" && answer admit.1 poly.c "$top/right" && echo '<nothing-left>no idea</nothing-left>' >"$ANSWERS/control.0"
again admit || die "the undisturbed trial fails"
want_trial="$(trials):$(kept)"
whole admit
again roundtrip || die "the undisturbed roundtrip fails"
want_trials=$(both_trials | sed 's/ to [0-9a-f]*//')
whole roundtrip
(walking "$top/t" && metered) && cp -R "$top/t" "$top/t-base" && cd "$top/t" || exit 1
again begin || die "the undisturbed run fails"
whole materialize
want=$(made)

# --- the sweep -----------------------------------------------------------------------------------------------------------

sweep () {	# sweep <verb> <base> <primed>
	rm -rf "$3-count" && cp -R "$2" "$3-count" && mkdir -p "$3-count/.git/klineage" && cp -R "$3/.git/klineage/cache" "$3-count/.git/klineage/"
	cp -R "$3-count" "$3-ready" && cd "$3-count" || exit 1
	rm -f "$top/points"
	KLINEAGE_FAULT_LOG=$top/points "$1" || die "$1: the counting run fails"
	points=$(points_of "$top/points" 10) || exit 1
	for mode in kill fail; do
		n=1
		while [ "$n" -le "$points" ]; do
			stop "$n" "$mode" "$1" "$3-ready"
			n=$((n + stride))
		done
	done
}

stop () {	# stop <n> <mode> <verb> <repository>
	at="$3 $1:$2 ($(point "$1" "$top/points"))"
	rm -rf "$top/run" && cp -R "$4" "$top/run" && cd "$top/run" || exit 1
	: >"$ANSWERS/log"
	KLINEAGE_FAULT=$1:$2 "$3"
	rc=$?
	# what was paid for is stored at the second try, too; at chat-heard a failure is a stop while somebody answers, as Ctrl-C is
	case $2$rc$at in kill137*|fail128*|fail0*"(ledger-"*|fail0*"(txn-"*|fail130*"(chat-heard)") ;; *)
		die "$at: ended with $rc, the fault was not felt" ;; esac
	whole "$at"
	"after_$3" "$at"
	bought "$at"
	no_locks "$at"
	whole "$at, then again"
	tried=$((tried + 1))
}
after_begin () {
	half "$1"
	again_or_begin || die "$1: a second try fails"
	test "$(made)" = "$want" || die "$1: a second try ends elsewhere: $(made)"
}
after_admit () {
	both_or_none "$1"
	test "$(trials)" -gt 0 || admit || die "$1: a second try fails"
	test "$(trials):$(kept)" = "$want_trial" || die "$1: a second try ends elsewhere"
}
after_roundtrip () {
	if test -e .git/klineage/materialize/scale/rt-x.json; then roundtrip --continue; else roundtrip; fi || die "$1: a second try fails"
	test "$(both_trials | sed 's/ to [0-9a-f]*//')" = "$want_trials" || die "$1: a second try ends elsewhere: $(both_trials)"
}
tried=0
sweep roundtrip "$top/lib-base" "$top/lib"
sweep begin "$top/t-base" "$top/t"
sweep admit "$top/lib-base" "$top/lib"
echo "sweep of cards: $tried runs, nothing lost"
