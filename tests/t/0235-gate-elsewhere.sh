#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: contracts elsewhere than beside the kernel, several in a directory'
. ./lib.sh

# contract <workload> <entry> <file>: a contract whose paths begin at the top of the repository
contract () {
	cat <<-YAML
	klineage: 1
	workload: $1
	paths: repository
	case: {op: $2, dims: {n: 1000}}
	surface: {language: c, sources: [src/$3, include/scale.h], entry: $2, flags: [-O3], include: [include]}
	args:
	  - {name: n, kind: dim, dtype: i32}
	  - {name: x, kind: in, dtype: f32, shape: [n]}
	  - {name: y, kind: out, dtype: f32, shape: [n]}
	domain: [n >= 1]
	also: [{n: 61}]
	oracle: {language: c, sources: [judge/$1.oracle.c], entry: oracle}
	accept: {rule: noise}
	YAML
}

# kernel <entry> <operator>: a kernel that scales
kernel () {
	printf '#include <scale.h>\nvoid %s(int n, const float *x, float *y)\n{\n\tfor (int i = 0; i < n; i++)\n\t\ty[i] = x[i] %s SCALE;\n}\n' "$1" "$2"
}

# oracle <operator>
oracle () {
	printf '#include "kl_oracle.h"\nvoid oracle(int n, const kl_real *x, kl_real *y)\n{\n\tfor (int i = 0; i < n; i++)\n\t\ty[i] = x[i] %s 3;\n}\n' "$1"
}

test_expect_success 'two contracts in a directory of their own' '
	git init -q repo && mkdir repo/src repo/include repo/judge &&
	echo "#define SCALE 3" >repo/include/scale.h &&
	kernel up "*" >repo/src/up.c && kernel down "/" >repo/src/down.c &&
	contract up up up.c >repo/judge/up.klineage.yaml && oracle "*" >repo/judge/up.oracle.c &&
	contract down down down.c >repo/judge/down.klineage.yaml && oracle "/" >repo/judge/down.oracle.c &&
	git -C repo add . && git -C repo commit -q -m "two kernels"
'

test_expect_success 'each is judged by its workload, from any directory' '
	(cd repo && exits 0 git klineage gate --no-profile --workload up >../out) && says "up: pass" out &&
	(cd repo/src && exits 0 git klineage gate --no-profile --workload down --worktree >../../out) &&
	says "down: pass" out
'

test_expect_success 'without a workload several are refused by name, in commit and worktree' '
	(cd repo && exits 129 git klineage gate --no-profile 2>../err) && says "workloads: down up" err &&
	(cd repo/judge && exits 129 git klineage gate --no-profile --worktree 2>../../err) &&
	says "contracts: judge/down.klineage.yaml judge/up.klineage.yaml" err
'

test_expect_success 'a contract with an error is named when its workload is asked for' '
	sed "s/kind: out/kind: in/" repo/judge/up.klineage.yaml >up.yaml && cp up.yaml repo/judge/up.klineage.yaml &&
	git -C repo add . && (cd repo && exits 125 git klineage gate --no-profile --worktree --workload up 2>../err) &&
	says "no contract has the workload" err && says "a contract has an error: judge/up.klineage.yaml:" err &&
	says "no argument is an output" err && git -C repo reset -q --hard
'

test_expect_success 'the staged check judges the contracts whose sources changed' '
	printf "#define SCALE 2\n" >repo/include/scale.h && git -C repo add . &&
	(cd repo && exits 1 git klineage gate --no-profile --staged --workload up >../out) && says "up: fail" out &&
	git -C repo reset -q --hard
'

test_expect_success 'a review names the kernels of a changed header' '
	git -C repo checkout -q -b wider && printf "#define SCALE (1 + 2)\n" >repo/include/scale.h &&
	git -C repo commit -q -am "scale: as a sum" &&
	(cd repo && git klineage review main..wider >../out; cat ../out) && says "up" out && says "down" out &&
	git -C repo checkout -q main
'

test_expect_success 'a contract called klineage.yaml can name sources of other directories too' '
	git -C repo checkout -q -b plain && git -C repo mv judge/up.klineage.yaml judge/klineage.yaml &&
	git -C repo commit -q -m "up: call the contract klineage.yaml" &&
	(cd repo && exits 0 git klineage gate --no-profile --workload up) && git -C repo checkout -q -b slower &&
	kernel up "+" >repo/src/up.c && git -C repo commit -q -am "up: add" &&
	(cd repo && git klineage review plain..slower >../out; cat ../out) && says "up" out && ! grep "down" out &&
	git -C repo checkout -q main
'

test_expect_success 'a review says what changed in the build' '
	git -C repo checkout -q -b trapped && sed -i "s/include: \[include\]/include: [include, src], traps: [abort]/" \
		repo/judge/up.klineage.yaml && git -C repo commit -q -am "up: trap abort" &&
	(cd repo && git klineage review main..trapped >../out; cat ../out) && says "traps of the surface now has" out && says "include of the surface now has" out &&
	git -C repo checkout -q main
'

test_expect_success 'a verdict holds wherever the contract lies' '
	git -C repo mv judge/up.klineage.yaml up.klineage.yaml && git -C repo commit -q -m move &&
	(cd repo && exits 0 git klineage gate --no-profile --workload up >../out) && says "judged before" out
'

test_expect_success 'a walk leaves a lineage with the files that the contract names' '
	git -C repo checkout -q -b fast && kernel up "*" | sed "s/const float \*x, float \*y/const float *restrict x, float *restrict y/" \
		>repo/src/up.c && git -C repo commit -q -am "up: restrict" &&
	(cd repo && exits 0 git klineage deopt up --keep-all --rewriter history,passes >../out) &&
	lineage=$(git -C repo for-each-ref --format="%(refname)" refs/heads/klineage/lineage) &&
	git -C repo ls-tree -r --name-only "$lineage" >files &&
	printf "include/scale.h\njudge/up.oracle.c\nklineage.yaml\nsrc/up.c\n" >expected &&
	test_cmp expected files &&
	test "$(git -C repo rev-list --count --first-parent "$lineage")" = 2 &&
	(cd repo && exits 0 git klineage fsck >../out && exits 0 git klineage log up >../out) && says "restrict" out
'

test_done
