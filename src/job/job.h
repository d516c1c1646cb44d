/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_H
#define KL_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "plan/plan.h"
#include "text/json.h"

/*
 * job - a job for klineage-worker, parsed: one JSON document on stdin, everything resolved to
 * numbers (docs/formats.md, "job"), answered by one JSON document on stdout. The struct borrows
 * nothing from the document.
 */
#define KL_JOB_MAX_ARGS 32
#define KL_JOB_MAX_AXES 8
#define KL_JOB_MAX_DIMS 16

enum kl_job_surface { KL_SURFACE_C, KL_SURFACE_CUDA };

enum kl_dtype {
	KL_F64,
	KL_F32,
	KL_F16,
	KL_BF16,
	KL_I64,
	KL_I32,
	KL_I16,
	KL_I8,
	KL_U64,
	KL_U32,
	KL_U16,
	KL_U8
};
enum kl_role { KL_ROLE_DIM, KL_ROLE_SCALAR, KL_ROLE_IN, KL_ROLE_OUT, KL_ROLE_INOUT };

struct kl_job_arg {
	char name[64];
	enum kl_role role;
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
	int64_t dim[KL_JOB_MAX_DIMS]; /* cuda: of the job's dims, in order */
	struct {
		int64_t value; /* dim */
		size_t naxes;
		int64_t extent[KL_JOB_MAX_AXES]; /* tensor */
	} arg[KL_JOB_MAX_ARGS];
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
	int per[KL_JOB_MAX_AXES];     /* axes that make groups (worker/compare/group.h) */
	int64_t cut[KL_JOB_MAX_AXES]; /* of each: elements that stay together, 0 as 1 */
};

struct kl_job {
	enum kl_job_surface surface;
	char entry[128]; /* of the candidate and the parent; "" for cuda */
	char oracle_entry[128];
	char arch[16]; /* cuda: "sm_90a" */
	size_t ndim;   /* cuda: names that plans may use */
	char dim_name[KL_JOB_MAX_DIMS][64];
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
	struct kl_job_arg arg[KL_JOB_MAX_ARGS];
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

int kl_job_parse(struct kl_job **out, const json_t *doc);
void kl_job_free(struct kl_job *job);
KL_DEFINE_CLEANUP(struct kl_job *, kl_job_free)

/** The names that the job's plans were parsed with; `tensor` etc. have `nargs` entries. Borrowed. */
struct kl_job_names {
	struct kl_plan_names names;
	const char *dim[KL_JOB_MAX_DIMS], *tensor[KL_JOB_MAX_ARGS];
	struct kl_plan_scalar scalar[KL_JOB_MAX_ARGS];
};
void kl_job_names(struct kl_job_names *out, const struct kl_job *job);
/**
 * Bytes of each argument at a point, 0 for no tensor; kl_real counts as `real` bytes, 0: as
 * declared.
 */
void kl_job_tensor_bytes(int64_t out[KL_JOB_MAX_ARGS], const struct kl_job *job,
			 const struct kl_point *point, size_t real);

/** Is `artefact` one of those with host code? */
bool kl_job_is_host(const struct kl_job *job, const char *artefact);

/** Is this entry of `exact` or `bands` for that point? */
bool kl_job_band_at(const json_t *band, const struct kl_point *point);

size_t kl_dtype_bytes(enum kl_dtype dtype);
int64_t kl_point_elements(const struct kl_point *point, size_t arg);

#endif
