/* SPDX-License-Identifier: Apache-2.0 */
/* code_accumulators - counts the sums that a loop keeps at the same time */
#include "backend/c/code/code.h"
#include "backend/c/code/isa.h"

/*
 * The body of a loop of one block is followed from its first to its last instruction. The result
 * for each register is the set of registers whose values at the start of the iteration determine
 * its value at the end, and whether data that the iteration loaded went into it. Registers that
 * depend on each other in a circle are one chain, whose instructions no processor can run in
 * parallel. A chain into which loaded data goes is an accumulator. (No loaded data goes into
 * counters and pointers.)
 */
struct body {
	uint64_t from[KL_ISA_REGS];  /* for each register: the registers that it depends on */
	uint64_t reach[KL_ISA_REGS]; /* the same over any number of iterations */
	uint64_t fed;                /* registers into which loaded data went */
};

static void follow_insn(struct body *body, const struct kl_isa_flow *flow)
{
	uint64_t from = 0;
	bool fed = flow->loads || (flow->reads & body->fed);

	for (size_t reg = 0; reg < KL_ISA_REGS; reg++)
		if (flow->reads >> reg & 1)
			from |= body->from[reg];
	for (size_t reg = 0; reg < KL_ISA_REGS; reg++) {
		uint64_t bit = UINT64_C(1) << reg;

		if (!(flow->writes & bit))
			continue;
		body->from[reg] = flow->clears ? 0 : from;
		body->fed = fed && !flow->clears ? body->fed | bit : body->fed & ~bit;
	}
}

/* Return false if the loop's body has an instruction that cannot be followed. */
static bool follow_body(struct body *body, const struct kl_code *code, size_t func, size_t first,
			size_t last)
{
	for (size_t reg = 0; reg < KL_ISA_REGS; reg++)
		body->from[reg] = UINT64_C(1) << reg;
	body->fed = 0;
	for (size_t i = first; i < last; i++) {
		size_t n = 0;
		const unsigned char *bytes = kl_code_insn_bytes(&n, code, func, i);
		struct kl_isa_flow flow;

		if (!bytes || !kl_isa_flow(&flow, bytes, n))
			return false;
		follow_insn(body, &flow);
	}
	return true;
}

/* Set `reach` to the transitive closure of `from`. */
static void close_body(struct body *body)
{
	for (size_t reg = 0; reg < KL_ISA_REGS; reg++)
		body->reach[reg] = body->from[reg];
	for (size_t via = 0; via < KL_ISA_REGS; via++)
		for (size_t reg = 0; reg < KL_ISA_REGS; reg++)
			if (body->reach[reg] >> via & 1)
				body->reach[reg] |= body->reach[via];
}

/* Return the registers of the chain that contains the register; 0 if it is in no chain. */
static uint64_t chain_of(const struct body *body, size_t reg)
{
	uint64_t chain = 0;

	if (!(body->reach[reg] >> reg & 1))
		return 0;
	for (size_t other = 0; other < KL_ISA_REGS; other++)
		if (body->reach[reg] >> other & 1 && body->reach[other] >> reg & 1)
			chain |= UINT64_C(1) << other;
	return chain;
}

static unsigned count_chains(struct body *body)
{
	uint64_t chains = 0, done = 0;
	unsigned n = 0;

	close_body(body);
	for (size_t reg = 0; reg < KL_ISA_REGS; reg++)
		if (chain_of(body, reg) & body->fed)
			chains |= UINT64_C(1) << reg;
	for (size_t reg = 0; reg < KL_ISA_REGS; reg++) {
		uint64_t chain = chain_of(body, reg);

		if (!(chains >> reg & 1) || done >> reg & 1)
			continue;
		done |= chain;
		/* an accumulator that depends on another one is not independent */
		n += !(body->reach[reg] & chains & ~chain);
	}
	return n;
}

/*
 * Return the first instruction of the loop that the jump `i` closes, if the loop is a single block;
 * otherwise return `i`.
 */
static size_t loop_start(const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_insn *jump = &code->insn[i];
	struct kl_ref ref;

	if (!kl_insn_is_jump(jump) || kl_insn_is_plain_jump(jump) || kl_insn_is_indirect(jump))
		return i;
	kl_code_insn_ref(&ref, code, func, i);
	if (ref.kind != KL_REF_CODE || ref.func != func || ref.insn >= i)
		return i;
	for (size_t at = i; at > ref.insn; at--) {
		const struct kl_insn *in = &code->insn[at - 1];

		if (kl_insn_is_jump(in) || kl_insn_is_call(in) || kl_insn_is_end(in))
			return i;
	}
	return ref.insn;
}

unsigned kl_code_accumulators(const struct kl_code *code, size_t func, enum kl_insn_use use)
{
	const struct kl_func *fn = &code->func[func];
	unsigned most = 0;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		size_t first = code->insn[i].use < use ? i : loop_start(code, func, i);
		struct body body;
		unsigned n;

		if (first == i || !follow_body(&body, code, func, first, i))
			continue;
		n = count_chains(&body);
		most = n > most ? n : most;
	}
	return most;
}
