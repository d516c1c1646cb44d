/* SPDX-License-Identifier: Apache-2.0 */
/* check_event - checks gate events: what they judged, what they cite, who signed them */
#include <string.h>

#include "base/error.h"
#include "contract/surface.h"
#include "event/event.h"
#include "fsck/parts.h"
#include "repo/notes.h"

/* surface and contract digests of every contract in a commit's tree, in pairs */
static void read_digests(struct kl_checker *k, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	git_oid tree;

	k->digests_of = *commit;
	kl_strvec_release(&k->digests);
	k->digests = (struct kl_strvec)KL_STRVEC_INIT;
	if (kl_repo_tree_of(&tree, k->c->repo, commit) < 0 ||
	    kl_surface_find(&dirs, &workloads, k->c->repo, &tree) < 0)
		return;
	for (size_t i = 0; i < dirs.n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;

		if (kl_surface_from_tree(&s, k->c->repo, &tree, dirs.v[i]) < 0)
			continue;
		kl_strvec_push(&k->digests, s->digest);
		kl_strvec_push(&k->digests, s->contract_digest);
	}
}

/* is the event for one of the surfaces in this commit? */
static bool is_for_commit(struct kl_checker *k, const struct kl_event *event, const git_oid *commit)
{
	/* a note has several events of one commit, one after the other */
	if (memcmp(&k->digests_of, commit, sizeof(*commit)))
		read_digests(k, commit);
	for (size_t i = 0; i + 1 < k->digests.n; i += 2)
		if (kl_event_is_for(event, k->digests.v[i], k->digests.v[i + 1]))
			return true;
	return false;
}

/* what a later version wrote is passed over by readers here, and by this one */
static bool is_later(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;

	return kl_json_parse(&e, line, len) == 0 && kl_json_int_or(e, "v", 0) > 1;
}

static void check_event(struct kl_checker *k, const git_oid *commit, const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char at[KL_OID_HEX];

	k->c->events++;
	kl_check_short(at, commit);
	if (kl_event_parse(&event, line, len) < 0) {
		if (is_later(line, len))
			kl_check_say(k, KL_CHECK_WARNING, at,
				     "an event of a later version of git-klineage");
		else
			kl_check_say_error(k, at);
		kl_error_clear();
		return;
	}
	kl_map_put(&k->cited, event->id, k);
	if (event->kind == KL_KIND_GATE && !is_for_commit(k, event, commit))
		kl_check_say(k, KL_CHECK_WARNING, at,
			     "event %.12s is stale: it was reached for other files", event->id);
	kl_error_clear();
	if (*event->sig) {
		kl_trust_add_event(&k->signed_, k->signed_at.n, kl_event_ref(event), false);
		kl_strvec_push(&k->signed_at, at);
	}
	if (event->inverse.there) {
		kl_strvec_pushf(&k->citing, "%s %s", at, event->inverse.state);
		kl_strvec_pushf(&k->citing, "%s %s", at, event->inverse.pair);
	}
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	for (const char *s = text, *end = text + len; s < end;) {
		const char *nl = memchr(s, '\n', end - s);
		size_t n = (nl ? nl : end) - s;

		if (n)
			check_event(payload, commit, s, n);
		s += n + 1;
	}
	return 0;
}

static int check_signatures(struct kl_checker *k)
{
	int err = kl_trust_judge(&k->signed_, k->c->repo);

	for (size_t i = 0; i < k->signed_.n && !err; i++) {
		const struct kl_trust_line *l = &k->signed_.v[i];

		if (l->sig.state == KL_SIGN_BAD)
			kl_check_say(k, KL_CHECK_ERROR, k->signed_at.v[l->tag],
				     "event %.12s has a wrong signature: %s", l->event->id,
				     l->sig.why);
	}
	return err;
}

int kl_check_events(struct kl_checker *k)
{
	int err = kl_notes_each(k->c->repo, KL_NOTES_GATE, on_note, k);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (!err)
		err = check_signatures(k);
	for (size_t i = 0; !err && i < k->citing.n; i++) {
		char *id = strchr(k->citing.v[i], ' ');

		*id++ = '\0';
		if (!kl_map_get(&k->cited, id))
			kl_check_say(k, KL_CHECK_ERROR, k->citing.v[i],
				     "its event cites %.12s, which is not here", id);
	}
	return err;
}
