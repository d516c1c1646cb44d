/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel must leave as it was, and what it may change. */
#include "subject_fixture.h"

#ifdef __x86_64__
#define CSR(text)                                                            \
	" { unsigned m; __asm__ volatile(\"stmxcsr %0\" : \"=m\"(m)); " text \
	" __asm__ volatile(\"ldmxcsr %0\" :: \"m\"(m)); }"
#define X87(text)                                                                 \
	" { unsigned short c; __asm__ volatile(\"fnstcw %0\" : \"=m\"(c)); " text \
	" __asm__ volatile(\"fldcw %0\" :: \"m\"(c)); }"
#define ASM(text) " __asm__ volatile(\"" text "\" ::: \"memory\", \"rax\", \"rcx\", \"rdx\");"

static const struct {
	const char *body, *what;
	bool traced_only;
} bad[] = {
	{ .body = CSR("m |= 0x8000;"), .what = "denormal" },
	{ .body = CSR("m |= 0x40;"), .what = "denormal" },
	{ .body = CSR("m |= 0x2000;"), .what = "rounding" },
	{ .body = CSR("m |= 0x6000;"), .what = "rounding" },
	{ .body = CSR("m &= ~0x200u;"), .what = "unmasked" },
	{ .body = CSR("m &= ~0x1000u;"), .what = "unmasked" },
	{ .body = X87("c &= ~0x300;"), .what = "x87 control" }, /* single precision */
	{ .body = X87("c |= 0xc00;"), .what = "x87 control" },  /* truncation */
	{ .body = X87("c &= ~4;"), .what = "x87 control" },     /* division by zero traps */
	{ .body = ASM("fld1"), .what = "x87 stack" },
	{ .body = ASM("movd %%eax, %%mm3"), .what = "x87 stack" }, /* no emms */
	{ .body = ASM("std"), .what = "direction" },
	{ .body = ASM("pushfq; orq $0x40000, (%%rsp); popfq"), .what = "alignment" },
	{ .body = ASM("pushfq; orq $0x4000, (%%rsp); popfq"), .what = "nested" },
	{ .body = ASM("mov %%ds, %%eax; xor $0x2b, %%eax; mov %%eax, %%gs"),
	  .what = "segment",
	  .traced_only = true },
	{ .body = ASM("mov $0x2b, %%eax; mov %%eax, %%es"),
	  .what = "segment",
	  .traced_only = true },
};

static const char *const good[] = {
	CSR("m |= 0x3f;"), /* status */
	CSR("m |= 0x8040;") " s = s * 1.0f;" CSR("m &= ~0x8040u;"),
	CSR("m |= 0x6000;") CSR("m &= ~0x6000u;"),
	X87("c |= 0xc00;") X87("c &= ~0xc00;"),
	ASM("fld1; fstp %%st(0)"),
	ASM("movd %%eax, %%mm3; emms"),
	ASM("fldz; fld1; fdivp; fstp %%st(0)"), /* x87 status */
	ASM("std; cld"),
	ASM("stc"),
	ASM("vpcmpeqd %%ymm7, %%ymm7, %%ymm7"), /* upper halves in use */
};

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

/* One call of a kernel that does `body` after its work. */
static void call_with(struct kl_call *call, const char *body, bool untraced)
{
	KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
	KL_AUTO(kl_freep) char *text = kl_asprintf(SCALE " %s", body);
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;

	sf_kernel(fixture, "", text);
	subject = sf_start(fixture, (struct kl_subject_spec){ .cpu = -1, .untraced = untraced });
	assert_ok(kl_subject_call(subject, call));
}

static void changes_are_faults(void **state)
{
	for (size_t i = 0; i < 2 * KL_ARRAY_SIZE(bad); i++) {
		bool untraced = i % 2;
		struct kl_call call;

		if (untraced && bad[i / 2].traced_only)
			continue;
		call_with(&call, bad[i / 2].body, untraced);
		if (call.end != KL_CALL_FAULT || !strstr(call.what, bad[i / 2].what))
			fail_msg("%s (%s): end %d \"%s\"", bad[i / 2].body,
				 untraced ? "untraced" : "traced", (int)call.end, call.what);
	}
}

static void legal_changes_pass(void **state)
{
	for (size_t i = 0; i < 2 * KL_ARRAY_SIZE(good); i++) {
		struct kl_call call;

		if (strstr(good[i / 2], "ymm") && !has_avx2())
			continue;
		call_with(&call, good[i / 2], i % 2);
		if (call.end != KL_CALL_OK)
			fail_msg("%s (%s): end %d \"%s\"", good[i / 2],
				 i % 2 ? "untraced" : "traced", (int)call.end, call.what);
	}
}
#else
static void changes_are_faults(void **state)
{
	skip();
}

static void legal_changes_pass(void **state)
{
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_faults),
		cmocka_unit_test(legal_changes_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
