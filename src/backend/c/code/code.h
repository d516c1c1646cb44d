/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_CODE_H
#define KL_BACKEND_C_CODE_CODE_H

#include <stdbool.h>

#include "backend/c/link/object.h"
#include "backend/c/link/symbol_index.h"
#include "base/buf.h"
#include "base/vec.h"

/*
 * code - the instructions of a kernel's objects and their references: objdump's text combined with
 * the relocations that libelf reads. It gives the functions, the references between them and what
 * the entry reaches; the audit, the features and the code digest are computed from it.
 *
 *	objdump -dzw --no-show-raw-insn <objects>	(in the compile jail)
 *	kl_code_parse(&c, objects, n, text, len)	parse its output
 *	kl_code_audit(&c)				before linking
 *	kl_code_reach(&c, entry)
 *	kl_code_features(...), kl_code_digest(...)
 *
 * The text is parsed defensively: an unknown line is an error, never skipped, and the instructions
 * must cover each section without a gap.
 */
#define KL_CODE_MAX_INSNS 1000000

/* How the entry reaches an instruction (kl_code_live). */
enum kl_insn_use {
	KL_INSN_DEAD,    /* not at all */
	KL_INSN_POINTED, /* only through a pointer, or from what only a pointer reaches */
	KL_INSN_LIVE,    /* along calls, jumps and returns */
};

struct kl_insn {
	uint32_t addr, len;
	const char *op;      /* mnemonic without prefixes: "vaddps" */
	const char *args;    /* AT&T operands, "" if none */
	bool rep, lock, seg; /* prefixes; seg: %fs or %gs is used */
	enum kl_insn_use use;
};

enum kl_ref_kind { KL_REF_NONE, KL_REF_CODE, KL_REF_DATA, KL_REF_EXTERN };
struct kl_ref {
	enum kl_ref_kind kind;
	size_t func, insn; /* code: function, instruction (index in kl_code.insn) */
	size_t obj, sec;   /* data: object, section */
	int64_t off;       /* data: offset in the section */
	const char *name;  /* extern; borrowed */
};

struct kl_func {
	const char *name;
	size_t obj, sec;
	uint64_t start, end;
	size_t first, n; /* instructions: index of the first, number */
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
 * Parse the disassembly of `n` objects, which are borrowed and must outlive the code. KL_ENO: the
 * text is not understood, or contains bytes that are no instructions.
 */
int kl_code_parse(struct kl_code *out, const struct kl_object *const *obj, size_t n,
		  const char *text, size_t len);
void kl_code_release(struct kl_code *code);

/**
 * KL_ENO: the code has an instruction that no kernel needs (system call, clock, CPU identity ...),
 * or one on which the two disassemblers disagree; the message names it and its function.
 */
int kl_code_audit(const struct kl_code *code);

/**
 * Check the instruction sets of the code against the level of the platform ("x86-64", "x86-64-v2"
 * ...), after kl_code_live(). KL_ENO: the message names function and instruction set.
 */
int kl_code_check_level(const struct kl_code *code, const char *march);

/**
 * Mark each instruction by how the entry reaches it, after kl_code_reach(). Code that nothing
 * executes gives no facts, and code that only a pointer reaches gives weaker ones.
 */
void kl_code_live(struct kl_code *code);

/**
 * Mark the functions that the entry reaches: by calls, by jumps, or by an address taken in code or
 * in data that is referred to. KL_ENOTFOUND: `entry` is not defined.
 */
int kl_code_reach(struct kl_code *code, const char *entry);

/** Index of the function that contains an address of a section; nfunc if none does. */
size_t kl_code_func_at(const struct kl_code *code, size_t obj, size_t sec, uint64_t addr);
/** Index of the instruction that starts at an address of a function; ninsn if none does. */
size_t kl_code_insn_at(const struct kl_code *code, size_t func, uint64_t addr);

/**
 * Resolve what relocation `rel` of `obj` refers to. `end`: offset behind the instruction that it
 * patches (0: it patches data).
 */
void kl_code_ref(struct kl_ref *out, const struct kl_code *code, size_t obj, size_t rel,
		 uint64_t end);
/** Index of the relocation in instruction `i` of function `func`; nrel if there is none. */
size_t kl_code_insn_rel(const struct kl_code *code, size_t func, size_t i);
/** The bytes of instruction `i` of `func`, and how many follow in its section; NULL if none. */
const unsigned char *kl_code_insn_bytes(size_t *n, const struct kl_code *code, size_t func,
					size_t i);
/** Resolve what instruction `i` of `func` refers to (a relocated operand or a direct branch). */
void kl_code_insn_ref(struct kl_ref *out, const struct kl_code *code, size_t func, size_t i);

/**
 * Resolve where a call or jump goes. It can be direct, or through a pointer in memory that nothing
 * changes: a slot of the global offset table, or a constant that is not indexed. KL_REF_NONE: it
 * depends on data.
 */
void kl_code_branch_target(struct kl_ref *out, const struct kl_code *code, size_t func, size_t i);

bool kl_insn_is_jump(const struct kl_insn *insn);       /* jmp, conditional, loop */
bool kl_insn_is_plain_jump(const struct kl_insn *insn); /* jmp */
bool kl_insn_is_call(const struct kl_insn *insn);
bool kl_insn_is_end(const struct kl_insn *insn);      /* ret, ud2, hlt: nothing follows */
bool kl_insn_is_indirect(const struct kl_insn *insn); /* operand starts with '*' */
bool kl_insn_is_nop(const struct kl_insn *insn);
/** Width in bits of the widest vector register it names: 0, 128, 256 or 512. */
int kl_insn_width(const struct kl_insn *insn);

/**
 * Write to `depth` how many loops surround each instruction of a function (one entry each). False
 * if the control flow is unknown (several jumps through tables, a table that cannot be read, or too
 * many blocks).
 */
bool kl_code_loops(const struct kl_code *code, size_t func, unsigned *depth);
/** Does the function jump through a table? Only jumps with at least this use count. */
bool kl_code_has_table(const struct kl_code *code, size_t func, enum kl_insn_use use);

/* Instructions of one function, as indices. */
struct kl_targets {
	size_t *v, n, alloc;
};
void kl_targets_release(struct kl_targets *targets);
/**
 * List the instructions that the function's tables of its own addresses contain; a jump through a
 * pointer can go to any of them. False: a table cannot be read.
 */
bool kl_code_table_targets(struct kl_targets *out, const struct kl_code *code, size_t func);

/* A branch of the reached code whose target the data decide. */
struct kl_open_branch {
	const char *func; /* function; borrowed from the code */
	const char *how;  /* "calls through a pointer" */
};
/** Is there one? After kl_code_reach(). Jumps through tables count, whatever their range. */
bool kl_code_open_branch(struct kl_open_branch *out, const struct kl_code *code);

/**
 * KL_ENO: the bytes of `text`, code that was linked from the objects, hide an instruction that
 * nothing stops, and the code has an open branch that could land there (backend/c/code/hidden.h).
 */
int kl_code_check_hidden(const struct kl_code *code, const unsigned char *text, size_t n);

/** Add the features of the reached code (docs/formats.md, "features"): sorted, unique. */
void kl_code_features(struct kl_strvec *out, const struct kl_code *code);
/** SHA-256 of the reached code and data, with addresses and names normalized. */
void kl_code_digest(char hex[65], const struct kl_code *code);

#endif
