/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/convention.h"

#ifdef __x86_64__
/*
 * MXCSR and X87_CONTROL are the values that the stub sets before each call; the other macros are
 * bits of registers.
 */
#define MXCSR 0x1f80u
#define MXCSR_STATUS 0x3fu
#define MXCSR_FLUSH 0x8040u /* treat denormal results or operands as zero */
#define MXCSR_ROUND 0x6000u
#define X87_CONTROL 0x37fu

#define FLAG_TRAP 0x100u
#define FLAG_DIRECTION 0x400u
#define FLAG_NESTED 0x4000u
#define FLAG_ALIGN 0x40000u

/*
 * Return a message about a change that the kernel left behind; NULL if there is none. `used` has a
 * bit for each x87 register in use.
 */
static const char *broken_float(uint32_t mxcsr, uint16_t control, unsigned used)
{
	uint32_t changed = (mxcsr ^ MXCSR) & ~MXCSR_STATUS;

	if (changed & MXCSR_FLUSH)
		return "left denormals flushed to zero (MXCSR)";
	if (changed & MXCSR_ROUND)
		return "left the rounding mode changed (MXCSR)";
	if (changed)
		return "left floating-point exceptions unmasked (MXCSR)";
	if ((control ^ X87_CONTROL) & 0x1f3f)
		return "left the x87 control word changed";
	if (used)
		return "left the x87 stack in use (a missing emms?)";
	return NULL;
}

static const char *broken_flags(uint64_t flags)
{
	if (flags & FLAG_DIRECTION)
		return "left the direction flag set";
	if (flags & FLAG_ALIGN)
		return "left the alignment-check flag set";
	if (flags & (FLAG_TRAP | FLAG_NESTED))
		return "left the trap or the nested-task flag set";
	return NULL;
}

static const char *broken_segments(const struct user_regs_struct *home,
				   const struct user_regs_struct *now)
{
	if (home->fs_base != now->fs_base || home->gs_base != now->gs_base)
		return "left a segment base changed";
	if (home->cs != now->cs || home->ss != now->ss || home->ds != now->ds ||
	    home->es != now->es || home->fs != now->fs || home->gs != now->gs)
		return "left a segment selector changed";
	return NULL;
}

const char *kl_convention_broken(pid_t pid, const struct kl_trace_regs *home,
				 const struct kl_trace_regs *now)
{
	struct kl_trace_float fp;
	const char *what;

	if (!kl_trace_get_float(pid, &fp))
		return "vanished at the end of a call";
	if ((what = broken_float(fp.r.mxcsr, fp.r.cwd, fp.r.ftw & 0xff)) ||
	    (what = broken_flags(now->r.eflags)))
		return what;
	return broken_segments(&home->r, &now->r);
}

const char *kl_convention_broken_saved(const struct kl_saved_state *saved)
{
	const char *what = broken_float(saved->mxcsr, saved->x87_control,
					(unsigned)(uint16_t)~saved->x87_tags);

	return what ? what : broken_flags(saved->flags);
}
#else
const char *kl_convention_broken(pid_t pid, const struct kl_trace_regs *home,
				 const struct kl_trace_regs *now)
{
	return NULL;
}

const char *kl_convention_broken_saved(const struct kl_saved_state *saved)
{
	return NULL;
}
#endif
