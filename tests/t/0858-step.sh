#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage step: an edit in the worktree is judged against HEAD, committed if it passes, and counts as a trial'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

# edit <body>: write the kernel, without a commit
edit () { printf '#include <stdint.h>\n\nvoid scale(int64_t n, const float *x, float *y)\n{\n%s\n}\n' "$1" >k/scale.c; }
registers='	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;'
slow='	for (int64_t i = 0; i < n; i++) {
		volatile float t;

		for (int k = 0; k < 60; k++)
			t = x[i];
		y[i] = t * 3.0f + 1.0f;
	}'
wrong='	for (int64_t i = 0; i + 4 <= n; i += 4)
		for (int64_t k = 0; k < 4; k++)
			y[i + k] = x[i + k] * 3.0f + 1.0f;'
vectors='	typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
	int64_t i = 0;

	for (; i + 8 <= n; i += 8)
		*(eight *)(y + i) = *(const eight *)(x + i) * 3.0f + 1.0f;
	for (; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;'
trailer () { git log -1 --format="%(trailers:key=Klineage-$1,valueonly)" "${2:-HEAD}" | grep .; }
step () { git klineage step -q "$@" >out 2>err; }
# state: everything that a refused step must leave as it is
state () { git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/klineage; git rev-parse HEAD; git ls-files -s; git hash-object k/scale.c; }

test_expect_success 'a kernel with a slow past' '
	(make_repo r && git reset -q --hard HEAD~3 && echo notes >NOTES && git add NOTES && git commit -q -m notes)
'
cd r || exit 1

test_expect_success 'a free step: judged, committed on the branch, only the kernel; the rest is said and left' '
	edit "$registers" && echo more >>NOTES && git add NOTES && echo again >>NOTES && head=$(git rev-parse HEAD) &&
	again step -m "scale: keep it in registers

	The store forces a round trip." && cat out err && says "scale: pass" out && says "committed $(git rev-parse --short=10 HEAD) on main: k/scale.c" out &&
	says "left as it is: NOTES" out && says "hint: edit on and step again" err &&
	test "$(git rev-parse HEAD^)" = "$head" && test "$(git diff --name-only HEAD^ HEAD)" = k/scale.c && git show HEAD:k/scale.c | cmp - k/scale.c &&
	test "$(git log -1 --format=%s)" = "scale: keep it in registers" && git log -1 --format=%b >said && says "round trip" said &&
	test "$(trailer Free)" = no-card && test "$(trailer Rewriter)" = step && test "$(trailer Direction)" = forward && test "$(trailer Step)" = 1 &&
	test "$(trailer Action)" = edit && trailer Locus | grep "^k/scale.c\|^scale.c" && git notes --ref klineage/gate show HEAD >note && says "\"verdict\":\"pass\"" note &&
	test "$(git status --porcelain -uno)" = "MM NOTES" && test "$(git rev-parse :k/scale.c)" = "$(git rev-parse HEAD:k/scale.c)" &&
	git klineage gate --runner local >out && says "judged before" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out &&
	git checkout -q HEAD NOTES
'

test_expect_success 'nothing changed, another file changed, the contract changed: each is said, nothing moves' '
	state >before && exits 128 git klineage step 2>err && says "nothing to do: no source of" err && says "hint: edit a source" err &&
	echo x >>NOTES && exits 128 git klineage step 2>err && says "differs, but is not a source" err && says NOTES err && git checkout -q NOTES &&
	sed -i "s/n: 4096/n: 8192/" k/klineage.yaml && edit "$slow" && exits 128 git klineage step 2>err && says "contract" err && says "commit or restore" err &&
	git checkout -q . && state >after && test_cmp before after &&
	exits 129 git klineage step more 2>err && exits 129 git klineage step --require slow 2>err && exits 129 git klineage step -m "" 2>err &&
	exits 129 git klineage step --action "a b" 2>err && exits 125 git klineage step -w other 2>err && says other err
'

test_expect_success 'the mode of a source: alone it is no edit, with an edit it is committed as it was judged' '
	head=$(git rev-parse HEAD) && chmod +x k/scale.c && exits 128 git klineage step 2>err && says "only the mode differs" err && ! grep "is not a source" err &&
	edit "$registers /* on */" && again step && test "$(git ls-tree HEAD k/scale.c | cut -c1-6)" = 100755 && test -z "$(git status --porcelain -uno)" &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out && git reset -q --hard "$head"
'

test_expect_success 'a wrong edit is not committed, and is left; so is a slow one, unless that is wanted' '
	edit "$wrong" && state >before && exits 1 git klineage step -q >out 2>err && says "fail wrong" out && says "not committed: wrong" out && says "hint: mend the edit" err &&
	state >after && test_cmp before after &&
	edit "$slow" && state >before && exits 1 git klineage step -q >out 2>err && cat out && says "not committed: it is right, but runs at 0." out && says "allow-slow" err &&
	state >after && test_cmp before after &&
	exits 1 git klineage step -q --require not-slower >out 2>err && says "not committed: --require not-slower" out &&
	git klineage step -q --allow-slow --json >out 2>err && says "\"schema\":\"klineage.step/1\"" out && says "\"commit\":\"$(git rev-parse HEAD)\"" out && says "\"speed\":\"slow\"" out &&
	test "$(trailer Step)" = 2 && git log -1 --format=%s | grep "restore edit in" && git diff --quiet HEAD
'

test_expect_success 'detached, a merge, a bisection, a walk, another step: refused with what to do' '
	edit "$registers" && git checkout -q --detach && exits 128 git klineage step 2>err && says "detached" err && says "git switch -c" err && git checkout -q main &&
	git rev-parse HEAD >.git/MERGE_HEAD && exits 128 git klineage step 2>err && says "a merge is in progress" err && says "git merge --continue" err && rm .git/MERGE_HEAD &&
	git update-ref refs/klineage/op/main HEAD && exits 128 git klineage step 2>err && says "a walk is in progress" err && git update-ref -d refs/klineage/op/main &&
	mkdir -p .git/klineage && perl -e "use Fcntl qw(:flock); open(my \$f, q(>>), q(.git/klineage/op.lock)) or die; flock(\$f, LOCK_EX) or die;
		exit(system(q(git klineage step 2>err)) >> 8)"; test $? = 128 && says "another git klineage process" err &&
	exits 128 git klineage step --card none 2>err && says "hint:" err && git checkout -q .
'

if grep -q avx2 /proc/cpuinfo
then
	test_set_prereq AVX2
fi
test_expect_success AVX2 'claimed for a card: what is not there, what is wrong and what passes are trials, and admit nothing' '
	git klineage skills import "$KLINEAGE_TOP/tests/data/learned" >out && id=$(git ls-tree --name-only klineage/skills:cards | sed -n "s/.yaml$//; /^vector-loop/p") &&
	card () { git show "klineage/skills:cards/$id.yaml"; } &&
	trials () { card | grep -c "^ *- trial:\|^ *trial:" || :; } && was=$(trials) && head=$(git rev-parse HEAD) &&
	edit "$wrong" && exits 1 git klineage step -q --card vector-loop >out 2>err && cat out && says "trial 1 of $id on this state: failed, wrong" out && test "$(git rev-parse HEAD)" = "$head" &&
	test "$(trials)" = $((was + 1)) && git log -1 --format=%s refs/klineage/trials/$id >log && cat log && git log --format=%s refs/klineage/trials/$id | grep "rejected (wrong" &&
	exits 1 git klineage step -q --card $id >out && says "counts as one already" out && test "$(trials)" = $((was + 1)) &&
	edit "$registers" && again step --card $id && cat out && says "failed, not-there, the code lacks avx2.fma, vec.256" out && says "does not name the card" out && test "$(trailer Free)" = not-there &&
	! trailer Skill && test "$(trials)" = $((was + 2)) &&
	git reset -q --hard $head && edit "$vectors" && again step --card $id -m "scale: eight at a time" --json && says "\"result\":\"pass\"" out && says "\"card\":\"$id\"" out &&
	test "$(trailer Skill | cut -d@ -f1)" = $id && test "$(git log -1 --format=%s)" = "scale: eight at a time" && test "$(trailer Mechanism)" = vector-loop &&
	git klineage skills list --json >out && says "\"passed\":0" out && card >made && says "isolated: false" made && says "status: hypothesis" made && says "made: $(git rev-parse HEAD)" made && git merge-base --is-ancestor HEAD refs/klineage/trials/$id &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out && git klineage skills lint >out && says "0 errors" out && git fsck --strict --no-dangling
'

test_expect_success 'judged elsewhere: the same step again, after the import, commits' '
	head=$(git rev-parse HEAD) && git config klineage.runner bundle && edit "$slow" && exits 125 git klineage step -q >out 2>err && cat err && says "klineage-worker --bundle" err && says "same step again" err &&
	test "$(git rev-parse HEAD)" = "$head" && bundle=$(sed -n "s/.*written to .\(.*\).$/\1/p" err) && klineage-worker --bundle "$bundle" -o results 2>/dev/null &&
	git klineage gate --import results >out && cat out && git klineage step -q --allow-slow >out 2>err && cat out && says "committed" out && test "$(git rev-parse HEAD^)" = "$head" && git config --unset klineage.runner
'

test_done
