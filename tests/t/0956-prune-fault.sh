#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='transplants and a pruned lineage that are written while the power fails

The verdicts are known from the cache, so that a run only writes. At every ninth fault point it is killed or fails, and
is then run once more.'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/steps.sh"

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
	PATH=$KLINEAGE_TOP/build-fault:$PATH
else
	say "skipped: no fault build here (make FAULT=1)"
fi

pruned=refs/heads/klineage/lineage/scale/x-pruned
kept=refs/klineage/transplant/scale/x

test_expect_success FAULT 'the points that a run with known verdicts reaches' '
	steps base >out 2>err && notes=$(git -C base rev-parse refs/notes/klineage/gate) &&
	(cd base && git klineage prune scale/x >../out && cat ../out) && git -C base rev-parse $pruned >tip &&
	git -C base update-ref -d $pruned && git -C base update-ref -d $kept &&
	git -C base update-ref refs/notes/klineage/gate $notes &&
	cp -R base whole && (cd whole && KLINEAGE_FAULT_LOG=$PWD/../points git klineage prune scale/x) &&
	test "$(git -C whole rev-parse $pruned)" = "$(cat tip)" && git -C whole rev-list --count $kept >count &&
	grep made-move points && grep made-moved points && grep prune-move points && grep prune-moved points
'

for how in kill fail
do
	test_expect_success FAULT "some of them, $how: nothing is torn, and once more it is whole" '
		last=$(wc -l <points) && for n in $(seq 1 9 $last) $((last - 1)) $last; do
			rm -rf torn && cp -R base torn &&
			(cd torn && if KLINEAGE_FAULT=$n:'$how' git klineage prune scale/x >../out 2>&1; then false; fi) &&
			git -C torn fsck --strict --no-dangling >out 2>&1 &&
			(cd torn && git klineage fsck >../out) && says ": 0 errors, 0 warnings" out &&
			(cd torn && git klineage prune scale/x >../out) && test "$(git -C torn rev-parse $pruned)" = "$(cat tip)" &&
			test "$(git -C torn rev-list --count $kept)" -ge "$(cat count)" &&
			test -z "$(find torn/.git/refs -name "*.lock")" ||
			{ echo "point $n"; cat out; return 1; }
		done
	'
done

test_done
