/* SPDX-License-Identifier: Apache-2.0 */
/* cuda - the backends of CUDA: compile with nvcc, for the architecture of a plan or a contract */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda/baseline.h"
#include "backend/cuda/compile.h"
#include "backend/cuda/device.h"
#include "backend/cuda/features.h"
#include "backend/cuda/host_compile.h"
#include "backend/cuda/port.h"
#include "backend/headers.h"
#include "backend/tool.h"
#include "base/error.h"

struct session {
	struct kl_backend_session lent;
	struct kl_nvcc nvcc;   /* nvcc.nvcc is NULL until find_tools() has found it */
	struct kl_map headers; /* header libraries found so far (backend/headers.h) */
};

/* --- opening a session and finding the toolkit ---------------------------------------------- */

static int name_tools(char **out, struct kl_repo *repo)
{
	struct kl_nvcc nvcc = { 0 };
	int err = kl_nvcc_find(&nvcc, repo ? kl_repo_config(repo, "klineage.nvcc") : NULL);

	if (!err)
		*out = kl_asprintf("%s%s", nvcc.version,
				   nvcc.disasm ? "" :
						 ", without nvdisasm: facts come from PTX alone");
	kl_nvcc_release(&nvcc);
	return err;
}

static int open_session(void **state, const struct kl_backend_session *lent)
{
	struct session *session = kl_calloc(1, sizeof(*session));

	session->lent = *lent;
	kl_headers_init(&session->headers);
	*state = session;
	return 0;
}

static void close_session(void *state)
{
	struct session *session = state;

	kl_nvcc_release(&session->nvcc);
	kl_map_release(&session->headers);
	free(session);
}

static int find_tools(void *state, const struct kl_surface *surface)
{
	struct session *session = state;
	struct kl_repo *repo = session->lent.repo;
	int err = 0;

	if (!session->nvcc.nvcc)
		err = kl_nvcc_find(&session->nvcc,
				   repo ? kl_repo_config(repo, "klineage.nvcc") : NULL);
	return err ? err : kl_headers_find(&session->headers, repo, &surface->contract->headers);
}

/* --- finding the platform of a kernel ------------------------------------------------------- */

static bool owns_platform(const char *platform)
{
	return !strncmp(platform, "cuda", 4);
}

static int guess_by_plan(char **id, const struct kl_surface *surface, const char *asked)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	int err = kl_launch_read(&launch, surface, false, asked);

	if (!err)
		*id = kl_strdup(launch->platform);
	return err;
}

static int guess_by_contract(char **id, const struct kl_surface *surface, const char *asked)
{
	const char *arch = surface->contract->arch; /* "sm_90a" */

	*id = kl_asprintf("cuda/%.*s", (int)(3 + strspn(arch + 3, "0123456789")), arch);
	return 0;
}

static int read_limits(struct kl_plan_facts *out, const char *platform)
{
	const char *slash = strchr(platform, '/');

	return kl_plan_arch_facts(out, slash ? slash + 1 : "");
}

static int port_host(struct kl_surface **out, const struct kl_surface *surface,
		     const char *platform)
{
	return kl_error(KL_ENO, "cannot retarget the kernel: its host code fixes the architecture");
}

static int platform_for(struct kl_platform *out, const struct session *session,
			const struct kl_surface *surface, const char *arch)
{
	const struct kl_strvec *headers = &surface->contract->headers;
	const char *asked = session->lent.platform;

	kl_nvcc_platform(out, &session->nvcc, arch);
	kl_headers_print(out->compiler, sizeof(out->compiler), &session->headers, headers);
	if (asked && owns_platform(asked) && strcmp(asked, out->id))
		return kl_error(KL_ECANNOT, "the kernel is for %s, but %s was requested", out->id,
				asked);
	return 0;
}

static int platform_of_plan(struct kl_platform *out, void *state, const struct kl_surface *surface)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	struct session *session = state;
	int err = find_tools(state, surface);

	if (err < 0)
		return err;
	err = kl_launch_read(&launch, surface, false, session->lent.platform);
	if (err == KL_EINVALID) {
		/* ignore an error in the plan here: compiling the candidate will report it */
		kl_error_clear();
		kl_nvcc_platform(out, &session->nvcc, "");
		snprintf(out->id, sizeof(out->id), "cuda");
		return 0;
	}
	return err ? err : platform_for(out, session, surface, launch->arch);
}

static int platform_of_host(struct kl_platform *out, void *state, const struct kl_surface *surface)
{
	int err = find_tools(state, surface);

	return err ? err : platform_for(out, state, surface, surface->contract->arch);
}

/* --- compiling kernels, oracles and baselines ----------------------------------------------- */

static int compile_device(struct kl_artefact **out, const char **class_, const void *state,
			  const struct kl_surface *surface, const char *dir)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	const struct session *session = state;
	int err = kl_launch_read(&launch, surface, false, session->lent.platform);

	/* an invalid plan is the candidate's fault, like an invalid source */
	if (err == KL_EINVALID) {
		*class_ = "launch";
		return kl_error(KL_ENO, "%s", kl_error_last());
	}
	if (!err)
		err = kl_compile_cuda(out, class_, session->lent.jail, &session->nvcc,
				      &session->headers, surface, launch, dir);
	if (!err)
		(*out)->launch = kl_steal(&launch);
	return err;
}

static int compile_host(struct kl_artefact **out, const char **class_, const void *state,
			const struct kl_surface *surface, const char *dir)
{
	const struct session *session = state;

	return kl_compile_host(out, class_, session->lent.jail, &session->nvcc, &session->headers,
			       surface, dir);
}

static int compile_oracle(const void *state, const struct kl_surface *surface,
			  const struct kl_launch *launch, enum kl_oracle which, const char *dir)
{
	const struct session *session = state;

	return kl_compile_cuda_oracle(session->lent.jail, &session->nvcc, surface, launch, which,
				      dir);
}

static int add_recipe(struct kl_digest *key, const void *state)
{
	const struct session *session = state;

	kl_compile_cuda_recipe(key, &session->nvcc);
	return kl_tool_digest_runtime(key, "kl_oracle.cuh");
}

static int compile_baseline(struct kl_artefact **out, const void *state,
			    const struct kl_surface *surface, const char *march, const char *dir,
			    const char *kept)
{
	const struct session *session = state;

	return kept ? kl_baseline_cuda_kept(out, surface, march, kept) :
		      kl_baseline_cuda(out, session->lent.jail, &session->nvcc, surface, march,
				       dir);
}

static int add_baseline_recipe(struct kl_digest *key, const void *state,
			       const struct kl_surface *surface)
{
	const struct session *session = state;

	kl_compile_cuda_recipe(key, &session->nvcc);
	return kl_baseline_cuda_recipe(key, surface);
}

/* --- describing jobs ------------------------------------------------------------------------ */

static struct kl_plan *plan_of(const struct kl_launch *launch)
{
	return launch ? kl_plan_ref(launch->plan) : NULL;
}

static void describe_plans(struct kl_job *job, const struct kl_backend_job *of)
{
	snprintf(job->arch, sizeof(job->arch), "%s", of->platform->march);
	job->plan = plan_of(of->candidate->launch);
	job->parent_plan = plan_of(of->parent ? of->parent->launch : NULL);
	job->oracle_plan = plan_of(of->oracle);
	if (!of->baseline)
		return;
	job->baseline_path = kl_strdup(of->baseline->object);
	job->baseline_plan = plan_of(of->baseline->launch);
}

static void describe_host(struct kl_job *job, const struct kl_backend_job *of)
{
	const struct kl_strvec *names = &of->candidate->kernels;

	describe_plans(job, of);
	for (size_t i = 0; i < names->n; i++)
		kl_strvec_push(&job->kernel, names->v[i]);
	job->host = true;
}

/* --- the rows of the table of backends ------------------------------------------------------ */

static const char platforms[] = "cuda/sm_<number>";

/*
 * Rates that no existing device reaches: twice the rate of the second-level cache of the largest
 * device, and twice the rate of its dense tensor cores for their narrowest type. The worker, which
 * knows the device, can apply a stricter bound.
 */
#define DEVICE_PEAK                                             \
	{                                                       \
		.bytes_per_ns = 24000, .flops_per_ns = 20000000 \
	}

/*
 * The words that replace an oracle's macros. Functions on float need no suffix, because the toolkit
 * overloads the names of <math.h>.
 */
static const char *const includes[] = { "stdint", NULL };
static const struct kl_oracle_words words = {
	.header = "kl_oracle.cuh",
	.includes = includes,
	.kernel = "extern \"C\" __global__ void",
	.float_suffix = "",
};

/* The backend of kernels that are only device code, so none of their code runs on the host. */
const struct kl_backend kl_backend_cuda = {
	.language = &kl_language_cuda,
	.object = "cubin",
	.words = &words,
	.surface = KL_SURFACE_CUDA,
	.tier = KL_TIER_DEVICE_ONLY,
	.counters = true,
	.device = &kl_cuda_device,
	.peak = DEVICE_PEAK,
	.has_feature = kl_cuda_has_feature,
	.describe = describe_plans,
	.platforms = platforms,
	.owns = owns_platform,
	.own_platform = true,
	.guess = guess_by_plan,
	.limits = read_limits,
	.port = kl_cuda_port,
	.tools = name_tools,
	.open = open_session,
	.close = close_session,
	.platform = platform_of_plan,
	.prepare = find_tools,
	.compile = compile_device,
	.oracle = compile_oracle,
	.recipe = add_recipe,
	.baseline = compile_baseline,
	.baseline_recipe = add_baseline_recipe,
};

/*
 * The backend of kernels with host code. Host code runs only behind the worker's wall, and every
 * result must confirm that the host code ran there.
 */
const struct kl_backend kl_backend_cuda_host = {
	.language = &kl_language_cuda_host,
	.object = "cubin",
	.surface = KL_SURFACE_CUDA,
	.tier = KL_TIER_HOST_SANDBOXED,
	.walled = true,
	.device = &kl_cuda_device,
	.peak = DEVICE_PEAK,
	.has_feature = kl_cuda_has_feature,
	.describe = describe_host,
	.platforms = platforms,
	.owns = owns_platform,
	.own_platform = true,
	.guess = guess_by_contract,
	.limits = read_limits,
	.port = port_host,
	.tools = name_tools,
	.open = open_session,
	.close = close_session,
	.platform = platform_of_host,
	.prepare = find_tools,
	.compile = compile_host,
	.oracle = compile_oracle,
	.recipe = add_recipe,
	.baseline = compile_baseline,
	.baseline_recipe = add_baseline_recipe,
};
