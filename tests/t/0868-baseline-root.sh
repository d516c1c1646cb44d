#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='materialize --root baseline: the oracle as a kernel, where there is none or none that is right'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

data=$KLINEAGE_TOP/tests/data/learned
answering "$PWD/answers"
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
test -n "$nvcc" && test_set_prereq NVCC
grep -q avx2 /proc/cpuinfo && test_set_prereq AVX2

# promised <repository> <workload of the templates>: its contract and oracle, and no kernel
promised () {
	git init -q "$1" && cd "$1" && mkdir -p src/op && for f in "$KLINEAGE_TOP"/templates/workloads/"$2"/*; do
		case $f in */klineage.yaml|*/oracle.*) cp "$f" src/op/ ;; esac
	done && commit "$2: what it is to do" && git config klineage.profileMs 1200 && git klineage skills import "$data"
}
# root_of <file of JSON>
root_of () { perl -MJSON::PP -ne 'print decode_json($_)->{root}' "$1"; }
# diff_only <card>: take the transformation from a card, so that only a model can apply it to other kernels
diff_only () {
	git show "klineage/skills:cards/$1.yaml" | perl -0pe 's/  - language: c\n    form: transform\n.*?(?=^\S)//ms' >card &&
	! grep "form: transform" card && put_card "$1" card && rm card
}
baseline () { git klineage materialize --root baseline --status hypothesis "$@"; }

test_expect_success 'a dry run says where it would begin: text without words of ours, the entry for the own one, nothing moved' '
	(promised topk c-topk && { baseline -n --json >out || :; } && root=$(root_of out) && test "$(git rev-parse $root^)" = "$(git rev-parse HEAD)" &&
	test "$(git diff --name-only HEAD $root)" = src/op/topk.c && git show $root:src/op/topk.c >../topk.c &&
	grep "^void topk(int64_t rows" ../topk.c && says "const float *row" ../topk.c && ! grep -w "kl_[a-z]*\|oracle(" ../topk.c &&
	git log -1 --format="%(trailers:key=Klineage-Root,valueonly)" $root | grep -x baseline &&
	test "$(git for-each-ref --format="%(refname)" | grep -v skills)" = refs/heads/main && test -z "$(git status --porcelain -uno)" &&
	{ baseline -n --json >again || :; } && test "$(root_of again)" = $root)
'

test_expect_success 'it is right by the real gate, and what is made of it stands on it' '
	(cd topk && exits 1 baseline --name b >out && cat out && says "nothing is faster than the root" out &&
	chain=refs/klineage/nodes/topk/b && git log --format=%B $chain | grep "Klineage-Outcome: root" && root=$(git rev-parse $chain^) && git notes --ref klineage/gate show $root >note &&
	grep "\"verdict\":\"pass\"" note && test "$(git show $root:src/op/topk.c | cmp - ../topk.c)" = "" &&
	test -z "$(git for-each-ref refs/heads/klineage/materialize)" && git klineage fsck >out && says ": 0 errors" out &&
	exits 1 git klineage materialize --continue >out && says "nothing is faster than the root" out && test "$(git rev-parse $chain^)" = $root)
'

test_expect_success AVX2 'no kernel at all: a model makes one of it, as commits, as a patch, and on the branch if it is asked to' '
	(library lib && the_card >../id && diff_only "$(cat ../id)") && id=$(cat id) && eight right shift "$shift" "$tail" && answer materialize.0 shift.c right $id &&
	echo "<nothing-left>done</nothing-left>" >"$ANSWERS/materialize.1" && (shifting none && run () { again git klineage materialize --library ../lib --status hypothesis --root baseline --rewriter exec --exec "$model" "$@" shift; } &&
	exits 128 git klineage materialize --library ../lib shift 2>err && says "src/shift.c" err && says "--root baseline" err && run --name a >out && cat out && says "best, by exec" out && at=klineage/materialize/shift/a &&
	test "$(git rev-parse $at~2)" = "$(git rev-parse HEAD)" && git show $at:src/shift.c | cmp - ../right && git show $at~1:src/shift.c >root.c &&
	says "void shift(int64_t n, const float *x, float *y)" root.c && says "$(cat root.c | sed -n "/for/p")" "$ANSWERS/materialize.0.asked" &&
	git notes --ref klineage/gate show $at~1 | grep "\"verdict\":\"pass\"" && git notes --ref klineage/gate show $at | grep "\"verdict\":\"fast\",\"what\":\"parent\"" &&
	exits 1 git klineage materialize --library ../lib --status hypothesis --root best >out && says "nothing is faster than the root, $(git rev-parse --short=10 $at)" out &&
	run --name b --patch >../b.patch 2>err && git apply --check ../b.patch && git apply --index ../b.patch &&
	test "$(git write-tree)" = "$(git rev-parse "$at^{tree}")" && git reset -q --hard &&
	run --name c --apply >out && test "$(git rev-parse HEAD~2)" = "$(git rev-parse $at~2)" && cmp src/shift.c ../right && test -z "$(git status --porcelain -uno)" &&
	git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success AVX2 'a kernel that fails: its root is refused, this one is not; what was done to the former does not count' '
	eight wrong shift "$shift" "" &&
	(shifting bad ../wrong && git commit -q --amend -m "shift: a card, by hand" -m "Klineage-Skill: $(cat ../id)@$(git hash-object NOTES)" &&
	run () { git klineage materialize --library ../lib --status hypothesis "$@" shift; } &&
	exits 1 run 2>err && says "the root fails the gate, wrong-edge" err && says "--root baseline" err && exits 1 run -n >out && says "0 cards fit" out &&
	run -n --root baseline >out && says "1 card fit" out && again run --root baseline --rewriter exec --exec "$model" >out && says "best, by exec" out)
'

test_expect_success 'what the oracle includes is written out; comments and strings stay as they are' '
	(promised parts c-topk && cd src/op && sed -i "s/sources: \[oracle.c\]/sources: [oracle.c, sub\/order.h, sub\/deep.inc]/; s/sources: \[topk.c\]/sources: [topk.h, topk.c, other.c]/" klineage.yaml &&
	mkdir sub && printf "#ifndef ORDER\n#define ORDER 1\n#include \"deep.inc\"\n#define REAL kl_real /* not kl_real */\n#endif\n" >sub/order.h &&
	printf "#define ROOT(x) \\\\\n\tkl_sqrt(kl_fabs(x))\n" >sub/deep.inc &&
	{ printf "#include \"sub/order.h\"\n# include \"kl_oracle.h\"\nconst char name[] = \"kl_real oracle\";\n" && cat oracle.c; } >o && mv o oracle.c && commit parts &&
	{ baseline -n --json >out || :; } && root=$(root_of out) && git show $root:src/op/topk.c >../../../parts.c && cd ../.. && cat ../parts.c &&
	says "#define REAL float /* not kl_real */" ../parts.c && says "	sqrtf(fabsf(x))" ../parts.c && says "\"kl_real oracle\"" ../parts.c &&
	! grep "include \"" ../parts.c && git show $root:src/op/topk.h | grep "oracle is in one file" && git show $root:src/op/other.c | grep "oracle is in one file" &&
	gcc -std=gnu11 -Wall -Werror -c -o ../parts.o ../parts.c)
'

# refused <repository> <words>: nothing is begun
refused () { exits "${3:-128}" baseline -n 2>err && says "$2" err && test -z "$(git for-each-ref refs/klineage)"; }

test_expect_success 'where it is no kernel the reason is said' '
	(promised half cuda-fmha && refused half "cannot be a kernel: '"'q' is f16"'") &&
	(promised mixed c-topk && sed -i "s/name: values, kind: out, dtype: f32/name: values, kind: out, dtype: f64/; s/^accept.*/accept: [{rule: elementwise, out: values, ulps: 1, acc: 1}, {rule: exact, out: indices}]/" src/op/klineage.yaml &&
	git commit -q -a -m x && refused mixed "the oracle uses one float type for all") &&
	(promised todo c-topk && echo "/* KL_ORACLE_TODO */" >>src/op/oracle.c && git commit -q -a -m x && refused todo "is not written yet" 125) &&
	(promised two c-topk && sed -i "s/sources: \[oracle.c\]/sources: [oracle.c, b.c]/" src/op/klineage.yaml && echo "int b;" >src/op/b.c && commit x && refused two "several files") &&
	(promised word c-topk && sed -i "s/return a > b/return KL_BY_TYPE(fabs)(a) > b/" src/op/oracle.c && git commit -q -a -m x && refused word "KL_BY_TYPE") &&
	(promised self c-topk && echo "#include \"oracle.c\"" >>src/op/oracle.c && git commit -q -a -m x && refused self "nested too deeply") &&
	(promised host cuda-gdn-cumsum && sed -i "s/^surface:.*/surface: {language: cuda, host: true, arch: sm_90a, sources: [k.cu]}/" src/op/klineage.yaml && git commit -q -a -m x &&
	refused host "host: true") &&
	(promised arch cuda-gdn-cumsum && sed -i "/^compile:/d" src/op/oracle.yaml && git commit -q -a -m x && refused arch "arch")
'

test_expect_success NVCC 'in cuda with its plan: both compile, and pass the audit' '
	for t in cuda-gdn-cumsum cuda-topk; do
		(promised $t $t && { baseline -n --json >out || :; } && root=$(root_of out) && git show $root:src/op/launch.yaml | cmp - src/op/oracle.yaml &&
		cu=$(git ls-tree --name-only $root src/op/ | grep "\.cu$" | grep -v oracle) && git show $root:$cu >k.cu && ! grep -w "kl_[a-z]*\|KL_ORACLE" k.cu &&
		exits 125 git klineage gate --runner bundle --json $root >event 2>err && says "the job was written to" err && tar -tf .git/klineage/bundles/*.tar | grep jobs/) || return 1
	done
'

test_done
