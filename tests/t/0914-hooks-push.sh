#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='hooks around a push: notes travel with what they judge, and verdicts can be asked for'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
good=$cheats/accepted
notes=refs/notes/klineage/gate

# kernel <repository> <file> <words>: committed, through the hooks
kernel () {
	cp "$2" "$1"/mm.c && git -C "$1" commit -q -a -m "$3" >"$1.out" 2>&1
}

# lines <repository>: all events of its notes, sorted
lines () {
	for note in $(git -C "$1" notes --ref=klineage/gate list | cut -d" " -f1); do
		git -C "$1" cat-file blob "$note"
	done | sort
}

test_expect_success 'a team: a server and two clones with hooks' '
	git init -q --bare server.git && git init -q first && (
		cd first && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . && cp "$good"/plain.c mm.c && git add . &&
		git commit -q -m plain && git remote add origin ../server.git && git push -q origin main
	) && git clone -q server.git second && for c in first second; do
		(cd $c && git klineage hooks install) || return 1
	done
'

test_expect_success 'commits without notes push nothing else, and nothing is said' '
	echo words >first/readme && git -C first add . && git -C first commit -q -m words &&
	git -C first push -q origin main >out 2>&1 && ! grep klineage: out &&
	test_must_fail git -C server.git rev-parse -q --verify $notes
'

test_expect_success 'notes go along with the commits that they are on' '
	kernel first "$good"/kahan.c kahan && git -C first push -q origin main >out 2>&1 &&
	says "pushed the notes of 1 of these commits" out &&
	test "$(git -C server.git rev-parse $notes)" = "$(git -C first rev-parse $notes)" &&
	test "$(git -C first rev-parse refs/notes/remotes/origin/klineage/gate)" = "$(git -C first rev-parse $notes)"
'

test_expect_success 'once more: the remote has them, and is not asked' '
	git -C first push -q origin main:refs/heads/copy >out 2>&1 && ! grep klineage: out
'

test_expect_success 'refspecs of the configuration are as they were' '
	test "$(git -C first config --get-all remote.origin.fetch)" = "+refs/heads/*:refs/remotes/origin/*" &&
	test_must_fail git -C first config --get-all remote.origin.push
'

test_expect_success 'somebody was quicker: both end up with all' '
	git -C second pull -q && git -C second checkout -q -b other && kernel second "$good"/recursion.c recursion &&
	test_must_fail git -C second rev-parse -q --verify refs/notes/remotes/origin/klineage/gate &&
	git -C second push -q origin other >out 2>&1 && says "pushed the notes" out &&
	git -C server.git merge-base --is-ancestor "$(git -C first rev-parse $notes)" $notes &&
	lines server.git >have && test "$(wc -l <have)" = 2 && git -C server.git fsck --strict &&
	kernel first "$good"/double-sum.c "double sum" && git -C first push -q origin main >out 2>&1 &&
	says "pushed the notes" out && lines server.git >have && test "$(wc -l <have)" = 3 &&
	for e in $(lines first | sed "s/.*\"id\":\"\([0-9a-f]*\)\".*/\1/"); do
		grep -q "$e" have || return 1
	done
'

test_expect_success 'git reads what was merged, and would have merged the same lines' '
	git -C server.git notes --ref=klineage/gate list >list && test "$(wc -l <list)" = 3 &&
	git clone -q --mirror server.git mirror.git && (
		cd mirror.git && git log -1 --format=%P $notes >../parents && set -- $(cat ../parents) && test $# = 2 &&
		git update-ref refs/notes/test $1 && git update-ref refs/notes/theirs $2 &&
		git notes --ref=test merge -q -s cat_sort_uniq refs/notes/theirs &&
		git notes --ref=test list | sort >../theirs && git notes --ref=klineage/gate list | sort >../ours
	) && cut -d" " -f2 theirs >want && cut -d" " -f2 ours >have && test_cmp want have
'

test_expect_success 'notes on one commit from two sides are united, line by line' '
	git -C second fetch -q && git -C second checkout -q origin/main &&
	(cd second && git klineage gate --no-profile) && git -C second checkout -q other &&
	(cd first && git klineage gate --no-profile >/dev/null) && git -C first commit -q --allow-empty -m empty &&
	kernel first "$good"/strassen.c strassen && git -C first push -q origin main >out 2>&1 &&
	kernel second "$good"/libm.c libm && git -C second push -q origin other >out 2>&1 &&
	git -C server.git notes --ref=klineage/gate show main^^ >note && test "$(grep -c "\"kind\":\"gate\"" note)" = 2 &&
	test "$(grep -c "\"kind\":\"check\"" note)" = 1
'

test_expect_success 'many at once lose nothing' '
	for i in 1 2 3 4; do
		git clone -q -b main server.git racer$i && (cd racer$i && git klineage hooks install >/dev/null &&
			git checkout -q -b race$i && { cat mm.c; echo "/* $i */"; } >x && mv x mm.c && git commit -q -a -m $i) >/dev/null 2>&1 ||
			return 1
	done &&
	for i in 1 2 3 4; do
		git -C racer$i push -q origin race$i >race$i.out 2>&1 &
	done && wait &&
	for i in 1 2 3 4; do
		says "pushed the notes" race$i.out && git -C server.git notes --ref=klineage/gate show race$i >/dev/null || return 1
	done && git -C server.git fsck --strict
'

test_expect_success 'to what has no name as a remote notes do not go, and that is said' '
	git init -q --bare unnamed.git && git -C first push -q ../unnamed.git main >out 2>&1 &&
	says "the notes were not pushed: no remote" out && git -C unnamed.git rev-parse -q --verify main
'

test_expect_success 'a server that takes no notes stops no push' '
	git init -q --bare strict.git && cat >strict.git/hooks/update <<-\EOF && chmod +x strict.git/hooks/update &&
		#!/bin/sh
		case $1 in refs/notes/*) echo "no notes here" >&2; exit 1;; esac
	EOF
	git -C first remote add strict ../strict.git && git -C first push -q strict main >out 2>&1 &&
	says "the notes were not pushed" out && says "no notes here" out &&
	git -C strict.git rev-parse -q --verify main
'

test_expect_success 'notes that are pushed by hand are not pushed twice; by config, not at all' '
	git init -q --bare hand.git && git -C first remote add hand ../hand.git && git -C first push -q hand main $notes >out 2>&1 && ! grep klineage: out &&
	git -C hand.git rev-parse -q --verify $notes &&
	git init -q --bare none.git && git -C first remote add none ../none.git &&
	git -C first -c klineage.hooks.notes=false push -q none main >out 2>&1 &&
	test_must_fail git -C none.git rev-parse -q --verify $notes
'

test_expect_success 'somebody else s hook is asked about the push alone, not about the notes that go along' '
	git init -q --bare asked.git && git -C first remote add asked ../asked.git && (
		cd first && git klineage hooks uninstall && printf "#!/bin/sh\ncat >>../stdin\n" >.git/hooks/pre-push &&
		chmod +x .git/hooks/pre-push && git klineage hooks install --chain && git push -q asked main >../out 2>&1
	) && says "pushed the notes" out && test "$(wc -l <stdin)" = 1 && says refs/heads/main stdin
'

test_expect_success 'lineages and cards are not for a push to give away' '
	git -C first update-ref refs/heads/klineage/skills HEAD && git -C first push -q asked main:refs/heads/again >out 2>&1 &&
	test "$(git -C asked.git for-each-ref --format="%(refname)")" = "refs/heads/again
refs/heads/main
refs/notes/klineage/gate" && git -C first update-ref -d refs/heads/klineage/skills
'

test_expect_success 'deletions, tags and what is no commit are none of ours' '
	git -C first tag -a -m tag v1 && blob=$(git -C first rev-parse HEAD:mm.c) &&
	git -C first push -q origin v1 $blob:refs/tags/blob :refs/heads/copy >out 2>&1 && ! grep "nothing was judged" out
'

# --- verdicts asked for -----------------------------------------------------------

test_expect_success 'every pushed kernel must have passed the gate' '
	git clone -q server.git strict && (
		cd strict && git klineage hooks install && git config klineage.hooks.push gate && cp "$good"/kahan.c mm.c &&
		git commit -q -a -m kahan && cp "$good"/recursion.c mm.c && git commit -q --no-verify -a -m recursion &&
		echo x >>readme && git commit -q -a -m words && exits 1 git push -q origin HEAD:refs/heads/s >../out 2>&1 &&
		git log -2 --abbrev=10 --format=%h HEAD~1 >../short
	) &&
	says "$(sed -n 1p short) mm: not judged" out && says "$(sed -n 2p short) mm: only the quick stages" out &&
	test "$(grep -c " mm: " out)" = 2 && says "the push is refused" out && test_must_fail git -C server.git rev-parse -q --verify s
'

test_expect_success 'or the quick stages at least' '
	(cd strict && exits 1 git -c klineage.hooks.push=check push -q origin HEAD:refs/heads/s >../out 2>&1) &&
	test "$(grep -c " mm: " out)" = 1
'

test_expect_success 'what was asked for is done, and it goes' '
	(cd strict && git klineage gate --no-profile HEAD~1 HEAD~2 >/dev/null && git push -q origin HEAD:refs/heads/s >../out 2>&1) &&
	says "pushed the notes of 2 of these commits" out && ! grep " mm: " out
'

test_expect_success 'a verdict counts wherever it is noted: the same files after a rebase, and in a merge' '
	(
		cd strict && git checkout -q -b rebased HEAD~3 && git commit -q --allow-empty -m base && rm -rf .git/klineage/cache &&
		git -c core.hooksPath=/dev/null cherry-pick s~2 s~1 >/dev/null 2>&1 || git -c core.hooksPath=/dev/null cherry-pick origin/s~2 origin/s~1
	) >/dev/null 2>&1 && (cd strict && test_must_fail git notes --ref=klineage/gate show HEAD &&
		git push -q origin HEAD:refs/heads/rebased >../out 2>&1)
'

test_expect_success 'one that failed, however often it is said to be missing' '
	(
		cd strict && cp "$cheats"/refused/zeros.c mm.c && exits 1 git commit -q -a -m zeros 2>/dev/null;
		git commit -q --no-verify -a -m zeros && exits 1 git push -q origin HEAD:refs/heads/zeros >../out 2>&1 &&
		git -c klineage.hooks.block=nothing push -q origin HEAD:refs/heads/advice >../advice 2>&1 &&
		git push -q --no-verify origin HEAD:refs/heads/forced
	) && says "mm: it failed: wrong-" out && says "mm: it failed" advice && git -C server.git rev-parse -q --verify forced
'

test_expect_success 'a contract that cannot be read has no verdict' '
	(
		cd strict && git checkout -q -b unreadable HEAD^ && echo "nonsense: [" >>klineage.yaml &&
		git commit -q --no-verify -a -m nonsense && exits 1 git push -q origin HEAD:refs/heads/bad >../out 2>&1
	) && says "klineage.yaml:" out
'

test_expect_success 'a typo in the configuration lets nobody through' '
	(
		cd strict && exits 1 git -c klineage.hooks.push=gates push -q origin HEAD:refs/heads/word >../out 2>&1 &&
		echo y >>readme && exits 1 git -c klineage.hooks.profile=maybe commit -q -a -m y 2>../profile
	) && says "expected nothing, check or gate" out && says "neither true nor false" profile
'

test_done
