/* SPDX-License-Identifier: Apache-2.0 */
/* gate_point - judges a candidate at one point, with a profile if the caller asks for one */
#include <string.h>

#include "base/error.h"
#include "gate/gate_parts.h"

/* Make the member `point` of an event: {"base": "x=4", "dims": {"m": 3}}. */
static int make_member(json_t **out, const struct kl_contract *contract,
		       const struct kl_gate_point *at)
{
	json_t *object = json_object();
	struct kl_dims point;
	int err = kl_contract_read_dims(&point, contract, at->dims, strlen(at->dims));

	for (size_t i = 0; !err && i < point.n; i++)
		kl_json_set_int(object, contract->dim_name[i], point.v[i]);
	*out = json_object();
	kl_json_set(*out, "dims", object);
	if (at->base)
		kl_json_set_str(*out, "base", at->base);
	return err;
}

int kl_gate_judge_point(struct kl_judgement **out, struct kl_gate *gate,
			const struct kl_surface *candidate, const struct kl_gate_point *point)
{
	KL_AUTO(json_decrefp) json_t *member = NULL;
	const struct kl_gate_opts opts = gate->opts;
	struct kl_gate_point of = *point;
	int err = 0;

	if (kl_gate_is_remote(gate) && !point->campaign)
		return kl_error(KL_ECANNOT,
				"runner '%s' returns results later, but this point can be judged "
				"only on this machine",
				gate->runner.name);
	if (!point->member && (err = make_member(&member, candidate->contract, point)) < 0)
		return err;
	if (member)
		of.member = member;
	gate->opts.dims = point->dims;
	gate->opts.seed = point->seed;
	gate->opts.base = point->base;
	gate->opts.timed = point->parent != NULL;
	gate->opts.no_profile = !point->parent;
	gate->opts.no_cache = true;
	gate->opts.quick = false;
	gate->point = &of;
	err = kl_gate_judge(out, gate, candidate, point->parent);
	gate->opts = opts;
	gate->point = NULL;
	return err;
}
