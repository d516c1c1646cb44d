/* SPDX-License-Identifier: Apache-2.0 */
#include "event/push_check.h"

#include "event/verdict_lookup.h"
#include <string.h>

#define SHORT 10 /* number of hex digits of an abbreviated commit id */

void kl_push_check_release(struct kl_push_check *push_check)
{
	kl_strvec_release(&push_check->missing);
}

/* Return the reason why the verdicts on a kernel do not suffice, or NULL; the caller frees. */
static char *verdict_complaint(const struct kl_verdict_entry *entry, enum kl_push_need want)
{
	const struct kl_event *fail = kl_verdict_entry_failure(entry);

	if (entry->why)
		return kl_strdup(entry->why);
	if (fail)
		return kl_asprintf("it failed: %s", kl_event_class(fail));
	if (kl_verdict_entry_pass(entry) ||
	    (want == KL_PUSH_NEEDS_CHECK && kl_verdict_entry_checked(entry)))
		return NULL;
	if (entry->unsigned_)
		return kl_strdup("no verdict is signed by an allowed signer");
	if (kl_verdict_entry_old_pass(entry))
		return kl_strdup("it passed under rules of the gate that have changed since");
	return kl_strdup(kl_verdict_entry_checked(entry) ? "only the quick stages passed" :
							   "not judged");
}

/* Return true for the first line of an event that does not count because of a bad signature. */
static bool is_first_bad(const struct kl_verdict_lookup *lookup, size_t i)
{
	const char *id = lookup->trust.v[i].event->id;

	if (lookup->trust.v[i].sig.state != KL_SIGN_BAD || lookup->trust.v[i].own)
		return false;
	for (size_t k = 0; k < i; k++)
		if (lookup->trust.v[k].sig.state == KL_SIGN_BAD &&
		    !strcmp(lookup->trust.v[k].event->id, id))
			return false;
	return true;
}

int kl_push_check(struct kl_push_check *out, struct kl_repo *repo, const git_oid *commit, size_t n,
		  enum kl_push_need want, const git_oid *base)
{
	KL_AUTO(kl_belief_freep) struct kl_belief *belief = NULL;
	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup lookup = { 0 };
	static char mark[] = "";
	int err = 0;

	*out = (struct kl_push_check){ 0 };
	for (size_t i = n; i-- > 0 && !err;) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &commit[i]);
		if (want != KL_PUSH_NEEDS_NOTHING)
			err = kl_verdict_lookup_commit(&lookup, repo, &commit[i]);
		else
			kl_map_put(&lookup.commits, hex, mark);
	}
	if (!err && base)
		err = kl_belief_open(&belief, repo, base);
	lookup.trust.belief = belief;
	if (!err && n)
		err = kl_verdict_lookup_run(&lookup, repo);
	if (err < 0)
		return err;
	out->noted = lookup.noted;
	for (size_t i = 0; i < lookup.n; i++) {
		KL_AUTO(kl_freep) char *why = verdict_complaint(&lookup.one[i], want);

		if (why)
			kl_strvec_pushf(&out->missing, "%.*s %s: %s", SHORT, lookup.one[i].commit,
					lookup.one[i].workload, why);
	}
	for (size_t i = 0; i < lookup.trust.n; i++)
		if (is_first_bad(&lookup, i))
			kl_strvec_pushf(&out->missing,
					"event %.12s has a wrong signature and does not count: %s",
					lookup.trust.v[i].event->id, lookup.trust.v[i].sig.why);
	return 0;
}
