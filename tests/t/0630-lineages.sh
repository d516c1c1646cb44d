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

# graft <name> <entry>: the export of a lineage whose step 1 also has this entry of the index
graft () {
	(
	cd r-c-topk && one=$(git rev-list --first-parent --reverse "$topk" | sed -n 2p) &&
	GIT_INDEX_FILE=$PWD/index-$1 && export GIT_INDEX_FILE && git read-tree "$one" && git update-index --add --cacheinfo "$2" &&
	tree=$(git write-tree) && unset GIT_INDEX_FILE &&
	new=$(git cat-file commit "$one" | sed "1,/^\$/d" | GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL git commit-tree -p "$one^1" "$tree") &&
	git update-ref "refs/heads/klineage/lineage/topk/$1" "$new" && git klineage export "topk/$1" "../$1"
	)
}
topk=$(git -C r-c-topk for-each-ref --format="%(objectname)" refs/heads/klineage/lineage)

test_expect_success 'a step that makes a symlink or a submodule is no state' '
	link=$(printf /etc/passwd | git -C r-c-topk hash-object -w --stdin) && graft link 120000,$link,out.txt &&
	graft module 160000,$(git -C r-c-topk rev-parse HEAD),sub && graft plain 100644,$link,out.txt &&
	git init -q r-grafts && cd r-grafts && exits 128 git klineage import ../link 2>err && says "out.txt'\'' is not a regular file" err &&
	exits 128 git klineage import ../module 2>err && says "sub'\'' is not a regular file" err &&
	test -z "$(git for-each-ref)" && git klineage import ../plain && cd ..
'

test_expect_success 'so with a rejected step, whose id is made anew, and with files that are links themselves' '
	cp -R "$KLINEAGE_TOP/skills/lineages/c-topk" tried && p=$(ls -d tried/rejected/* | head -n 1) && chmod -R u+w tried &&
	perl -0pi -e "s{\n-- \n}{\ndiff --git a/l b/l\nnew file mode 120000\nindex 0000000..3594e94\n--- /dev/null\n+++ b/l\n\@\@ -0,0 +1 \@\@\n+/etc/passwd\n\\\\ No newline at end of file\n-- \n}" "$p" && grep 120000 "$p" &&
	git init -q r-tried && cd r-tried && exits 128 git klineage import ../tried 2>err && cat err && says "is not a regular file" err && cd .. &&
	rm -rf tried && cp -R "$KLINEAGE_TOP/skills/lineages/c-topk" tried && chmod -R u+w tried && mv tried/state-0/oracle.c o.c && ln -s "$PWD/o.c" tried/state-0/oracle.c &&
	cd r-tried && exits 128 git klineage import ../tried 2>err && says "is not a regular file" err && test -z "$(git for-each-ref)"
'

# page <page> <lineage>: what the page indents is what log prints of the lineage
page () {
	git init -q "$2" && (cd "$2" && git klineage import "$KLINEAGE_TOP/skills/held-out/$2" >/dev/null && git klineage log >../log) &&
	sed -n "/^speed against/q; s/^./	&/; p" log | sed "s/[ 	]*$//; /^$/d" >want && sed -n "/^	/p" "$KLINEAGE_TOP/docs/$1" | sed "s/[ 	]*$//" >have &&
	test -s want && test_cmp want have
}
test_expect_success 'docs/cuda-attention.md has the lineage as log prints it' 'page cuda-attention.md cuda-fmha'
test_expect_success 'docs/cuda-convolution.md has the lineage as log prints it' 'page cuda-convolution.md cuda-conv2d'

test_done
