/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_FIXTURE_H
#define KL_WORKER_FIXTURE_H

#include "test.h"

#include "base/fs.h"
#include "base/proc.h"
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
	json_t *j = NULL;

	if (text)
		assert_ok(kl_json_parse(&j, text, strlen(text)));
	return j;
}

static inline struct fixture *fx_new(void)
{
	struct fixture *f = kl_calloc(1, sizeof(*f));

	assert_ok(kl_fs_tempdir(&f->dir, "kl-worker-test"));
	f->job.point = f->point;
	f->job.rule = f->rule;
	f->job.pool = kl_fs_join(f->dir, "pool");
	f->job.exact = json_array();
	f->job.bands = json_array();
	f->job.deterministic = true;
	f->job.arena_bytes = 1 << 20;
	f->job.call_ms = 2000;
	snprintf(f->job.entry, sizeof(f->job.entry), "k");
	snprintf(f->job.oracle_entry, sizeof(f->job.oracle_entry), "oracle");
	return f;
}

static inline void fx_free(struct fixture *f)
{
	kl_fs_tempdir_cleanup(&f->dir);
	for (size_t i = 0; i < f->job.nargs; i++)
		json_decref(f->job.arg[i].fill);
	json_decref(f->job.exact);
	json_decref(f->job.bands);
	free(f->job.truth_so);
	free(f->job.honest_so);
	free(f->job.candidate_so);
	free(f->job.pool);
	free(f);
}
KL_DEFINE_CLEANUP(struct fixture *, fx_free)

static inline int fx_arg(struct fixture *f, const char *name, enum kl_role role, enum kl_dtype t,
			 const char *fill)
{
	struct kl_job_arg *a = &f->job.arg[f->job.nargs];

	snprintf(a->name, sizeof(a->name), "%s", name);
	a->role = role;
	a->dtype = t;
	a->fill = fx_json(fill);
	return (int)f->job.nargs++;
}

static inline struct kl_point *fx_point(struct fixture *f, const char *id, bool perf)
{
	struct kl_point *p = &f->point[f->job.npoint++];

	snprintf(p->id, sizeof(p->id), "%s", id);
	p->perf = perf;
	p->weight = 1;
	return p;
}

static inline void fx_extent(struct kl_point *p, int arg, size_t naxes, int64_t a, int64_t b)
{
	p->arg[arg].naxes = naxes;
	p->arg[arg].extent[0] = a;
	p->arg[arg].extent[1] = b;
}

static inline struct kl_rule *fx_rule(struct fixture *f, enum kl_rule_kind kind, int out)
{
	struct kl_rule *r = &f->rule[f->job.nrule++];

	*r = (struct kl_rule){ .kind = kind, .out = out, .max = 4, .rms = 2 };
	return r;
}

/* An object from C source; `real` is what kl_real is in it. */
static inline char *fx_so(struct fixture *f, const char *name, const char *real, const char *body)
{
	KL_AUTO(kl_freep) char *c = kl_asprintf("%s/%s.c", f->dir, name);
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"#include <stdint.h>\n#include <string.h>\n#include <math.h>\ntypedef %s kl_real;\n%s\n",
		real, body);
	char *so = kl_asprintf("%s/%s.so", f->dir, name);
	const char *argv[] = { "gcc",
			       "-O2",
			       "-w",
			       "-fPIC",
			       "-shared",
			       "-nostartfiles",
			       "-fno-stack-protector",
			       "-Wl,-z,now,-z,relro",
			       "-o",
			       so,
			       c,
			       "-lm",
			       NULL };

	assert_ok(kl_fs_put(c, text, strlen(text), 0600));
	assert_ok(kl_proc_output(NULL, argv));
	return so;
}

static inline void fx_oracle(struct fixture *f, const char *body)
{
	free(f->job.truth_so);
	free(f->job.honest_so);
	f->job.truth_so = fx_so(f, "truth", "double", body);
	f->job.honest_so = fx_so(f, "honest", "float", body);
}

static inline void fx_candidate(struct fixture *f, const char *name, const char *body)
{
	free(f->job.candidate_so);
	f->job.candidate_so = fx_so(f, name, "float", body);
}

/* C[M,N] = A[M,K] B[K,N], noise rule, one exact band, three points. */
#define FX_GEMM_ORACLE                                                                                   \
	"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)\n" \
	"{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 0;\n"           \
	"  for (int64_t k = 0; k < K; k++) s += A[i*K+k] * B[k*N+j]; C[i*N+j] = s; } }\n"

static inline void fx_gemm_point(struct fixture *f, const char *id, bool perf, int64_t m, int64_t n,
				 int64_t k)
{
	struct kl_point *p = fx_point(f, id, perf);

	p->arg[0].value = m;
	p->arg[1].value = n;
	p->arg[2].value = k;
	fx_extent(p, 3, 2, m, k);
	fx_extent(p, 4, 2, k, n);
	fx_extent(p, 5, 2, m, n);
}

static inline struct fixture *fx_gemm(void)
{
	struct fixture *f = fx_new();

	fx_arg(f, "M", KL_ROLE_DIM, KL_I64, NULL);
	fx_arg(f, "N", KL_ROLE_DIM, KL_I64, NULL);
	fx_arg(f, "K", KL_ROLE_DIM, KL_I64, NULL);
	fx_arg(f, "A", KL_ROLE_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(f, "B", KL_ROLE_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(f, "C", KL_ROLE_OUT, KL_F32, NULL);
	f->job.arg[3].sweep = f->job.arg[4].sweep = true;
	fx_rule(f, KL_RULE_NOISE, 5);
	fx_gemm_point(f, "case0", true, 64, 64, 64);
	fx_gemm_point(f, "also0", false, 1, 1, 1);
	fx_gemm_point(f, "also1", false, 17, 19, 23);
	json_array_append_new(f->job.exact,
			      fx_json("{\"A\":{\"ints\":[-2,2]},\"B\":{\"ints\":[-2,2]}}"));
	fx_oracle(f, FX_GEMM_ORACLE);
	return f;
}

#endif
