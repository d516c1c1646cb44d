#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the shipped lineages: they import as they are, and the page about them says what they say'
. ./lib.sh

test_expect_success 'docs/lineages.md is what the tool makes of skills/lineages' '
	"$KLINEAGE_TOP/tests/lineages.sh" "$KLINEAGE_BUILD" >made &&
	test_cmp "$KLINEAGE_TOP/docs/lineages.md" made
'

for dir in "$KLINEAGE_TOP"/skills/lineages/*/; do
	name=$(basename "$dir")
	test_expect_success "$name: import, fsck, and the export has the same steps and events again" '
		git init -q r-'"$name"' && cd r-'"$name"' && git commit -q --allow-empty -m start &&
		git klineage import "'"$dir"'" >out &&
		git klineage fsck >said && cat said &&
		git fsck --strict &&
		git klineage export ../again-'"$name"' &&
		cd .. &&
		# a rejected commit stands on the walk where it was made, on the lineage where it was imported
		diff -r -I "^From [0-9a-f]* Mon Sep 17" -x gate.jsonl -x lineage.json "'"$dir"'" again-'"$name"' &&
		grep "\"tip\"" "'"$dir"'lineage.json" >tip && grep -F -f tip again-'"$name"'/lineage.json &&
		grep -oE "\"id\":\"[0-9a-f]{64}\"" "'"$dir"'gate.jsonl" | sort >ids &&
		test -s ids &&
		grep -oE "\"id\":\"[0-9a-f]{64}\"" again-'"$name"'/gate.jsonl | sort >again-ids &&
		test_cmp ids again-ids
	'
	test_expect_success "$name: plain git finds its steps and what was rejected" '
		tip=$(git -C r-'"$name"' for-each-ref --format="%(refname)" "refs/heads/klineage/lineage/**") &&
		steps=$(git -C r-'"$name"' rev-list --first-parent --count "$tip") &&
		test $((steps - 1)) = $(ls "'"$dir"'"[0-9]*.patch | wc -l) &&
		test $(ls "'"$dir"'"rejected | wc -l) -gt 0 &&
		git -C r-'"$name"' log --first-parent --format="%(trailers:key=Klineage-Mechanism,valueonly)" "$tip" |
			grep -c . >mechanisms &&
		test $(cat mechanisms) -ge 4
	'
done

test_done
