#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='chat probe: one request to a server, what works, what it cost and whether the cache was hit'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/server.sh"

# asks <repo> <provider>: a new repository that asks the server at $port
asks () {
	git init -q "$1" && git -C "$1" config klineage.chat.provider "$2" && git -C "$1" config klineage.chat.model m-1 &&
	git -C "$1" config klineage.chat.price "input=3 output=15 cache-read=0.3 cache-write-5m=3.75" &&
	git -C "$1" config klineage.chat.cache 5m && git -C "$1" config klineage.chat.url "http://127.0.0.1:$port"
}
probe () { KLINEAGE_CHAT_KEY=$key git klineage chat probe "$@"; }
spent () {
	git cat-file blob refs/klineage/ledger/probe:ledger.json | perl -MJSON::PP -e 'local $/;
		my $t = decode_json(<STDIN>)->{totals}{induce}; print "$t->{settled} $t->{reserved}\n"'
}

test_expect_success 'the first probe writes the cache, the second one reads it; the ledger has what the server charges' '
	line "\"text\":\"ready\",\"repeat\":1" >a.script && serve a --account --bill "$PWD/a.bill" && asks a anthropic &&
	(
	cd a && probe >one && cat one && says "provider: anthropic, http://127.0.0.1:$port/v1/messages" one && says "model:    m-1" one &&
	says "reply:    complete after" one && says "not hit, but" one && says "were written to it" one && says "cost:     \$0.00" one &&
	probe >two && cat two && says "cache:    hit:" two &&
	git klineage fsck >out && says "0 errors, 0 warnings" out && git klineage chat cost >out && says "probe: \$" out &&
	test -z "$(git for-each-ref refs/klineage/chat)"
	) &&
	with_key a
'

test_expect_success 'ledger and bill agree' '
	perl -MJSON::PP -ne "my \$b = decode_json(\$_); \$sum += \$b->{input} * 3000 + \$b->{output} * 15000 + \$b->{cache_read} * 300 + \$b->{cache_write_5m} * 3750;
		END { print \"\$sum 0\n\" }" a.bill >want && (cd a && spent) >have && cat a.bill && test_cmp want have
'

test_expect_success 'as JSON' '
	line "\"text\":\"ready\",\"usage\":{\"input\":1500,\"output\":2}" >j.script && serve j && asks j openai &&
	(cd j && probe --json >out && says "\"schema\":\"klineage.probe/1\"" out && says "\"works\":true" out && says "\"cache\":\"unused\"" out &&
		says "\"nano\":4530000" out && says "\"by\":\"counted\"" out && says "\"flaw\":null" out)
'

test_expect_success 'what does not work: no counts, a refusal' '
	{ line "\"text\":\"ready\"" && line "\"text\":\"never\",\"stop\":\"refusal\",\"usage\":{\"input\":1500,\"output\":2}"; } >n.script &&
	serve n && asks n openai &&
	(
	cd n && exits 1 probe >out 2>err && says "the provider does not report them" out && says "as reserved" out && says "the reply or its token counts are unusable" err &&
	exits 1 probe >out 2>err && says "cannot be used: it is a refusal" out && git klineage fsck >out && says "0 errors, 0 warnings" out
	)
'

test_expect_success 'what fails: the words of the server, once, and nothing is spent' '
	line "\"status\":529,\"message\":\"overloaded\",\"repeat\":5" >f.script && serve f && asks f anthropic &&
	(cd f && exits 128 probe >out 2>err && says "529: overloaded" err && test ! -s out && test "$(spent)" = "0 0") && test "$(asked f)" = 1
'

test_expect_success 'a provider that does not charge, and a wrong command line' '
	git init -q x && cat >say <<-\EOF &&
		#!/bin/sh
		cat >/dev/null; printf "%s\n" "{\"schema\":\"klineage.chat-reply/1\",\"text\":\"ready\",\"unmetered\":true}"
	EOF
	chmod +x say && (
	cd x && git config klineage.chat.provider exec && git config klineage.chat.exec "\"$SHARNESS_TRASH_DIRECTORY/say\"" &&
	git klineage chat probe >out && says "provider: exec" out && says "not metered" out && test -z "$(git for-each-ref refs/klineage)" &&
	exits 129 git klineage chat probe w && exits 129 git klineage chat probe --porcelain && exits 129 git klineage chat probe --cost 1
	)
'

test_done
