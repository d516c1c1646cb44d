#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='materialize and admit with a server that is overloaded and replies that are of no use: asked again, and gone on'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/server.sh"

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

ANSWERS=$PWD/answers && mkdir "$ANSWERS"
busy='"status":529,"message":"overloaded","headers":{"retry-after-ms":"10"}'
usage='"usage":{"input":1000,"output":100}'

# configure: let the current repository ask the server
configure () {
	git config klineage.chat.provider anthropic && git config klineage.chat.url "http://127.0.0.1:$port" &&
	git config klineage.chat.model m-1 && git config klineage.chat.price "input=3 output=15"
}
# try <repository> <command...>: run the command in a fresh copy of it, with a server that begins <repository>.script
try () {
	from=$1 && shift && rm -rf try && cp -R "$from" try && serve "$from" && (cd try && configure && KLINEAGE_CHAT_KEY=$key "$@")
}
# paid <workload>: print what the ledger has as settled, and as held, in nano-dollars, of all budgets
paid () {
	git cat-file blob "refs/klineage/ledger/$1:ledger.json" | perl -MJSON::PP -e 'local $/; my ($s, $r) = (0, 0);
		for (values %{decode_json(<STDIN>)->{totals}}) { $s += $_->{settled}; $r += $_->{reserved}; } print "$s $r\n"'
}
flaw () { git show "$1:meta.json" | sed -n 's/.*"flaw": "\([a-z]*\)".*/\1/p'; }

test_expect_success 'a library with a card, a target, replies' '
	(library lib && the_card >../id) && id=$(cat id) && (walking target) &&
	eight K.shift shift "$shift" "$tail" && answer materialize shift.c K.shift $id &&
	eight K.poly poly "v * v $chain" "for (; x != end; x++) { float v = *x; *y++ = ELEMENT(v); }" && answer admit poly.c K.poly &&
	echo "<nothing-left>no idea</nothing-left>" >answers/control
'

test_expect_success 'materialize: an overloaded server is asked again, a reply that is cut off costs a turn' '
	{ line "$busy" && line "$usage,\"stop\":\"length\"" answers/materialize && line "$busy" && line "$usage" answers/materialize &&
	line "$usage" answers/control; } >target.script &&
	again try target git klineage materialize --library ../lib --status hypothesis --name one --rewriter chat shift >out && cat out &&
	says "best, by chat, materialize.1" out && test "$(asked target)" = 5 && with_key target &&
	(cd try && git show klineage/materialize/shift/one:src/shift.c | cmp - ../K.shift && chat=refs/klineage/chat/shift/one/materialize &&
	test "$(git rev-list --count $chat)" = 3 && test "$(flaw $chat~2)" = length && test -z "$(flaw $chat~1)$(flaw $chat)" &&
	test "$(paid shift)" = "13500000 0" && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

test_expect_success 'admit: the same, in the attempt with the card and in the one without it' '
	{ line "$busy" && line "$usage,\"stop\":\"length\"" answers/admit && line "$usage" answers/admit &&
	line "$busy" && line "$usage" answers/control; } >lib.script &&
	again try lib git klineage admit --arms card,intent --seed 4 --rewriter chat $(cat id) >out && cat out &&
	says "hypothesis -> admitted" out && says "only the intent: failed, no-edit" out && test "$(asked lib)" = 5 && with_key lib &&
	(cd try && test "$(paid poly)" = "13500000 0" && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

test_done
