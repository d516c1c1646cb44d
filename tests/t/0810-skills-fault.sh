#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='cards that are written while the power fails: at each fault point killed, then done again'
. ./lib.sh

data=$KLINEAGE_TOP/tests/data/library
skills=refs/heads/klineage/skills

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
	PATH=$KLINEAGE_TOP/build-fault:$PATH
else
	say "skipped: no fault build here (make FAULT=1)"
fi

test_expect_success FAULT 'the points that an import reaches' '
	git init -q whole && cd whole &&
	KLINEAGE_FAULT_LOG=$PWD/../points git klineage skills import "$data" &&
	git rev-parse $skills^{tree} >../tree && grep library-move ../points && test "$(wc -l <../points)" -ge 4
'

for how in kill fail
do
	test_expect_success FAULT "each of them, $how: nothing is torn, and once more it is whole" '
		cd "$SHARNESS_TRASH_DIRECTORY" && n=0 &&
		while test $n -lt "$(wc -l <points)"; do
			n=$((n + 1)) && rm -rf torn && git init -q torn && cd torn &&
			{ KLINEAGE_FAULT=$n:'$how' git klineage skills import "$data" >out 2>&1; test $? -ne 0; } &&
			git fsck --strict >fsck 2>&1 &&
			git klineage fsck >out && says ": 0 errors, 0 warnings" out &&
			git klineage skills import "$data" >out &&
			test "$(git rev-parse $skills^{tree})" = "$(cat ../tree)" &&
			test "$(git log --oneline $skills | wc -l)" = 3 &&
			test -z "$(find .git -name "*.lock")" && cd .. || { echo "point $n"; return 1; }
		done
	'
done

test_done
