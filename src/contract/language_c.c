/* SPDX-License-Identifier: Apache-2.0 */
/* language_c - describes contracts of kernels in C: a kernel is a function, called by its name */
#include <string.h>

#include "contract/flags.h"
#include "contract/parts.h"
#include "text/name.h"

int kl_language_entry_ok(const char *name, const char *file, const struct kl_yaml *node,
			 const char *key)
{
	if (name[0] == '_' || !strncmp(name, "kl_", 3) || !strcmp(name, "main"))
		return kl_yaml_error(file, node,
				     "'%s' is '%s': names that begin with '_' or 'kl_', "
				     "and main, are reserved",
				     key, name);
	return 0;
}

static int check_entry(const char *file, const struct kl_yaml *node, const char *key)
{
	const char *name = node->text;

	if (!kl_name_is_ident(name))
		return kl_yaml_error(file, node,
				     "'%s' must be a C identifier of at most 63 bytes, not '%.64s'",
				     key, name);
	return kl_language_entry_ok(name, file, node, key);
}

const struct kl_string_type kl_language_entry = { "a C identifier", NULL, check_entry };

#define ENTRY_FIELD(m)                                                                  \
	KL_STRING_FIELD("entry", KL_NEEDED | KL_LOOSE, offsetof(struct kl_contract, m), \
			&kl_language_entry)

#define THREADS_FIELD \
	KL_INT_FIELD("threads", KL_LOOSE, offsetof(struct kl_contract, threads), 1, KL_MAX_THREADS)

static const struct kl_field surface_fields[] = {
	KL_LANGUAGE_FIELD,  KL_CONTRACT_UNITS_FIELD, KL_LANGUAGE_SOURCES_FIELD,
	ENTRY_FIELD(entry), KL_LANGUAGE_FLAGS_FIELD, KL_CONTRACT_BUILD_FIELDS,
	THREADS_FIELD,      KL_FIELDS_END,
};
static const struct kl_field oracle_fields[] = {
	KL_LANGUAGE_FIELD,
	KL_LANGUAGE_ORACLE_SOURCES_FIELD,
	ENTRY_FIELD(oracle_entry),
	KL_FIELDS_END,
};
const struct kl_schema kl_language_c_surface = {
	"'surface'", sizeof(struct kl_contract), surface_fields, NULL, NULL, NULL,
};
const struct kl_schema kl_language_c_oracle = {
	"'oracle'", sizeof(struct kl_contract), oracle_fields, NULL, NULL, NULL,
};

static const char *const suffixes[] = { ".c", ".h", ".inc", NULL };
static const char *const mains[] = { ".c", NULL };
static const char *const spatch[] = { ".c", ".h", NULL };
const char *const kl_language_c_baselines[] = { "openblas.sgemm", "onednn.conv2d", NULL };

static const struct kl_language_init start = {
	.contract = "templates/init/klineage.yaml.in",
	.oracle = "templates/init/oracle.c.in",
	.oracle_name = "oracle.c",
	.adapter = "templates/init/adapter.c.in",
	.adapter_name = "adapter.c",
	.mains = { ".c" },
};

const struct kl_language kl_language_c = {
	.name = "c",
	.title = "C",
	.suffixes = suffixes,
	.mains = mains,
	.texts = suffixes,
	.spatch = spatch,
	.flag_ok = kl_compile_flag_ok,
	.baselines = kl_language_c_baselines,
	.surface = { &kl_language_c_surface, kl_contract_build_finish },
	.oracle = { &kl_language_c_oracle, NULL },
	.init = &start,
};
