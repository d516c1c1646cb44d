/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_CONTRACT_H
#define KL_CONTRACT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/vec.h"
#include "contract/language.h"
#include "job/argument.h"
#include "job/values.h"
#include "text/json.h"

/*
 * contract - holds a contract, which states what a kernel promises: klineage.yaml, parsed and
 * checked (docs/formats.md, "The contract"). The gate believes the requirements in it, but treats
 * the file as hostile input.
 *
 * A contract that was read without error is complete: every expression is parsed and has a value at
 * the case and at all points, every point is inside the domain, every name is resolved, and every
 * default is filled in.
 */
#define KL_CONTRACT_FILE "klineage.yaml"
#define KL_CONTRACT_SUFFIX ".klineage.yaml" /* for further contracts in a directory */
#define KL_CONTRACT_MAX_BYTES (256 * 1024)
#define KL_MAX_PERF 16
#define KL_MAX_ALSO 64
#define KL_MAX_BANDS 16      /* maximum number of bands in `exact`, and in `bands` */
#define KL_RETURNED "return" /* name of the value that a kernel returns, as an output */
#define KL_ADAPTER_MAX_BYTES (64 * 1024)
#define KL_ADAPTERS_MAX 8
#define KL_PREPARES_MAX 64
#define KL_HEADERS_MAX 4 /* maximum number of sets of headers in one contract */

struct kl_expr; /* plan/expr.h */
struct kl_expr_names;

/* A point: a value for each dim of the case, in the order of the case. */
struct kl_dims {
	size_t n;
	int64_t v[KL_MAX_DIMS];
};

/* An argument, or the value that the kernel returns. */
struct kl_arg {
	char *name;
	enum kl_arg_kind kind;
	enum kl_dtype dtype;
	int dim;      /* KL_ARG_DIM: index of the dim in the case */
	double value; /* KL_ARG_SCALAR: value that is passed */
	struct kl_expr *shape[KL_MAX_AXES];
	char *shape_text[KL_MAX_AXES]; /* `shape` as written in the contract */
	size_t naxes;
	json_t *fill; /* canonical: {"normal":[0.0,1.0],"map":...}; NULL if it is not an input */
	bool sweep;   /* the sweep scales this input */
	/* the value that the kernel returns, not an argument that is passed; always last */
	bool returned;
	bool zeros; /* KL_ARG_OUT: the elements are zero before every call (`init: zeros`) */
};

struct kl_perf_case {
	struct kl_dims dims;
	int64_t weight;
	bool hot;
};

struct kl_floor {
	bool bytes_auto;               /* use kl_contract_bytes() instead of `bytes` */
	struct kl_expr *bytes, *flops; /* NULL if there is none */
};

/*
 * How the sources are built, in addition to the flags. All paths are relative to the same directory
 * as the paths of the sources. A list is empty if the contract does not have its key.
 */
struct kl_contract_build {
	/* the sources that are compiled; if empty, all .c files */
	struct kl_strvec units;
	struct kl_strvec define, undefine; /* "NAME" or "NAME=value"; "NAME" */
	/* directories; "." is the directory that paths are relative to */
	struct kl_strvec include, iquote, isystem;
	struct kl_strvec preinclude; /* sources that each unit includes first */
	struct kl_strvec traps;      /* functions that a kernel must not reach */
};

struct kl_contract {
	char *name;    /* for messages: path of the file */
	bool from_top; /* paths are relative to the repository's top, not to the contract */
	char *workload, *op;
	char *dim_name[KL_MAX_DIMS];
	struct kl_dims dims;              /* the case */
	const struct kl_languages *known; /* table that `language` comes from; borrowed */
	const struct kl_language *language;
	char *entry;      /* name of the function that is called; NULL if there is none */
	char *launch;     /* path of the source that is the launch plan; NULL if there is none */
	char *arch, *std; /* of CUDA host code: "sm_90a", "c++17"; otherwise NULL */
	struct kl_strvec sources, flags;
	struct kl_contract_build build;
	struct kl_strvec headers; /* sets of headers that sources include (backend/headers.h) */
	struct kl_arg arg[KL_MAX_ARGS];
	size_t nargs;
	struct kl_expr **domain;
	char **domain_text;
	size_t ndomain;
	struct kl_perf_case *perf;
	size_t nperf;
	struct kl_dims *also;
	size_t nalso;
	struct kl_strvec oracle_sources;
	char *oracle_entry, *oracle_launch;
	/*
	 * paths of the C files that can call the kernel; the first one that fits the kernel calls
	 * it. If empty, the worker calls the kernel itself.
	 */
	struct kl_strvec adapters;
	/* functions of the kernel that adapter_prepare may call */
	struct kl_strvec prepares;
	json_t *accept;          /* array of rules, each naming its output, as in a job */
	json_t *exact, *bands;   /* arrays of {arg: canonical fill} */
	struct kl_values values; /* which of NaN, infinity and denormals are undefined as inputs */
	bool deterministic;
	char *baseline; /* name of the baseline; NULL if there is none */
	struct kl_floor floor;
	int64_t arena_mib, call_s;
	/* number of OpenMP threads of the kernel; 0 for one thread, without OpenMP */
	int64_t threads;
};

/*
 * A contract is found by its place: the directory of a klineage.yaml ("" or "a/b"), or the path of
 * a file with KL_CONTRACT_SUFFIX ("a/b/gemm.klineage.yaml").
 */
/** Return true if the place is the path of a file, not a directory. */
bool kl_contract_place_is_file(const char *place);
/** Return the path of the contract's file; the caller frees it. */
char *kl_contract_place_path(const char *place);
/** Return the directory of the contract's file, "" or "a/b"; the caller frees it. */
char *kl_contract_place_dir(const char *place);
/**
 * Return the place of a contract whose file has this path; the caller frees it. Return NULL if the
 * file's name is not that of a contract.
 */
char *kl_contract_place_of(const char *path);

int kl_contract_parse(struct kl_contract **out, const char *name, const char *text, size_t len);
/** Like kl_contract_parse(), with `known` in place of kl_languages; `known` must outlive `*out`. */
int kl_contract_parse_in(struct kl_contract **out, const struct kl_languages *known,
			 const char *name, const char *text, size_t len);
void kl_contract_free(struct kl_contract *contract);
KL_DEFINE_CLEANUP(struct kl_contract *, kl_contract_free)

/**
 * Append the compiler's arguments for defines and includes to `argv`; the sources are in `folder`.
 */
void kl_contract_build_flags(struct kl_strvec *argv, const struct kl_contract *contract,
			     const char *folder);
/** Types of the entries of `define` and of `undefine`; both have is_valid(). */
extern const struct kl_string_type kl_contract_define, kl_contract_undefine;
/**
 * Return true if a contract may name the path: it stays inside the directory, no component begins
 * with '-', and it has no blanks and no characters that are special to a shell.
 */
bool kl_contract_path_ok(const char *path);
/** Return true if a contract may list `name` in `traps`. */
bool kl_contract_may_trap(const char *name);

/** Return the index of the argument with this name, or -1. */
int kl_contract_arg(const struct kl_contract *contract, const char *name);
/** Return the names of the dims for kl_expr_parse(); borrowed. */
struct kl_expr_names kl_contract_names(const struct kl_contract *contract);

/**
 * Return the number of points of a job, and the i-th point: first the cases, then the `also`
 * points. `id` (32 bytes, or NULL) is set to the point's id: "case0", ..., "also0", ...
 */
size_t kl_contract_npoints(const struct kl_contract *contract);
const struct kl_dims *kl_contract_point(const struct kl_contract *contract, size_t i, char *id);

/**
 * Check that a point lies in the domain. Return KL_ENO if the point is outside. The message has the
 * condition that fails. Other errors: a condition cannot be evaluated.
 */
int kl_contract_in_domain(const struct kl_contract *contract, const struct kl_dims *dims);
/**
 * Read a point from `len` bytes of text, such as "M=3,N=7", with a value for every dim. Return
 * KL_EUSAGE if the text has another form, or the point is not in the domain.
 */
int kl_contract_read_dims(struct kl_dims *out, const struct kl_contract *contract, const char *text,
			  size_t len);
/** Return the text of a point, as kl_contract_read_dims() reads it; the caller frees it. */
char *kl_contract_dims_text(const struct kl_contract *contract, const struct kl_dims *dims);
/**
 * Compute the extents of an argument at a point. Return KL_EINVALID if an extent is less than 1.
 */
int kl_contract_shape(int64_t *extent, const struct kl_contract *contract, size_t arg,
		      const struct kl_dims *dims);
/**
 * Compute a tensor's bytes at a point. Return KL_EINVALID if an extent is invalid, or the tensor
 * has more than 2^40 bytes.
 */
int kl_contract_tensor_bytes(int64_t *out, const struct kl_contract *contract, size_t arg,
			     const struct kl_dims *dims);
/**
 * Compute the least number of bytes that a call must move: a call reads every input once and writes
 * every output once, so an inout counts twice. A returned value does not count.
 */
int kl_contract_bytes(int64_t *out, const struct kl_contract *contract, const struct kl_dims *dims);

/**
 * Check that the tensors of each point, on their own, fit into half of this machine's memory.
 * Return KL_ECANNOT if the tensors of a point do not fit. The message names the point. Parsing does
 * not check this, since a contract that is too large for this machine is still valid.
 */
int kl_contract_fits(const struct kl_contract *contract);

#endif
