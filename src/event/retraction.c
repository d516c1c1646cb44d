/* SPDX-License-Identifier: Apache-2.0 */
#include "event/retraction.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "event/cache.h"
#include "event/segment_writer.h"
#include "event/segments.h"
#include "event/trust.h"
#include "repo/notes.h"

#define HEX (KL_DIGEST_HEX - 1)
#define MAX_REASON 1000

void kl_retraction_release(struct kl_retraction *retraction)
{
	kl_event_free(retraction->event);
	kl_word_release(&retraction->word);
	kl_event_free(retraction->retraction);
	kl_word_release(&retraction->own);
	free(retraction->unsigned_);
	*retraction = (struct kl_retraction){ 0 };
}

bool kl_retraction_is_followed(const struct kl_retraction *retraction)
{
	const struct kl_signed *event = &retraction->word.sig, *own = &retraction->own.sig;

	return event->state == KL_SIGN_GOOD && own->state == KL_SIGN_GOOD &&
	       !strcmp(event->who, own->who);
}

/*
 * --- finding the event ------------------------------------------------------------------
 */

struct finding {
	const char *prefix;
	struct kl_event *event; /* the signed copy if there is one, otherwise any */
	struct kl_trust lines;  /* the event's copies and its retractions */
	git_oid *commit;        /* commits whose notes have the event */
	size_t n, alloc;
	/* campaigns, "<workload>/<name>", whose segments have the event */
	struct kl_strvec campaigns;
	bool several;
};

static void finding_release(struct finding *finding)
{
	kl_event_free(finding->event);
	kl_trust_release(&finding->lines);
	free(finding->commit);
	kl_strvec_release(&finding->campaigns);
}

/* Take a copy of the event. If it is another event than the one found before, return false. */
static bool take_copy(struct finding *finding, struct kl_event *event)
{
	if (finding->event && strcmp(finding->event->id, event->id)) {
		finding->several = true;
		return false;
	}
	kl_trust_add_event(&finding->lines, 0, kl_event_ref(event), false);
	if (!finding->event || (*event->sig && !*finding->event->sig)) {
		kl_event_free(finding->event);
		finding->event = kl_event_ref(event);
	}
	return true;
}

static void take_event(struct finding *finding, struct kl_event *event, const git_oid *commit)
{
	if (!take_copy(finding, event))
		return;
	if (finding->n && !memcmp(&finding->commit[finding->n - 1], commit, sizeof(*commit)))
		return;
	KL_GROW(finding->commit, finding->n + 1, finding->alloc);
	finding->commit[finding->n++] = *commit;
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct finding *finding = payload;
	size_t n = strlen(finding->prefix);

	if (!memmem(text, len, finding->prefix, n))
		return 0;
	for (const char *line = text, *end = text + len; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((newline ? newline : end) - line);
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (!line_len || kl_event_parse(&event, line, line_len) < 0)
			kl_error_clear();
		else if (!strncmp(event->id, finding->prefix, n))
			take_event(finding, event, commit);
		else if (event->kind == KL_KIND_RETRACT && !strncmp(event->of, finding->prefix, n))
			kl_trust_add_event(&finding->lines, 0, kl_event_ref(event), false);
		line += line_len + 1;
	}
	return 0;
}

static int on_segment(struct kl_event *event, const char *campaign, void *payload)
{
	struct finding *finding = payload;

	if (take_copy(finding, event))
		kl_strvec_add_once(&finding->campaigns, campaign);
	return 0;
}

static int on_same_surface(struct kl_event *event, const char *campaign, void *payload)
{
	struct finding *finding = payload;

	if (event->kind == KL_KIND_RETRACT && !strcmp(event->of, finding->event->id))
		kl_trust_add_event(&finding->lines, 0, kl_event_ref(event), false);
	return 0;
}

/* Find the event in segments, and its retractions there. */
static int find_in_segments(struct finding *finding, struct kl_repo *repo)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	struct kl_segments_filter filter = { .id = finding->prefix };
	int err = kl_segments_open(&segments, repo);

	if (!err)
		err = kl_segments_each(segments, &filter, on_segment, finding);
	if (!err && finding->event)
		err = kl_segments_of_surface(segments, finding->event->surface,
					     finding->event->contract, on_same_surface, finding);
	return err;
}

static int check_prefix(const char *prefix)
{
	size_t n = strlen(prefix);

	if (n >= KL_RETRACTION_PREFIX && n <= HEX && !prefix[strspn(prefix, "0123456789abcdef")])
		return 0;
	return kl_error(KL_EINVALID,
			"'%.80s' is not an event id; give %d to %d hex digits in lower case",
			prefix, KL_RETRACTION_PREFIX, (int)HEX);
}

static int check_reason(const char *reason)
{
	size_t n = reason ? strlen(reason) : 0;

	if (n <= MAX_REASON && kl_utf8_span(reason ? reason : "", n) == n)
		return 0;
	return kl_error(KL_EINVALID, "the reason must be UTF-8 text of at most %d bytes",
			MAX_REASON);
}

static int find_event(struct finding *finding, struct kl_repo *repo, const char *prefix)
{
	int err = check_prefix(prefix);

	finding->prefix = prefix;
	if (err < 0)
		return err;
	err = kl_notes_each(repo, KL_NOTES_GATE, on_note, finding);
	if (err == KL_ENOTFOUND) { /* there are no notes */
		kl_error_clear();
		err = 0;
	}
	if (!err)
		err = find_in_segments(finding, repo);
	if (!err && !finding->event)
		err = kl_cache_find_id(&finding->event, repo, prefix);
	if (err < 0)
		return err;
	if (finding->several)
		return kl_error(KL_ENOTFOUND, "the ids of several events begin with '%s'", prefix);
	if (finding->event->kind == KL_KIND_RETRACT)
		return kl_error(KL_EINVALID, "event %.12s is itself a retraction",
				finding->event->id);
	return 0;
}

/*
 * --- making, signing and noting the retraction --------------------------------------------
 */

static struct kl_event *make_retraction(const struct kl_event *event, const char *by,
					const char *reason)
{
	KL_AUTO(json_decrefp) json_t *doc = json_object();
	struct kl_event *made;
	char now[21];

	kl_clock_iso(now);
	kl_json_set_int(doc, "v", 1);
	kl_json_set_str(doc, "kind", kl_event_kind_name(KL_KIND_RETRACT));
	kl_json_set_str(doc, "of", event->id);
	kl_json_set_str(doc, "time", now);
	kl_json_set_str(doc, "by", by);
	/* with these members, a search for the event by surface finds the retraction as well */
	kl_json_set_str(doc, "workload", event->workload);
	kl_json_set_str(doc, "surface", event->surface);
	kl_json_set_str(doc, "contract", event->contract);
	if (reason)
		kl_json_set_str(doc, "message", reason);
	made = kl_event_from_json(doc);
	kl_event_seal(made);
	return made;
}

/* Sign the retraction. If klineage.sign is set, signing must succeed, as with --sign. */
static int sign_retraction(struct kl_retraction *out, struct kl_repo *repo, int sign)
{
	bool wanted = false;
	int err = sign ? 0 : kl_sign_wanted(&wanted, repo);

	if (err < 0)
		return err;
	sign = wanted ? 1 : sign;
	err = sign < 0 ? kl_error(KL_ECANNOT, "signing was turned off") :
			 kl_sign_event_now(repo, out->retraction);

	if (err != KL_ECANNOT || sign > 0)
		return err;
	out->unsigned_ = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

/*
 * Set the retraction's commit and tree for the note of `commit`, and return its line; the caller
 * frees. The tree stays empty if this clone does not have the commit.
 */
static char *line_for(struct kl_event *event, struct kl_repo *repo, const git_oid *commit)
{
	struct kl_buf line = KL_BUF_INIT;
	git_oid tree = kl_oid_none;
	char hex[KL_OID_HEX];

	if (!kl_repo_tree_of(&tree, repo, commit)) {
		kl_event_set_commit(event, commit, &tree);
	} else {
		kl_error_clear();
		kl_oid_hex(hex, commit);
		event->commit = kl_event_keep(event, hex);
		event->tree = "";
	}
	kl_event_write(&line, event);
	return kl_buf_detach(&line);
}

/* Add the retraction to the campaigns that have the event. */
static int add_to_segments(struct kl_retraction *out, struct kl_repo *repo,
			   const struct finding *finding)
{
	int err = 0;

	out->retraction->commit = out->retraction->tree = "";
	for (size_t i = 0; i < finding->campaigns.n && !err; i++) {
		KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;
		const char *campaign = finding->campaigns.v[i], *slash = strchr(campaign, '/');
		KL_AUTO(kl_freep) char *workload = kl_strndup(campaign, (size_t)(slash - campaign));

		if ((err = kl_segment_writer_open(&writer, repo, workload, slash + 1)) < 0)
			return err;
		/* the retraction is signed already, or is not to be signed */
		kl_segment_writer_sign(writer, false);
		if (!(err = kl_segment_writer_add(writer, out->retraction, NULL)))
			err = kl_segment_writer_seal(writer, NULL);
		out->campaigns += !err;
	}
	return err;
}

static int note_retraction(struct kl_retraction *out, struct kl_repo *repo,
			   const struct finding *finding)
{
	KL_AUTO(kl_freep) struct kl_note_line *note = kl_calloc(finding->n + 1, sizeof(*note));
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	int err;

	if ((err = kl_own_add_one(repo, out->retraction->id)) < 0)
		return err;
	for (size_t i = 0; i < finding->n; i++) {
		kl_strvec_take(&lines, line_for(out->retraction, repo, &finding->commit[i]));
		note[i] = (struct kl_note_line){ finding->commit[i], lines.v[i] };
	}
	out->notes = finding->n;
	err = kl_notes_add(repo, KL_NOTES_GATE, note, finding->n);
	return err < 0 ? err : add_to_segments(out, repo, finding);
}

int kl_retract(struct kl_retraction *out, struct kl_repo *repo,
	       const struct kl_retraction_opts *opts)
{
	KL_AUTO(finding_release) struct finding finding = { 0 };
	KL_AUTO(kl_belief_freep) struct kl_belief *belief = NULL;
	const char *by;
	bool again;
	int err;

	*out = (struct kl_retraction){ 0 };
	if ((err = check_reason(opts->reason)) < 0 ||
	    (err = find_event(&finding, repo, opts->event)) < 0 ||
	    (err = kl_repo_identity(&by, repo)) < 0 ||
	    (err = kl_belief_open(&belief, repo, NULL)) < 0)
		return err;
	finding.lines.belief = belief;
	out->event = kl_event_ref(finding.event);
	if ((err = kl_belief_events(&out->word, belief, &finding.event, 1)) < 0 ||
	    (err = kl_trust_judge(&finding.lines, repo)) < 0)
		return err;
	again = kl_trust_is_retracted(&finding.lines, finding.event->id);
	if ((finding.n || finding.campaigns.n) && !again) {
		out->retraction = make_retraction(finding.event, by, opts->reason);
		if ((err = sign_retraction(out, repo, opts->sign)) < 0 ||
		    (err = note_retraction(out, repo, &finding)) < 0 ||
		    (err = kl_belief_events(&out->own, belief, &out->retraction, 1)) < 0)
			return err;
	}
	/*
	 * do this even if the event was retracted before, since a process that was killed at this
	 * point left the event in the cache
	 */
	err = kl_cache_drop(&out->cached, repo, finding.event);
	if (!err && again && !out->cached)
		return kl_error(KL_EEXISTS, "event %.12s is already retracted", finding.event->id);
	return err;
}
