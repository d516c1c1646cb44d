#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt --rewriter chat against a server: both protocols, http and TLS, money, failures; read back with plain git'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
. "$KLINEAGE_TOP/tests/t/answers.sh"
. "$KLINEAGE_TOP/tests/t/server.sh"

# no_key: it is in no file of the repository, nor in an object
no_key () {
	test_must_fail grep -rqaF "$key" . && git cat-file --batch-all-objects --batch >../all && test_must_fail grep -aqF "$key" ../all
}

# settled: the money that the tip of the ledger says is spent, and held
settled () {
	git cat-file blob $ledger:ledger.json | perl -MJSON::PP -e 'local $/;
		my $t = decode_json(<STDIN>)->{totals}{induce}; print "$t->{settled} $t->{reserved}\n"'
}

test_expect_success 'a kernel, and what is said of it' '
	kernel_and_script ",\"cache_read\":2000,\"cache_write_5m\":500"
'

test_expect_success 'Anthropic Messages over http: a step, its money, its conversation' '
	fresh a anthropic && cat first last >a.script && serve a &&
	(
	cd a && git config klineage.chat.url "http://127.0.0.1:$port" && chat >out 2>err && says "1 step accepted" out &&
	test "$(git rev-list --count main..$walk)" = 1 && git show $walk:k/scale.c | cmp - ../plain.c &&
	git log -1 --format=%B $walk | grep -x "Klineage-Rewriter: chat" &&
	git for-each-ref --format="%(refname)" refs/klineage/chat >have &&
	printf "%s\n" $chat/back-0 $chat/back-1 >want && test_cmp want have &&
	git cat-file blob $chat/back-0:reply | cmp - ../answers/step && git cat-file blob $chat/back-1:reply | cmp - ../answers/end &&
	test "$(settled)" = "8830000 0" && test "$(git rev-list --count $ledger)" = 4 &&
	git klineage chat cost --json >out && says "\"reserved\":0,\"settled\":8830000" out &&
	git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling && no_key
	) &&
	with_key a && test "$(asked a)" = 2 && grep -c "/v1/messages" a.log
'

# spy <program> [<command>]: a program that adds its environment to `seen`, and then is the command
spy () {
	printf '#!/bin/sh\n{ echo "== %s"; env; } >>"%s/seen"\n%s\n' "${1##*/}" "$SHARNESS_TRASH_DIRECTORY" "${2:-exit 0}" >"$1" && chmod +x "$1"
}

test_expect_success 'the compiler and the hooks that a walk runs do not see the key' '
	fresh h anthropic && cat first last >h.script && serve h && rm -f seen && mkdir spies && spy spies/gcc "exec $(command -v gcc) \"\$@\"" &&
	spy h/.git/hooks/reference-transaction && git -C h config klineage.chat.url "http://127.0.0.1:$port" &&
	(cd h && PATH=$SHARNESS_TRASH_DIRECTORY/spies:$PATH && chat >out 2>err && says "1 step accepted" out) && with_key h && test "$(asked h)" = 2 &&
	says "== gcc" seen && says "== reference-transaction" seen && says "PATH=" seen && test_must_fail grep -qaF "$key" seen
'

test_expect_success 'chat completions over TLS, by the trust that git is told' '
	fresh o openai && cat first last >o.script && serve o --tls "$PWD/ca.pem" && openssl x509 -in ca.pem -noout -checkend 0 &&
	(
	cd o && git config klineage.chat.url "https://localhost:$port/v1" &&
	exits 128 chat >out 2>err && says "certificate" err && test "$(asked o)" = 0 && test "$(settled)" = "0 0" &&
	git config http.sslCAInfo "$SHARNESS_TRASH_DIRECTORY/ca.pem" && deopt --continue >out 2>err &&
	says "1 step accepted" out && git show $walk:k/scale.c | cmp - ../plain.c &&
	git cat-file blob $chat/back-0:reply | cmp - ../answers/step &&
	git klineage fsck >out && says "0 errors" out &&
	test "$(settled)" = "5830000 0" && git klineage chat cost --json >out && says "\"reserved\":0,\"settled\":5830000" out && no_key
	) &&
	with_key o && test "$(asked o)" = 2 && grep -c "/v1/chat/completions" o.log
'

test_expect_success 'a budget of nothing and an estimate send nothing' '
	fresh b anthropic && cat first last >b.script && serve b &&
	(
	cd b && git config klineage.chat.url "http://127.0.0.1:$port" &&
	chat --estimate >out && says "likely to cost \$" out &&
	exits 1 chat --budget 0 >out 2>err && says "nothing could be removed" err &&
	test -z "$(git for-each-ref refs/klineage/chat refs/klineage/ledger refs/heads/klineage)"
	) &&
	test ! -s b.log
'

test_expect_success 'a key that is refused: in the words of the server, and the key nowhere' '
	fresh k anthropic && line "\"status\":401,\"message\":\"this key was withdrawn on Tuesday\"" >k.script && serve k &&
	(
	cd k && git config klineage.chat.url "http://127.0.0.1:$port" &&
	exits 128 chat --progress >../k.out 2>../k.err && says "401: this key was withdrawn on Tuesday" ../k.err &&
	says KLINEAGE_CHAT_KEY ../k.err && no_key && test "$(settled)" = "0 0" && deopt --status >../k.status
	) &&
	test_must_fail grep -F "$key" k.out k.err k.status && with_key k && test "$(asked k)" = 1
'

test_expect_success 'a reply that breaks off: what was bought stays, and it is asked for again without a hand' '
	fresh c anthropic && { cat first && line "\"fault\":\"cut\"" answers/step && cat last; } >c.script && serve c &&
	(
	cd c && git config klineage.chat.url "http://127.0.0.1:$port" &&
	chat --progress >out 2>err && says "the reply is truncated" err && says "1 step accepted" out && git fsck --strict --no-dangling &&
	git cat-file blob $chat/back-0:reply | cmp - ../answers/step && git show $walk:k/scale.c | cmp - ../plain.c &&
	held=$(settled) && echo "$held" && test "${held% *}" -gt 8830000 && test "${held% *}" -lt 300000000 && test "${held#* }" = 0 &&
	git klineage fsck >out && says "0 errors" out
	) &&
	with_key c && test "$(asked c)" = 3
'

test_expect_success 'a certificate that is over: nothing is sent, and --continue goes on elsewhere' '
	fresh e openai && cat first last >old.script && serve old --tls "$PWD/old.pem" --expired &&
	(
	cd e && git config klineage.chat.url "https://127.0.0.1:$port/v1" &&
	exits 128 env CURL_CA_BUNDLE="$SHARNESS_TRASH_DIRECTORY/old.pem" KLINEAGE_CHAT_KEY=$key \
		git klineage deopt --rewriter chat --no-rederive --name x >out 2>err && says "certificate has expired" err &&
	test "$(settled)" = "0 0" && test -z "$(git for-each-ref refs/klineage/chat)" && no_key
	) &&
	test ! -s old.log && cat first last >new.script && serve new --tls "$PWD/new.pem" &&
	(
	cd e && git config klineage.chat.url "https://127.0.0.1:$port/v1" && SSL_CERT_FILE=$SHARNESS_TRASH_DIRECTORY/new.pem &&
	export SSL_CERT_FILE && deopt --continue >out 2>err && says "1 step accepted" out &&
	test "$(git rev-list --count main..$walk)" = 1 && test "$(settled)" = "5830000 0"
	) &&
	with_key new && test "$(asked new)" = 2
'

test_done
