/* SPDX-License-Identifier: Apache-2.0 */
/* code_shuffles - tells shuffles that look up a table from those that move bytes */
#include <string.h>

#include "backend/c/code/code.h"
#include "backend/c/code/isa.h"

/* Beginnings of the mnemonics of instructions that compute the control of a table lookup. */
static const char *const computes[] = {
	"pand", "por",  "pxor", "pternlog", "psrl", "psra",  "psll",
	"padd", "psub", "pmin", "pmax",     "pack", "gf2p8",
};

static const char *stem_of(const struct kl_insn *insn)
{
	return insn->op[0] == 'v' ? insn->op + 1 : insn->op;
}

static bool is_computed(const struct kl_insn *insn)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(computes); i++)
		if (!strncmp(stem_of(insn), computes[i], strlen(computes[i])))
			return true;
	return false;
}

static bool find_flow(struct kl_isa_flow *flow, const struct kl_code *code, size_t func, size_t i)
{
	size_t n = 0;
	const unsigned char *bytes = kl_code_insn_bytes(&n, code, func, i);

	return bytes && kl_isa_flow(flow, bytes, n);
}

/*
 * Return the vector register that the first operand names, as a bit of kl_isa_flow; 0 if there is
 * none.
 */
static uint64_t first_register(const struct kl_insn *insn)
{
	const char *args = insn->args;
	unsigned number = 0;

	if (strncmp(args, "%xmm", 4) && strncmp(args, "%ymm", 4) && strncmp(args, "%zmm", 4))
		return 0;
	for (args += 4; *args >= '0' && *args <= '9' && number < 32; args++)
		number = number * 10 + (unsigned)(*args - '0');
	return number < 32 ? UINT64_C(1) << (16 + number) : 0;
}

bool kl_code_table_shuffle(const struct kl_code *code, size_t func, size_t i)
{
	uint64_t control = first_register(&code->insn[i]);

	if (strcmp(stem_of(&code->insn[i]), "pshufb") || !control)
		return false;
	while (i-- > code->func[func].first) {
		struct kl_isa_flow flow;

		if (!find_flow(&flow, code, func, i))
			return false;
		if (flow.writes & control)
			return is_computed(&code->insn[i]) && !flow.clears;
	}
	return false;
}
