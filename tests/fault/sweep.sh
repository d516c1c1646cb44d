#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fault/sweep.sh <fault build directory> [<stride> [model]] - stop `deopt` at every durable step, by SIGKILL and by a
# failure, and see that nothing is lost: git fsck is clean, refs are all-old or all-new, --continue ends in the same
# trees as an undisturbed run, --abort restores every ref. Verdicts come from a cache that one undisturbed run primed.
# With `model` every step is derived anew by a command: then no reply that is stored is asked for again, and the ledger
# never has more than what was asked for.
# shellcheck disable=SC2154 # lib.sh sets them
. "$(dirname "$0")/lib.sh"
with=${3:-} model=
. "$materials/scale.sh"
. "$materials/answers.sh"

deopt () {
	if test "$with" = model; then
		git klineage deopt --rewriter history --rederive exec --exec "$model" -q "$@" >"$top/out" 2>"$top/err"
	else
		git klineage deopt --rewriter history -q "$@" >"$top/out" 2>"$top/err"
	fi
}

# what was bought stays, whatever becomes of the walk
refs () {
	git for-each-ref --format='%(refname) %(objectname)' | grep -vE '^refs/klineage/(tmp|chat|ledger)/'
}

# what must be the same however the walk went: trees of walk and lineage, rejected surfaces, event count
result () {
	for r in $(git for-each-ref --format='%(refname)' refs/heads/klineage refs/klineage/rejected); do
		echo "$r $(git log --topo-order --format=%T "$r" | tr '\n' ' ')"
	done
	git notes --ref=klineage/gate list | while read -r blob _; do git cat-file blob "$blob"; done |
		grep -c '"kind":"gate"'
}

# all-old: the operation at most; all-new: the refs of the result, and no operation
old_or_new () {
	if git rev-parse -q --verify refs/heads/klineage/lineage/scale/x >/dev/null; then
		test "$(result)" = "$want" || die "$1: half of the result"
		test -z "$(git for-each-ref refs/klineage/op)" || die "$1: a result and an operation"
	else
		test "$(refs | grep -v '^refs/klineage/op/')" = "$old" || die "$1: refs moved without a result"
	fi
}

# --- the undisturbed run, which primes the cache -------------------------------------------------------------

make_repo "$top/prime"
if test "$with" = model; then
	answers "$top/answers"
	for n in 0 1 2; do git show "main~$n:k/scale.c" >"$top/K.$n"; done
	answer forward-1.0 vectorize "$top/K.1"
	answer forward-1.1 vectorize "$top/K.0"
	answer forward-2.0 registers "$top/K.2"
	git config klineage.chat.metered true && git config klineage.chat.model m &&
		git config klineage.chat.price 'input=3 output=15'
fi
old=$(refs)
deopt --name x || die "the undisturbed run fails"
sound prime
want=$(result)
echo "$want" | grep -q '^refs/heads/klineage/lineage/scale/x ' || die "no lineage: $want"
make_repo "$top/base" >/dev/null
git config --file "$top/prime/.git/config" --get-regexp '^klineage\.chat\.' | while read -r k v; do git config "$k" "$v"; done
cp -R "$top/prime/.git/klineage" "$top/base/.git/klineage"
cd "$top/base" || exit 1
old=$(refs)
cp -R "$top/base" "$top/count"
cd "$top/count" || exit 1
KLINEAGE_FAULT_LOG=$top/points deopt --name x || die "the counting run fails"
# commits of the two histories differ in time alone, so the trees must not
want=$(result)
points=$(points_of "$top/points" 10) || exit 1

# --- the sweep ---------------------------------------------------------------------------------------------

tried=0
for mode in kill fail; do
	n=1
	while [ "$n" -le "$points" ]; do
		at="$n:$mode ($(point $n "$top/points"))"
		for then in continue abort; do
			rm -rf "$top/run" && cp -R "$top/base" "$top/run" && cd "$top/run" || exit 1
			test -z "$with" || : >"$ANSWERS/log"
			KLINEAGE_FAULT=$n:$mode deopt --name x
			rc=$?
			# what was paid for is stored at the second try, too
			# at chat-heard a failure is a stop while somebody answers, as Ctrl-C is
			case $mode$rc$with$at in kill137*|fail128*|fail0model*|fail130model*"(chat-heard)") ;; *)
				die "$at: ended with $rc, the fault was not felt" ;; esac
			sound "$at"
			if [ "$then" = continue ]; then
				if git rev-parse -q --verify refs/klineage/op/main >/dev/null; then
					git klineage deopt --continue -q >"$top/out" 2>"$top/err" ||
						die "$at: --continue fails"
				elif ! git rev-parse -q --verify refs/heads/klineage/lineage/scale/x >/dev/null; then
					deopt --name x || die "$at: a new start fails"
				fi
				old_or_new "$at, then --continue"
				test -z "$with" || bought "$at, then --continue"
				test "$(result)" = "$want" || die "$at: --continue ends elsewhere"
			else
				if git rev-parse -q --verify refs/klineage/op/main >/dev/null; then
					git klineage deopt --abort >"$top/out" 2>"$top/err" ||
						die "$at: --abort fails"
					test "$(refs)" = "$old" || die "$at: --abort leaves $(refs)"
				fi
				old_or_new "$at, then --abort"
			fi
			no_locks "$at, then --$then"
			sound "$at, then --$then"
			tried=$((tried + 1))
		done
		n=$((n + stride))
	done
done
echo "sweep${with:+ with a model}: $points fault points, $tried runs, nothing lost"
