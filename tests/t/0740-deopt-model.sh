#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt with a model: it proposes, derives anew, is bought once; read back with plain git'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
. "$KLINEAGE_TOP/tests/t/answers.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

lineage=klineage/lineage/scale/x
walk=klineage/walk/scale/x
rejected=refs/klineage/rejected/scale/x
# a command can only be kept from looking at K_i where there is bubblewrap; without it the step is called unisolated
bwrap --dev-bind / / --unshare-pid --proc /proc true 2>/dev/null && test_set_prereq HIDES
if test_have_prereq HIDES; then anew=rederived both="2 re-derived"; else anew=unisolated both="0 re-derived, 2 unisolated"; fi

trailer () {	# trailer <key> <rev>
	git log -1 --format="%(trailers:key=Klineage-$1,valueonly)" "$2" | grep .
}
asked () { cat "$ANSWERS/log"; }
twice () { sort "$ANSWERS/log" | uniq -d; }

# the replies that are stored: <phase>.<turn>, one a line
stored () {
	git for-each-ref --format="%(refname)" refs/klineage/chat | while read -r r; do
		seq -f "${r##*/}.%g" 0 $(($(git rev-list --count "$r") - 1))
	done | sort
}

# K.4 is the expert, K.3 wrong, K.1 its loop, K.0 that through memory; K.5 the expert with a remark
test_expect_success 'a kernel, and a model that knows what to say of it' '
	(make_repo base) && answers "$PWD/answers" &&
	for n in 0 1 3 4; do git -C base show "main~$((n > 1 ? 4 - n : 3 - n)):k/scale.c" >K.$n || return 1; done &&
	sed "s,int64_t i = 0;,& /* four at a time */," K.4 >K.5 && ! cmp -s K.4 K.5 &&
	answer back-0.0 unroll K.3 && answer back-0.1 reroll K.1 "one element at a time" &&
	answer back-1.0 spill K.0 && printf "<nothing-left>plain as can be</nothing-left>\n" >answers/back-2.0 &&
	answer forward-1.0 vectorize K.3 && printf "%s\n" "I would rather not." >answers/forward-1.1 &&
	answer forward-1.2 vectorize K.5 "four at a time, and the rest" && answer forward-2.0 registers K.1 &&
	cp -R base r && cp -R base cut && cp -R base gate && cp -R base poor && cp -R base verbs && cp -R base away && cp -R base inverse && cp -R base open && cp -R base hidden
'

test_expect_success 'it walks, and two steps are derived anew' '
	(
	cd r && git klineage deopt --rewriter exec --exec "$model" --name x >out 2>err &&
	says "2 steps accepted ($both), 1 rejected" out && says "no rewriter had anything more" out &&
	git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling &&
	test -z "$(git for-each-ref refs/klineage/op)" && test ! -e .git/klineage/op.model
	) &&
	asked >have && printf "%s\n" back-0.0 back-0.1 forward-1.0 forward-1.1 forward-1.2 back-1.0 forward-2.0 back-2.0 >want &&
	test_cmp want have
'

test_expect_success 'first parents are the states, second parents K_i-prime on the state before' '
	(
	cd r && test "$(git rev-list --first-parent --count $lineage)" = 3 && test "$(git rev-list --count $lineage)" = 5 &&
	test "$(git rev-parse "main:k")" = "$(git rev-parse "$lineage^{tree}")" &&
	for n in 0 1; do
		test "$(git rev-parse "$lineage~$n^2^")" = "$(git rev-parse "$lineage~$n^1")" || exit 1
		test "$(trailer Derivation $lineage~$n)" = $anew || exit 1
		test "$(trailer Derivation $lineage~$n^2)" = $anew || exit 1
		test "$(trailer Direction $lineage~$n^2)" = forward || exit 1
		test "$(trailer Rewriter $lineage~$n^2)" = exec || exit 1
	done &&
	git show $lineage^2:scale.c | cmp - ../K.5 && git show $lineage~1^2:scale.c | cmp - ../K.1 &&
	test "$(trailer Attempts $lineage)" = "wrong-edge, unusable" && ! trailer Attempts $lineage~1 &&
	test "$(trailer Source $lineage)" = back-0.1 && test "$(trailer Source $lineage^2)" = forward-1.2 &&
	test "$(trailer Origin $walk)" = induced && git log -1 --format=%B $lineage^2 | grep "and the rest"
	)
'

test_expect_success 'what was measured is in the note of K_i-prime, what failed among the rejected' '
	(
	cd r && git notes --ref=klineage/gate show $lineage^2 >note && grep "\"verdict\":\"pass\"" note &&
	code=$(git notes --ref=klineage/gate show $walk~2 | grep -o "\"code\":\"[0-9a-f]*\"") && grep -F "$code" note &&
	git log --format="%(trailers:key=Klineage-Direction,valueonly)" $rejected ^$walk | grep . | sort >have &&
	printf "back\nforward\n" >want && test_cmp want have &&
	test "$(trailer Class $rejected)" = wrong-edge && test "$(git rev-parse $rejected^1)" = "$(git rev-parse $walk~1)" &&
	git notes --ref=klineage/gate show $rejected | grep "\"class\":\"wrong-edge\"" &&
	git klineage show 2 >out && says $anew out && says "the same machine code" out &&
	says "tried to re-derive this step" out && says "wrong-edge, unusable" out &&
	git klineage log >out && says $anew out && says "1 rejected" out &&
	git klineage log --json >out && says "\"rederived\":\"$(git rev-parse $lineage^2)\"" out
	)
'

test_expect_success 'every commit that a note stands on is reachable, and the command is in no object' '
	(
	cd r && git notes --ref=klineage/gate list | while read -r _ c; do
		test -n "$(git for-each-ref --contains "$c")" || exit 1
	done &&
	git cat-file --batch-all-objects --batch >all && ! grep -aF "answers/model" all && ! grep -aF "$model" all
	)
'

test_expect_success 'export and import give the same second parents' '
	(
	cd r && git klineage export ../x && test -f ../x/rederived/0002-* && test -f ../x/rederived/0001-* &&
	git init -q ../i && cd ../i && git klineage import ../x &&
	test "$(git rev-parse $lineage)" = "$(git -C ../r rev-parse $lineage)" &&
	test "$(git rev-parse $lineage^2 $lineage~1^2)" = "$(git -C ../r rev-parse $lineage^2 $lineage~1^2)" &&
	git klineage fsck >out && says "0 errors, 0 warnings" out &&
	git klineage show 2 --no-diff >out && says "the same machine code" out && says "tried to re-derive this step" out &&
	cp -R ../x ../y && sed -i "s/four at a time/for at a time/" ../y/rederived/0002-* && git init -q ../j && cd ../j &&
	exits 128 git klineage import ../y 2>err && says "has been changed" err && test -z "$(git for-each-ref)"
	)
'

test_expect_success 'a K_i-prime that nobody judged is found' '
	(
	cd i && fake=$(git commit-tree -p $lineage~1 -m "$(git log -1 --format=%B $lineage^2)" "$lineage~2^{tree}") &&
	tip=$(git commit-tree -p $lineage~1 -p "$fake" -m "$(git log -1 --format=%B $lineage)" "$lineage^{tree}") &&
	git notes --ref=klineage/gate copy "$(git rev-parse $lineage)" "$tip" && git update-ref refs/heads/$lineage "$tip" &&
	exits 1 git klineage fsck >out && says "no event shows that the re-derivation of step 2 is correct" out
	)
'

# await <file>: until it is there
await () {
	n=0
	until test -e "$1"; do
		n=$((n + 1)) && test "$n" -lt 600 && sleep 0.1 || return 1
	done
}

test_expect_success 'killed while the model thinks: what is stored is not bought again' '
	: >answers/log && echo forward-1.2 >answers/slow &&
	(
	cd cut && { "$KLINEAGE_BUILD/git-klineage" deopt --rewriter exec --exec "$model" --name x -q >out 2>err & } &&
	await "$ANSWERS/at" && kill -9 $! && rm "$ANSWERS/slow" && { wait $! || :; } && stored >../stored &&
	printf "%s\n" back-0.0 back-0.1 forward-1.0 forward-1.1 >want && test_cmp want ../stored &&
	git fsck --strict --no-dangling && git klineage deopt --status >out &&
	says "1 step accepted, 1 rejected" out && says ", step 1, attempt 3" out && says "model     exec" out &&
	git gc -q --prune=now && git klineage deopt --continue -q >out && says "2 steps accepted ($both)" out &&
	git klineage fsck
	) &&
	test "$(twice)" = forward-1.2 && git -C r log --format=%T $lineage >want && git -C cut log --format=%T $lineage >have &&
	test_cmp want have
'

test_expect_success 'killed while the gate is at work: nothing is bought again' '
	: >answers/log &&
	(
	cd gate && { "$KLINEAGE_BUILD/git-klineage" deopt --rewriter exec --exec "$model" --name x -q >out 2>err & } &&
	await .git/refs/klineage/chat/scale/x/forward-1 && kill -9 $! && { wait $! || :; } && stored >../stored &&
	git fsck --strict --no-dangling && git klineage deopt --continue -q >out && says "2 steps accepted ($both)" out
	) &&
	grep -x forward-1.0 stored && twice >again && comm -12 stored again >have && test_must_fail test -s have
'

test_expect_success 'a budget: the estimate sends nothing, the walk goes on without a model where others propose' '
	: >answers/log &&
	(
	cd poor && git config klineage.chat.metered true && git config klineage.chat.model m &&
	git config klineage.chat.price "input=3 output=15" && git config klineage.chat.exec "$model" &&
	git klineage deopt --rewriter exec --estimate >out && says "likely to cost \$" out && says "of the \$40.0000" out &&
	git klineage deopt --rewriter history --rederive exec --estimate --json --budget 2.50 >out &&
	says "\"cap\":2500000000" out && says "\"rejections\":[0,0]" out &&
	test -z "$(git for-each-ref refs/klineage refs/heads/klineage)" && test ! -e .git/klineage/op.model &&
	git klineage deopt --rewriter history --rederive exec --budget 0 --name x >out 2>err &&
	says "2 steps accepted, 1 rejected" out && test "$(trailer Derivation $lineage)" = inverse &&
	test "$(trailer Attempts $lineage)" = budget && ! trailer Attempts $lineage~1 &&
	exits 1 git klineage deopt --rewriter exec --budget 0 --name y 2>err && says "nothing could be removed" err &&
	git klineage deopt --rewriter history,exec --budget 0 --name z >out && says "ended at the budget" out &&
	test "$(trailer Termination klineage/lineage/scale/z~2)" = budget &&
	exits 129 git klineage deopt --rewriter exec --budget 1e3 --name w 2>err && says "takes US dollars" err
	) &&
	test -z "$(asked)"
'

test_expect_success 'money that is spent is said' '
	: >answers/log &&
	(
	cd poor && git klineage deopt --rewriter exec --name m --budget 1 -q >out && says "2 steps accepted" out &&
	git klineage deopt --rewriter stepwise --rederive exec --name s >out && git klineage deopt --status >out &&
	says "spent     \$0.0360 of \$40.0000" out && git klineage deopt --status --json | grep "\"money\":{\"cap\":40000000000,\"spent\":36000000}" &&
	git klineage deopt --abort && test -z "$(git for-each-ref refs/klineage/op)"
	)
'

bundle () { git klineage deopt --status --json | perl -MJSON::PP -ne 'print decode_json($_)->{awaiting}{file}, "\n"'; }

test_expect_success 'over a gate that is elsewhere it waits with K_i-prime, too, and a thought buys nothing' '
	: >answers/log &&
	(
	cd away && git klineage deopt --rewriter exec --exec "$model" --runner bundle --name x >out 2>err && n=0 &&
	while grep -q waiting out; do
		git klineage deopt --status >status && says "the results of" status && git fsck --strict --no-dangling &&
		n=$((n + 1)) && test "$n" -lt 20 && before=$(wc -l <"$ANSWERS/log") &&
		git klineage deopt --continue >out && says "still waiting" out && test "$(wc -l <"$ANSWERS/log")" = "$before" &&
		klineage-worker --bundle "$(bundle)" -o ../results.$n 2>err && git klineage gate --import ../results.$n &&
		git klineage deopt --continue >out || exit 1
	done &&
	says "2 steps accepted ($both), 1 rejected" out && test "$n" -ge 5 && git klineage fsck
	) &&
	test -z "$(twice)" && git -C r log --format=%T $lineage >want && git -C away log --format=%T $lineage >have &&
	test_cmp want have
'

test_expect_success 'a command that could see where the step came from makes it unisolated' '
	: >answers/log &&
	(
	cd open && git config klineage.chat.hide false &&
	git klineage deopt --rewriter exec --exec "$model" --name x -q >out && says "(0 re-derived, 2 unisolated)" out &&
	for n in "" "~1" "^2" "~1^2"; do test "$(trailer Derivation "$lineage$n")" = unisolated || exit 1; done &&
	git klineage fsck >out && says "0 errors, 0 warnings" out && git klineage export ../ox && git init -q ../oi && cd ../oi &&
	git klineage import ../ox && test "$(trailer Derivation $lineage)" = unisolated && git klineage fsck
	)
'

# a model that looks for the step that it is to derive, wherever it may
test_expect_success HIDES 'a command that looks for it finds nothing' '
	(
	cd hidden && cat >../answers/spy <<-\E &&
		cat >"$ANSWERS/asked"
		if grep -q "forward-" "$ANSWERS/asked"; then
			{ ls -A "$ANSWERS/../hidden"; for p in /proc/[0-9]*; do git -C "$p/cwd" log --oneline --all; done; } 2>/dev/null >"$ANSWERS/found"
			git -C "$ANSWERS/../hidden" log 2>>"$ANSWERS/found.err"
		fi
		exec perl "$ANSWERS/model" <"$ANSWERS/asked"
	E
	git klineage deopt --rewriter exec --exec "sh \"\$ANSWERS/spy\"" --name x -q >out && says "($both)" out &&
	test -e ../answers/found && test_must_fail test -s ../answers/found && test -s ../answers/found.err
	)
'

test_expect_success 'without a model, or with nobody to derive anew' '
	: >answers/log &&
	(
	cd inverse && git klineage deopt --rewriter exec --no-rederive --exec "$model" --name x >out && says "2 steps accepted, 1" out &&
	test "$(trailer Derivation $lineage)" = inverse && ! trailer Attempts $lineage &&
	git klineage fsck && test "$(grep -c forward "$ANSWERS/log")" = 0 &&
	git config klineage.rederive none && git klineage deopt --rewriter exec --exec "$model" --name y -q >out &&
	test "$(trailer Derivation klineage/lineage/scale/y)" = inverse &&
	git config klineage.rederive sometimes && exits 129 git klineage deopt --name z 2>err && says "chat, exec or none" err
	)
'

test_expect_success 'what was said at the start holds for --continue, and comes from here alone' '
	: >answers/log &&
	(
	cd verbs && exits 129 git klineage deopt --exec true 2>err && says "walk with a model" err &&
	exits 129 git klineage deopt --rewriter chat --rederive exec 2>err && says "a walk uses one model" err &&
	exits 129 git klineage deopt --rewriter chat --exec x 2>err &&
	exits 129 git klineage deopt --rewriter exec --rederive chat --no-rederive 2>err &&
	exits 129 git klineage deopt --estimate 2>err && says "costs nothing" err &&
	exits 129 git klineage deopt --rewriter exec --name x 2>err && says "needs a command" err &&
	test -z "$(git for-each-ref refs/klineage)" &&
	exits 128 git klineage deopt --rewriter exec --exec "echo garbage" --name x -q 2>err && says "printed no valid reply" err &&
	says "\"exec\": \"echo garbage\"" .git/klineage/op.model &&
	exits 128 git klineage deopt --continue -q 2>err && says "printed no valid reply" err &&
	git clone -q --mirror . ../mirror.git && cd ../mirror.git && test -n "$(git for-each-ref refs/klineage/op)" &&
	exits 129 git klineage deopt --continue -q 2>err && says "needs a command" err && cd ../verbs &&
	exits 129 git klineage deopt --continue --budget x -q 2>err && says "takes US dollars" err &&
	git klineage deopt --continue --exec "$model" -q >out && says "2 steps accepted ($both)" out &&
	test ! -e .git/klineage/op.model
	)
'

test_done
