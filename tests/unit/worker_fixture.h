/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_FIXTURE_H
#define KL_WORKER_FIXTURE_H

#include "test.h"

#include "worker_image.h"

#include "job/job_domain.h"
#include "worker/stage/stages.h"

/*
 * worker_fixture - a job put together by hand, for the tests of the worker's
 * judging half: arguments and points one by one, objects compiled from source text.
 */
struct fixture {
	char *dir;
	struct kl_job job;
	struct kl_point point[6];
	struct kl_rule rule[4];
};

static inline json_t *fx_json(const char *text)
{
	json_t *value = NULL;

	if (text)
		assert_ok(kl_json_parse(&value, text, strlen(text)));
	return value;
}

static inline struct fixture *fx_new(void)
{
	struct fixture *fixture = kl_calloc(1, sizeof(*fixture));

	assert_ok(kl_fs_tempdir(&fixture->dir, "kl-worker-test"));
	fixture->job.point = fixture->point;
	fixture->job.rule = fixture->rule;
	fixture->job.pool = kl_fs_join(fixture->dir, "pool");
	fixture->job.exact = json_array();
	fixture->job.bands = json_array();
	fixture->job.deterministic = true;
	fixture->job.arena_bytes = 1 << 20;
	fixture->job.call_ms = 2000;
	return fixture;
}

static inline void fx_free(struct fixture *fixture)
{
	kl_fs_tempdir_cleanup(&fixture->dir);
	for (size_t i = 0; i < fixture->job.nargs; i++)
		json_decref(fixture->job.arg[i].fill);
	json_decref(fixture->job.exact);
	json_decref(fixture->job.bands);
	kl_job_domain_free(fixture->job.domain);
	free(fixture->job.truth_path);
	free(fixture->job.honest_path);
	free(fixture->job.candidate_path);
	free(fixture->job.pool);
	free(fixture);
}
KL_DEFINE_CLEANUP(struct fixture *, fx_free)

static inline int fx_arg(struct fixture *fixture, const char *name, enum kl_arg_kind kind,
			 enum kl_dtype dtype, const char *fill)
{
	struct kl_job_arg *arg = &fixture->job.arg[fixture->job.nargs];

	snprintf(arg->name, sizeof(arg->name), "%s", name);
	arg->kind = kind;
	arg->dtype = dtype;
	arg->fill = fx_json(fill);
	return (int)fixture->job.nargs++;
}

static inline struct kl_point *fx_point(struct fixture *fixture, const char *id, bool perf)
{
	struct kl_point *point = &fixture->point[fixture->job.npoint++];

	snprintf(point->id, sizeof(point->id), "%s", id);
	point->perf = perf;
	point->weight = 1;
	return point;
}

static inline void fx_extent(struct kl_point *point, int arg, size_t naxes, int64_t left,
			     int64_t right)
{
	point->arg[arg].naxes = naxes;
	point->arg[arg].extent[0] = left;
	point->arg[arg].extent[1] = right;
}

static inline struct kl_rule *fx_rule(struct fixture *fixture, enum kl_rule_kind kind, int out)
{
	struct kl_rule *rule = &fixture->rule[fixture->job.nrule++];

	*rule = (struct kl_rule){ .kind = kind, .out = out, .max = 4, .rms = 2 };
	return rule;
}

/* An image from C source; `real` is what kl_real is in it. */
static inline char *fx_image(struct fixture *fixture, const char *name, const char *entry,
			     const char *real, const char *body)
{
	static const char *const flags[] = { "-O2", NULL };
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"#include <stdint.h>\n#include <string.h>\n#include <math.h>\ntypedef %s kl_real;\n%s\n",
		real, body);

	return worker_image(fixture->dir, name, entry, text, flags);
}

static inline void fx_oracle(struct fixture *fixture, const char *body)
{
	free(fixture->job.truth_path);
	free(fixture->job.honest_path);
	fixture->job.truth_path = fx_image(fixture, "truth", "oracle", "double", body);
	fixture->job.honest_path = fx_image(fixture, "honest", "oracle", "float", body);
}

static inline void fx_candidate(struct fixture *fixture, const char *name, const char *body)
{
	free(fixture->job.candidate_path);
	fixture->job.candidate_path = fx_image(fixture, name, "k", "float", body);
}

/* A function of n numbers x with n results y, at one performance point. */
static inline struct fixture *fx_vector(int64_t n, enum kl_rule_kind kind, const char *oracle)
{
	struct fixture *fixture = fx_new();
	struct kl_point *point = fx_point(fixture, "case0", true);

	fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	point->arg[0].value = n;
	fx_extent(point, 1, 1, n, 0);
	fx_extent(point, 2, 1, n, 0);
	fx_rule(fixture, kind, 2);
	fx_oracle(fixture, oracle);
	return fixture;
}

/* C[M,N] = A[M,K] B[K,N], noise rule, one exact band, three points. */
#define FX_GEMM_ORACLE                                                                                   \
	"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)\n" \
	"{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 0;\n"           \
	"  for (int64_t k = 0; k < K; k++) s += A[i*K+k] * B[k*N+j]; C[i*N+j] = s; } }\n"

static inline void fx_gemm_point(struct fixture *fixture, const char *id, bool perf, int64_t count,
				 int64_t n, int64_t k)
{
	struct kl_point *point = fx_point(fixture, id, perf);

	point->arg[0].value = count;
	point->arg[1].value = n;
	point->arg[2].value = k;
	fx_extent(point, 3, 2, count, k);
	fx_extent(point, 4, 2, k, n);
	fx_extent(point, 5, 2, count, n);
}

static inline struct fixture *fx_gemm(void)
{
	struct fixture *fixture = fx_new();

	fx_arg(fixture, "M", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "N", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "K", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "A", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "B", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "C", KL_ARG_OUT, KL_F32, NULL);
	fixture->job.arg[3].sweep = fixture->job.arg[4].sweep = true;
	fx_rule(fixture, KL_RULE_NOISE, 5);
	fx_gemm_point(fixture, "case0", true, 64, 64, 64);
	fx_gemm_point(fixture, "also0", false, 1, 1, 1);
	fx_gemm_point(fixture, "also1", false, 17, 19, 23);
	json_array_append_new(fixture->job.exact,
			      fx_json("{\"A\":{\"ints\":[-2,2]},\"B\":{\"ints\":[-2,2]}}"));
	fx_oracle(fixture, FX_GEMM_ORACLE);
	return fixture;
}

/* Let the worker draw further points (`conditions`: a JSON list) and values of a gemm. */
static inline void fx_search(struct fixture *fixture, const char *conditions)
{
	static const char *const names[] = { "M", "N", "K" };
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"{\"domain\":{\"conditions\":%s,\"shapes\":{\"A\":[\"M\",\"K\"],"
		"\"B\":[\"K\",\"N\"],\"C\":[\"M\",\"N\"]}}}",
		conditions);
	KL_AUTO(json_decrefp) json_t *doc = fx_json(text);

	fixture->job.ndim = 3;
	for (size_t i = 0; i < 3; i++) {
		snprintf(fixture->job.dim_name[i], sizeof(fixture->job.dim_name[i]), "%s",
			 names[i]);
		for (size_t k = 0; k < fixture->job.npoint; k++)
			fixture->point[k].dim[i] = fixture->point[k].arg[i].value;
	}
	assert_ok(kl_job_parse_domain(&fixture->job, doc));
	fixture->job.further = true;
}

#endif
