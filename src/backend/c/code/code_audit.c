/* SPDX-License-Identifier: Apache-2.0 */
/* code_audit - refuses instructions that a kernel's object must not contain */
#include <string.h>

#include "backend/c/code/code.h"
#include "backend/c/code/isa.h"
#include "base/error.h"

/*
 * Decode an instruction with Zydis and return its length; 0 if it is unknown. objdump shows fwait
 * and the x87 instruction after it as one instruction ("fstcw"), so both are decoded.
 */
static unsigned decode_all(struct kl_isa_insn *out, const unsigned char *bytes, size_t n)
{
	struct kl_isa_insn next;

	if (!kl_isa_decode(out, bytes, n))
		return 0;
	if (bytes[0] != 0x9b || !kl_isa_decode(&next, bytes + out->len, n - out->len))
		return out->len;
	next.len += out->len;
	*out = next;
	return next.len;
}

/*
 * Check the bytes of an instruction, and check that their length is the same as in objdump's text,
 * from which everything else is read. All code that is linked is checked, because a computed jump
 * can go anywhere in it.
 */
static int check_bytes(const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_insn *in = &code->insn[i];
	const char *name = code->func[func].name;
	size_t n = 0;
	const unsigned char *bytes = kl_code_insn_bytes(&n, code, func, i);
	struct kl_isa_insn insn;
	unsigned len = bytes ? decode_all(&insn, bytes, n) : 0;

	if (!len)
		return kl_error(KL_ENO,
				"has bytes that are not a known instruction in function '%s'",
				name);
	if (insn.harm)
		return kl_error(KL_ENO, "%s: '%s' in function '%s'%s", insn.harm, in->op, name,
				strcmp(in->op, "cpuid") ? "" :
							  "; ask with __builtin_cpu_supports(), "
							  "which is answered for the platform");
	if (len == in->len || (bytes[0] == 0x9b && in->len == 1))
		return 0;
	return kl_error(KL_ENO, "has an instruction of an unknown length in function '%s': '%s %s'",
			name, in->op, in->args);
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
	const char *name = code->func[func].name;
	int err;

	if (strstr(in->op, "(bad)") || in->op[0] == '.')
		return kl_error(KL_ENO, "has bytes that are not an instruction in function '%s'",
				name);
	err = check_bytes(code, func, i);
	if (err < 0)
		return err;
	if (in->seg)
		return kl_error(KL_ENO, "uses thread-local storage: '%s %s' in function '%s'",
				in->op, in->args, name);
	return check_branch(code, func, i);
}

static int check_func(const struct kl_code *code, size_t func)
{
	const struct kl_func *fn = &code->func[func];
	int err = 0;

	for (size_t i = fn->first; !err && i < fn->first + fn->n; i++)
		err = check_insn(code, func, i);
	return err;
}

int kl_code_audit(const struct kl_code *code, const struct kl_reached *reached)
{
	int err = 0;

	for (size_t func = 0; !err && func < code->nfunc; func++)
		if (!reached || reached->sec[code->func[func].obj][code->func[func].sec])
			err = check_func(code, func);
	return err;
}
