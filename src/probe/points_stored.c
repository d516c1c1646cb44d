/* SPDX-License-Identifier: Apache-2.0 */
/* points_stored - lists the points at which a state was judged before */
#include <stdlib.h>
#include <string.h>

#include "probe/probing.h"

struct gathering {
	struct kl_probe_points *points;
	const struct kl_contract *contract;
	enum kl_probe_values values;
};

/* Read the member `point` of an event. Return false if it is no point of the contract. */
static bool read_point(struct kl_probe_point *out, const struct kl_contract *contract,
		       enum kl_probe_values values, const json_t *json)
{
	const json_t *dims = json_object_get(json, "dims");
	const char *base = kl_json_str_or(json, "base", NULL);
	size_t name = base ? strcspn(base, "=") : 0;

	*out = (struct kl_probe_point){ .dims = { .n = contract->dims.n }, .values = values };
	if (json_object_get(json, "repeat") ||
	    strcmp(kl_json_str_or(json, "values", ""), kl_probe_value_names[values]) != 0)
		return false;
	for (size_t i = 0; i < out->dims.n; i++)
		if ((out->dims.v[i] = kl_json_int_or(dims, contract->dim_name[i], 0)) < 1)
			return false;
	if (!base)
		return true;
	while (out->tensor < contract->nargs &&
	       (strlen(contract->arg[out->tensor].name) != name ||
		strncmp(contract->arg[out->tensor].name, base, name) != 0))
		out->tensor++;
	out->base = base[name] ? atoll(base + name + 1) : 0;
	return out->tensor < contract->nargs && out->base > 0;
}

static int gather_point(const struct kl_event *event, void *payload)
{
	struct gathering *gathering = payload;
	struct kl_probe_point point;

	if (gathering->points->n < KL_PROBE_MOST &&
	    read_point(&point, gathering->contract, gathering->values, event->point))
		kl_probe_points_add(gathering->points, gathering->contract, &point);
	return 0;
}

int kl_probe_points_stored(struct kl_probe_points *out, struct kl_probe_store *store,
			   const struct kl_probe_state *state)
{
	int err = 0;

	for (int i = 0; i < KL_PROBE_VALUES && !err; i++) {
		struct gathering gathering = { out, state->surface->contract,
					       (enum kl_probe_values)i };

		err = kl_probe_store_each(store, state->wide[i]->digest,
					  state->wide[i]->contract_digest, gather_point,
					  &gathering);
	}
	return err;
}
