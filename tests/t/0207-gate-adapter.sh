#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: kernels that an adapter of the contract calls'
. ./lib.sh

# judged <code> [<option>...]: judge the worktree, without the profile unless an option says otherwise
judged () {
	code=$1
	shift
	exits "$code" git klineage gate --worktree "${@:---no-profile}" >../out 2>../err || { cat ../out ../err >&2; return 1; }
}

# tells <regular expression> <file>
tells () {
	grep -E -e "$1" "$2" >/dev/null && return 0
	echo "no line of $2 matches $1:" >&2
	cat "$2" >&2
	return 1
}

# refused <code> <words>: the kernel or its contract is refused with these words, by the quick stages
refused () {
	judged "$1" --quick && cat ../out ../err >../all && tells "$2" ../all
}

# edited <file> <sed script>: edit a file in place
edited () { sed "$2" "$1" >new && mv new "$1"; }

test_expect_success 'a struct by value, rows of pointers, and a function of the header' '
	git init -q rows && cd rows &&
	cat >rows.h <<-\EOF &&
	enum order { PLAIN, REVERSED };
	struct view { const float *data; long n; };
	static inline float weight(struct view view, long j, enum order order)
	{
		return view.data[order == REVERSED ? view.n - 1 - j : j];
	}
	void scale_rows(float **out, const float *const *rows, long m, struct view weights, enum order order, _Bool twice);
	EOF
	cat >rows.c <<-\EOF &&
	#include "rows.h"
	void scale_rows(float **out, const float *const *rows, long m, struct view weights, enum order order, _Bool twice)
	{
		for (long i = 0; i < m; i++)
			for (long j = 0; j < weights.n; j++)
				out[i][j] = rows[i][j] * weight(weights, j, order) * (twice ? 2 : 1);
	}
	EOF
	cat >adapter.c <<-\EOF &&
	#include <stdint.h>
	#define ARGS void *workspace, int64_t M, int64_t N, int32_t order, uint8_t twice, const float *A, const float *w, float *C
	struct work { float *out[64]; const float *rows[64]; };
	#if KL_TIMED
	#include "rows.h"
	void adapter_call(ARGS)
	{
		struct work *work = workspace;
		struct view weights = { w, N };
		scale_rows(work->out, work->rows, M, weights, (enum order)order, twice);
	}
	#else
	void adapter_pack(ARGS)
	{
		struct work *work = workspace;
		for (int64_t i = 0; i < M; i++) {
			work->rows[i] = A + i * N;
			work->out[i] = C + i * N;
		}
	}
	#endif
	EOF
	cat >oracle.c <<-\EOF &&
	#include "kl_oracle.h"
	void oracle(int64_t M, int64_t N, int32_t order, uint8_t twice, const kl_real *A, const kl_real *w, kl_real *C)
	{
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++)
				C[i * N + j] = A[i * N + j] * w[order ? N - 1 - j : j] * (twice ? 2 : 1);
	}
	EOF
	cat >klineage.yaml <<-\EOF &&
	klineage: 1
	workload: rows
	case: {op: rows, dims: {M: 24, N: 500}}
	domain: [M >= 1 && M <= 64, N >= 1]
	also: [{M: 1, N: 1}, {M: 7, N: 33}]
	surface: {language: c, sources: [rows.c, rows.h], entry: scale_rows, flags: [-O3]}
	args:
	  - {name: M, kind: dim}
	  - {name: N, kind: dim}
	  - {name: order, kind: scalar, dtype: i32, value: 1}
	  - {name: twice, kind: scalar, dtype: bool, value: 1}
	  - {name: A, kind: in, dtype: f32, shape: [M, N]}
	  - {name: w, kind: in, dtype: f32, shape: [N]}
	  - {name: C, kind: out, dtype: f32, shape: [M, N]}
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	adapter: adapter.c
	accept: {rule: exact}
	EOF
	git add . && git commit -q -m rows && judged 0 --json && tells "\"verdict\":\"pass\"" ../out && tells "loop.depth" ../out &&
	tells "\"profile\":[{]\"aa_ppm\"" ../out && cd ..
'

test_expect_success 'the parent has the same adapter and is compared' '
	cd rows && edited rows.c "s/(twice ? 2 : 1);/(twice ? 2 : 1); __asm__ volatile(\"pause;pause;pause;pause\");/" && judged 0 --json &&
	tells "\"what\":\"parent\"" ../out && git checkout -q . && cd ..
'

test_expect_success 'a wrong kernel is wrong, and one that steals what is not its own faults' '
	cd rows && edited rows.c "s/out\[i\]\[j\] = /out[i][j] = 1 + /" && refused 1 "wrong-edge" && git checkout -q . &&
	edited rows.c "s/j < weights.n/j <= weights.n/" && refused 1 "fault" && git checkout -q . &&
	edited rows.c "s/out\[i\]\[j\] = /((volatile char *)out)[-1] = 0, out[i][j] = /" && refused 1 "out of bounds of the adapter.s workspace" &&
	git checkout -q . && cd ..
'

test_expect_success 'the adapter is part of the contract: another one makes another verdict' '
	cd rows && git klineage gate --no-profile >../out && git klineage gate --no-profile --json >../before && edited adapter.c "s/A + i/A + 0 + i/" &&
	git commit -q -a -m adapter && git klineage gate --no-profile --json >../after && ! cmp -s ../before ../after &&
	test "$(sed "s/.*\"contract\":\"\([0-9a-f]*\).*/\1/" ../before)" != "$(sed "s/.*\"contract\":\"\([0-9a-f]*\).*/\1/" ../after)" &&
	test "$(sed "s/.*\"surface\":\"\([0-9a-f]*\).*/\1/" ../before)" = "$(sed "s/.*\"surface\":\"\([0-9a-f]*\).*/\1/" ../after)" && cd ..
'

test_expect_success 'a review asks about another adapter' '
	cd rows && code=0 && git klineage review HEAD~1 --json >../out || code=$? && test $code = 1 && tells "adapter-changed" ../out &&
	edited klineage.yaml "/^adapter/a prepares: [scale_rows]" && git commit -q -a -m prepares && { git klineage review HEAD~1 --json >../out || :; } &&
	tells "prepares-added" ../out && git reset -q --hard HEAD~2 && cd ..
'

test_expect_success 'an adapter that cannot be used is an error of the contract' '
	cd rows &&
	edited adapter.c "s/#else/#else\n;)/" && refused 128 "the adapter: adapter.c:13:2: error: expected identifier" && git checkout -q . &&
	edited adapter.c "/#else/a #include \"rows.h\"" && refused 128 "rows.h" && git checkout -q . &&
	edited adapter.c "s/adapter_pack/adapter_pak/" && refused 128 "the adapter: defines .adapter_pak. where KL_TIMED is 0" && git checkout -q . &&
	edited adapter.c "/#else/a void scale_rows();" && edited adapter.c "s/^work->rows\[i\]/scale_rows(); work->rows[i]/" &&
	refused 128 "the adapter: uses .scale_rows. where KL_TIMED is 0" && git checkout -q . &&
	edited adapter.c "/#else/a #include <stdlib.h>" && edited adapter.c "s/C + i \* N/malloc(8)/" &&
	refused 128 "the adapter: uses .malloc. where KL_TIMED is 0" && git checkout -q . &&
	edited adapter.c "/#else/a static void (*volatile hook)(void);" && edited adapter.c "s/^work->rows\[i\]/hook(); work->rows[i]/" &&
	refused 128 "the adapter: .adapter_pack. calls through a pointer" && git checkout -q . &&
	edited adapter.c "1s/^/\/* KL_ADAPTER_TODO *\/ /" && refused 125 "the adapter is not written yet: KL_ADAPTER_TODO found in .adapter.c." && git checkout -q . &&
	{ cat adapter.c && awk "BEGIN { for (i = 0; i < 1100; i++) printf \"/* %060d */\\n\", i }"; } >new && mv new adapter.c &&
	refused 128 "the adapter .adapter.c. is larger than 64 KiB" && git checkout -q . &&
	rm adapter.c && refused 128 "adapter.c" && git checkout -q . &&
	edited klineage.yaml "s/^adapter: .*/adapter: rows.c/" && refused 128 "klineage.yaml:16:10: .rows.c. is a source of the kernel" && git checkout -q . &&
	edited klineage.yaml "s/^adapter: .*/adapter: oracle.c/" && refused 128 "is a source of the oracle" && git checkout -q . &&
	edited klineage.yaml "s/^adapter: .*/adapter: rows.h/" && refused 128 "is not a .c file" && git checkout -q . &&
	edited klineage.yaml "s/^adapter: .*/prepares: [a]/" && refused 128 ".prepares. needs an .adapter." && git checkout -q . && cd ..
'

test_expect_success 'what is wrong between the kernel and the adapter is a verdict on the kernel' '
	cd rows &&
	edited adapter.c "s/void adapter_call/void adapter_cal/" && refused 1 "fail.* compile" && tells "defines .adapter_cal., which is none of" ../out && git checkout -q . &&
	edited adapter.c "s/void adapter_call/static void call/" && refused 1 "does not define adapter_call where KL_TIMED is 1" && git checkout -q . &&
	edited adapter.c "s/^scale_rows(.*/(void)work;/" && refused 1 "adapter_call does not call .scale_rows., the entry" && git checkout -q . &&
	edited adapter.c "s/#if KL_TIMED/#if KL_TIMED\nvoid adapter_finish(ARGS) { }/" && refused 1 "must be in the half with KL_TIMED 0" && git checkout -q . &&
	edited rows.h "s/_Bool twice)/_Bool twice, int more)/" && edited rows.c "s/_Bool twice)/_Bool twice, int more)/" &&
	refused 1 "fail.* compile" && tells "adapter.c:10" ../out && git checkout -q . &&
	echo "void adapter_pack(void *workspace) { }" >>rows.c && refused 1 "fail.* cheat" && tells "the kernel defines .adapter_pack." ../out && git checkout -q . &&
	echo "static __attribute__((used)) void adapter_finish(void *workspace) { }" >>rows.c && refused 1 "the kernel defines .adapter_finish." &&
	git checkout -q . && cd ..
'

test_expect_success 'a loop of its own in adapter_call is reported, and one around the kernel is not' '
	cd rows && edited adapter.c "s/^struct view weights.*/&\nfor (int64_t i = 0; i < M; i++) work->rows[i] = A + i * N;/" && judged 0 --quick &&
	tells "adapter_call has a loop that does not call the kernel" ../out && git checkout -q . &&
	edited adapter.c "s/^scale_rows(.*/for (int64_t i = 0; i < M; i++) scale_rows(work->out + i, work->rows + i, 1, weights, (enum order)order, twice);/" &&
	judged 0 --quick && ! grep "adapter_call" ../out && git checkout -q . && cd ..
'

test_expect_success 'of several adapters the first that fits calls the kernel' '
	cd rows && sed "s/order, twice);/order, twice, 0);/" adapter.c >adapter-more.c && edited klineage.yaml "s/^adapter: .*/adapter: [adapter.c, adapter-more.c]/" &&
	git add . && git commit -q -m several && judged 0 --quick && ! grep "the adapter" ../out &&
	edited rows.h "s/_Bool twice)/_Bool twice, int more)/" && edited rows.c "s/_Bool twice)/_Bool twice, int more)/" &&
	judged 0 --quick && tells "the adapter adapter-more.c calls the kernel" ../out &&
	edited rows.h "s/int more)/int more, int most)/" && edited rows.c "s/int more)/int more, int most)/" &&
	refused 1 "fail.* compile" && tells "adapter.c:10" ../out && git checkout -q . &&
	edited klineage.yaml "s/adapter-more.c/rows.c/" && refused 128 "klineage.yaml:16:22: .rows.c. is a source of the kernel" && git checkout -q . &&
	edited klineage.yaml "s/adapter-more.c/adapter.c/" && refused 128 "adapter.c" && git checkout -q . &&
	edited klineage.yaml "s/^adapter: .*/adapter: [adapter-more.c, adapter.c]/" && git commit -q -a -m order && { git klineage review HEAD~1 --json >../out || :; } &&
	tells "tried in another order" ../out && git reset -q --hard HEAD~2 && cd ..
'

test_expect_success 'a context that a function of the project makes, once and untimed' '
	git init -q fir && cd fir &&
	cat >fir.h <<-\EOF &&
	struct fir;
	struct fir *fir_new(long taps, float gain);
	void fir_free(struct fir *fir);
	void fir_run(const struct fir *fir, const float *x, float *y, long n);
	EOF
	cat >fir.c <<-\EOF &&
	#include "fir.h"
	#include <stdlib.h>
	struct fir { long taps; float *c; };
	__attribute__((noinline)) static float tap(long i, float gain) { return gain / (1 + i); }
	struct fir *fir_new(long taps, float gain)
	{
		struct fir *fir = malloc(sizeof(*fir));
		fir->taps = taps;
		fir->c = malloc(taps * sizeof(float));
		for (long i = 0; i < taps; i++)
			fir->c[i] = tap(i, gain);
		return fir;
	}
	void fir_free(struct fir *fir) { free(fir->c); free(fir); }
	void fir_run(const struct fir *fir, const float *x, float *y, long n)
	{
		for (long i = 0; i < n; i++) {
			float sum = 0;
			for (long j = 0; j < fir->taps; j++)
				sum += fir->c[j] * x[i + j];
			y[i] = sum;
		}
	}
	EOF
	cat >adapter.c <<-\EOF &&
	#include <stdint.h>
	#if KL_TIMED
	#include "fir.h"
	void adapter_prepare(void *workspace, int64_t N, int64_t T, float gain)
	{
		*(struct fir **)workspace = fir_new(T, gain);
	}
	void adapter_call(void *workspace, int64_t N, int64_t T, float gain, const float *x, float *y)
	{
		fir_run(*(struct fir **)workspace, x, y, N);
	}
	#endif
	EOF
	cat >oracle.c <<-\EOF &&
	#include "kl_oracle.h"
	void oracle(int64_t N, int64_t T, kl_real gain, const kl_real *x, kl_real *y)
	{
		for (int64_t i = 0; i < N; i++) {
			kl_real sum = 0;
			for (int64_t j = 0; j < T; j++)
				sum += gain / (1 + j) * x[i + j];
			y[i] = sum;
		}
	}
	EOF
	cat >klineage.yaml <<-\EOF &&
	klineage: 1
	workload: fir
	case: {op: fir, dims: {N: 1000, T: 16}}
	domain: [N >= 1, T >= 1, T <= 64]
	also: [{N: 1, T: 1}, {N: 33, T: 7}]
	surface: {language: c, sources: [fir.c, fir.h], entry: fir_run}
	args:
	  - {name: N, kind: dim}
	  - {name: T, kind: dim}
	  - {name: gain, kind: scalar, dtype: f32, value: 0.75}
	  - {name: x, kind: in, dtype: f32, shape: [N + T]}
	  - {name: y, kind: out, dtype: f32, shape: [N]}
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	adapter: adapter.c
	prepares: [fir_new]
	accept: {rule: noise, max: 4, rms: 2}
	EOF
	git add . && git commit -q -m fir && judged 0 && tells "run untimed, before any input: .*fir_new" ../out && tells "tap" ../out && cd ..
'

test_expect_success 'a function that the contract does not list is not called untimed' '
	cd fir && edited klineage.yaml "s/^prepares: .*/prepares: [fir_free]/" && refused 1 "adapter_prepare uses .fir_new., which .prepares. of the contract does not list" &&
	git checkout -q . && edited klineage.yaml "/^prepares/d" && refused 1 "does not list" && git checkout -q . &&
	edited klineage.yaml "s/^prepares: .*/prepares: [fir-new]/" && refused 128 "C identifier" && git checkout -q . && cd ..
'

test_expect_success 'the code that runs untimed counts for the digest of the code' '
	cd fir && judged 0 --quick --json && sed "s/.*\"code\":\"\([0-9a-f]*\).*/\1/" ../out >../before &&
	edited fir.c "s/gain \/ (1 + i)/2 * gain \/ (2 + 2 * i)/" && judged 0 --quick --json && sed "s/.*\"code\":\"\([0-9a-f]*\).*/\1/" ../out >../after &&
	! cmp -s ../before ../after && git checkout -q . && cd ..
'

test_expect_success 'a fault in the project function is a verdict that names where' '
	cd fir && edited fir.c "s/fir->taps = taps;/fir->taps = taps; *(volatile int *)0 = 1;/" && refused 1 "fault" && tells "null pointer [(]address 0[)] in adapter_prepare" ../out &&
	git checkout -q . && cd ..
'

test_expect_success 'packed inputs, a value returned in a struct, complex numbers, all in a header' '
	git init -q dot && cd dot &&
	cat >dot.h <<-\EOF &&
	#include <complex.h>
	#include <stdint.h>
	#define BLOCK 32
	struct block { float scale; int8_t q[BLOCK]; };
	struct dot { float _Complex sum; int64_t blocks; };
	static inline struct dot dot(const struct block *a, const float _Complex *b, int64_t blocks)
	{
		struct dot dot = { 0, blocks };
		for (int64_t i = 0; i < blocks; i++) {
			float _Complex sum = 0;
			for (int j = 0; j < BLOCK; j++)
				sum += a[i].q[j] * b[i * BLOCK + j];
			dot.sum += a[i].scale * sum;
		}
		return dot;
	}
	EOF
	echo "#include \"dot.h\"" >dot.c &&
	cat >adapter.c <<-\EOF &&
	#include <stdint.h>
	#include <math.h>
	#define ARGS void *workspace, int64_t B, const float *scale, const int8_t *q, const float *b, float *sum
	/* as in dot.h, which the untimed half cannot include */
	struct packed { float scale; int8_t q[32]; };
	struct work { float re, im; int64_t blocks; struct packed a[]; };
	#if KL_TIMED
	#include "dot.h"
	void adapter_call(ARGS)
	{
		struct work *work = workspace;
		struct dot result = dot((const struct block *)work->a, (const float _Complex *)b, B);
		work->re = crealf(result.sum);
		work->im = cimagf(result.sum);
		work->blocks = result.blocks;
	}
	#else
	void adapter_pack(ARGS)
	{
		struct work *work = workspace;
		for (int64_t i = 0; i < B; i++) {
			work->a[i].scale = scale[i];
			for (int j = 0; j < 32; j++)
				work->a[i].q[j] = q[i * 32 + j];
		}
	}
	void adapter_finish(ARGS)
	{
		const struct work *work = workspace;
		sum[0] = work->re;
		sum[1] = work->im;
		sum[2] = (float)work->blocks;
	}
	#endif
	EOF
	cat >oracle.c <<-\EOF &&
	#include "kl_oracle.h"
	void oracle(int64_t B, const kl_real *scale, const int8_t *q, const kl_real *b, kl_real *sum)
	{
		sum[0] = sum[1] = 0;
		for (int64_t i = 0; i < B; i++) {
			kl_real re = 0, im = 0;
			for (int64_t j = i * 32; j < i * 32 + 32; j++) {
				re += q[j] * b[2 * j];
				im += q[j] * b[2 * j + 1];
			}
			sum[0] += scale[i] * re;
			sum[1] += scale[i] * im;
		}
		sum[2] = B;
	}
	EOF
	cat >klineage.yaml <<-\EOF &&
	klineage: 1
	workload: dot
	case: {op: dot, dims: {B: 128}}
	domain: [B >= 1]
	also: [{B: 1}, {B: 3}]
	surface: {language: c, sources: [dot.c, dot.h], entry: dot, flags: [-O3, -ffast-math]}
	args:
	  - {name: B, kind: dim}
	  - {name: scale, kind: in, dtype: f32, shape: [B]}
	  - {name: q, kind: in, dtype: i8, shape: [B, 32], fill: {ints: [-127, 127]}}
	  - {name: b, kind: in, dtype: f32, shape: [B, 64]}
	  - {name: sum, kind: out, dtype: f32, shape: [3]}
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	adapter: adapter.c
	accept: {rule: noise, max: 8, rms: 4}
	values: {nan: undefined, inf: undefined}
	EOF
	git add . && git commit -q -m dot && judged 0 && tells "dot: pass" ../out && tells "vec.256" ../out &&
	edited dot.h "s/a\[i\].q\[j\] \* b/a[i].q[j ^ 1] * b/" && refused 1 "wrong" && git checkout -q . && cd ..
'

test_expect_success 'init says that a kernel needs an adapter, and writes a skeleton' '
	git init -q started && cd started && cp ../rows/rows.c ../rows/rows.h . && git klineage init rows.c >../out &&
	tells "the types of 3 of the arguments; to use an adapter" ../out && tells "git klineage init --adapter rows.c" ../out && test ! -e adapter.c &&
	exits 128 git klineage init --adapter rows.c 2>../err && tells "oracle.c. already exists" ../err && test ! -e adapter.c &&
	rm klineage.yaml oracle.c && git klineage init --adapter rows.c >../out && tells "wrote the adapter adapter.c" ../out &&
	tells "type .const float \\*\\*|type .float \\*\\*.: list what the adapter makes it of" klineage.yaml && tells "^adapter: adapter.c" klineage.yaml &&
	tells "scale_rows\\(/\\* TODO: out \\*/" adapter.c && tells "rows.h" adapter.c &&
	cp ../rows/klineage.yaml ../rows/oracle.c . && refused 125 "the adapter is not written yet: KL_ADAPTER_TODO" &&
	exits 129 git klineage init --adapter --list 2>../err && tells "need a kernel file" ../err &&
	echo "__global__ void k(float *x) { }" >k.cu && exits 128 git klineage init --adapter k.cu 2>../err && tells "only a kernel in C can have an adapter" ../err &&
	cp rows.c adapter.c && exits 128 git klineage init --adapter adapter.c 2>../err && tells "is the name of the adapter" ../err && cd ..
'

test_expect_success 'adopt writes one, too, which finds the headers of the project' '
	git init -q project && cd project && mkdir src && cp ../fir/fir.c ../fir/fir.h src && git add . && git commit -q -m project &&
	git klineage adopt --build none --adapter src/fir.c:fir_run >../out && tells "the adapter, klineage/fir-run.adapter.c" ../out &&
	tells "include .src/fir.h." klineage/fir-run.adapter.c && tells "^adapter: klineage/fir-run.adapter.c" klineage/fir-run.klineage.yaml &&
	sed "s,include \"fir.h\",include \"src/fir.h\"," ../fir/adapter.c >klineage/fir-run.adapter.c && cp ../fir/oracle.c klineage/fir-run.oracle.c &&
	sed "s,oracle.c,klineage/fir-run.oracle.c,; s,adapter: adapter,adapter: klineage/fir-run.adapter,; s,fir.[ch],src/&,g; s,^workload:,paths: repository\n&," ../fir/klineage.yaml >klineage/fir-run.klineage.yaml &&
	git add . && git commit -q -m contract && judged 0 --quick && tells "fir: pass" ../out && cd ..
'

test_done
