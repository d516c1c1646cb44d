/* SPDX-License-Identifier: Apache-2.0 */
/* gate_point - judges a candidate at one point, with a profile if the caller asks for one */
#include <string.h>

#include "base/error.h"
#include "gate/gate_parts.h"

/* Keep the point in the event: {"base": "x=4", "dims": {"m": 3}}. */
static int keep_point(struct kl_event *event, const struct kl_contract *contract,
		      const struct kl_gate_point *at)
{
	json_t *object = json_object();
	struct kl_dims point;
	int err = kl_contract_read_dims(&point, contract, at->dims, strlen(at->dims));

	for (size_t i = 0; !err && i < point.n; i++)
		kl_json_set_int(object, contract->dim_name[i], point.v[i]);
	event->point = json_object();
	kl_json_set(event->point, "dims", object);
	if (at->base)
		kl_json_set_str(event->point, "base", at->base);
	return err;
}

int kl_gate_judge_point(struct kl_judgement **out, struct kl_gate *gate,
			const struct kl_surface *candidate, const struct kl_gate_point *point)
{
	const struct kl_gate_opts opts = gate->opts;
	int err;

	if (kl_gate_is_remote(gate))
		return kl_error(
			KL_ECANNOT,
			"runner '%s' returns results later, but single points are judged only "
			"on this machine",
			gate->runner.name);
	gate->opts.dims = point->dims;
	gate->opts.seed = point->seed;
	gate->opts.base = point->base;
	gate->opts.timed = point->parent != NULL;
	gate->opts.no_profile = !point->parent;
	gate->opts.no_cache = true;
	gate->opts.quick = false;
	gate->probing = true;
	err = kl_gate_judge(out, gate, candidate, point->parent);
	gate->opts = opts;
	gate->probing = false;
	if (err < 0)
		return err;
	err = keep_point((*out)->event, candidate->contract, point);
	kl_event_seal((*out)->event);
	return err;
}
