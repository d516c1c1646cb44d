/* SPDX-License-Identifier: Apache-2.0 */
/* language_cuda - describes contracts of CUDA kernels, launched by a launch plan or by host code */

#include "contract/flags.h"
#include "contract/parts.h"
#include "plan/plan.h"

#define AT(m) offsetof(struct kl_contract, m)

/* --- kernels that a launch plan launches ----------------------------------------------------- */

static const char *const plans[] = { ".yaml", NULL };

/*
 * Set the plan's path to `usual` if the contract does not give a path, and check that the plan is
 * one of the sources.
 */
static int finish_launch(char **launch, const struct kl_contract *contract,
			 const struct kl_strvec *sources, const char *usual,
			 const struct kl_yaml *section)
{
	const struct kl_yaml *said = kl_yaml_get(section, "launch");

	if (!said)
		*launch = kl_strdup(usual);
	if (!kl_strvec_has(sources, *launch))
		return kl_yaml_error(contract->name, said ? said : kl_yaml_get(section, "sources"),
				     "the launch plan '%.200s' is not one of the sources%s",
				     *launch,
				     said ? "" : " (use the key 'launch' to name another file)");
	if (!kl_suffix_in(*launch, plans))
		return kl_yaml_error(contract->name, said,
				     "the launch plan '%.200s' is not a .yaml file", *launch);
	return 0;
}

static int finish_surface(struct kl_contract *contract, const struct kl_yaml *section)
{
	int err = kl_contract_build_finish(contract, section);

	return err ? err :
		     finish_launch(&contract->launch, contract, &contract->sources, "launch.yaml",
				   section);
}

static int finish_oracle(struct kl_contract *contract, const struct kl_yaml *section)
{
	return finish_launch(&contract->oracle_launch, contract, &contract->oracle_sources,
			     "oracle.yaml", section);
}

/* `host` chooses one of the two rows, so it is read before the schema is known */
#define HOST_FIELD KL_VALUE_FIELD("host", 0, 0, &kl_value_known)
#define HEADERS_FIELD KL_SET_FIELD("headers", 0, AT(headers), &kl_string_slug, 0, KL_HEADERS_MAX)

static const struct kl_field plan_fields[] = {
	KL_LANGUAGE_FIELD,
	KL_LANGUAGE_SOURCES_FIELD,
	HOST_FIELD,
	KL_STRING_FIELD("launch", 0, AT(launch), &kl_contract_path),
	KL_LANGUAGE_FLAGS_FIELD,
	KL_CONTRACT_CUDA_BUILD_FIELDS,
	HEADERS_FIELD,
	KL_FIELDS_END,
};
static const struct kl_schema plan_schema = {
	"'surface'", sizeof(struct kl_contract), plan_fields, NULL, NULL, NULL,
};

static const struct kl_field oracle_fields[] = {
	KL_LANGUAGE_FIELD,
	KL_LANGUAGE_ORACLE_SOURCES_FIELD,
	KL_STRING_FIELD("launch", 0, AT(oracle_launch), &kl_contract_path),
	KL_FIELDS_END,
};
static const struct kl_schema oracle_schema = {
	"'oracle'", sizeof(struct kl_contract), oracle_fields, NULL, NULL, NULL,
};

/* --- kernels that host code launches --------------------------------------------------------- */

static const char *const standards[] = { "c++17", "c++20", NULL };

static int read_std(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, standards);
	int which, err = kl_schema_read_value(&which, file, &word, node);

	if (!err)
		*(char **)at = kl_strdup(standards[which]);
	return err;
}

static int finish_host(struct kl_contract *contract, const struct kl_yaml *section)
{
	static const char *const unlaunched[] = { ".yaml", ".cubin", NULL };
	const struct kl_yaml *sources = kl_yaml_get(section, "sources");

	for (size_t i = 0; i < contract->sources.n; i++)
		if (kl_suffix_in(contract->sources.v[i], unlaunched))
			return kl_yaml_error(contract->name, sources->item[i],
					     "'%.200s' cannot be a source, because host code "
					     "launches its kernels itself",
					     contract->sources.v[i]);
	if (!contract->std)
		contract->std = kl_strdup(standards[0]);
	return kl_contract_build_finish(contract, section);
}

static const struct kl_value_type std_value = { .read = read_std };

static const struct kl_field host_fields[] = {
	KL_LANGUAGE_FIELD,
	KL_LANGUAGE_SOURCES_FIELD,
	/* host code has no launch plan, so the contract itself names the architecture */
	KL_STRING_FIELD("arch", KL_NEEDED, AT(arch), &kl_plan_arch_string),
	HOST_FIELD,
	KL_VALUE_FIELD("std", 0, AT(std), &std_value),
	KL_LANGUAGE_FLAGS_FIELD,
	KL_CONTRACT_CUDA_BUILD_FIELDS,
	HEADERS_FIELD,
	KL_FIELDS_END,
};
static const struct kl_schema host_schema = {
	"'surface'", sizeof(struct kl_contract), host_fields, NULL, NULL, NULL,
};
#undef AT

/* --- rows of the table of languages ---------------------------------------------------------- */

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

static const struct kl_language_init start = {
	.contract = "templates/init/cuda.yaml.in",
	.oracle = "templates/init/oracle.cu.in",
	.oracle_name = "oracle.cu",
	.mains = { ".cu" },
	.headers = { ".cuh" },
	.plan = "templates/init/launch.yaml.in",
	.plan_name = "launch.yaml",
	.oracle_plan = "templates/init/oracle.yaml.in",
	.oracle_plan_name = "oracle.yaml",
};

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
	.surface = { &plan_schema, finish_surface },
	.oracle = { &oracle_schema, finish_oracle },
	.init = &start,
};

const struct kl_language kl_language_cuda_host = {
	.name = name,
	.title = "CUDA with host code",
	.variant = "host",
	.suffixes = suffixes,
	.mains = mains,
	.texts = texts,
	.unit = unit,
	.dims = { "host code reads a dim with kl_dim(", ")" },
	.flag_ok = kl_compile_flag_ok_cuda,
	.baselines = baselines,
	.surface = { &host_schema, finish_host },
	.oracle = { &oracle_schema, finish_oracle },
};
