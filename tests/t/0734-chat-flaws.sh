#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='replies that are complete and of no use: stored, paid for, told to the model, and never a stop'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
. "$KLINEAGE_TOP/tests/t/answers.sh"
. "$KLINEAGE_TOP/tests/t/server.sh"

# said <name> <n>: the user's last text in request <n>
said () {
	sed -n "$2p" "$SHARNESS_TRASH_DIRECTORY/$1.log" | perl -MJSON::PP -ne 'my $b = JSON::PP->new->decode(decode_json($_)->{body});
		binmode STDOUT, ":utf8"; my $c = $b->{messages}[-1]{content}; print ref $c ? $c->[0]{text} : $c'
}
# before <name> <n>: the model's last text in request <n>
before () {
	sed -n "$2p" "$SHARNESS_TRASH_DIRECTORY/$1.log" | perl -MJSON::PP -ne 'my $b = JSON::PP->new->decode(decode_json($_)->{body});
		binmode STDOUT, ":utf8"; my $c = $b->{messages}[-2]{content}; print ref $c ? $c->[0]{text} : $c'
}
u='"usage":{"input":1000,"output":100}'
flaw () { git show "$chat/back-0~$1:meta.json" | sed -n 's/.*"flaw": "\([a-z]*\)".*/\1/p'; }

test_expect_success 'a kernel, and a reply that makes it simpler' '
	kernel_and_script ""
'

for provider in anthropic openai; do
	test_expect_success "$provider: cut between two edits, where it looks whole, it is not taken" '
		fresh cut-$provider $provider && { line "$u,\"stop\":\"length\"" answers/step && cat first last; } >cut-$provider.script && serve cut-$provider &&
		(
		cd cut-$provider && git config klineage.chat.url "http://127.0.0.1:$port" && chat >out 2>err && says "1 step accepted" out &&
		test "$(git log -1 --format="%(trailers:key=Klineage-Source,valueonly)" $walk | grep .)" = back-0.1 &&
		test "$(flaw 1)" = length && test -z "$(flaw 0)" && git klineage chat show scale/x/back-0 >out && says "ended by length" out &&
		git klineage fsck >out && says "0 errors, 0 warnings" out
		) &&
		said cut-$provider 2 >told && says "could not be used" told && says "cut at the limit of 32768 tokens" told &&
		before cut-$provider 2 >was && cmp was answers/step && test "$(asked cut-$provider)" = 3
	'

	test_expect_success "$provider: a refusal, an empty reply, a call of a tool, a NUL, two answers, only reasoning" '
		fresh no-$provider $provider && {
			line "$u,\"stop\":\"refusal\",\"text\":\"\"" && line "$u,\"text\":\"\"" && cat first &&
			line "$u,\"fault\":\"tool\",\"text\":\"I look first\"" && line "$u,\"text\":\"a\\u0000b\"" && cat last
		} >no-$provider.script && serve no-$provider &&
		(
		cd no-$provider && git config klineage.chat.url "http://127.0.0.1:$port" && chat >out 2>err && says "1 step accepted" out &&
		git klineage fsck >out && says "0 errors, 0 warnings" out &&
		test "$(flaw 2)" = refusal && test "$(flaw 1)" = empty &&
		test "$(git show $chat/back-1~2:meta.json | grep -c "\"flaw\": \"tool\"")" = 1 &&
		test "$(git show $chat/back-1~1:meta.json | grep -c "\"flaw\": \"nul\"")" = 1 &&
		test "$(git cat-file blob $ledger:ledger.json | grep -o "\"reserved\":[0-9]*" | sort -u)" = "\"reserved\":0"
		) &&
		said no-$provider 2 >told && says "it is a refusal" told && before no-$provider 2 >was && says "[The request was refused.]" was &&
		said no-$provider 3 >told && says "it has no text" told && said no-$provider 5 >told && says "calls a tool" told &&
		said no-$provider 6 >told && says "a NUL character" told && before no-$provider 6 >was &&
		test "$(cat was)" = "$(printf "a\357\277\275b")" && test "$(asked no-$provider)" = 6
	'

	test_expect_success "$provider: three in a row end the conversation, not the walk" '
		fresh thrice-$provider $provider && {
			line "$u,\"fault\":\"two\"" answers/step && line "$u,\"reasoning\":\"hm\",\"stop\":\"length\",\"text\":\"\"" &&
			line "$u,\"stop\":\"refusal\",\"text\":\"I would rather not\""
		} >thrice-$provider.script && serve thrice-$provider &&
		(
		cd thrice-$provider && git config klineage.chat.url "http://127.0.0.1:$port" &&
		exits 1 chat --progress >out 2>err && says "3 replies in a row could not be used; the last was refused because: it is a refusal" err &&
		says "nothing could be removed" err && test -z "$(git for-each-ref refs/klineage/op)" &&
		test "$(flaw 2)" = choices && test "$(flaw 1)" = reasoning && git klineage fsck
		) &&
		said thrice-$provider 3 >told && says "all 32768 tokens that it may have were spent" told && test "$(asked thrice-$provider)" = 3
	'
done

test_expect_success 'what is stored with a flaw is replayed with it' '
	(
	cd thrice-openai && git klineage chat export scale/x -o ../rec && says "\"flaw\":\"choices\"" ../rec &&
	cd .. && fresh again replay && cd again && git config klineage.chat.replay ../rec &&
	git config klineage.chat.replay "$SHARNESS_TRASH_DIRECTORY/rec" &&
	exits 1 git klineage deopt --rewriter chat --no-rederive --name x --progress >out 2>err && says "3 replies in a row could not be used" err &&
	test "$(flaw 2)" = choices
	)
'

test_expect_success 'a step that is derived anew: a cut answer is an attempt, and the next one counts' '
	fresh anew anthropic && git -C base show main~2:k/scale.c >loop.c &&
	{
		cat first && line "$u,\"stop\":\"length\"" answers/step && answer forward restore base/k/scale.c && line "$u" answers/forward && cat last
	} >anew.script && serve anew &&
	(
	cd anew && git config klineage.chat.url "http://127.0.0.1:$port" && deopt --rewriter chat --name x >out 2>err &&
	says "1 step accepted (1 re-derived)" out &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Attempts,valueonly)" $lineage | grep .)" = unusable &&
	git show $chat/forward-1~1:meta.json | grep "\"flaw\": \"length\"" && git klineage fsck
	) &&
	said anew 3 >told && says "cut at the limit" told
'

test_done
