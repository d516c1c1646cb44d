#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='events in segments: imported without a note each, and found by the gate'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

ref=refs/klineage/campaign/scale/night

# lines <repository> [<ref>]: all events of a campaign, without index lines
lines () {
	git -C "$1" ls-tree -r --name-only "${2:-$ref}" | while read -r f; do git -C "$1" cat-file blob "${2:-$ref}:$f" | tail -n +2; done
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

test_expect_success 'a log whose writer was stopped' '
	mkdir -p r/.git/klineage/campaign/scale && head -n 1 events >log && printf "{\"class\":nu" >>log &&
	cp log r/.git/klineage/campaign/scale/day.jsonl && (cd r && git klineage fsck >../out) && says "the last line is not complete" out &&
	says "0 errors" out && { echo "{}"; cat log; } >r/.git/klineage/campaign/scale/day.jsonl &&
	(cd r && exits 1 git klineage fsck >../out) && says "day.jsonl: line 1" out
'

test_done
