#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='conversations and money, as people see them'
. ./lib.sh

ref=refs/klineage/chat/w/n

# len <text>: its length and a NUL, as digests have it
len () {
	printf '%s\0%s' "${#1}" "$1"
}

# put <ref> <file...>: a commit of these files on the ref
put () {
	at=$1 && shift &&
	GIT_INDEX_FILE=$PWD/own && export GIT_INDEX_FILE && rm -f own &&
	for f; do git update-index --add --cacheinfo "100644,$(git hash-object -w "$f"),${f#tree/}" || return 1; done &&
	if old=$(git rev-parse -q --verify "$at"); then
		new=$(git commit-tree -p "$old" -m x "$(git write-tree)")
	else
		new=$(git commit-tree -m x "$(git write-tree)")
	fi &&
	unset GIT_INDEX_FILE && git update-ref "$at" "$new"
}

# turn <phase> <n> <user> <reply> <what is sent before, as digests have it> <keys before> <reservation> <nano>
turn () {
	mkdir -p tree/system && printf rules >tree/system/00 && printf '%s' "$3" >tree/user && printf '%s' "$4" >tree/reply &&
	cp tree/user tree/key &&
	prompt=$({ len rules && printf 'messages\0' && cat "$5" && len "$3"; } | sha256sum | cut -c1-64) &&
	chain=$({ cat "$6" && len "$3"; } | sha256sum | cut -c1-64) &&
	cat >tree/meta.json <<-EOF &&
	{"schema": "klineage.turn/1", "turn": $2, "provider": "anthropic", "model": "m-1", "answered": "m-1-20260101",
	"request_id": null, "time": "2026-11-20T10:0$2:00Z", "reservation": "$7", "budget": "induce", "cache": "5m",
	"stop": "end", "max_tokens": 100, "usage": {"input": 10, "output": 20, "cache_read": 30, "cache_write_5m": 0,
	"cache_write_1h": 0}, "nano": $8, "price": null, "prompt": "$prompt", "chain": "$chain"}
	EOF
	put "$ref/$1" tree/system/00 tree/user tree/reply tree/key tree/meta.json
}

# entry <kind> <id> <phase> <turn> <nano> <settled> <reserved> [<more>]
entry () {
	cat >tree/ledger.json <<-EOF &&
	{"schema": "klineage.ledger/1", "workload": "w", "kind": "$1", "id": "$2", "budget": "induce", "name": "n", "phase": "$3",
	"model": "m-1", "time": "2026-11-20T10:0$4:00Z", "turn": $4, "nano": $5, $8
	"totals": {"induce": {"settled": $6, "reserved": $7}, "materialize": {"settled": 0, "reserved": 0}}}
	EOF
	put refs/klineage/ledger/w tree/ledger.json
}

usage='"usage": {"input": 10, "output": 20, "cache_read": 30, "cache_write_5m": 0, "cache_write_1h": 0},'
a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c=cccccccccccccccccccccccccccccccc

test_expect_success 'nothing was said, nothing was spent' '
	git init -q . && git commit -q --allow-empty -m first &&
	git klineage chat log >out 2>err && test_must_fail test -s out && says "no stored conversations" err &&
	git klineage chat log --json >out && says "\"conversations\":[]" out &&
	git klineage chat cost >out 2>err && test_must_fail test -s out && says "no money" err &&
	git klineage chat cost w >out && says "w: \$0.0000 of \$40.0000 for walks" out &&
	git klineage fsck
'

test_expect_success 'two conversations' '
	: >none &&
	turn back-0 0 hello "hi
there" none none $a 250000000 &&
	{ len hello && len "hi
there"; } >sent && len hello >keys &&
	turn back-0 1 again "$(printf "a\033[2Jb")" sent keys $b 125000000 &&
	turn forward-1 0 forth so none none $c 1000000 &&
	entry reserve $a back-0 0 900000000 0 900000000 &&
	entry settle $a back-0 0 250000000 250000000 0 "\"released\": 900000000, $usage" &&
	entry reserve $b back-0 1 900000000 250000000 900000000 &&
	entry settle $b back-0 1 125000000 375000000 0 "\"released\": 900000000, $usage" &&
	entry reserve $c forward-1 2 3000000 375000000 3000000 &&
	git klineage fsck >out && says "2 conversations, 1 ledger" out && says "0 errors, 1 warning" out &&
	says "\$0.0030 are reserved but not settled" out
'

test_expect_success 'log has turns, tokens and money' '
	git klineage chat log >out &&
	says "w/n/back-0     2      m-1    80         60      40   \$0.3750  2026-11-20T10:01:00Z" out &&
	says "w/n/forward-1  1      m-1    40         30      20   \$0.0010" out &&
	git klineage chat log w/n >out2 && test_cmp out out2 &&
	git klineage chat log w/other 2>err >out2 && test_must_fail test -s out2 &&
	git klineage chat log --json w >out && says "\"nano\":375000000" out && says "\"turns\":2" out
'

test_expect_success 'show is text, and moves no cursor' '
	git klineage chat show w/n/back-0 >out &&
	says "w/n/back-0: 2 turns" out && says "    rules" out && says "    there" out &&
	says "m-1-20260101: 40 tokens in (30 cached), 20 out, \$0.2500" out &&
	says "a\\x1b[2Jb" out && test_must_fail grep "$(printf "\033")" out &&
	git klineage chat show --json w/n/back-0 >out && says "\"schema\":\"klineage.talk/1\"" out &&
	says "\"system\":[\"rules\"]" out && says "a\\u001B[2Jb" out &&
	exits 128 git klineage chat show w/n/back-7 2>err && says "no conversation" err
'

test_expect_success 'cost is by phase, against the cap' '
	git config klineage.budget.induce 0.50 && git klineage chat cost >out &&
	says "w: \$0.3780 of \$0.5000 for walks, \$0.0030 of it reserved but not settled" out &&
	says "w: \$0.0000 of \$10.0000 for materializing" out &&
	grep -E "^n +back-0 +2 +80 +60 +40 +\\\$0.3750 +-$" out &&
	grep -E "^n +forward-1 +1 +- +- +- +\\\$0.0000 +\\\$0.0030$" out &&
	says "60 of 80 tokens in were read from a cache (75.0 %)" out &&
	test_must_fail grep "best time" out &&
	git klineage chat cost --json w >out && says "\"cached_ppm\":750000" out &&
	git klineage chat cost --json w >out && says "\"cap\":500000000,\"reserved\":3000000,\"settled\":375000000" out
'

# event <ns> <time>: of a state of the workload, noted on HEAD
event () {
	printf '{"kind":"gate","platform":{"id":"cpu/x"},"policy":1,"profile":{"aa_ppm":1,"ns":%s,"vs":[]},"surface":"%064d","time":"%s","v":1,"verdict":"pass","workload":"w"}' \
		"$1" "$1" "$2" >line &&
	sed "s/^{/{\"id\":\"$(sha256sum <line | cut -c1-64)\",/" line
}

test_expect_success 'the best time goes down while the money goes' '
	{ event 4000000 2026-11-20T09:00:00Z && echo && event 1000000 2026-11-20T10:00:30Z && echo &&
		event 2000000 2026-11-20T10:00:40Z && echo; } >note &&
	git notes --ref=klineage/gate add -F note HEAD &&
	git klineage chat cost >out && sed -n "/^best/,\$p" out >bars &&
	cat >want <<-\EOF &&
	best time against money
	    $0.0000     4.000 ms |################################################
	    $0.2500     4.000 ms |################################################
	    $0.3750     1.000 ms |############
	EOF
	test_cmp want bars &&
	git klineage chat cost --no-bars >out && test_must_fail grep "best time" out &&
	git klineage chat cost --json >out && says "{\"nano\":375000000,\"ns\":1000000,\"time\":\"2026-11-20T10:01:00Z\"}" out
'

test_expect_success 'a walk is exported as a recording' '
	git klineage chat export w/n -o rec && test "$(wc -l <rec)" = 4 &&
	head -n 1 rec >out && says "{\"name\":\"n\",\"schema\":\"klineage.recording/1\",\"workload\":\"w\"}" out &&
	sed -n 3p rec >out && says "\"phase\":\"back-0\"" out && says "\"turn\":1" out && says "a\\u001B[2Jb" out &&
	says "\"key\":\"$(printf "5\\0hello5\\0again" | sha256sum | cut -c1-64)\"" out &&
	exits 129 git klineage chat export w/n && exits 129 git klineage chat export w -o x &&
	exits 128 git klineage chat export w/m -o x 2>err && says "no conversation" err && test_must_fail test -e x
'

# totals: settled and reserved of the induce budget, as the tip of the ledger has them
totals () {
	git cat-file blob refs/klineage/ledger/w:ledger.json | perl -MJSON::PP -e 'local $/;
		my $t = decode_json(<STDIN>)->{totals}{induce}; print "$t->{settled} $t->{reserved}\n"'
}

d=dddddddddddddddddddddddddddddddd e=eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee f=ffffffffffffffffffffffffffffffff
test_expect_success 'what broke off is settled: at its reply, as the user says, at the worst' '
	mkdir s s/tree && cp -R .git s/ && (
	cd s && entry reserve $d back-0 2 4000000 375000000 7000000 && entry reserve $e back-1 0 5000000 375000000 12000000 &&
	git klineage chat cost >out && says "3 requests are in progress or interrupted, and may have been charged" out &&
	says "git klineage chat settle --cost <usd> w" out &&
	git klineage chat settle w/n/forward-1 >out &&
	says "n/forward-1, turn 2, 2026-11-20T10:02:00Z: \$0.0030 reserved, settled at \$0.0010 (from its stored reply)" out &&
	says "w: 1 reservation of \$0.0030 settled at \$0.0010" out && test "$(totals)" = "376000000 9000000" &&
	git klineage chat settle w/n/back-0 --cost 0.0005 >out && says "\$0.0040 reserved, settled at \$0.0005 (as stated)" out &&
	test "$(totals)" = "376500000 5000000" && git cat-file blob refs/klineage/ledger/w:ledger.json | grep "\"stated\":true" &&
	git klineage chat settle --json w >out && says "\"by\":\"worst\"" out && says "\"nano\":5000000" out &&
	test "$(totals)" = "381500000 0" && git klineage chat settle w >out && says "w: no interrupted reservations" out &&
	test "$(totals)" = "381500000 0" && git klineage fsck >out && says "0 errors" out && ! grep "not settled" out &&
	git klineage chat cost >out && test_must_fail grep "chat settle" out
	)
'

test_expect_success 'a settlement without a reservation is no open request' '
	mkdir u u/tree && cp -R .git u/ && (
	cd u && entry settle $d back-1 2 4000000 379000000 3000000 "\"released\": 4000000, $usage" &&
	git klineage chat cost >out && says "1 request is in progress or interrupted" out
	)
'

test_expect_success 'a request that is under way is left alone' '
	(
	cd s && entry reserve $f back-0 2 4000000 381500000 4000000 && mkdir -p .git/klineage/talk/w/n &&
	mkfifo held && { flock .git/klineage/talk/w/n/back-0 sh -c "echo >held; exec sleep 60" & } && read -r _ <held &&
	git klineage chat settle w >out && kill $! && says "still in progress, not settled" out && test "$(totals)" = "381500000 4000000" &&
	exits 129 git klineage chat settle && exits 129 git klineage chat settle w --cost -1 2>err && says "US dollars" err &&
	exits 129 git klineage chat cost --cost 1
	)
'

test_expect_success 'what was settled is corrected by the bill, and again' '
	(
	cd s && git klineage chat settle --correct $e --cost 0.0012 w >out && says "w: $e corrected from \$0.0050 to \$0.0012" out &&
	test "$(totals)" = "377700000 4000000" && git klineage chat settle --json --correct $e --cost 0.01 w >out &&
	says "\"before\":1200000" out && says "\"nano\":10000000" out && test "$(totals)" = "386500000 4000000" &&
	git klineage fsck >out && says "0 errors" out && git klineage chat cost --porcelain w >out && grep "386500000\|back-1" out &&
	exits 128 git klineage chat settle --correct $f --cost 1 w 2>err && says "is not settled" err &&
	exits 128 git klineage chat settle --correct 0123 --cost 1 w 2>err && exits 129 git klineage chat settle --correct $e w &&
	exits 129 git klineage chat settle --correct $e --cost 1 w/n && exits 129 git klineage chat cost --correct $e && test "$(totals)" = "386500000 4000000"
	)
'

test_expect_success 'what is asked wrongly is said' '
	exits 129 git klineage chat && exits 129 git klineage chat say && exits 129 git klineage chat log a b &&
	exits 129 git klineage chat show w/n && exits 129 git klineage chat log a//b && exits 129 git klineage chat log a/b/c/d &&
	exits 129 git klineage chat cost w/n && exits 128 git klineage chat show w/n/A
'

test_expect_success 'a ref that somebody made is an error with its name, and fsck names all' '
	git update-ref $ref/bad HEAD && git update-ref refs/klineage/ledger/v HEAD &&
	exits 128 git klineage chat log 2>err && says "$ref/bad" err &&
	exits 128 git klineage chat cost 2>err && says "refs/klineage/ledger/v" err &&
	exits 1 git klineage fsck >out && says "error: $ref/bad" out && says "error: refs/klineage/ledger/v" out &&
	git update-ref -d $ref/bad && git update-ref -d refs/klineage/ledger/v &&
	git update-ref refs/klineage/ledger/w refs/klineage/ledger/w~2 &&
	exits 1 git klineage fsck >out && says "names reservation cccccccccccc, which is not in the ledger" out
'

test_done
