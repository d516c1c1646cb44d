/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/wide.h"

#include <string.h>

#include "base/error.h"
#include "text/yaml_write.h"

/* Return the value of the contract's key `values` in which all classes but one are undefined. */
static struct kl_yaml *values_value(enum kl_probe_values values)
{
	struct kl_yaml *map = kl_yaml_new_map();

	for (int i = KL_PROBE_PLAIN + 1; i < KL_PROBE_VALUES; i++)
		kl_yaml_put(map, kl_probe_value_names[i],
			    kl_yaml_new_text(kl_value_policies[i != (int)values]));
	return map;
}

int kl_probe_widen(struct kl_surface **out, const struct kl_surface *surface,
		   enum kl_probe_values values)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *top = NULL, *made = kl_yaml_new_map();
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_file *file = &surface->contract_file;
	int err = kl_yaml_parse(&top, surface->contract->name, file->data, file->len);

	if (err < 0)
		return err;
	for (size_t i = 0; i < top->n; i++) {
		if (!strcmp(top->key[i], "domain") || !strcmp(top->key[i], "values"))
			continue;
		kl_yaml_put(made, top->key[i], top->item[i]);
		top->item[i] = kl_yaml_new_map();
	}
	kl_yaml_put(made, "values", values_value(values));
	kl_yaml_emit(&text, made);
	return kl_surface_with_contract(out, surface, text.ptr, text.len);
}
