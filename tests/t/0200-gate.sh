#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: which state, which contract, what is noted'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c

# field <key> <file>: the value of a string or number in a JSON line
field () {
	perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); print $j->{$ARGV[0]} // "", "\n"' "$1" <"$2"
}

test_expect_success 'a repository with two states' '
	git init -q repo && (
		cd repo &&
		cp "$cheats"/klineage.yaml "$cheats"/oracle.c . &&
		cp "$cheats"/accepted/plain.c mm.c && git add . && git commit -q -m plain &&
		cp "$cheats"/accepted/packed-scratch.c mm.c && git commit -q -a -m packed
	)
'

test_expect_success 'HEAD is judged against its parent and noted' '
	(cd repo && git klineage gate >../out) &&
	says "mm: pass" out && says parent out &&
	git -C repo notes --ref=klineage/gate show HEAD >note &&
	test "$(wc -l <note)" = 1 &&
	test "$(field verdict note)" = pass &&
	test "$(field commit note)" = "$(git -C repo rev-parse HEAD)" &&
	test "$(field tree note)" = "$(git -C repo rev-parse HEAD^{tree})" &&
	git -C repo fsck --strict
'

test_expect_success 'the id is the digest of the line without id, sig, commit and tree' '
	perl -MJSON::PP -MDigest::SHA=sha256_hex -e "
		my \$j = decode_json(join q(), <STDIN>); my \$id = delete \$j->{id};
		delete @\$j{qw(sig commit tree)};
		my \$line = JSON::PP->new->canonical->ascii->encode(\$j);
		exit(sha256_hex(\$line) eq \$id ? 0 : 1)" <note
'

test_expect_success 'a verdict of this clone spares the second run' '
	(cd repo && git klineage gate >../out) && says "judged before" out &&
	git -C repo notes --ref=klineage/gate show HEAD >again && test_cmp note again &&
	(cd repo && git klineage gate --fresh --no-note >../out) && ! grep "judged before" out
'

test_expect_success '--json prints the event' '
	(cd repo && git klineage gate --json >../event) &&
	test "$(field kind event)" = gate && test "$(field workload event)" = mm &&
	test "$(wc -l <event)" = 1
'

# git would hold them: the program is called by its own name
test_expect_success 'with stdin and stderr closed the jail is the same, with stdout closed the answer is an error' '
	(
		cd repo && git-klineage gate --quick --fresh --no-note --json >../event </dev/null &&
		git-klineage gate --quick --fresh --no-note --json >../closed <&- 2>&- &&
		exits 128 git-klineage gate --quick --fresh --no-note --json >&- 2>../err && git fsck --strict
	) && for f in kind verdict tier; do
		test -n "$(field $f event)" && test "$(field $f event)" = "$(field $f closed)" || return 1
	done && says "cannot write the output" err
'

test_expect_success 'the worktree and what is staged are states of their own' '
	(
		cd repo && cp "$cheats"/refused/zeros.c mm.c &&
		exits 1 git klineage gate --worktree --no-profile >../worktree &&
		git klineage gate --staged --no-profile >../staged &&
		git add mm.c &&
		exits 1 git klineage gate --staged --no-profile >../restaged &&
		git klineage gate --no-profile --no-note >../head &&
		git reset -q --hard
	) &&
	says "mm: fail wrong-all" worktree && says "mm: pass" staged &&
	says "mm: fail wrong-all" restaged && says "mm: pass" head
'

test_expect_success 'a partial commit is judged by the index that git names' '
	(
		cd repo && cp "$cheats"/refused/zeros.c mm.c &&
		GIT_INDEX_FILE=.git/other git read-tree HEAD &&
		GIT_INDEX_FILE=.git/other git add mm.c &&
		GIT_INDEX_FILE=.git/other exits 1 git klineage gate --staged --no-profile &&
		git klineage gate --staged --no-profile && git reset -q --hard
	)
'

test_expect_success 'a failure names the place, what came, what was wanted, and replays' '
	(
		cd repo && cp "$cheats"/refused/skipped-columns.c mm.c &&
		exits 1 git klineage gate --worktree --no-profile >../out; git reset -q --hard
	) &&
	grep -E "^  (case|also)[0-9]+ +M=[0-9]+, " out && grep "C\[0, *3\]" out && says "is 0, wanted" out && says "git klineage gate" out &&
	says "--seed" out
'

test_expect_success 'every note has its own line' '
	(cd repo && git klineage gate --fresh --no-note --json >../event && git klineage gate --no-note >../listed) &&
	perl -MJSON::PP -e "print map { \"\$_\n\" } @{decode_json(join q(), <STDIN>)->{notes} || []}" <event >notes &&
	sed -n "/^  notes /,\$ s/^            *\|^  notes  *//p" listed >printed && test_cmp notes printed
'

test_expect_success 'the replay fails in the same place' '
	seed=$(sed -n "s/.*--seed \([0-9a-fx]*\).*/\1/p" out | head -n 1) && test -n "$seed" &&
	place=$(sed -n "s/.*\(C\[[0-9, ]*\]\).*/\1/p" out | head -n 1) &&
	(
		cd repo && cp "$cheats"/refused/skipped-columns.c mm.c &&
		exits 1 git klineage gate --worktree --no-profile --seed "$seed" >../replayed; git reset -q --hard
	) &&
	says "$place" replayed
'

test_expect_success '--require asks for speed' '
	(cd repo && exits 129 git klineage gate --require soon) 2>err && says "fast" err &&
	(cd repo && exits 125 git klineage gate --require fast HEAD^ --no-note) 2>err && says "no parent" err
'

test_expect_success 'several contracts: named, around the user, or asked for' '
	git init -q many && (
		cd many &&
		for w in a b; do
			mkdir $w && cp "$cheats"/oracle.c $w/ && cp "$cheats"/accepted/plain.c $w/mm.c &&
			sed "s/^workload: mm/workload: mm-$w/" "$cheats"/klineage.yaml >$w/klineage.yaml || exit 1
		done &&
		git add . && git commit -q -m both &&
		exits 129 git klineage gate --no-profile 2>../err &&
		git klineage gate --no-profile --workload mm-b >../named &&
		cd a && git klineage gate --no-profile >../../around
	) &&
	says "mm-a mm-b" err && says "mm-b: pass" named && says "mm-a: pass" around
'

# hold_machine <seconds> <command...>: run a command while somebody else measures
hold_machine () {
	seconds=$1; shift
	test -e /tmp/klineage-cpu.lock || (umask 0 && : >>/tmp/klineage-cpu.lock)
	rm -f held
	flock /tmp/klineage-cpu.lock sh -c "echo \$\$ >held; exec sleep $seconds" & holder=$!
	until test -s held; do sleep 0.1; done
	"$@"; status=$?
	wait $holder
	return $status
}

command -v flock >/dev/null && test_set_prereq FLOCK

test_expect_success FLOCK 'who waits for another measurement is told, also in a hook and by --progress, but not by --quiet' '
	hold_machine 3 git -C repo klineage gate --fresh --no-note >out 2>err &&
	grep "^waiting for another measurement (.*for [1-3] s so far)$" err &&
	hold_machine 3 git -C repo klineage gate --fresh --no-note --progress >out 2>err &&
	grep "waiting for another measurement (.*for [1-3] s so far)" err &&
	hold_machine 3 git -C repo klineage gate --fresh --no-note --quiet >out 2>err && ! grep waiting err &&
	git init -q hooked && (
		cd hooked && cp ../repo/*.c ../repo/klineage.yaml . && git add . && git commit -q -m first &&
		git klineage hooks install >../out && git config klineage.hooks.profile true &&
		echo "/* again */" >>mm.c &&
		hold_machine 3 git commit -q -a -m again 2>../err
	) && grep "^waiting for another measurement (.*for [1-3] s so far)$" err
'

test_expect_success '--fast is another name of --quick, which the usage does not show' '
	for name in quick fast; do
		(cd repo && git klineage gate --$name --fresh --no-note --json >../$name) && test "$(field kind $name)" = check || return 1
	done && git klineage gate -h >usage 2>&1 && grep -q -e "--quick" usage && exits 1 grep -e "--fast" usage
'

test_done
