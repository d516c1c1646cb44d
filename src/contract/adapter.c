/* SPDX-License-Identifier: Apache-2.0 */
/* adapter - reads which file calls the kernel, and which functions of the kernel may run untimed */
#include <string.h>

#include "base/error.h"
#include "contract/parts.h"

static int read_adapter(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	const struct kl_field path = KL_STRING_FIELD(field->key, 0, 0, &kl_contract_path);
	struct kl_contract *contract = at;
	int err = kl_schema_read_value(&contract->adapter, file, &path, node);

	if (err < 0)
		return err;
	if (contract->language != &kl_language_c)
		return kl_yaml_error(file, node, "only a kernel in C can have an adapter");
	if (!kl_suffix_in(contract->adapter, contract->language->mains))
		return kl_yaml_error(file, node, "'%.200s' is not a %s file", contract->adapter,
				     contract->language->mains[0]);
	if (kl_strvec_has(&contract->sources, contract->adapter))
		return kl_yaml_error(
			file, node,
			"'%.200s' is a source of the kernel, so it cannot be the adapter",
			contract->adapter);
	if (kl_strvec_has(&contract->oracle_sources, contract->adapter))
		return kl_yaml_error(
			file, node,
			"'%.200s' is a source of the oracle, so it cannot be the adapter",
			contract->adapter);
	return 0;
}

static void free_adapter(void *at)
{
	struct kl_contract *contract = at;

	free(contract->adapter);
}

const struct kl_value_type kl_contract_adapter = { .read = read_adapter, .release = free_adapter };

static int read_prepares(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	const struct kl_field names = KL_SET_FIELD(field->key, 0, 0, &kl_language_entry, field->min,
						   field->max);
	struct kl_contract *contract = at;

	if (!contract->adapter)
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
