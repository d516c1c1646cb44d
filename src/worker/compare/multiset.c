/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/multiset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/compare/mismatch.h"

#define SLICE 8192 /* elements of a slice, about */

struct rows {
	const struct kl_job *job;
	const struct kl_rule *rule;
	const struct kl_member *member;
	enum kl_dtype dtype, idtype; /* dtypes of the values and of the indices */
	const char *values, *indices, *x;
	const void *truth;
	size_t nrow, k, cols;      /* rows; values selected in a row; values in a row of x */
	size_t size, index_size;   /* bytes of a value and of an index */
	uint64_t fraction;         /* mask of the bits below a float's exponent; 0 for integers */
	uint64_t salt;             /* salt of checksums, unknown to the kernel */
	size_t each;               /* rows of a slice */
	struct kl_mismatch *slice; /* result for each slice */
};

/* Scratch for one row. */
struct scratch {
	uint64_t *key, *want, *spare; /* keys of the answer and of the truth, and room to sort */
	/* for each column of x: 1 + the last row that selected it; 0 if there is none */
	uint32_t *seen;
	char *stored; /* one row of the truth, in the dtype */
};

static void scratch_init(struct scratch *scratch, const struct rows *rows)
{
	scratch->key = kl_calloc(rows->k + 1, sizeof(*scratch->key));
	scratch->want = kl_calloc(rows->k + 1, sizeof(*scratch->want));
	scratch->spare = kl_calloc(rows->k + 1, sizeof(*scratch->spare));
	scratch->seen = kl_calloc(rows->cols + 1, sizeof(*scratch->seen));
	scratch->stored = kl_calloc(rows->k + 1, rows->size);
}

static void scratch_release(struct scratch *scratch)
{
	free(scratch->key);
	free(scratch->want);
	free(scratch->spare);
	free(scratch->seen);
	free(scratch->stored);
}

static size_t last_extent(const struct kl_point *point, int arg)
{
	size_t n = point->arg[arg].naxes;

	return n ? (size_t)point->arg[arg].extent[n - 1] : 1;
}

static uint64_t fraction_bits(enum kl_dtype dtype)
{
	switch (dtype) {
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

static int rows_init(struct rows *rows, const struct kl_job *job, const struct kl_member *member,
		     const struct kl_rule *rule, const void *const *got)
{
	const struct kl_point *point = member->point;
	size_t count = (size_t)kl_point_elements(point, (size_t)rule->out);

	*rows = (struct rows){
		.job = job,
		.rule = rule,
		.member = member,
		.dtype = job->arg[rule->out].dtype,
		.idtype = job->arg[rule->indices].dtype,
		.values = got[rule->out],
		.indices = got[rule->indices],
		.x = member->input[rule->of],
		.truth = member->truth[rule->out],
		.k = last_extent(point, rule->out),
		.cols = last_extent(point, rule->of),
		.size = kl_dtype_bytes(job->arg[rule->out].dtype),
		.index_size = kl_dtype_bytes(job->arg[rule->indices].dtype),
		.fraction = fraction_bits(job->arg[rule->out].dtype),
		.salt = kl_rng_os_seed(),
	};
	rows->nrow = rows->k ? count / rows->k : 0;
	if (job->arg[rule->of].dtype != rows->dtype || kl_dtype_is_float(rows->idtype) ||
	    (size_t)kl_point_elements(point, (size_t)rule->indices) != count ||
	    (size_t)kl_point_elements(point, (size_t)rule->of) != rows->nrow * rows->cols)
		return kl_error(KL_EINVALID,
				"rule multiset: '%s', '%s' and '%s' do not match in shape or dtype",
				job->arg[rule->out].name, job->arg[rule->indices].name,
				job->arg[rule->of].name);
	rows->each = rows->k < SLICE ? SLICE / (rows->k + 1) + 1 : 1;
	return 0;
}

/*
 * Load an element of `size` bytes. A constant size in each branch lets the compiler inline the
 * copy.
 */
static inline uint64_t load_bits(const char *at, size_t size)
{
	uint8_t byte;
	uint16_t half;
	uint32_t word;
	uint64_t bits;

	switch (size) {
	case 1:
		memcpy(&byte, at, 1);
		return byte;
	case 2:
		memcpy(&half, at, 2);
		return half;
	case 4:
		memcpy(&word, at, 4);
		return word;
	default:
		memcpy(&bits, at, 8);
		return bits;
	}
}

/*
 * Return a key for a value, such that the unsigned order of keys is the order of values. -0 and +0
 * have the same key, and so do all NaNs.
 */
static uint64_t key_of(const struct rows *rows, const char *at)
{
	uint64_t sign = (uint64_t)1 << (8 * rows->size - 1), magnitude;
	uint64_t bits = load_bits(at, rows->size);

	if (!rows->fraction)
		return rows->dtype <= KL_I8 ? bits ^ sign : bits;
	magnitude = bits & (sign - 1);
	/* bits larger than those of infinity are a NaN */
	if (magnitude > (sign - 1 - rows->fraction))
		return UINT64_MAX;
	if (!magnitude)
		return sign;
	return bits & sign ? ~bits & (2 * sign - 1) : bits | sign;
}

/*
 * Return a checksum that does not depend on the order of the keys: rows whose checksums are equal
 * count as equal and need not be sorted. Rows with different keys have the same checksum with a
 * probability of about 2^-64.
 */
static uint64_t sum_of(const struct rows *rows, const uint64_t *key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->k; i++)
		sum += kl_rng_mix(key[i] ^ rows->salt);
	return sum;
}

/* Sort by radix, from the lowest byte. A byte that is the same in all keys is skipped. */
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
		for (int byte = 0; byte < 256; byte++)
			count[byte + 1] += count[byte];
		for (size_t i = 0; i < n; i++)
			to[count[from[i] >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != key)
		memcpy(key, from, n * sizeof(*key));
}

static void set_mismatch(struct kl_mismatch *mismatch, const struct rows *rows, int arg,
			 const void *base, size_t i, const char *wanted, const char *why)
{
	const struct kl_point *point = rows->member->point;
	int64_t index[KL_MAX_AXES];

	kl_tensor_index(index, point->arg[arg].extent, point->arg[arg].naxes, i);
	mismatch->bad++;
	mismatch->margin = INFINITY;
	if (mismatch->out >= 0) {
		mismatch->edge_only = mismatch->edge_only &&
				      kl_mismatch_border(index, point->arg[arg].extent,
							 point->arg[arg].naxes);
		return;
	}
	mismatch->out = arg;
	mismatch->naxes = point->arg[arg].naxes;
	memcpy(mismatch->index, index, sizeof(index));
	mismatch->edge_only = kl_mismatch_border(index, point->arg[arg].extent,
						 point->arg[arg].naxes);
	kl_tensor_print(mismatch->got, sizeof(mismatch->got), rows->job->arg[arg].dtype, base, i);
	snprintf(mismatch->wanted, sizeof(mismatch->wanted), "%s", wanted);
	snprintf(mismatch->why, sizeof(mismatch->why), "%s", why);
}

static bool index_at(const struct rows *rows, size_t i, size_t *out)
{
	size_t size = rows->index_size;
	uint64_t index = load_bits(rows->indices + i * size, size);

	/* a negative index, sign-extended to 64 bits and read as unsigned, is far out of range */
	if (rows->idtype <= KL_I8 && size < 8 && index >> (8 * size - 1))
		index |= ~(uint64_t)0 << (8 * size);
	*out = (size_t)index;
	return index < rows->cols;
}

/*
 * Check that the indices of a row are in range and distinct, and that x has the row's values there.
 * Return false if the row is wrong.
 */
static bool check_indices(struct kl_mismatch *mismatch, const struct rows *rows,
			  struct scratch *scratch, size_t row)
{
	char wanted[40];
	bool ok = true;

	for (size_t j = 0; j < rows->k; j++) {
		size_t i = row * rows->k + j, at;

		if (!index_at(rows, i, &at)) {
			snprintf(wanted, sizeof(wanted), "0 <= index < %zu", rows->cols);
			set_mismatch(mismatch, rows, rows->rule->indices, rows->indices, i, wanted,
				     "index out of range");
			ok = false;
			continue;
		}
		if (scratch->seen[at] == (uint32_t)row + 1) {
			set_mismatch(mismatch, rows, rows->rule->indices, rows->indices, i,
				     "another index", "index given twice in its row");
			ok = false;
			continue;
		}
		scratch->seen[at] = (uint32_t)row + 1;
		if (load_bits(rows->values + i * rows->size, rows->size) ==
		    load_bits(rows->x + (row * rows->cols + at) * rows->size, rows->size))
			continue;
		kl_tensor_print(wanted, sizeof(wanted), rows->dtype, rows->x,
				row * rows->cols + at);
		set_mismatch(mismatch, rows, rows->rule->out, rows->values, i, wanted,
			     "not the input's value at the given index");
		ok = false;
	}
	return ok;
}

static void check_order(struct kl_mismatch *mismatch, const struct rows *rows,
			struct scratch *scratch, size_t row)
{
	const char *got = rows->values + row * rows->k * rows->size, *want = scratch->stored;
	char text[40];
	size_t given = 0, expected = 0, surplus, missing, at = 0;

	if (kl_dtype_is_float(rows->dtype))
		kl_tensor_store(scratch->stored, rows->dtype, 0,
				(const double *)rows->truth + row * rows->k, rows->k);
	else
		want = (const char *)rows->truth + row * rows->k * rows->size;
	for (size_t i = 0; i < rows->k; i++) {
		scratch->key[i] = key_of(rows, got + i * rows->size);
		scratch->want[i] = key_of(rows, want + i * rows->size);
	}
	if (sum_of(rows, scratch->key) == sum_of(rows, scratch->want))
		return;
	sort_keys(scratch->key, scratch->spare, rows->k);
	sort_keys(scratch->want, scratch->spare, rows->k);
	if (!rows->k || !memcmp(scratch->key, scratch->want, rows->k * sizeof(*scratch->key)))
		return;
	/* walk both sorted rows: find the first surplus value and the first missing value */
	surplus = missing = rows->k;
	while (given < rows->k && expected < rows->k &&
	       (surplus == rows->k || missing == rows->k)) {
		if (scratch->key[given] == scratch->want[expected])
			given++, expected++;
		else if (scratch->key[given] < scratch->want[expected])
			surplus = surplus < rows->k ? surplus : given, given++;
		else
			missing = missing < rows->k ? missing : expected, expected++;
	}
	surplus = surplus < rows->k ? surplus : given;
	missing = missing < rows->k ? missing : expected;
	while (key_of(rows, got + at * rows->size) != scratch->key[surplus])
		at++;
	for (size_t i = 0; i < rows->k; i++)
		if (key_of(rows, want + i * rows->size) == scratch->want[missing])
			kl_tensor_print(text, sizeof(text), rows->dtype, want, i);
	set_mismatch(mismatch, rows, rows->rule->out, rows->values, row * rows->k + at, text,
		     "the row's values, sorted, differ from the truth");
}

static void check_slices(void *ctx, size_t from, size_t to)
{
	const struct rows *rows = ctx;
	KL_AUTO(scratch_release) struct scratch scratch = { 0 };

	scratch_init(&scratch, rows);
	for (size_t i = from; i < to; i++) {
		size_t first = i * rows->each, left = rows->nrow - first;
		size_t end = first + (left < rows->each ? left : rows->each);

		rows->slice[i] = (struct kl_mismatch){ .out = -1 };
		for (size_t row = first; row < end; row++)
			if (check_indices(&rows->slice[i], rows, &scratch, row))
				check_order(&rows->slice[i], rows, &scratch, row);
	}
}

int kl_multiset_check(struct kl_mismatch *mismatch, const struct kl_job *job,
		      const struct kl_member *member, const struct kl_rule *rule,
		      const void *const *got)
{
	struct rows rows = { 0 };
	size_t nslice;
	int err = rows_init(&rows, job, member, rule, got);

	if (err < 0)
		return err;
	nslice = (rows.nrow + rows.each - 1) / rows.each;
	rows.slice = kl_calloc(nslice + 1, sizeof(*rows.slice));
	kl_par_for(nslice, 1, check_slices, &rows);
	for (size_t i = 0; i < nslice; i++)
		kl_mismatch_merge(mismatch, &rows.slice[i]);
	free(rows.slice);
	mismatch->elements += (int64_t)(2 * rows.nrow * rows.k);
	return 0;
}
