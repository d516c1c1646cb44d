#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='from a lineage to a card, to its admission, to commits on a kernel of another repository'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
chain=$(long_chain)
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

test_expect_success 'two experts, two lineages; a card of the first' '
	(library lib &&
	card=$(basename "$(git ls-tree --name-only klineage/skills:cards)" .yaml) &&
	git show klineage/skills:cards/$card.yaml >../card && says "provides: [vec.256]" ../card && says "form: diff" ../card &&
	says "status: hypothesis" ../card)
'

test_expect_success 'admitted on the lineage that it was not learned from, by its patch alone' '
	(cd lib && card=$(basename "$(git ls-tree --name-only klineage/skills:cards)" .yaml) && echo $card >../id &&
	before=$(git rev-parse klineage/skills) && git klineage admit -n $card >out && says "on poly/x K_0" out && says "other-workload: would be tried" out &&
	git klineage admit -n --porcelain $card >out && test "$(cut -f1,2,4,6,7,9 out | tr "\t" :)" = "$card:hypothesis::poly/x:0:other-workload" &&
	test "$(git rev-parse klineage/skills)" = $before &&
	again git klineage admit $card >out && cat out && says "passed; " out && says "hypothesis -> admitted" out &&
	git merge-base --is-ancestor $before klineage/skills && test "$(git diff --name-only $before klineage/skills | grep -c cards/)" = 1 &&
	git show klineage/skills:cards/$card.yaml >../card && says "status: admitted" ../card && says "level: other-workload" ../card &&
	says "lineage: poly/x" ../card && says "how: mechanical" ../card && says "isolated: true" ../card && says "by: trial" ../card &&
	event=$(sed -n "/^ver:/,\$s/^ *event: //p" ../card) && git cat-file -e "klineage/skills:evidence/$(echo $event | cut -c1-2)/$event.json" &&
	made=$(sed -n "s/^ *made: //p" ../card) && test "$(git rev-parse $made^)" = "$(git rev-parse klineage/lineage/poly/x~1)" &&
	git merge-base --is-ancestor $made refs/klineage/trials/$card && git notes --ref klineage/gate show $made | grep "\"id\":\"$event\"" &&
	git log -1 --format="%(trailers:key=Klineage-Skill,valueonly)" $made | grep "^$card@[0-9a-f]\{40\}$" &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says "0 errors, 0 warnings" out)
'

test_expect_success 'what was learned from, or passed, is not held out' '
	(cd lib && before=$(git rev-parse klineage/skills) && exits 1 git klineage admit $(cat ../id) >out && says "cannot be tried on any of 4 states" out &&
	says "scale/x K_0: the card was learned from this state" out && says "poly/x K_0: a trial of the card on this state has passed" out &&
	test "$(git rev-parse klineage/skills)" = $before)
'

target () {	# target <repository>: another kernel, among other code
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 1200 && mkdir -p src/shift || return 1
	contract src/shift shift shift_f32.c "(v - 0.25f) $chain" &&
	plain src/shift/shift_f32.c shift "(v - 0.25f) $chain" "static const char version[] __attribute__((unused)) = \"7\";" &&
	printf "\n/* to come: shift by a vector */\n" >>src/shift/shift_f32.c && echo notes >NOTES && commit "shift: a kernel"
}

test_expect_success 'retrieve and a dry run in another repository say what would be tried, and write nothing' '
	(target t && git klineage materialize --library ../lib --dry-run shift >out && cat out &&
	says "$(cat ../id) (admitted) on" out && says ": applies, merged three-way" out && says "1 card fit" out &&
	test "$(git for-each-ref --format="%(refname)")" = refs/heads/main && test -z "$(git status --porcelain -uno)")
'

test_expect_success 'materialized there: gated, faster, named by its card; branch and worktree as they were' '
	(cd t && head=$(git rev-parse HEAD) &&
	again git klineage materialize --library ../lib --name one shift >out && cat out && says ": best, merged three-way" out &&
	branch=klineage/materialize/shift/one && says "$branch is at" out &&
	test "$(git rev-parse $branch^)" = $head && test "$(git diff --name-only main $branch)" = src/shift/shift_f32.c &&
	git show $branch:src/shift/shift_f32.c >after.c && grep "i + 8 <= n" after.c && grep "0.25f" after.c && grep "to come" after.c &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Skill,valueonly)" $branch | grep .)" = \
		"$(cat ../id)@$(git -C ../lib rev-parse "klineage/skills:cards/$(cat ../id).yaml")" &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Direction,valueonly)" $branch | grep .)" = forward &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Mechanism,valueonly)" $branch | grep .)" = vector-loop &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Action,valueonly)" $branch | grep .)" = devectorize &&
	git notes --ref klineage/gate show $branch >note && grep "\"verdict\":\"pass\"" note && grep "\"verdict\":\"fast\",\"what\":\"parent\"" note &&
	git notes --ref klineage/gate show $head | grep "\"verdict\":\"pass\"" &&
	git merge-base --is-ancestor $branch refs/klineage/nodes/shift/one &&
	test "$(git rev-parse HEAD)" = $head && test -z "$(git status --porcelain -uno)" &&
	git fsck --strict --no-dangling && git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'fsck: a quick check does not show that a commit of a chain is correct' '
	(cd t && branch=$(git rev-parse klineage/materialize/shift/one) && git notes --ref klineage/gate show $branch >note && forge "\$j->{kind} = q(check)" note >forged &&
	git notes --ref klineage/gate add -f -F forged $branch && exits 1 git klineage fsck >out && says "shows that its kernel is correct" out &&
	git notes --ref klineage/gate add -f -F note $branch && git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'a name that is taken is refused; from the best it goes on, and finds nothing more' '
	(cd t && tip=$(git rev-parse klineage/materialize/shift/one) &&
	exits 128 git klineage materialize --library ../lib --name one shift 2>err && says "already" err && says "--root best" err &&
	exits 1 git klineage materialize --library ../lib --root best shift >out && says "nothing is faster than the root, $(git rev-parse --short=10 $tip)" out &&
	test "$(git rev-parse klineage/materialize/shift/one)" = $tip &&
	exits 128 git klineage materialize --library ../lib --root best --name none shift 2>err && says "has no best state" err)
'

test_expect_success '--one is a step; --continue goes on from there, and judges nothing twice' '
	(cd t && again git klineage materialize --library ../lib --one --name step --json shift >out && says "\"stopped\":true" out &&
	says "\"outcome\":\"best\"" out && tip=$(git rev-parse klineage/materialize/shift/step) && links=$(git rev-parse refs/klineage/nodes/shift/step) &&
	git klineage materialize --continue --name step --json shift >out && says "\"stopped\":false" out && says "\"outcome\":\"best\"" out &&
	test "$(git rev-parse klineage/materialize/shift/step)" = $tip && test "$(git rev-parse refs/klineage/nodes/shift/step)" = $links &&
	exits 129 git klineage materialize --one --dry-run shift 2>err && says "cannot be used with a model" err)
'

test_expect_success 'as a patch, for who applies it himself; as JSON' '
	(cd t && again git klineage materialize --library ../lib --name two --patch shift >../two.patch 2>err && says "two is at" err &&
	git apply --check ../two.patch && git apply --index ../two.patch &&
	test "$(git write-tree)" = "$(git rev-parse "klineage/materialize/shift/two^{tree}")" && git reset -q --hard &&
	again git klineage materialize --library ../lib --name three --json shift >out && test "$(wc -l <out)" = 1 &&
	says "\"schema\":\"klineage.materialize/1\"" out && says "\"outcome\":\"best\"" out)
'

test_expect_success '--apply, and only that, moves the branch and the worktree forward' '
	(cd t && again git klineage materialize --library ../lib --name four --apply shift >out && test "$(git rev-parse HEAD)" = "$(git rev-parse klineage/materialize/shift/four)" &&
	grep "i + 8 <= n" src/shift/shift_f32.c && test -z "$(git status --porcelain -uno)" && git reset -q --hard HEAD~1)
'

test_expect_success 'from the worktree: what stands there becomes the root' '
	(cd t && sed -i "s/0.25f/0.125f * 2.0f/" src/shift/shift_f32.c && exits 129 git klineage materialize --root worktree --apply shift 2>err &&
	again git klineage materialize --library ../lib --name five --root worktree shift >out && branch=klineage/materialize/shift/five &&
	test "$(git rev-parse $branch~2)" = "$(git rev-parse HEAD)" && git show $branch~1:src/shift/shift_f32.c | cmp - src/shift/shift_f32.c &&
	git show $branch:src/shift/shift_f32.c | grep "0.125f" && git diff --quiet --cached && git checkout -q .)
'

# edit <new id> <sed script>: a second card in the library, from the first
edit () {
	git show "klineage/skills:cards/$(cat ../id).yaml" | sed "s/^id: .*/id: $1/;$2" >../edited.yaml && git worktree add -q ../hand klineage/skills &&
	cp ../edited.yaml "../hand/cards/$1.yaml" && git -C ../hand add . && git -C ../hand commit -q -m "$1" && git worktree remove ../hand
}

test_expect_success 'a card that is not admitted is not used, unless asked for; then it is said' '
	(cd lib && git branch kept klineage/skills && git update-ref refs/heads/klineage/skills klineage/skills~1 && cd ../t &&
	exits 1 git klineage materialize --library ../lib --name six shift >out && says "nothing is faster" out &&
	again git klineage materialize --library ../lib --name six --status hypothesis shift >out 2>err && says "(hypothesis) on" out && says "not admitted" err &&
	exits 129 git klineage materialize --status retracted shift 2>err; git -C ../lib update-ref refs/heads/klineage/skills kept)
'

test_expect_success 'a carrier that does not apply is left, and said; the gate refuses one that is wrong' '
	(target c && sed -i "s/for (; i < n; i++)/while (i < n)/; s/y\[i\] = ELEMENT(x\[i\]);/y[i] = ELEMENT(x[i]), i++;/; s/int64_t i = 0;/int64_t i; i = 0;/" src/shift/shift_f32.c && commit other &&
	exits 1 git klineage materialize --library ../lib shift >out && cat out && says ": left: the patch does not apply" out && says "nothing is faster" out &&
	test "$(git for-each-ref --format="%(refname)" | sed "s,/shift/.*,,")" = "$(printf "refs/heads/main\nrefs/klineage/nodes\nrefs/notes/klineage/gate")" &&
	cd ../lib && edit a-wrong "s/^\( *+.*i + 8 <= n\)/\1 + 8/" && cd ../t &&
	again git klineage materialize --library ../lib --name seven shift >out && cat out && says "a-wrong (admitted) on" out && says ": fail, merged three-way: " out &&
	git log --format=%s refs/klineage/nodes/shift/seven >log && says "rejected (" log)
'

test_expect_success 'cards that lie: a path that escapes, an unknown field; they are left, and said' '
	(cd lib && git update-ref refs/heads/klineage/skills kept && edit escape "s|scale\.c|../scale.c|g" && edit unknown "s/^intent:/color: red\nintent:/" && cd ../t &&
	again git klineage materialize --library ../lib --name eight shift >out 2>err && says "2 cards cannot be read" err && ! grep escape out &&
	test ! -e src/scale.c && git -C ../lib update-ref refs/heads/klineage/skills kept)
'

test_expect_success 'nothing to work with: each is said' '
	(cd t && exits 128 git klineage materialize shift 2>err && says "the library has no cards" err && says "git klineage lift" err &&
	exits 128 git klineage materialize --library ../nowhere shift 2>err && says "--library" err &&
	exits 125 git klineage materialize --library ../lib other 2>err && says "no contract has the workload" err &&
	exits 129 git klineage materialize --library ../lib --name "A b" shift 2>err &&
	git init -q ../empty && cd ../empty && git commit -q --allow-empty -m x && exits 125 git klineage materialize --library ../lib 2>err && says "no contract" err &&
	exits 128 git klineage admit nothing 2>err && exits 129 git klineage admit 2>err && test -z "$(git for-each-ref refs/klineage)")
'

test_expect_success 'killed at any moment: what was made is kept whole, and the next run ends it' '
	(target k && for s in 0.1 0.3 0.7 1.2 2 3; do
		timeout -s KILL $s git klineage materialize --library ../lib --name k$s shift >out 2>err
		git fsck --strict --no-dangling >fsck 2>&1 || { cat fsck; return 1; }
		for b in $(git for-each-ref --format="%(refname)" refs/heads/klineage); do
			git notes --ref klineage/gate show $b | grep -q "\"verdict\":\"pass\"" && git merge-base --is-ancestor $b refs/klineage/nodes/${b#refs/heads/klineage/materialize/} || return 1
		done
	done &&
	again git klineage materialize --library ../lib --name end shift >out && says "end is at" out && test -z "$(git status --porcelain -uno)")
'

test_done
