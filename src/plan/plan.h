/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_PLAN_H
#define KL_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "text/json.h"
#include "text/yaml.h"

/*
 * plan - the launch plan of device code (docs/formats.md, "The launch plan"): what is
 * launched in which order, with which grids, arguments, tensor maps and scratch.
 * Data, never code: the worker carries it out itself.
 *
 * It is read twice, by the same tables. git-klineage parses launch.yaml, reports what is wrong with
 * it, and puts it into the job as JSON; klineage-worker parses that, since a job is input like any
 * other, and resolves it, since only it knows the device. Both are trees to the reader.
 *
 *	kl_plan_parse(&plan, tree, "launch.yaml", &names);	or kl_plan_parse_json(&plan, doc, &names)
 *	kl_plan_resolve(&at, plan, dims, bytes, &facts);	numbers for one point
 */
#define KL_PLAN_MAX_LAUNCHES 16 /* of `launch`, and of `prepare` */
#define KL_PLAN_MAX_ARGS 64
#define KL_PLAN_MAX_MAPS 16
#define KL_PLAN_MAX_SCRATCH 16
#define KL_PLAN_MAX_PARAM_BYTES 4096
#define KL_PLAN_MAX_NAMES 64 /* of `let`, of `define`, of `require` */

struct kl_plan;
struct kl_string_type;

/* A scalar of the contract, which a plan passes by its name. */
struct kl_plan_scalar {
	const char *name; /* NULL: this contract argument is no scalar */
	const char *dtype;
	double value;
};

/* What expressions and arguments may name. Borrowed during kl_plan_parse only. */
struct kl_plan_names {
	const char *const *dim; /* the case's dims, in order */
	size_t ndim;
	/* name of each contract argument, NULL where it is no tensor */
	const char *const *tensor;
	const int *naxes;                    /* may be NULL; not looked at */
	size_t ntensor;                      /* = number of contract arguments */
	const struct kl_plan_scalar *scalar; /* `ntensor` of them, or NULL: none */
};

/* Device facts that expressions may use: `sms`, `smem_optin`, `cc`, `l2`. */
struct kl_plan_facts {
	int64_t sms;        /* multiprocessors */
	int64_t smem_optin; /* bytes of shared memory a block may ask for */
	int64_t cc;         /* 90 for 9.0 */
	int64_t l2;         /* bytes */
	int64_t memory;     /* bytes that a device has, at most; 0: unknown */
};

/**
 * Parse a tree (text/yaml.h), which is taken even on failure. Its errors have a path:
 * "launch.yaml:7:12: launch[0].grid[1]: ...". `file` is NULL for a tree that is not of a file: then
 * they begin with the path. A `bytes: <file>` must have become {bytes: {hex: "..."}}.
 */
int kl_plan_parse(struct kl_plan **out, struct kl_yaml *tree, const char *file,
		  const struct kl_plan_names *names);
/** The same for the JSON of a job, which is kl_plan_to_json() of a plan. */
int kl_plan_parse_json(struct kl_plan **out, const json_t *doc, const struct kl_plan_names *names);
/** Another reference to a plan, which is never changed once parsed; not thread-safe. */
struct kl_plan *kl_plan_ref(struct kl_plan *plan);
/** Drop one reference. */
void kl_plan_free(struct kl_plan *plan);
KL_DEFINE_CLEANUP(struct kl_plan *, kl_plan_free)

/** The plan for a job, or for a child that parses it again; owned by the caller. */
json_t *kl_plan_to_json(const struct kl_plan *plan);
/** What it was parsed from; borrowed. */
const struct kl_yaml *kl_plan_tree(const struct kl_plan *plan);

/* How the source is compiled: `compile`. */
struct kl_plan_compile {
	char *arch;      /* "sm_90a"; NULL: that of the kernel (an oracle, an artefact) */
	const char *std; /* "c++17", the default */
	size_t ndefine;
	struct {
		char name[64];
		int64_t value;
	} define[KL_PLAN_MAX_NAMES];
};
const struct kl_plan_compile *kl_plan_compile(const struct kl_plan *plan);

/* An imported binary in place of a source: `artefact`. */
struct kl_plan_artefact {
	char *cubin; /* path beside the plan */
	char *sha256;
	char *producer, *source; /* NULL: unknown */
};
/** NULL: it is compiled from source. */
const struct kl_plan_artefact *kl_plan_artefact(const struct kl_plan *plan);

/** `quirks: auto`: what CUTLASS works round in old drivers' tensor maps is worked round here. */
bool kl_plan_quirks(const struct kl_plan *plan);

/* -- resolved: everything a number ----------------------------------------- */

enum kl_plan_init { KL_PLAN_POISON, KL_PLAN_ZERO, KL_PLAN_CARRY, KL_PLAN_PREPARE };

struct kl_plan_scratch {
	char name[64];
	enum kl_plan_init init;
	int64_t bytes; /* at least 1 */
	int64_t align; /* a power of two, at least 256 unless asked for less */
};

/* A tensor map, ready for cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col. */
enum kl_plan_map_kind { KL_PLAN_TILED, KL_PLAN_IM2COL };
struct kl_plan_map {
	char name[64];
	enum kl_plan_map_kind kind;
	bool of_scratch;
	int of;         /* contract argument, or scratch */
	int64_t offset; /* bytes into it */
	int dtype;      /* CUtensorMapDataType */
	int rank;
	uint64_t dim[5];    /* innermost first */
	uint64_t stride[4]; /* bytes, from dim 1 */
	uint32_t box[5];    /* tiled */
	uint32_t elem[5];
	int lower[3], upper[3];           /* im2col, as many as rank - 2 */
	uint32_t channels, pixels;        /* im2col */
	int interleave, swizzle, l2, oob; /* values of the CUDA enums */
	int64_t span;                     /* bytes that it can reach, checked; 0: interleaved */
};

enum kl_plan_arg_kind {
	KL_PLAN_TENSOR,  /* pointer: contract argument `index`, `offset` bytes in */
	KL_PLAN_SCRATCH, /* pointer: scratch `index`, `offset` bytes in */
	KL_PLAN_MAP,     /* a CUtensorMap by value: map `index` */
	KL_PLAN_VALUE,   /* `size` bytes at `bits` */
	KL_PLAN_NULL,    /* a null pointer */
	KL_PLAN_BYTES,   /* a struct by value: `blob`, with `reloc` written over it */
};
struct kl_plan_reloc {
	int64_t at;                 /* byte in the blob */
	enum kl_plan_arg_kind kind; /* TENSOR, SCRATCH, MAP */
	int index;
	int64_t offset;
};
struct kl_plan_arg {
	enum kl_plan_arg_kind kind;
	int index;
	int64_t offset;
	int size;
	uint64_t bits;
	const uint8_t *blob; /* lives as long as the plan */
	size_t nblob, nreloc;
	struct kl_plan_reloc reloc[8];
};

struct kl_plan_launch {
	char kernel[256];
	uint32_t grid[3], block[3];
	uint32_t cluster[3]; /* 0 0 0: none asked for */
	bool nonportable, cooperative, pdl;
	int64_t smem; /* dynamic, bytes */
	size_t nargs;
	struct kl_plan_arg arg[KL_PLAN_MAX_ARGS];
};

/* A plan at one point on one device. */
struct kl_plan_at {
	size_t nscratch, nmap, nprepare, nlaunch;
	struct kl_plan_scratch scratch[KL_PLAN_MAX_SCRATCH];
	struct kl_plan_map map[KL_PLAN_MAX_MAPS];
	struct kl_plan_launch *prepare, *launch;
};

/**
 * `dims` in the order of the names the plan was parsed with; `tensor_bytes[i]` is the size of
 * contract argument i at this point. Errors have the place, as those of kl_plan_parse():
 *
 * KL_EINVALID: an expression overflows, a grid or block is zero or too large, a map's field is out
 * of its range, reaches past its tensor ...
 * KL_ENO: a `require` does not hold; the message has its text and the values.
 * KL_ECANNOT: it needs more than this device has, such as shared memory.
 */
int kl_plan_resolve(struct kl_plan_at **out, const struct kl_plan *plan, const int64_t *dims,
		    const int64_t *tensor_bytes, const struct kl_plan_facts *facts);
void kl_plan_at_free(struct kl_plan_at *at);
KL_DEFINE_CLEANUP(struct kl_plan_at *, kl_plan_at_free)

/** Kernels named by `launch` and `prepare`, each once, in order; borrowed. */
size_t kl_plan_kernels(const struct kl_plan *plan, const char **out, size_t max);

/* -- architectures ----------------------------------------------------------- */

/**
 * Facts that a device of this architecture ("sm_90a") has, or may well have: sms and l2
 * are those of one product. KL_EINVALID names the known ones.
 */
int kl_plan_arch_facts(struct kl_plan_facts *out, const char *arch);
/** The name of an architecture, for tables (text/schema.h). */
extern const struct kl_string_type kl_plan_arch_string;
/** Does code for `arch` run on a device of compute capability `cc` (90 for 9.0)? */
bool kl_plan_arch_runs(const char *arch, int64_t cc);

#endif
