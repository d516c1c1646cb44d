/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/multiset.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/compare/mismatch.h"

struct rows {
	const struct kl_rule *rule;
	const struct kl_member *w;
	enum kl_dtype dtype, idtype; /* of values and of indices */
	const char *values, *indices, *x;
	const void *truth;
	size_t nrow, k, cols;
	size_t size;       /* bytes of a value */
	uint64_t fraction; /* bits below a float's exponent */
	uint64_t salt;     /* of sums, unknown to any kernel */
	/* scratch */
	uint64_t *key, *want, *spare;
	uint32_t *seen; /* row + 1 that used this column */
	char *stored;   /* a row of truth in the dtype */
};

static void rows_release(struct rows *s)
{
	free(s->key);
	free(s->want);
	free(s->spare);
	free(s->seen);
	free(s->stored);
}

static size_t last_extent(const struct kl_point *p, int arg)
{
	size_t n = p->arg[arg].naxes;

	return n ? (size_t)p->arg[arg].extent[n - 1] : 1;
}

static uint64_t fraction_bits(enum kl_dtype t)
{
	switch (t) {
	case KL_F64:
		return ((uint64_t)1 << 52) - 1;
	case KL_F32:
		return ((uint64_t)1 << 23) - 1;
	case KL_F16:
		return ((uint64_t)1 << 10) - 1;
	case KL_BF16:
		return ((uint64_t)1 << 7) - 1;
	default:
		return 0;
	}
}

static int rows_init(struct rows *s, const struct kl_job *job, const struct kl_member *w,
		     const struct kl_rule *r, const void *const *got)
{
	const struct kl_point *p = w->point;
	size_t n = (size_t)kl_point_elements(p, (size_t)r->out);

	*s = (struct rows){
		.rule = r,
		.w = w,
		.dtype = job->arg[r->out].dtype,
		.idtype = job->arg[r->indices].dtype,
		.values = got[r->out],
		.indices = got[r->indices],
		.x = w->input[r->of],
		.truth = w->truth[r->out],
		.k = last_extent(p, r->out),
		.cols = last_extent(p, r->of),
		.size = kl_dtype_bytes(job->arg[r->out].dtype),
		.fraction = fraction_bits(job->arg[r->out].dtype),
		.salt = kl_rng_os_seed(),
	};
	s->nrow = s->k ? n / s->k : 0;
	if (job->arg[r->of].dtype != s->dtype || kl_dtype_is_float(s->idtype) ||
	    (size_t)kl_point_elements(p, (size_t)r->indices) != n ||
	    (size_t)kl_point_elements(p, (size_t)r->of) != s->nrow * s->cols)
		return kl_error(KL_EINVALID,
				"rule multiset: '%s', '%s' and '%s' do not fit in shape or dtype",
				job->arg[r->out].name, job->arg[r->indices].name,
				job->arg[r->of].name);
	s->key = kl_calloc(s->k + 1, sizeof(*s->key));
	s->want = kl_calloc(s->k + 1, sizeof(*s->want));
	s->spare = kl_calloc(s->k + 1, sizeof(*s->spare));
	s->seen = kl_calloc(s->cols + 1, sizeof(*s->seen));
	s->stored = kl_calloc(s->k + 1, s->size);
	return 0;
}

/* An unsigned number ordered as the value; -0 and +0 alike, one key for every NaN. */
static uint64_t key_of(const struct rows *s, const char *at)
{
	uint64_t sign = (uint64_t)1 << (8 * s->size - 1), w = 0, magnitude;

	memcpy(&w, at, s->size);
	if (!s->fraction)
		return s->dtype <= KL_I8 ? w ^ sign : w;
	magnitude = w & (sign - 1);
	if (magnitude > (sign - 1 - s->fraction)) /* beyond infinity */
		return UINT64_MAX;
	if (!magnitude)
		return sign;
	return w & sign ? ~w & (2 * sign - 1) : w | sign;
}

/*
 * The same for the same keys in any order, and for others but by a chance of 2^-64:
 * spares right answers the sorting.
 */
static uint64_t sum_of(const struct rows *s, const uint64_t *key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->k; i++)
		sum += kl_rng_mix(key[i] ^ s->salt);
	return sum;
}

/* Byte by byte from the lowest; bytes that all keys share cost one count. */
static void sort_keys(uint64_t *key, uint64_t *spare, size_t n)
{
	uint64_t *from = key, *to = spare;

	for (int shift = 0; shift < 64; shift += 8) {
		size_t count[257] = { 0 };
		uint64_t *swap;

		for (size_t i = 0; i < n; i++)
			count[(from[i] >> shift & 255) + 1]++;
		if (n && count[(from[0] >> shift & 255) + 1] == n)
			continue;
		for (int b = 0; b < 256; b++)
			count[b + 1] += count[b];
		for (size_t i = 0; i < n; i++)
			to[count[from[i] >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != key)
		memcpy(key, from, n * sizeof(*key));
}

static void set_mismatch(struct kl_mismatch *m, const struct kl_job *job, const struct rows *s,
			 int arg, const void *base, size_t i, const char *wanted, const char *why)
{
	const struct kl_point *p = s->w->point;
	int64_t index[KL_JOB_MAX_AXES];

	kl_tensor_index(index, p->arg[arg].extent, p->arg[arg].naxes, i);
	m->bad++;
	m->margin = INFINITY;
	if (m->out >= 0) {
		m->edge_only = m->edge_only &&
			       kl_mismatch_border(index, p->arg[arg].extent, p->arg[arg].naxes);
		return;
	}
	m->out = arg;
	m->naxes = p->arg[arg].naxes;
	memcpy(m->index, index, sizeof(index));
	m->edge_only = kl_mismatch_border(index, p->arg[arg].extent, p->arg[arg].naxes);
	kl_tensor_print(m->got, sizeof(m->got), job->arg[arg].dtype, base, i);
	snprintf(m->wanted, sizeof(m->wanted), "%s", wanted);
	snprintf(m->why, sizeof(m->why), "%s", why);
}

static bool index_at(const struct rows *s, size_t i, size_t *out)
{
	size_t size = kl_dtype_bytes(s->idtype);
	uint64_t w = 0;

	memcpy(&w, s->indices + i * size, size);
	/* a negative number of `size` bytes is far beyond any row as an unsigned one of 8 */
	if (s->idtype <= KL_I8 && size < 8 && w >> (8 * size - 1))
		w |= ~(uint64_t)0 << (8 * size);
	*out = (size_t)w;
	return w < s->cols;
}

/* Indices and the values they point at; false: the row is wrong. */
static bool check_indices(struct kl_mismatch *m, const struct kl_job *job, struct rows *s,
			  size_t row)
{
	char wanted[40];
	bool ok = true;

	for (size_t c = 0; c < s->k; c++) {
		size_t i = row * s->k + c, at;

		if (!index_at(s, i, &at)) {
			snprintf(wanted, sizeof(wanted), "0 <= index < %zu", s->cols);
			set_mismatch(m, job, s, s->rule->indices, s->indices, i, wanted,
				     "index out of range");
			ok = false;
			continue;
		}
		if (s->seen[at] == (uint32_t)row + 1) {
			set_mismatch(m, job, s, s->rule->indices, s->indices, i, "another index",
				     "index given twice in its row");
			ok = false;
			continue;
		}
		s->seen[at] = (uint32_t)row + 1;
		if (!memcmp(s->values + i * s->size, s->x + (row * s->cols + at) * s->size,
			    s->size))
			continue;
		kl_tensor_print(wanted, sizeof(wanted), s->dtype, s->x, row * s->cols + at);
		set_mismatch(m, job, s, s->rule->out, s->values, i, wanted,
			     "the value is not the input's at the index given");
		ok = false;
	}
	return ok;
}

static void check_order(struct kl_mismatch *m, const struct kl_job *job, struct rows *s, size_t row)
{
	const char *got = s->values + row * s->k * s->size, *want = s->stored;
	char text[40];
	size_t c = 0, d = 0, surplus, missing, at = 0;

	if (kl_dtype_is_float(s->dtype))
		kl_tensor_store(s->stored, s->dtype, 0, (const double *)s->truth + row * s->k,
				s->k);
	else
		want = (const char *)s->truth + row * s->k * s->size;
	for (size_t i = 0; i < s->k; i++) {
		s->key[i] = key_of(s, got + i * s->size);
		s->want[i] = key_of(s, want + i * s->size);
	}
	if (sum_of(s, s->key) == sum_of(s, s->want))
		return;
	sort_keys(s->key, s->spare, s->k);
	sort_keys(s->want, s->spare, s->k);
	if (!s->k || !memcmp(s->key, s->want, s->k * sizeof(*s->key)))
		return;
	/* walk both in order: the first value given too many, and the first not given */
	surplus = missing = s->k;
	while (c < s->k && d < s->k && (surplus == s->k || missing == s->k)) {
		if (s->key[c] == s->want[d])
			c++, d++;
		else if (s->key[c] < s->want[d])
			surplus = surplus < s->k ? surplus : c, c++;
		else
			missing = missing < s->k ? missing : d, d++;
	}
	surplus = surplus < s->k ? surplus : c;
	missing = missing < s->k ? missing : d;
	while (key_of(s, got + at * s->size) != s->key[surplus])
		at++;
	for (size_t i = 0; i < s->k; i++)
		if (key_of(s, want + i * s->size) == s->want[missing])
			kl_tensor_print(text, sizeof(text), s->dtype, want, i);
	set_mismatch(m, job, s, s->rule->out, s->values, row * s->k + at, text,
		     "the row's values in order are not the truth's");
}

int kl_multiset_check(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		      const struct kl_rule *r, const void *const *got)
{
	KL_AUTO(rows_release) struct rows s = { 0 };
	int err = rows_init(&s, job, w, r, got);

	if (err < 0)
		return err;
	for (size_t row = 0; row < s.nrow; row++)
		if (check_indices(m, job, &s, row))
			check_order(m, job, &s, row);
	m->elements += (int64_t)(2 * s.nrow * s.k);
	return 0;
}
