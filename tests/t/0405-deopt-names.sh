#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt names steps that nobody labelled, and takes back names that the facts contradict'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

walk=klineage/walk/scale/x
lineage=klineage/lineage/scale/x

trailer () {	# trailer <key> <rev>
	git log -1 --format="%(trailers:key=Klineage-$1,valueonly)" "$2" | grep .
}

source_with () {	# source_with <qualifier> <body> <message>: commit a version
	printf '#include <stdint.h>\n\nvoid scale(int64_t n, const float *%s x, float *%s y)\n{\n%s\n}\n' \
		"$1" "$1" "$2" >k/scale.c
	git add -A && git commit -q -m "$3"
}

test_expect_success 'a history without labels, but for one that is wrong' '
	(make_repo r) && cd r && git checkout -q -b names && git rm -q k/scale.c && sed -i s/-O2/-O3/ k/klineage.yaml &&
	source_with "" "	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;" "scale: begin again" &&
	git checkout -q --orphan alone && git commit -q -m "scale: begin again" &&
	source_with restrict "	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;" "scale: promise" &&
	source_with restrict "	for (int64_t i = 0; i < n; i++) {
		__builtin_prefetch(x + i + 256);
		y[i] = x[i] * 3.0f + 1.0f;
	}" "scale: ask early" &&
	source_with restrict "	int64_t i = 0;

	for (; i + 3 < n; i += 4) {
		__builtin_prefetch(x + i + 256);
		y[i] = x[i] * 3.0f + 1.0f;
		y[i + 1] = x[i + 1] * 3.0f + 1.0f;
		y[i + 2] = x[i + 2] * 3.0f + 1.0f;
		y[i + 3] = x[i + 3] * 3.0f + 1.0f;
	}
	for (; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;" "scale: four at a time

Klineage-Action: degather
Klineage-Mechanism: gather" &&
	git klineage deopt --rewriter history --keep-all --name x >../out 2>../err
'

test_expect_success 'steps get names by sources and facts, with confidence and evidence' '
	test "$(trailer Mechanism $walk)" = restrict && test "$(trailer Mechanism $walk~1)" = prefetch &&
	trailer Confidence $walk >out && grep "^0\.[5-9][0-9] (words of it in the source 0 -> 2" out &&
	trailer Confidence $walk~1 >out && grep "^0\.[5-9][0-9] (.*gained.* prefetch" out &&
	git klineage log >out && grep "^K_1 .* restrict 0\.[5-9]" out && grep "^K_2 .* prefetch 0\.[5-9]" out &&
	git klineage log --json >out && grep "\"confidence_ppm\":[5-9][0-9]0000" out &&
	git klineage show 1 >out && says "  confidence  0." out
'

test_expect_success 'a name that the facts contradict is not given' '
	test "$(trailer Delta $walk~2)" = contradicted && test "$(trailer Claimed $walk~2)" = gather &&
	test "$(trailer Contradiction $walk~2)" = "no primary fact disappeared" &&
	test "$(trailer Mechanism $walk~2)" = unroll && test "$(trailer Claimed $lineage)" = gather &&
	git klineage show 3 >out && says "claimed     gather" out && says "delta       contradicted" out &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out
'

test_expect_success 'and no card is made of it' '
	git klineage lift -n >out 2>err && says "step 3 (degather): the step'"'"'s facts contradict" err &&
	grep "restrict-" out && ! grep -e "gather-" -e "unroll-" out
'

test_done
