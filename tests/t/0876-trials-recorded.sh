#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='two of the recorded trials of docs/trials.md, judged again; the page has the results of all'
. ./lib.sh
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

test_expect_success 'the table of the page is that of the recorded results, of trials that were drawn before' '
	"$KLINEAGE_TOP/tests/trials.sh" --table >table && grep "^|" "$KLINEAGE_TOP/docs/trials.md" >page && test_cmp table page &&
	sed -n "s/.*\"seed\":\([0-9]*\).*/\1/p" "$KLINEAGE_TOP/tests/data/trials/results.jsonl" >seeds && test -s seeds &&
	cut -d" " -f1 "$KLINEAGE_TOP/tests/data/trials/plan" >plan && test "$(wc -l <plan)" = 15 && ! grep -v -x -F -f plan seeds
'

if ! grep -q avx2 /proc/cpuinfo
then
	test_done
fi

# judge <card>...: judge the trials of these cards again; repeat if noise left one unrecorded, since noise never makes a trial
judge () {
	for i in 1 2 3 4 5 6; do
		GIT_CEILING_DIRECTORIES=$PWD "$KLINEAGE_TOP/tests/trials.sh" "$KLINEAGE_BUILD" "$@" >out 2>err || { cat out err; return 1; }
		grep "too noisy to tell" err || return 0
	done
	return 1
}

# the second card, its intent and the card without conditions each make the kernel some four times as fast
test_expect_success 'a card that no arm could use, and one that all arms made faster' '
	judge radix-select vector-loop && cat out && says "radix-select-0291a09 on gdn/" out && says "failed, no-edit" out &&
	says "only the intent: failed, no-edit" out && says "vector-loop-ead1515 on topk/" out && says "  passed; " out &&
	says "only the intent: passed; " out && says "without conditions and risks: passed; " out && grep "^its intent alone" out
'

test_done
