#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='hooks around a commit: what is judged, what is stopped, what is noted'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
good=$cheats/accepted
bad=$cheats/refused

# repo <name>: with hooks by hand and one kernel in it
repo () {
	git init -q "$1" &&
	for event in pre-commit pre-merge-commit post-commit post-merge; do
		hook "$1/.git/hooks" $event || return 1
	done &&
	cp "$cheats"/klineage.yaml "$cheats"/oracle.c "$1" && cp "$good"/plain.c "$1"/mm.c &&
	git -C "$1" add . && git -C "$1" commit -q -m first >"$1.first" 2>&1
}

# hook <directory> <event>
hook () {
	mkdir -p "$1" && printf '#!/bin/sh\nexec git klineage hooks run %s -- "$@"\n' "$2" >"$1/$2" &&
	chmod +x "$1/$2"
}

# note <repository> <rev>: into the file "note"
note () {
	git -C "$1" notes --ref=klineage/gate show "$2" >note
}

test_expect_success 'the first commit is judged, by the quick stages, in one line, and noted' '
	repo repo &&
	grep "^klineage: mm: pass, checked on [0-9]* inputs ([0-9.]* m*s)\$" repo.first &&
	test "$(grep -c klineage repo.first)" = 1 &&
	note repo HEAD && test "$(wc -l <note)" = 1 &&
	grep "\"kind\":\"check\"" note && grep "\"verdict\":\"pass\"" note &&
	grep "\"commit\":\"$(git -C repo rev-parse HEAD)\"" note &&
	git -C repo fsck --strict
'

test_expect_success 'a commit that breaks the kernel is stopped' '
	(
		cd repo && head=$(git rev-parse HEAD) && cp "$bad"/skipped-columns.c mm.c &&
		exits 1 git commit -q -a -m broken >../out 2>&1 &&
		test "$(git rev-parse HEAD)" = "$head" && git reset -q --hard
	) &&
	grep "^klineage: mm: FAIL wrong-edge, checked" out && says "gate --worktree --workload mm --quick --seed" out &&
	says "no-verify" out
'

test_expect_success '--no-verify makes it all the same, and no verdict is made up for it' '
	(
		cd repo && cp "$bad"/zeros.c mm.c && git commit -q --no-verify -a -m broken >../out 2>&1 &&
		! git notes --ref=klineage/gate show HEAD && git reset -q --hard HEAD^
	) && ! grep klineage: out
'

test_expect_success 'a failure that was known before is noted on the commit that is forced' '
	(
		cd repo && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m broken &&
		git commit -q --no-verify -a -m broken && cd .. && note repo HEAD &&
		git -C repo reset -q --hard HEAD^
	) && grep "\"verdict\":\"fail\"" note
'

test_expect_success 'nothing to do: nothing is said' '
	(cd repo && echo words >readme && git add readme && git commit -q -m words >../out 2>&1) &&
	test_must_fail test -s out && ! git -C repo notes --ref=klineage/gate show HEAD
'

test_expect_success 'the index counts, not the worktree' '
	(
		cd repo && cp "$bad"/zeros.c mm.c && git add mm.c && cp "$good"/plain.c mm.c &&
		exits 1 git commit -q -m staged && git reset -q --hard &&
		cp "$good"/packed-scratch.c mm.c && git add mm.c && cp "$bad"/zeros.c mm.c &&
		git commit -q -m packed && cp mm.c ../dirty && git diff --quiet --cached &&
		git checkout -q mm.c
	) && cmp dirty "$bad"/zeros.c
'

test_expect_success 'a partial commit: the paths that are named' '
	(
		cd repo && cp "$bad"/zeros.c mm.c && git add mm.c && echo more >>readme &&
		git commit -q -m "only words" readme >../partial 2>&1 &&
		exits 1 git commit -q -m "only the kernel" mm.c >../kernel 2>&1 && git reset -q --hard
	) && ! grep klineage: partial && says "mm: FAIL" kernel
'

test_expect_success 'commit -a takes what changed' '
	(cd repo && cp "$good"/kahan.c mm.c && git commit -q -a -m kahan >../out 2>&1) && says "mm: pass, checked" out
'

test_expect_success 'the same content is not judged again' '
	(
		cd repo && git revert --no-edit HEAD >/dev/null 2>&1 && git reset -q --hard HEAD^^ &&
		cp "$good"/kahan.c mm.c && git commit -q -a -m "kahan once more" >../out 2>&1
	) &&
	says "mm: pass, judged before" out && note repo HEAD && grep "\"verdict\":\"pass\"" note
'

test_expect_success 'an amended commit: its new content, and the note comes along' '
	(
		cd repo && git commit -q --amend -m "other words" >../words 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null &&
		cp "$bad"/zeros.c mm.c && exits 1 git commit -q --amend -a --no-edit >../broken 2>&1 &&
		git reset -q --hard && cp "$good"/recursion.c mm.c &&
		git commit -q --amend -a --no-edit >../amended 2>&1
	) &&
	! grep klineage: words && says "mm: FAIL" broken && says "mm: pass, checked" amended && note repo HEAD
'

test_expect_success 'a revert and a cherry-pick get the notes of what they bring back' '
	(
		cd repo && git revert --no-edit HEAD >../out 2>&1 && git notes --ref=klineage/gate show HEAD >/dev/null &&
		git checkout -q -b picked HEAD^^ && git cherry-pick main^ >../out 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null && git checkout -q main
	)
'

test_expect_success 'a rebase goes through, and each commit has its note' '
	repo rebase && (
		cd rebase && git checkout -q -b side && cp "$good"/kahan.c mm.c && git commit -q -a -m one &&
		cp "$good"/recursion.c mm.c && git commit -q -a -m two && git checkout -q main &&
		echo words >readme && git add . && git commit -q -m words && git rebase -q main side &&
		git notes --ref=klineage/gate show side >/dev/null && git notes --ref=klineage/gate show side^ >/dev/null &&
		git rebase -q --force-rebase --exec "git commit -q --amend --no-edit" main &&
		git notes --ref=klineage/gate show side^ >/dev/null
	) && git -C rebase fsck --strict
'

test_expect_success 'a commit in the middle of a rebase is judged as any other' '
	(
		cd rebase && GIT_SEQUENCE_EDITOR="sed -i 1s/pick/edit/" git rebase -q -i main &&
		cp "$bad"/zeros.c mm.c && exits 1 git commit -q --amend -a --no-edit >../out 2>&1 &&
		git checkout -q HEAD mm.c && git rebase --continue >/dev/null 2>&1 &&
		test "$(git rev-list --count main..side)" = 2
	) && says "mm: FAIL" out
'

test_expect_success 'merges: the merged kernel is judged and noted, by git merge and after conflicts' '
	repo merge && (
		cd merge && sed "s/^/ /" mm.c >x && git checkout -q -b side && mv x mm.c && git commit -q -a -m indent &&
		git checkout -q main && echo words >readme && git add readme && git commit -q -m words &&
		git merge -q --no-edit side >../clean 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null && test "$(git rev-list --count --merges HEAD)" = 1 &&
		cp "$good"/kahan.c mm.c && git commit -q -a -m kahan && git checkout -q -b other HEAD^ &&
		cp "$good"/recursion.c mm.c && git commit -q -a -m recursion &&
		test_must_fail git merge -q main && cp "$bad"/zeros.c mm.c && git add mm.c &&
		exits 1 git commit -q --no-edit >../conflict 2>&1 &&
		cp "$good"/double-sum.c mm.c && git add mm.c && git commit -q --no-edit >../resolved 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null
	) &&
	says "mm: pass, judged before" clean && says "mm: FAIL" conflict && says "mm: pass, checked" resolved
'

test_expect_success 'a merge that breaks the kernel is stopped, too' '
	(
		cd merge && git checkout -q -b breaks HEAD && cp "$bad"/zeros.c mm.c &&
		git commit -q --no-verify -a -m zeros && git checkout -q other && echo x >>readme &&
		git commit -q -a -m x && head=$(git rev-parse HEAD) &&
		test_must_fail git merge --no-edit breaks >../out 2>&1 && test "$(git rev-parse HEAD)" = "$head" &&
		git merge --abort
	) && says "mm: FAIL" out
'

test_expect_success 'of several kernels, those that changed' '
	repo many && (
		cd many && mkdir a b && for d in a b; do
			cp oracle.c mm.c $d && sed "s/^workload: mm/workload: mm-$d/" klineage.yaml >$d/klineage.yaml || exit 1
		done && git rm -q --cached klineage.yaml oracle.c mm.c && rm klineage.yaml oracle.c mm.c && git add . &&
		git commit -q -m two >../moved 2>&1 &&
		cp "$good"/kahan.c b/mm.c && git commit -q -a -m b >../b 2>&1 &&
		cp "$bad"/zeros.c a/mm.c && cp "$good"/recursion.c b/mm.c &&
		exits 1 git commit -q -a -m both >../both 2>&1
	) &&
	says "mm: its contract was removed" moved && says "mm-a: pass" moved && says "mm-b: pass" moved &&
	says "mm-b: pass" b && ! grep mm-a b && says "mm-a: FAIL" both && says "mm-b: pass" both
'

test_expect_success 'a verdict of the whole gate serves, and is what is noted' '
	repo full && (
		cd full && cp "$good"/kahan.c mm.c && git add mm.c && git klineage gate --staged --no-profile >/dev/null &&
		git commit -q -m kahan >../out 2>&1
	) &&
	says "mm: pass, judged before" out && note full HEAD && grep "\"kind\":\"gate\"" note && ! grep check note
'

test_expect_success 'a check spares no run of the whole gate, and both stand in the note' '
	(
		cd full && cp "$good"/recursion.c mm.c && git commit -q -a -m recursion &&
		git klineage gate --no-profile >../out && git klineage gate --quick >../again
	) &&
	! grep "judged before" out && says "pass  (" out && says "judged before" again && ! grep "by the fast" again &&
	note full HEAD && grep "\"kind\":\"gate\"" note && grep "\"kind\":\"check\"" note
'

test_expect_success 'by config the whole gate' '
	(
		cd full && cp "$good"/double-sum.c mm.c &&
		git -c klineage.hooks.profile=true commit -q -a -m profiled >../out 2>&1
	) &&
	says "mm: pass, judged on" out && note full HEAD && grep "\"profile\":" note && grep "\"what\":\"parent\"" note
'

test_expect_success 'a contract that cannot be read, or names what is not there, is no way around' '
	(
		cd full && sed -i "s/^workload:/wrokload:/" klineage.yaml &&
		exits 1 git commit -q -a -m typo >../typo 2>&1 && git reset -q --hard &&
		git rm -q --cached mm.c && exits 1 git commit -q -m gone >../gone 2>&1 && git reset -q --hard
	) &&
	says "FAIL, cannot be judged" typo && says "klineage.yaml:" typo && says "FAIL, cannot be judged" gone &&
	says "mm.c" gone
'

test_expect_success 'what was broken in the same way before stops nobody else' '
	(
		cd full && sed -i "s/^workload:/wrokload:/" klineage.yaml &&
		git commit -q --no-verify -a -m typo && echo words >readme && git add readme &&
		git commit -q -m words >../out 2>&1 && git reset -q --hard HEAD^^
	) && ! grep klineage: out
'

test_expect_success 'what cannot be judged here is only spoken of, unless asked for' '
	(
		cd full && printf "/* KL_ORACLE_TODO */\n" >>oracle.c && git add oracle.c &&
		exits 1 git -c klineage.hooks.block=untested commit -q -m todo >../strict 2>&1 &&
		git commit -q -m todo >../out 2>&1 && git reset -q --hard HEAD^
	) &&
	says "mm: not judged" strict && says "mm: not judged" out
'

test_expect_success 'hooks that advise' '
	(
		cd full && cp "$bad"/zeros.c mm.c &&
		git -c klineage.hooks.block=nothing commit -q -a -m zeros >../out 2>&1 && git reset -q --hard HEAD^
	) && says "mm: FAIL" out
'

test_expect_success 'a config that says nothing known stops, when the strictest is meant' '
	(cd full && exits 1 git -c klineage.hooks.block=soon klineage hooks run pre-commit 2>../err) &&
	says "expected fail, untested or nothing" err
'

test_expect_success 'unknown events are refused' '
	(cd full && exits 129 git klineage hooks run pre-lunch 2>../err) && says "no hook for" err &&
	(cd full && exits 129 git klineage hooks 2>../err) && (cd full && exits 129 git klineage hooks fly 2>../err)
'

test_expect_success 'no object, ref or index is left behind by a commit that was stopped' '
	(
		cd full && git status --porcelain >../before && cp "$bad"/zeros.c mm.c &&
		exits 1 git commit -q -a -m zeros 2>/dev/null; git checkout -q mm.c &&
		git status --porcelain >../after && ! find .git -name "*.lock" | grep . && git fsck --strict
	) && test_cmp before after
'

# stops <repository>: what is broken is stopped, what is right goes through and is noted; `word` makes it new
word=0
stops () {
	word=$((word + 1))
	(
		cd "$1" && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros >../out 2>&1 && git checkout -q mm.c &&
		{ cat "$good"/kahan.c && echo "/* $word */"; } >mm.c && git commit -q -a -m kahan >../out 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null && git fsck --strict
	)
}

test_expect_success 'a shallow clone, a partial one; a split index, a sparse one; a detached head, a second root' '
	repo whole && mkdir whole/d && echo x >whole/d/x && git -C whole add d && git -C whole commit -q -m d &&
	git -C whole config uploadpack.allowFilter true && git clone -q --depth 1 "file://$PWD/whole" shallow &&
	git clone -q --filter=blob:none "file://$PWD/whole" filtered && for r in shallow filtered; do
		for event in pre-commit post-commit; do
			hook $r/.git/hooks $event || return 1
		done && stops $r || return 1
	done && test "$(git -C shallow rev-parse --is-shallow-repository)" = true &&
	git -C whole update-index --split-index && stops whole && git -C whole update-index --no-split-index &&
	git -C whole sparse-checkout set --cone --sparse-index && stops whole && test_must_fail test -e whole/d &&
	git -C whole sparse-checkout disable && git -C whole checkout -q --detach && stops whole &&
	git -C whole checkout -q --orphan root && git -C whole commit -q -m root >out 2>&1 && says "mm: pass, judged before" out && stops whole
'

test_done
