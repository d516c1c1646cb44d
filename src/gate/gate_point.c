/* SPDX-License-Identifier: Apache-2.0 */
/* gate_point - judges a candidate at one point, with a profile if the caller asks for one */
#include <string.h>

#include "base/error.h"
#include "gate/gate_parts.h"

/* Keep the point in the event: {"dims": {"m": 3}}. */
static int keep_point(struct kl_event *event, const struct kl_contract *contract, const char *dims)
{
	json_t *object = json_object();
	struct kl_dims point;
	int err = kl_contract_read_dims(&point, contract, dims, strlen(dims));

	for (size_t i = 0; !err && i < point.n; i++)
		kl_json_set_int(object, contract->dim_name[i], point.v[i]);
	event->point = json_object();
	kl_json_set(event->point, "dims", object);
	return err;
}

int kl_gate_judge_point(struct kl_judgement **out, struct kl_gate *gate,
			const struct kl_surface *candidate, const struct kl_surface *parent,
			const char *dims)
{
	const struct kl_gate_opts opts = gate->opts;
	int err;

	if (kl_gate_is_remote(gate))
		return kl_error(
			KL_ECANNOT,
			"runner '%s' returns results later, but single points are judged only "
			"on this machine",
			gate->runner.name);
	gate->opts.dims = dims;
	gate->opts.timed = parent != NULL;
	gate->opts.no_profile = !parent;
	gate->opts.no_cache = true;
	gate->opts.quick = false;
	err = kl_gate_judge(out, gate, candidate, parent);
	gate->opts = opts;
	if (err < 0)
		return err;
	(*out)->event->kind = KL_KIND_PROBE;
	err = keep_point((*out)->event, candidate->contract, dims);
	kl_event_seal((*out)->event);
	return err;
}
