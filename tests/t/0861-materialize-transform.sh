#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='cards of the shipped library on kernels that they were not learned from, without a model: by transformations of loops'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

# kernel <name> <op> <dims> <point> <tensors: name:kind:shape ...> <includes>: a repository with a kernel whose body is
# read from stdin, and an oracle with the same body; the word REAL in the body is the type of an element
kernel () {
	git init -q -b main "$1" && git -C "$1" config klineage.profileMs 700 || return 1
	dims=$(echo "$3" | tr ',' '\n' | sed 's/:.*//; s/ //g') body=$(cat)
	{
		printf 'klineage: 1\nworkload: %s\ncase: {op: %s, dims: {%s}}\n' "$1" "$2" "$3"
		printf 'surface: {language: c, sources: [%s.c], entry: %s, flags: [-O2]}\nargs:\n' "$1" "$1"
		for d in $dims; do printf '  - {name: %s, kind: dim}\n' "$d"; done
		for a in $5; do
			case $a in *:out:*) fill= ;; *) fill=', fill: normal' ;; esac
			echo "$a" | sed "s/^\(.*\):\(.*\):\(.*\)$/  - {name: \1, kind: \2, dtype: f32, shape: [\3]$fill}/; s/,\([^ ]\)/, \1/"
		done
		printf 'domain: [%s]\n' "$(echo "$dims" | sed 's/$/ >= 1/' | tr '\n' ',' | sed 's/,$//; s/,/, /g')"
		printf 'cases: [{dims: {%s}, rank: hot}]\nalso: [%s]\n' "$3" "$4"
		printf 'oracle: {language: c, sources: [oracle.c], entry: oracle}\naccept: {rule: noise}\nfloor: {bytes: none}\n'
	} >"$1/klineage.yaml"
	for f in "$1" oracle; do
		type=float
		test "$f" = "$1" || type=kl_real
		{
			printf '#include <stdint.h>\n%s' "$6"
			test "$f" = "$1" || printf '#include "kl_oracle.h"\n'
			printf '\nvoid %s(' "$f"
			for d in $dims; do printf 'int64_t %s, ' "$d"; done
			sep=''
			for a in $5; do
				const='const '
				case $a in *:in:*) ;; *) const= ;; esac
				printf '%s%s%s *%s' "$sep" "$const" $type "${a%%:*}" && sep=', '
			done
			printf ')\n{\n%s\n}\n' "$body" | sed "s/REAL/$type/g"
		} >"$1/$f.c"
	done
	(cd "$1" && commit "$1: a plain kernel")
}

# materialize <name> <option>...: with all cards of the library
materialize () { w=$1 && shift && (cd "$w" && git klineage materialize --library ../lib --status hypothesis,admitted "$@" "$w" >out; rc=$?; cat out; return $rc); }
# fast_one <name>: a run whose first judged edit is a new best; noise can hide that, and then another run measures it again
fast_one () { run=$((run + 1)) && materialize "$1" --one --name "r$run"; }
run=0

test_expect_success 'the library, and plain kernels of nobody in particular' '
	git init -q lib && (cd lib && git commit -q --allow-empty -m start && git klineage skills import --shipped >/dev/null) &&
	kernel sgemv gemv "m: 256, n: 1024" "{m: 1, n: 1}, {m: 7, n: 33}, {m: 3, n: 1021}" "A:in:m,n x:in:n y:out:m" <<-\E &&
		for (int64_t i = 0; i < m; i++) {
			REAL s = 0;

			for (int64_t j = 0; j < n; j++)
				s += A[i * n + j] * x[j];
			y[i] = s;
		}
	E
	kernel matmul gemm "M: 96, N: 128, K: 128" "{M: 1, N: 1, K: 1}, {M: 7, N: 33, K: 5}, {M: 9, N: 17, K: 65}" "A:in:M,K B:in:K,N C:out:M,N" <<-\E &&
		for (int i = 0; i < M; ++i)
			for (int j = 0; j < N; ++j) {
				REAL sum = 0;
				for (int k = 0; k < K; ++k)
					sum += A[i*K+k]*B[k*N+j];
				C[i*N+j] = sum;
			}
	E
	kernel saxpy scale "n: 16384" "{n: 1}, {n: 7}, {n: 1021}" "x:in:n y:inout:n" <<-\E &&
		for (int64_t i = 0; i < n; i++)
			y[i] += 3 * x[i];
	E
	kernel norm rmsnorm "n: 8192" "{n: 1}, {n: 7}, {n: 1021}" "x:in:n w:in:n y:out:n" "#include <math.h>" <<-\E &&
		REAL ss = 0;

		for (int64_t j = 0; j < n; j++)
			ss += x[j] * x[j];
		ss = 1 / sqrtf(ss / n + 1);
		for (int64_t j = 0; j < n; j++)
			y[j] = w[j] * (ss * x[j]);
	E
	(cd sgemv && git klineage gate --quick >/dev/null) && (cd matmul && git klineage gate --quick >/dev/null) &&
	(cd saxpy && git klineage gate --quick >/dev/null) && (cd norm && git klineage gate --quick >/dev/null)
'

test_expect_success 'a dry run says which transformation it would be, and writes nothing' '
	(cd matmul && git for-each-ref >before && git klineage materialize --library ../lib --status hypothesis,admitted --dry-run matmul >out && cat out &&
	grep "^loop-interchange-.*: applies, by interchange$" out && grep "^unroll-jam-.*: applies, by unroll-jam factor=4$" out &&
	grep "^restrict-.*: applies, by restrict$" out && git for-each-ref >after && test_cmp before after)
'

test_expect_success 'a plain sgemv becomes faster, in one gated commit that names card and transformation' '
	again fast_one sgemv && grep ": best, by [a-z-]*.* fast$" sgemv/out &&
	(cd sgemv && b=klineage/materialize/sgemv/r$run && test "$(git rev-parse $b^)" = "$(git rev-parse main)" &&
	test "$(git diff --name-only main $b)" = sgemv.c && git log -1 --format=%B $b >message && says "Klineage-Skill: " message &&
	grep "^By card .*, by [a-z-]*.*\.$" message && git notes --ref klineage/gate show $b | grep "\"verdict\":\"pass\"" &&
	git fsck --strict --no-dangling && git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'a plain matrix product becomes faster; the values of a parameter are tried in order' '
	mkdir -p jam/cards && cp "$KLINEAGE_TOP"/skills/cards/unroll-jam-*.yaml jam/cards && cp -r "$KLINEAGE_TOP/skills/evidence" jam &&
	git init -q one && (cd one && git commit -q --allow-empty -m start && git klineage skills import ../jam) &&
	(cd matmul && again git klineage materialize --library ../one --status hypothesis --name jam matmul >out && cat out &&
	grep "^unroll-jam-.*: best, by unroll-jam factor=[482], .* fast$" out && grep "^unroll-jam-.*, by unroll-jam factor=8, " out &&
	test "$(git diff --name-only main klineage/materialize/matmul/jam)" = matmul.c)
'

test_expect_success 'what is done is not offered again' '
	(cd matmul && git checkout -q --detach klineage/materialize/matmul/jam && exits 1 git klineage materialize --library ../one --status hypothesis --dry-run matmul >out; cat out &&
	! says ": applies" out && git checkout -q main)
'

test_expect_success 'saxpy and a norm: what applies is correct' '
	for w in saxpy norm; do
		materialize $w --dry-run && grep ": applies, by vector-loop vectors=4$" $w/out || return 1
		materialize $w --one --name one; rc=$?
		test $rc -le 1 && grep -E ": (best|node), by " $w/out && ! grep ": fail" $w/out || return 1
	done
'

checksum () {	# checksum <file> <function>
	cat >"$1" <<-X
	#include <stdint.h>

	void $2(int64_t n, const uint32_t *x, uint32_t *h)
	{
		uint32_t a = 2166136261u;

		for (int64_t i = 0; i < n; i++) {
			a ^= x[i];
			a *= 16777619u;
		}
		h[0] = a;
	}
	X
}

test_expect_success 'for a checksum nothing fits, and retrieve and materialize say so' '
	git init -q -b main sum && (cd sum && checksum sum.c sum && checksum oracle.c oracle && cat >klineage.yaml <<-\E &&
	klineage: 1
	workload: sum
	case: {op: checksum, dims: {n: 4096}}
	surface: {language: c, sources: [sum.c], entry: sum, flags: [-O2]}
	args:
	  - {name: n, kind: dim}
	  - {name: x, kind: in, dtype: u32, shape: [n], fill: {ints: [0, 1000000]}}
	  - {name: h, kind: out, dtype: u32, shape: [1]}
	domain: [n >= 1]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: exact}
	E
	commit "sum: a checksum" && git klineage skills import --shipped >/dev/null &&
	exits 1 git klineage retrieve --status hypothesis,admitted >out 2>err && says "none of 56 cards fits" err &&
	exits 1 git klineage retrieve --status hypothesis,admitted --explain >out && says "not offered: nothing in common: the card'"'"'s operators are unrelated" out &&
	exits 1 git klineage materialize --status hypothesis,admitted --dry-run >out && cat out && says "0 cards fit" out &&
	git config klineage.profileMs 500 && exits 1 git klineage materialize --status hypothesis,admitted >out; cat out && grep "^nothing is faster than the root, [0-9a-f]*: no card fits it$" out)
'

# cuda_card <id> <transformation>: a card for CUDA that has only this transformation
cuda_card () {
	cat <<-X
	schema: 1
	id: $1
	status: hypothesis
	intent: $1 does
	anchor:
	  construct: a loop
	carriers:
	  - language: cuda
	    form: transform
	    of: null
	    text: |
	      $2
	pre:
	  sound: []
	  useful: []
	effect:
	  kind: win
	  provides: ["trait:$1"]
	  rows:
	    - case: gemv
	      dims: {K: 512, M: 1024}
	      dtype: f32
	      language: cuda
	      platform: cuda/sm_90
	      ratio: 1.5
	      by: unverified
	      event: $(printf '%064d' 0 | tr 0 b)
	evidence:
	  - lineage: w/n
	    step: 1
	    before: $(printf '%040d' 1)
	    after: $(printf '%040d' 2)
	    rederived: null
	    derivation: inverse
	    origin: induced
	    language: cuda
	    platform: cuda/sm_90
	    event: $(printf '%064d' 0 | tr 0 b)
	risk: []
	scope:
	  cases: [gemv]
	  languages: [cuda]
	  platforms:
	    needs: []
	  prior:
	    requires: []
	    provides: ["trait:$1"]
	    conflicts: []
	ver: []
	X
}

cuda_repo () {	# a plain kernel in CUDA; one of its buffers can be written
	git init -q -b main cuda && cd cuda && cat >klineage.yaml <<-\E && cat >rows.cu <<-\E && cat >launch.yaml <<-\E || return 1
	klineage: 1
	workload: rows
	case: {op: gemv, dims: {M: 1024, K: 512}}
	surface: {language: cuda, sources: [rows.cu, launch.yaml]}
	args:
	  - {name: A, kind: in, dtype: f32, shape: [M, K], fill: normal}
	  - {name: x, kind: in, dtype: f32, shape: [K], fill: normal}
	  - {name: y, kind: out, dtype: f32, shape: [M]}
	domain: [M >= 128, M % 128 == 0, K >= 1]
	oracle: {language: cuda, sources: [oracle.cu, oracle.yaml]}
	accept: {rule: noise}
	E
	extern "C" __global__ void rows(const float *A, const float *x, float *y, int K)
	{
		int row = blockIdx.x * blockDim.x + threadIdx.x;
		float s = 0;

		for (int k = 0; k < K; k++)
			s += A[row * K + k] * x[k];
		for (int i = 0; i < 1; i++)
			y[row + i] = s;
	}
	E
	klineage-launch: 1
	compile: {arch: sm_90, std: c++17}
	launch:
	  - {kernel: rows, grid: [M / 128], block: [128], args: [A, x, y, {i32: K}]}
	E
	sed s/rows/oracle/ rows.cu >oracle.cu && sed "s/kernel: rows/kernel: oracle/" launch.yaml >oracle.yaml && commit "rows: a plain kernel"
}
cuda_dry () { (cd cuda && git klineage materialize --platform cuda/sm_90 --status hypothesis --dry-run rows >out; rc=$?; cat out; return $rc); }

test_expect_success 'device code: what the launch plan says of buffers and blocks is used' '
	(cuda_repo) && mkdir -p cuda-cards/cards && for c in "restrict" "unroll factor=4" "pragma-unroll factor=8" "launch-bounds" "hoist"; do
		cuda_card "${c%% *}-1" "$c" >cuda-cards/cards/${c%% *}-1.yaml || return 1
	done &&
	(cd cuda-cards && git init -q . && git add cards) &&
	(cd cuda && git fetch -q ../cuda-cards "$(cd ../cuda-cards && git commit -q -m cards && git symbolic-ref HEAD)" && git update-ref refs/heads/klineage/skills FETCH_HEAD) &&
	cuda_dry && for c in "restrict" "unroll factor=4" "pragma-unroll factor=8" "launch-bounds"; do
		grep "^${c%% *}-1 .*: applies, by $c$" cuda/out || return 1
	done &&
	grep "^hoist-1 .*: left: there is no innermost loop with an element" cuda/out &&
	(cd cuda && sed -i "s/args: .A, x, y/args: [A, A, y/; s/grid:/block: [64], grid:/; s/ block: .128.,//" launch.yaml && commit "rows: a buffer twice") &&
	cuda_dry && ! grep "^restrict-1 .*: applies" cuda/out && grep "^launch-bounds-1 .*: applies" cuda/out
'

test_expect_success 'a card with a transformation that the program does not have is refused by name' '
	mkdir -p bad/cards && sed "s/unroll-jam factor=4,8,2/rm factor=4/; s/unroll-jam-00abecd/bad-1/" "$KLINEAGE_TOP"/skills/cards/unroll-jam-*.yaml >bad/cards/bad-1.yaml &&
	(cd lib && exits 1 git klineage skills lint ../bad >out; cat out && says "is not a transformation for c: use one of restrict, unroll" out)
'

test_done
