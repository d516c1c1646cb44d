/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/script.h"

#include "base/error.h"

#define ELSEWHERE 8 /* one script in 8 begins at another point */
#define BETWEEN 8   /* in one script in 8, another call comes between the measured calls */
#define TAILS 8     /* kinds of tails, equally likely; half of them are empty */

static int find_noise(struct kl_script_source *out, const struct kl_pool *pool,
		      const struct kl_pool *fresh)
{
	size_t n;

	out->nnoise = kl_pool_noise(pool, out->point, out->noise, KL_POOL_DRAWS);
	n = kl_pool_noise(fresh ? fresh : pool, out->point, out->fresh, KL_SCRIPT_MEASURED);
	if (out->nnoise && n == KL_SCRIPT_MEASURED)
		return 0;
	return kl_error(KL_EINVALID, "there are only %zu inputs to time at '%s', not %d", n,
			out->point->id, KL_SCRIPT_MEASURED);
}

int kl_script_source(struct kl_script_source *out, const struct kl_job *job,
		     const struct kl_pool *pool, const struct kl_pool *fresh,
		     const struct kl_point *pt)
{
	int64_t most = kl_job_point_bytes(job, pt);

	out->point = pt;
	out->known = kl_calloc(kl_pool_size(pool) + 1, sizeof(*out->known));
	out->elsewhere = kl_calloc(kl_pool_size(pool) + 1, sizeof(*out->elsewhere));
	for (size_t i = 0; i < kl_pool_size(pool); i++) {
		const struct kl_member *member = kl_pool_get(pool, i);

		if (member->point == pt)
			out->known[out->nknown++] = member;
		else if (kl_job_point_bytes(job, member->point) <= most)
			out->elsewhere[out->nelsewhere++] = member;
	}
	out->next = out->nknown;
	out->pair[1] = kl_pool_twin(pool, pt);
	if (out->pair[1])
		kl_pool_noise(pool, pt, &out->pair[0], 1);
	return find_noise(out, pool, fresh);
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
	call->trial.further = member->further;
	return call;
}

/* Add a call with the next member of the point. */
static void add_known(struct kl_script *script, struct kl_script_source *source, struct kl_rng *rng)
{
	if (source->next == source->nknown) {
		kl_rng_shuffle(rng, source->known, source->nknown, sizeof(*source->known));
		source->next = 0;
	}
	add_call(script, rng, source->known[source->next++]);
}

static void add_elsewhere(struct kl_script *script, const struct kl_script_source *source,
			  struct kl_rng *rng, enum kl_script_first first)
{
	bool chance = kl_rng_below(rng, ELSEWHERE) == 0;
	struct kl_script_call *call;

	if (!source->nelsewhere || first == KL_SCRIPT_NEVER ||
	    (first == KL_SCRIPT_CHANCE && !chance))
		return;
	call = add_call(script, rng, source->elsewhere[kl_rng_below(rng, source->nelsewhere)]);
	call->trial.place.other = true;
	script->other = call->member->point;
}

/*
 * Add a measured call. At a hot point, a call with another noise draw comes before it, so that
 * code, scratch and outputs are in the caches; at a cold point, the caches are emptied before it.
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
	call->trial.cold = !source->point->hot;
	script->measured++;
}

static void add_pair(struct kl_script *script, const struct kl_script_source *source,
		     struct kl_rng *rng, bool turn)
{
	add_call(script, rng, source->pair[turn]);
	add_call(script, rng, source->pair[!turn]);
	script->pair[turn] = true;
}

/*
 * Add a tail: up to two calls after the last measured call. No kernel can tell them from other
 * calls.
 */
static void add_tail(struct kl_script *script, struct kl_script_source *source, struct kl_rng *rng,
		     const struct kl_script_wish *wish)
{
	size_t first = script->n, kind = kl_rng_below(rng, TAILS), again;
	bool turn = kl_rng_below(rng, 2);

	if (source->pair[1] && (wish->pair || kind == 0)) {
		add_pair(script, source, rng, wish->pair ? wish->turn : turn);
	} else if (kind == 1) { /* an input of an earlier call of this process */
		again = kl_rng_below(rng, script->n);
		add_call(script, rng, script->call[again].member);
		script->call[script->n - 1].trial.place.other =
			script->call[again].trial.place.other;
	} else if (kind < 4) {
		add_known(script, source, rng);
	}
	for (size_t i = first; i < script->n; i++)
		script->call[i].tail = true;
}

void kl_script_draw(struct kl_script *out, struct kl_script_source *source, struct kl_rng *rng,
		    const struct kl_script_wish *wish)
{
	size_t turn = kl_rng_below(rng, KL_SCRIPT_MEASURED);

	*out = (struct kl_script){ .n = 0 };
	add_elsewhere(out, source, rng, wish->first);
	add_known(out, source, rng);
	for (size_t i = 0; i < wish->measured; i++) {
		if (i && kl_rng_below(rng, BETWEEN) == 0)
			add_known(out, source, rng);
		add_measured(out, source, rng, (turn + i) % KL_SCRIPT_MEASURED);
	}
	add_tail(out, source, rng, wish);
}
