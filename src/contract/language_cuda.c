/* SPDX-License-Identifier: Apache-2.0 */
/* language_cuda - what a contract of a CUDA kernel may say: launched by a plan or by host code */
#include <string.h>

#include "contract/flags.h"
#include "contract/parts.h"
#include "plan/plan.h"

/* --- a launch plan ------------------------------------------------------------------------- */

static const char *const plans[] = { ".yaml", NULL };

/* One of the section's sources; without the key, the one of the usual name. */
static int read_launch(char **out, const struct kl_strvec *sources, struct kl_node section,
		       const char *usual)
{
	struct kl_node node = kl_node_get(section, "launch");
	struct kl_node list = kl_node_get(section, "sources");
	const char *path = usual;
	int err;

	if (node.y && (err = kl_node_text(&path, node)) < 0)
		return err;
	if (!kl_strvec_has(sources, path))
		return kl_node_error(node.y ? node : list,
				     "the launch plan '%.200s' is none of the sources%s", path,
				     node.y ? "" : " (the key 'launch' names another)");
	if (!kl_suffix_in(path, plans))
		return kl_node_error(node, "the launch plan '%.200s' is no .yaml file", path);
	*out = kl_strdup(path);
	return 0;
}

static int read_surface(struct kl_contract *contract, struct kl_node surface)
{
	return read_launch(&contract->launch, &contract->sources, surface, "launch.yaml");
}

static int read_oracle(struct kl_contract *contract, struct kl_node oracle)
{
	return read_launch(&contract->oracle_launch, &contract->oracle_sources, oracle,
			   "oracle.yaml");
}

/* --- host code ----------------------------------------------------------------------------- */

/* There is no plan, which else says for what it is compiled, and how. */
static int read_host(struct kl_contract *contract, struct kl_node surface)
{
	static const char *const standards[] = { "c++17", "c++20", NULL };
	static const char *const unlaunched[] = { ".yaml", ".cubin", NULL };
	struct kl_node std = kl_node_get(surface, "std"), arch = kl_node_get(surface, "arch");
	struct kl_plan_facts facts;
	const char *text;
	int which = 0, err = kl_node_text(&text, arch);

	for (size_t i = 0; !err && i < contract->sources.n; i++)
		if (kl_suffix_in(contract->sources.v[i], unlaunched))
			return kl_node_error(kl_node_item(kl_node_get(surface, "sources"), i),
					     "'%.200s': host code launches by itself, from its "
					     "own source",
					     contract->sources.v[i]);
	if (!err && kl_plan_arch_facts(&facts, text) < 0)
		return kl_node_error_at(arch, 0);
	if (!err && std.y)
		err = kl_node_choice(&which, std, standards);
	if (err < 0)
		return err;
	contract->arch = kl_strdup(text);
	contract->std = kl_strdup(standards[which]);
	return 0;
}

/* --- the rows ------------------------------------------------------------------------------ */

static const char *const plan_keys[] = { "language", "sources", "host", "launch",
					 "flags",    "headers", NULL };
static const char *const host_keys[] = { "language", "sources", "arch",    "host",
					 "std",      "flags",   "headers", NULL };
static const char *const oracle_keys[] = { "language", "sources", "launch", NULL };
static const char *const suffixes[] = {
	".cu", ".cuh", ".h", ".inc", ".yaml", ".bin", ".cubin", NULL
};
static const char *const mains[] = { ".cu", ".cubin", NULL };
static const char *const texts[] = { ".cu", ".cuh", ".h", ".inc", NULL };
static const char *const baselines[] = {
	"cublas.gemm", "cudnn.conv2d",       "cudnn.conv2d-nchw", "cudnn.sdpa",      "cub.topk",
	"chunked.gdn", "chunked.gdn-cumsum", "chunked.gdn-kkt",   "chunked.gdn-fwd", NULL
};

static const char name[] = "cuda", unit[] = "device code";

const struct kl_language kl_language_cuda = {
	.name = name,
	.title = "CUDA",
	.suffixes = suffixes,
	.mains = mains,
	.texts = texts,
	.unit = unit,
	.dims = { "a cuda kernel's dims are passed by its launch plan ({i32: ", "})" },
	.flag_ok = kl_compile_flag_ok_cuda,
	.baselines = baselines,
	.surface = { plan_keys, 2, read_surface },
	.oracle = { oracle_keys, 2, read_oracle },
};

const struct kl_language kl_language_cuda_host = {
	.name = name,
	.title = "CUDA with host code",
	.variant = "host",
	.suffixes = suffixes,
	.mains = mains,
	.texts = texts,
	.unit = unit,
	.dims = { "host code has the dims as kl_dim(", ")" },
	.flag_ok = kl_compile_flag_ok_cuda,
	.baselines = baselines,
	.surface = { host_keys, 3, read_host },
	.oracle = { oracle_keys, 2, read_oracle },
};
