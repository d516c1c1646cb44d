/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_H
#define KL_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "job/argument.h"
#include "job/values.h"
#include "plan/plan.h"
#include "text/json.h"

/*
 * job - a request to klineage-worker to judge one candidate. The contract's expressions are
 * evaluated at each point (docs/formats.md, "job"). The gate fills in the structure
 * (gate/resolve.h) and writes it as one JSON document; the worker parses that document into the
 * same structure.
 *
 *	doc = kl_job_write(job);
 *	err = kl_job_parse(&job, doc);		borrows nothing from the document
 */
#define KL_JOB_SCHEMA "klineage.job/2"

/* Where the kernel runs: in a child process on the CPU, or on a GPU. */
enum kl_job_surface { KL_SURFACE_C, KL_SURFACE_CUDA };
/** Names indexed by enum kl_job_surface: "c", "cuda"; NULL at the end. */
extern const char *const kl_job_surface_names[];

struct kl_job_arg {
	char name[64];
	enum kl_arg_kind kind;
	enum kl_dtype dtype;
	double value; /* of a scalar */
	json_t *fill; /* fill of an input, owned; NULL for other kinds */
	bool sweep;   /* this input is scaled by two bands in addition to those of the contract */
	bool zeros;   /* of an `out`: set to zero before each call, instead of poisoned */
	/*
	 * the kernel returns this argument by value instead of getting a pointer; only the last
	 * argument, an `out` of one element
	 */
	bool returned;
	/*
	 * surface c: a power of two; the candidate's tensor starts at an odd multiple of this many
	 * bytes. 0 if the tensor lies at one end of its mapping.
	 */
	int64_t base;
};
/* Maximum of `base`. Every smaller power of two divides the size of a page. */
#define KL_JOB_MAX_BASE 2048

struct kl_point {       /* one set of dims that the kernel is called with */
	char id[32];    /* "case0", "also3" */
	bool perf;      /* a case: the profile stage times it */
	bool drawn;     /* drawn from the domain, or the replay of such a point; never timed */
	bool hot;       /* timed with its inputs in the cache; false if the caches are cold */
	int64_t weight; /* weight in the mean over the points; at least 1 */
	int64_t dim[KL_MAX_DIMS]; /* value of each of the job's dims, in order */
	struct {
		int64_t value; /* of a dim */
		size_t naxes;
		int64_t extent[KL_MAX_AXES]; /* of a tensor */
	} arg[KL_MAX_ARGS];
	int64_t floor_ns; /* no correct call can be faster than this; 0 for no floor */
};

enum kl_rule_kind {
	KL_RULE_NOISE,
	KL_RULE_EXACT,
	KL_RULE_ELEMENTWISE,
	KL_RULE_REL_L2,
	KL_RULE_MULTISET
};
struct kl_rule {
	enum kl_rule_kind kind;
	int out;              /* argument index */
	int indices, of;      /* `multiset`: argument indices; `out` is the index of `values` */
	double max, rms;      /* `noise` */
	double ulps, acc;     /* `elementwise` */
	double tol;           /* `rel-l2` */
	bool zeros;           /* `rel-l2`: the output must be almost 0 where the truth is 0 */
	int npaxes;           /* entries of `per` and `cut` */
	int per[KL_MAX_AXES]; /* axes that split `out` into groups (worker/compare/group.h) */
	/*
	 * cut[i] is the number of consecutive indices of axis per[i] that form one group; 0 counts
	 * as 1
	 */
	int64_t cut[KL_MAX_AXES];
};

/* The domain from which points are drawn in addition to the listed ones (job_domain.h). */
struct kl_job_domain {
	/*
	 * `n` expressions that are true in the domain. If `n` is 0, the contract promises only the
	 * listed points.
	 */
	struct kl_expr **condition;
	struct kl_strvec text; /* the conditions as written */
	size_t n;
	/* extents of each tensor argument: expressions over the dims, and their texts as written */
	struct kl_expr *shape[KL_MAX_ARGS][KL_MAX_AXES];
	struct kl_strvec shape_text[KL_MAX_ARGS];
};

struct kl_job {
	enum kl_job_surface surface;
	char arch[16]; /* cuda: for example "sm_90a" */
	size_t ndim;   /* number of dims that plans and the domain can use; can be 0 on surface c */
	char dim_name[KL_MAX_DIMS][64];
	struct kl_plan *plan; /* cuda: plan of the candidate; NULL for no candidate, or host code */
	struct kl_plan *parent_plan, *oracle_plan;
	char *truth_path, *honest_path; /* paths of images; cuda: cubins */
	/* cuda: candidate and parent are images that contain host code */
	bool host;
	struct kl_strvec kernel; /* host: names of the kernels in the candidate */
	/* c: candidate and parent are called by the contract's adapter, which has a workspace */
	bool adapter;
	char *candidate_path; /* image, or cubin for cuda without `host`; NULL if there is none */
	char *parent_path;    /* NULL if there is none */
	char *baseline;       /* name, such as "openblas.sgemm"; NULL if there is none */
	char *baseline_path;  /* cuda: path of the cubin of a shipped baseline; NULL if none */
	struct kl_plan *baseline_plan;
	char *isa;  /* limits the instructions of baselines: "x86-64-v3"; NULL for no limit */
	char *pool; /* directory of the input pool; created if missing */
	struct kl_job_arg arg[KL_MAX_ARGS];
	size_t nargs;
	struct kl_point *point;
	size_t npoint;
	struct kl_rule *rule;
	size_t nrule;
	json_t *exact, *bands; /* arrays of {"<arg>": fill, "at":, "must_exceed":} */
	/* NULL if unknown, so only the listed points are used */
	struct kl_job_domain *domain;
	bool further; /* also draw bands that the contract does not list (worker/pool/further.h) */
	/* the kinds of values that further bands must not draw */
	struct kl_values values;
	bool deterministic;
	bool do_audit, do_correct, do_profile, do_counters, do_launch;
	uint64_t seed;       /* seed of a replay; 0 to draw the inputs from a random key */
	int64_t arena_bytes; /* memory for the allocator of a kernel in C; 0 if there is none */
	int64_t call_ms;     /* limit of one call in milliseconds; surface c: processor time */
	int64_t threads;     /* surface c: threads of the kernel, for OpenMP; 0 without OpenMP */
	int64_t profile_min_blocks, profile_max_ms;
	struct kl_gpu_processes *gpu; /* cuda: borrowed; set by the caller before the job runs */
};

/**
 * Parse a job; the message of an error starts with "job: ". Return KL_EINVALID if the document is
 * not a valid job; return KL_ECANNOT if this worker does not support its surface.
 */
int kl_job_parse(struct kl_job **out, const json_t *doc);
/** Return the job as a JSON document, which the caller frees. */
json_t *kl_job_write(const struct kl_job *job);
void kl_job_free(struct kl_job *job);
KL_DEFINE_CLEANUP(struct kl_job *, kl_job_free)

/**
 * The names that the job's plans can use; all are borrowed from the job. `tensor` and `scalar` have
 * an entry for each argument.
 */
struct kl_job_names {
	struct kl_plan_names names; /* points into the arrays below, so do not copy the struct */
	const char *dim[KL_MAX_DIMS], *tensor[KL_MAX_ARGS];
	struct kl_plan_scalar scalar[KL_MAX_ARGS];
};
void kl_job_names(struct kl_job_names *out, const struct kl_job *job);
/**
 * Compute the bytes of each argument at a point; arguments that are not tensors get 0. If `real` is
 * not 0, it replaces the element size of every float type, as kl_real does in an oracle.
 */
void kl_job_tensor_bytes(int64_t out[KL_MAX_ARGS], const struct kl_job *job,
			 const struct kl_point *point, size_t real);
/** Return the total size in bytes of all tensors at a point. */
int64_t kl_job_point_bytes(const struct kl_job *job, const struct kl_point *point);
/** Return the total number of elements of all tensors at a point. */
int64_t kl_job_point_elements(const struct kl_job *job, const struct kl_point *point);
/**
 * Return the product of the dims of a point; a dim below 1 counts as 1. If the job has no names of
 * dims, use the arguments that are dims.
 */
double kl_job_volume(const struct kl_job *job, const struct kl_point *point);
/** Sort the indices of all points by kl_job_volume(), the smallest first. */
void kl_job_order_points(size_t *order, const struct kl_job *job);

/** Return true if `artefact` is the path of a candidate or parent with host code. */
bool kl_job_is_host(const struct kl_job *job, const char *artefact);

/** Return true if `band`, an entry of `exact` or `bands`, applies to `point`. */
bool kl_job_band_at(const json_t *band, const struct kl_point *point);

/**
 * Parse the rules from a list in the form of "accept". The arguments of the job must already be
 * set. Return KL_EINVALID if a rule is malformed, or an output has no rule.
 */
int kl_job_set_rules(struct kl_job *job, const json_t *list);

/** Return the index of the argument with that name, or -1. */
int kl_job_arg_index(const struct kl_job *job, const char *name);
/** Return true if the kernel reads the elements of this argument. */
static inline bool kl_arg_is_input(const struct kl_job_arg *arg)
{
	return kl_arg_kind_is_input(arg->kind);
}

/** Return true if the kernel writes the elements of this argument. */
static inline bool kl_arg_is_output(const struct kl_job_arg *arg)
{
	return kl_arg_kind_is_output(arg->kind);
}

/** Return the number of elements of a tensor argument at a point; 1 for other arguments. */
int64_t kl_point_elements(const struct kl_point *point, size_t arg);

#endif
