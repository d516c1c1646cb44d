#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='materialize applies the diffs of a lineage in the order of its steps: over a step that gains nothing, and one card twice'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
chain=$(long_chain)
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

test_expect_success 'a lineage of three steps, two of them of one mechanism; its two cards' '
	git init -q -b main r && (cd r && git config klineage.profileMs 1200 && contract . halves halves.c "v $chain" && halves plain plain plain && commit "halves: plain" &&
	halves blocked plain plain && commit "halves: by blocks" "$packed" && halves blocked wide plain && commit "halves: low, eight at a time" "$vector" &&
	halves blocked wide wide && commit "halves: high, eight at a time" "$vector" &&
	again git klineage deopt --rewriter history --name x && git klineage label 3 vector-loop halves/x && git klineage lift halves/x >out && cat out && git klineage log halves/x &&
	test "$(git rev-list --count --first-parent klineage/lineage/halves/x)" = 4 && test "$(git ls-tree --name-only klineage/skills:cards | wc -l)" = 2 &&
	test "$(git grep -c "form: diff" klineage/skills -- cards/vector-loop* | sed "s/.*://")" = 2)
'

# climb <name> <option>...: a run from K_0 by all cards
climb () { git klineage materialize --root klineage/lineage/halves/x~3 --status hypothesis --name "$@" >out; }
# ends <name> <steps of the lineage before K*>: the run ended at that state
ends () { test "$(git rev-parse "klineage/materialize/halves/$1^{tree}")" = "$(git rev-parse "klineage/lineage/halves/x~$2^{tree}")"; }

test_expect_success 'from K_0 the run goes over the step that gains nothing to K*, with one card twice' '
	(cd r && again climb a && cat out && ends a 0 && git log -3 --format="%(trailers:key=Klineage-Mechanism,valueonly,separator=)" klineage/materialize/halves/a >have &&
	printf "vector-loop\nvector-loop\npack-panel\n" >want && test_cmp want have && test "$(grep -c "^vector-loop.*: best, merged three-way" out)" = 2 &&
	grep "^pack-panel-.*: \(node\|best\), merged three-way" out && git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'step by step it goes the same way' '
	(cd r && { climb b --one; rc=$?; test $rc -le 1; } && test "$(git rev-list --count refs/klineage/nodes/halves/b)" -le 6 &&
	for n in 1 2 3 4 5 6; do
		ends b 0 && break
		git klineage materialize --name b --continue --one halves >out; cat out
	done && ends b 0)
'

test_expect_success 'a step whose diff is wrong here is refused, and the steps after it are tried without it' '
	(cd r && card=$(basename "$(git ls-tree --name-only klineage/skills:cards | grep pack-panel)" .yaml) &&
	git show "klineage/skills:cards/$card.yaml" | sed "s/^\( *+.*\)block\[i\] = x\[at + i\];/\1block[i] = x[at];/" >../wrong.yaml && git show "klineage/skills:cards/$card.yaml" | test_must_fail cmp -s - ../wrong.yaml &&
	put_card $card ../wrong.yaml && again climb c && cat out && grep "^pack-panel-.*: fail, merged three-way" out && test "$(grep -c "^vector-loop.*: best, merged three-way" out)" = 2 &&
	git show klineage/materialize/halves/c:halves.c >got.c && test "$(grep -c "i + 8 <= n" got.c)" = 2 && ! grep BLOCK got.c)
'

jobs () { tar xOf "$1" manifest.json | perl -MJSON::PP -ne 'print scalar @{decode_json($_)->{jobs}}, "\n"'; }
# journey <n>: carry the bundle that `err` names to a worker, and import the results
journey () {
	bundle=$(sed -n "s/.*written to '\(.*\)'$/\1/p" err) && test -n "$bundle" && jobs "$bundle" >"count.$1" &&
	klineage-worker --bundle "$bundle" -o "results.$1" 2>/dev/null && git klineage gate --import "results.$1" >imported
}

test_expect_success 'where the gate is elsewhere, all steps of a lineage are in one bundle' '
	(git clone -q r far && cd far && git fetch -q origin "refs/heads/klineage/*:refs/heads/klineage/*" && git config klineage.profileMs 300 && git config klineage.runner bundle &&
	git reset -q --hard klineage/lineage/halves/x~3 && run () { git klineage materialize --root klineage/lineage/halves/x~3 --status hypothesis -q "$@" >out 2>err; } &&
	git update-ref refs/heads/klineage/skills "$(git rev-list --max-count=1 --skip=1 klineage/skills)" &&
	exits 125 run --name far && journey 0 && { git klineage materialize --continue --name far -q halves >out 2>err; test $? = 125; } && cat out && says "4 verdicts are to come from elsewhere" out &&
	grep "^pack-panel-.*: waits" out && grep "^vector-loop.*: waits" out && journey 1 && test "$(cat count.1)" = 4 &&
	n=2 && until git klineage materialize --continue --name far -q halves >out 2>err && rc=0 || rc=$? && test $rc != 125; do
		journey $n && n=$((n + 1)) && test $n -lt 6 || exit 1
	done && cat out && test $n -le 4 && test "$(grep -c "^vector-loop.*: \(best\|node\), merged three-way" out)" -ge 2 &&
	{ grep ambiguous out || test "$(git rev-parse "klineage/materialize/halves/far^{tree}")" = "$(git rev-parse "klineage/lineage/halves/x^{tree}")"; } &&
	git klineage fsck >out && says ": 0 errors" out)
'

test_done
