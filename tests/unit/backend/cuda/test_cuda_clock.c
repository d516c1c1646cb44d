/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel may do with a clock: wait, and nothing else. */
#include "cuda_kernel.h"

#include "backend/cuda/ptx_clock.h"
#include "base/proc.h"

#define HEAD ".version 8.5\n.target sm_90a\n.address_size 64\n"
#define REGS ".reg .pred %%p<9>;\n.reg .b32 %%r<9>;\n.reg .b64 %%rd<9>;\n"

static int check(const char *text, size_t i, const char *name)
{
	struct kl_ptx ptx = { 0 };
	int err = kl_ptx_parse(&ptx, text, strlen(text));

	if (err < 0)
		fail_msg("%zu: %s\n%s", i, kl_error_last(), text);
	err = kl_ptx_clock(kl_ptx_function(&ptx, name));
	kl_ptx_release(&ptx);
	return err;
}

/* What is decided over, as the message has it; NULL: it is allowed. */
static void expect(const char *text, size_t i, const char *name, const char *what)
{
	KL_AUTO(kl_freep) char *part = what ? kl_asprintf("and '%s", what) : NULL;
	int err = check(text, i, name);

	if (what ? err != KL_ENO || !strstr(kl_error_last(), part) : err != 0)
		fail_msg("%s: wanted %s, got %d %s\n%s", name, what ? what : "nothing", err,
			 err ? kl_error_last() : "", text);
	kl_error_clear();
}

/* -- assembly -------------------------------------------------------------------------------- */

/* clang-format off */
static const struct { const char *body, *what; } bodies[] = {
	{ "mov.u64 %rd1, %clock64;", NULL },
	{ "mov.u32 %r1, %clock_hi; st.global.u32 [%rd1], %r1;", "st.global.u32" },
	{ "st.global.u32 [%rd1], %clock;", "st.global.u32" },
	{ "mov.u64 %rd1, %globaltimer; st.global.u32 [%rd1], %r1;", "st.global.u32" },
	{ "mov.u32 %r1, %clock; nanosleep.u32 %r1;", NULL },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 trap; st.global.u32 [%rd1], %r2;", NULL },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 st.global.u32 [%rd1], %r2;", "st.global.u32" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @!%p1 red.global.add.u32 [%rd1], %r2;", "red.global.add.u32" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 mov.u32 %r2, 7; st.global.u32 [%rd1], %r2;",
	  "st.global.u32" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 exit; st.global.u32 [%rd1], %r2;", "exit" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L; st.global.u32 [%rd1], %r2; L:", "st.global.u32" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L; bar.sync 0; L:", "bar.sync" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L; mov.u32 %r2, 1; L: st.global.u32 [%rd1], %r2;",
	  "st.global.u32" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L; nanosleep.u32 9; L: st.global.u32 [%rd1], %r2;",
	  NULL },
	/* a loop that only waits, and one that counts meanwhile */
	{ "L: mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L; st.global.u32 [%rd1], %r2;", NULL },
	{ "L: add.u32 %r2, %r2, 1; mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L;\n"
	  "st.global.u32 [%rd1], %r2;", "st.global.u32" },
	{ "L: atom.global.add.u32 %r2, [%rd1], 1; mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L;",
	  "atom.global.add.u32" },
	/* one that gives up with a trap may do what it likes in each turn */
	{ "L: atom.global.cas.b32 %r2, [%rd1], 0, 1; mov.u32 %r1, %clock; setp.lt.u32 %p1, %r1, 9; @%p1 bra M; trap;\n"
	  "M: setp.ne.s32 %p2, %r2, 0; @%p2 bra L; st.global.u32 [%rd1], 0;", NULL },
	/* a table that is read at a place by the clock */
	{ "mov.u64 %rd2, %clock64; and.b64 %rd2, %rd2, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r1, [%rd3];\n"
	  "st.global.u32 [%rd1], %r1;", "st.global.u32" },
	/* taken apart and put together */
	{ "mov.u64 %rd2, %clock64; mov.b64 {%r1, %r2}, %rd2; mov.b64 %rd3, {%r3, %r2}; st.global.u64 [%rd1], %rd3;",
	  "st.global.u64" },
	{ "mov.u32 %r1, %clock; setp.lt.s32 %p1|%p2, %r1, 9; @%p2 st.global.u32 [%rd1], %r2;", "st.global.u32" },
	{ "mov.u32 %r1, %clock; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; st.global.u32 [%rd1], %r2;", "shfl.sync.idx.b32" },
	{ "mov.u32 %r1, %clock; st.shared.u32 [%r2], %r1;", "st.shared.u32" },
	{ "mov.u32 %r1, %clock; st.local.u32 [%rd1], %r1;", "st.local.u32" },
	{ "mov.u32 %r1, %clock; bar.sync %r1;", "bar.sync" },
	{ "mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra L; call f; L:", "call" },
	{ "mov.u32 %r1, %clock; @%p1 bra L; brx.idx %r1, T; L:", "brx.idx" },
	/* what another scope calls by the same name is another register, and another label */
	{ "{ .reg .b32 t; mov.u32 t, %clock; nanosleep.u32 t; } { .reg .b32 t; mov.u32 t, 1; st.global.u32 [%rd1], t; }",
	  NULL },
	{ "{ .reg .b32 t; mov.u32 t, %clock; { mov.u32 %r5, t; } } st.global.u32 [%rd1], %r5;", "st.global.u32" },
	{ "{ W: mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra W; }\n"
	  "{ @%p2 bra W; st.global.u32 [%rd1], 1; W: }", NULL },
	{ ".loc 1 1 1\n mov.u32 %r1, %clock; st.global.u32 [%rd1], %r1;", "st.global.u32" },
	/* it never ends: all of the loop depends on the clock */
	{ "L: mov.u32 %r1, %clock; setp.gt.u32 %p1, %r1, 9; @%p1 bra M; bra L; M: st.global.u32 [%rd1], 1; bra L;",
	  "st.global.u32" },
};
/* clang-format on */

static void test_assembly(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(bodies); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf(HEAD ".func f()\n{\nret;\n}\n"
					      ".visible .entry k(.param .u64 p)\n{\n" REGS
					      "%s\nret;\n}\n",
					 bodies[i].body);

		expect(text, i, "k", bodies[i].what);
	}
}

static void test_broken_assembly(void **state)
{
	/* clang-format off */
	static const char *const broken[] = {
		"mov.u32 %r1, %clock; bra nowhere;",
		"mov.u32 %r1, %clock; @%p1 bra;",
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(broken); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf(HEAD ".visible .entry k()\n{\n" REGS "%s\nret;\n}\n",
					 broken[i]);

		assert_error(KL_ENO, "not have the form that a compiler writes",
			     check(text, i, "k"));
	}
}

/* -- what nvcc makes of C++ ---------------------------------------------------------------- */

#define K(name, args) \
	"extern \"C\" __global__ void " name "(float *y, volatile int *flag, int n" args ") "
#define NOW "clock64()"

static const struct {
	const char *name, *source, *what;
} kernels[] = {
	{ "bounded",
	  K("bounded", "") "{ long t = " NOW "; while (!*flag) if (" NOW " - t > 1 << 30) __trap();"
			   " y[threadIdx.x] = n; }",
	  NULL },
	{ "delay",
	  K("delay", "") "{ long t = " NOW "; while (" NOW " - t < 1000) ; y[threadIdx.x] = n; }",
	  NULL },
	{ "backoff",
	  K("backoff", "") "{ unsigned ns = 8; long t = " NOW "; while (!*flag) { __nanosleep(ns);"
			   " if (" NOW " - t > 1000) ns = 256; } y[threadIdx.x] = n; }",
	  NULL },
	{ "flagged",
	  K("flagged", "") "{ bool late = false; long t = " NOW "; while (!*flag)"
			   " if (" NOW " - t > 1 << 30) { late = true; break; }"
			   " if (late) __trap(); y[threadIdx.x] = n; }",
	  NULL },
	{ "locked",
	  K("locked",
	    ", int *lock") "{ long t = " NOW "; while (atomicCAS(lock, 0, 1))"
			   " if (" NOW " - t > 1 << 30) __trap();"
			   " y[threadIdx.x] += n; __threadfence(); atomicExch(lock, 0); }",
	  NULL },
	{ "skips",
	  K("skips", "") "{ int f; long t = " NOW "; while (!(f = *flag)) if (" NOW
			 " - t > 1 << 30) break;"
			 " if (f) y[threadIdx.x] = n; }",
	  "st.global" },
	{ "counts",
	  K("counts", "") "{ long t = " NOW "; while (" NOW
			  " - t < 1000) n++; y[threadIdx.x] = n; }",
	  "st.global" },
	{ "jitter",
	  K("jitter", ", float *z") "{ if (" NOW " & 1) { y[0] = n; z[0] = y[0]; }"
				    " else { z[0] = n; y[0] = z[0]; } }",
	  "st.global" },
	{ "turned",
	  K("turned",
	    "") "{ int k = clock() & 31; for (int i = 0; i < 32; i++) y[(i + k) & 31] = n; }",
	  "st.global" },
	{ "returns",
	  K("returns",
	    "") "{ unsigned long t; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));"
		" if (t > 1000000) return; y[0] = n; }",
	  "" },
	{ "sums", K("sums", "") "{ y[0] = n + (clock() & 1); }", "st.global" },
};

static void test_compiled(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf source = KL_BUF_INIT, text = KL_BUF_INIT;
	struct cuda_kernel kernel;
	KL_AUTO(kl_freep) char *cu = NULL, *ptx = NULL;

	cuda_setup(&kernel);
	if (!kernel.there) {
		cuda_teardown(&kernel);
		skip();
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels); i++)
		kl_buf_addf(&source, "%s\n", kernels[i].source);
	cu = kl_fs_join(kernel.dir, "k.cu");
	ptx = kl_fs_join(kernel.dir, "k.ptx");
	assert_ok(kl_fs_put(cu, source.ptr, source.len, 0600));
	assert_ok(
		kl_proc_output(NULL, (const char *const[]){ kernel.nvcc.nvcc, "-ptx",
							    "-arch=sm_90a", "-o", ptx, cu, NULL }));
	assert_ok(kl_fs_read(&text, ptx, 1 << 20));
	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels); i++)
		expect(text.ptr, i, kernels[i].name, kernels[i].what);
	cuda_teardown(&kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_assembly),
		cmocka_unit_test(test_broken_assembly),
		cmocka_unit_test(test_compiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
