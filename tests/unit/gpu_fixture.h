/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GPU_FIXTURE_H
#define KL_GPU_FIXTURE_H

#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "worker/gpu/process_pool.h"
#include "worker/gpu/server.h"
#include "worker/stage/stages.h"

/*
 * gpu_fixture - a pretended GPU (tests/fake) and jobs for it. The job scales: y[i] = s * x[i] of n
 * floats, with oracle and candidate as "cubins" that gcc made.
 */
struct gpu_fixture {
	char *dir; /* libcuda.so.1, conf, objects, pool */
	struct kl_job *job;
	struct kl_gpu_processes *gpu; /* the job's */
	json_t *doc;                  /* what it was read from */
};

static inline void gpu_file(const struct gpu_fixture *fixture, const char *name, const char *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(fixture->dir, name);

	assert_ok(kl_fs_put(path, text, strlen(text), 0600));
}

/* "cc 80\n": what the GPU is to be; read anew by each process. */
static inline void gpu_conf(const struct gpu_fixture *fixture, const char *text)
{
	gpu_file(fixture, "conf", text);
}

static inline void gpu_setup(struct gpu_fixture *fixture)
{
	KL_AUTO(kl_freep) char *to = NULL, *libraries = NULL;
	const char *from = KL_SOURCE "/" KL_BUILD "/tests/fake/libcuda.so.1";

	memset(fixture, 0, sizeof(*fixture));
	assert_ok(kl_fs_tempdir(&fixture->dir, "kl-gpu-test"));
	to = kl_fs_join(fixture->dir, "libcuda.so.1");
	assert_int_equal(access(from, R_OK), 0);
	assert_int_equal(symlink(from, to), 0);
	/* the loader resolves the link's name, not its target: dladdr gives this directory */
	/* the target's, for a process that may read nothing beside its libraries */
	libraries = kl_asprintf("%s:" KL_SOURCE "/" KL_BUILD "/tests/fake", fixture->dir);
	setenv("LD_LIBRARY_PATH", libraries, 1);
	gpu_conf(fixture, "version 13000\n");
}

static inline void gpu_teardown(struct gpu_fixture *fixture)
{
	kl_gpu_processes_free(fixture->gpu);
	kl_job_free(fixture->job);
	json_decref(fixture->doc);
	kl_fs_tempdir_cleanup(&fixture->dir);
	unsetenv("LD_LIBRARY_PATH");
}

/* for cmocka: the fixture is *state */
static inline int gpu_setup_test(void **state)
{
	struct gpu_fixture *fixture = kl_calloc(1, sizeof(*fixture));

	gpu_setup(fixture);
	*state = fixture;
	return 0;
}

static inline int gpu_teardown_test(void **state)
{
	gpu_teardown(*state);
	free(*state);
	return 0;
}

/* An object from the text of kernels (fake/kernel.h). Owned. */
static inline char *gpu_cubin(const struct gpu_fixture *fixture, const char *name, const char *real,
			      const char *body)
{
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s.c", name);
	KL_AUTO(kl_freep) char *ch = kl_fs_join(fixture->dir, file);
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"#include <string.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include \"kernel.h\"\n"
		"typedef %s kl_real;\n%s\n",
		real, body);
	char *out = kl_asprintf("%s/%s.cubin", fixture->dir, name);
	const char *argv[] = { "gcc",     "-O1",
			       "-w",      "-fPIC",
			       "-shared", "-fno-builtin",
			       "-I",      KL_SOURCE "/tests/fake",
			       "-o",      out,
			       ch,        NULL };

	gpu_file(fixture, file, text);
	assert_ok(kl_proc_output(NULL, argv));
	return out;
}

/* An image with host code, from the same text. Owned. */
static inline char *gpu_host_image(const struct gpu_fixture *fixture, const char *name,
				   const char *body)
{
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s.c", name);
	KL_AUTO(kl_freep) char *source = kl_fs_join(fixture->dir, file);
	KL_AUTO(kl_freep) char *object = kl_asprintf("%s/%s.o", fixture->dir, name);
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"#include <string.h>\n#include <stdlib.h>\n#include \"kernel.h\"\n%s\n", body);
	char *out = kl_asprintf("%s/%s.image", fixture->dir, name);
	const char *compile[] = { "gcc",
				  "-O1",
				  "-w",
				  "-fPIC",
				  "-fno-builtin",
				  "-fno-stack-protector",
				  "-I",
				  KL_SOURCE "/tests/fake",
				  "-c",
				  "-o",
				  object,
				  source,
				  NULL };
	const char *link[] = { KL_SOURCE "/" KL_BUILD "/tests/link_image", "--host", out, object,
			       NULL };

	gpu_file(fixture, file, text);
	assert_ok(kl_proc_output(NULL, compile));
	assert_ok(kl_proc_output(NULL, link));
	return out;
}

#define SCALE_ORACLE                                                                     \
	"KERNEL(oracle, 8, 8, 4, 4) { const kl_real *x = PTR(0); kl_real *y = PTR(1);\n" \
	"	for (int i = 0; i < I32(2); i++) y[i] = x[i] * F32(3); }\n"
#define SCALE_ORACLE_PLAN                                                                       \
	"{\"klineage-launch\":1,\"launch\":[{\"kernel\":\"oracle\",\"grid\":[1],\"block\":[1]," \
	"\"args\":[\"x\",\"y\",{\"i32\":\"n\"},\"s\"]}]}"
/* `more` goes before the loop */
#define SCALE_KERNEL(more)                                                                                                 \
	"KERNEL(scale, 8, 8, 4, 4) { const float *x = PTR(0); float *y = PTR(1); float s = F32(3); int n = I32(2);\n" more \
	" for (int i = 0; i < n; i++) y[i] = x[i] * s; }\n"
#define SCALE_PLAN                                                                                    \
	"{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},\"launch\":[{\"kernel\":\"scale\"," \
	"\"grid\":[\"cdiv(n,256)\"],\"block\":[256],\"args\":[\"x\",\"y\",{\"i32\":\"n\"},\"s\"]}]}"

/* The job that scales: `body` NULL: a right kernel; `plan` NULL: its plan. */
static inline struct kl_job *gpu_job_of(struct gpu_fixture *fixture, const char *body,
					const char *plan, const char *stages)
{
	KL_AUTO(kl_freep) char *truth = gpu_cubin(fixture, "truth", "double", SCALE_ORACLE);
	KL_AUTO(kl_freep) char *honest = gpu_cubin(fixture, "honest", "float", SCALE_ORACLE);
	KL_AUTO(kl_freep) char *cand = plan && strstr(plan, "\"host\":true") ?
					       gpu_host_image(fixture, "cand", body) :
					       gpu_cubin(fixture, "cand", "float",
							 body ? body : SCALE_KERNEL(""));
	KL_AUTO(kl_freep) char *pool = kl_fs_join(fixture->dir, "pool");
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"{\"schema\":\"klineage.job/2\",\"surface\":\"cuda\",\"arch\":\"sm_90a\",\"dims\":[\"n\"],"
		"\"truth\":\"%s\",\"honest\":\"%s\",\"candidate\":\"%s\",\"parent\":null,\"baseline\":null,"
		"\"plan\":%s,\"oracle_plan\":%s,\"pool\":\"%s\","
		"\"args\":[{\"name\":\"s\",\"kind\":\"scalar\",\"dtype\":\"f32\",\"value\":1.5},"
		"{\"name\":\"x\",\"kind\":\"in\",\"dtype\":\"f32\",\"fill\":{\"normal\":[0.0,1.0]},\"sweep\":true},"
		"{\"name\":\"y\",\"kind\":\"out\",\"dtype\":\"f32\"}],"
		"\"points\":[{\"id\":\"case0\",\"perf\":true,\"dims\":[3000],\"values\":[1.5,[3000],[3000]]},"
		"{\"id\":\"also0\",\"dims\":[7],\"values\":[1.5,[7],[7]]}],"
		"\"accept\":[{\"out\":\"y\",\"rule\":\"noise\",\"max\":4.0,\"rms\":2.0,\"per\":[]}],"
		"\"exact\":[{\"x\":{\"ints\":[-2,2]}}],\"bands\":[],\"deterministic\":true,\"do\":[%s],"
		"\"seed\":\"0\",\"arena_bytes\":0,\"call_ms\":1500}",
		truth, honest, cand, plan ? plan : SCALE_PLAN, SCALE_ORACLE_PLAN, pool, stages);

	assert_ok(kl_json_parse(&doc, text, strlen(text)));
	kl_gpu_processes_free(fixture->gpu);
	kl_job_free(fixture->job);
	fixture->job = NULL;
	fixture->gpu = kl_gpu_processes_new();
	assert_ok(kl_job_parse(&fixture->job, doc));
	fixture->job->gpu = fixture->gpu;
	json_decref(fixture->doc);
	fixture->doc = json_incref(doc);
	return fixture->job;
}

static inline struct kl_job *gpu_job(struct gpu_fixture *fixture, const char *body,
				     const char *plan)
{
	return gpu_job_of(fixture, body, plan, "\"correct\"");
}

static inline struct kl_subject_spec gpu_spec(const struct kl_job *job, bool right)
{
	return (struct kl_subject_spec){
		.kind = KL_SUBJECT_KERNEL,
		.path = job->candidate_path,
		.align_right = right,
		.cpu = -1,
	};
}

/* Start at point `at`, call once with x[i] = i, and say how it ended. */
static inline struct kl_call gpu_try(struct kl_job *job, size_t at, bool right)
{
	struct kl_subject_spec spec = gpu_spec(job, right);
	struct kl_subject *subject = NULL;
	struct kl_call end;
	float *values;

	assert_ok(kl_subject_start(&subject, job, &job->point[at], &spec));
	values = kl_subject_buffer(subject, 1);
	for (size_t i = 0; i < kl_subject_bytes(subject, 1) / 4; i++)
		values[i] = (float)i;
	kl_subject_poison(subject, 2);
	assert_ok(kl_subject_call(subject, &end));
	kl_subject_free(subject);
	return end;
}

#endif
