/* SPDX-License-Identifier: Apache-2.0 */
#include "event/push_check.h"

#include "event/verdict_lookup.h"
#include <string.h>

#define SHORT 10 /* digits of a commit */

void kl_pushed_release(struct kl_pushed *pushed)
{
	kl_strvec_release(&pushed->missing);
}

/* What is missing, or NULL; the caller frees. */
static char *verdict_complaint(const struct kl_judged_one *one, enum kl_pushed_want want)
{
	const struct kl_event *fail = kl_judged_failure(one);

	if (one->why)
		return kl_strdup(one->why);
	if (fail)
		return kl_asprintf("it failed: %s", kl_event_class(fail));
	if (kl_judged_pass(one) || (want == KL_PUSHED_CHECK && kl_judged_checked(one)))
		return NULL;
	if (one->unsigned_)
		return kl_strdup(
			"nobody whom gpg.ssh.allowedSignersFile names has signed a verdict");
	return kl_strdup(kl_judged_checked(one) ? "only the quick stages passed" :
						  "nobody has judged it");
}

static bool is_first_bad(const struct kl_judged *judged, size_t i)
{
	const char *id = judged->trust.v[i].event->id;

	if (judged->trust.v[i].sig.state != KL_SIGN_BAD)
		return false;
	for (size_t k = 0; k < i; k++)
		if (judged->trust.v[k].sig.state == KL_SIGN_BAD &&
		    !strcmp(judged->trust.v[k].event->id, id))
			return false;
	return true;
}

int kl_pushed_look(struct kl_pushed *out, struct kl_repo *repo, const git_oid *commit, size_t n,
		   enum kl_pushed_want want)
{
	KL_AUTO(kl_judged_release) struct kl_judged judged = { 0 };
	static char mark[] = "";
	int err = 0;

	*out = (struct kl_pushed){ 0 };
	for (size_t i = n; i-- > 0 && !err;) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &commit[i]);
		if (want != KL_PUSHED_NOTHING)
			err = kl_judged_commit(&judged, repo, &commit[i]);
		else
			kl_map_put(&judged.commits, hex, mark);
	}
	if (!err && n)
		err = kl_judged_find(&judged, repo);
	if (err < 0)
		return err;
	out->noted = judged.noted;
	for (size_t i = 0; i < judged.n; i++) {
		KL_AUTO(kl_freep) char *why = verdict_complaint(&judged.one[i], want);

		if (why)
			kl_strvec_pushf(&out->missing, "%.*s %s: %s", SHORT, judged.one[i].commit,
					judged.one[i].workload, why);
	}
	for (size_t i = 0; i < judged.trust.n; i++)
		if (is_first_bad(&judged, i))
			kl_strvec_pushf(&out->missing,
					"event %.12s has a wrong signature and does not count: %s",
					judged.trust.v[i].event->id, judged.trust.v[i].sig.why);
	return 0;
}
