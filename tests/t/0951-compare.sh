#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='compare: two states of a kernel, judged against each other'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

test_expect_success 'two states that pass: verdicts, times, the ratio of one run, facts, code' '
	(make_repo r) && (
		cd r && git klineage compare main~3 main >../out && cat ../out && git klineage compare --json main~3 main >../json && cat ../json &&
		test -z "$(git for-each-ref refs/notes)" && test -z "$(git status --porcelain)"
	) &&
	grep -E "^old  main~3 .* pass +[0-9.]+ (us|ms)" out && grep -E "^new  main .* pass +[0-9.]+ (us|ms)" out &&
	grep -E "^speed   new is [0-9.]+x \[[0-9.]+, [0-9.]+\] of old \([a-z]+\), both timed in one run" out && says "code    differs" out &&
	says "\"schema\":\"klineage.compare/1\"" json && says "\"same_code\":false" json && grep -E "\"ratio_ppm\":[1-9][0-9]+" json &&
	says "\"commit\":\"$(git -C r rev-parse main~3)\"" json
'

test_expect_success 'the features of both, read the other way round, change places' '
	(cd r && git klineage compare --json main main~3 >../back) &&
	sed "s/.*\"gained\":\(\[[^]]*\]\).*/\1/" json >gained && sed "s/.*\"lost\":\(\[[^]]*\]\).*/\1/" back >lost && test_cmp gained lost
'

test_expect_success 'a state that fails is said, and is no speed' '
	(cd r && exits 1 git klineage compare main~1 main >../out) && cat out && grep "^old  main~1 .* fail wrong-" out && grep "^new  main .* pass" out && says "not compared, because not both states pass" out &&
	(cd r && exits 1 git klineage compare main main~1 >../out) && says "not compared" out && grep "^new  main~1 .* fail wrong-" out
'

test_expect_success 'the same sources: no ratio is made up' '
	(cd r && git branch again && git klineage compare main again >../out) && says "both states have the same sources" out && says "code    the same" out
'

test_expect_success 'states of a lineage, by their names' '
	(
		cd r &&
		git klineage deopt --rewriter history --name x >/dev/null 2>&1 && git klineage compare scale/x:K_0 scale/x >../out && cat ../out &&
		git klineage compare K_0 "scale/x:K*" >../step
	) && grep "^old  scale/x:K_0 .* pass" out && grep "^new  scale/x .* pass" out && grep "^speed   new is" step
'

test_expect_success 'other contracts do not compare, and what is no state is refused by its name' '
	(
		cd r && git checkout -q -b other && sed -i "s/also: .*/also: [{n: 1}]/" k/klineage.yaml && git commit -qam other && git checkout -q main &&
		exits 128 git klineage compare main other 2>../differ; exits 128 git klineage compare main nonsense 2>../none;
		exits 128 git klineage compare scale/x:K_9 main 2>../step; exits 129 git klineage compare main 2>../one; exits 129 git klineage compare 2>../no
		exits 125 git klineage compare -w nothing main other 2>../workload
	)
	cat differ none step workload &&
	says "the contracts of '\''main'\'' and '\''other'\'' differ" differ && says "git klineage gate main other" differ && says "git-klineage: no revision '\''nonsense'\'' in" none && says "a state is a revision" none &&
	says "K_0 to K_2" step && says "expected two states" one && says "expected two states" no && says "nothing" workload
'

test_done
