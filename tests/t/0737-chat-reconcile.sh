#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='chat reconcile: the ledger against a bill'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/server.sh"

# asks <repo>: a new repository whose probes go to the server at $port
asks () {
	git init -q "$1" && git -C "$1" config klineage.chat.provider anthropic && git -C "$1" config klineage.chat.model m-1 &&
	git -C "$1" config klineage.chat.price "input=300 output=1500 cache-read=30 cache-write-5m=375" &&
	git -C "$1" config klineage.chat.cache 5m && git -C "$1" config klineage.chat.url "http://127.0.0.1:$port"
}
probe () { KLINEAGE_TIME=$1 KLINEAGE_CHAT_KEY=$key git klineage chat probe; }

# as_csv <time...>: what the server wrote of each request, as a bill; the n-th request was sent at the n-th time
as_csv () {
	perl -MJSON::PP -e '
		my @time = splice(@ARGV); my $n = 0;
		print "time,model,input,output,cache_read,cache_write,cost\n";
		while (<STDIN>) {
			my $b = decode_json($_);
			my $nano = $b->{input} * 300000 + $b->{output} * 1500000 + $b->{cache_read} * 30000 + $b->{cache_write_5m} * 375000;
			printf "%s,m-1,%d,%d,%d,%d,%.9f\n", $time[$n++], @$b{qw(input output cache_read cache_write_5m)}, $nano / 1e9;
		}' "$@"
}

test_expect_success 'what a server charged is what the ledger has, per day and model' '
	line "\"text\":\"ready\",\"repeat\":2" >a.script && serve a --account --bill "$PWD/a.bill" && asks a &&
	(
	cd a && probe 2026-11-20T10:00:00Z && probe 2026-11-20T23:59:59Z && probe 2026-11-21T00:00:00Z &&
	as_csv 2026-11-20T10:00:00Z 2026-11-20T23:59:59Z 2026-11-21T00:00:00Z <../a.bill >../a.csv && cat ../a.csv &&
	git klineage chat reconcile --from ../a.csv >out && cat out && says "bill of 2026-11-20 to 2026-11-21 (plain), 1 ledger" out &&
	grep "^2026-11-20  m-1    2  .* \$0.0000  *-$" out && grep "^total  *-  *3 " out &&
	git klineage chat reconcile --from ../a.csv probe && git klineage chat reconcile --json --from ../a.csv --model m >out &&
	says "\"schema\":\"klineage.reconcile/1\"" out && says "\"equal\":true" out && says "\"form\":\"plain\"" out && says "\"difference\":0" out
	)
'

test_expect_success 'a bill that differs: where, by how much, and why; exit 1' '
	sed "2s/[0-9.]*\$/9.5/" a.csv >b.csv && (
	cd a &&
	exits 1 git klineage chat reconcile --from ../b.csv >out 2>err && cat out err && grep "^2026-11-20 .*the token counts are equal, not explained" out &&
	says "and 1 of 2 lines are not equal" err && exits 1 git klineage chat reconcile --json --from ../b.csv >out 2>err && says "\"equal\":false" out &&
	says "\"explained\":false" out && sed 2d ../a.csv >../c.csv && exits 1 git klineage chat reconcile --from ../c.csv >out 2>err &&
	grep "^2026-11-20 .*2810 tokens in and 4 out, in the bill 1405 and 2, not explained" out &&
	printf "time,model,cost\n2026-11-21,other,1\n" >../d.csv && exits 1 git klineage chat reconcile --from ../d.csv >out 2>err &&
	grep "^2026-11-21  other .* not in the ledger" out && says "not compared: 2 requests" out
	)
'

test_expect_success 'an open reservation explains a charge, and settling it at the charge makes both equal' '
	line "\"fault\":\"close\"" >o.script && serve o && asks o && (
	cd o && exits 128 probe 2026-11-22T10:00:00Z 2>err &&
	printf "time,model,cost\n2026-11-22T10:00:00Z,m-1,0.25\n" >bill.csv && exits 1 git klineage chat reconcile --from bill.csv >out 2>err &&
	cat out err && grep "^2026-11-22 .* 1 open (\$[0-9.]*)\$" out && says "chat settle --cost" err &&
	git klineage chat settle --cost 0.25 probe && git klineage chat reconcile --from bill.csv
	)
'

test_expect_success 'what is no bill, and a wrong command line' '
	(
	cd a && exits 128 git klineage chat reconcile --from nothing.csv && printf "a,b\n1,2\n" >no.csv &&
	exits 128 git klineage chat reconcile --from no.csv 2>err && says "no.csv:1: no known form" err && says "time,model,input" err &&
	printf "time,model,cost\n2026-11-20,\033[31m\302\233m,1\n" >esc.csv && exits 1 git klineage chat reconcile --from esc.csv >out 2>err &&
	says "\\x1b[31m" out && test_must_fail grep "$(printf "\033")" out err &&
	printf "time,model,cost\n2026-11-20,m,\033[2J\n" >esc.csv && exits 128 git klineage chat reconcile --from esc.csv >out 2>err &&
	test_must_fail grep "$(printf "\033")" err && says "esc.csv:2: invalid amount" err &&
	exits 128 git klineage chat reconcile --from ../a.csv nobody 2>err && grep "the workload .nobody. has no ledger" err &&
	exits 129 git klineage chat reconcile 2>err && says "needs --from" err && exits 129 git klineage chat reconcile --from ../a.csv w/n &&
	exits 129 git klineage chat cost --from ../a.csv && exits 129 git klineage chat reconcile --porcelain --from ../a.csv
	)
'

test_done
