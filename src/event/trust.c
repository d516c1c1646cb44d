/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/event_index.h"
#include "event/segments.h"

void kl_trust_release(struct kl_trust *trust)
{
	for (size_t i = 0; i < trust->n; i++) {
		kl_event_free(trust->v[i].event);
		kl_signed_release(&trust->v[i].sig);
	}
	free(trust->v);
	kl_map_release(&trust->retracted);
	*trust = (struct kl_trust){ 0 };
}

void kl_trust_add_event(struct kl_trust *trust, size_t tag, struct kl_event *event, bool own)
{
	KL_GROW(trust->v, trust->n + 1, trust->alloc);
	trust->v[trust->n++] = (struct kl_trust_line){ .tag = tag, .event = event, .own = own };
}

void kl_trust_add(struct kl_trust *trust, size_t tag, const char *text, size_t len, bool own)
{
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((nl ? nl : end) - line);
		struct kl_event *event = NULL;

		if (line_len && !kl_event_parse(&event, line, line_len))
			kl_trust_add_event(trust, tag, event, own);
		else
			kl_error_clear();
		line += line_len + 1;
	}
}

int kl_trust_add_notes(struct kl_trust *trust, struct kl_repo *repo, const char *surface,
		       const char *contract)
{
	KL_AUTO(kl_event_index_freep) struct kl_event_index *index = NULL;
	size_t first, n;
	int err = kl_event_index_open(&index, repo, KL_NOTES_GATE);

	if (err < 0)
		return err;
	n = kl_event_index_of_surface(&first, index, surface, contract);
	for (size_t i = n; i-- > 0;) {
		const struct kl_event_index_entry *entry = kl_event_index_by_surface(index,
										     first + i);
		struct kl_event *event = NULL;

		if ((err = kl_event_index_read(&event, repo, entry)) < 0)
			return err;
		kl_trust_add_event(trust, 0, event, false);
	}
	return 0;
}

static int add_segments(struct kl_trust *trust, struct kl_repo *repo, const char *surface,
			const char *contract)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	int err = kl_segments_open(&segments, repo);

	return err < 0 ? err : kl_segments_add_to(trust, 0, segments, surface, contract);
}

static int newest_first(const void *left, const void *right)
{
	const struct kl_trust_line *x = left, *y = right;

	if (x->event == y->event || !strcmp(x->event->id, y->event->id))
		return 0;
	return kl_event_is_newer(x->event, y->event) ? -1 : 1;
}

int kl_trust_add_surface(struct kl_trust *trust, struct kl_repo *repo, const char *surface,
			 const char *contract)
{
	size_t first = trust->n, noted;
	int err = kl_trust_add_notes(trust, repo, surface, contract);

	noted = trust->n;
	if (!err)
		err = add_segments(trust, repo, surface, contract);
	if (!err && trust->n > noted)
		qsort(trust->v + first, trust->n - first, sizeof(*trust->v), newest_first);
	return err;
}

static bool is_retraction(const struct kl_trust_line *line)
{
	return line->event->kind == KL_KIND_RETRACT;
}

static bool line_counts(const struct kl_trust_line *line, bool required)
{
	if (line->sig.state == KL_SIGN_BAD)
		return line->own;
	return !required || line->own || kl_word_is_trusted(line->word) ||
	       kl_event_is_fail(line->event);
}

/* Return true if the signer of the retraction also signed the event that it retracts. */
static bool has_its_signer(const struct kl_trust *trust, const struct kl_trust_line *retraction)
{
	if (retraction->sig.state != KL_SIGN_GOOD)
		return false;
	for (size_t i = 0; i < trust->n; i++) {
		const struct kl_trust_line *line = &trust->v[i];

		if (line->sig.state == KL_SIGN_GOOD && !is_retraction(line) &&
		    !strcmp(line->event->id, retraction->event->of) &&
		    !strcmp(line->sig.who, retraction->sig.who))
			return true;
	}
	return false;
}

static void decide_lines(struct kl_trust *trust)
{
	kl_map_release(&trust->retracted);
	for (size_t i = 0; i < trust->n; i++) {
		struct kl_trust_line *line = &trust->v[i];

		line->counts = is_retraction(line) ? line->own || has_its_signer(trust, line) :
						     line_counts(line, trust->required);
		if (line->counts && is_retraction(line))
			kl_map_put(&trust->retracted, line->event->of, line);
	}
}

static int judge_lines(struct kl_trust *trust, struct kl_belief *belief)
{
	KL_AUTO(kl_freep) struct kl_event **event = kl_calloc(trust->n + 1, sizeof(*event));
	KL_AUTO(kl_freep) struct kl_word *word = kl_calloc(trust->n + 1, sizeof(*word));
	int err;

	for (size_t i = 0; i < trust->n; i++) {
		event[i] = trust->v[i].event;
		trust->v[i].counts = false;
	}
	err = kl_belief_events(word, belief, event, trust->n);
	for (size_t i = 0; i < trust->n; i++) {
		struct kl_trust_line *line = &trust->v[i];

		kl_signed_release(&line->sig);
		line->sig = word[i].sig;
		line->own = line->own || word[i].of == KL_WORD_OWN;
		line->word = line->own ? KL_WORD_OWN : word[i].of;
	}
	if (!err)
		decide_lines(trust);
	return err;
}

int kl_trust_judge(struct kl_trust *trust, struct kl_repo *repo)
{
	KL_AUTO(kl_belief_freep) struct kl_belief *own = NULL;
	int err = kl_repo_config_bool(&trust->required, repo, "klineage.requireSigned", false);

	if (!err && !trust->belief && trust->n)
		err = kl_belief_open(&own, repo, NULL);
	if (err < 0 || !trust->n)
		return err;
	return judge_lines(trust, trust->belief ? trust->belief : own);
}

bool kl_trust_is_retracted(const struct kl_trust *trust, const char *id)
{
	return trust->retracted.n && kl_map_get(&trust->retracted, id);
}

bool kl_trust_is_ineffective(const struct kl_trust *trust, const struct kl_trust_line *line)
{
	return is_retraction(line) && !line->counts && line->sig.state != KL_SIGN_BAD &&
	       !kl_trust_is_retracted(trust, line->event->of);
}

bool kl_trust_is_outweighed(const struct kl_trust *trust, const struct kl_event *pass)
{
	for (size_t i = 0; i < trust->n; i++) {
		const struct kl_trust_line *line = &trust->v[i];

		if (line->counts && !is_retraction(line) &&
		    !kl_trust_is_retracted(trust, line->event->id) &&
		    kl_fold_outweighs(line->event, pass))
			return true;
	}
	return false;
}

void kl_trust_fold(struct kl_fold *out, const struct kl_trust *trust, size_t tag,
		   const char *surface, const char *contract)
{
	KL_AUTO(kl_freep) struct kl_event **event = kl_calloc(trust->n + 1, sizeof(*event));
	size_t n = 0;

	for (size_t i = 0; i < trust->n; i++)
		if (trust->v[i].tag == tag && trust->v[i].counts)
			event[n++] = trust->v[i].event;
	kl_fold_events(out, event, n, surface, contract);
}

int kl_trust_filter(struct kl_buf *out, struct kl_repo *repo, const char *text, size_t len)
{
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };
	int err;

	kl_trust_add(&trust, 0, text, len, false);
	if ((err = kl_trust_judge(&trust, repo)) < 0)
		return err;
	for (size_t i = 0; i < trust.n; i++) {
		if (trust.v[i].sig.state == KL_SIGN_BAD || is_retraction(&trust.v[i]) ||
		    kl_trust_is_retracted(&trust, trust.v[i].event->id))
			continue;
		kl_event_write(out, trust.v[i].event);
		kl_buf_addch(out, '\n');
	}
	return 0;
}
