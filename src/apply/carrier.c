/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/carrier.h"

#include <stdio.h>
#include <string.h>

#include "apply/carrier_parts.h"
#include "base/error.h"
#include "rewrite/pass/cocci.h"
#include "rewrite/rewriter.h"
#include "rewrite/transform/transform_surface.h"

const struct kl_card_carrier *kl_carrier_mechanical(const struct kl_card *card,
						    const char *language)
{
	for (size_t i = 0; i < card->carriers.n; i++)
		if (!strcmp(card->carriers.v[i].language, language) &&
		    kl_carrier_is_mechanical(&card->carriers.v[i]))
			return &card->carriers.v[i];
	return NULL;
}

/* Return the number of ways to apply a mechanical carrier. */
static size_t count_variants(const struct kl_card_carrier *carrier)
{
	struct kl_transform_use use;

	if (carrier->form != KL_CARRIER_TRANSFORM)
		return 1;
	if (!kl_transform_parse(&use, carrier->text, carrier->language))
		return kl_transform_variants(&use);
	kl_error_clear(); /* kl_carrier_apply() reports the error */
	return 1;
}

/* A card's mechanical carriers of one language, in the order in which they are tried. */
struct ways {
	const struct kl_card_carrier **v;
	size_t n;
};

static void ways_release(struct ways *ways)
{
	free(ways->v);
}

/*
 * Put the diffs that fit `state` best first. Diffs that fit equally well stay in the card's order,
 * and other carriers stay where they are.
 */
static void sort_diffs(struct ways *ways, const struct kl_surface *state)
{
	int64_t *fit = kl_calloc(ways->n + 1, sizeof(*fit));
	size_t n = 0;

	while (n < ways->n && ways->v[n]->form == KL_CARRIER_DIFF)
		n++;
	if (n > 1)
		kl_carrier_fit_diffs(fit, state, ways->v, n);
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && fit[k] > fit[k - 1]; k--) {
			const struct kl_card_carrier *carrier = ways->v[k];
			int64_t value = fit[k];

			ways->v[k] = ways->v[k - 1];
			ways->v[k - 1] = carrier;
			fit[k] = fit[k - 1];
			fit[k - 1] = value;
		}
	free(fit);
}

/* List the ways; if `state` is not NULL, with the diffs that fit it best first. */
static void list_ways(struct ways *out, const struct kl_card *card, const char *language,
		      const struct kl_surface *state)
{
	*out = (struct ways){ .v = kl_calloc(card->carriers.n + 1, sizeof(*out->v)) };
	for (size_t i = 0; i < card->carriers.n; i++)
		if (!strcmp(card->carriers.v[i].language, language) &&
		    kl_carrier_is_mechanical(&card->carriers.v[i]))
			out->v[out->n++] = &card->carriers.v[i];
	if (state)
		sort_diffs(out, state);
}

/*
 * Return the mechanical carrier that has the variant, and set *at to the variant's index in that
 * carrier.
 */
static const struct kl_card_carrier *find_variant(size_t *at, const struct ways *ways,
						  size_t variant)
{
	for (size_t i = 0; i < ways->n; i++) {
		size_t n = count_variants(ways->v[i]);

		if (variant < n) {
			*at = variant;
			return ways->v[i];
		}
		variant -= n;
	}
	return NULL;
}

size_t kl_carrier_variants(const struct kl_card *card, const char *language)
{
	KL_AUTO(ways_release) struct ways ways = { 0 };
	size_t n = 0, at;

	list_ways(&ways, card, language, NULL);
	while (find_variant(&at, &ways, n))
		n++;
	return n;
}

bool kl_carrier_is_diff(const struct kl_card *card, const char *language, size_t variant)
{
	KL_AUTO(ways_release) struct ways ways = { 0 };
	const struct kl_card_carrier *carrier;
	size_t at;

	list_ways(&ways, card, language, NULL); /* diffs come first in any order */
	carrier = find_variant(&at, &ways, variant);
	return carrier && carrier->form == KL_CARRIER_DIFF;
}

int kl_carrier_find_diff(size_t *variant, const struct kl_card *card,
			 const struct kl_surface *state, const char *event)
{
	KL_AUTO(ways_release) struct ways ways = { 0 };

	list_ways(&ways, card, state->contract->language->name, state);
	for (size_t i = 0; i < ways.n && ways.v[i]->form == KL_CARRIER_DIFF; i++)
		if (ways.v[i]->of && !strcmp(ways.v[i]->of, event)) {
			*variant = i; /* diffs come first, and each is one way */
			return 0;
		}
	return kl_error(KL_ENO, "the card has no diff of event %.12s for %s", event,
			state->contract->language->name);
}

static void edits_release(struct kl_carrier_edits *edits)
{
	kl_edits_free(edits->v, edits->n);
}

void kl_carrier_add_edit(struct kl_carrier_edits *edits, const struct kl_file *file,
			 struct kl_buf *text)
{
	if (file->len == text->len && (!file->len || !memcmp(file->data, text->ptr, file->len)))
		return;
	KL_GROW(edits->v, edits->n + 1, edits->alloc);
	edits->v[edits->n] = (struct kl_file){ .path = kl_strdup(file->path), .len = text->len };
	edits->v[edits->n++].data = kl_buf_detach(text);
}

/* --- semantic patches ------------------------------------------------------------------------- */

static int apply_cocci(struct kl_carrier_edits *out, const struct kl_carrier_try *try,
		       const struct kl_card_carrier *carrier)
{
	const char *const *suffixes = try->state->contract->language->spatch;

	if (!suffixes)
		return kl_error(KL_ENO, "Coccinelle does not support %s", carrier->language);
	if (!try->jail)
		return kl_error(KL_ENO, "the card's semantic patch cannot be run without a jail");
	for (size_t i = 0; i < try->state->nfile; i++) {
		const struct kl_file *file = &try->state->file[i];
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		bool changed = false;
		int err;

		if (!kl_suffix_in(file->path, suffixes))
			continue;
		err = kl_cocci_run(&text, &changed, try->jail, try->card->id, carrier->text,
				   strlen(carrier->text), file->data, file->len);
		if (err)
			return err;
		if (changed)
			kl_carrier_add_edit(out, file, &text);
	}
	return out->n ?
		       0 :
		       kl_error(KL_ENO, "the card's semantic patch matches nothing in the sources");
}

/* --- transformations -------------------------------------------------------------------------- */

static int apply_transform(struct kl_carrier_edits *out, char how[KL_CARRIER_HOW],
			   const struct kl_carrier_try *try, const struct kl_card_carrier *carrier,
			   size_t variant)
{
	struct kl_transform_surface transform;
	KL_AUTO(kl_freep) char *why = NULL;
	int err = kl_transform_surface_init(&transform, carrier->text, variant, try->state);

	for (size_t i = 0; !err && i < try->state->nfile; i++) {
		const struct kl_file *file = &try->state->file[i];
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		if (!kl_suffix_in(file->path, try->state->contract->language->texts))
			continue;
		err = kl_transform_surface_file(&text, &transform, try->state, file);
		if (!err)
			kl_carrier_add_edit(out, file, &text);
		if (err == KL_ENO) {
			if (!why)
				why = kl_strdup(kl_error_last());
			kl_error_clear();
			err = 0;
		}
	}
	snprintf(how, KL_CARRIER_HOW, "by %s", transform.name);
	if (!err && !out->n)
		err = kl_error(KL_ENO, "%s", why ? why : "no source can be read as C tokens");
	kl_transform_surface_release(&transform);
	return err;
}

/* --- applying any kind ------------------------------------------------------------------------ */

/* Turn an error in the card's own text into KL_ENO, which means that the card does not apply. */
static int card_error(int err)
{
	switch (err) {
	case KL_EINVALID:
	case KL_ECANNOT:
	case KL_ETIMEOUT:
	case KL_ENOTFOUND:
		return KL_ENO;
	default:
		return err;
	}
}

static int apply_form(struct kl_carrier_edits *out, char how[KL_CARRIER_HOW],
		      const struct kl_carrier_try *try, const struct kl_card_carrier *carrier,
		      size_t variant)
{
	const char *way = "by its semantic patch";
	int err;

	if (carrier->form == KL_CARRIER_TRANSFORM)
		return apply_transform(out, how, try, carrier, variant);
	err = carrier->form == KL_CARRIER_COCCI ? apply_cocci(out, try, carrier) :
						  kl_carrier_apply_diff(out, &way, try, carrier);
	snprintf(how, KL_CARRIER_HOW, "%s", way);
	return err;
}

int kl_carrier_apply(struct kl_surface **out, char how[KL_CARRIER_HOW],
		     const struct kl_carrier_try *try)
{
	const char *language = try->state->contract->language->name;
	KL_AUTO(edits_release) struct kl_carrier_edits edits = { 0 };
	KL_AUTO(ways_release) struct ways ways = { 0 };
	const struct kl_card_carrier *carrier;
	size_t variant = 0;
	int err;

	how[0] = '\0';
	list_ways(&ways, try->card, language, try->state);
	carrier = find_variant(&variant, &ways, try->variant);
	if (!carrier)
		return kl_error(KL_ENO, "the card has no carrier that a tool can apply to %s",
				language);
	err = apply_form(&edits, how, try, carrier, variant);
	if (!err && !edits.n)
		return kl_error(KL_ENO, "the card's carrier changes nothing in the sources");
	if (!err)
		err = kl_surface_with(out, try->state, edits.v, edits.n);
	return card_error(err);
}

int kl_carrier_apply_first(struct kl_surface **out, char how[KL_CARRIER_HOW],
			   const struct kl_carrier_try *try)
{
	const char *language = try->state->contract->language->name;
	size_t n = kl_carrier_variants(try->card, language);
	struct kl_carrier_try next = *try;
	KL_AUTO(kl_freep) char *why = NULL;
	int err;

	for (;; next.variant++) {
		err = kl_carrier_apply(out, how, &next);
		if (err != KL_ENO)
			return err;
		if (!why) /* report the reason of the first way that was tried */
			why = kl_strdup(kl_error_last());
		if (next.variant + 1 >= n)
			return kl_error(KL_ENO, "%s", why);
		kl_error_clear();
	}
}
