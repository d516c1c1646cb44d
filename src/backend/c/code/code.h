/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_CODE_H
#define KL_BACKEND_C_CODE_CODE_H

#include <stdbool.h>

#include "backend/c/link/object.h"
#include "backend/c/link/reached.h"
#include "backend/c/link/symbol_index.h"
#include "base/buf.h"
#include "base/vec.h"

/*
 * code - reads the instructions of a kernel's objects: objdump's text, combined with the
 * relocations that libelf reads. From both it finds the functions, the references between them, and
 * the code and data that the entry reaches. The audit, the features and the code digest use the
 * result.
 *
 *	objdump -dzw --no-show-raw-insn <objects>	(in the compile jail)
 *	kl_code_parse(&c, objects, n, text, len)	parse its output
 *	kl_code_audit(&c, reached)			before linking
 *	kl_code_reach(&c, entries)
 *	kl_code_features(...), kl_code_digest(...)
 *
 * The text is not trusted: an unknown line is an error, never skipped, and the instructions must
 * cover each section without a gap.
 */
#define KL_CODE_MAX_INSNS 1000000

/* How the entry reaches an instruction (see kl_code_live). */
enum kl_insn_use {
	KL_INSN_DEAD,    /* the entry does not reach it */
	KL_INSN_POINTED, /* only after a call or jump through a pointer */
	KL_INSN_LIVE,    /* along calls, jumps and returns whose targets are known */
};

struct kl_insn {
	uint32_t addr, len;
	const char *op;   /* mnemonic without prefixes: "vaddps" */
	const char *args; /* AT&T operands, "" if there is none */
	/* `rep` and `lock` if it has this prefix, `seg` if it uses %fs or %gs */
	bool rep, lock, seg;
	enum kl_insn_use use;
};

enum kl_ref_kind { KL_REF_NONE, KL_REF_CODE, KL_REF_DATA, KL_REF_EXTERN };
struct kl_ref {
	enum kl_ref_kind kind;
	/*
	 * for CODE: indices in kl_code.func and kl_code.insn; insn is ninsn if no instruction
	 * starts there
	 */
	size_t func, insn;
	size_t obj, sec;  /* for DATA: object and section */
	int64_t off;      /* for DATA: offset in the section; for EXTERN: offset from the symbol */
	const char *name; /* for EXTERN: the symbol; borrowed */
};

struct kl_func {
	const char *name;
	size_t obj, sec;
	uint64_t start, end;
	size_t first, n; /* its instructions: index of the first, and number */
	bool reached;
};

struct kl_code {
	const struct kl_object *const *obj;
	size_t nobj;
	char *text; /* the disassembly; op and args point into it */
	struct kl_insn *insn;
	size_t ninsn, alloc_insn;
	struct kl_func *func; /* sorted by object, section, address */
	size_t nfunc, alloc_func;
	struct kl_symbol_index global;
	size_t *order; /* reached functions, in order of first reference */
	size_t norder;
};

/**
 * Parse the disassembly of `n` objects. The objects are borrowed and must outlive the code. Return
 * KL_ENO if the text cannot be parsed, or contains bytes that are not instructions.
 */
int kl_code_parse(struct kl_code *out, const struct kl_object *const *obj, size_t n,
		  const char *text, size_t len);
void kl_code_release(struct kl_code *code);

/**
 * Check all code of the sections in `reached`, which are the linked sections (NULL for all
 * sections), including functions that the entry does not reach. Return KL_ENO if the code contains
 * an instruction that no kernel needs (system call, clock, CPU identity ...), or an instruction
 * whose length is not the same for objdump and Zydis; the message names the instruction and the
 * function.
 */
int kl_code_audit(const struct kl_code *code, const struct kl_reached *reached);

/**
 * Check that the level of the platform (`march`: "x86-64", "x86-64-v2" ...) has all instruction
 * sets that the code uses. Call kl_code_live() first. Return KL_ENO if the level lacks one. The
 * message names the function and the instruction set.
 */
int kl_code_check_level(const struct kl_code *code, const char *march);

/**
 * Set `use` of each instruction to how the entry reaches it. Call kl_code_reach() first.
 * Instructions that are not executed give no features; instructions that are reached only through a
 * pointer give features with the prefix "pointer.".
 */
void kl_code_live(struct kl_code *code);

/**
 * Mark the functions that the entries reach: functions that reached code calls or jumps to, and
 * functions whose address is in reached code or in data that reached code refers to. `entries` is
 * NULL-terminated. Only the first entry counts as executed (kl_code_live). Return KL_ENOTFOUND if
 * the first entry is not defined; the other entries may be missing.
 */
int kl_code_reach(struct kl_code *code, const char *const *entries);

/**
 * Return the index of the function that contains an address in a section; nfunc if there is none.
 */
size_t kl_code_func_at(const struct kl_code *code, size_t obj, size_t sec, uint64_t addr);
/**
 * Return the index of the instruction that starts at an address in a function; ninsn if there is
 * none.
 */
size_t kl_code_insn_at(const struct kl_code *code, size_t func, uint64_t addr);

/**
 * Find the target of relocation `rel` of object `obj`. `end` is the offset of the end of the
 * instruction that the relocation patches, or 0 if it patches data.
 */
void kl_code_ref(struct kl_ref *out, const struct kl_code *code, size_t obj, size_t rel,
		 uint64_t end);
/**
 * Return the index of the relocation in instruction `i` of function `func`; the object's nrel if
 * there is none.
 */
size_t kl_code_insn_rel(const struct kl_code *code, size_t func, size_t i);
/**
 * Return the bytes of instruction `i` of function `func`, and set *n to the number of bytes up to
 * the end of the section. Return NULL if the section has no such bytes.
 */
const unsigned char *kl_code_insn_bytes(size_t *n, const struct kl_code *code, size_t func,
					size_t i);
/**
 * Find the target of instruction `i` of function `func`: that of a direct branch, or of an operand
 * with a relocation.
 */
void kl_code_insn_ref(struct kl_ref *out, const struct kl_code *code, size_t func, size_t i);

/**
 * Find the target of a call or jump. The target is known if the branch is direct, or goes through a
 * pointer that code cannot change: a slot of the global offset table, or a constant that is not
 * indexed. It is KL_REF_NONE if it depends on data.
 */
void kl_code_branch_target(struct kl_ref *out, const struct kl_code *code, size_t func, size_t i);

bool kl_insn_is_jump(const struct kl_insn *insn);       /* jmp, jcc, loop, xbegin */
bool kl_insn_is_plain_jump(const struct kl_insn *insn); /* jmp */
bool kl_insn_is_call(const struct kl_insn *insn);
/* ret, ud2, hlt: execution does not continue after it */
bool kl_insn_is_end(const struct kl_insn *insn);
bool kl_insn_is_indirect(const struct kl_insn *insn); /* its operand starts with '*' */
bool kl_insn_is_nop(const struct kl_insn *insn);
/**
 * Return the width in bits of the widest vector register that the instruction names: 128, 256 or
 * 512; 0 if there is none.
 */
int kl_insn_width(const struct kl_insn *insn);

/**
 * Write the number of loops around each instruction of a function to `depth`, which has an element
 * for each instruction. Return false if the control flow is unknown: the function has several jumps
 * through tables, a table that cannot be read, or too many blocks.
 */
bool kl_code_loops(const struct kl_code *code, size_t func, unsigned *depth);
/**
 * Return true if the function has a jump through a table. Jumps whose use is lower than `use` do
 * not count.
 */
bool kl_code_has_table(const struct kl_code *code, size_t func, enum kl_insn_use use);

/**
 * Count the independent accumulators in each loop of the function that is a single block, and
 * return the largest count. An accumulator is a value that the loop keeps in a register, and to
 * which each iteration adds what it loads. An accumulator to which another one is added is not
 * independent. Loops whose use is lower than `use` do not count.
 */
unsigned kl_code_accumulators(const struct kl_code *code, size_t func, enum kl_insn_use use);

/**
 * Return true if instruction `i` of the function looks up bytes in a vector register as in a table:
 * it is a pshufb whose control is computed. (If the control is loaded, the pshufb moves bytes to
 * fixed places.)
 */
bool kl_code_table_shuffle(const struct kl_code *code, size_t func, size_t i);

/* Indices of instructions of one function. */
struct kl_targets {
	size_t *v, n, alloc;
};
void kl_targets_release(struct kl_targets *targets);
/**
 * List the instructions whose addresses are in jump tables of the function; a jump through a table
 * can go to any of them. Return false if a table cannot be read.
 */
bool kl_code_table_targets(struct kl_targets *out, const struct kl_code *code, size_t func);

/* An open branch: a call, jump or return whose target depends on data. */
struct kl_open_branch {
	const char *func; /* name of its function; borrowed from the code */
	const char *how;  /* what the function does: "calls through a pointer" */
};
/**
 * Find an open branch in the reached code. Return false if there is none. Call kl_code_reach()
 * first. Every jump through a table counts as an open branch.
 */
bool kl_code_open_branch(struct kl_open_branch *out, const struct kl_code *code);

/** Do the same as kl_code_open_branch(), but ignore returns. */
bool kl_code_pointer_branch(struct kl_open_branch *out, const struct kl_code *code);

/**
 * Check `text`, the linked code of the objects. Return KL_ENO if its bytes hide an instruction that
 * neither the seal nor the processor stops (backend/c/code/hidden.h), and the code has an open
 * branch that could land there.
 */
int kl_code_check_hidden(const struct kl_code *code, const unsigned char *text, size_t n);

/** Add the features of the code to `out`, sorted and unique (docs/formats.md, "features"). */
void kl_code_features(struct kl_strvec *out, const struct kl_code *code);

/** Return true if a kernel in C or C++ can have a feature of this name. */
bool kl_code_has_feature(const char *name);
/** Compute the SHA-256 of the reached code and data, with addresses and names normalized. */
void kl_code_digest(char hex[65], const struct kl_code *code);

#endif
