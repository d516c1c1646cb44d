/* SPDX-License-Identifier: Apache-2.0 */
/* index_build - builds the index of a library; unchanged cards are copied from an older index */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "card/status.h"
#include "retrieve/index_parts.h"

#define BATCH 4096 /* most cards in memory at a time */
#define GRAIN 32

/* --- the indexed facts of a card -------------------------------------------------- */

struct row {
	struct kl_case point;
	char *language, *platform;
	bool verified;
};

struct facts {
	git_oid blob;
	char *id; /* NULL if the card cannot be read */
	char *mechanism;
	uint32_t status, passed, trials;
	struct row *row;
	size_t nrow;
	struct kl_strvec needs, requires, provides, conflicts, sound, sound_said, evidence,
		evidence_row, useful;
};

static void facts_release(struct facts *facts)
{
	for (size_t i = 0; i < facts->nrow; i++) {
		free(facts->row[i].language);
		free(facts->row[i].platform);
	}
	free(facts->row);
	free(facts->id);
	free(facts->mechanism);
	kl_strvec_release(&facts->needs);
	kl_strvec_release(&facts->requires);
	kl_strvec_release(&facts->provides);
	kl_strvec_release(&facts->conflicts);
	kl_strvec_release(&facts->sound);
	kl_strvec_release(&facts->sound_said);
	kl_strvec_release(&facts->evidence);
	kl_strvec_release(&facts->evidence_row);
	kl_strvec_release(&facts->useful);
	*facts = (struct facts){ 0 };
}

static char *or_empty(const char *text)
{
	return kl_strdup(text ? text : "");
}

static void take_row(struct row *out, const struct kl_taxonomy *tax, const struct kl_card *card,
		     const struct kl_card_row *row)
{
	kl_case_init(&out->point, tax, row->case_ ? row->case_ : "", row->dtype ? row->dtype : "");
	for (size_t i = 0; i < row->dims.n; i++)
		kl_case_dim(&out->point, tax, row->dims.v[i].name, row->dims.v[i].v);
	out->language = or_empty(row->language);
	out->platform = or_empty(row->platform);
	out->verified = kl_card_row_is_verified(card, row);
}

static bool is_same_lineage(const struct kl_card_evidence *left,
			    const struct kl_card_evidence *right)
{
	return left->lineage && right->lineage && !strcmp(left->lineage, right->lineage);
}

/* Return the index of the row that has the event, or the number of rows if no row has it. */
static size_t row_of_event(const struct kl_card *card, const char *event)
{
	size_t i;

	for (i = 0; event && i < card->rows.n; i++)
		if (card->rows.v[i].event && !strcmp(card->rows.v[i].event, event))
			return i;
	return card->rows.n;
}

/*
 * Return the index of the row that was measured for a piece of evidence. A row has only one event,
 * so it can be the row of other evidence of the same lineage. If that lineage has no row, return
 * the index of the first row of the same language; without such a row, return the number of rows.
 */
static size_t row_of(const struct kl_card *card, const struct kl_card_evidence *evidence)
{
	size_t row = row_of_event(card, evidence->event);

	for (size_t i = 0; row == card->rows.n && i < card->evidence.n; i++)
		if (is_same_lineage(evidence, &card->evidence.v[i]))
			row = row_of_event(card, card->evidence.v[i].event);
	for (size_t i = 0; row == card->rows.n && evidence->language && i < card->rows.n; i++)
		if (card->rows.v[i].language &&
		    !strcmp(card->rows.v[i].language, evidence->language))
			row = i;
	return row;
}

/* Return true if the last piece of evidence that was taken has this lineage and this step. */
static bool has_step(const struct facts *facts, const char *lineage, const char *step)
{
	size_t n = facts->evidence.n;

	return n && !strcmp(facts->evidence.v[n - 2], lineage) &&
	       !strcmp(facts->evidence.v[n - 1], step);
}

/* Collect the lineage, the step and the row of each piece of evidence, sorted by the first two. */
static void take_evidence(struct facts *facts, const struct kl_card *card)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec sorted = KL_STRVEC_INIT;

	for (size_t i = 0; i < card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &card->evidence.v[i];
		size_t row = row_of(card, evidence);
		KL_AUTO(kl_freep) char *number = row < card->rows.n ? kl_asprintf("%zu", row) :
								      kl_strdup("");

		if (evidence->lineage)
			kl_strvec_pushf(&sorted, "%s\n%010lld\n%s", evidence->lineage,
					(long long)evidence->step, number);
	}
	kl_strvec_uniq(&sorted);
	for (size_t i = 0; i < sorted.n; i++) {
		KL_AUTO(kl_freep) char *number = NULL;
		char *step = strchr(sorted.v[i], '\n'), *row;

		*step++ = '\0';
		row = strchr(step, '\n');
		*row++ = '\0';
		number = kl_asprintf("%lld", strtoll(step, NULL, 10));
		if (has_step(facts, sorted.v[i], number))
			continue;
		kl_strvec_push(&facts->evidence, sorted.v[i]);
		kl_strvec_push(&facts->evidence, number);
		kl_strvec_push(&facts->evidence_row, row);
	}
}

/*
 * Return the index of the row of the step whose launch plan is the only source of the condition;
 * the first row if that step is not known; "" for other conditions. The caller frees it.
 */
static char *said_by(const struct kl_card *card, const struct kl_card_pre *pre)
{
	size_t row = 0;

	if (!pre->source || pre->state != KL_PRE_ASSUMED || !card->rows.n)
		return kl_strdup("");
	for (size_t i = 0; i < card->evidence.n; i++)
		if (card->evidence.v[i].lineage && strstr(pre->source, card->evidence.v[i].lineage))
			row = row_of(card, &card->evidence.v[i]);
	return kl_asprintf("%zu", row < card->rows.n ? row : 0);
}

static void take_card(struct facts *facts, const struct kl_taxonomy *tax,
		      const struct kl_card *card)
{
	size_t passed, trials;

	facts->id = kl_strdup(card->id);
	facts->mechanism = or_empty(card->mechanism);
	facts->status = (uint32_t)card->status;
	kl_status_count(&passed, &trials, card);
	facts->passed = (uint32_t)passed;
	facts->trials = (uint32_t)trials;
	facts->row = kl_calloc(card->rows.n + 1, sizeof(*facts->row));
	for (; facts->nrow < card->rows.n; facts->nrow++)
		take_row(&facts->row[facts->nrow], tax, card, &card->rows.v[facts->nrow]);
	kl_strvec_copy(&facts->needs, &card->scope.needs);
	kl_strvec_copy(&facts->requires, &card->scope.requires);
	kl_strvec_copy(&facts->provides, &card->scope.provides);
	kl_strvec_pushv(&facts->provides, (const char *const *)card->provides.v);
	kl_strvec_copy(&facts->conflicts, &card->scope.conflicts);
	kl_strvec_uniq(&facts->needs);
	kl_strvec_uniq(&facts->requires);
	kl_strvec_uniq(&facts->provides);
	kl_strvec_uniq(&facts->conflicts);
	for (size_t i = 0; i < card->sound.n; i++) {
		const struct kl_card_pre *pre = &card->sound.v[i];

		if (!kl_card_pre_counts(pre))
			continue;
		kl_strvec_push(&facts->sound, pre->id);
		kl_strvec_push(&facts->sound, pre->test ? pre->test : "");
		kl_strvec_take(&facts->sound_said, said_by(card, pre));
	}
	for (size_t i = 0; i < card->useful.n; i++)
		if (kl_card_pre_counts(&card->useful.v[i]) && card->useful.v[i].test)
			kl_strvec_push(&facts->useful, card->useful.v[i].test);
	take_evidence(facts, card);
}

/* --- the file being built ----------------------------------------------------------- */

struct builder {
	struct kl_map strings; /* text -> number of the string + 1, as a pointer */
	struct kl_buf part[KL_INDEX_PARTS];
	/* point (its bytes in hex) or prior (its lists as text) -> its number + 1, as a pointer */
	struct kl_map points, priors;
	size_t n[KL_INDEX_PARTS];
	uint32_t bad;
};

static void builder_release(struct builder *builder)
{
	kl_map_release(&builder->strings);
	kl_map_release(&builder->points);
	kl_map_release(&builder->priors);
	for (int i = 0; i < KL_INDEX_PARTS; i++)
		kl_buf_release(&builder->part[i]);
}

static size_t add_part(struct builder *builder, enum kl_index_part part, const void *data)
{
	kl_buf_add(&builder->part[part], data, kl_index_size(part));
	return builder->n[part]++;
}

static uint32_t add_string(struct builder *builder, const char *text)
{
	uintptr_t there = (uintptr_t)kl_map_get(&builder->strings, text);
	uint32_t start = (uint32_t)builder->part[KL_INDEX_BYTES].len;

	if (there)
		return (uint32_t)(there - 1);
	kl_buf_add(&builder->part[KL_INDEX_BYTES], text, strlen(text) + 1);
	there = add_part(builder, KL_INDEX_STARTS, &start);
	kl_map_put(&builder->strings, text, (void *)(there + 1));
	return (uint32_t)there;
}

static struct kl_index_list add_list(struct builder *builder, const struct kl_strvec *list)
{
	struct kl_index_list added = { 0, (uint32_t)list->n };
	KL_AUTO(kl_freep) uint32_t *items = kl_calloc(list->n + 1, sizeof(*items));

	for (size_t i = 0; i < list->n; i++)
		items[i] = add_string(builder, list->v[i]);
	added.at = (uint32_t)builder->n[KL_INDEX_ITEMS];
	for (size_t i = 0; i < list->n; i++)
		add_part(builder, KL_INDEX_ITEMS, &items[i]);
	return added;
}

static uint32_t add_point(struct builder *builder, const struct kl_case *point)
{
	char key[2 * sizeof(*point) + 1];
	const unsigned char *bytes = (const unsigned char *)point;
	uintptr_t there;

	for (size_t i = 0; i < sizeof(*point); i++) {
		key[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		key[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	key[2 * sizeof(*point)] = '\0';
	there = (uintptr_t)kl_map_get(&builder->points, key);
	if (!there) {
		there = add_part(builder, KL_INDEX_POINTS, point) + 1;
		kl_map_put(&builder->points, key, (void *)there);
	}
	return (uint32_t)(there - 1);
}

static uint32_t add_prior(struct builder *builder, const struct facts *facts)
{
	const struct kl_strvec *const list[] = { &facts->needs, &facts->requires, &facts->provides,
						 &facts->conflicts };
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	uintptr_t there;

	for (size_t which = 0; which < KL_ARRAY_SIZE(list); which++) {
		for (size_t i = 0; i < list[which]->n; i++)
			kl_buf_addf(&key, "%s\n", list[which]->v[i]);
		kl_buf_addch(&key, '\n');
	}
	there = (uintptr_t)kl_map_get(&builder->priors, key.ptr);
	if (!there) {
		struct kl_index_prior prior = {
			add_list(builder, &facts->needs),
			add_list(builder, &facts->requires),
			add_list(builder, &facts->provides),
			add_list(builder, &facts->conflicts),
		};

		there = add_part(builder, KL_INDEX_PRIORS, &prior) + 1;
		kl_map_put(&builder->priors, key.ptr, (void *)there);
	}
	return (uint32_t)(there - 1);
}

static void add_card(struct builder *builder, const struct facts *facts)
{
	struct kl_index_card card = {
		.status = facts->status,
		.blob = facts->blob,
		.passed = facts->passed,
		.trials = facts->trials,
		.rows = (uint32_t)builder->n[KL_INDEX_ROWS],
		.nrows = (uint32_t)facts->nrow,
	};

	if (!facts->id) {
		builder->bad++;
		return;
	}
	for (size_t i = 0; i < facts->nrow; i++) {
		struct kl_index_row row = {
			.point = add_point(builder, &facts->row[i].point),
			.language = add_string(builder, facts->row[i].language),
			.platform = add_string(builder, facts->row[i].platform),
			.verified = facts->row[i].verified,
		};

		add_part(builder, KL_INDEX_ROWS, &row);
	}
	card.id = add_string(builder, facts->id);
	card.mechanism = add_string(builder, facts->mechanism);
	card.prior = add_prior(builder, facts);
	card.sound = add_list(builder, &facts->sound);
	card.sound_said = add_list(builder, &facts->sound_said);
	card.evidence = add_list(builder, &facts->evidence);
	card.evidence_row = add_list(builder, &facts->evidence_row);
	card.useful = add_list(builder, &facts->useful);
	add_part(builder, KL_INDEX_CARDS, &card);
}

/* --- copying cards from an older index -------------------------------------------------------- */

static void from_list(struct kl_strvec *out, const struct kl_index *ix, struct kl_index_list list)
{
	const uint32_t *item = kl_index_items(ix, list);

	for (size_t i = 0; i < list.n; i++)
		kl_strvec_push(out, kl_index_string(ix, item[i]));
}

static void from_index(struct facts *facts, const struct kl_index *ix,
		       const struct kl_index_card *card)
{
	const struct kl_index_prior *prior = kl_index_prior(ix, card->prior);

	facts->id = kl_strdup(kl_index_string(ix, card->id));
	facts->mechanism = kl_strdup(kl_index_string(ix, card->mechanism));
	facts->status = card->status;
	facts->passed = card->passed;
	facts->trials = card->trials;
	facts->row = kl_calloc(card->nrows + 1, sizeof(*facts->row));
	for (; facts->nrow < card->nrows; facts->nrow++) {
		const struct kl_index_row *row = kl_index_row(ix, card->rows + facts->nrow);

		facts->row[facts->nrow] = (struct row){
			.point = *kl_index_point(ix, row->point),
			.verified = row->verified,
			.language = kl_strdup(kl_index_string(ix, row->language)),
			.platform = kl_strdup(kl_index_string(ix, row->platform)),
		};
	}
	from_list(&facts->needs, ix, prior->needs);
	from_list(&facts->requires, ix, prior->requires);
	from_list(&facts->provides, ix, prior->provides);
	from_list(&facts->conflicts, ix, prior->conflicts);
	from_list(&facts->sound, ix, card->sound);
	from_list(&facts->sound_said, ix, card->sound_said);
	from_list(&facts->evidence, ix, card->evidence);
	from_list(&facts->evidence_row, ix, card->evidence_row);
	from_list(&facts->useful, ix, card->useful);
}

struct known_blob {
	git_oid blob;
	uint32_t card;
};

static int by_blob(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(git_oid));
}

/* --- batches ------------------------------------------------------------------------------ */

struct batch {
	const struct kl_taxonomy *tax;
	const struct kl_index *base;
	struct known_blob *known; /* cards of `base`, sorted by blob */
	size_t nknown;
	/* text of each card; "" if the facts of the card are copied from `base` */
	struct kl_buf *text;
	struct facts *f;
	size_t n;
};

static void batch_release(struct batch *batch)
{
	for (size_t i = 0; i < BATCH; i++) {
		kl_buf_release(&batch->text[i]);
		facts_release(&batch->f[i]);
	}
	free(batch->text);
	free(batch->f);
	free(batch->known);
}

/*
 * Read the cards of a batch, in several threads. The facts of a card that cannot be read stay
 * empty.
 */
static void read_cards(void *ctx, size_t from, size_t to)
{
	struct batch *batch = ctx;

	for (size_t i = from; i < to; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		if (batch->text[i].len &&
		    !kl_card_parse(&card, "card", batch->text[i].ptr, batch->text[i].len))
			take_card(&batch->f[i], batch->tax, card);
		kl_error_clear();
	}
}

static int fill_batch(struct batch *batch, struct kl_library *lib, size_t first)
{
	int err = 0;

	batch->n = kl_library_count(lib) - first;
	if (batch->n > BATCH)
		batch->n = BATCH;
	for (size_t i = 0; !err && i < batch->n; i++) {
		const struct known_blob *blob;

		kl_buf_clear(&batch->text[i]);
		facts_release(&batch->f[i]);
		batch->f[i].blob = *kl_library_blob(lib, first + i);
		blob = bsearch(&batch->f[i].blob, batch->known, batch->nknown,
			       sizeof(*batch->known), by_blob);
		if (blob)
			from_index(&batch->f[i], batch->base,
				   kl_index_card(batch->base, blob->card));
		else
			err = kl_library_text(&batch->text[i], lib, first + i);
		if (err == KL_EINVALID) { /* the text is too long: the card counts as unreadable */
			kl_error_clear();
			kl_buf_clear(&batch->text[i]);
			err = 0;
		}
	}
	return err;
}

static void learn_batch(struct batch *batch)
{
	batch->nknown = batch->base ? kl_index_count(batch->base) : 0;
	batch->known = kl_calloc(batch->nknown + 1, sizeof(*batch->known));
	for (size_t i = 0; i < batch->nknown; i++)
		batch->known[i] = (struct known_blob){ kl_index_card(batch->base, i)->blob,
						       (uint32_t)i };
	qsort(batch->known, batch->nknown, sizeof(*batch->known), by_blob);
}

/* --- building --------------------------------------------------------------------------------- */

static void write_out(struct kl_buf *out, const struct builder *builder)
{
	struct kl_index_head head = { .bad = builder->bad };
	size_t at = out->len;

	kl_buf_add(out, &head, sizeof(head));
	for (int part = 0; part < KL_INDEX_PARTS; part++) {
		kl_mapfile_align(out);
		head.part[part].at = out->len;
		head.part[part].n = part == KL_INDEX_BYTES ? builder->part[part].len :
							     builder->n[part];
		kl_buf_add(out, builder->part[part].ptr, builder->part[part].len);
	}
	memcpy(out->ptr + at, &head, sizeof(head));
}

int kl_index_build(struct kl_buf *out, struct kl_library *lib, const struct kl_taxonomy *tax,
		   const struct kl_index *base)
{
	KL_AUTO(builder_release) struct builder builder = { .part = { KL_BUF_INIT } };
	KL_AUTO(batch_release) struct batch batch = {
		.tax = tax,
		.base = base,
		.text = kl_calloc(BATCH, sizeof(*batch.text)),
		.f = kl_calloc(BATCH, sizeof(*batch.f)),
	};
	int err = 0;

	for (int i = 0; i < KL_INDEX_PARTS; i++)
		builder.part[i] = (struct kl_buf)KL_BUF_INIT;
	for (size_t i = 0; i < BATCH; i++)
		batch.text[i] = (struct kl_buf)KL_BUF_INIT;
	learn_batch(&batch);
	add_string(&builder, "");
	for (size_t first = 0; !err && first < kl_library_count(lib); first += batch.n) {
		if ((err = fill_batch(&batch, lib, first)) < 0)
			return err;
		kl_par_for(batch.n, GRAIN, read_cards, &batch);
		for (size_t i = 0; i < batch.n; i++) {
			/* a card whose id differs from its file name counts as unreadable */
			if (batch.f[i].id && strcmp(batch.f[i].id, kl_library_id(lib, first + i)))
				free(kl_steal(&batch.f[i].id));
			add_card(&builder, &batch.f[i]);
		}
	}
	if (!err && builder.part[KL_INDEX_BYTES].len > UINT32_MAX)
		err = kl_error(KL_EINVALID, "the strings of the library's cards exceed 4 GiB");
	if (!err)
		write_out(out, &builder);
	return err;
}
