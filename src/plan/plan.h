/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_PLAN_H
#define KL_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "text/json.h"

/*
 * plan - the launch plan of device code (docs/formats.md, "The launch plan"): what is
 * launched in which order, with which grids, arguments, tensor maps and scratch.
 * Data, never code: the worker carries it out itself.
 *
 * It is read twice. git-klineage parses launch.yaml, finds what is wrong with it
 * and puts it into the job as JSON of the same structure; klineage-worker parses that
 * again, since a job is input like any other, and resolves it, since only
 * it knows the device. Both use this file; the layer stands on base and text's
 * JSON alone.
 *
 *	kl_plan_parse(&plan, doc, &names);
 *	kl_plan_resolve(&at, plan, dims, &facts);	numbers for one point
 */
#define KL_PLAN_MAX_LAUNCHES 16		/* of `launch`, and of `prepare` */
#define KL_PLAN_MAX_ARGS 64
#define KL_PLAN_MAX_MAPS 16
#define KL_PLAN_MAX_SCRATCH 16
#define KL_PLAN_MAX_PARAM_BYTES 4096

struct kl_plan;

/* What expressions and arguments may name. Borrowed during kl_plan_parse only. */
struct kl_plan_names {
	const char *const *dim;		/* the case's dims, in order */
	size_t ndim;
	const char *const *tensor;	/* name of each contract argument, NULL where it is no tensor */
	const int *naxes;
	size_t ntensor;			/* = number of contract arguments */
};

/* Device facts that expressions may use: `sms`, `smem_optin`, `cc`, `l2`. */
struct kl_plan_facts {
	int64_t sms;		/* multiprocessors */
	int64_t smem_optin;	/* bytes of shared memory a block may ask for */
	int64_t cc;		/* 90 for 9.0 */
	int64_t l2;		/* bytes */
};

/**
 * KL_EINVALID: the message begins with the place, "launch[0].grid[1]: ...", which
 * `place` (KL_PLAN_PLACE bytes, or NULL) also gets alone, so that who has the
 * YAML can say the line.
 */
#define KL_PLAN_PLACE 160
int kl_plan_parse(struct kl_plan **out, const json_t *doc, const struct kl_plan_names *names,
		  char *place);
void kl_plan_free(struct kl_plan *p);
KL_DEFINE_CLEANUP(struct kl_plan *, kl_plan_free)

/* -- resolved: everything a number ----------------------------------------- */

enum kl_plan_init { KL_PLAN_POISON, KL_PLAN_ZERO, KL_PLAN_CARRY, KL_PLAN_PREPARE };

struct kl_plan_scratch {
	char name[64];
	enum kl_plan_init init;
	int64_t bytes;		/* at least 1 */
	int64_t align;		/* a power of two, at least 256 unless asked for less */
};

/* A tensor map, ready for cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col. */
enum kl_plan_map_kind { KL_PLAN_TILED, KL_PLAN_IM2COL };
struct kl_plan_map {
	char name[64];
	enum kl_plan_map_kind kind;
	bool of_scratch;
	int of;				/* contract argument, or scratch */
	int64_t offset;			/* bytes into it */
	int dtype;			/* CUtensorMapDataType */
	int rank;
	uint64_t dim[5];		/* innermost first */
	uint64_t stride[4];		/* bytes, from dim 1 */
	uint32_t box[5];		/* tiled */
	uint32_t elem[5];
	int lower[3], upper[3];		/* im2col, as many as rank - 2 */
	uint32_t channels, pixels;	/* im2col */
	int interleave, swizzle, l2, oob;	/* values of the CUDA enums */
	int64_t span;			/* bytes from offset that the map can reach; checked against the tensor */
};

enum kl_plan_arg_kind {
	KL_PLAN_TENSOR,		/* pointer: contract argument `index`, `offset` bytes in */
	KL_PLAN_SCRATCH,	/* pointer: scratch `index`, `offset` bytes in */
	KL_PLAN_MAP,		/* a CUtensorMap by value: map `index` */
	KL_PLAN_VALUE,		/* `size` bytes at `bits` */
	KL_PLAN_NULL,		/* a null pointer */
	KL_PLAN_BYTES,		/* a struct by value: `blob`, with `reloc` written over it */
};
struct kl_plan_reloc {
	int64_t at;			/* byte in the blob */
	enum kl_plan_arg_kind kind;	/* TENSOR, SCRATCH, MAP */
	int index;
	int64_t offset;
};
struct kl_plan_arg {
	enum kl_plan_arg_kind kind;
	int index;
	int64_t offset;
	int size;
	uint64_t bits;
	const uint8_t *blob;		/* lives as long as the plan */
	size_t nblob, nreloc;
	struct kl_plan_reloc reloc[8];
};

struct kl_plan_launch {
	char kernel[256];
	uint32_t grid[3], block[3];
	uint32_t cluster[3];		/* 0 0 0: none asked for */
	bool nonportable, cooperative, pdl;
	int64_t smem;			/* dynamic, bytes */
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
 * `dims` in the order of the names the plan was parsed with. KL_EINVALID: an expression
 * overflows, a grid or block is zero or too large, a map's field is out of its
 * range, reaches past its tensor ...; KL_ENO: a `require` does not hold, the message
 * says which and with what values; KL_ECANNOT: it needs more shared memory
 * than this device has.
 * `tensor_bytes[i]` is the size of contract argument i at this point.
 */
int kl_plan_resolve(struct kl_plan_at **out, const struct kl_plan *p, const int64_t *dims,
		    const int64_t *tensor_bytes, const struct kl_plan_facts *facts);
void kl_plan_at_free(struct kl_plan_at *a);
KL_DEFINE_CLEANUP(struct kl_plan_at *, kl_plan_at_free)

/** Kernels named by `launch` and `prepare`, each once, in order; borrowed. */
size_t kl_plan_kernels(const struct kl_plan *p, const char **out, size_t max);

#endif
