/* SPDX-License-Identifier: Apache-2.0 */
/* fold - chooses which of a set of events count */
#include "event/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* --- the key of an event ------------------------------------------------------------ */

static void add_word(struct kl_buf *out, const char *word)
{
	if (*word) {
		kl_buf_addch(out, '"');
		kl_buf_adds(out, word);
		kl_buf_addch(out, '"');
	}
	kl_buf_addch(out, '\n');
}

static void add_flags(struct kl_buf *out, const struct kl_strvec *flags)
{
	kl_buf_addch(out, '[');
	for (size_t i = 0; i < flags->n; i++) {
		kl_buf_adds(out, i ? ",\"" : "\"");
		kl_buf_adds(out, flags->v[i]);
		kl_buf_addch(out, '"');
	}
	kl_buf_adds(out, "]\n");
}

/*
 * Return the name of the tier. For a tier that this version does not know, return the name in the
 * document, so that two unknown tiers differ.
 */
static const char *tier_word(const struct kl_event *event)
{
	return event->tier == KL_TIER_OTHER ? kl_json_str_or(event->doc, "tier", "") :
					      kl_tier_name(event->tier);
}

static char *key_of(const struct kl_event *event)
{
	struct kl_buf out = KL_BUF_INIT;

	add_word(&out, event->workload);
	add_word(&out, event->surface);
	add_word(&out, event->contract);
	kl_buf_addf(&out, "%lld\n", (long long)event->policy);
	add_word(&out, tier_word(event));
	add_word(&out, event->place.id);
	add_word(&out, event->place.device);
	add_word(&out, event->place.compiler);
	add_flags(&out, &event->place.flags);
	return kl_buf_detach(&out);
}

/* --- choosing one of two events -------------------------------------------------------- */

/*
 * Return true if `event` is preferred to `old`, which has the same key: if only one of them is a
 * correctness failure, that one is preferred, otherwise the newer one.
 */
static bool is_newer(const struct kl_event *event, const struct kl_event *old)
{
	bool fails = kl_event_is_fail(event);

	return fails != kl_event_is_fail(old) ? fails : kl_event_is_newer(event, old);
}

/*
 * Return true if `event` is preferred to `old`, a copy with the same id. A signed copy is preferred
 * to an unsigned one. Otherwise take the greater line, so that the result does not depend on the
 * order of lines: the id does not cover `commit`, `tree` and the signature, so the lines can
 * differ.
 */
static bool is_better_copy(const struct kl_event *event, const struct kl_event *old)
{
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf right = KL_BUF_INIT;

	if (!*event->sig != !*old->sig)
		return *event->sig;
	kl_event_write(&left, event);
	kl_event_write(&right, old);
	return strcmp(left.ptr, right.ptr) > 0;
}

static bool is_check(const struct kl_event *event)
{
	return event->kind == KL_KIND_CHECK;
}

bool kl_fold_outweighs(const struct kl_event *event, const struct kl_event *pass)
{
	KL_AUTO(kl_freep) char *key = NULL, *other = NULL;

	if (event->verdict == KL_VERDICT_PASS || !is_newer(event, pass) ||
	    (event->kind != KL_KIND_GATE && !(is_check(event) && kl_event_is_fail(event))))
		return false;
	key = key_of(event);
	other = key_of(pass);
	return !strcmp(key, other);
}

/* --- folding ------------------------------------------------------------------------------ */

struct folding {
	struct kl_fold *out;
	struct kl_map retracted; /* ids of retracted events */
};

/* Add an event; takes the caller's reference. */
static void take_event(struct folding *folding, struct kl_event *event)
{
	static char mark[] = "";

	if (event->kind == KL_KIND_RETRACT) {
		kl_map_put(&folding->retracted, event->of, mark);
	} else if (event->kind == KL_KIND_GATE || is_check(event)) {
		const struct kl_event *old = kl_map_get(&folding->out->all, event->id);

		if (!old || is_better_copy(event, old)) {
			kl_map_put(&folding->out->all, event->id, event);
			return;
		}
	}
	kl_event_free(event);
}

static void take_line(struct folding *folding, const char *line, size_t len)
{
	struct kl_event *event;

	if (!len)
		return;
	folding->out->lines++;
	if (kl_event_parse(&event, line, len) < 0) {
		kl_error_clear();
		folding->out->skipped++;
		return;
	}
	/* ignore retractions among lines, since nobody has checked who wrote them */
	if (event->kind == KL_KIND_RETRACT)
		kl_event_free(event);
	else
		take_event(folding, event);
}

static void choose_best(struct kl_map *best, const char *key, struct kl_event *event,
			bool (*is_better)(const struct kl_event *, const struct kl_event *))
{
	struct kl_event *old = kl_map_get(best, key);

	if (!old || is_better(event, old))
		kl_map_put(best, key, event);
}

static int by_key(const void *left, const void *right)
{
	return strcmp(((const struct kl_map_entry *)left)->key,
		      ((const struct kl_map_entry *)right)->key);
}

static struct kl_event_list list_of(const struct kl_map *best)
{
	struct kl_event_list list = { .n = best->n };

	list.v = kl_calloc(best->n + 1, sizeof(*list.v));
	for (size_t i = 0; i < best->n; i++)
		list.v[i] = best->e[i].value;
	return list;
}

/*
 * Return the events sorted by key, so that the order of lines does not matter. Sorts `best` in
 * place, so `best` cannot be searched afterwards.
 */
static struct kl_event_list sorted_list_of(struct kl_map *best)
{
	if (best->n > 1)
		qsort(best->e, best->n, sizeof(*best->e), by_key);
	return list_of(best);
}

static void choose_all(struct folding *folding, const char *surface, const char *contract)
{
	KL_AUTO(kl_map_release) struct kl_map verdicts = KL_MAP_INIT, checks = KL_MAP_INIT;
	KL_AUTO(kl_map_release) struct kl_map profiles = KL_MAP_INIT;
	struct kl_fold *out = folding->out;

	for (size_t i = 0; i < out->all.n; i++) {
		struct kl_event *event = out->all.e[i].value;
		bool checked = is_check(event) && !kl_event_is_fail(event);

		if (kl_map_get(&folding->retracted, event->id) ||
		    !kl_event_is_for(event, surface, contract))
			continue;
		KL_AUTO(kl_freep) char *key = key_of(event);
		choose_best(checked ? &checks : &verdicts, key, event, is_newer);
		if (event->profile.there)
			choose_best(&profiles, *event->place.id ? event->place.id : "?", event,
				    kl_event_is_newer);
	}
	out->verdicts = sorted_list_of(&verdicts);
	out->checks = sorted_list_of(&checks);
	out->profiles = sorted_list_of(&profiles);
	kl_map_release(&folding->retracted);
}

void kl_fold_lines(struct kl_fold *out, const char *text, size_t len, const char *surface,
		   const char *contract)
{
	struct folding folding = { .out = out };

	*out = (struct kl_fold){ .all = { .free_value = kl_event_free_value } };
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at;

		take_line(&folding, text + at, n);
		at += n + 1;
	}
	choose_all(&folding, surface, contract);
}

void kl_fold_events(struct kl_fold *out, struct kl_event *const *event, size_t n,
		    const char *surface, const char *contract)
{
	struct folding folding = { .out = out };

	*out = (struct kl_fold){ .all = { .free_value = kl_event_free_value }, .lines = n };
	for (size_t i = 0; i < n; i++)
		take_event(&folding, kl_event_ref(event[i]));
	choose_all(&folding, surface, contract);
}

void kl_fold_release(struct kl_fold *fold)
{
	free(fold->verdicts.v);
	free(fold->checks.v);
	free(fold->profiles.v);
	kl_map_release(&fold->all);
	*fold = (struct kl_fold){ 0 };
}
