/* SPDX-License-Identifier: Apache-2.0 */
/* adapter - reads which files call the kernel, and which functions of the kernel may run untimed */
#include <string.h>

#include "base/error.h"
#include "contract/parts.h"

static int check_adapter(const struct kl_contract *contract, const char *path, const char *file,
			 const struct kl_yaml *node)
{
	if (!kl_suffix_in(path, contract->language->mains))
		return kl_yaml_error(file, node, "'%.200s' is not a %s file", path,
				     contract->language->mains[0]);
	if (kl_strvec_has(&contract->sources, path))
		return kl_yaml_error(file, node,
				     "'%.200s' is a source of the kernel, so it cannot be the "
				     "adapter",
				     path);
	if (kl_strvec_has(&contract->oracle_sources, path))
		return kl_yaml_error(file, node,
				     "'%.200s' is a source of the oracle, so it cannot be the "
				     "adapter",
				     path);
	return 0;
}

/* Read one path or a list of paths. */
static int read_adapters(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	const struct kl_field one = KL_STRING_FIELD(field->key, 0, 0, &kl_contract_path);
	const struct kl_field list = KL_SET_FIELD(field->key, 0, 0, &kl_contract_path, 1,
						  KL_ADAPTERS_MAX);
	struct kl_contract *contract = at;
	bool is_list = node->kind == KL_YAML_SEQ;
	char *path = NULL;
	int err = is_list ? kl_schema_read_value(&contract->adapters, file, &list, node) :
			    kl_schema_read_value(&path, file, &one, node);

	if (path)
		kl_strvec_take(&contract->adapters, path);
	if (!err && contract->language != &kl_language_c)
		return kl_yaml_error(file, node, "only a kernel in C can have an adapter");
	for (size_t i = 0; !err && i < contract->adapters.n; i++)
		err = check_adapter(contract, contract->adapters.v[i], file,
				    is_list ? node->item[i] : node);
	return err;
}

static void free_adapters(void *at)
{
	struct kl_contract *contract = at;

	kl_strvec_release(&contract->adapters);
}

const struct kl_value_type kl_contract_adapter = { .read = read_adapters,
						   .release = free_adapters };

static int read_prepares(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	const struct kl_field names = KL_SET_FIELD(field->key, 0, 0, &kl_language_entry, field->min,
						   field->max);
	struct kl_contract *contract = at;

	if (!contract->adapters.n)
		return kl_yaml_error(file, node,
				     "'prepares' needs an 'adapter', whose adapter_prepare calls "
				     "these functions");
	return kl_schema_read_value(&contract->prepares, file, &names, node);
}

static void free_prepares(void *at)
{
	struct kl_contract *contract = at;

	kl_strvec_release(&contract->prepares);
}

const struct kl_value_type kl_contract_prepares = { .read = read_prepares,
						    .release = free_prepares };
