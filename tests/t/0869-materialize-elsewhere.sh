#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='materialize over a gate that is elsewhere: it waits with many edits in one bundle, and goes on to the same end'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

answering "$PWD/answers"
data=$PWD/two
mkdir -p "$data/cards" && cp "$KLINEAGE_TOP"/skills/cards/unroll-jam-*.yaml "$KLINEAGE_TOP"/skills/cards/loop-interchange-*.yaml "$data/cards" &&
	cp -R "$KLINEAGE_TOP/skills/evidence" "$data"
# target <repository>: a plain matrix product, which transformations of cards make faster
target () {
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 300 && mkdir src && cat >src/klineage.yaml <<-\X &&
	klineage: 1
	workload: matmul
	case: {op: gemm, dims: {M: 48, N: 64, K: 64}}
	surface: {language: c, sources: [matmul.c], entry: matmul, flags: [-O2]}
	args:
	  - {name: M, kind: dim}
	  - {name: N, kind: dim}
	  - {name: K, kind: dim}
	  - {name: A, kind: in, dtype: f32, shape: [M, K], fill: normal}
	  - {name: B, kind: in, dtype: f32, shape: [K, N], fill: normal}
	  - {name: C, kind: out, dtype: f32, shape: [M, N]}
	domain: [M >= 1, N >= 1, K >= 1]
	also: [{M: 1, N: 1, K: 1}, {M: 7, N: 33, K: 5}]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: noise}
	floor: {bytes: none}
	X
	product oracle kl_real "#include \"kl_oracle.h\"" >src/oracle.c && product matmul float "" >src/matmul.c &&
	commit "matmul: a kernel" && git klineage skills import "$data" >out
}
product () {
	cat <<-X
	#include <stdint.h>
	$3

	void $1(int64_t M, int64_t N, int64_t K, const $2 *A, const $2 *B, $2 *C)
	{
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++) {
				$2 sum = 0;

				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				C[i * N + j] = sum;
			}
	}
	X
}
jobs () { tar xOf "$1" manifest.json | perl -MJSON::PP -ne 'print scalar @{decode_json($_)->{jobs}}, "\n"'; }
# journey <n>: carry the bundle that `err` names to a worker, and import the results
journey () {
	bundle=$(sed -n "s/.*written to '\(.*\)'$/\1/p" err) && test -n "$bundle" && jobs "$bundle" >count &&
	klineage-worker --bundle "$bundle" -o "results.$1" 2>/dev/null && git klineage gate --import "results.$1" >imported
}

test_expect_success 'by tools: the root, then all edits of it in one bundle, then what fits the best; nothing is committed before' '
	(target t && head=$(git rev-parse HEAD) && git config klineage.runner bundle && run () { git klineage materialize --status hypothesis -q "$@" >out 2>err; } &&
	exits 125 run --name x matmul && cat out err && says "1 verdict is to come from elsewhere" out && says "then: git klineage materialize --continue --name x matmul" err &&
	test -z "$(git for-each-ref refs/heads/klineage/materialize refs/notes)" && test "$(git rev-list refs/klineage/nodes/matmul/x | wc -l)" = 2 && git klineage fsck >fsck && says ": 0 errors" fsck &&
	journey 0 && test "$(cat count)" = 1 && exits 125 run --continue && cat out && grep -c ": waits" out >waits && test "$(cat waits)" -ge 2 &&
	test "$(git rev-parse refs/klineage/nodes/matmul/x^1)" = $head && git notes --ref klineage/gate show $head | grep "\"verdict\":\"pass\"" && test -z "$(git for-each-ref refs/heads/klineage/materialize)" &&
	git klineage fsck >fsck && says ": 0 errors" fsck && journey 1 && test "$(cat count)" = "$(cat waits)" &&
	n=2 && until run --continue && rc=0 || rc=$? && test $rc != 125; do n=$((n + 1)) && test $n -lt 9 && journey $n || exit 1; done && cat out && test $rc = 0 && says ": best" out && ! grep ": waits" out &&
	git show klineage/materialize/matmul/x:src/matmul.c >got.c && test "$(git rev-parse klineage/materialize/matmul/x~1)" != "" && test "$(git rev-parse HEAD)" = $head &&
	git notes --ref klineage/gate show klineage/materialize/matmul/x | grep "\"verdict\":\"fast\",\"what\":\"parent\"" && git klineage fsck >fsck && says ": 0 errors, 0 warnings" fsck && git fsck --strict --no-dangling)
'

test_expect_success 'a part of the results, and none: it waits on for what is missing' '
	(target p && git config klineage.runner bundle && run () { git klineage materialize --status hypothesis -q "$@" >out 2>err; } &&
	exits 125 run --name x matmul && exits 125 run --continue && says "1 verdict is to come" out && journey 0 && exits 125 run --continue && bundle=$(sed -n "s/.*written to .\(.*\).$/\1/p" err) && before=$(jobs "$bundle") &&
	test "$before" -ge 2 && klineage-worker --bundle "$bundle" -o whole 2>/dev/null && head -n 2 whole >half && exits 128 git klineage gate --import half 2>err && says "cut off" err &&
	exits 125 run --continue && bundle=$(sed -n "s/.*written to .\(.*\).$/\1/p" err) && test "$(jobs "$bundle")" -le "$before" && git klineage fsck >fsck && says ": 0 errors" fsck)
'

test_expect_success 'with a model: each reply waits for its verdict, and is bought once' '
	eight right shift "$shift" "$tail" && eight wrong shift "$shift" "" && answer materialize.0 shift.c wrong && answer materialize.1 shift.c right && echo "<nothing-left>enough</nothing-left>" >answers/materialize.2 &&
	(walking m && git klineage skills import "$data" >out && git config klineage.runner bundle && run () { git klineage materialize -q "$@" >out 2>err; } &&
	exits 125 run --name x --rewriter exec --exec "$model" shift && test ! -s ../answers/log && journey 0 &&
	exits 125 run --continue && cat out && says "waits, by exec, materialize.0" out && says "the gate has no verdict yet" out && journey 1 && test "$(cat count)" = 1 &&
	exits 125 run --continue && says "fail, by exec, materialize.0, a free step: wrong-edge" out && says "waits, by exec, materialize.1" out && says "class: wrong-edge" ../answers/materialize.1.asked && journey 2 &&
	{ run --continue; cat out; } && grep "materialize.1, a free step, .* \(fast\|ambiguous\)" out && says "nothing left: enough" out && git klineage fsck >fsck && says ": 0 errors" fsck) &&
	asked >have && printf "%s\n" materialize.0 materialize.1 materialize.2 >want && test_cmp want have
'

test_expect_success 'a roundtrip: all trials advance, then one bundle' '
	(library lib && the_card >../id && git config klineage.runner bundle && run () { git klineage materialize --roundtrip poly/x --trials 2 --status hypothesis -q "$@" >out 2>err; } &&
	run; rc=$?; n=0; while test $rc = 125; do cat err && n=$((n + 1)) && test $n -lt 9 && says "then: git klineage materialize --roundtrip poly/x --name rt-x --continue" err && journey $n || exit 1; run --continue; rc=$?; done; cat out err
	test $n -ge 1 && says "of 2 trials recovered" out && git klineage fsck >fsck && says ": 0 errors" fsck)
'

test_done
