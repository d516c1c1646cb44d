#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt, log, show, export, import, fsck: a walk with the real gate, read back with plain git'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

lineage=klineage/lineage/scale/x
walk=klineage/walk/scale/x

trailer () {	# trailer <key> <rev>
	git log -1 --format="%(trailers:key=Klineage-$1,valueonly)" "$2" | grep .
}

test_expect_success 'the history of an expert becomes a lineage' '
	(
	(make_repo r) && cd r &&
	git klineage deopt --rewriter history --name x >out 2>err &&
	says "klineage/lineage/scale/x" out &&
	test "$(git rev-list --count main..$walk)" = 2 &&
	test "$(git diff --name-only main $walk)" = k/scale.c &&
	test "$(git rev-list --count $lineage)" = 3 &&
	test "$(git rev-parse main:k)" = "$(git rev-parse "$lineage^{tree}")" &&
	git show $lineage~2:scale.c | grep volatile &&
	test "$(trailer Direction $walk)" = back &&
	test "$(trailer Derivation $lineage)" = inverse &&
	test "$(trailer Termination $lineage~2)" = complete &&
	git fsck --strict --no-dangling &&
	test -z "$(git for-each-ref refs/klineage/op)" &&
	test -z "$(git status --porcelain -uno)"
	)
'

test_expect_success 'what failed is kept with its class, off the walk' '
	(
	cd r &&
	git rev-list refs/klineage/rejected/scale/x ^$walk >list &&
	test "$(wc -l <list)" = 1 &&
	case $(trailer Class refs/klineage/rejected/scale/x) in wrong-*) ;; *) false ;; esac
	)
'

test_expect_success 'the gate events are notes that stock git shows' '
	(
	cd r &&
	git notes --ref=klineage/gate show $lineage >note &&
	test "$(wc -l <note)" = 2 &&
	grep "\"inverse\":" note &&
	git notes --ref=klineage/gate show refs/klineage/rejected/scale/x | grep "\"verdict\":\"fail\""
	)
'

test_expect_success 'log shows each state, show one of them' '
	(
	cd r &&
	git klineage log >out && grep "^K_0 .*simplest" out && grep "^K_2 " out && says "speed against K_0" out &&
	git klineage log scale/x --no-bars >out && ! grep "speed against" out &&
	git klineage log --json | grep "\"schema\":\"klineage.log/1\"" &&
	git klineage show 1 >out && says "+++ b/scale.c" out && says inverse out &&
	git klineage show "K*" --no-diff >out && ! grep "+++" out && says "rejected:" out &&
	git klineage show 2 --json | grep "\"kind\":\"gate\"" &&
	exits 128 git klineage show 3 2>err && says "K_0 to K_2" err &&
	exits 129 git klineage show 2>err &&
	exits 128 git klineage log other 2>err && says "no lineage" err && ! grep hint err &&
	exits 128 git klineage log x 2>err && says "hint: did you mean '\''scale/x'\''?" err
	)
'

test_expect_success 'export and import give the same commits' '
	(
	cd r &&
	git klineage export ../x &&
	exits 128 git klineage export ../x 2>err && says "not empty" err &&
	git init -q ../i && cd ../i &&
	git klineage import ../x &&
	test "$(git rev-parse $lineage)" = "$(git -C ../r rev-parse $lineage)" &&
	git klineage import ../x >out && says "already" out &&
	git klineage fsck && git fsck --strict --no-dangling &&
	git klineage export ../y && diff ../x/0001-* ../y/0001-* &&
	cp -R ../x/state-0 ../am && cd ../am && git init -q && git add . && git commit -q -m K_0 &&
	git am -q ../x/00*.patch &&
	test "$(git rev-parse "HEAD^{tree}")" = "$(git -C ../r rev-parse "$lineage^{tree}")"
	)
'

test_expect_success 'a changed export is refused' '
	(
	cp -R x changed && sed -i "s/volatile/const/" changed/state-0/scale.c &&
	git init -q c && cd c &&
	exits 128 git klineage import ../changed 2>err && says "has been changed" err &&
	test -z "$(git for-each-ref)"
	)
'

test_expect_success 'fsck is clean, and finds a walk that changes something else' '
	(
	cd r &&
	git klineage fsck >out && says "0 errors, 0 warnings" out &&
	git worktree add -q ../w $walk && cd ../w && echo x >k/oracle.c && echo y >new &&
	git add . && git commit -q -m "$(git log -1 --format=%B)" && cd ../r &&
	exits 1 git klineage fsck >out && says "changes a file that is not a source: k/oracle.c" out && says ": new" out &&
	git worktree remove -f ../w && git branch -q -f $walk $walk~1 && git klineage fsck
	)
'

test_expect_success 'names that are taken, before anything is run' '
	(
	cd r &&
	exits 128 git klineage deopt --name x 2>err && says "already" err && says "--name" err &&
	exits 129 git klineage deopt --name "A b" 2>err &&
	(make_repo ../k) && cd ../k && git branch klineage &&
	exits 128 git klineage deopt 2>err && says klineage err
	)
'

test_expect_success 'stepwise: stop, edit, continue, end' '
	(
	(make_repo s) && cd s &&
	git klineage deopt --rewriter stepwise --name x >out &&
	says "stopped for an edit" out &&
	exits 128 git klineage deopt 2>err && says "already in progress" err && says "--abort" err &&
	git klineage deopt --status >out && says "wait" out &&
	exits 128 git klineage deopt --continue 2>err && says "no new proposal" err &&
	git show main~2:k/scale.c >.git/klineage/edit/scale.c &&
	git klineage deopt --continue --action untile -m "by hand" >out && says "1 step so far" out &&
	git klineage deopt --quit >out && says "on request" out &&
	test "$(trailer Action $walk)" = untile && test "$(trailer Origin $walk)" = authored &&
	test "$(trailer Termination $lineage~1)" = stopped &&
	test ! -e .git/klineage/edit && git klineage fsck
	)
'

test_expect_success 'abort and status without an operation; each worktree has its own' '
	(
	cd s &&
	exits 128 git klineage deopt --abort 2>err && says "no operation" err &&
	git klineage deopt --status >out && says "no operation" out &&
	git worktree add -q ../linked && git klineage deopt --rewriter stepwise --name y >out &&
	(cd ../linked && exits 128 git klineage deopt --continue 2>err && says "no operation" err) &&
	git klineage deopt --abort && test -z "$(git for-each-ref refs/klineage/op)"
	)
'

test_expect_success 'a result ref that somebody else made meanwhile stops the end, not the work' '
	(
	cd s &&
	git klineage deopt --rewriter stepwise --name z >out &&
	git show main~2:k/scale.c >.git/klineage/edit/scale.c &&
	git klineage deopt --continue -m why >out &&
	git branch klineage/lineage/scale/z main &&
	exits 128 git klineage deopt --quit 2>err && says "another process" err &&
	! git rev-parse -q --verify klineage/walk/scale/z &&
	git branch -q -D klineage/lineage/scale/z &&
	git klineage deopt --continue >out && git rev-parse -q --verify klineage/lineage/scale/z
	)
'

test_expect_success 'an expert that fails its gate' '
	(
	cd s && exits 1 git klineage deopt --expert main~1 --name f 2>err && says "fails its own gate" err &&
	test -z "$(git for-each-ref refs/klineage/op)" &&
	git notes --ref=klineage/gate show main~1 | grep "\"verdict\":\"fail\""
	)
'

test_expect_success 'a semantic patch with a program in it' '
	(
	mkdir evil && printf "@script:python@\n@@\nimport os; os.system(\"touch pwned\")\n" >evil/e.cocci &&
	printf "passes:\n  - {name: e, kind: cocci, file: e.cocci, action: a, mechanism: m, text: t}\n" >evil/passes.yaml &&
	cd s && exits 128 git klineage deopt --rewriter passes:../evil --name e 2>err &&
	says "must not use" err && says "e.cocci:1" err &&
	test ! -e pwned && test -z "$(git for-each-ref refs/klineage/op)"
	)
'

test_expect_success 'uncommitted changes are said to be left out' '
	(
	cd s && echo "/* changed */" >>k/scale.c &&
	git klineage deopt --rewriter stepwise --name d >out 2>err && says "uncommitted changes" err &&
	! grep changed .git/klineage/edit/scale.c && git klineage deopt --abort && git checkout -q k/scale.c
	)
'

test_expect_success 'repositories that cannot be walked' '
	(
	mkdir none && (cd none && exits 128 git klineage deopt 2>err && says "not in a git repository" err) &&
	git init -q unborn && (cd unborn && exits 128 git klineage deopt 2>err && says HEAD err) &&
	git clone -q --depth 1 "file://$PWD/s" shallow &&
	(cd shallow && exits 125 git klineage deopt 2>err && says shallow err) &&
	git clone -q --bare s bare.git && (cd bare.git && git klineage deopt --rewriter stepwise --name b >out &&
		says "stopped" out && git klineage deopt --abort) &&
	(cd s && exits 125 git klineage deopt --expert "$(git commit-tree -m x "$(git mktree </dev/null)")" 2>err &&
		says contract err) &&
	(cd s && exits 128 env -u GIT_AUTHOR_NAME -u GIT_COMMITTER_NAME -u GIT_AUTHOR_EMAIL -u GIT_COMMITTER_EMAIL \
		git -c user.useConfigOnly=true klineage deopt 2>err)
	)
'

test_expect_success 'Ctrl-C leaves the operation, --continue ends it' '
	(
	(make_repo int) && cd int && git config --unset klineage.profileMs &&
	{ git-klineage deopt --rewriter history --name x -q 2>err & pid=$!; } &&
	for i in 1 2 3 4 5 6 7 8 9 10; do
		git rev-parse -q --verify refs/klineage/op/main && break
		sleep 0.3
	done &&
	sleep 0.5 && kill -INT $pid && exits 130 wait $pid && says "--continue" err &&
	git rev-parse -q --verify refs/klineage/op/main &&
	git config klineage.profileMs 300 &&
	git klineage deopt --continue >out && test "$(git rev-list --count $lineage)" = 3 && git klineage fsck
	)
'

test_expect_success 'SIGKILL, too, and -h works anywhere' '
	(
	(make_repo kill) && cd kill &&
	{ git-klineage deopt --rewriter history --name x -q 2>err & pid=$!; } &&
	for i in 1 2 3 4 5 6 7 8 9 10; do
		git rev-parse -q --verify refs/klineage/op/main && break
		sleep 0.3
	done &&
	kill -KILL $pid && { wait $pid || :; } && git fsck --strict --no-dangling &&
	git klineage deopt --continue >out && test "$(git rev-list --count $lineage)" = 3 &&
	cd / && for v in deopt log show export import fsck; do git klineage $v -h >/dev/null || return 1; done
	)
'

test_done
