#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage label: a person names a step'
. ./lib.sh

lineages=$KLINEAGE_TOP/skills/lineages
git init -q r && cd r && git klineage import "$lineages/c-sgemm" >/dev/null || exit 1
l=$(git for-each-ref --format='%(refname:lstrip=4)' refs/heads/klineage/lineage)

test_expect_success 'a mechanism that does not exist is refused, and the nearest are named' '
	exits 129 git klineage label 3 restict 2>err && says "there is no mechanism '\''restict'\''" err &&
	says "did you mean '\''restrict'\''?" err &&
	exits 129 git klineage label 3 vector 2>err && says "did you mean '\''vector-" err &&
	exits 129 git klineage label 3 zzzzzz 2>err && says "templates/mechanisms.yaml" err &&
	exits 128 git klineage label 99 restrict 2>err && says "has the states K_0 to K_" err &&
	exits 129 git klineage label 0 restrict 2>err && says "no step leads to it" err &&
	exits 128 git klineage label --remove 3 2>err && says "has no label" err
'

test_expect_success 'log and show print the label as the word of a person' '
	git notes --ref=klineage/gate list | wc -l >../before &&
	git klineage label 3 no-alias --reason "the loop is independent" >out && says "K_3: labelled no-alias" out &&
	git klineage log >out && says "no-alias (by " out &&
	git klineage log --json >out && says "\"label\":\"no-alias\"" out && says "\"mechanism\":\"restrict\"" out &&
	git klineage show 3 >out && says "label       no-alias (by " out && says "mechanism   restrict" out &&
	git notes --ref=klineage/gate list | wc -l >../after && cmp ../before ../after
'

test_expect_success 'plain git reads it; the verdict of the step is as before' '
	git notes --ref=klineage/gate show "klineage/lineage/$l~7" >note &&
	grep "\"kind\":\"label\"" note >line && says "\"mechanism\":\"no-alias\"" line &&
	says "\"message\":\"the loop is independent\"" line &&
	git klineage log --porcelain | sed -n 4p >line && says "pass" line &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out && git fsck --strict
'

test_expect_success 'lift makes its card by the label' '
	git klineage lift -n >out && grep "no-alias-.* 3$" out && grep "restrict-.* 3$" out >line; test ! -s line
'

test_expect_success 'a later label holds; removed, the name of the walk is back' '
	git klineage label K_3 compiler-hint >out && git klineage log >out && says "compiler-hint (by " out &&
	git klineage label --remove --json 3 >out && says "\"mechanism\":null" out && says "\"signed\":false" out &&
	git klineage log >out && ! grep "(by " out && git klineage show 3 >out && ! grep "label " out &&
	git klineage lift -n >out && grep "restrict-.* 3$" out &&
	exits 128 git klineage label --remove 3 2>err && says "has no label" err
'

test_expect_success 'with klineage.sign a label is signed, or it is not made' '
	git notes --ref=klineage/gate show "klineage/lineage/$l~7" >../before &&
	test_must_fail git -c klineage.sign=true -c user.signingKey=/none klineage label 3 no-alias 2>err &&
	git notes --ref=klineage/gate show "klineage/lineage/$l~7" >../after && cmp ../before ../after
'

test_expect_success '--list judges the names of shipped lineages again' '
	git klineage label --list "$lineages"/* >out &&
	says "82 steps, 82 with a mechanism: no primary fact of 0 changed, and the sources contradict 0" out &&
	git klineage label --list --json "$lineages/c-sgemm" >out && says "\"found\":\"loop-interchange\"" out &&
	exits 129 git klineage label --list --remove 2>err
'

test_done
