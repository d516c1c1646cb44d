/* SPDX-License-Identifier: Apache-2.0 */
/* check_event - checks gate events: their surfaces, citations and signatures */
#include <string.h>

#include "base/error.h"
#include "contract/surface.h"
#include "event/event.h"
#include "fsck/parts.h"
#include "repo/notes.h"

/*
 * Read the digests of every surface in a tree and of its contract. Store them as pairs in
 * `checker->digests`.
 */
static void read_digests(struct kl_checker *checker, const git_oid *tree)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;

	checker->digests_of = *tree;
	kl_strvec_release(&checker->digests);
	checker->digests = (struct kl_strvec)KL_STRVEC_INIT;
	if (kl_surface_find(&dirs, &workloads, checker->c->repo, tree) < 0)
		return;
	for (size_t i = 0; i < dirs.n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

		if (kl_surface_from_tree(&surface, checker->c->repo, tree, dirs.v[i]) < 0)
			continue;
		kl_strvec_push(&checker->digests, surface->digest);
		kl_strvec_push(&checker->digests, surface->contract_digest);
	}
}

bool kl_check_is_for_tree(struct kl_checker *checker, const struct kl_event *event,
			  const git_oid *tree)
{
	/* consecutive events are for the same tree, so keep the digests of one tree */
	if (memcmp(&checker->digests_of, tree, sizeof(*tree)))
		read_digests(checker, tree);
	for (size_t i = 0; i + 1 < checker->digests.n; i += 2)
		if (kl_event_is_for(event, checker->digests.v[i], checker->digests.v[i + 1]))
			return true;
	return false;
}

/* Return true if the event is for one of the surfaces in this commit. */
static bool is_for_commit(struct kl_checker *checker, const struct kl_event *event,
			  const git_oid *commit)
{
	git_oid tree;

	return kl_repo_tree_of(&tree, checker->c->repo, commit) == 0 &&
	       kl_check_is_for_tree(checker, event, &tree);
}

/*
 * Return true if a later version of git-klineage wrote the line. This is not an error, because
 * readers of notes ignore such a line.
 */
static bool is_later(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	return kl_json_parse(&doc, line, len) == 0 && kl_json_int_or(doc, "v", 0) > 1;
}

static void check_event(struct kl_checker *checker, const git_oid *commit, const char *line,
			size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char where[KL_OID_HEX];

	checker->c->events++;
	kl_check_short(where, commit);
	if (kl_event_parse(&event, line, len) < 0) {
		if (is_later(line, len))
			kl_check_report(checker, KL_CHECK_WARNING, where,
					"an event was written by a later version of git-klineage");
		else
			kl_check_report_error(checker, where);
		kl_error_clear();
		return;
	}
	kl_map_put(&checker->cited, event->id, checker);
	if (event->kind == KL_KIND_GATE && !is_for_commit(checker, event, commit))
		kl_check_report(
			checker, KL_CHECK_WARNING, where,
			"event %.12s is stale: it judged other files than those of this commit",
			event->id);
	kl_error_clear();
	if (*event->sig || event->kind == KL_KIND_RETRACT) {
		kl_trust_add_event(&checker->signed_, checker->signed_at.n, kl_event_ref(event),
				   false);
		kl_strvec_push(&checker->signed_at, where);
	}
	if (event->inverse.there) {
		kl_strvec_pushf(&checker->citing, "%s %s", where, event->inverse.state);
		kl_strvec_pushf(&checker->citing, "%s %s", where, event->inverse.pair);
	}
}

static int on_note(const git_oid *commit, const char *text, size_t note_len, void *payload)
{
	for (const char *line = text, *end = text + note_len; line < end;) {
		const char *nl = memchr(line, '\n', end - line);
		size_t len = (nl ? nl : end) - line;

		if (len)
			check_event(payload, commit, line, len);
		line += len + 1;
	}
	return 0;
}

static int check_signatures(struct kl_checker *checker)
{
	int err = kl_trust_judge(&checker->signed_, checker->c->repo);

	for (size_t i = 0; i < checker->signed_.n && !err; i++) {
		const struct kl_trust_line *line = &checker->signed_.v[i];

		if (line->sig.state == KL_SIGN_BAD)
			kl_check_report(checker, KL_CHECK_ERROR, checker->signed_at.v[line->tag],
					"event %.12s has a wrong signature: %s", line->event->id,
					line->sig.why);
		else if (kl_trust_is_ineffective(&checker->signed_, line))
			kl_check_report(
				checker, KL_CHECK_WARNING, checker->signed_at.v[line->tag],
				"the retraction of event %.12s has no effect, because only this "
				"clone, or the allowed signer of that event, can retract it",
				line->event->of);
	}
	return err;
}

int kl_check_events(struct kl_checker *checker)
{
	int err = kl_notes_each(checker->c->repo, KL_NOTES_GATE, on_note, checker);

	if (err == KL_ENOTFOUND) { /* there are no notes */
		kl_error_clear();
		err = 0;
	}
	if (!err)
		err = check_signatures(checker);
	for (size_t i = 0; !err && i < checker->citing.n; i++) {
		char *id = strchr(checker->citing.v[i], ' ');

		*id++ = '\0';
		if (!kl_map_get(&checker->cited, id))
			kl_check_report(checker, KL_CHECK_ERROR, checker->citing.v[i],
					"an event in this note cites event %.12s, which is missing",
					id);
	}
	return err;
}
