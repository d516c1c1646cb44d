#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage memory: rules and techniques of other programs on a branch, read by a search that names it'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
chain=$(long_chain)

answering "$PWD/answers"
ref=refs/heads/klineage/memory/peer
search () { git klineage search --rewriter exec --exec "$model" -q "$@"; }
# fail_as <message> <program> <file>: the file is refused with this message, and the memory stays as it is
fail_as () {
	before=$(git rev-parse $ref)
	exits 128 git klineage memory import --from "$2" --language c peer "$3" 2>err
	cat err && says "$1" err && test "$(git rev-parse $ref)" = "$before"
}

cat >rules <<'X1'
You cannot call printf in a kernel.||34.0
You cannot use a variable-length array.||3

You cannot compute 1 || 2 here.||1
X1
cat >base.json <<'X1'
{"known_states": {}, "optimization_strategies": {"memory_bound": {"optimizations": [
 {"technique": "SIMD_operations", "description": "use packed types", "predicted_improvement": 20.0, "actual_improvement": null, "confidence_score": 0.8, "usage_count": 0},
 {"technique": "tiling", "description": "reuse", "predicted_improvement": null, "actual_improvement": 12.5, "confidence_score": 1.0, "usage_count": 2}]}}}
X1

test_expect_success 'import, once and again; show; retract' '
	(git init -q -b main t && cd t && git config klineage.profileMs 300 && mkdir k && contract k scale scale.c "v $chain" && plain k/scale.c scale "v $chain" "/* root */" && commit "scale: a kernel" &&
	git klineage memory import --from adaexplore --language c peer ../rules >out && says "3 entries read, 3 new" out && tip=$(git rev-parse $ref) &&
	git klineage memory import --from adaexplore --language c peer ../rules >out && says "3 entries read, 0 new" out && test "$(git rev-parse $ref)" = $tip &&
	git klineage memory import --from kernelblaster --language c peer ../base.json >out && says "2 entries read, 2 new" out && git klineage memory show peer >out && cat out &&
	says "rule for c, from adaexplore, 34 times: You cannot call printf" out && says "1 time: You cannot compute 1 || 2 here." out && says "simd-operations in memory-bound saves 20.0 % (confidence 0.80): use packed types" out && says "tiling in memory-bound saves 12.5 %" out &&
	id=$(sed -n "s/ rule .*variable-length.*//p" out) && git klineage memory retract --reason "C99 has it" peer $id >out && exits 128 git klineage memory retract --reason again peer $id 2>err && says "retracted already" err &&
	git klineage memory import --from adaexplore --language c peer ../rules >out && git klineage memory show peer >out && says "(retracted: C99 has it)" out && git klineage memory show --json peer >out && says klineage.memory-show/1 out &&
	git klineage memory import --from adaexplore --language cuda peer ../rules >out && says "3 new" out && git klineage memory show peer~1 >out && ! grep cuda out && git klineage fsck >out && says ": 0 errors" out && git fsck --strict --no-dangling)
'

test_expect_success 'a file that is not what it should be is refused whole, by its line' '
	(cd t && printf "fine||1\nbad\n" >bad && fail_as "line 2: the line is not" adaexplore bad && printf "x||99999999\n" >bad && fail_as "must be a number up to" adaexplore bad &&
	printf "x||3.5\n" >bad && fail_as "must be a number" adaexplore bad && printf "||3\n" >bad && fail_as "is empty" adaexplore bad && printf "a\0b||3\n" >bad && fail_as "not text in UTF-8" adaexplore bad && : >bad && fail_as "has no entry" adaexplore bad && perl -e "print \"x\" x 2000, \"||3\n\"" >bad && fail_as "at most 1000 bytes" adaexplore bad &&
	perl -e "print qq(rule \$_||1\n) for 1 .. 10000" >bad && fail_as "would have more than 10000 entries" adaexplore bad &&
	echo "[]" >bad && fail_as "optimization_strategies" kernelblaster bad && sed "s/0.8,/1e300,/" ../base.json >bad && fail_as "confidence_ppm" kernelblaster bad && sed "s/20.0/-1e9/" ../base.json >bad && fail_as "saved_ppm" kernelblaster bad && sed "s/\"tiling\"/\"..\\/x\"/" ../base.json >bad && fail_as "must be slugs" kernelblaster bad &&
	sed "s/\"tiling\"/null/" ../base.json >bad && fail_as "must be slugs" kernelblaster bad && exits 128 git klineage memory show nobody 2>err && says "there is no memory" err && exits 129 git klineage memory import --from gepa --language c peer ../rules 2>err && exits 129 git klineage memory import --from adaexplore peer ../rules 2>err && says "language must name" err)
'

test_expect_success 'a changed entry is found by fsck, and refused by a search' '
	(cd t && tip=$(git rev-parse $ref) && path=$(git ls-tree --name-only -r $ref rules/ | head -1) && git cat-file -p $ref:$path | sed "s/You cannot/You can/" >changed && blob=$(git hash-object -w changed) &&
	rm -f .git/i && GIT_INDEX_FILE=.git/i git read-tree $ref && GIT_INDEX_FILE=.git/i git update-index --cacheinfo 100644,$blob,$path && tree=$(GIT_INDEX_FILE=.git/i git write-tree) &&
	git update-ref $ref "$(git commit-tree -m x -p $tip $tree)" && exits 1 git klineage fsck >out && cat out && says "the entry must be at" out && exits 128 search -n --policy adaexplore --memory peer scale 2>err && says "$path: the entry must be at" err &&
	tree=$({ git ls-tree $tip; printf "100644 blob %s\tx\377.json\n" "$blob"; } | git mktree) && git update-ref $ref "$(git commit-tree -m x -p $tip $tree)" && exits 128 git klineage memory show peer 2>err && cat err && says "the path is not UTF-8" err && exits 1 git klineage fsck >out && says "the path is not UTF-8" out && git update-ref $ref $tip && git klineage fsck)
'

test_expect_success 'a search that names it tells the rules; others do not; its chain holds the copy' '
	echo "<nothing-left>no idea</nothing-left>" >"$ANSWERS/t1-proposer.0" &&
	(cd t && exits 129 search -n --policy climb --memory peer scale 2>err && says "reads no memory" err && search -n --policy adaexplore --memory peer scale >out && says "memory: 2 entries" out &&
	{ search --policy adaexplore --candidates 1 --name with --memory peer scale; search --policy adaexplore --candidates 1 --name without scale; :; } >out && git cat-file -p refs/klineage/cells/scale/with^2:cell.json >cell && says "You cannot call printf" cell && ! grep "variable-length" cell && ! grep technique cell &&
	git cat-file --batch-all-objects --batch >all && git klineage chat log scale/with >log 2>&1; for n in with without; do git cat-file -p "$(git for-each-ref --format="%(refname)" refs/klineage/chat/scale/$n | head -1)^{tree}" >tree; git archive "refs/klineage/chat/scale/$n/t1-proposer" | tar xO >$n.text || exit 1; done &&
	says "You cannot call printf in a kernel." with.text && ! grep "You cannot compute" with.text && ! grep printf without.text && git klineage fsck >out && says ": 0 errors" out &&
	git klineage memory retract --reason "no" peer "$(git klineage memory show peer | sed -n "s/ rule for c, .*printf.*//p")" >out && git klineage fsck && search --continue --name with scale >out; says "1 candidate" out)
'

test_done
