#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='a step without effect is refused by a walk, and is no fault of the kernel'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

test_expect_success 'a walk refuses a state with the same machine code, the gate then judges it by its answers' '
	(
	(make_repo r) && cd r && git reset -q --hard main~2 &&
	sed -i "s/ 1.0f/ (1.0f)/" k/scale.c && git commit -q -a -m "scale: parentheses" &&
	git klineage deopt --rewriter history --name x &&
	rejected=$(git log --format=%H --grep="no-change" refs/klineage/rejected/scale/x) &&
	test "$(echo "$rejected" | wc -w)" = 1 &&
	git notes --ref=klineage/gate show $rejected | grep "\"class\":\"no-change\"" &&
	git klineage gate --no-note $rejected >out &&
	says "scale: pass" out && says "features" out
	)
'

test_done
