#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='events in segments: imported without a note each, found by the gate, exchanged, and not believed more than in notes'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

ref=refs/klineage/campaign/scale/night

# lines <repository> [<ref>]: all events of a campaign, without index lines
lines () {
	git -C "$1" ls-tree -r --name-only "${2:-$ref}" | while read -r f; do git -C "$1" cat-file blob "${2:-$ref}:$f" | tail -n +2; done
}

# forge <repository> <file>: a campaign with this file, under the name that it should have
forge () {
	name=$(sha256sum <"$2" | cut -d ' ' -f 1) && dir=$(sed -n '2s/.*"surface":"\(..\).*/\1/p' "$2") &&
	blob=$(git -C "$1" hash-object -w --stdin <"$2") &&
	tree=$(printf '100644 blob %s\t%s.jsonl\n' "$blob" "${name:?}" | git -C "$1" mktree) &&
	top=$(printf '040000 tree %s\t%s\n' "$tree" "${dir:?}" | git -C "$1" mktree) &&
	git -C "$1" update-ref $ref "$(git -C "$1" commit-tree -m forged "$top")"
}

test_expect_success 'results go into a segment, neither to a note nor to the cache' '
	(make_repo r) && cd r &&
	exits 125 git klineage gate --runner bundle -o ../a.tar HEAD HEAD^ 2>../err && cd .. &&
	klineage-worker --bundle a.tar -o results 2>err &&
	(cd r && git klineage gate --import ../results --segment night) >out &&
	says "2 imported, 0 already known" out && says "the events are in $ref" out &&
	test -z "$(git -C r for-each-ref refs/notes)" && test -z "$(find r/.git/klineage/cache -name "*.json")" &&
	lines r >events && test "$(wc -l <events)" = 2 && says "\"verdict\":\"pass\"" events && says "\"verdict\":\"fail\"" events &&
	git -C r log --format=%s $ref >out && says "segment: add 2 events" out && git -C r fsck --strict --no-dangling
'

test_expect_success 'the gate finds them there' '
	(cd r && git klineage gate --runner bundle >../out) && says "judged before" out && says "scale: pass" out &&
	(cd r && exits 1 git klineage gate --runner bundle HEAD^ >../out) && says "fail wrong" out &&
	(cd r && exits 125 git klineage gate --runner bundle --fresh -o ../b.tar)
'

test_expect_success 'the same results again change nothing' '
	git -C r rev-parse $ref >before &&
	(cd r && git klineage gate --import ../results --segment night) >out && says "0 imported, 2 already known" out &&
	(cd r && git klineage gate --import ../results --segment night --json) >out &&
	says "\"campaigns\":[\"scale/night\"]" out && says "\"again\":2" out &&
	git -C r rev-parse $ref >after && test_cmp before after
'

test_expect_success 'a name that cannot be one, and --segment alone' '
	(cd r && exits 128 git klineage gate --import ../results --segment a/b 2>../err) && says "cannot be the name of a campaign" err &&
	(cd r && exits 129 git klineage gate --segment night 2>../err) && says "needs --import" err
'

test_expect_success 'fsck finds nothing, and counts them: each is in a note by now, too' '
	(cd r && git klineage fsck >../out) && says "1 campaign" out && says "4 events" out && says "0 errors" out
'

# --- exchange ---------------------------------------------------------------------------------

test_expect_success 'a sync gives segments and takes them' '
	git init -q --bare hub.git && git -C r remote add origin ../hub.git && (cd r && git klineage sync origin >../out) &&
	says "given    $ref" out && (make_repo c) && git -C c remote add origin ../hub.git &&
	(cd c && git klineage sync origin >../out) && says "taken    $ref: 2 events" out &&
	test "$(git -C c rev-parse $ref)" = "$(git -C r rev-parse $ref)" &&
	(cd c && git klineage fsck >../out) && says "0 errors" out &&
	(cd c && git klineage sync origin >../out) && says "nothing to exchange" out
'

test_expect_success 'what another clone measured spares no run, and is shown as unsigned' '
	(cd c && exits 125 git klineage gate --runner bundle -o ../c.tar 2>../err) &&
	(cd c && git klineage gate --no-profile >../out) && ! grep "judged before" out &&
	rm -rf c/.git/klineage/cache c/.git/klineage/made && git -C c update-ref -d refs/notes/klineage/gate &&
	(cd c && exits 0 git klineage review HEAD^ >../out || :) && says "unsigned" out
'

test_expect_success 'segments of two clones are united, and neither replaces the other' '
	klineage-worker --bundle c.tar -o c.results 2>err &&
	(cd c && git klineage gate --import ../c.results --segment night) >out && says "1 imported" out &&
	klineage-worker --bundle b.tar -o b.results 2>err && (cd r && git klineage gate --import ../b.results --segment night) >out &&
	lines r >want && lines c >>want && sort -u want >all &&
	(cd r && git klineage sync origin) && (cd c && git klineage sync origin >../out) && says "united   $ref: 1 event" out &&
	(cd r && git klineage sync origin >../out) && says "moved    $ref: 1 event" out &&
	for repo in r c hub.git; do
		lines $repo | sort >have && test_cmp all have || return 1
	done &&
	git -C c log -1 --format=%s $ref >out && says "segment: merge 1 event" out &&
	(cd c && git klineage fsck >../out) && says "0 errors" out
'

# --- files that mean no good --------------------------------------------------------------------

# refused <what it says>: fsck of a clone that has the file `bad`, and a sync from it
refused () {
	rm -rf evil.git victim && git init -q --bare evil.git && forge evil.git bad &&
	(make_repo victim) && git -C victim remote add origin ../evil.git && git -C r rev-parse $ref >before &&
	(cd victim && exits 1 git klineage sync --fetch origin >../out) && says "left     $ref: invalid" out && says "$1" out &&
	test_must_fail git -C victim rev-parse -q --verify $ref &&
	(cd evil.git && exits 1 git klineage fsck >../out) && says "$1" out
}

test_expect_success 'each flaw is named by its line' '
	file=$(git -C hub.git ls-tree -r --name-only $ref | head -n 1) && git -C hub.git cat-file blob "$ref:$file" >good &&
	sed "2s/\"workload\":\"scale\"/\"workload\":\"other\"/" good >bad && refused "line 2: content of event" &&
	sed "1s/\"workload\":\"scale\"/\"workload\":\"other\"/" good >bad && refused "line 1: the index line names workload" &&
	head -c -10 good >bad && refused "the file is cut off" &&
	{ cat good; echo "{}"; } >bad && refused "bytes were added" &&
	{ head -n 1 good; sed -n 2p good | tr v "\\000"; sed 1,2d good; } >bad && refused "line 2" &&
	{ sed -n 1p good; sed -n 2p good | perl -pe "s/^/ /"; sed 1,2d good; } >bad && refused "bytes were added"
'

test_expect_success 'a huge line, and JSON that is too deep' '
	perl -e "print q({\"bytes\":2000001,\"lines\":1,\"places\":\"), q(0) x 24, q(\",\"schema\":\"klineage.segment/1\",\"workload\":\"scale\"}), qq(\n), q({\"surface\":\"00), q(x) x 1999986, qq(\n)" >bad &&
	refused "line 2" &&
	perl -e "print q({\"surface\":\"00), q([) x 300000, qq(\n)" >deep &&
	{ printf "{\"bytes\":%d,\"lines\":1,\"places\":\"000000000000000000000000\",\"schema\":\"klineage.segment/1\",\"workload\":\"scale\"}\n" "$(wc -c <deep)"; cat deep; } >bad &&
	refused "line 2"
'

test_expect_success 'what is no part of a campaign is not taken' '
	rm -rf evil.git victim && git init -q --bare evil.git && forge evil.git good && (make_repo victim) &&
	blob=$(echo x | git -C evil.git hash-object -w --stdin) && top=$(git -C evil.git rev-parse "$ref^{tree}") &&
	tree=$({ git -C evil.git ls-tree $top; printf "100644 blob %s\tREADME\n" $blob; } | git -C evil.git mktree) &&
	git -C evil.git update-ref $ref "$(git -C evil.git commit-tree -m x $tree)" &&
	git -C victim remote add origin ../evil.git &&
	(cd victim && exits 1 git klineage sync --fetch origin >../out) && says "does not belong into a campaign" out &&
	test_must_fail git -C victim rev-parse -q --verify $ref
'

test_expect_success 'a remote cannot take a file of ours away' '
	lines c | sort >want && rm -rf evil.git && git clone -q --mirror hub.git evil.git && forge evil.git good &&
	git -C c remote set-url origin ../evil.git && (cd c && git klineage sync --fetch origin >../out) &&
	lines c | sort >have && test_cmp want have
'

test_expect_success 'a verdict in a segment is taken back there' '
	cp -R r t && git -C t update-ref -d refs/notes/klineage/gate && rm -rf t/.git/klineage/cache &&
	id=$(sed -n "s/.*\"id\":\"\([0-9a-f]*\)\",.*\"verdict\":\"fail\".*/\1/p" events) && test "${#id}" = 64 &&
	(cd t && git klineage gate --retract "$(echo $id | cut -c1-9)" --reason "a test" >../out) && says "in 1 campaign)" out &&
	lines t >after && says "\"of\":\"$id\"" after && (cd t && git klineage fsck >../out) && says "0 errors, 0 warnings" out &&
	(cd t && exits 125 git klineage gate --runner bundle -o ../t.tar HEAD^) &&
	(cd t && exits 128 git klineage gate --retract $id 2>../err) && says "already retracted" err
'

test_expect_success 'a log whose writer was stopped' '
	mkdir -p r/.git/klineage/campaign/scale && head -n 1 events >log && printf "{\"class\":nu" >>log &&
	cp log r/.git/klineage/campaign/scale/day.jsonl && (cd r && git klineage fsck >../out) && says "the last line is not complete" out &&
	says "0 errors" out && { echo "{}"; cat log; } >r/.git/klineage/campaign/scale/day.jsonl &&
	(cd r && exits 1 git klineage fsck >../out) && says "day.jsonl: line 1" out
'

test_expect_success 'a sync gives what is in a log, too' '
	echo "{}" >r/.git/klineage/campaign/scale/damaged.jsonl &&
	cp log r/.git/klineage/campaign/scale/day.jsonl && git -C r remote set-url origin ../hub.git &&
	(cd r && git klineage sync --fetch origin) && test -e r/.git/klineage/campaign/scale/day.jsonl &&
	(cd r && git klineage sync origin >../out) && says "given    refs/klineage/campaign/scale/day" out &&
	test ! -e r/.git/klineage/campaign/scale/day.jsonl && lines hub.git refs/klineage/campaign/scale/day >have &&
	head -n 1 events | test_cmp - have
'

test_done
