/* SPDX-License-Identifier: Apache-2.0 */
/* code_audit - instructions that a kernel's object must not contain */
#include <string.h>

#include "backend/c/code.h"
#include "base/error.h"

/*
 * Instructions that call the system, read a clock, identify the processor or leave flat user mode.
 * All code is searched, whether it is reached or not: a computed jump can reach anything.
 */
/* clang-format off */
static const struct { const char *words, *what; } forbidden[] = {
	{ " syscall sysenter sysexit sysret sysretq int int1 into ", "calls the system" },
	{ " rdtsc rdtscp rdpmc rdpru tpause umwait umonitor ", "reads a clock or counter" },
	{ " cpuid xgetbv sgdt sgdtq sidt sidtq sldt str smsw smswl rdpid rdpidq ",
	  "asks which processor it runs on" },
	{ " rdrand rdseed ", "draws random numbers" },
	{ " in inb inw inl out outb outw outl ins insb insw insl outs outsb outsw outsl ", "does port I/O" },
	{ " wrpkru rdpkru wrfsbase wrgsbase rdfsbase rdgsbase wrssd wrssq incsspd incsspq swapgs ",
	  "changes protection or segments" },
	{ " xbegin xend xabort xtest ", "starts a transaction" },
	{ " ljmp lcall lret lretq iret iretq iretl ", "jumps out of its segment" },
	{ " vmcall vmmcall vmfunc vmlaunch vmresume enclu encls enqcmd enqcmds senduipi clui stui "
	  "getsec hlt cli sti wrmsr rdmsr xsetbv lgdt lidt monitor mwait monitorx mwaitx ptwrite ",
	  "uses a privileged instruction" },
};
/* clang-format on */

static const char *why_forbidden(const char *op)
{
	char word[40];
	size_t n = strlen(op);

	if (n + 3 > sizeof(word))
		return NULL;
	word[0] = ' ';
	memcpy(word + 1, op, n);
	memcpy(word + 1 + n, " ", 2);
	for (size_t i = 0; i < KL_ARRAY_SIZE(forbidden); i++)
		if (strstr(forbidden[i].words, word))
			return forbidden[i].what;
	return NULL;
}

static int check_branch(const struct kl_code *code, size_t func, size_t i)
{
	struct kl_ref ref;

	if (!kl_insn_is_jump(&code->insn[i]) && !kl_insn_is_call(&code->insn[i]))
		return 0;
	if (kl_insn_is_indirect(&code->insn[i]))
		return 0;
	kl_code_insn_ref(&ref, code, func, i);
	if (ref.kind == KL_REF_EXTERN)
		return 0;
	if (ref.kind == KL_REF_CODE && ref.insn < code->ninsn)
		return 0;
	return kl_error(KL_ENO, "'%s' jumps into the middle of an instruction (at %#x of '%s')",
			code->insn[i].op, code->insn[i].addr, code->func[func].name);
}

static int check_insn(const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_insn *in = &code->insn[i];
	const char *why = why_forbidden(in->op), *name = code->func[func].name;

	if (why)
		return kl_error(KL_ENO, "%s: '%s' in function '%s'", why, in->op, name);
	if (in->seg)
		return kl_error(KL_ENO,
				"reaches for the thread's own data: '%s %s' in function '%s'",
				in->op, in->args, name);
	if (strstr(in->op, "(bad)") || in->op[0] == '.')
		return kl_error(KL_ENO, "has bytes that are no instruction in function '%s'", name);
	return check_branch(code, func, i);
}

int kl_code_audit(const struct kl_code *code)
{
	int err = 0;

	for (size_t func = 0; func < code->nfunc; func++)
		for (size_t i = code->func[func].first;
		     !err && i < code->func[func].first + code->func[func].n; i++)
			err = check_insn(code, func, i);
	return err;
}
