#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='studies whose verdicts come from shipped tables, with a simulated model of two skills'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

study () { git klineage study "$@"; }
plan=refs/klineage/study/toy/plan
topk='' sgemm=''

# write <file> [<sed expression>]: write the plan
write () {
	cat >"$1" <<-X
	klineage-study: 1
	name: toy
	tasks:
	  - {id: topk, lineage: $topk, table: c-topk}
	  - {id: sgemm, lineage: $sgemm, table: c-sgemm}
	policies:
	  - {policy: best-of-n}
	  - {policy: climb}
	  - {id: refine-strong, policy: refine, skill: strong}
	seeds: 2
	budget: {usd: "0.50", candidates: 3}
	model: {provider: table, skill: weak}
	judge: {mode: noisy}
	X
	test -z "$2" || sed -i "$2" "$1"
}

test_expect_success 'start freezes the tables with the plan' '
	git init -q repo && cd repo && git commit -q --allow-empty -m x && for l in c-topk c-sgemm; do git klineage import "$KLINEAGE_TOP/skills/lineages/$l" >/dev/null || return 1; done &&
	lineages=$(git for-each-ref --format="%(refname)" refs/heads/klineage/lineage | sed "s|refs/heads/klineage/lineage/||") &&
	topk=$(echo "$lineages" | grep ^topk/) && sgemm=$(echo "$lineages" | grep ^sgemm/) && git config klineage.platform nonsense &&
	write ../toy.yaml && study start ../toy.yaml >out && cat out && says "12 cells" out && says "evidence: simulated" out &&
	git cat-file -p $plan:tables/topk.jsonl | cmp - "$KLINEAGE_TOP/skills/tables/c-topk.jsonl" && git cat-file -p $plan:study.json | grep -o "\"skill\":\"[a-z]*\"" >skills &&
	printf "\"skill\":\"%s\"\n" weak weak strong >want && test_cmp want skills && study start ../toy.yaml && cd .. && cp -R repo fresh
'

test_expect_success 'what does not fit is refused by name' '
	(cd repo && refuse () { write ../bad.yaml "$1" && exits 128 study start ../bad.yaml 2>err && cat err && says "$2" err; } &&
	refuse "s/mode: noisy/mode: real/" "provider table needs" && refuse "s/mode: noisy/mode: real/; s/provider: table, skill: weak/provider: exec/; s/, skill: strong//" "needs judge mode recorded or noisy" &&
	refuse "s/, table: c-sgemm//" "judge mode noisy needs a" && refuse "s/table: c-sgemm/table: c-topk/" "of another contract" && refuse "s/table: c-sgemm/table: none/" "there is no table" &&
	refuse "s/skill: strong/skill: clever/" "there are: weak, middling, strong, deaf" && refuse "s/provider: table/provider: exec/" "needs provider table" && refuse "s/^seeds: 2/seeds: 3/" "another study")
'

test_expect_success 'the cells run without a gate; replay and fsck need no table of the user' '
	(cd repo && study run toy --jobs 2 >out && cat out && test "$(grep -c "ended, complete, 3 candidates" out)" = 12 && study status toy >out && says "evidence: simulated" out &&
	study replay toy >out && cat out && says "12 cells, " out && says " tickets: 0 cells differ" out && git klineage fsck >out && cat out && says "1 study" out && says ": 0 errors" out &&
	root=$(git log --format=%H --grep="^search: ticket 0" refs/klineage/cells/topk/toy.topk.refine-strong.2) && git cat-file -p $root:cell.json | grep "\"mode\":\"noisy\",\"skill\":\"strong\"")
'

test_expect_success 'each file of the report says that it is simulated' '
	(cd repo && study report toy --output ../report >files && test "$(wc -l <files)" = 6 && for f in ../report/*; do grep -q simulated "$f" || { echo "$f"; exit 1; }; done &&
	test "$(grep -c "^simulated," ../report/cells.csv)" = 12 && test "$(($(grep -c "^simulated," ../report/curves.csv) + 1))" = "$(wc -l <../report/curves.csv)" &&
	grep -c "(evidence: simulated)" ../report/speed.svg && grep "\"evidence\":\"simulated\"" ../report/report.json >json && study export toy --for rl >rows && test -s rows && ! grep -v "\"evidence\":\"simulated\"" rows &&
	exits 128 study final toy 2>err && says "come from tables" err)
'

test_expect_success 'another clone finds the same, also killed' '
	{ (cd fresh && exec git-klineage study run toy >out 2>&1) & pid=$!; } &&
	for i in $(seq 1 300); do git -C fresh rev-parse -q --verify refs/klineage/study/toy/end/topk.best-of-n.1 >out && break; sleep 0.02; done; kill -9 $pid; wait $pid;
	(cd fresh && for i in $(seq 1 60); do study run toy --jobs 2 >out 2>&1 && break; sleep 0.5; done && cat out && study cells toy >cells && test "$(grep -c ": ended" cells)" = 12 && study report toy --json >json) && cmp fresh/json report/report.json
'

test_expect_success 'replay finds another table, another skill and another mode' '
	(cd fresh && changed () {	# changed <sed expression>: a plan commit whose study.json is changed
		git cat-file -p $plan:study.json | sed "$1" >study.json && blob=$(git hash-object -w study.json) &&
		tree=$(git ls-tree $plan | sed "s/blob [0-9a-f]*\(.study.json\)/blob $blob\1/" | git mktree) && git update-ref $plan $(git commit-tree $tree $(git rev-parse "$plan^@" | sed "s/^/-p /") -m x); } &&
	was=$(git rev-parse $plan) && changed "s/\"skill\":\"strong\"/\"skill\":\"weak\"/" && exits 1 study replay toy >out && cat out && says "topk.refine-strong.1" out && says "it was not judged as the study says" out && says "4 cells differ" out &&
	git update-ref $plan $was && changed "s/\"judge\":\"noisy\"/\"judge\":\"recorded\"/" && exits 1 study replay toy >out && says "12 cells differ" out &&
	git update-ref $plan $was && digest=$(sha256sum <"$KLINEAGE_TOP/skills/tables/c-topk.jsonl" | cut -c1-64) && other=$(echo "$digest" | tr 0-9a-f 1-9a-f0) && changed "s/$digest/$other/" &&
	exits 1 git klineage fsck >out && cat out && says "is not the table that was frozen" out && git update-ref $plan $was && git klineage fsck)
'

test_expect_success 'a kernel of another model is looked up; one that the table lacks is named' '
	answering "$PWD/answers" && (cd repo && git show "$(git rev-list --first-parent refs/heads/klineage/lineage/$topk | tail -n 1):topk.c" >../root.c && { cat ../root.c && echo "/* other */"; } >../other.c &&
	git show refs/heads/klineage/lineage/$topk:topk.c >../expert.c && answer t1-coder.0 topk.c ../expert.c && answer t2-coder.0 topk.c ../other.c &&
	write ../said.yaml "s/name: toy/name: said/; s/provider: table, skill: weak/provider: exec/; s/, skill: strong//; s/mode: noisy/mode: recorded/; /id: sgemm/d" && study start ../said.yaml >out && says "evidence: recorded" out &&
	exits 125 study run said --cell topk.climb.1 --exec "$model" 2>err && cat err && says "lacks the candidate, kernel" err && study cells said >out && says "topk.climb.1: begun, 1 candidates, 1 correct" out &&
	exits 1 study run said --policy climb --exec "$model" 2>err && says "2 cells stopped" err &&
	study report said >out && says "Evidence: **recorded**" out && says "the verdicts come from tables" out && ! grep simulated out)
'

test_done
