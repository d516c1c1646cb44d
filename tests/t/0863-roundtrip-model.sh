#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='roundtrips with a model: trials of their own, one budget, arms, held-out cards, killed and gone on with'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

answering "$PWD/answers"
nothing='<nothing-left>enough</nothing-left>'

# four <file>: four at a time, so that about half of it comes back
four () { sed 's/vector_size(32)/vector_size(16)/; s/end - x >= 8; x += 8, y += 8/end - x >= 4; x += 4, y += 4/' right >"$1"; }

test_expect_success 'a third expert, whose K_0 no patch of the card fits' '
	(library lib && the_card >../id && mkdir shift && contract shift shift shift.c "$shift" && walked shift/shift.c shift "$shift" &&
	sed -i "s/ELEMENT(\*x++)/ELEMENT(*x), x++/" shift/shift.c && commit "shift: by pointers" &&
	eight ../right shift "$shift" "$tail" && cp ../right shift/shift.c && commit "shift: eight at a time" "$vector" &&
	git klineage deopt --rewriter history --name x shift && cp -R ../lib ../fresh) &&
	{ cat right && echo "/* the same */"; } >same && four half && test_must_fail cmp -s right half
'

# roundtrip <option>...: with all cards there are, and the model
roundtrip () { git klineage materialize --roundtrip shift/x --status hypothesis --rewriter exec --exec "$model" "$@"; }
# over <name> <option>...: into out; gone on with where noise hides something
over () {
	name=$1 && shift
	roundtrip --name "$name" "$@" >out
	for i in 1 2 3 4 5 6; do
		grep "within the noise" out || break
		go_on "$name" >out
	done
	cat out
}
go_on () { git klineage materialize --roundtrip shift/x --name "$1" --continue; }
trial () { grep "^trial $1: " out; }

test_expect_success 'five trials, each its own conversation; what fails is counted, and only 0.9 of K* is a success' '
	id=$(cat id) && answer materialize.0 shift.c right $id && answer materialize.0@3 shift.c same $id && answer materialize.0@5 shift.c half $id &&
	echo "$nothing" >answers/materialize.0@2 && echo "no tag in it" >answers/materialize.0@4 && echo "<step>" >answers/materialize.1@3 &&
	echo "none" >answers/materialize.2 && echo "$nothing" >answers/materialize.1 &&
	(cd lib && over a && says "shift/x: 2 of 5 trials recovered 90 % of K*" out &&
	trial 1 | grep "100.0 % of K\* .*, recovered, 1 step" && trial 2 | grep ", 0 steps .*nothing left: enough" && trial 3 | grep "100.0 % of K\* .*, recovered, 1 step" &&
	trial 4 | grep ", 0 steps .*3 replies in a row could not be used" && trial 5 | grep ", 1 step" && ! trial 5 | grep recovered &&
	k0=$(git rev-list --max-parents=0 klineage/lineage/shift/x) && for n in 1 3 5; do test "$(git rev-parse klineage/materialize/shift/a-$n^)" = $k0 || return 1; done &&
	test -z "$(git for-each-ref refs/heads/klineage/materialize/shift/a-2 refs/heads/klineage/materialize/shift/a-4)" &&
	git show klineage/materialize/shift/a-1:shift.c | cmp - ../right && git show klineage/materialize/shift/a-5:shift.c | cmp - ../half &&
	for n in 1 2 3 4 5; do git rev-list --count refs/klineage/chat/shift/a-$n/materialize || return 1; done >turns && tr -d "\n" <turns | grep "^21232$" &&
	test "$(git notes --ref klineage/gate show klineage/materialize/shift/a-5 | grep -c "\"what\":\"parent\"")" -ge 2 &&
	git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'gone through again it asks nothing, and says the same for programs' '
	cp answers/log before && (cd lib && git klineage materialize --roundtrip shift/x --name a --continue --json >out && test "$(wc -l <out)" = 1 &&
	perl -MJSON::PP -ne "my \$j = decode_json(\$_); my \$t = \$j->{trials};
		print join(\" \", \$j->{schema}, \$j->{cards}, \$j->{held_out} ? 1 : 0, \$j->{successes}, scalar(@\$t), map({ \$_->{success} ? 1 : 0 } @\$t), \$t->[4]{recovered_ppm} < 900000 ? \"less\" : \"all\"), \"\n\"" out >have &&
	echo "klineage.roundtrip/1 full 0 2 5 1 0 1 0 0 less" >want && test_cmp want have) && test_cmp before answers/log
'

test_expect_success 'a name that is taken is refused before what was said of it is touched' '
	(cd lib && kept=.git/klineage/materialize/shift/a.json && cp $kept kept && exits 128 roundtrip --name a --trials 2 --cards none 2>err && says "--continue" err && cmp kept $kept &&
	exits 128 git klineage materialize --roundtrip shift/x --name never --continue 2>err && says "no roundtrip named" err &&
	exits 129 roundtrip --name b --trials 0 2>err && exits 129 git klineage materialize --trials 3 shift 2>err)
'

test_expect_success 'arms: labels and none change what is asked, and the patch of a card is not applied behind them' '
	id=$(cat id) && rm answers/materialize.* && echo "$nothing" >answers/materialize.0 && (cd lib &&
	exits 1 roundtrip --name l --trials 1 --cards labels >out && says "0 of 1 trials" out && says "$id: " ../answers/materialize.0.asked && ! grep "carriers:" ../answers/materialize.0.asked &&
	exits 1 roundtrip --name n --trials 1 --cards none >out && ! grep "$id" ../answers/materialize.0.asked && says "No cards are given" ../answers/materialize.0.asked &&
	exits 1 roundtrip --name f --trials 1 >out && says "carriers:" ../answers/materialize.0.asked && says "id: $id" ../answers/materialize.0.asked &&
	patched () { git klineage materialize --roundtrip scale/x --status hypothesis --trials 1 --rewriter exec --exec "$model" --json "$@"; } &&
	exits 1 patched --name l --cards labels >out && says "\"cards\":\"labels\"" out && ! grep "\"by\":\"card\"" out &&
	for n in 1 2 3 4 5 6; do
		patched --name full$n >out && break
	done && cat out && says "\"by\":\"card\"" out)
'

test_expect_success 'held out: no card that was learned from the lineage is told, and going on keeps to it' '
	: >answers/log && echo "$nothing" >answers/materialize.0 && (cd lib && exits 1 git klineage materialize --roundtrip scale/x --held-out --status hypothesis --rewriter exec --exec "$model" --trials 2 --name h >out && cat out &&
	says "scale/x: 0 of 2 trials" out && says "nothing left: enough" out &&
	! grep "$(cat ../id)" ../answers/materialize.0.asked && cp ../answers/log ../before &&
	exits 1 git klineage materialize --roundtrip scale/x --name h --continue --json >out && says "\"held_out\":true" out && test "$(grep -o "\"name\":\"h-[0-9]\"" out | wc -l)" = 2) &&
	test "$(wc -l <before)" = 2 && test_cmp before answers/log
'

# await <file>
await () {
	n=0
	until test -e "$1"; do
		n=$((n + 1)) && test "$n" -lt 1200 && sleep 0.1 || return 1
	done
}

test_expect_success 'killed while the second trial is answered: the first is kept, --continue ends all three' '
	: >answers/log && rm -f answers/at && answer materialize.0 shift.c right $(cat id) && echo "$nothing" >answers/materialize.1 && echo "materialize.0@2" >answers/slow &&
	(cd lib && { setsid git klineage materialize --roundtrip shift/x --name k --trials 3 --status hypothesis --rewriter exec --exec "$model" >out 2>err & } && pid=$! &&
	await "$ANSWERS/at" && kill -9 -$pid; wait $pid 2>/dev/null; rm -f "$ANSWERS/slow"
	git fsck --strict --no-dangling && test "$(git rev-list --count refs/klineage/chat/shift/k-1/materialize)" = 2 && test_must_fail git rev-parse -q --verify refs/klineage/chat/shift/k-2/materialize &&
	over k --continue && says "3 of 3 trials recovered" out && git klineage fsck >out && says ": 0 errors" out) &&
	test "$(grep -c "materialize.0" answers/log)" = 4
'

test_expect_success 'one budget for all trials: it is held, and those that it ends count as they are' '
	: >answers/log && (cd fresh && git config klineage.chat.metered true && git config klineage.chat.model m && git config klineage.chat.price "input=3 output=150" &&
	git config klineage.chat.maxTokens 1000 && over m --trials 3 --budget 0.21 && says "shift/x: 1 of 3 trials" out && trial 2 | grep "budget" && trial 3 | grep "budget" &&
	git rev-list --reverse refs/klineage/ledger/shift | while read -r c; do git cat-file blob $c:ledger.json; done | perl -MJSON::PP -ne "my \$t = decode_json(\$_)->{totals}{materialize};
		die \"over: \$_\" if \$t->{settled} + \$t->{reserved} > 210000000; print \"\$t->{settled} \$t->{reserved}\\n\"" >money && cat money && test "$(tail -n 1 money)" = "18000000 0") &&
	test "$(cat answers/log)" = materialize.0
'

test_done
