/* SPDX-License-Identifier: Apache-2.0 */
/* index_build - builds the index of a library, from an older one where cards are the same */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "card/status.h"
#include "retrieve/index_parts.h"

#define BATCH 4096 /* cards in memory at a time */
#define GRAIN 32

/* --- what is taken of a card ------------------------------------------------------ */

struct row {
	struct kl_case point;
	char *language, *platform;
	bool verified;
};

struct facts {
	git_oid blob;
	char *id; /* NULL: a card that cannot be read */
	uint32_t status, passed, trials;
	struct row *row;
	size_t nrow;
	struct kl_strvec needs, requires, provides, conflicts, sound, evidence;
};

static void facts_release(struct facts *f)
{
	for (size_t i = 0; i < f->nrow; i++) {
		free(f->row[i].language);
		free(f->row[i].platform);
	}
	free(f->row);
	free(f->id);
	kl_strvec_release(&f->needs);
	kl_strvec_release(&f->requires);
	kl_strvec_release(&f->provides);
	kl_strvec_release(&f->conflicts);
	kl_strvec_release(&f->sound);
	kl_strvec_release(&f->evidence);
	*f = (struct facts){ 0 };
}

static char *or_empty(const char *s)
{
	return kl_strdup(s ? s : "");
}

static void take_row(struct row *out, const struct kl_taxonomy *tax, const struct kl_card *c,
		     const struct kl_card_row *r)
{
	kl_case_init(&out->point, tax, r->case_ ? r->case_ : "", r->dtype ? r->dtype : "");
	for (size_t i = 0; i < r->dims.n; i++)
		kl_case_dim(&out->point, tax, r->dims.v[i].name, r->dims.v[i].v);
	out->language = or_empty(r->language);
	out->platform = or_empty(r->platform);
	out->verified = kl_card_row_is_verified(c, r);
}

/* lineages with their steps, in the order of both */
static void take_evidence(struct facts *f, const struct kl_card *c)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec sorted = KL_STRVEC_INIT;

	for (size_t i = 0; i < c->evidence.n; i++)
		if (c->evidence.v[i].lineage)
			kl_strvec_pushf(&sorted, "%s\n%010lld", c->evidence.v[i].lineage,
					(long long)c->evidence.v[i].step);
	kl_strvec_uniq(&sorted);
	for (size_t i = 0; i < sorted.n; i++) {
		char *step = strchr(sorted.v[i], '\n');

		*step++ = '\0';
		kl_strvec_push(&f->evidence, sorted.v[i]);
		kl_strvec_pushf(&f->evidence, "%lld", strtoll(step, NULL, 10));
	}
}

static void take_card(struct facts *f, const struct kl_taxonomy *tax, const struct kl_card *c)
{
	size_t passed, trials;

	f->id = kl_strdup(c->id);
	f->status = (uint32_t)c->status;
	kl_status_count(&passed, &trials, c);
	f->passed = (uint32_t)passed;
	f->trials = (uint32_t)trials;
	f->row = kl_calloc(c->rows.n + 1, sizeof(*f->row));
	for (; f->nrow < c->rows.n; f->nrow++)
		take_row(&f->row[f->nrow], tax, c, &c->rows.v[f->nrow]);
	kl_strvec_copy(&f->needs, &c->scope.needs);
	kl_strvec_copy(&f->requires, &c->scope.requires);
	kl_strvec_copy(&f->provides, &c->scope.provides);
	kl_strvec_pushv(&f->provides, (const char *const *)c->provides.v);
	kl_strvec_copy(&f->conflicts, &c->scope.conflicts);
	kl_strvec_uniq(&f->needs);
	kl_strvec_uniq(&f->requires);
	kl_strvec_uniq(&f->provides);
	kl_strvec_uniq(&f->conflicts);
	for (size_t i = 0; i < c->sound.n; i++) {
		kl_strvec_push(&f->sound, c->sound.v[i].id);
		kl_strvec_push(&f->sound, c->sound.v[i].test ? c->sound.v[i].test : "");
	}
	take_evidence(f, c);
}

/* --- the file in the making --------------------------------------------------------- */

struct builder {
	struct kl_map strings; /* text -> its number + 1, as a pointer */
	struct kl_buf part[KL_INDEX_PARTS];
	struct kl_map points, priors; /* likewise, by their bytes in hex and by their words */
	size_t n[KL_INDEX_PARTS];
	uint32_t bad;
};

static void builder_release(struct builder *b)
{
	kl_map_release(&b->strings);
	kl_map_release(&b->points);
	kl_map_release(&b->priors);
	for (int i = 0; i < KL_INDEX_PARTS; i++)
		kl_buf_release(&b->part[i]);
}

static size_t add_part(struct builder *b, enum kl_index_part part, const void *p)
{
	kl_buf_add(&b->part[part], p, kl_index_size(part));
	return b->n[part]++;
}

static uint32_t add_string(struct builder *b, const char *s)
{
	uintptr_t there = (uintptr_t)kl_map_get(&b->strings, s);
	uint32_t start = (uint32_t)b->part[KL_INDEX_BYTES].len;

	if (there)
		return (uint32_t)(there - 1);
	kl_buf_add(&b->part[KL_INDEX_BYTES], s, strlen(s) + 1);
	there = add_part(b, KL_INDEX_STARTS, &start);
	kl_map_put(&b->strings, s, (void *)(there + 1));
	return (uint32_t)there;
}

static struct kl_index_list add_list(struct builder *b, const struct kl_strvec *v)
{
	struct kl_index_list l = { 0, (uint32_t)v->n };
	KL_AUTO(kl_freep) uint32_t *number = kl_calloc(v->n + 1, sizeof(*number));

	for (size_t i = 0; i < v->n; i++)
		number[i] = add_string(b, v->v[i]);
	l.at = (uint32_t)b->n[KL_INDEX_ITEMS];
	for (size_t i = 0; i < v->n; i++)
		add_part(b, KL_INDEX_ITEMS, &number[i]);
	return l;
}

static uint32_t add_point(struct builder *b, const struct kl_case *c)
{
	char key[2 * sizeof(*c) + 1];
	const unsigned char *p = (const unsigned char *)c;
	uintptr_t there;

	for (size_t i = 0; i < sizeof(*c); i++) {
		key[2 * i] = "0123456789abcdef"[p[i] >> 4];
		key[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
	}
	key[2 * sizeof(*c)] = '\0';
	there = (uintptr_t)kl_map_get(&b->points, key);
	if (!there) {
		there = add_part(b, KL_INDEX_POINTS, c) + 1;
		kl_map_put(&b->points, key, (void *)there);
	}
	return (uint32_t)(there - 1);
}

static uint32_t add_prior(struct builder *b, const struct facts *f)
{
	const struct kl_strvec *const list[] = { &f->needs, &f->requires, &f->provides,
						 &f->conflicts };
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	uintptr_t there;

	for (size_t l = 0; l < KL_ARRAY_SIZE(list); l++) {
		for (size_t i = 0; i < list[l]->n; i++)
			kl_buf_addf(&key, "%s\n", list[l]->v[i]);
		kl_buf_addch(&key, '\n');
	}
	there = (uintptr_t)kl_map_get(&b->priors, key.ptr);
	if (!there) {
		struct kl_index_prior p = {
			add_list(b, &f->needs),
			add_list(b, &f->requires),
			add_list(b, &f->provides),
			add_list(b, &f->conflicts),
		};

		there = add_part(b, KL_INDEX_PRIORS, &p) + 1;
		kl_map_put(&b->priors, key.ptr, (void *)there);
	}
	return (uint32_t)(there - 1);
}

static void add_card(struct builder *b, const struct facts *f)
{
	struct kl_index_card c = {
		.status = f->status,
		.blob = f->blob,
		.passed = f->passed,
		.trials = f->trials,
		.rows = (uint32_t)b->n[KL_INDEX_ROWS],
		.nrows = (uint32_t)f->nrow,
	};

	if (!f->id) {
		b->bad++;
		return;
	}
	for (size_t i = 0; i < f->nrow; i++) {
		struct kl_index_row r = {
			.point = add_point(b, &f->row[i].point),
			.language = add_string(b, f->row[i].language),
			.platform = add_string(b, f->row[i].platform),
			.verified = f->row[i].verified,
		};

		add_part(b, KL_INDEX_ROWS, &r);
	}
	c.id = add_string(b, f->id);
	c.prior = add_prior(b, f);
	c.sound = add_list(b, &f->sound);
	c.evidence = add_list(b, &f->evidence);
	add_part(b, KL_INDEX_CARDS, &c);
}

/* --- from an older index --------------------------------------------------------------- */

static void from_list(struct kl_strvec *out, const struct kl_index *ix, struct kl_index_list l)
{
	const uint32_t *item = kl_index_items(ix, l);

	for (size_t i = 0; i < l.n; i++)
		kl_strvec_push(out, kl_index_string(ix, item[i]));
}

static void from_index(struct facts *f, const struct kl_index *ix, const struct kl_index_card *c)
{
	const struct kl_index_prior *p = kl_index_prior(ix, c->prior);

	f->id = kl_strdup(kl_index_string(ix, c->id));
	f->status = c->status;
	f->passed = c->passed;
	f->trials = c->trials;
	f->row = kl_calloc(c->nrows + 1, sizeof(*f->row));
	for (; f->nrow < c->nrows; f->nrow++) {
		const struct kl_index_row *r = kl_index_row(ix, c->rows + f->nrow);

		f->row[f->nrow] = (struct row){
			.point = *kl_index_point(ix, r->point),
			.verified = r->verified,
			.language = kl_strdup(kl_index_string(ix, r->language)),
			.platform = kl_strdup(kl_index_string(ix, r->platform)),
		};
	}
	from_list(&f->needs, ix, p->needs);
	from_list(&f->requires, ix, p->requires);
	from_list(&f->provides, ix, p->provides);
	from_list(&f->conflicts, ix, p->conflicts);
	from_list(&f->sound, ix, c->sound);
	from_list(&f->evidence, ix, c->evidence);
}

struct known_blob {
	git_oid blob;
	uint32_t card;
};

static int by_blob(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(git_oid));
}

/* --- batches ------------------------------------------------------------------------------ */

struct batch {
	const struct kl_taxonomy *tax;
	const struct kl_index *base;
	struct known_blob *known; /* of the base, sorted */
	size_t nknown;
	struct kl_buf *text; /* "" : taken from the base */
	struct facts *f;
	size_t n;
};

static void batch_release(struct batch *b)
{
	for (size_t i = 0; i < BATCH; i++) {
		kl_buf_release(&b->text[i]);
		facts_release(&b->f[i]);
	}
	free(b->text);
	free(b->f);
	free(b->known);
}

/* In threads: what goes wrong is only that the card cannot be read. */
static void read_cards(void *ctx, size_t from, size_t to)
{
	struct batch *b = ctx;

	for (size_t i = from; i < to; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *c = NULL;

		if (b->text[i].len && !kl_card_parse(&c, "card", b->text[i].ptr, b->text[i].len))
			take_card(&b->f[i], b->tax, c);
		kl_error_clear();
	}
}

static int fill_batch(struct batch *b, struct kl_library *lib, size_t first)
{
	int err = 0;

	b->n = kl_library_count(lib) - first;
	if (b->n > BATCH)
		b->n = BATCH;
	for (size_t i = 0; !err && i < b->n; i++) {
		const struct known_blob *k;

		kl_buf_clear(&b->text[i]);
		facts_release(&b->f[i]);
		b->f[i].blob = *kl_library_blob(lib, first + i);
		k = bsearch(&b->f[i].blob, b->known, b->nknown, sizeof(*b->known), by_blob);
		if (k)
			from_index(&b->f[i], b->base, kl_index_card(b->base, k->card));
		else
			err = kl_library_text(&b->text[i], lib, first + i);
		if (err == KL_EINVALID) { /* too long for a card: it is none */
			kl_error_clear();
			kl_buf_clear(&b->text[i]);
			err = 0;
		}
	}
	return err;
}

static void learn_batch(struct batch *b)
{
	b->nknown = b->base ? kl_index_count(b->base) : 0;
	b->known = kl_calloc(b->nknown + 1, sizeof(*b->known));
	for (size_t i = 0; i < b->nknown; i++)
		b->known[i] = (struct known_blob){ kl_index_card(b->base, i)->blob, (uint32_t)i };
	qsort(b->known, b->nknown, sizeof(*b->known), by_blob);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void write_out(struct kl_buf *out, const struct builder *b)
{
	struct kl_index_head h = { .bad = b->bad };
	size_t at = out->len;

	kl_buf_add(out, &h, sizeof(h));
	for (int p = 0; p < KL_INDEX_PARTS; p++) {
		kl_mapfile_align(out);
		h.part[p].at = out->len;
		h.part[p].n = p == KL_INDEX_BYTES ? b->part[p].len : b->n[p];
		kl_buf_add(out, b->part[p].ptr, b->part[p].len);
	}
	memcpy(out->ptr + at, &h, sizeof(h));
}

int kl_index_build(struct kl_buf *out, struct kl_library *lib, const struct kl_taxonomy *tax,
		   const struct kl_index *base)
{
	KL_AUTO(builder_release) struct builder b = { .part = { KL_BUF_INIT } };
	KL_AUTO(batch_release) struct batch batch = {
		.tax = tax,
		.base = base,
		.text = kl_calloc(BATCH, sizeof(*batch.text)),
		.f = kl_calloc(BATCH, sizeof(*batch.f)),
	};
	int err = 0;

	for (int i = 0; i < KL_INDEX_PARTS; i++)
		b.part[i] = (struct kl_buf)KL_BUF_INIT;
	for (size_t i = 0; i < BATCH; i++)
		batch.text[i] = (struct kl_buf)KL_BUF_INIT;
	learn_batch(&batch);
	add_string(&b, "");
	for (size_t first = 0; !err && first < kl_library_count(lib); first += batch.n) {
		if ((err = fill_batch(&batch, lib, first)) < 0)
			return err;
		kl_par_for(batch.n, GRAIN, read_cards, &batch);
		for (size_t i = 0; i < batch.n; i++) {
			/* the file's name is the card's */
			if (batch.f[i].id && strcmp(batch.f[i].id, kl_library_id(lib, first + i)))
				free(kl_steal(&batch.f[i].id));
			add_card(&b, &batch.f[i]);
		}
	}
	if (!err && b.part[KL_INDEX_BYTES].len > UINT32_MAX)
		err = kl_error(KL_EINVALID, "the library's words have more than 4 GiB");
	if (!err)
		write_out(out, &b);
	return err;
}
