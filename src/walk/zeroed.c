/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/zeroed.h"

#include <string.h>

#include "base/error.h"
#include "text/yaml_json.h"

/* Set `init: zeros` for the outputs without an `init`. Return the number of them. */
static size_t clear_outputs(json_t *contract)
{
	size_t i, n = 0;
	json_t *arg;

	json_array_foreach(json_object_get(contract, "args"), i, arg) {
		if (strcmp(kl_json_str_or(arg, "kind", ""), "out") != 0 ||
		    json_object_get(arg, "init"))
			continue;
		kl_json_set_str(arg, "init", "zeros");
		n++;
	}
	return n;
}

/*
 * Copy a state, with a contract that clears the outputs. *out stays NULL if no output would change.
 */
static int clear_state(struct kl_surface **out, const struct kl_surface *state)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *tree = NULL;
	KL_AUTO(json_decrefp) json_t *contract = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_yaml_parse(&tree, "contract", state->contract_file.data,
				state->contract_file.len);

	if (err < 0)
		return err;
	contract = kl_yaml_to_json(tree);
	if (!clear_outputs(contract))
		return 0;
	kl_json_pretty(&text, contract); /* JSON is YAML */
	return kl_surface_with_contract(out, state, text.ptr, text.len);
}

int kl_zeroed_is_right(bool *out, struct kl_sequencer *sequencer, const struct kl_surface *state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *cleared = NULL;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err;

	*out = false;
	if (sequencer->op.dry || !sequencer->judge_cleared)
		return 0;
	if (clear_state(&cleared, state) < 0 || !cleared) {
		kl_error_clear(); /* no error: the contract cannot be written with cleared outputs */
		return 0;
	}
	err = sequencer->judge_cleared(&judgement, cleared, NULL, sequencer->payload);
	if (err == KL_ECANNOT) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	*out = !judgement->deferred && judgement->event->verdict == KL_VERDICT_PASS;
	return 0;
}
