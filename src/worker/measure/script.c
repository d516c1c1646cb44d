/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/script.h"

#include <string.h>

#include "base/error.h"

/* One process in so many begins at another point; in one of so many a call comes between. */
#define ELSEWHERE 8
#define BETWEEN 8

static int64_t bytes_of(const struct kl_job *job, const struct kl_point *pt)
{
	int64_t bytes[KL_MAX_ARGS], all = 0;

	kl_job_tensor_bytes(bytes, job, pt, 0);
	for (size_t i = 0; i < job->nargs; i++)
		all += bytes[i];
	return all;
}

int kl_script_source(struct kl_script_source *out, const struct kl_job *job,
		     const struct kl_pool *pool, const struct kl_pool *fresh,
		     const struct kl_point *pt)
{
	int64_t most = bytes_of(job, pt);
	size_t n = kl_pool_noise(fresh, pt, out->fresh, KL_SCRIPT_MEASURED);

	if (n < KL_SCRIPT_MEASURED)
		return kl_error(KL_EINVALID, "there are %zu inputs to time at '%s', not %d", n,
				pt->id, KL_SCRIPT_MEASURED);
	out->point = pt;
	out->known = kl_calloc(kl_pool_size(pool) + 1, sizeof(*out->known));
	out->elsewhere = kl_calloc(kl_pool_size(pool) + 1, sizeof(*out->elsewhere));
	for (size_t i = 0; i < kl_pool_size(pool); i++) {
		const struct kl_member *member = kl_pool_get(pool, i);

		if (member->point == pt)
			out->known[out->nknown++] = member;
		else if (bytes_of(job, member->point) <= most)
			out->elsewhere[out->nelsewhere++] = member;
	}
	out->nnoise = kl_pool_noise(pool, pt, out->noise, KL_POOL_DRAWS);
	out->pair[1] = kl_pool_twin(pool, pt);
	out->pair[0] = out->noise[0];
	return out->nnoise ? 0 : kl_error(KL_EINVALID, "the pool has no inputs for '%s'", pt->id);
}

void kl_script_source_release(struct kl_script_source *source)
{
	free(source->known);
	free(source->elsewhere);
	*source = (struct kl_script_source){ .point = NULL };
}

static struct kl_script_call *add_call(struct kl_script *script, struct kl_rng *rng,
				       const struct kl_member *member)
{
	struct kl_script_call *call = &script->call[script->n++];

	*call = (struct kl_script_call){ .member = member };
	kl_trial_draw(&call->trial, rng);
	call->trial.input = member->input;
	return call;
}

static void add_known(struct kl_script *script, const struct kl_script_source *source,
		      struct kl_rng *rng)
{
	add_call(script, rng, source->known[kl_rng_below(rng, source->nknown)]);
}

static void add_elsewhere(struct kl_script *script, const struct kl_script_source *source,
			  struct kl_rng *rng)
{
	struct kl_script_call *call;

	if (!source->nelsewhere || kl_rng_below(rng, ELSEWHERE))
		return;
	call = add_call(script, rng, source->elsewhere[kl_rng_below(rng, source->nelsewhere)]);
	call->trial.place.other = true;
	script->other = call->member->point;
}

/*
 * At a hot point each measured call follows one on another input of the same kind, so that code,
 * scratch and outputs are warm; at a cold one everything is evicted before each call.
 */
static void add_measured(struct kl_script *script, const struct kl_script_source *source,
			 struct kl_rng *rng, size_t i)
{
	struct kl_script_call *call;

	if (source->point->hot)
		add_call(script, rng, source->noise[kl_rng_below(rng, source->nnoise)]);
	call = add_call(script, rng, source->fresh[i]);
	call->measured = true;
	call->trial.place.right = false;
	script->measured++;
}

/* Up to two calls that tell the kernel nothing of what was measured. */
static void add_tail(struct kl_script *script, const struct kl_script_source *source,
		     struct kl_rng *rng)
{
	size_t first = script->n, kind = kl_rng_below(rng, 8);

	if (kind == 0 && source->pair[1]) {
		size_t turn = kl_rng_below(rng, 2);

		add_call(script, rng, source->pair[turn]);
		add_call(script, rng, source->pair[!turn]);
	} else if (kind == 1) { /* an input that this process has seen */
		add_call(script, rng, script->call[kl_rng_below(rng, script->n)].member);
		script->call[script->n - 1].trial.place.other =
			script->call[script->n - 1].member->point != source->point;
	} else {
		for (size_t n = kind < 3 ? 0 : kind < 7 ? 1 : 2; n; n--)
			add_known(script, source, rng);
	}
	for (size_t i = first; i < script->n; i++)
		script->call[i].tail = true;
}

void kl_script_draw(struct kl_script *out, const struct kl_script_source *source,
		    struct kl_rng *rng, size_t measured)
{
	size_t turn = kl_rng_below(rng, KL_SCRIPT_MEASURED);

	*out = (struct kl_script){ .n = 0 };
	add_elsewhere(out, source, rng);
	add_known(out, source, rng);
	for (size_t i = 0; i < measured; i++) {
		if (i && kl_rng_below(rng, BETWEEN) == 0)
			add_known(out, source, rng);
		add_measured(out, source, rng, (turn + i) % KL_SCRIPT_MEASURED);
	}
	add_tail(out, source, rng);
	for (size_t i = 0; i < out->n; i++)
		out->call[i].trial.cold = out->call[i].measured && !source->point->hot;
}
