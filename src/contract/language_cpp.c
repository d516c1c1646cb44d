/* SPDX-License-Identifier: Apache-2.0 */
/* language_cpp - describes contracts of kernels in C++: a kernel is a function, named as in C++ */
#include <string.h>

#include "contract/flags.h"
#include "contract/parts.h"
#include "plan/plan.h"

static int check_entry(const char *file, const struct kl_yaml *node, const char *key)
{
	const char *name = node->text;

	if (strlen(name) > 255 || !kl_plan_is_cxx_name(name))
		return kl_yaml_error(file, node,
				     "'%s' must be the name of a function, such as scale, "
				     "ns::tile<float, 8> or scale(const float *, int), of at most "
				     "255 bytes, not '%.64s'",
				     key, name);
	return kl_language_entry_ok(name, file, node, key);
}

static const struct kl_string_type entry = { "the name of a function", NULL, check_entry };

static const struct kl_field surface_fields[] = {
	KL_LANGUAGE_FIELD,
	KL_CONTRACT_UNITS_FIELD,
	KL_LANGUAGE_SOURCES_FIELD,
	KL_STRING_FIELD("entry", KL_NEEDED | KL_LOOSE, offsetof(struct kl_contract, entry), &entry),
	KL_LANGUAGE_FLAGS_FIELD,
	KL_CONTRACT_BUILD_FIELDS,
	KL_FIELDS_END,
};
static const struct kl_schema surface = {
	"'surface'", sizeof(struct kl_contract), surface_fields, NULL, NULL, NULL,
};

static const char *const suffixes[] = { ".cpp", ".cc",  ".cxx", ".c", ".hpp", ".hxx", ".hh",
					".inl", ".tpp", ".ipp", ".h", ".inc", NULL };
static const char *const mains[] = { ".cpp", ".cc", ".cxx", ".c", NULL };

/* the oracle is in plain C, as for a kernel in C */
static const struct kl_language_init start = {
	.contract = "templates/init/klineage.yaml.in",
	.oracle = "templates/init/oracle.c.in",
	.oracle_name = "oracle.c",
	.mains = { ".cpp", ".cc", ".cxx" },
	.headers = { ".hpp", ".hxx", ".hh" },
};

const struct kl_language kl_language_cpp = {
	.name = "cpp",
	.alias = "c++",
	.title = "C++",
	.oracle_language = "c",
	.suffixes = suffixes,
	.mains = mains,
	.texts = suffixes,
	.flag_ok = kl_compile_flag_ok_cpp,
	.baselines = kl_language_c_baselines,
	.surface = { &surface, kl_contract_build_finish },
	.oracle = { &kl_language_c_oracle, NULL },
	.init = &start,
};
