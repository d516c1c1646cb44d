#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the shipped library: it is what its lineages say, it comes in whole, and the page about it is true'
. ./lib.sh

shipped=$KLINEAGE_TOP/skills
skills=refs/heads/klineage/skills
cards=$(find "$shipped/cards" -name "*.yaml" | wc -l)

repo () {	# repo <name>: a new repository, and in it
	cd "$SHARNESS_TRASH_DIRECTORY" && git init -q "$1" && cd "$1" && git commit -q --allow-empty -m start
}
tried () { grep -l "^  - trial: " "$shipped"/cards/*.yaml | sed 's|.*/||'; }

test_expect_success 'skills/README.md is what the tool makes of it' '
	"$KLINEAGE_TOP/tests/library.sh" "$KLINEAGE_BUILD" >made && test_cmp "$shipped/README.md" made
'

test_expect_success 'skills/digests names what is shipped, and nothing else' '
	"$KLINEAGE_TOP/tests/digests.sh" >made && test_cmp "$shipped/digests" made
'

test_expect_success 'the cards are right and canonical, and each event that they cite is there and is cited' '
	repo lint && git klineage skills lint "$shipped" >out && says "$cards cards: 0 errors, 0 warnings" out &&
	sed -n "s/^ *event: \([0-9a-f]\{64\}\)$/\1/p" "$shipped"/cards/*.yaml | sort -u >cited && test -s cited &&
	for e in $(cat cited); do test -s "$shipped/evidence/$(echo "$e" | cut -c1-2)/$e.json" || { echo "$e"; return 1; }; done
'

# sound <card>: its conditions for being right; without_sound <card>: all else
sound () { sed -n '/^  sound:/,/^  useful:/p' "$1"; }
without_sound () { sed '/^  sound:/,/^  useful:/d' "$1"; }

# weaker <lifted> <shipped>: what is still assumed was assumed at the beginning; what is not is gone, or an event has seen it fail
weaker () {
	for clause in $(sound "$2" | grep -B 1 "^      state: assumed" | grep -o "([^()]*)" | tr " " "_"); do
		sound "$1" | tr " " "_" | grep -q -F -e "$clause" || { echo "$2: $clause"; return 1; }
	done
	for e in $(sound "$2" | sed -n "s/^      by: \"*\([0-9a-f]*\)\"*$/\1/p"); do
		grep -q "\"verdict\":\"fail\"" "$shipped/evidence/$(echo "$e" | cut -c1-2)/$e.json" || { echo "$2: $e"; return 1; }
	done
}

test_expect_success 'but for their trials and witnesses they are what lift makes of the lineages' '
	repo lifted && for l in "$shipped"/lineages/*; do git klineage import "$l" >/dev/null || return 1; done &&
	git klineage lift >out && git klineage skills export -o ../lifted-cards >/dev/null && cd .. &&
	ls lifted-cards/cards >want && ls "$shipped"/cards >have && test_cmp want have &&
	tried >tried && test -s tried &&
	for c in $(cat have); do
		test "$(sound lifted-cards/cards/$c)" != "$(sound "$shipped/cards/$c")" || grep -q -x "$c" tried ||
			cmp lifted-cards/cards/$c "$shipped/cards/$c" || return 1
		weaker lifted-cards/cards/$c "$shipped/cards/$c" &&
		without_sound lifted-cards/cards/$c >was && without_sound "$shipped/cards/$c" >is || return 1
		diff was is | grep "^<" | sort >gone
		if ! grep -q -x "$c" tried; then
			! grep -v -x "< risk: \[\]" gone || return 1
		elif grep -q "^status: hypothesis" is; then
			test "$(grep -v -x "< risk: \[\]" gone)" = "< ver: []" || { cat gone; return 1; }
		else
			test "$(grep -v -x "< risk: \[\]" gone)" = "$(printf "< status: hypothesis\n< ver: []")" || { cat gone; return 1; }
		fi
	done
'

test_expect_success 'a status is what trials earned: on states that were held out, with events that say so' '
	cd "$SHARNESS_TRASH_DIRECTORY/lifted" && for l in "$shipped"/held-out/*; do git klineage import "$l" >/dev/null || return 1; done &&
	for c in $(cat ../tried); do
		sed -n "/^ver:$/,\$p" "$shipped/cards/$c" >ver && ! grep foreign ver &&
		for s in $(sed -n "s/^    state: //p" ver | tr -d "\""); do
			git cat-file -e "$s^{commit}" && ! sed -n "/^evidence:$/,/^risk:/p" "$shipped/cards/$c" | grep "$s" || return 1
		done &&
		awk "/^    result: /{r = \$2} /^    event: /{print r, \$2}" ver | tr -d "\"" >results && test -s results &&
		while read -r r e; do
			f=$shipped/evidence/$(echo "$e" | cut -c1-2)/$e.json && test -s "$f" &&
			{ test $r = fail || grep -q "\"verdict\":\"pass\"" "$f"; } || return 1
		done <results
	done
'

test_expect_success 'a trial is for a state that has the anchor, that is held out, and that is judged here' '
	cd "$SHARNESS_TRASH_DIRECTORY/lifted" && jam=$(cd "$shipped/cards" && ls | sed -n "s/^\(unroll-jam-.*\)\.yaml/\1/p") &&
	git klineage admit -n --json --rewriter exec --exec true $jam >out && cat out && says "\"level\":\"other-workload\"" out &&
	if ! test -e /dev/nvidiactl && ! test -e /proc/driver/nvidia/version && ! test -e /dev/dxg; then
		says "the state cannot be judged here: this machine has no visible GPU" out && ! grep "\"state\":{[^}]*cuda" out
	fi &&
	git klineage admit -n --rewriter exec --exec true --on topk $jam >out && cat out && says "$jam on topk/" out &&
	git klineage admit -n --rewriter exec --exec true --on topk/by-rule $jam >out && says "$jam on topk/by-rule K_" out &&
	second=$(git rev-parse klineage/lineage/topk/by-rule~1) && git klineage admit -n --json --rewriter exec --exec true --on klineage/lineage/topk/by-rule~1 $jam >out &&
	says "\"commit\":\"$second\"" out &&
	own=$(sed -n "s/^    before: //p" "$shipped/cards/$jam.yaml" | head -n 1) &&
	exits 1 git klineage admit -n --rewriter exec --exec true --on $own $jam >out && says "the card was learned from this state" out &&
	exits 128 git klineage admit -n --rewriter exec --exec true --on top $jam 2>err && says "no lineage state matches" err
'

test_expect_success 'an import brings all of it; all are hypotheses, and the same again from there' '
	repo one && git klineage skills import "$shipped" >out && says "$cards new cards, 0 merged, 0 unchanged" out &&
	git klineage skills list --status hypothesis >out && test "$(wc -l <out)" = $((cards + 1)) &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict &&
	git klineage skills export -o ../carried >/dev/null && diff -r ../carried/evidence "$shipped/evidence" &&
	for c in $(cat ../have); do
		if grep -q -x "$c" ../tried; then
			sed "s/^status: admitted$/status: hypothesis/; s/^status: provisional$/status: hypothesis/" "$shipped/cards/$c" >was &&
			grep -v "^    foreign: true$" "../carried/cards/$c" | cmp - was || return 1
		else
			cmp "../carried/cards/$c" "$shipped/cards/$c" || return 1
		fi
	done &&
	repo two && git klineage skills import ../carried && test "$(git rev-parse $skills^{tree})" = "$(git -C ../one rev-parse $skills^{tree})"
'

test_expect_success 'again it changes nothing; --shipped is the same' '
	cd "$SHARNESS_TRASH_DIRECTORY/one" && at=$(git rev-parse $skills) && git klineage skills import "$shipped" >out && says "0 new cards, 0 merged, $cards unchanged" out &&
	test "$(git rev-parse $skills)" = "$at" &&
	repo three && git klineage skills import --shipped && test "$(git rev-parse $skills^{tree})" = "$(git -C ../one rev-parse $skills^{tree})" &&
	exits 129 git klineage skills import --shipped "$shipped" && exits 129 git klineage skills import
'

test_expect_success 'by json and SKILL.md as well' '
	for form in json skill-md; do
		cd "$SHARNESS_TRASH_DIRECTORY/one" && git klineage skills export --format $form -o ../$form >/dev/null &&
		repo of-$form && git klineage skills import ../$form >out && says "$cards new cards" out &&
		test "$(git rev-parse $skills^{tree})" = "$(git -C ../one rev-parse $skills^{tree})" || return 1
	done
'

test_expect_success 'killed at any moment, once more it is whole' '
	repo killed && for ms in 01 03 06 10 15 20 30 40; do
		timeout -s KILL 0.$ms git klineage skills import "$shipped" >out 2>&1
		git fsck --strict >fsck 2>&1 && git klineage fsck >fsck && says ": 0 errors, " fsck || { cat fsck; return 1; }
	done
	git klineage skills import "$shipped" && test "$(git rev-parse $skills^{tree})" = "$(git -C ../one rev-parse $skills^{tree})" &&
	test "$(git rev-list --count $skills)" = $((cards + 1))
'

test_expect_success 'what was lifted here before is not lost by it: trials of others are no trials' '
	cd "$SHARNESS_TRASH_DIRECTORY/lifted" && git klineage skills import "$shipped" >out && says "$(wc -l <../tried) merged" out &&
	git klineage skills list --status hypothesis >out && test "$(wc -l <out)" = $((cards + 1)) && git klineage fsck >out && says ": 0 errors, 0 warnings" out
'

test_done
