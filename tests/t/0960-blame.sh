#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage blame: the lines of an expert, by the steps that brought them'
. ./lib.sh

ref=klineage/lineage/cuda-topk/sm_90-12b611a

test_expect_success 'a lineage, and the expert in a directory of its own' '
	git init -q repo && (
		cd repo && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-topk" >/dev/null && mkdir -p k/deep &&
		git archive $ref | tar -x -C k && git add . && git commit -q -m expert
	)
'

# the step of each line by git alone: the commit of git blame, by its place among the first parents
by_git () {
	git -C repo rev-list --first-parent --reverse $ref >order
	git -C repo blame --first-parent -l -s $ref -- "$1" | sed "s/^^/ /; s/^ *//" | cut -c1-39 | while read -r c; do
		echo $(($(grep -n "^$c\|^.$c" order | head -n 1 | cut -d: -f1) - 1))
	done
}

test_expect_success 'the steps of the lines are those that git knows' '
	(cd repo && git klineage blame --json k/topk.cu) >out &&
	perl -MJSON::PP -e "print \$_, qq(\n) for @{decode_json(join q(), <STDIN>)->{lines}}" <out >have &&
	by_git topk.cu >want && test "$(sort -u want | wc -l)" -ge 5 && test_cmp want have
'

test_expect_success 'as a person reads it: state, mechanism, effect, once a run, and then what the steps are' '
	(cd repo && git klineage blame k/topk.cu) >out &&
	grep -E "^K_3 +radix-select +19\.8[0-9]*x +[0-9]+\) " out && grep -E "^K_0 +\(simplest\) +1\) " out &&
	grep -E "^ +2\) /\*" out && says "K_11, " out && says "19.817x [19.761, 19.876] against K_2" out && says "gained redux shfl" out &&
	test "$(grep -cE "^.{5,60} [ 0-9]{5}\) ?" out)" = "$(wc -l <repo/k/topk.cu)" &&
	(cd repo && git klineage blame --no-steps k/topk.cu) >lines && test "$(wc -l <lines)" = "$(wc -l <repo/k/topk.cu)" &&
	head -n "$(wc -l <lines)" out >head && test_cmp lines head
'

test_expect_success 'the worktree counts: what is not of the lineage says so, the rest is as before' '
	(
		cd repo && sed "s/ *[0-9]*) .*//" ../lines >../before && cp k/topk.cu ../kept && { echo "/* new */"; cat ../kept; } >k/topk.cu &&
		git klineage blame --no-steps k/topk.cu >../out && git klineage blame --json k/topk.cu >../json &&
		git status --porcelain >../status && cp ../kept k/topk.cu
	) &&
	head -n 1 out | grep -E "^- +[(]not in it[)] +1\) /\* new \*/" && says "{\"lines\":[null,0,0," json &&
	echo " M k/topk.cu" >want && test_cmp want status && git -C repo fsck --strict
'

test_expect_success 'from below, from the branch of the lineage, of a file that the worktree has not' '
	(cd repo/k/deep && git klineage blame --no-steps ../topk.cu) >out && test_cmp lines out &&
	(cd repo && rm k/topk.cu && git klineage blame --no-steps k/topk.cu; git checkout -q k/topk.cu) >out && test_cmp lines out &&
	(cd repo && git klineage blame --lineage cuda-topk --no-steps k/launch.yaml) >out && grep "^K_7" out &&
	git -C repo checkout -q $ref && (cd repo && git klineage blame --no-steps topk.cu) >out && git -C repo checkout -q main && test_cmp lines out
'

test_expect_success 'the contract that names the file, wherever it is' '
	(
		cd repo && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-gemm" >/dev/null &&
		exits 129 git klineage blame --no-steps other.cu 2>../err && mkdir kernels judge &&
		git archive $ref | tar -x -C kernels && mv kernels/klineage.yaml kernels/topk.klineage.yaml && git add kernels &&
		git klineage blame --no-steps kernels/topk.cu >../beside && git rm -r -q --cached kernels && rm -r kernels &&
		git archive $ref | tar -x && { echo "paths: repository"; cat klineage.yaml; } >judge/top.klineage.yaml && rm klineage.yaml &&
		git add . && cd judge && git klineage blame --no-steps ../topk.cu >../../above &&
		sed s/cuda-topk/cuda-gemm/ top.klineage.yaml >gemm.klineage.yaml && git add . &&
		exits 129 git klineage blame --no-steps ../topk.cu 2>../../several &&
		git klineage blame --no-steps --lineage cuda-topk ../topk.cu >../../chosen
	) &&
	test_cmp lines beside && test_cmp lines above && test_cmp lines chosen &&
	says "more than one contract lists the file '"'topk.cu'"'" several && says "with --lineage" several &&
	(cd repo && exits 128 git klineage blame ../order 2>../err) && says "is outside of the repository" err &&
	git -C repo reset -q --hard && git -C repo clean -q -f -d &&
	git -C repo for-each-ref --format="%(refname)" refs/heads/klineage/lineage/cuda-gemm | xargs -n 1 git -C repo update-ref -d
'

test_expect_success 'a bare repository: the file by its name in the lineage' '
	git clone -q --mirror repo bare.git && (cd bare.git && git klineage blame --lineage cuda-topk --no-steps topk.cu) >out && test_cmp lines out
'

test_expect_success 'cards that have a step as evidence are named with what they ask for' '
	(cd repo && git klineage blame --json k/topk.cu) >out && ! grep "\"id\":" out &&
	sed "s,cuda-gemm/ws,cuda-topk/sm_90-12b611a," "$KLINEAGE_TOP/tests/data/cards/good.yaml" >card &&
	(
		cd repo && card=$(git hash-object -w ../card) && dir=$(printf "100644 blob %s\tcp-async-ring-4fd2000.yaml\n" $card | git mktree) &&
		tree=$(printf "040000 tree %s\tcards\n" $dir | git mktree) &&
		git update-ref refs/heads/klineage/skills $(git commit-tree -m cards $tree) &&
		git klineage blame k/topk.cu >../out && git klineage blame --json k/topk.cu >../json
	) &&
	sed -n "/^K_8, /,/^K_9, /p" out >step && says "card cp-async-ring-4fd2000" step &&
	grep "sound if *every copied run is 16-byte aligned" step && grep "useful if *tiles are already staged" step &&
	test "$(grep -c "card cp-async" out)" = 1 && test "$(grep -o "\"id\":\"cp-async-ring-4fd2000\"" json | wc -l)" = 1
'

test_expect_success 'what cannot be told is said' '
	(cd repo && exits 128 git klineage blame k/klineage.yml 2>../err) && says "no '\''klineage.yml'\''" err &&
	(cd repo && exits 128 git klineage blame --lineage nothing k/topk.cu 2>../err) && says "no lineage" err &&
	(cd repo && exits 129 git klineage blame 2>../err) && says "no file given" err &&
	(cd repo && printf "a\000b\n" >k/topk.cu && exits 128 git klineage blame k/topk.cu 2>../err; git checkout -q k/topk.cu) && says "is a binary file" err &&
	git -C repo branch klineage/lineage/cuda-topk/other $ref && (cd repo && exits 129 git klineage blame k/topk.cu 2>../err) && says "with --lineage" err
'

test_done
