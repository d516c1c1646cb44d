#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage study: a plan is frozen, its cells are run in processes of their own, and resumed'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
chain=$(long_chain)
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

answering "$PWD/answers"

target () {	# target <repository>: a kernel that computes one element at a time
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 300 && mkdir k || return 1
	contract k scale scale.c "v $chain" && plain k/scale.c scale "v $chain" "/* root */" && commit "scale: a kernel"
}
refs=refs/klineage/study/pair

plan () {	# plan <file> [<sed expression>]: write a plan
	cat >"$1" <<-X
	klineage-study: 1
	name: pair
	tasks:
	  - {id: scale, workload: scale}
	policies:
	  - {policy: best-of-n}
	  - {id: hill, policy: climb, with: {repairs: 0}}
	seeds: 2
	budget: {usd: "0.50", candidates: 2}
	model: {provider: exec}
	X
	test -z "$2" || sed -i "$2" "$1"
}
study () { git klineage study "$@"; }

# the kernels that the model answers with: wrong at first, then fast
wide fast.c scale "v $chain" "/* fast */" && plain wrong.c scale "v $chain * 1.01f" "/* wrong */"
answer t1-coder.0 scale.c wrong.c && answer t2-coder.0 scale.c fast.c

test_expect_success 'start says what a study costs and can tell, and freezes it once' '
	(target t && plan ../pair.yaml && study start -n ../pair.yaml >out && cat out && says "4 cells (1 tasks, 2 policies, 2 seeds)" out &&
	says "at most \$2.0000: \$0.5000 for each cell" out && says "times as fast" out && says "nothing was frozen" out &&
	test "$(git for-each-ref --format="%(refname)")" = refs/heads/main &&
	study start ../pair.yaml >out && says "frozen at" out && git cat-file -p $refs/plan:plan.yaml | cmp - ../pair.yaml &&
	git cat-file -p $refs/plan:study.json | grep "klineage.study/1" && test "$(git rev-parse $refs/plan^)" = "$(git rev-parse HEAD)" &&
	before=$(git rev-parse $refs/plan) && study start ../pair.yaml && test "$(git rev-parse $refs/plan)" = $before &&
	plan ../other.yaml "s/seeds: 2/seeds: 3/" && exits 128 study start ../other.yaml 2>err && says "another study" err &&
	test "$(git rev-parse $refs/plan)" = $before && study cells pair --porcelain >cells && cut -f1 cells >have &&
	printf "%s\n" scale.best-of-n.1 scale.hill.1 scale.best-of-n.2 scale.hill.2 >want && test_cmp want have && cut -f5 cells | grep -c open | grep -x 4)
'

test_expect_success 'bad plans are refused by name and place' '
	(cd t && refuse () { plan ../bad.yaml "$1" && exits 128 study start ../bad.yaml 2>err && cat err && says "$2" err; } &&
	refuse "s/^seeds: 2/sedes: 2/" "bad.yaml:8:1: unknown key" && refuse "s/seeds: 2/seeds: 0/" "out of its range" &&
	refuse "s/policy: climb/policy: climber/" "there are: best-of-n, climb" && refuse "s/repairs: 0/repairs: many/" "must be a whole number" &&
	refuse "s/repairs/repair/" "has no parameter" && refuse "s/id: hill/id: hi.ll/" "must be an id" &&
	refuse "s/id: hill/id: best-of-n/" "two policies have the id" && refuse "s/workload: scale/workload: scales/" "bad.yaml: task" &&
	refuse "s/workload: scale/lineage: scale/" "must be <workload>/<name>" && refuse "s/workload: scale/lineage: scale\/none/" "there is no lineage" &&
	refuse "s/, workload: scale//" "must have either" && refuse "s/0.50/half/" "US dollars" && refuse "s/0.50/900000/" "a million dollars" &&
	refuse "s/provider: exec/provider: anthropic/" "needs the" && refuse "s/provider: exec/provider: nobody, name: x/" "unknown provider" &&
	refuse "s/^model:/judge: {mode: guess}\nmodel:/" "no judge mode" && refuse "s/provider: exec/provider: anthropic, name: no-such-model/" "no-such-model" &&
	exits 129 study run pair --jobs 0 2>err && exits 129 study cells pair --dry-run 2>err && exits 128 study status none 2>err && says "there are: pair" err &&
	exits 128 study run pair --cell scale.hill.3 2>err && says "has no cell" err && exits 128 study run pair --policy climb 2>err && says "has no policy" err)
'

test_expect_success 'the cells run in processes of their own, and each ends once' '
	(cd t && cp -R . ../fresh && study run pair --exec "$model" --jobs 2 >out && cat out && says "scale.hill.2: ended, complete, 2 candidates, 1 correct" out &&
	for cell in scale.best-of-n.1 scale.hill.1 scale.best-of-n.2 scale.hill.2; do
		test "$(git rev-parse $refs/end/$cell^)" = "$(git rev-parse refs/klineage/cells/scale/pair.$cell)" || exit 1
		git show klineage/search/scale/pair.$cell:k/scale.c | cmp - ../fast.c || exit 1
	done && git cat-file -p $refs/end/scale.hill.1:end.json | grep "klineage.study-end/1" &&
	study status pair >out && cat out && says "best-of-n  2 " out && says "2 of 4" out && : >"$ANSWERS/log" && study run pair --exec "$model" && test -z "$(asked)" &&
	git fsck --strict --no-dangling && git klineage fsck)
'

test_expect_success 'the report has bands, pairs and validity, and the same digits again' '
	(cd t && study report pair >out && cat out && says "Evidence: **real**" out && says "2 of 2 seeds" out && says "| best-of-n | hill |" out && says "cannot be told" out &&
	says "| hill | 4 | 0 | 0 | 0 | 0 | 0 | 50 |" out && says "| hill | 100 % | 100 % |" out && study report pair -o ../report >files && test "$(wc -l <files)" = 6 && xmllint --noout ../report/speed.svg && says "(evidence: real)" ../report/speed.svg && says "<th>policy</th>" ../report/report.html && says "<td>cannot be told</td>" ../report/report.html && ! grep -i "<script\|http:\|https:\|\*\*" ../report/report.html | grep -v xmlns &&
	cmp out ../report/report.md && study report pair --json | cmp - ../report/report.json && test "$(wc -l <../report/cells.csv)" = 5 &&
	grep "^real,scale.hill.2,scale,hill,2,2,2,1,[0-9]*,0,2,0,[0-9]*,0,0,0,0,0,0,1,.*,complete,$(git rev-parse refs/klineage/cells/scale/pair.scale.hill.2)$" ../report/cells.csv &&
	grep "^real,hill,1,0,1000000,1000000,1000000$" ../report/curves.csv && exits 129 study status pair -o x 2>err && says "needs" err)
'

test_expect_success 'winners are measured again, apart, and only once each round' '
	(cd t && study final pair >out && cat out && says "3 measurements were made" out && git show $refs/final:final.jsonl >lines && grep -c "klineage.study-final/1" lines | grep -x 3 &&
	test "$(git rev-parse $refs/final~3)" = "$(git rev-parse $refs/plan)" && study final pair >out && says "0 measurements were made" out &&
	git update-ref $refs/final $refs/final^ && study final pair >out && says "1 measurements were made" out && event=$(tail -1 lines | sed "s/.*\"event\":\"\([0-9a-f]*\).*/\1/") &&
	git notes --ref klineage/gate show klineage/search/scale/pair.scale.hill.1 >note && git notes --ref klineage/gate show klineage/search/scale/pair.scale.best-of-n.1 >>note && grep -q "$event" note &&
	study report pair >out && cat out && says "Winners measured again" out && says "| hill | 2 | " out && git klineage fsck && git klineage study replay pair &&
	final=$(git rev-parse $refs/final) && blob=$(sed "1s/\"speed_ppm\":[0-9]*/\"speed_ppm\":9000000000000000000/" lines | git hash-object -w --stdin) && tree=$(printf "100644 blob %s\tfinal.jsonl\n" $blob | git mktree) && git update-ref $refs/final $(git commit-tree -m x -p $final $tree) &&
	exits 128 study report pair 2>err && cat err && says "line 1" err && says "speed_ppm" err && exits 1 git klineage fsck &&
	blob=$({ cat lines && printf "\\0\n"; } | git hash-object -w --stdin) && tree=$(printf "100644 blob %s\tfinal.jsonl\n" $blob | git mktree) && git update-ref $refs/final $(git commit-tree -m x -p $final $tree) &&
	exits 128 study report pair 2>err && says "zero byte" err && git update-ref $refs/final $final)
'

test_expect_success 'candidates become rows to train with' '
	(cd t && study export pair --for sft-pairs >rows && grep -c "\"completion\":\[{\"content\":\"<step>" rows | grep -x 1 && study export pair --for sft -o sft && grep -c "{\"messages\":\[\|\"messages\":\[" sft | grep -x 1 &&
	study export pair --for kto >rows && grep -c "\"label\":true" rows | grep -x 1 && grep -c "\"label\":false" rows | grep -x 1 &&
	study export pair --for rl >rows && grep -c "\"ground_truth\":\"[0-9a-f]\{64\}\"" rows | grep -x 8 && study export pair --for rl --holdout scale >rows && test ! -s rows &&
	exits 129 study export pair 2>err && says "needs --for" err && exits 129 study export pair --for dpo 2>err && exits 128 study export pair --for rl --holdout none 2>err && says "no task" err)
'

test_expect_success 'replay and fsck find what was changed, without a model' '
	(cd t && : >"$ANSWERS/log" && study replay pair >out && cat out && says "4 cells, 12 tickets: 0 cells differ" out && test -z "$(asked)" && git klineage fsck >out && says "1 study" out &&
	cell=refs/klineage/cells/scale/pair.scale.hill.2 && tip=$(git rev-parse $cell) && git cat-file -p $tip:observation.json | sed "s/\"parent\":0/\"parent\":1/" >o && ! git cat-file -p $tip:observation.json | cmp -s - o &&
	blob=$(git hash-object -w o) && tree=$(printf "100644 blob %s\tobservation.json\n" "$blob" | git mktree) &&
	git update-ref $cell $(git cat-file commit $tip | sed "s/^tree .*/tree $tree/" | git hash-object -t commit -w --stdin) &&
	exits 1 study replay pair >out && cat out && says "its chain does not end where its end was recorded" out && says "1 cells differ" out &&
	end=$(git rev-parse $refs/end/scale.hill.2) && git update-ref -d $refs/end/scale.hill.2 && exits 1 study replay pair >out && cat out && says "ticket 2: the policy changes the kernel of ticket 0, not of 1" out &&
	git update-ref $cell $tip && git update-ref $refs/end/scale.hill.3 $end && exits 1 git klineage fsck >out && cat out && says "the study has no such cell" out && git update-ref -d $refs/end/scale.hill.3 &&
	git update-ref $refs/end/scale.hill.2 $(git rev-parse $refs/end/scale.hill.1) && exits 1 git klineage fsck >out && cat out && says "is not the end of cell" out &&
	git update-ref $refs/end/scale.hill.2 $end && git klineage fsck)
'

test_expect_success 'killed while a model answers, it goes on to the same cells, and buys nothing twice' '
	mkdir -p fresh/.git/klineage && cp -R t/.git/klineage/cache fresh/.git/klineage/ && cp -R fresh whole && : >"$ANSWERS/log" &&
	(cd whole && study run pair --exec "$model") && asked | sort | uniq -c >want && : >"$ANSWERS/log" && echo t2-coder.0 >"$ANSWERS/slow" && rm -f "$ANSWERS/at" &&
	{ (cd fresh && exec git-klineage study run pair --exec "$model" >out 2>&1) & pid=$!; } &&
	for i in $(seq 1 600); do test -e "$ANSWERS/at" && break; sleep 0.1; done; test -e "$ANSWERS/at" && kill -9 $pid && { wait $pid; :; } &&
	rm "$ANSWERS/slow" && (cd fresh && for i in $(seq 1 100); do study run pair --exec "$model" >out 2>err && break; sleep 0.2; done && cat out err && study cells pair --porcelain >cells && cut -f5 cells | grep -c ended | grep -x 4) &&
	for ref in $(git -C whole for-each-ref --format="%(refname)" refs/klineage/study refs/klineage/cells); do
		test "$(git -C fresh rev-parse $ref)" = "$(git -C whole rev-parse $ref)" || exit 1
	done && test "$(asked | grep -c t1)" = 4
'

test_done
