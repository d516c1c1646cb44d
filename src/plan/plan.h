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
 * plan - parses and resolves the launch plan of device code (docs/formats.md, "The launch plan"):
 * the launches in order, with their grids, arguments, tensor maps and scratch. A plan is data, not
 * code: the worker carries it out.
 *
 * A plan is parsed twice, by the same tables. git-klineage parses launch.yaml, reports its errors,
 * and writes it into the job as JSON. klineage-worker parses that JSON, because a job is untrusted
 * input, and resolves the plan, because only the worker knows the device.
 *
 *	kl_plan_parse(&plan, tree, "launch.yaml", &names);
 *	kl_plan_parse_json(&plan, doc, &names);		in the worker
 *	kl_plan_resolve(&at, plan, dims, bytes, &facts);	the numbers at one point
 */
#define KL_PLAN_MAX_LAUNCHES 16 /* maximum number of launches in `launch`, and in `prepare` */
#define KL_PLAN_MAX_ARGS 64
#define KL_PLAN_MAX_MAPS 16
#define KL_PLAN_MAX_SCRATCH 16
#define KL_PLAN_MAX_PARAM_BYTES 4096
#define KL_PLAN_MAX_SYMBOL 1024 /* bytes of the symbol of a kernel, with the final NUL */
/* maximum number of entries in each of `let`, `define` and `require` */
#define KL_PLAN_MAX_NAMES 64

struct kl_plan;
struct kl_string_type;

/* A scalar of the contract, which a plan can pass by its name. */
struct kl_plan_scalar {
	const char *name; /* NULL if this contract argument is not a scalar */
	const char *dtype;
	double value;
};

/* The names that expressions and arguments can use. Borrowed only during kl_plan_parse(). */
struct kl_plan_names {
	const char *const *dim; /* the case's dims, in order */
	size_t ndim;
	/* name of each contract argument; NULL if it is not a tensor */
	const char *const *tensor;
	size_t ntensor; /* number of contract arguments */
	/* one for each contract argument; NULL if there are no scalars */
	const struct kl_plan_scalar *scalar;
};

/* Device facts that expressions can use: `sms`, `smem_optin`, `cc`, `l2`. */
struct kl_plan_facts {
	int64_t sms;        /* multiprocessors */
	int64_t smem_optin; /* bytes of shared memory that a block can request */
	int64_t cc;         /* 90 for 9.0 */
	int64_t l2;         /* bytes of the L2 cache */
	int64_t memory;     /* bytes of the largest memory that the device can have; 0 if unknown */
};

/**
 * Parse a tree (text/yaml.h), taking ownership of it even on failure. Errors have the path of the
 * value: "launch.yaml:7:12: launch[0].grid[1]: ...". `file` is NULL for a tree that does not come
 * from a file; errors then begin with the path. The caller must have replaced each `bytes: <file>`
 * by {bytes: {hex: "..."}}.
 */
int kl_plan_parse(struct kl_plan **out, struct kl_yaml *tree, const char *file,
		  const struct kl_plan_names *names);
/**
 * Parse a plan in a job, as kl_plan_to_json() returns it; otherwise the same as kl_plan_parse().
 */
int kl_plan_parse_json(struct kl_plan **out, const json_t *doc, const struct kl_plan_names *names);
/** Add a reference; a parsed plan is never changed. Not thread-safe. */
struct kl_plan *kl_plan_ref(struct kl_plan *plan);
/** Drop one reference. */
void kl_plan_free(struct kl_plan *plan);
KL_DEFINE_CLEANUP(struct kl_plan *, kl_plan_free)

/** Return the plan as JSON, for a job or for a child process; the caller frees it. */
json_t *kl_plan_to_json(const struct kl_plan *plan);
/** Return the tree from which the plan was parsed; borrowed. */
const struct kl_yaml *kl_plan_tree(const struct kl_plan *plan);

/* The section `compile`: how the source is compiled. */
struct kl_plan_compile {
	/* "sm_90a"; NULL to use the kernel's architecture (for an oracle or artefact) */
	char *arch;
	const char *std; /* "c++17", the default */
	size_t ndefine;
	struct {
		char name[64];
		int64_t value;
	} define[KL_PLAN_MAX_NAMES];
};
const struct kl_plan_compile *kl_plan_compile(const struct kl_plan *plan);

/* The section `artefact`: an imported binary instead of a source. */
struct kl_plan_artefact {
	char *cubin; /* path beside the plan */
	char *sha256;
	char *producer, *source; /* NULL if unknown */
};
/** Return the section `artefact`; NULL if there is none, and the kernel is compiled from source. */
const struct kl_plan_artefact *kl_plan_artefact(const struct kl_plan *plan);

/**
 * Return true if the plan has `quirks: auto`, which asks for the workarounds of CUTLASS for the
 * tensor maps of old drivers.
 */
bool kl_plan_quirks(const struct kl_plan *plan);

/* -- a resolved plan: expressions became numbers ---------------------------- */

enum kl_plan_init { KL_PLAN_POISON, KL_PLAN_ZERO, KL_PLAN_CARRY, KL_PLAN_PREPARE };

struct kl_plan_scratch {
	char name[64];
	enum kl_plan_init init;
	int64_t bytes; /* at least 1 */
	int64_t align; /* a power of two, at least 256 unless the plan sets a lower one */
};

/* A tensor map, ready for cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col. */
enum kl_plan_map_kind { KL_PLAN_TILED, KL_PLAN_IM2COL };
struct kl_plan_map {
	char name[64];
	enum kl_plan_map_kind kind;
	bool of_scratch;
	int of;         /* index of the contract argument or scratch */
	int64_t offset; /* offset of the map in that argument or scratch, in bytes */
	int dtype;      /* CUtensorMapDataType */
	int rank;
	uint64_t dim[5];    /* innermost first */
	uint64_t stride[4]; /* in bytes; stride[i] belongs to dim i + 1 */
	uint32_t box[5];    /* tiled */
	uint32_t elem[5];
	int lower[3], upper[3];           /* im2col; rank - 2 entries */
	uint32_t channels, pixels;        /* im2col */
	int interleave, swizzle, l2, oob; /* values of the CUDA enums */
	/* bytes that the map can access; 0 if not computed, because the map is interleaved */
	int64_t span;
};

enum kl_plan_arg_kind {
	KL_PLAN_TENSOR,  /* pointer to byte `offset` of contract argument `index` */
	KL_PLAN_SCRATCH, /* pointer to byte `offset` of scratch `index` */
	KL_PLAN_MAP,     /* a CUtensorMap by value: map `index` */
	KL_PLAN_VALUE,   /* a number: the first `size` bytes of `bits` */
	KL_PLAN_NULL,    /* a null pointer */
	KL_PLAN_BYTES,   /* a struct by value: `blob`, into which the `reloc` entries are written */
};
struct kl_plan_reloc {
	int64_t at;                 /* offset in the blob, in bytes */
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
	char kernel[256];                /* name of the kernel in the plan, for messages */
	char symbol[KL_PLAN_MAX_SYMBOL]; /* name of the kernel in the cubin */
	uint32_t grid[3], block[3];
	uint32_t cluster[3]; /* 0 0 0: no cluster */
	bool nonportable, cooperative, pdl;
	int64_t smem; /* bytes of dynamic shared memory */
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
 * Resolve a plan into *out, which the caller frees before the plan. `dims` are in the order of the
 * names with which the plan was parsed; `tensor_bytes[i]` is the size of contract argument i at
 * this point. Messages have positions, like those of kl_plan_parse(). Errors:
 *
 *	KL_EINVALID	an expression overflows, a grid or block is zero or too large, a field of
 *			a map is out of its range, a map extends beyond its tensor, and so on;
 *	KL_ENO		a condition of `require` is false: the message has the condition and the
 *			values of its names;
 *	KL_ECANNOT	the plan needs more than this device has, for example shared memory.
 */
int kl_plan_resolve(struct kl_plan_at **out, const struct kl_plan *plan, const int64_t *dims,
		    const int64_t *tensor_bytes, const struct kl_plan_facts *facts);
void kl_plan_at_free(struct kl_plan_at *at);
KL_DEFINE_CLEANUP(struct kl_plan_at *, kl_plan_at_free)

/**
 * Set out[] to the names of the kernels in `launch` and then those in `prepare`, each once, at most
 * `max` names, which are borrowed from the plan. Return the number of names.
 */
size_t kl_plan_kernels(const struct kl_plan *plan, const char **out, size_t max);
/**
 * Return the symbol of the kernel that the plan calls `kernel`; borrowed. The symbol is `kernel`
 * itself unless kl_plan_set_symbol() has set another.
 */
const char *kl_plan_symbol(const struct kl_plan *plan, const char *kernel);
/**
 * Set the symbol that the compiled code has for `kernel`, a C++ name. kl_plan_to_json() writes the
 * symbol, so that a worker finds the kernel. Only the code that parsed the plan may call this,
 * before it adds references to the plan. Return KL_EINVALID if `symbol` is too long.
 */
int kl_plan_set_symbol(struct kl_plan *plan, const char *kernel, const char *symbol);
/**
 * Return true if `text` is the name of a function as C++ writes it: "scale", "ns::tile<128, 8>",
 * "scale(float *, int)". Such a name has no character that could end the name in C++ source.
 */
bool kl_plan_is_cxx_name(const char *text);
/**
 * Return the parameter types at the end of a C++ name, such as "(float *, int)"; "" if it has none.
 */
const char *kl_plan_cxx_parameters(const char *name);

/* -- architectures ----------------------------------------------------------- */

/**
 * Get typical facts of a device of the architecture `arch` ("sm_90a"). Products of one architecture
 * differ in `sms` and `l2`; the values given are those of one product. Return KL_EINVALID if the
 * architecture is unknown. The message lists the known ones.
 */
int kl_plan_arch_facts(struct kl_plan_facts *out, const char *arch);
/** Type of a field that holds the name of an architecture (text/schema.h). */
extern const struct kl_string_type kl_plan_arch_string;
/** Return true if code for `arch` runs on a device of compute capability `cc` (90 for 9.0). */
bool kl_plan_arch_runs(const char *arch, int64_t cc);
/**
 * Set `out`, of `size` bytes, to the architecture of compute capability `cc`, if source for `arch`
 * can also be compiled for it. It can if that architecture is later than `arch`, and `arch` has no
 * suffix. Return false otherwise.
 */
bool kl_plan_arch_raise(char *out, size_t size, const char *arch, int64_t cc);

#endif
