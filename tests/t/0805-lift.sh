#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage lift: from lineages to cards'
. ./lib.sh

# four of the lineages that come with git-klineage
lineages=$SHARNESS_TRASH_DIRECTORY/lineages
mkdir -p "$lineages"
for w in cuda-topk cuda-gdn-kkt cuda-gdn-cumsum cuda-gemm
do
	cp -r "$KLINEAGE_TOP/skills/lineages/$w" "$lineages/"
done
steps=$(find "$lineages" -name '[0-9]*.patch' | grep -vc -e /rejected/ -e /rederived/)
topk=$(find "$lineages/cuda-topk" -name '[0-9]*.patch' | grep -vc -e /rejected/ -e /rederived/)
skills=refs/heads/klineage/skills

repo () {
	cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf "$1" && git init -q "$1" && cd "$1" || return 1
}

# card <mechanism>: the file of its card
card () {
	git ls-tree --name-only "$skills:cards" | grep "^$1-[0-9a-f]\{7\}\.yaml$"
}

test_expect_success 'where there is no lineage it says so' '
	repo none &&
	exits 128 git klineage lift 2>err && says "no lineages in this repository" err &&
	exits 128 git klineage lift nothing 2>err && says "there is no lineage '\''nothing'\'' here" err &&
	mkdir empty && exits 128 git klineage lift empty 2>err && says "no exported lineage in" err &&
	test -z "$(git for-each-ref)"
'

test_expect_success 'a dry run writes no ref' '
	git klineage lift --dry-run "$lineages" >out && says "$steps transitions" out && says "new  sm-stage-" out &&
	git klineage lift -n --cards "$lineages/cuda-topk" >out && says "mechanism: radix-select" out &&
	git klineage lift -n --json "$lineages" >out && says "\"schema\":\"klineage.lift/1\"" out && says "\"dry_run\":true" out &&
	test -z "$(git for-each-ref)"
'

test_expect_success 'cards of exported lineages: right, canonical, with all their evidence' '
	repo dirs &&
	git klineage lift "$lineages" >out && says "4 lineages, $steps transitions, $steps of them used in" out &&
	git klineage skills lint >out && says ": 0 errors, 0 warnings" out &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out &&
	git klineage skills list --status hypothesis >out &&
	test "$(wc -l <out)" = "$(($(git ls-tree --name-only $skills:cards | wc -l) + 1))" &&
	git fsck --strict
'

test_expect_success 'every transition is in just one card, and no number is loose' '
	git klineage skills export -o ../all >/dev/null &&
	test "$(cat ../all/cards/*.yaml | grep -c "^  - lineage: ")" = "$steps" &&
	test "$(cat ../all/cards/*.yaml | grep "^    event: " | sort | uniq -d | wc -l)" = 0 &&
	for e in $(cat ../all/cards/*.yaml | sed -n "s/^ *event: //p"); do
		test -s "../all/evidence/$(echo "$e" | cut -c1-2)/$e.json" || return 1
	done
'

test_expect_success 'several lineages of one mechanism are one card' '
	git show "$skills:cards/$(card sm-stage)" >out &&
	for w in cuda-topk cuda-gdn-kkt cuda-gdn-cumsum; do says "lineage: $w/" out || return 1; done &&
	says "intent: what is read again and again stands in shared memory" out &&
	says "cases: [chunk-cumsum, chunk-kkt-solve, topk]" out && says "provides: [\"trait:staged\"]" out
'

test_expect_success 'what was slower somewhere is a risk, what nothing gained from an enabler' '
	git show "$skills:cards/$(card warp-scan)" >out && says "class: slower" out && says "ratio: 0.738987" out &&
	says "requires: [\"trait:staged\"]" out && says "kind: win" out &&
	git show "$skills:cards/$(card wide-digit)" >out && says "enabler: [" out
'

test_expect_success 'a refused step is a risk, and the witness of what it must not do' '
	git show "$skills:cards/$(card swizzle)" >out &&
	says "- id: linear-layout" out && says "violates: linear-layout" out && says "state: witnessed" out &&
	says "not so: gemm: store chunks where they belong" out
'

test_expect_success 'what took a fact away conflicts with it; what the platform must have is asked' '
	git show "$skills:cards/$(card mma)" >out && says "conflicts: [wgmma]" out && says "needs: [mma]" out &&
	says "test: language != '\''cuda'\'' || cap('\''mma'\'')" out && says "(K % 64 == 0)" out
'

test_expect_success 'what domains promise is not tested; what a plan requires since the step has its source' '
	git show "$skills:cards/$(card vector-load)" >out && sed -n "/id: domain-gemm-cuda/,/state:/p" out >domain && says "state: not-tested" domain &&
	says "language != '\''cuda'\'' || op != '\''gemm'\''" domain && sed -n "/id: plan-/,/source:/p" out >plan && says "state: assumed" plan &&
	says "test: language != '\''cuda'\'' || extent(reduction) % 8 == 0" plan && says "source: launch.yaml of cuda-gemm/" plan
'

test_expect_success 'each step leaves its diff, and what else it changed' '
	git show "$skills:cards/$(card sm-stage)" >out && test "$(grep -c "form: diff" out)" = 3 && test "$(grep -c "^    also: " out)" = 3 &&
	git show "$skills:cards/$(card vector-load)" >out && says "constant THREADS = 256 is gone" out && says "function gone: value" out
'

test_expect_success 'when it is worth it, and the constants that it met' '
	git show "$skills:cards/$(card wgmma)" >out && says "test: has('\''ldmatrix'\'') || has('\''mma'\'')" out &&
	says "as measured: wherever it was faster it took the place of ldmatrix, mma" out &&
	git show "$skills:cards/$(card stmatrix)" >out && ! grep "extent(reduction) <" out &&
	git show "$skills:cards/$(card occupancy)" >out && says "const: {THREADS: 256}" out &&
	git show "$skills:cards/$(card register-tile)" >out && says "const: {BK: 64, BM: 32, BN: 32}" out &&
	git show "$skills:cards/$(card warp-scan)" >out && says "useful: []" out
'

test_expect_success 'a card that was lifted without them learns them, once, and the words of others stay' '
	tip=$(git rev-parse $skills) && two=$(card wgmma) three=$(card occupancy) four=$(card mma) &&
	git worktree add -q ../emptied klineage/skills &&
	(
		cd ../emptied/cards && for c in "$two" "$three" "$four"; do
			perl -0pi -e "s/\n  useful:\n.*?\neffect:/\n  useful: []\neffect:/s; s/\n      const: .*?(\n)/\$1/g" "$c" || return 1
		done &&
		perl -0pi -e "s/  useful: \[\]/  useful:\n    - id: replaces-cuda\n      text: where there is a product to replace\n      test: has(\x27mma\x27)\n      state: assumed/" "$four" &&
		git commit -qam "as an old lift left them"
	) && git worktree remove ../emptied && git klineage skills lint >out && says ": 0 errors, 0 warnings" out &&
	git klineage lift "$lineages/cuda-topk" >out && says "gains  ${three%.yaml}" out && ! grep "${two%.yaml}" out &&
	git klineage lift "$lineages" >out && says "gains  ${two%.yaml}" out && ! grep "${four%.yaml}" out &&
	git show "$skills:cards/$four" >out && says "text: where there is a product to replace" out &&
	test "$(git diff --name-only "$tip" $skills)" = "cards/$four" &&
	git klineage lift "$lineages" >out && says "0 new or changed cards" out &&
	git update-ref $skills "$tip"
'

test_expect_success 'branches give the same cards as directories' '
	tree=$(git rev-parse $skills^{tree}) && repo branches &&
	for l in "$lineages"/*; do git klineage import "$l" || return 1; done &&
	git klineage lift >out && says "4 lineages" out && test "$(git rev-parse $skills^{tree})" = "$tree" &&
	git klineage lift "$lineages" cuda-topk >out && says "0 new or changed cards" out &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out
'

test_expect_success 'one lineage by name' '
	git update-ref -d $skills && git klineage lift cuda-topk >out && says "1 lineage, $topk transitions" out &&
	git klineage lift "$(git for-each-ref --format="%(refname)" refs/heads/klineage/lineage/cuda-topk)" >out && says "0 new or changed cards" out
'

test_expect_success 'more lineages give evidence to the cards that are there, and words stay' '
	stage=$(card sm-stage) &&
	git worktree add -q ../hand klineage/skills &&
	(cd ../hand && sed "s/^intent: .*/intent: better words/" "cards/$stage" >new && mv new "cards/$stage" && git commit -qam words) &&
	git worktree remove ../hand &&
	git klineage lift >out && says "gains  ${stage%.yaml}" out && test "$(card sm-stage)" = "$stage" &&
	git show "$skills:cards/$stage" >out && says "intent: better words" out && test "$(grep -c "lineage: " out)" = 3 &&
	git log -1 --format=%B $skills -- "cards/$stage" >out && says "lift: ${stage%.yaml}" out &&
	says "more evidence, learned from" out && grep "^cuda-gdn-kkt/.* step [0-9]*$" out &&
	test "$(git log --format=%s $skills -- "cards/$stage" | wc -l)" = 3
'

test_expect_success 'a directory that was changed is not believed' '
	rm -rf ../torn && cp -r "$lineages/cuda-topk" ../torn && before=$(git rev-parse $skills) &&
	sed "s/best\[THREADS\]/best[THREADS+1]/" ../torn/0001-serialize-block.patch >new && mv new ../torn/0001-serialize-block.patch &&
	exits 128 git klineage lift ../torn 2>err && says "the export has been changed" err &&
	test "$(git rev-parse $skills)" = "$before"
'

test_expect_success 'a retracted card learns nothing, and no twin takes its place' '
	stage=$(card sm-stage) && git klineage skills retract "${stage%.yaml}" --reason "not here" &&
	git klineage lift >out 2>err && says "0 new or changed cards" out && says "is retracted and is not updated" err &&
	test "$(card sm-stage)" = "$stage"
'

test_expect_success 'lifted apart in two repositories, one card learns all, wherever it is seen first' '
	git init -q --bare ../hub.git && for w in cuda-topk cuda-gdn-cumsum; do
		repo apart-$w && git remote add origin ../hub.git && git klineage import "$lineages/$w" && git klineage lift || return 1
	done >/dev/null &&
	cd ../apart-cuda-topk && one=$(card sm-stage) && own=$(git ls-tree --name-only "$skills:cards" | wc -l) &&
	(cd ../apart-cuda-gdn-cumsum && card sm-stage >../two && git klineage sync origin) && two=$(cat ../two) && test "$one" != "$two" &&
	git klineage sync origin && (cd ../apart-cuda-gdn-cumsum && git klineage sync origin) && test "$(card sm-stage | wc -l)" = 2 &&
	first=$(printf "%s\n" "$one" "$two" | sort | head -n 1) second=$(printf "%s\n" "$one" "$two" | sort | tail -n 1) &&
	git klineage lift --dry-run >out && says "same   ${second%.yaml}" out && says "(dropped: same as ${first%.yaml})" out &&
	for c in topk gdn-cumsum; do (cd ../apart-cuda-$c && git klineage lift >out && git klineage lift >out && says "0 new or changed cards" out) || return 1; done &&
	for c in topk gdn-cumsum; do
		(
			cd ../apart-cuda-$c && git show "$skills:cards/$first" >out && test "$(grep -c "  - lineage: " out)" = 2 &&
			says "lineage: cuda-topk/" out && says "lineage: cuda-gdn-cumsum/" out && says "status: hypothesis" out &&
			git show "$skills:cards/$second" >out && says "status: retracted" out && says "retracted: the same as ${first%.yaml}" out &&
			git klineage skills lint >out && says ": 0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out
		) || return 1
	done &&
	git klineage sync origin && (cd ../apart-cuda-gdn-cumsum && git klineage sync origin) && git klineage sync origin &&
	test "$(git rev-parse "$skills^{tree}")" = "$(git -C ../apart-cuda-gdn-cumsum rev-parse "$skills^{tree}")" &&
	git klineage lift >out && says "0 new or changed cards" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out
'

test_expect_success 'one that was tried, or that is by hand, is no twin to be taken back' '
	repo hand && git klineage lift "$lineages/cuda-topk" >out && one=$(card sm-stage) && git worktree add -q ../hand-made klineage/skills &&
	(cd ../hand-made && sed "s/^id: .*/id: by-hand-1234567/; s/^intent: .*/intent: in other words/" "cards/$one" >cards/by-hand-1234567.yaml &&
		git add . && git commit -qm "by hand") && git worktree remove ../hand-made &&
	git klineage lift "$lineages/cuda-topk" "$lineages/cuda-gdn-cumsum" >out && ! grep "^twin" out &&
	git show $skills:cards/by-hand-1234567.yaml >out && says "status: hypothesis" out
'

test_expect_success 'killed at any moment, it goes on where it was' '
	repo killed && for l in "$lineages"/cuda-topk "$lineages"/cuda-gdn-cumsum; do git klineage import "$l" || return 1; done &&
	for ms in 02 05 08 12 20 30; do
		timeout -s KILL 0.$ms git klineage lift >out 2>err
		git fsck --strict >fsck 2>&1 || { cat fsck; return 1; }
	done
	git klineage lift && git klineage lift >out && says "0 new or changed cards" out && git klineage fsck >out && says ": 0 errors" out
'

test_done
