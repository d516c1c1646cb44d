#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt --rewriter chat in trouble: silence, failing servers, hostile replies, two walks with one budget, who sees the key'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
. "$KLINEAGE_TOP/tests/t/answers.sh"
. "$KLINEAGE_TOP/tests/t/server.sh"

# said <name> <n>: what the user said last in request n
said () {
	sed -n "$2p" "$SHARNESS_TRASH_DIRECTORY/$1.log" | perl -MJSON::PP -ne 'my $b = decode_json(decode_json($_)->{body});
		binmode STDOUT, ":utf8"; print $b->{messages}[-1]{content}[0]{text}'
}

# at <repo>: the kernel, with a model at the server's address
at () { fresh "$1" anthropic && git -C "$1" config klineage.chat.url "http://127.0.0.1:$port"; }
go_on () { deopt --continue "$@"; }

# money: settled and reserved of the induce budget at each entry of the ledger, oldest first
money () {
	git rev-list --reverse $ledger | while read -r c; do git cat-file blob "$c:ledger.json"; done | perl -MJSON::PP -ne '
		my $t = decode_json($_)->{totals}{induce}; print "$t->{settled} $t->{reserved}\n"'
}

test_expect_success 'a kernel, and what is said of it' '
	kernel_and_script ""
'

test_expect_success 'a server that does not answer within the patience has had a turn, and is asked again' '
	{ line "\"fault\":\"hang\"" && cat first && line "\"fault\":\"stall\"" answers/end && cat last; } >t.script && serve t && at t &&
	(
	cd t && git config klineage.chat.timeout 1 && git config klineage.chat.patience 0 && chat --progress >out 2>err && says "1 step accepted" out &&
	says "this counts as a rejected proposal" err && git show $walk:k/scale.c | cmp - ../plain.c &&
	test "$(money | tail -n 1 | cut -d" " -f1)" -gt 4830000 && test "$(money | tail -n 1 | cut -d" " -f2)" -gt 0 &&
	git rev-list $ledger | while read -r c; do git cat-file blob "$c:ledger.json"; done >entries && test "$(grep -c "\"estimated\":true" entries)" = 1 &&
	git klineage chat settle scale --cost 0 >out && says "1 reservation of" out && says "settled at \$0.0000" out &&
	test "$(money | tail -n 1 | cut -d" " -f2)" = 0 && git klineage fsck >out && says "0 errors, 0 warnings" out
	) &&
	test "$(asked t)" = 4
'

test_expect_success 'one that is silent three times in a row stops the walk, and a limit ends it' '
	line "\"fault\":\"hang\",\"repeat\":9" >s.script && serve s && at s &&
	(
	cd s && git config klineage.chat.timeout 1 && git config klineage.chat.patience 0 && git config klineage.rejectionLimit 4 &&
	exits 128 chat >out 2>err && says "sent nothing for 1 s" err && says "; 3 times in a row" err && says "chat settle" err && says "--continue" err &&
	git klineage deopt --status --json | grep "\"timeouts\":3" &&
	exits 1 go_on >out 2>err && says "nothing could be removed" err && test -z "$(git for-each-ref refs/klineage/op)"
	) &&
	test "$(asked s)" = 4
'

test_expect_success 'a server that fails is asked again when that was reserved once more, and what it may have cost counts' '
	{ line "\"status\":500,\"message\":\"oh\",\"headers\":{\"retry-after-ms\":\"10\"}" && cat first last; } >f.script && serve f && at f &&
	(
	cd f && chat >out 2>err && says "1 step accepted" out && money >../f.money &&
	sed -n "1s/.* //p" ../f.money >../f.one && sed -n "2s/.* //p" ../f.money >../f.two && test "$(cat ../f.two)" = "$((2 * $(cat ../f.one)))" &&
	test "$(tail -n 1 ../f.money)" = "4830000 $(cat ../f.one)" && git klineage chat cost >out && says "git klineage chat settle --cost <usd> scale" out
	) &&
	test "$(asked f)" = 3
'

# step_of <path> <body> [<more>]: a step whose edit is of that path
step_of () {
	printf '<step>\naction: plain-loop\nmechanism: -\nlocus: scale.c:scale\ntraits: -\nwhy: it is simpler\n</step>\n' &&
	printf '<file path="%s">\n%s\n</file>\n%s' "$1" "$2" "${3:-}"
}

test_expect_success 'hostile replies are told why, and touch nothing' '
	step_of ../../out.c "x" >h.1 && step_of .git/hooks/pre-commit "#!/bin/sh" >h.2 && step_of klineage.yaml "klineage: 1" >h.3 &&
	step_of /etc/passwd "x" >h.4 && step_of oracle.c "x" >h.5 && step_of scale.c "\`\`\`c
int x;
\`\`\`" >h.6 && { cat answers/step && cat answers/step; } >h.7 && printf "" >h.8 && git -C base show main:k/scale.c >same.c &&
	answer same plain-loop same.c && cp answers/same h.8 &&
	printf "<step>\r\naction: plain-loop\r\nmechanism: -\r\nlocus: scale.c:scale\r\ntraits: -\r\nwhy: x\r\n</step>\r\n<edit path=\"scale.c\">\r\n<search>\r\nnot there\r\n</search>\r\n<replace>\r\n</replace>\r\n</edit>\r\n" >h.9 &&
	u="\"usage\":{\"input\":10,\"output\":10}" && line "$u" answers/step >good.line &&
	for n in 1 2 3 4 5 6 7 8 9; do line "$u" h.$n || return 1; done >h.script && serve h && at h && git -C h rev-parse HEAD >before &&
	for n in 1 4 7; do
		(cd h && exits 1 chat --name x$n >out 2>err && test -z "$(git for-each-ref refs/heads/klineage)") || return 1
	done &&
	test "$(asked h)" = 9 && : >why && for n in 2 3 5 6 8 9; do said h $n >>why || return 1; done &&
	says "is outside of the contract" why && says "is the oracle" why && says "a second <step>" why || { cat why; false; } &&
	(cd h && git status --porcelain -uno >../st && test_must_fail test -s ../st && test "$(git rev-parse HEAD)" = "$(cat ../before)" &&
	git fsck --strict --no-dangling && test_must_fail test -e ../out.c && test_must_fail test -e .git/hooks/pre-commit)
'

test_expect_success 'a candidate that does not end is refused like one that is wrong' '
	sed "s/i < n; i++/i < n; i += 0/" plain.c >hang.c && test_must_fail cmp -s plain.c hang.c && answer hang plain-loop hang.c &&
	{ line "\"usage\":{\"input\":10,\"output\":10}" answers/hang && cat first last; } >g.script && serve g && at g &&
	(
	cd g && chat >out 2>err && says "1 step accepted, 1 rejected" out &&
	git log -1 --format="%(trailers:key=Klineage-Class,valueonly)" refs/klineage/rejected/scale/x | grep -x hang
	) &&
	said g 2 >told && says "class: hang" told && says "repair 1 of 3" told
'

# counts <file>: settled amount, and whether the last entry is marked, for a reply with these counts
test_expect_success 'token counts that cannot be right are settled at what was reserved, and marked' '
	rm -f counts &&
	for u in "\"input\":1000000000,\"output\":10" "\"input\":10,\"output\":1000000000" "\"input\":9999999999,\"output\":9999999999" \
		"\"input\":0,\"output\":0" "\"input\":3000,\"output\":0" "\"input\":0,\"output\":300" \
		"\"input\":10,\"output\":10,\"cache_write_1h\":900000000" "\"input\":3000,\"output\":300"; do
		{ line "\"usage\":{$u}" answers/end; } >c.script && rm -rf c && serve c && at c &&
		(cd c && git config klineage.chat.maxTokens 2000 && exits 1 chat -q >out 2>err && git klineage chat cost --json >cost &&
			git klineage chat cost >text && git klineage fsck >out && says "0 errors, 0 warnings" out && money | tail -n 1 | cut -d" " -f1 &&
			money | head -n 1 | cut -d" " -f2 && grep -o "\"implausible\":[0-9]*" cost | cut -d: -f2 &&
			if grep -q "\"implausible\":1" cost; then says "token counts cannot be right" text >/dev/null && git klineage chat show scale/x/back-0 >show &&
				says "token counts that cannot be right" show >/dev/null; fi) >one || return 1
		tr "\n" " " <one >>counts && echo >>counts
	done && cat counts && perl -ne "my (\$s, \$r, \$m) = split; die if \$. < 8 ? !(\$m && \$s == \$r) : \$m || \$s != 13500000; die if \$s > 200000000" counts
'

test_expect_success 'two walks at once keep one budget, whoever is first' '
	{ line "\"fault\":\"late\",\"delay_ms\":300,\"repeat\":40,\"usage\":{\"input\":10000,\"output\":1000}" answers/end; } >b.script && serve b && at b &&
	(
	cd b && git config klineage.chat.maxTokens 4096 && git config klineage.budget.induce 0.25 && git worktree add -q ../b2 HEAD &&
	for n in 1 2 3; do
		{ (cd ../b2 && chat --name b$n -q >out 2>&1; echo $? >../b2.rc) & } && { chat --name a$n -q >out 2>&1; echo $? >../b1.rc; } &&
		wait $! && cat ../b1.rc ../b2.rc >>../b.rc
	done; sort -u ../b.rc | tr -d "\n" >../b.all && test "$(cat ../b.all)" = 1 &&
	money >../b.money && perl -ne "my (\$s, \$r) = split; die \"over: \$_\" if \$s + \$r > 250000000" ../b.money &&
	test "$(tail -n 1 ../b.money | cut -d" " -f2)" = 0 && git klineage fsck >out && says "0 errors, 0 warnings" out
	) &&
	test "$(tail -n 1 b.money)" = "$((45000000 * $(asked b))) 0" && test "$(asked b)" -ge 1
'

test_expect_success 'the key is in no argument, no environment of a child and no core dump' '
	{ line "\"fault\":\"late\",\"delay_ms\":3000,\"usage\":{\"input\":10,\"output\":10}" answers/end; } >k.script && serve k && at k &&
	(
	cd k && { KLINEAGE_CHAT_KEY=$key "$KLINEAGE_BUILD/git-klineage" deopt --rewriter chat --no-rederive --name x -q >out 2>err & } && pid=$! &&
	n=0 && until test "$(asked k)" = 1; do n=$((n + 1)) && test "$n" -lt 300 && sleep 0.1 || return 1; done &&
	tr "\0" " " <"/proc/$pid/cmdline" >args && grep deopt args && test_must_fail grep -F "$key" args &&
	grep "Max core file size *0 " "/proc/$pid/limits" &&
	if test "$(id -u)" != 0; then test_must_fail cat "/proc/$pid/environ"; fi &&
	kill -ABRT $pid && { wait $pid || :; } && find . -name "core*" -not -path "./.git/*" >dumps && test_must_fail test -s dumps &&
	test_must_fail grep -rqaF "$key" .
	)
'

test_expect_success 'a name that was used for another state is refused before anything is begun' '
	cat last >n.script && serve n && at n &&
	(
	cd n && exits 1 chat >out 2>err && echo "/* other */" >>k/scale.c && git commit -q -a -m other &&
	exits 128 chat >out 2>err && says "is about another state" err && says "another name" err && test -z "$(git for-each-ref refs/klineage/op)"
	) &&
	test "$(asked n)" = 1
'

script -qec true /dev/null </dev/null >/dev/null 2>&1 && test_set_prereq SCRIPT
test_expect_success SCRIPT 'on a terminal the progress line has tokens and money while the reply comes' '
	{ line "\"fault\":\"drip\",\"delay_ms\":2,\"usage\":{\"input\":3000,\"output\":700,\"cache_read\":2000}" answers/step && cat last; } >p.script &&
	serve p && at p &&
	(
	cd p && KLINEAGE_CHAT_KEY=$key TERM=xterm GIT_PROGRESS_DELAY=0 script -qec \
		"git klineage deopt --rewriter chat --no-rederive --name x" /dev/null </dev/null >seen &&
	tr "\r" "\n" <seen | grep -a "back-0, turn 0: 5000 tokens in, [1-9][0-9]* out, .0\.0" >lines && test -s lines
	)
'

test_done
