/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/twin.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/pool/answer.h"
#include "worker/pool/fill.h"

#define SINGLE 4 /* tries with one element; those after change shares */
#define LOOKS 32 /* at places whose new value might be the old one */

/* of the shares, in 1/64 of the elements */
static const unsigned share[KL_TWIN_TRIES - SINGLE] = { 1, 8, 64 };

/* One input: what it is, what it might be, and in which parts it may change. */
struct part {
	char *now;       /* in the caller's buffer */
	char *other;     /* drawn anew */
	size_t grain, n; /* bytes of the least part; how many parts */
	size_t elements; /* of one part */
};

static void part_release(struct part *p)
{
	free(p->other);
}

static int part_init(struct part *p, char *now, const struct kl_job *job, const struct kl_member *m,
		     size_t arg, uint64_t seed)
{
	size_t n = (size_t)kl_point_elements(m->point, arg), naxes = m->point->arg[arg].naxes;
	size_t size = kl_dtype_bytes(job->arg[arg].dtype);

	*p = (struct part){ .now = now, .other = kl_calloc(n + 1, size) };
	switch (kl_fill_grain(job->arg[arg].fill)) {
	case KL_GRAIN_ELEMENT:
		p->elements = 1;
		break;
	case KL_GRAIN_ROW:
		p->elements = naxes ? (size_t)m->point->arg[arg].extent[naxes - 1] : 1;
		break;
	case KL_GRAIN_TENSOR:
		p->elements = n;
		break;
	}
	if (!n)
		return 0;
	p->grain = p->elements * size;
	p->n = n / p->elements;
	return kl_fill_band(p->other, job, m->point, m->band, seed, arg);
}

static size_t take_part(struct part *p, size_t i)
{
	if (!memcmp(p->now + i * p->grain, p->other + i * p->grain, p->grain))
		return 0;
	memcpy(p->now + i * p->grain, p->other + i * p->grain, p->grain);
	return p->elements;
}

/* The least part, at a place that changes. */
static size_t take_one(struct part *p, struct kl_rng *rng)
{
	size_t n = 0;

	for (int k = 0; k < LOOKS && p->n && !n; k++)
		n = take_part(p, kl_rng_below(rng, p->n));
	return n;
}

/* Each part with this chance; the ends stay, where most fingerprints are taken. */
static size_t take_share(struct part *p, struct kl_rng *rng, unsigned of_64)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if ((p->n < 3 || (i > 0 && i + 1 < p->n)) && kl_rng_below(rng, 64) < of_64)
			n += take_part(p, i);
	return n;
}

int kl_twin_draw(void *const *input, size_t *changed, const struct kl_job *job,
		 const struct kl_member *m, uint64_t seed, int t)
{
	struct kl_rng rng;
	char label[32];
	int err = 0;

	snprintf(label, sizeof(label), "twin/%d", t);
	seed = kl_rng_derive(seed, label);
	kl_rng_seed(&rng, seed);
	*changed = 0;
	for (size_t i = 0; i < job->nargs && err == 0; i++) {
		KL_AUTO(part_release) struct part p = { 0 };
		size_t n = m->input[i] ? (size_t)kl_point_elements(m->point, i) : 0;

		if (!n)
			continue;
		kl_par_copy(input[i], m->input[i], n * kl_dtype_bytes(job->arg[i].dtype));
		err = part_init(&p, input[i], job, m, i, seed);
		if (err == 0)
			*changed += t < SINGLE ? take_one(&p, &rng) :
						 take_share(&p, &rng, share[t - SINGLE]);
	}
	return err;
}

int kl_twin_apart(const struct kl_job *job, const struct kl_member *m,
		  const struct kl_member *other)
{
	KL_AUTO(kl_answer_release) struct kl_answer x = { 0 };
	struct kl_mismatch at;
	int err;

	kl_answer_truth(&x, job, other);
	err = kl_answer_compare(&at, job, m, &x);
	if (err == 0)
		return 0;
	if (err != KL_ENO)
		return err;
	/* twice the bound: then no answer lies within the bounds of both */
	return at.margin >= 2;
}
