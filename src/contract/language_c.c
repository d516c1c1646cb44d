/* SPDX-License-Identifier: Apache-2.0 */
/* language_c - what a contract of a kernel in C may say: a function, called by its name */
#include <string.h>

#include "contract/flags.h"
#include "contract/parts.h"

static int read_entry(char **out, struct kl_node node)
{
	const char *name;
	int err = kl_node_ident(&name, node);

	if (err < 0)
		return err;
	if (name[0] == '_' || !strncmp(name, "kl_", 3) || !strcmp(name, "main"))
		return kl_node_error(node,
				     "'%s' is '%s': names that begin with '_' or 'kl_', "
				     "and main, are reserved",
				     node.what, name);
	*out = kl_strdup(name);
	return 0;
}

int kl_language_entry(struct kl_contract *contract, struct kl_node surface)
{
	return read_entry(&contract->entry, kl_node_get(surface, "entry"));
}

int kl_language_oracle_entry(struct kl_contract *contract, struct kl_node oracle)
{
	return read_entry(&contract->oracle_entry, kl_node_get(oracle, "entry"));
}

static const char *const surface_keys[] = { "language", "sources", "entry", "flags", NULL };
static const char *const oracle_keys[] = { "language", "sources", "entry", NULL };
static const char *const suffixes[] = { ".c", ".h", ".inc", NULL };
static const char *const mains[] = { ".c", NULL };
static const char *const spatch[] = { ".c", ".h", NULL };
static const char *const baselines[] = { "openblas.sgemm", "onednn.conv2d", NULL };

static const struct kl_language_init start = {
	.contract = "templates/init/klineage.yaml.in",
	.oracle = "templates/init/oracle.c.in",
	.oracle_name = "oracle.c",
};

const struct kl_language kl_language_c = {
	.name = "c",
	.title = "C",
	.suffixes = suffixes,
	.mains = mains,
	.texts = suffixes,
	.spatch = spatch,
	.flag_ok = kl_compile_flag_ok,
	.baselines = baselines,
	.surface = { surface_keys, 3, kl_language_entry },
	.oracle = { oracle_keys, 3, kl_language_oracle_entry },
	.init = &start,
};
