/* SPDX-License-Identifier: Apache-2.0 */
/* proposal_from_step - makes a proposal from a step that a model or agent wrote */
#include <string.h>

#include "base/error.h"
#include "rewrite/edits.h"
#include "rewrite/naming/residue.h"
#include "rewrite/rewriter.h"

int kl_rewrite_check_names(const struct kl_rewrite *rw, const struct kl_envelope *envelope)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(envelope->locus);
	KL_AUTO(kl_freep) char *path = kl_strndup(place, strcspn(place, ":"));
	const struct kl_file *file;
	int err = kl_edits_path(&file, rw->state, path);

	if (err < 0)
		return kl_error_in(err, "the locus");
	if (*envelope->mechanism && rw->mechanisms &&
	    !kl_mechanisms_find(rw->mechanisms, envelope->mechanism))
		return kl_error(
			KL_EINVALID,
			"there is no mechanism '%s'; use one of the list, or - if none fits",
			envelope->mechanism);
	return 0;
}

/*
 * Set the error for a step from which kl_rewrite_offer() made no proposal, because the same edit or
 * its result was tried before.
 */
static int judged_before(const struct kl_rewrite *rw, const char *id)
{
	size_t i;
	json_t *rec;

	json_array_foreach(rw->rejections, i, rec)
		if (!strcmp(kl_json_str_or(rec, "id", ""), id))
			return kl_error(KL_EINVALID,
					"the same edit was proposed before, and refused: %s",
					kl_json_str_or(rec, "class", ""));
	return kl_error(KL_EINVALID, "the walk has already visited this kernel, or it was refused");
}

static int offer_step(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_claim *claim,
		      const struct kl_file *edit, size_t n)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *after = NULL;
	char id[KL_DIGEST_HEX];
	int err;

	if ((err = kl_surface_with(&after, rw->state, edit, n)) < 0 ||
	    (err = kl_residue_check(rw->state, after)) < 0)
		return err;
	/* the step was written for this state, so do not defer it to the second round */
	rw->again = true;
	err = kl_rewrite_offer(out, rw, edit, n, claim);
	rw->again = false;
	if (err < 0 || *out)
		return err;
	kl_proposal_id(id, rw->state->digest, after->digest);
	return judged_before(rw, id);
}

int kl_rewrite_take(struct kl_proposal **out, struct kl_rewrite *rw,
		    const struct kl_envelope *envelope, const char *rewriter, const char *source)
{
	struct kl_claim claim = {
		.rewriter = rewriter,
		.source = source,
		.action = envelope->action,
		.mechanism = envelope->mechanism,
		.text = envelope->why,
		.origin = "induced",
		.traits = envelope->traits,
		.locus = envelope->locus,
	};
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err = kl_edits_apply(&edit, &n, rw->state, envelope);

	if (err < 0)
		return err;
	err = offer_step(out, rw, &claim, edit, n);
	kl_edits_free(edit, n);
	return err;
}
