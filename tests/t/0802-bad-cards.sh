#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='cards that are wrong: each verb says where and what, takes the others, and loses nothing'
. ./lib.sh

data=$KLINEAGE_TOP/tests/data/library
row=keep-the-row-in-shared-memory-ef97c74
sum='sum-by-shuffles-8e9d908'
skills=refs/heads/klineage/skills
zeros=$(printf '%064d' 0)

# bad <name> <line:column> <message>: what a sed script (stdin) does to a card; at import, and committed by hand
bad () {
	cat >"$SHARNESS_TRASH_DIRECTORY/script"
	bad_at=$2 bad_says=$3
	test_expect_success "$1" '
		cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf in at hand && cp -r "$data" in && sed -f script "$data/cards/$sum.yaml" >"in/cards/$sum.yaml" &&
		! cmp -s "in/cards/$sum.yaml" "$data/cards/$sum.yaml" && git init -q at && cd at &&
		exits 128 git klineage skills import ../in >out 2>err && says "1 new card, 0 merged, 0 unchanged, 1 refused" out &&
		says "$sum.yaml:$bad_at: " err && says "$bad_says" err && git cat-file -e "$skills:cards/$row.yaml" &&
		test_must_fail git cat-file -e "$skills:cards/$sum.yaml" && git klineage skills import "$data" >out && says "1 new card, 0 merged, 1 unchanged" out &&
		good=$(git rev-parse $skills) &&
		git worktree add -q ../hand klineage/skills && cp "../in/cards/$sum.yaml" ../hand/cards/ && git -C ../hand commit -q -a -m "by hand" &&
		git worktree remove --force ../hand && tip=$(git rev-parse $skills) &&
		exits 1 git klineage skills lint >out && says "error: cards/$sum.yaml:$bad_at: " out && says "$bad_says" out && says "2 cards: 1 error" out &&
		exits 1 git klineage fsck >out && says "$bad_says" out &&
		exits 1 git klineage skills list >out 2>err && says "$row" out && says "$sum.yaml:$bad_at: " err &&
		exits 128 git klineage skills retract "$sum" --reason x 2>err && says "$bad_says" err &&
		exits 128 git klineage skills import "../in/cards/$sum.yaml" 2>err && test "$(git rev-parse $skills)" = "$tip" &&
		git klineage lift "$KLINEAGE_TOP/skills/lineages/cuda-gdn-cumsum" >out 2>err && says "left out: cards/$sum.yaml:$bad_at: " err &&
		git cat-file blob "$skills:cards/$sum.yaml" | cmp - "../in/cards/$sum.yaml" &&
		test "$(git rev-list --count "$tip..$skills")" = 6 && git merge-base --is-ancestor "$good" $skills && git fsck --strict --no-dangling
	'
}

bad 'an unknown field' 5:1 "unknown key 'author' in the card" <<'E'
4a author: somebody
E
bad 'a field that is twice there' 5:1 "appears twice" <<'E'
4p
E
bad 'a predicate that does not parse' 18:13 "is not a valid predicate: byte 5" <<'E'
/^  sound:/c\
  sound:\
    - id: thirds\
      text: it must\
      test: K % % 3\
      state: assumed
E
bad 'a predicate that never ends' 18:13 "longer than 1024 bytes" <<E
/^  sound:/c\\
  sound:\\
    - id: long\\
      text: it must\\
      test: $(printf 'K > 1%.0s && ' $(seq 150))K\\
      state: assumed
E
bad 'a status that its trials do not support' 3:9 'status is provisional, but the trials make it hypothesis' <<'E'
s/^status: hypothesis/status: provisional/
E
bad 'an id that is none' 2:5 "id" <<'E'
s/^id: .*/id: ..\/..\/hooks\/post-checkout/
E
bad 'a carrier with a path that escapes' 13:11 'path leads out of the contract'\''s directory' <<'E'
s/form: prose/form: diff/
s/^    text: as in the lineage/    text: |\
      diff --git a\/..\/..\/x.c b\/..\/..\/x.c\
      --- a\/..\/..\/x.c\
      +++ b\/..\/..\/x.c\
      @@ -1 +1 @@\
      -a\
      +b/
E
bad 'a carrier that makes a link' 13:11 'only regular files can be changed' <<'E'
s/form: prose/form: diff/
s/^    text: as in the lineage/    text: |\
      diff --git a\/x.c b\/x.c\
      new file mode 120000\
      --- \/dev\/null\
      +++ b\/x.c\
      @@ -0,0 +1 @@\
      +\/etc\/passwd/
E
bad 'a semantic patch with script lines' 13:11 'script' <<'E'
s/form: prose/form: semantic-patch/
s/^    text: as in the lineage/    text: |\
      @script:python@\
      @@\
      import os/
E
bad 'a semantic patch that includes a file' 13:11 'include' <<'E'
s/form: prose/form: semantic-patch/
s/^    text: as in the lineage/    text: |\
      #include "\/etc\/passwd"\
      @@ @@\
      - a\
      + b/
E
bad 'a ratio that is no number' 26:14 "'ratio' must be a number" <<'E'
s/^      ratio: .*/      ratio: fast/
E
bad 'text that turns its direction' 4:9 "one line without control characters" <<E
s/^intent: .*/intent: "sums $(printf '\342\200\256')within"/
E

test_expect_success 'evidence that points nowhere: import refuses it, fsck names it' '
	cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf in at && cp -r "$data" in && git init -q at && cd at &&
	sed "s/event: [0-9a-f]\{64\}/event: $zeros/; s/of: [0-9a-f]\{64\}/of: $zeros/" "$data/cards/$sum.yaml" >"../in/cards/$sum.yaml" &&
	exits 128 git klineage skills import ../in >out 2>err && says "cited event 000000000000 is neither next to the card nor in this clone" err && says "1 new card" out &&
	git worktree add -q ../hand klineage/skills && cp "../in/cards/$sum.yaml" ../hand/cards/ && git -C ../hand add . && git -C ../hand commit -q -m "by hand" &&
	git worktree remove --force ../hand &&
	exits 1 git klineage fsck >out && says "cards/$sum.yaml" out && says "the card cites event 000000000000, which is not usable: no" out
'

test_expect_success 'a duplicate id: in one import, and in one library' '
	cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf in at && cp -r "$data" in && git init -q at && cd at &&
	sed "s/^intent: .*/intent: something else/" "$data/cards/$sum.yaml" >../in/cards/zzz.yaml &&
	exits 128 git klineage skills import ../in >out 2>err && says "2 new cards, 0 merged, 0 unchanged, 1 refused" out &&
	says "zzz.yaml" err && says "card '\''$sum'\'' differs from the one in" err && git cat-file blob "$skills:cards/$sum.yaml" | cmp - "$data/cards/$sum.yaml" &&
	cp "$data/cards/$sum.yaml" ../in/cards/zzz.yaml && git klineage skills import ../in >out && says "0 new cards, 0 merged, 3 unchanged" out &&
	git worktree add -q ../hand klineage/skills && cp "$data/cards/$sum.yaml" ../hand/cards/zzz.yaml && git -C ../hand add . && git -C ../hand commit -q -m "by hand" &&
	git worktree remove --force ../hand &&
	exits 1 git klineage skills lint >out && says "cards/zzz.yaml: contains the card '\''$sum'\'', which belongs in $sum.yaml" out &&
	exits 1 git klineage fsck >out && says "zzz.yaml contains the card" out &&
	exits 1 git klineage skills list >out 2>err && test "$(grep -c "^$sum" out)" = 1
'

test_expect_success 'a card that is as long as a book' '
	cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf at && git init -q at && cd at && awk "BEGIN { for (i = 0; i < 200000; i++) print \"# line\", i }" >long.yaml &&
	cat "$data/cards/$sum.yaml" >>long.yaml && exits 128 git klineage skills import long.yaml 2>err && says "long.yaml" err && test -z "$(git for-each-ref)" &&
	awk "BEGIN { for (i = 0; i < 5000; i++) printf \"[\" }" >deep.yaml && exits 128 git klineage skills import deep.yaml 2>err && says "deep.yaml" err &&
	printf "a: &x [1]\nb: *x\n" >alias.yaml && exits 128 git klineage skills import alias.yaml 2>err && says "alias" err &&
	head -c 100000 /dev/urandom >noise.yaml && exits 128 git klineage skills import noise.yaml 2>err && test -z "$(git for-each-ref)"
'

test_done
