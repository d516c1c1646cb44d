/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_H
#define KL_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "job/argument.h"
#include "plan/plan.h"
#include "text/json.h"

/*
 * job - a request to klineage-worker to judge one candidate, with every expression a number
 * (docs/formats.md, "job"). The gate fills in the structure (gate/resolve.h) and writes it as one
 * JSON document; the worker parses that into the same structure.
 *
 *	doc = kl_job_write(job);
 *	err = kl_job_parse(&job, doc);		borrows nothing from the document
 */
#define KL_JOB_SCHEMA "klineage.job/1"

/* Who calls the kernel: the processor's child, or a process on the GPU. */
enum kl_job_surface { KL_SURFACE_C, KL_SURFACE_CUDA };
/** "c", "cuda"; NULL at the end, indexed by the enum. */
extern const char *const kl_job_surface_names[];

struct kl_job_arg {
	char name[64];
	enum kl_arg_kind kind;
	enum kl_dtype dtype;
	double value; /* scalar */
	json_t *fill; /* in, inout */
	bool sweep;
};

struct kl_point {    /* dims at which the kernel is called */
	char id[32]; /* "case0", "also3" */
	bool perf;   /* profiled */
	bool hot;
	int64_t weight;
	int64_t dim[KL_MAX_DIMS]; /* cuda: of the job's dims, in order */
	struct {
		int64_t value; /* dim */
		size_t naxes;
		int64_t extent[KL_MAX_AXES]; /* tensor */
	} arg[KL_MAX_ARGS];
	int64_t floor_ns; /* physical floor, 0: none */
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
	int out;          /* argument index */
	int indices, of;  /* multiset: argument indices (out = values) */
	double max, rms;  /* noise */
	double ulps, acc; /* elementwise */
	double tol;       /* rel-l2 */
	bool zeros;       /* rel-l2: zero where the truth is */
	int npaxes;
	int per[KL_MAX_AXES];     /* axes that make groups (worker/compare/group.h) */
	int64_t cut[KL_MAX_AXES]; /* of each: elements that stay together, 0 as 1 */
};

struct kl_job {
	enum kl_job_surface surface;
	char entry[128]; /* of the candidate and the parent; "" for cuda */
	char oracle_entry[128];
	char arch[16]; /* cuda: "sm_90a" */
	size_t ndim;   /* cuda: names that plans may use */
	char dim_name[KL_MAX_DIMS][64];
	struct kl_plan *plan; /* cuda: the candidate's; NULL where there is none */
	struct kl_plan *parent_plan, *oracle_plan;
	char *truth_so, *honest_so; /* cuda: these four are cubins */
	/* cuda: candidate and parent are shared objects with host code */
	bool host;
	struct kl_strvec kernel; /* host: the kernels that the candidate holds */
	char *candidate_so;
	char *parent_so;   /* NULL: none */
	char *baseline;    /* NULL: none */
	char *baseline_so; /* cuda: a cubin, where the baseline is a plan of our own */
	struct kl_plan *baseline_plan;
	char *isa;  /* "x86-64-v3": baselines are pinned to it */
	char *pool; /* directory of the input pool; made when absent */
	struct kl_job_arg arg[KL_MAX_ARGS];
	size_t nargs;
	struct kl_point *point;
	size_t npoint;
	struct kl_rule *rule;
	size_t nrule;
	json_t *exact, *bands; /* arrays of {"<arg>": fill, "at":, "must_exceed":} */
	bool deterministic;
	bool do_audit, do_correct, do_profile, do_counters, do_launch;
	uint64_t seed; /* 0: from the operating system; else replay */
	int64_t arena_bytes;
	int64_t call_ms; /* limit of one call */
	int64_t profile_min_blocks, profile_max_ms;
	struct kl_gpu_processes *gpu; /* cuda: borrowed; set by the caller before the job runs */
};

/** KL_EINVALID "job: ...": the document is not a job. */
int kl_job_parse(struct kl_job **out, const json_t *doc);
/** The document; the caller's. */
json_t *kl_job_write(const struct kl_job *job);
void kl_job_free(struct kl_job *job);
KL_DEFINE_CLEANUP(struct kl_job *, kl_job_free)

/** The names that the job's plans were parsed with; `tensor` etc. have `nargs` entries. Borrowed. */
struct kl_job_names {
	struct kl_plan_names names;
	const char *dim[KL_MAX_DIMS], *tensor[KL_MAX_ARGS];
	struct kl_plan_scalar scalar[KL_MAX_ARGS];
};
void kl_job_names(struct kl_job_names *out, const struct kl_job *job);
/**
 * Bytes of each argument at a point, 0 for no tensor; kl_real counts as `real` bytes, 0: as
 * declared.
 */
void kl_job_tensor_bytes(int64_t out[KL_MAX_ARGS], const struct kl_job *job,
			 const struct kl_point *point, size_t real);

/** Is `artefact` one of those with host code? */
bool kl_job_is_host(const struct kl_job *job, const char *artefact);

/** Is this entry of `exact` or `bands` for that point? */
bool kl_job_band_at(const json_t *band, const struct kl_point *point);

/** Set the rules from a list as "accept" has it; the arguments are known. KL_EINVALID. */
int kl_job_set_rules(struct kl_job *job, const json_t *list);

/** The argument of that name; -1: there is none. */
int kl_job_arg_index(const struct kl_job *job, const char *name);
/** Does the kernel read, or write, the elements of this argument? */
static inline bool kl_arg_is_input(const struct kl_job_arg *arg)
{
	return kl_arg_kind_is_input(arg->kind);
}

static inline bool kl_arg_is_output(const struct kl_job_arg *arg)
{
	return kl_arg_kind_is_output(arg->kind);
}

int64_t kl_point_elements(const struct kl_point *point, size_t arg);

#endif
