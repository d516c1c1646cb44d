#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='searches with a shipped table and a simulated model: all policies, the same chain again, a purse, a kill'
. ./lib.sh
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

ref=refs/klineage/cells/topk
policies='best-of-n climb refine adaexplore accelopt kernelblaster evolve shinka pareto'
# ran <command>: it found something faster, or nothing
ran () { "$@" || test $? = 1; }
search () { ran git klineage search -q --judge recorded --table c-topk --provider table "$@"; }
# ask <expression on $j>: print what it gives for the document in the file json
ask () { perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); print eval($ARGV[0]), "\n"; die $@ if $@' "$1" <json; }

test_expect_success 'K_0 of the shipped lineage' '
	git init -q repo && cd repo && git commit -q --allow-empty -m x && git klineage import "$KLINEAGE_TOP/skills/lineages/c-topk" >/dev/null &&
	lineage=$(git for-each-ref --format="%(refname)" refs/heads/klineage/lineage) && git checkout -q -b root "$(git rev-list --reverse "$lineage" | head -n 1)" &&
	git config klineage.platform nonsense && cd .. && cp -R repo fresh
'

test_expect_success 'all policies run, without a gate, and accept no kernel that the gate refused' '
	(cd repo && for p in $policies; do
		search --policy $p --candidates 5 --json topk >json || exit 1
		test "$(ask "\$j->{evidence}")" = simulated && test "$(ask "\$j->{candidates}")" -ge 5 &&
		test "$(ask "scalar grep { \$_->{outcome} eq q(correct) && (\$_->{why} // q()) =~ /(drop|simplify)-|broken/ } @{\$j->{tickets}}")" = 0 || exit 1
	done && git klineage fsck >out && cat out && says "9 searches" out && says ": 0 errors" out)
'

test_expect_success 'another clone makes the same chain; another seed another one' '
	(cd fresh && search --policy refine --candidates 5 topk >out && search --policy refine --candidates 5 --seed 2 topk >out && says "evidence: simulated" out) &&
	test "$(git -C fresh rev-parse $ref/refine-1)" = "$(git -C repo rev-parse $ref/refine-1)" &&
	test "$(git -C fresh rev-parse $ref/refine-1)" != "$(git -C fresh rev-parse $ref/refine-2)"
'

test_expect_success 'killed, it goes on to the same chain' '
	{ (cd fresh && exec git-klineage search -q --judge recorded --table c-topk --provider table --policy adaexplore --candidates 5 topk >out 2>&1) & pid=$!; } &&
	for i in $(seq 1 1200); do git -C fresh rev-parse -q --verify $ref/adaexplore-1 >out && break; sleep 0.05; done; kill -9 $pid; wait $pid;
	(cd fresh && ran git klineage search -q --continue --name adaexplore-1 topk >out && says "evidence: simulated" out && git klineage fsck) &&
	test "$(git -C fresh rev-parse $ref/adaexplore-1)" = "$(git -C repo rev-parse $ref/adaexplore-1)"
'

test_expect_success 'stopped by its purse, it goes on to the same chain; the purse is never over' '
	(cd fresh && git config klineage.chat.metered true && git config klineage.chat.model m && git config klineage.chat.price "input=3 output=15" &&
	git config klineage.chat.maxTokens 4000 && search --policy refine --candidates 5 --budget 0.12 --name poor --json topk >json && cat json &&
	test "$(ask "\$j->{spent_nano} <= \$j->{cap_nano} && \$j->{candidates} < 5 && \$j->{ended} =~ /budget/")" = 1 && n=$(ask "\$j->{candidates}") && test "$n" -ge 1 &&
	ran git klineage search -q --continue --name poor --budget 5 --json topk >json && test "$(ask "\$j->{candidates} == 5 && \$j->{spent_nano} > 0")" = 1 &&
	test "$(git rev-parse $ref/poor^{tree})" = "$(git rev-parse $ref/refine-1^{tree})")
'

test_expect_success 'the plan says who answers; what it needs is said' '
	(cd fresh && root=$(git log --format=%H --grep="^search: ticket 0" $ref/refine-1) && git cat-file -p $root:cell.json | grep "\"skill\":\"middling\"" &&
	exits 129 git klineage search --judge recorded --table c-topk --provider table --skill clever --policy climb topk 2>err && says "there are: weak, middling, strong, deaf" err &&
	exits 129 git klineage search --provider table --policy climb topk 2>err && says "needs --judge" err &&
	search --skill deaf --judge noisy --policy climb --candidates 2 --name d topk >out && says "evidence: simulated" out && git klineage fsck)
'

test_done
