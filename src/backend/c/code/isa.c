/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/code/isa.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/*
 * The instruction sets of each level; a set that is not listed is in no level. The psABI lists
 * CLFLUSH in no level, but every processor with SSE2 has it. The 128- and 256-bit forms of AVX-512
 * belong to AVX512VL, which is in level 4.
 */
#define SET(name) ZYDIS_ISA_SET_##name
/* clang-format off */
static const struct { ZydisISASet set; int level; const char *name; } sets[] = {
	{ SET(I86), 1, "x86" }, { SET(I186), 1, "x86" }, { SET(I286PROTECTED), 1, "x86" },
	{ SET(I286REAL), 1, "x86" }, { SET(I386), 1, "x86" }, { SET(I486), 1, "x86" },
	{ SET(I486REAL), 1, "x86" }, { SET(PENTIUMREAL), 1, "x86" }, { SET(LONGMODE), 1, "x86-64" },
	{ SET(PPRO), 1, "x86" }, { SET(FAT_NOP), 1, "x86" }, { SET(PAUSE), 1, "x86" },
	{ SET(PREFETCH_NOP), 1, "x86" }, { SET(RDPMC), 1, "x86" },
	{ SET(CMOV), 1, "CMOV" }, { SET(X87), 1, "x87" }, { SET(FCMOV), 1, "x87" },
	{ SET(FXSAVE), 1, "FXSR" }, { SET(FXSAVE64), 1, "FXSR" }, { SET(PENTIUMMMX), 1, "MMX" },
	{ SET(SSE), 1, "SSE" }, { SET(SSEMXCSR), 1, "SSE" }, { SET(SSE_PREFETCH), 1, "SSE" },
	{ SET(SSE2), 1, "SSE2" }, { SET(SSE2MMX), 1, "SSE2" }, { SET(CLFSH), 1, "CLFLUSH" },
	{ SET(CMPXCHG16B), 2, "CMPXCHG16B" }, { SET(LAHF), 2, "LAHF" }, { SET(POPCNT), 2, "POPCNT" },
	{ SET(SSE3), 2, "SSE3" }, { SET(SSE3X87), 2, "SSE3" }, { SET(SSSE3), 2, "SSSE3" },
	{ SET(SSSE3MMX), 2, "SSSE3" }, { SET(SSE4), 2, "SSE4.1" }, { SET(SSE42), 2, "SSE4.2" },
	{ SET(AVX), 3, "AVX" }, { SET(AVX2), 3, "AVX2" }, { SET(AVX2GATHER), 3, "AVX2" },
	{ SET(BMI1), 3, "BMI1" }, { SET(BMI2), 3, "BMI2" }, { SET(F16C), 3, "F16C" },
	{ SET(FMA), 3, "FMA" }, { SET(LZCNT), 3, "LZCNT" }, { SET(MOVBE), 3, "MOVBE" },
	{ SET(XSAVE), 3, "XSAVE" },
	{ SET(AVX512F_128), 4, "AVX512VL" }, { SET(AVX512F_256), 4, "AVX512VL" },
	{ SET(AVX512F_128N), 4, "AVX512F" }, { SET(AVX512F_512), 4, "AVX512F" },
	{ SET(AVX512F_KOP), 4, "AVX512F" }, { SET(AVX512F_SCALAR), 4, "AVX512F" },
	{ SET(AVX512BW_128), 4, "AVX512BW" }, { SET(AVX512BW_256), 4, "AVX512BW" },
	{ SET(AVX512BW_128N), 4, "AVX512BW" }, { SET(AVX512BW_512), 4, "AVX512BW" },
	{ SET(AVX512BW_KOP), 4, "AVX512BW" },
	{ SET(AVX512CD_128), 4, "AVX512CD" }, { SET(AVX512CD_256), 4, "AVX512CD" },
	{ SET(AVX512CD_512), 4, "AVX512CD" },
	{ SET(AVX512DQ_128), 4, "AVX512DQ" }, { SET(AVX512DQ_256), 4, "AVX512DQ" },
	{ SET(AVX512DQ_128N), 4, "AVX512DQ" }, { SET(AVX512DQ_512), 4, "AVX512DQ" },
	{ SET(AVX512DQ_KOP), 4, "AVX512DQ" }, { SET(AVX512DQ_SCALAR), 4, "AVX512DQ" },
};

/* Instructions whose level is not the level of their set in `sets`. */
#define IS(name) ZYDIS_MNEMONIC_##name
static const struct { ZydisMnemonic mnemonic; ZydisISASet set; int level; const char *name; } odd[] = {
	/* a processor without CET executes these as nops */
	{ IS(ENDBR32), SET(CET), 1, "x86" }, { IS(ENDBR64), SET(CET), 1, "x86" },
	/* a processor without BMI1 runs it as bsf; compilers emit it as "rep bsf" at every level */
	{ IS(TZCNT), SET(BMI1), 1, "x86" },
	/* the 128-bit form, which Zydis lists under AVX; no level has PCLMULQDQ */
	{ IS(VPCLMULQDQ), SET(AVX), KL_ISA_NO_LEVEL, "PCLMULQDQ" },
};

static const char calls[] = "calls the system", clock[] = "reads a clock or counter",
	asks[] = "asks which processor it runs on", draws[] = "draws random numbers",
	port[] = "does port I/O", protects[] = "changes protection or segments",
	transacts[] = "starts a transaction", far[] = "jumps out of its segment",
	special[] = "uses a privileged instruction";
static const struct { ZydisMnemonic mnemonic; const char *harm; } harmful[] = {
	{ IS(SYSCALL), calls }, { IS(SYSENTER), calls }, { IS(SYSRET), calls }, { IS(SYSEXIT), calls },
	{ IS(INT), calls }, { IS(INT1), calls }, { IS(INTO), calls },
	{ IS(RDTSC), clock }, { IS(RDTSCP), clock }, { IS(RDPMC), clock }, { IS(RDPRU), clock },
	{ IS(TPAUSE), clock }, { IS(UMWAIT), clock }, { IS(UMONITOR), clock },
	{ IS(CPUID), asks }, { IS(XGETBV), asks }, { IS(SGDT), asks }, { IS(SIDT), asks },
	{ IS(SLDT), asks }, { IS(STR), asks }, { IS(SMSW), asks }, { IS(RDPID), asks },
	/* Linux stores the number of the processor in the limit of a segment */
	{ IS(LSL), asks }, { IS(LAR), asks },
	{ IS(XSAVE), asks }, { IS(XSAVE64), asks }, { IS(XSAVEC), asks }, { IS(XSAVEC64), asks },
	{ IS(XSAVEOPT), asks }, { IS(XSAVEOPT64), asks }, { IS(XSAVES), asks }, { IS(XSAVES64), asks },
	{ IS(RDRAND), draws }, { IS(RDSEED), draws }, { IS(XSTORE), draws },
	{ IS(IN), port }, { IS(OUT), port }, { IS(INSB), port }, { IS(INSW), port }, { IS(INSD), port },
	{ IS(OUTSB), port }, { IS(OUTSW), port }, { IS(OUTSD), port },
	{ IS(WRPKRU), protects }, { IS(RDPKRU), protects }, { IS(WRFSBASE), protects },
	{ IS(WRGSBASE), protects }, { IS(RDFSBASE), protects }, { IS(RDGSBASE), protects },
	{ IS(SWAPGS), protects }, { IS(LFS), protects }, { IS(LGS), protects }, { IS(LSS), protects },
	{ IS(WRSSD), protects }, { IS(WRSSQ), protects }, { IS(INCSSPD), protects },
	{ IS(INCSSPQ), protects },
	/* these can restore the protection keys, too */
	{ IS(XRSTOR), protects }, { IS(XRSTOR64), protects },
	{ IS(XRSTORS), protects }, { IS(XRSTORS64), protects },
	{ IS(XBEGIN), transacts }, { IS(XEND), transacts },
	{ IS(XABORT), transacts }, { IS(XTEST), transacts },
	{ IS(IRET), far }, { IS(IRETD), far }, { IS(IRETQ), far },
	{ IS(VMCALL), special }, { IS(VMMCALL), special }, { IS(VMFUNC), special }, { IS(ENCLU), special },
	{ IS(ENQCMD), special }, { IS(SENDUIPI), special }, { IS(CLUI), special }, { IS(STUI), special },
	{ IS(TESTUI), special }, { IS(UIRET), special }, { IS(GETSEC), special }, { IS(PTWRITE), special },
	{ IS(MONITOR), special }, { IS(MWAIT), special },
	{ IS(MONITORX), special }, { IS(MWAITX), special },
	{ IS(CLI), special }, { IS(STI), special }, { IS(TDCALL), special }, { IS(SEAMCALL), special },
};
/* clang-format on */

static const char *harm_of(const ZydisDecodedInstruction *insn)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(harmful); i++)
		if (harmful[i].mnemonic == insn->mnemonic)
			return harmful[i].harm;
	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return far;
	return insn->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ? special : NULL;
}

static void find_set(struct kl_isa_insn *out, const ZydisDecodedInstruction *insn)
{
	out->level = KL_ISA_NO_LEVEL;
	out->set = ZydisISASetGetString(insn->meta.isa_set);
	for (size_t i = 0; i < KL_ARRAY_SIZE(sets); i++) {
		if (sets[i].set != insn->meta.isa_set)
			continue;
		out->level = sets[i].level;
		out->set = sets[i].name;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(odd); i++) {
		if (odd[i].mnemonic != insn->mnemonic || odd[i].set != insn->meta.isa_set)
			continue;
		out->level = odd[i].level;
		out->set = odd[i].name;
	}
}

int kl_isa_level(const char *march)
{
	int level = 1;
	char rest;

	if (!strcmp(march, "x86-64"))
		return 1;
	return sscanf(march, "x86-64-v%d%c", &level, &rest) == 1 && level >= 2 &&
			       level <= KL_ISA_LEVELS ?
		       level :
		       0;
}

bool kl_isa_decode(struct kl_isa_insn *out, const unsigned char *bytes, size_t n)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &insn)))
		return false;
	*out = (struct kl_isa_insn){
		.len = insn.length,
		.name = ZydisMnemonicGetString(insn.mnemonic),
		.harm = harm_of(&insn),
	};
	find_set(out, &insn);
	return true;
}

/* ---- registers ---- */

/* Return the bit of a register in kl_isa_flow; 0 if there is none. */
static uint64_t register_bit(ZydisRegister reg)
{
	ZydisRegisterClass class;
	int id;

	reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	class = ZydisRegisterGetClass(reg);
	id = ZydisRegisterGetId(reg);
	if (class == ZYDIS_REGCLASS_FLAGS)
		return UINT64_C(1) << 56;
	if (class == ZYDIS_REGCLASS_GPR64 && id >= 0 && id < 16)
		return UINT64_C(1) << id;
	if (class == ZYDIS_REGCLASS_ZMM && id >= 0 && id < 32)
		return UINT64_C(1) << (16 + id);
	if (class == ZYDIS_REGCLASS_MASK && id >= 0 && id < 8)
		return UINT64_C(1) << (48 + id);
	return 0;
}

static void add_operand(struct kl_isa_flow *flow, const ZydisDecodedOperand *operand)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		flow->reads |= register_bit(operand->mem.base) | register_bit(operand->mem.index);
		flow->loads |= operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
			       (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		return;
	}
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		flow->reads |= register_bit(operand->reg.value);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		flow->writes |= register_bit(operand->reg.value);
	/* if the condition is false, the old value stays, so the register counts as read */
	if (operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)
		flow->reads |= register_bit(operand->reg.value);
}

/*
 * Return true if both sources are the same register, and the result does not depend on its value.
 */
static bool is_constant(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand)
{
	static const ZydisMnemonic idioms[] = {
		IS(XOR),     IS(SUB),     IS(PXOR),    IS(VPXOR),    IS(VPXORD),   IS(VPXORQ),
		IS(XORPS),   IS(XORPD),   IS(VXORPS),  IS(VXORPD),   IS(PSUBB),    IS(PSUBW),
		IS(PSUBD),   IS(PSUBQ),   IS(VPSUBB),  IS(VPSUBW),   IS(VPSUBD),   IS(VPSUBQ),
		IS(PCMPEQB), IS(PCMPEQW), IS(PCMPEQD), IS(VPCMPEQB), IS(VPCMPEQW), IS(VPCMPEQD),
	};
	unsigned last = insn->operand_count_visible, before = last - 1;
	bool idiom = false;

	for (size_t i = 0; i < KL_ARRAY_SIZE(idioms); i++)
		idiom |= idioms[i] == insn->mnemonic;
	return idiom && last >= 2 && operand[last - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand[before - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand[last - 1].reg.value == operand[before - 1].reg.value;
}

bool kl_isa_flow(struct kl_isa_flow *out, const unsigned char *bytes, size_t n)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &insn, operand)))
		return false;
	*out = (struct kl_isa_flow){ .clears = is_constant(&insn, operand) };
	for (unsigned i = 0; i < insn.operand_count; i++)
		add_operand(out, &operand[i]);
	return true;
}
