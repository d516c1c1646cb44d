/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/code/isa_stack.h"

#include <Zydis/Zydis.h>

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	bool framed;
};

static ZydisRegister whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

/* Return true if the register holds an address of the stack. */
static bool is_stack(const struct decoded *decoded, ZydisRegister reg)
{
	ZydisRegister all = whole(reg);

	return all == ZYDIS_REGISTER_RSP || (decoded->framed && all == ZYDIS_REGISTER_RBP);
}

static bool is_reg(const ZydisDecodedOperand *op, ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == reg;
}

/* Return the number of operands that assembly text shows. */
static unsigned visible(const struct decoded *decoded)
{
	return decoded->insn.operand_count_visible;
}

/*
 * Read a push or pop; false if it is another instruction. A push or pop of memory or of rsp is
 * KL_ISA_STACK_OTHER.
 */
static bool read_push(struct kl_isa_stack *out, const struct decoded *decoded)
{
	const ZydisDecodedOperand *op = &decoded->op[0];
	bool push = decoded->insn.mnemonic == ZYDIS_MNEMONIC_PUSH;

	if (!push && decoded->insn.mnemonic != ZYDIS_MNEMONIC_POP)
		return false;
	*out = (struct kl_isa_stack){ .kind = KL_ISA_STACK_OTHER };
	if (decoded->insn.operand_width != 64 || is_reg(op, ZYDIS_REGISTER_RSP))
		return true;
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return true;
	out->kind = KL_ISA_STACK_MOVE;
	out->by = push ? -8 : 8;
	if (!is_reg(op, ZYDIS_REGISTER_RBP))
		return true;
	/* if rbp is the frame pointer, push would store an address of the stack in memory */
	out->kind = !push           ? KL_ISA_STACK_RBP :
		    decoded->framed ? KL_ISA_STACK_OTHER :
				      KL_ISA_STACK_SAVE;
	return true;
}

/*
 * Read an instruction that writes rsp: an add or sub of a constant, or a lea or mov from rsp or
 * rbp. Return false if it is another instruction.
 */
static bool read_adjust(struct kl_isa_stack *out, const struct decoded *decoded)
{
	const ZydisDecodedOperand *to = &decoded->op[0], *from = &decoded->op[1];
	ZydisMnemonic mnemonic = decoded->insn.mnemonic;

	if (visible(decoded) != 2 || !is_reg(to, ZYDIS_REGISTER_RSP))
		return false;
	*out = (struct kl_isa_stack){ .kind = KL_ISA_STACK_OTHER };
	if ((mnemonic == ZYDIS_MNEMONIC_ADD || mnemonic == ZYDIS_MNEMONIC_SUB) &&
	    from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		out->kind = KL_ISA_STACK_MOVE;
		out->by = mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s : -from->imm.value.s;
	} else if (mnemonic == ZYDIS_MNEMONIC_LEA && from->mem.index == ZYDIS_REGISTER_NONE) {
		out->by = from->mem.disp.value;
		if (from->mem.base == ZYDIS_REGISTER_RSP)
			out->kind = KL_ISA_STACK_MOVE;
		else if (from->mem.base == ZYDIS_REGISTER_RBP && decoded->framed)
			out->kind = KL_ISA_STACK_LEAVE;
	} else if (mnemonic == ZYDIS_MNEMONIC_MOV && is_reg(from, ZYDIS_REGISTER_RBP) &&
		   decoded->framed) {
		out->kind = KL_ISA_STACK_LEAVE;
	}
	return true;
}

static bool read_frame(struct kl_isa_stack *out, const struct decoded *decoded)
{
	if (decoded->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		bool plain = decoded->framed && decoded->insn.operand_width == 64;

		*out = (struct kl_isa_stack){ .kind = plain ? KL_ISA_STACK_LEAVE :
							      KL_ISA_STACK_OTHER,
					      .pops = true };
		return true;
	}
	if (decoded->insn.mnemonic != ZYDIS_MNEMONIC_MOV ||
	    !is_reg(&decoded->op[0], ZYDIS_REGISTER_RBP) ||
	    !is_reg(&decoded->op[1], ZYDIS_REGISTER_RSP))
		return false;
	*out = (struct kl_isa_stack){ .kind = KL_ISA_STACK_FRAME };
	return true;
}

/* Read an operand in memory; false if it can be any place on the stack. */
static bool read_memory(struct kl_isa_stack *out, const struct decoded *decoded,
			const ZydisDecodedOperand *op)
{
	bool base = is_stack(decoded, op->mem.base), index = is_stack(decoded, op->mem.index);

	if (!base && !index)
		return true;
	if (index || op->mem.index != ZYDIS_REGISTER_NONE || op->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return false;
	if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return true;
	out->kind = KL_ISA_STACK_STORE;
	out->frame = whole(op->mem.base) == ZYDIS_REGISTER_RBP;
	out->disp = op->mem.disp.value;
	out->size = op->size / 8;
	return true;
}

/* Read an operand in a register; false if the register holds an address of the stack. */
static bool read_register(struct kl_isa_stack *out, const struct decoded *decoded,
			  const ZydisDecodedOperand *op)
{
	if (whole(op->reg.value) == ZYDIS_REGISTER_RBP &&
	    (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		out->sets = true;
	return !is_stack(decoded, op->reg.value);
}

/*
 * Read any other instruction. It is KL_ISA_STACK_OTHER if an operand is a register with an address
 * of the stack, or memory that can be any place on the stack.
 */
static void read_operands(struct kl_isa_stack *out, const struct decoded *decoded)
{
	const ZydisDecodedInstruction *insn = &decoded->insn;
	bool branch = insn->meta.category == ZYDIS_CATEGORY_CALL ||
		      insn->meta.category == ZYDIS_CATEGORY_RET;

	*out = (struct kl_isa_stack){ .kind = KL_ISA_STACK_NONE };
	for (unsigned i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *op = &decoded->op[i];
		bool hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
		bool known = true;

		if (branch && hidden) /* skip rsp and the return address that is pushed or popped */
			continue;
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
			known = read_register(out, decoded, op);
		else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
			known = read_memory(out, decoded, op);
		if (!known) {
			out->kind = KL_ISA_STACK_OTHER;
			return;
		}
	}
}

bool kl_isa_stack(struct kl_isa_stack *out, const unsigned char *bytes, size_t n, bool framed)
{
	struct decoded decoded = { .framed = framed };
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &decoded.insn, decoded.op)))
		return false;
	if (!read_push(out, &decoded) && !read_adjust(out, &decoded) && !read_frame(out, &decoded))
		read_operands(out, &decoded);
	return true;
}
