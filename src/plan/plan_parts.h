/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_PLAN_PARTS_H
#define KL_PLAN_PLAN_PARTS_H

#include "base/error.h"
#include "plan/expr.h"
#include "plan/limits.h"
#include "plan/plan.h"
#include "text/schema.h"

/*
 * plan_parts - declares a parsed plan, and the functions that parse and resolve its sections.
 *
 * Tables say how a plan is read (text/schema.h). Each section is read after the sections that it
 * uses. Every part keeps the node of the tree from which it was read, to report errors when it is
 * resolved:
 *
 *	return kl_yaml_error(plan->file, launch->smem.node, "%lld bytes ...");
 *
 * kl_plan.name has all names that an expression can use: the dims, the device facts, the constants
 * of `define`, then `let` in order. kl_expr_parse() gets the names that have been read so far.
 * Resolving computes an array of values in the same order.
 */
#define KL_PLAN_FACTS 4 /* sms, smem_optin, cc, l2 */
#define KL_PLAN_MAX_RELOC 8

/*
 * Each struct below that describes a part of a plan has this as its first member, where the value
 * types of plan_value.c find it.
 */
struct plan_part {
	const struct kl_plan *plan;
	const struct kl_yaml *node;
};

struct plan_expr {
	struct kl_expr *expr;       /* NULL if absent */
	const struct kl_yaml *node; /* NULL if absent */
};

/* A list of expressions. */
struct plan_exprs {
	struct plan_expr v[KL_MAX_AXES];
	size_t n;
	const struct kl_yaml *node; /* the list; NULL if absent */
};

struct plan_scratch {
	struct plan_part part;
	char name[64];
	/* dtype: index of a word of plan_scratch.c; init: enum kl_plan_init */
	int dtype, init;
	struct plan_exprs shape; /* in elements of `dtype`; absent if `bytes` is set */
	struct plan_expr bytes;
	int64_t align; /* in bytes */
};

struct plan_map {
	struct plan_part part;
	char name[64];
	int kind; /* enum kl_plan_map_kind */
	bool of_scratch;
	int of;                           /* index of the contract argument or scratch */
	int dtype;                        /* index into the table of plan_maps.c */
	int interleave, swizzle, l2, oob; /* values of the CUDA enums */
	struct plan_expr offset, channels, pixels;
	struct plan_exprs dim, stride, box, elem, lower, upper;
};

enum plan_value { VALUE_I32, VALUE_I64, VALUE_U32, VALUE_U64, VALUE_BITS };

struct plan_arg;
struct plan_reloc {
	struct plan_part part;
	const struct plan_arg *arg;
	int64_t at;
	enum kl_plan_arg_kind kind;
	int index;
	struct plan_expr offset;
};

struct plan_arg {
	struct plan_part part;
	bool prepare; /* belongs to a prepare launch */
	enum kl_plan_arg_kind kind;
	int index;             /* as in struct kl_plan_arg */
	struct plan_expr expr; /* offset of a pointer in bytes, or the value */
	/* type of the value; with VALUE_BITS the value is in `bits`, not in `expr` */
	enum plan_value value;
	int size; /* bytes of a value */
	uint64_t bits;
	uint8_t *blob; /* owned */
	size_t nblob, nreloc;
	struct plan_reloc reloc[KL_PLAN_MAX_RELOC];
};

struct plan_launch {
	struct plan_part part;
	bool prepare;
	char *kernel; /* name of the kernel in the source, or its symbol */
	char *symbol; /* symbol for a C++ name, once known; NULL if `kernel` is the symbol */
	struct plan_exprs grid, block, cluster;
	struct plan_expr smem;
	bool nonportable, cooperative, pdl;
	size_t nargs;
	struct plan_arg *arg;
};

struct plan_launches {
	struct plan_launch *v;
	size_t n;
};

struct kl_plan {
	unsigned refs; /* references in addition to the first */
	struct kl_yaml *tree;
	char *file; /* name for messages; NULL if the plan is from a job */
	struct kl_plan_compile compile;
	struct kl_plan_artefact artefact; /* `cubin` is NULL if there is none */
	int quirks;                       /* 0: none, 1: auto */

	size_t ndim, ntensor;
	/* name of each contract argument; NULL if it is not a tensor */
	char **tensor;
	struct kl_plan_scalar *scalar; /* one for each contract argument; owns its strings */
	/* the array and its strings are owned; in the order described above */
	const char **name;
	size_t nname;
	struct plan_expr let[KL_PLAN_MAX_NAMES], require[KL_PLAN_MAX_NAMES];
	size_t nlet, nrequire;

	struct plan_scratch scratch[KL_PLAN_MAX_SCRATCH];
	struct plan_map map[KL_PLAN_MAX_MAPS];
	size_t nscratch, nmap;
	struct plan_launches prepare, launch;
};

/* --- plan.c: names --------------------------------------------------------------- */

/** Return the names read so far, for kl_expr_parse(); borrowed. */
struct kl_expr_names kl_plan_expr_names(const struct kl_plan *plan);
void kl_plan_add_name(struct kl_plan *plan, const char *name);
bool kl_plan_has_name(const struct kl_plan *plan, const char *name);
/**
 * Return the index of the tensor or scalar of the contract, the scratch or the map with this name;
 * -1 if there is none.
 */
int kl_plan_find_tensor(const struct kl_plan *plan, const char *name);
int kl_plan_find_scalar(const struct kl_plan *plan, const char *name);
int kl_plan_find_scratch(const struct kl_plan *plan, const char *name);
int kl_plan_find_map(const struct kl_plan *plan, const char *name);

/* --- plan_value.c: values that several sections have ----------------------------- */

/**
 * Check that the table `schema` has every key of the map `node`. If a key asks for a cache policy,
 * the message says why a plan cannot set one.
 */
int kl_plan_check_keys(const struct kl_schema *schema, const char *file,
		       const struct kl_yaml *node);
/** Read as kl_schema_read() does, but report unknown keys before other errors. */
int kl_plan_read(void *obj, const struct kl_schema *schema, const char *file,
		 const struct kl_yaml *node);
/**
 * Check that a value is a map whose keys are C identifiers, and that the field allows their number.
 */
int kl_plan_check_map(const char *file, const struct kl_field *field, const struct kl_yaml *node);
/** Read a printable text, borrowed from `node`. A number, true, false or null needs quotes. */
int kl_plan_read_text(const char **out, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node);
/** Type of a string field with a printable text of at most 255 bytes. */
extern const struct kl_string_type kl_plan_text;
/** Read the name of a tensor or scratch, and set *kind and *index. */
int kl_plan_read_memory(enum kl_plan_arg_kind *kind, int *index, const struct plan_part *part,
			const struct kl_field *field, const struct kl_yaml *node);

/** Read an expression; it can use the names that the plan of `part` has so far. */
int kl_plan_read_expr(struct plan_expr *out, const struct plan_part *part,
		      const struct kl_field *field, const struct kl_yaml *node);
/** Value types for members of a part: for a struct plan_expr, and for a struct plan_exprs. */
extern const struct kl_value_type kl_plan_expr_value, kl_plan_exprs_value;

/**
 * Return true if the value is a whole number without quotes that fits into 64 bits; *out is the
 * number.
 */
bool kl_plan_whole_number(int64_t *out, const struct kl_yaml *node);
/** Return true if the value is this word without quotes. */
bool kl_plan_is_word(const struct kl_yaml *node, const char *word);

/* --- sections -------------------------------------------------------------------- */

/** Read all sections of plan->tree into `plan`. */
int kl_plan_read_document(struct kl_plan *plan);
/** Free the members that kl_plan_read_document() has read, even if it failed. */
void kl_plan_release_document(struct kl_plan *plan);

/* Value types of sections, which are members of struct kl_plan. */
extern const struct kl_value_type kl_plan_scratch_value, kl_plan_maps_value;
/** Value type of `launch` and of `prepare`, whose arguments cannot be tensors. */
extern const struct kl_value_type kl_plan_launches_value;
/** Value type of `args` of a launch. */
extern const struct kl_value_type kl_plan_args_value;

/* --- resolving ------------------------------------------------------------------- */

/* A plan while it is resolved. */
struct plan_point {
	const struct kl_plan *p;
	struct kl_plan_at *at;
	int64_t *value; /* value[i] is the value of p->name[i] */
	const int64_t *tensor_bytes;
	const struct kl_plan_facts *facts;
};

/** Evaluate an expression; *out is `dflt` if the expression is absent. */
int kl_plan_eval(int64_t *out, const struct plan_point *pt, const struct plan_expr *expr,
		 int64_t dflt);
/**
 * Evaluate as kl_plan_eval() does, and check that the value is from `min` to `max`. `what` names
 * the value in the error message.
 */
int kl_plan_eval_in(int64_t *out, const struct plan_point *pt, const struct plan_expr *expr,
		    int64_t min, int64_t max, const char *what);
/** Return the size of a tensor or scratch in bytes. */
int64_t kl_plan_memory_bytes(const struct plan_point *pt, bool scratch, int index);
/** Return the node of a key's value; the node of the part if the key is absent. */
const struct kl_yaml *kl_plan_key_node(const struct plan_part *part, const char *key);
/**
 * Check that the device has at least compute capability `cc` (90 for 9.0). Return KL_ECANNOT if it
 * does not. The message has the position of `node` and begins with `what`, such as "a cluster
 * needs".
 */
int kl_plan_need_cc(const struct plan_point *pt, const struct kl_yaml *node, int64_t cc,
		    const char *what);

/*
 * Each function resolves one section. Call them in this order, since a section uses the results of
 * the sections before it.
 */
int kl_plan_scratch_resolve(struct plan_point *pt);
int kl_plan_maps_resolve(struct plan_point *pt);
int kl_plan_launches_resolve(struct plan_point *pt);

#endif
