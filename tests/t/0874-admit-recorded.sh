#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='a shipped card is tried by what a model answered that saw the card alone, on a kernel that it was not learned from'
. ./lib.sh
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi
shipped=$KLINEAGE_TOP/skills
skills=refs/heads/klineage/skills
card=$(basename "$shipped"/cards/vector-loop-*.yaml .yaml)

# as lift makes it: own, and not tried yet
test_expect_success 'a library that was lifted here, and the lineage of a workload that its card never saw' '
	git init -q r && cd r && for l in c-conv2d c-gdn c-sgemm c-topk; do git klineage import "$shipped/lineages/$l" >/dev/null || return 1; done &&
	git klineage lift conv2d gdn sgemm >out && git show $skills:cards/$card.yaml >card && says "status: hypothesis" card && ! grep "lineage: topk" card &&
	git config klineage.chat.provider replay && git config klineage.chat.replay "$KLINEAGE_TOP/tests/data/chat/admitted.jsonl"
'

. "$KLINEAGE_TOP/tests/t/materials.sh"
test_expect_success 'tools cannot: its patch is for other code' '
	exits 1 git klineage admit --on topk $card >out && cat out && says "cannot be tried on any of" out && test "$(git show $skills:cards/$card.yaml)" = "$(cat card)"
'

# the recording has no usage, so nobody can tell whether both arms had the same budget
test_expect_success 'the recorded model can; the gate says so anew; what the intent alone gives is beside it' '
	again git klineage admit --arms card,intent --rewriter chat --model recorded --on c8a79a4 $card >out && cat out && says "topk/" out && says "other-workload" out &&
	says "passed; " out && says "only the intent: " out && says "the number of tokens is not known" out && says "hypothesis -> hypothesis" out &&
	git show $skills:cards/$card.yaml >after && says "status: hypothesis" after && says "how: agent" after && says "level: other-workload" after &&
	says "control:" after && state=$(sed -n "s/^    state: //p" after) && made=$(sed -n "s/^    made: //p" after) &&
	test "$(git rev-parse "$made^")" = "$state" && test -n "$(git for-each-ref --contains "$state" refs/heads/klineage/lineage/topk)" &&
	event=$(sed -n "/^ver:/,\$s/^    event: //p" after) && git show $skills:evidence/$(echo $event | cut -c1-2)/$event.json >event &&
	says "\"verdict\":\"pass\"" event && says "\"verdict\":\"fast\"" event && says "vec.256" event &&
	git notes --ref klineage/gate show "$made" | grep "$event" && git klineage skills lint >out && says "0 errors, 0 warnings" out &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out && git fsck --strict --no-dangling
'

test_done
