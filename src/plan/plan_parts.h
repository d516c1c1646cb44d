/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_PLAN_PARTS_H
#define KL_PLAN_PLAN_PARTS_H

#include "plan/limits.h"
#include "plan/plan_spot.h"

/*
 * plan_parts - a plan as it was parsed, and the pieces that parse and resolve it.
 *
 * All names that an expression may use stand in one table: the dims, the device
 * facts, the constants of `define`, then `let` in its order; kl_expr_parse() is shown as much
 * of it as is known at that place. Resolving fills an array of values of the same order.
 */
#define KL_PLAN_FACTS 4 /* sms, smem_optin, cc, l2 */
#define KL_PLAN_MAX_RELOC 8

struct plan_scratch {
	char name[64];
	enum kl_plan_init init;
	int64_t item; /* bytes of one element */
	size_t naxes;
	bool in_bytes; /* `bytes` is the one extent */
	struct kl_expr *shape[KL_MAX_AXES];
	int64_t align;
};

struct plan_map {
	char name[64];
	enum kl_plan_map_kind kind;
	bool of_scratch;
	int of;
	int dtype; /* index into the table of plan_maps.c */
	int rank;
	int interleave, swizzle, l2, oob;
	struct kl_expr *offset;                                /* NULL: 0 */
	struct kl_expr *dim[5], *stride[4], *box[5], *elem[5]; /* elem: NULL for 1 */
	struct kl_expr *lower[3], *upper[3], *channels, *pixels;
};

enum plan_value { VALUE_I32, VALUE_I64, VALUE_U32, VALUE_U64, VALUE_BITS };

struct plan_reloc {
	int64_t at;
	enum kl_plan_arg_kind kind;
	int index;
	struct kl_expr *offset;
};

struct plan_arg {
	enum kl_plan_arg_kind kind;
	int index;
	struct kl_expr *e; /* offset of a pointer, or the value; NULL: 0, or `bits` */
	enum plan_value value;
	int size;
	uint64_t bits;
	uint8_t *blob;
	size_t nblob, nreloc;
	struct plan_reloc reloc[KL_PLAN_MAX_RELOC];
};

struct plan_launch {
	char kernel[256];
	size_t ngrid, nblock, ncluster;
	struct kl_expr *grid[3], *block[3], *cluster[3], *smem;
	bool nonportable, cooperative, pdl;
	size_t nargs;
	struct plan_arg *arg;
};

struct kl_plan {
	unsigned refs; /* beside the first */
	json_t *doc;
	struct kl_plan_compile compile;
	struct kl_plan_artefact *artefact;
	bool quirks;

	size_t ndim, ntensor;
	char **tensor;                 /* by contract argument, NULL where it is none */
	struct kl_plan_scalar *scalar; /* likewise, own strings */
	const char **name;             /* own strings: dims, facts, defines, lets */
	size_t nname;
	struct kl_expr *let[KL_PLAN_MAX_NAMES];
	size_t nlet;
	struct kl_expr *require[KL_PLAN_MAX_NAMES];
	char *require_text[KL_PLAN_MAX_NAMES];
	size_t nrequire;

	struct plan_scratch scratch[KL_PLAN_MAX_SCRATCH];
	struct plan_map map[KL_PLAN_MAX_MAPS];
	struct plan_launch *prepare, *launch;
	size_t nscratch, nmap, nprepare, nlaunch;
};

/* A plan while it is resolved. */
struct plan_point {
	const struct kl_plan *p;
	struct kl_plan_at *at;
	int64_t *value; /* of p->name */
	const int64_t *tensor_bytes;
	const struct kl_plan_facts *facts;
	char *place;
};

/** The table so far, for kl_expr_parse(). */
struct kl_expr_names kl_plan_expr_names(const struct kl_plan *plan);
int kl_plan_find_tensor(const struct kl_plan *plan, const char *name);
int kl_plan_find_scratch(const struct kl_plan *plan, const char *name);
int kl_plan_find_map(const struct kl_plan *plan, const char *name);
/** A tensor or scratch: sets kind and index. */
int kl_plan_find_memory(enum kl_plan_arg_kind *kind, int *index, const struct kl_spot *at,
			const struct kl_plan *plan, const char *name);

int kl_plan_scratch_parse(struct kl_plan *plan, const struct kl_spot *at, const json_t *value);
int kl_plan_maps_parse(struct kl_plan *plan, const struct kl_spot *at, const json_t *value);
/** `launch`, or `prepare`, whose arguments may name no tensor. */
int kl_plan_launches_parse(struct kl_plan *plan, const struct kl_spot *at, const json_t *value,
			   bool prepare);

void kl_plan_maps_release(struct kl_plan *plan);
void kl_plan_launches_release(struct plan_launch *launch, size_t n);

/** Value of an expression; `dflt` for none. */
int kl_plan_eval(int64_t *out, const struct plan_point *pt, const struct kl_spot *at,
		 const struct kl_expr *expr, int64_t dflt);
/** The same, from `min` to `max`; `what` for the message. */
int kl_plan_eval_in(int64_t *out, const struct plan_point *pt, const struct kl_spot *at,
		    const struct kl_expr *expr, int64_t min, int64_t max, const char *what);
/** Bytes of the tensor or scratch. */
int64_t kl_plan_memory_bytes(const struct plan_point *pt, bool scratch, int index);

int kl_plan_scratch_resolve(struct plan_point *pt);
int kl_plan_maps_resolve(struct plan_point *pt);
int kl_plan_launches_resolve(struct plan_point *pt);

#endif
