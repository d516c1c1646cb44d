/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/twin.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "worker/pool/answer.h"
#include "worker/pool/fill.h"

#define SINGLE 4 /* attempts that change one part of each input; later ones change a share */
/* maximum number of random parts to try until one has redrawn values that differ */
#define LOOKS 32

/* the share of the parts that each later attempt changes, in 1/64 */
static const unsigned share[KL_TWIN_TRIES - SINGLE] = { 1, 8, 64 };

/* One input: its bytes, the redrawn bytes, and the parts that can be replaced. */
struct part {
	char *now;       /* bytes in the caller's buffer */
	char *other;     /* redrawn bytes */
	size_t grain, n; /* bytes of the smallest part; number of parts */
	size_t elements; /* elements of one part */
};

static void part_release(struct part *part)
{
	free(part->other);
}

static int part_init(struct part *part, char *now, const struct kl_job *job,
		     const struct kl_member *member, size_t arg, const struct kl_key *key)
{
	size_t n = kl_member_elements(member, arg), naxes = member->point->arg[arg].naxes;
	size_t size = kl_dtype_bytes(job->arg[arg].dtype);

	*part = (struct part){ .now = now, .other = kl_calloc(n + 1, size) };
	switch (kl_fill_grain(job->arg[arg].fill)) {
	case KL_GRAIN_ELEMENT:
		part->elements = 1;
		break;
	case KL_GRAIN_ROW:
		part->elements = naxes ? (size_t)member->point->arg[arg].extent[naxes - 1] : 1;
		break;
	case KL_GRAIN_TENSOR:
		part->elements = n;
		break;
	}
	if (!n)
		return 0;
	part->grain = part->elements * size;
	part->n = n / part->elements;
	return kl_fill_band(part->other, job, member->point, member->band, key, arg);
}

static size_t take_part(struct part *part, size_t i)
{
	if (!memcmp(part->now + i * part->grain, part->other + i * part->grain, part->grain))
		return 0;
	memcpy(part->now + i * part->grain, part->other + i * part->grain, part->grain);
	return part->elements;
}

/*
 * Replace one random part whose redrawn values differ. Return the number of its elements; 0 if no
 * such part was found.
 */
static size_t take_one(struct part *part, struct kl_rng *rng)
{
	size_t n = 0;

	for (int k = 0; k < LOOKS && part->n && !n; k++)
		n = take_part(part, kl_rng_below(rng, part->n));
	return n;
}

/*
 * Replace each part with a probability of of_64/64. If there are at least 3 parts, keep the first
 * and the last, because most kernels that keep answers would recognize an input by these parts.
 * Return the number of elements in the parts that now differ.
 */
static size_t take_share(struct part *part, struct kl_rng *rng, unsigned of_64)
{
	size_t n = 0;

	for (size_t i = 0; i < part->n; i++)
		if ((part->n < 3 || (i > 0 && i + 1 < part->n)) && kl_rng_below(rng, 64) < of_64)
			n += take_part(part, i);
	return n;
}

int kl_twin_draw(void *const *input, size_t *changed, const struct kl_job *job,
		 const struct kl_member *member, const struct kl_key *key, int try)
{
	struct kl_key own, places;
	struct kl_rng rng;
	char label[32];
	int err = 0;

	snprintf(label, sizeof(label), "attempt %d", try);
	own = kl_key_derive(key, label);
	/* the label has a space, so it differs from names of arguments, which label other keys */
	places = kl_key_derive(&own, "the places");
	kl_rng_key(&rng, &places, 0);
	*changed = 0;
	for (size_t i = 0; i < job->nargs && err == 0; i++) {
		KL_AUTO(part_release) struct part part = { 0 };
		size_t n = member->input[i] ? kl_member_elements(member, i) : 0;

		if (!n)
			continue;
		kl_par_copy(input[i], member->input[i], n * kl_dtype_bytes(job->arg[i].dtype));
		err = part_init(&part, input[i], job, member, i, &own);
		if (err == 0)
			*changed += try < SINGLE ? take_one(&part, &rng) :
						   take_share(&part, &rng, share[try - SINGLE]);
	}
	return err;
}

int kl_twin_apart(const struct kl_job *job, const struct kl_member *member,
		  const struct kl_member *other)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	struct kl_mismatch mismatch;
	int err;

	kl_answer_truth(&answer, job, other);
	err = kl_answer_compare(&mismatch, job, member, &answer);
	if (err == 0)
		return 0;
	if (err != KL_ENO)
		return err;
	/* if the error is twice the tolerance or more, no answer can be right for both */
	return mismatch.margin >= 2;
}
