/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/step_name.h"

#include <string.h>

#include "base/prefix.h"
#include "rewrite/naming/naming.h"

void kl_step_name_release(struct kl_step_name *name)
{
	kl_buf_release(&name->why);
	kl_buf_release(&name->contradiction);
}

/*
 * --- traits -----------------------------------------------------------------------------------
 */

/*
 * Complete the claims of a proposal: if it claims to remove a mechanism, it also claims to remove
 * the primary traits of that mechanism.
 */
static void complete_claims(json_t *pending, const struct kl_mechanism *mechanism)
{
	json_t *traits = json_object_get(pending, "traits");

	for (size_t i = 0; mechanism && traits && i < mechanism->primary.n; i++)
		if (!strncmp(mechanism->primary.v[i], "trait:", 6) &&
		    !json_object_get(traits, mechanism->primary.v[i] + 6))
			kl_json_set_str(traits, mechanism->primary.v[i] + 6, "no");
}

/*
 * Complete the traits of `after`: copy those of `before` that `after` lacks, then set those that
 * the proposal claims, marked "unaudited" until a model has read the source (kl_model_audit). A
 * claim that a trait is removed ("no") also sets the trait to "yes unaudited" in `before`.
 */
static void claim_traits(struct kl_facts *before, struct kl_facts *after, const json_t *pending)
{
	const char *key;
	json_t *claim;

	for (size_t i = 0; i < before->traits.n; i++)
		if (!kl_map_get(&after->traits, before->traits.e[i].key))
			kl_map_put(&after->traits, before->traits.e[i].key,
				   kl_strdup(before->traits.e[i].value));
	json_object_foreach(json_object_get(pending, "traits"), key, claim) {
		if (!json_is_string(claim))
			continue;
		kl_map_put(&after->traits, key,
			   kl_asprintf("%s unaudited", json_string_value(claim)));
		if (!strcmp(json_string_value(claim), "no"))
			kl_map_put(&before->traits, key, kl_strdup("yes unaudited"));
	}
}

/*
 * Take back the claims that complete_claims() added, and the traits that claim_traits() set for
 * them.
 */
static void drop_claims(json_t *pending, const struct kl_mechanism *mechanism,
			struct kl_facts *after)
{
	json_t *traits = json_object_get(pending, "traits");

	for (size_t i = 0; i < mechanism->primary.n; i++) {
		const char *trait = mechanism->primary.v[i] + 6;

		if (strncmp(mechanism->primary.v[i], "trait:", 6) ||
		    !json_object_get(traits, trait))
			continue;
		json_object_del(traits, trait);
		kl_map_put(&after->traits, trait, kl_strdup("unknown"));
	}
}

/*
 * --- the name ---------------------------------------------------------------------------------
 */

char *kl_step_name_action(const json_t *pending)
{
	const char *text = kl_json_str_or(pending, "text", ""), *colon = strstr(text, ": ");
	KL_AUTO(kl_freep) char *slug = NULL;

	/*
	 * from "undo 1234567: subject" take the subject, from "undo commits 1234567..89abcde" the
	 * commits
	 */
	if (kl_prefix_has(text, "undo commits "))
		text += strlen("undo ");
	else if (colon)
		text = colon + 2;
	slug = kl_proposal_slug(text);
	return kl_asprintf("historical-%s", slug);
}

static struct kl_naming_sides sides_of(const struct kl_sequencer *sequencer,
				       const struct kl_facts *before, const struct kl_facts *after)
{
	const struct kl_surface *fast = sequencer->op.state, *plain = sequencer->op.pending;

	return (struct kl_naming_sides){
		.fast = fast->file,
		.nfast = fast->nfile,
		.plain = plain->file,
		.nplain = plain->nfile,
		.had = before,
		.has = after,
		.mechanisms = sequencer->mechanisms,
	};
}

/* Check that a primary feature of the mechanism disappeared. */
static bool lost_feature(const struct kl_mechanism *mechanism, const struct kl_facts *before,
			 const struct kl_facts *after)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gone = KL_STRVEC_INIT;

	kl_features_minus(&gone, &before->features, &after->features, after->features_version);
	for (size_t i = 0; i < mechanism->primary.n; i++)
		if (kl_strvec_has(&gone, mechanism->primary.v[i]))
			return true;
	return false;
}

static bool is_by_model(const json_t *pending)
{
	return kl_rewriters_model(kl_json_str_or(pending, "rewriter", "")) != NULL;
}

/* Let sources and facts name the step, unless they give the name `but`. */
static void find_name(struct kl_step_name *out, const struct kl_sequencer *sequencer,
		      struct kl_facts *before, struct kl_facts *after, const char *but)
{
	const struct kl_naming_sides sides = sides_of(sequencer, before, after);
	json_t *pending = kl_walk_pending(&sequencer->op.walk);
	KL_AUTO(kl_naming_release) struct kl_naming naming = { .evidence = KL_BUF_INIT };
	KL_AUTO(kl_freep) char *text = NULL;

	if (!sequencer->mechanisms)
		return;
	kl_naming_find(&naming, &sides);
	if (!naming.mechanism || !strcmp(naming.mechanism->name, but))
		return;
	/* the audit of a trait costs money, so only a lost feature names a step of a model */
	if (is_by_model(pending) && !lost_feature(naming.mechanism, before, after))
		return;
	text = kl_asprintf("0.%02d (%s)", naming.percent, naming.evidence.ptr);
	out->mechanism = naming.mechanism;
	out->found = true;
	kl_json_set_str(pending, "mechanism", naming.mechanism->name);
	kl_json_set_str(pending, "confidence", text);
}

/* Check the name that the author of the step claims. */
static void check_claim(struct kl_step_name *out, const struct kl_sequencer *sequencer,
			const struct kl_facts *before, const struct kl_facts *after)
{
	const struct kl_naming_sides sides = sides_of(sequencer, before, after);

	out->contradicted = !kl_facts_moved(&out->contradiction, out->mechanism, before, after);
	if (out->contradicted || lost_feature(out->mechanism, before, after))
		return; /* the machine code takes precedence over the sources */
	kl_buf_clear(&out->contradiction);
	out->contradicted = kl_naming_refutes(&out->contradiction, &sides, out->mechanism);
}

void kl_step_name_settle(struct kl_step_name *out, const struct kl_sequencer *sequencer,
			 struct kl_facts *before, struct kl_facts *after)
{
	json_t *pending = kl_walk_pending(&sequencer->op.walk);
	bool claimed = *kl_json_str_or(pending, "mechanism", "");

	if (claimed && sequencer->mechanisms)
		out->mechanism = kl_mechanisms_find(sequencer->mechanisms,
						    kl_json_str_or(pending, "mechanism", ""));
	else if (!claimed)
		find_name(out, sequencer, before, after, "");
	if (!out->found || !is_by_model(pending))
		complete_claims(pending, out->mechanism);
	claim_traits(before, after, pending);
	if (out->mechanism)
		out->delta = kl_facts_judge(&out->why, out->mechanism, before, after);
	if (claimed && out->mechanism)
		check_claim(out, sequencer, before, after);
	/*
	 * accept a named step whole if it lost no feature: nothing then shows that it has other
	 * parts
	 */
	out->whole = out->found && !lost_feature(out->mechanism, before, after);
	if (!*kl_json_str_or(pending, "action", "")) {
		KL_AUTO(kl_freep) char *action = out->mechanism && out->mechanism->action ?
							 kl_strdup(out->mechanism->action) :
							 kl_step_name_action(pending);

		kl_json_set_str(pending, "action", action);
	}
}

void kl_step_name_take_back(struct kl_step_name *name, const struct kl_sequencer *sequencer,
			    struct kl_facts *before, struct kl_facts *after)
{
	json_t *pending = kl_walk_pending(&sequencer->op.walk);
	KL_AUTO(kl_freep) char *claimed = kl_strdup(kl_json_str_or(pending, "mechanism", ""));

	kl_json_set_str(pending, "claimed", claimed);
	kl_json_set_str(pending, "contradiction", name->contradiction.ptr);
	kl_json_set_str(pending, "mechanism", "");
	drop_claims(pending, name->mechanism, after);
	name->mechanism = NULL;
	find_name(name, sequencer, before, after, claimed);
	complete_claims(pending, name->mechanism);
	claim_traits(before, after, pending);
}
