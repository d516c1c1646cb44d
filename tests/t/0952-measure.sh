#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage measure: the states of a lineage again, in one session that a kill does not end

The machine may be busy: what is tested is that good figures are noted and useless ones are not.'
. ./lib.sh

# states <file>: number and verdict of each state, the interval as "good", "useless" or "none"
states () {
	perl -MJSON::PP -e '
		for my $s (@{decode_json(join "", <STDIN>)->{states}}) {
			my $p = $s->{previous};
			my $what = $s->{verdict} eq "inconclusive" ? "useless" : !$p ? "none" : $p->{hi_ppm} > 2 * $p->{lo_ppm} + 1 ? "useless" : "good";
			print "$s->{state} $s->{verdict} $what $s->{event}\n";
		}' <"$1"
}

# noted <repository>: ids of the events in its notes, sorted
noted () {
	git -C "$1" grep -h -o "\"id\":\"[0-9a-f]\{64\}\"" refs/notes/klineage/gate | cut -d\" -f4 | sort
}

test_expect_success 'a lineage of two steps' '
	git init -q repo && (
		cd repo && git config klineage.profileMs 300 &&
		cp "$KLINEAGE_TOP"/tests/cheats/c/klineage.yaml "$KLINEAGE_TOP"/tests/cheats/c/oracle.c . &&
		cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/plain.c mm.c && git add . && git commit -q -m plain &&
		cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/packed-scratch.c mm.c && git commit -q -a -m packed &&
		git klineage deopt --keep-all --rewriter history --no-rederive --name x >../out 2>../err &&
		test "$(git rev-list --count klineage/lineage/mm/x)" = 2
	) || { cat out err; false; }
'

test_expect_success 'every state is measured against the one before it, and noted unless the machine was too busy' '
	noted repo >before &&
	(cd repo; git klineage measure --wait 0 --rounds 2 --json mm/x >../json 2>../err; echo $? >../code) &&
	states json >list && cat list && test "$(wc -l <list)" = 2 && grep "^K_0 [pi]" list && grep "^K_1 [pi]" list &&
	noted repo >after && comm -13 before after >new &&
	grep -v useless list | cut -d" " -f4 | sort >want && test_cmp want new &&
	if grep -q useless list; then
		test "$(cat code)" = 125 && says "too busy" err && says "it measures only" err
	else
		test "$(cat code)" = 0
	fi &&
	(cd repo && git klineage fsck >../out) && git -C repo fsck --strict
'

test_expect_success 'log shows the new figure of a state' '
	(cd repo && git klineage log --json >../log) &&
	if ! grep -q useless list; then
		event=$(sed -n "s/^K_1 .* //p" list) && grep "\"event\":\"$event\"" log
	fi &&
	git -C repo notes --ref=klineage/gate show klineage/lineage/mm/x >note && grep -c . note >count &&
	{ grep -q useless list || grep "\"session\":{\"rounds\":2,\"states\":2}" note; }
'

test_expect_success 'a session that is killed goes on where it ended' '
	rm -rf repo/.git/klineage/measure &&
	(cd repo && exec git-klineage measure --wait 0 --rounds 5 --quiet --json mm/x >../json 2>../err) & pid=$! &&
	for i in $(seq 600); do
		test -n "$(find repo/.git/klineage/measure -name "*-0.json" 2>/dev/null)" && break
		sleep 0.1
	done &&
	kill -9 $pid && { wait $pid; true; } && test ! -s json &&
	(cd repo; git klineage measure --wait 0 --rounds 5 --json mm/x >../json 2>../err) || test $? = 125 &&
	kept=$(perl -MJSON::PP -e "print decode_json(join q(), <STDIN>)->{kept}" <json) && test "$kept" -ge 1 &&
	made=$(perl -MJSON::PP -e "print decode_json(join q(), <STDIN>)->{made}" <json) && test $((kept + made)) = 10 &&
	if grep -q "too busy" err; then
		test "$(find repo/.git/klineage/measure -name "?-0.json" | wc -l)" = "$(find repo/.git/klineage/measure -name "noted-*" | wc -l)"
	else
		test -z "$(find repo/.git/klineage/measure -mindepth 1)"
	fi
'

test_expect_success 'on a busy machine it waits, says what for, and measures when the time is spent' '
	n=$(($(nproc) * 4)) && for i in $(seq $n); do
		(exec perl -e "my \$end = time + 60; 1 while time < \$end && getppid != 1") & echo $! >>hogs
	done &&
	(cd repo; git klineage measure --wait 2s --rounds 1 mm/x >../out 2>../err; echo $? >../code);
	kill $(cat hogs); cat out err &&
	grep "^the machine is busy: load [0-9.]*, other programs took [0-9]* % of the time, two runs of the same work differ by up to [0-9.]* %; measuring in [12] s$" err &&
	grep "^K_1 " out && { test "$(cat code)" = 0 || test "$(cat code)" = 125; }
'

test_expect_success 'revisions are measured in the order in which they are given' '
	(cd repo; git klineage measure --wait 0 --rounds 1 --json HEAD HEAD~1 >../json 2>../err); cat json err
	states json >list && test "$(cut -d" " -f1 list | tr "\n" " ")" = "HEAD HEAD~1 " &&
	grep "^HEAD~1 [pi]" list | grep -v none && sed -n 1p list | grep "^HEAD [pi]" &&
	grep -F "\"commit\":\"$(git -C repo rev-parse HEAD~1)\"" json
'

test_expect_success 'a state that fails is said and noted' '
	git init -q bad && (
		cd bad && git config klineage.profileMs 300 && cp ../repo/*.c ../repo/klineage.yaml . && git add . && git commit -q -m good &&
		sed "s/+=/-=/" mm.c >wrong && ! cmp mm.c wrong && mv wrong mm.c && git commit -q -a -m wrong &&
		exits 1 git klineage measure --wait 0 --rounds 1 HEAD~1 HEAD >../out 2>../err
	) && says "fail wrong" out && says "state 1" err &&
	git -C bad notes --ref=klineage/gate show HEAD | grep "\"verdict\":\"fail\""
'

test_expect_success 'bad arguments are named' '
	cd repo &&
	exits 129 git klineage measure --wait soon 2>err && says "90s, 10m or 2h, not" err &&
	exits 129 git klineage measure --rounds 0 2>err && says "from 1 to 100" err &&
	exits 128 git klineage measure none/such 2>err && says "none/such" err &&
	git config klineage.runner bundle && exits 125 git klineage measure mm/x 2>err && says "only on this machine" err
'

test_done
