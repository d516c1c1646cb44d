#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: several revisions in one session'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c

# state <kernel> <branch>: a revision that has that kernel
state () {
	git -C repo checkout -q -b "$2" base &&
	cp "$cheats/$1" repo/mm.c &&
	git -C repo add mm.c &&
	git -C repo commit -q -m "mm: $2"
}

test_expect_success 'revisions with kernels of several kinds' '
	git init -q repo &&
	cp "$cheats"/klineage.yaml "$cheats"/oracle.c repo/ &&
	git -C repo add . && git -C repo commit -q -m contract && git -C repo tag base &&
	state accepted/plain.c plain &&
	state refused/zeros.c zeros &&
	state refused/file.c cheat &&
	state accepted/kahan.c kahan
'

test_expect_success 'all are judged, and the worst is the exit code' '
	(cd repo && exits 1 git klineage gate --no-profile plain zeros kahan >../out) &&
	says "plain: mm: pass" out && says "zeros: mm: fail wrong-all" out && says "kahan: mm: pass" out &&
	(cd repo && exits 0 git klineage gate --no-profile plain kahan >../out) &&
	test "$(git -C repo notes --ref=klineage/gate list | wc -l)" = 3
'

test_expect_success 'a range is its commits, the oldest first; other ranges are refused' '
	(
		cd repo && git checkout -q -b line base && for k in plain kahan; do cp "$cheats/accepted/$k.c" mm.c && git add mm.c && git commit -q -m $k || return 1; done &&
		git klineage gate --no-profile --no-note base..line >../out && git rev-list --reverse base..line >../want && git checkout -q line &&
		git klineage gate --no-profile --no-note base.. >../open && exits 129 git klineage gate line..base 2>../empty
		exits 129 git klineage gate base...line 2>../three; exits 129 git klineage gate --bisect base..line 2>../bisect; exits 128 git klineage gate base..nonsense 2>../none
	) && sed -n "s/^\([0-9a-f]*\): mm: pass.*/\1/p" out >have && test_cmp want have &&
	sed -n "s/^\([0-9a-f]*\): mm: pass.*/\1/p" open >have && test_cmp want have && says "no commit in '\''line..base'\''" empty &&
	says "two dots" three && says "only one revision" bisect && says nonsense none
'

test_expect_success 'two dots in the words of one revision are no range' '
	(cd repo && git checkout -q line && git commit -q --allow-empty -m "mm: the range a..b" && git klineage gate --no-profile --no-note "HEAD^{/range a..b}" >../out) &&
	says "mm: pass" out
'

test_expect_success 'of several, the one that has no kernel is named' '
	(cd repo && exits 128 git klineage gate --no-profile --no-note base plain 2>../err) && says "git-klineage: base: " err &&
	(cd repo && exits 129 git klineage gate --no-profile --no-note plain..plain 2>../err) && says "no commit in" err
'

test_expect_success 'what waits for another machine goes in one bundle, what is decided is shown' '
	(cd repo && exits 125 git klineage gate --fresh --no-note --no-profile --runner bundle -o ../jobs.tar \
		plain cheat kahan zeros >../out 2>../err) &&
	says "cheat: mm: fail cheat" out && says jobs.tar out && says "no verdict yet" err &&
	says "hint: then run here: git klineage gate --import" err &&
	test "$(tar tf jobs.tar | grep -c "^jobs/")" = 3
'

test_expect_success 'what is about one revision is refused for several' '
	(cd repo && exits 129 git klineage gate --bisect plain zeros) &&
	(cd repo && exits 129 git klineage gate --seed 7 plain zeros) &&
	(cd repo && exits 129 git klineage gate --worktree plain)
'

test_done
