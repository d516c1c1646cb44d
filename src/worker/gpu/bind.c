/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/bind.h"

#include <string.h>

#include "base/error.h"
#include "worker/gpu/launch.h"

static int find_all(struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	int err;

	if (b->generation == b->module->generation)
		return 0;
	if ((err = kl_gpu_launch_find(b->prepare, b->at->nprepare, b, d)) < 0 ||
	    (err = kl_gpu_launch_find(b->launch, b->at->nlaunch, b, d)) < 0)
		return err;
	b->generation = b->module->generation;
	return 0;
}

/* -- life --------------------------------------------------------------------------- */

static int make_scratch(struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	int err;

	for (size_t i = 0; i < b->at->nscratch; i++) {
		const struct kl_plan_scratch *s = &b->at->scratch[i];
		uint64_t align = s->align > 8 ? (uint64_t)s->align : 8;

		if ((err = kl_gpu_buffer_make(&b->scratch[i], d, (uint64_t)s->bytes, align,
					      b->set->right)) < 0 ||
		    (err = kl_gpu_buffer_poison_slack(&b->scratch[i], d, kl_gpu_mix(b->seed, i))) <
			    0)
			return kl_error_in(err, "scratch '%s'", s->name);
	}
	return 0;
}

static int make_launches(struct kl_gpu_launch **out, const struct kl_plan_launch *plan, size_t n,
			 const struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	int err;

	*out = kl_calloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < n; i++)
		(*out)[i].plan = &plan[i];
	for (size_t i = 0; i < n; i++) {
		if ((err = kl_gpu_launch_put(&(*out)[i], b)) < 0)
			return err;
		kl_gpu_launch_configure(&(*out)[i], d);
	}
	return 0;
}

static int build_args(struct kl_gpu_bound *b, const struct kl_gpu_device *d, bool quirks)
{
	int err = make_scratch(b, d);

	for (size_t i = 0; i < b->at->nmap && err == 0; i++)
		err = kl_gpu_launch_map(b, d, i, quirks);
	if (err < 0 ||
	    (err = make_launches(&b->prepare, b->at->prepare, b->at->nprepare, b, d)) < 0 ||
	    (err = make_launches(&b->launch, b->at->launch, b->at->nlaunch, b, d)) < 0)
		return err;
	return find_all(b, d);
}

int kl_gpu_bound_make(struct kl_gpu_bound **out, const struct kl_gpu_device *d,
		      struct kl_gpu_module *m, struct kl_gpu_set *s, struct kl_plan_at *at,
		      bool quirks)
{
	struct kl_gpu_bound *b;
	int err;

	/* tensor maps are 64-aligned members */
	b = aligned_alloc(64, (sizeof(*b) + 63) / 64 * 64);
	if (!b) {
		kl_plan_at_free(at);
		return kl_error(KL_EIO, "no memory for a binding");
	}
	memset(b, 0, sizeof(*b));
	b->module = m;
	b->set = s;
	b->at = at;
	b->seed = s->slack_seed ^ 0x736372617463u;
	err = build_args(b, d, quirks);
	if (err < 0) {
		kl_gpu_bound_free(b, d);
		return err;
	}
	*out = b;
	return 0;
}

static void free_launches(struct kl_gpu_launch *l, size_t n)
{
	for (size_t i = 0; l && i < n; i++)
		free(l[i].store);
	free(l);
}

void kl_gpu_bound_free(struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	if (!b)
		return;
	free_launches(b->prepare, b->at->nprepare);
	free_launches(b->launch, b->at->nlaunch);
	for (size_t i = 0; i < b->at->nscratch; i++)
		kl_gpu_buffer_release(&b->scratch[i], d);
	kl_plan_at_free(b->at);
	free(b);
}

/* -- running -------------------------------------------------------------------------- */

/* No number that a kernel could live with: NaN as float, wild as integer and address. */
static int poison_buffer(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d,
			 uint64_t seed)
{
	const struct kl_gpu_pattern p = { .seed = seed,
					  .keep = 0x003fffff003fffffu,
					  .set = 0x7f8000017f800001u };

	return kl_gpu_fill(d, b->at, b->bytes, b->at % 8, &p);
}

static int zero_buffer(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d)
{
	return b->bytes % 4 || b->at % 4 ? d->cu->set8(b->at, 0, b->bytes, d->stream) :
					   d->cu->set32(b->at, 0, b->bytes / 4, d->stream);
}

static int first_state(struct kl_gpu_bound *b, const struct kl_gpu_device *d, uint64_t seed)
{
	int err = 0, rc;

	for (size_t i = 0; i < b->at->nscratch && err == 0; i++) {
		if ((err = kl_gpu_buffer_protect(&b->scratch[i], d, false)) < 0)
			return err;
		if (b->at->scratch[i].init != KL_PLAN_CARRY)
			err = poison_buffer(&b->scratch[i], d, kl_gpu_mix(seed, i));
		else if ((rc = zero_buffer(&b->scratch[i], d)))
			err = kl_gpu_error(d->cu, rc, KL_EIO, "cannot clear scratch '%s'",
					   b->at->scratch[i].name);
	}
	return err;
}

int kl_gpu_bound_prepare(struct kl_gpu_bound *b, const struct kl_gpu_device *d, uint64_t seed,
			 int64_t limit_ms)
{
	int err = find_all(b, d), rc = 0;

	if (err < 0 || (err = first_state(b, d, seed)) < 0)
		return err;
	if (d->cu->stream_sync(d->stream))
		return kl_error(KL_EIO, "the GPU does not do what it is told");
	for (size_t i = 0; i < b->at->nprepare; i++) {
		struct kl_gpu_launch *l = &b->prepare[i];

		if ((rc = d->cu->launch(&l->config, l->f, l->arg, NULL)))
			return kl_gpu_error(d->cu, rc, KL_EINVALID,
					    "prepare[%zu], '%s', was refused", i, l->plan->kernel);
	}
	rc = kl_gpu_wait(d, limit_ms);
	if (rc == KL_CU_NOT_READY)
		return kl_error(KL_EINVALID, "prepare does not end within %lld ms",
				(long long)limit_ms);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "prepare did not end well");
	for (size_t i = 0; i < b->at->nscratch && err == 0; i++)
		if (b->at->scratch[i].init == KL_PLAN_PREPARE)
			err = kl_gpu_buffer_protect(&b->scratch[i], d, true);
	return err;
}

int kl_gpu_bound_ready(struct kl_gpu_bound *b, const struct kl_gpu_device *d, uint64_t seed)
{
	int err = find_all(b, d);

	for (size_t i = 0; i < b->at->nscratch && err == 0; i++)
		if (b->at->scratch[i].init == KL_PLAN_POISON)
			err = poison_buffer(&b->scratch[i], d, kl_gpu_mix(seed, i));
	return err;
}

int kl_gpu_bound_launch(const struct kl_gpu_bound *b, const struct kl_gpu_device *d, int *which)
{
	int rc;

	*which = -1;
	for (size_t i = 0; i < b->at->nscratch; i++)
		if (b->at->scratch[i].init == KL_PLAN_ZERO && (rc = zero_buffer(&b->scratch[i], d)))
			return rc;
	for (size_t i = 0; i < b->at->nlaunch; i++) {
		const struct kl_gpu_launch *l = &b->launch[i];

		*which = (int)i;
		/* neither of them is written by the driver */
		if ((rc = d->cu->launch(&l->config, l->f, (void **)(uintptr_t)l->arg, NULL)))
			return rc;
	}
	return 0;
}

int kl_gpu_bound_check(const struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	uint64_t where = 0;
	int64_t at = 0;
	int err = 0;

	for (size_t i = 0; i < b->at->nscratch; i++) {
		const struct kl_plan_scratch *s = &b->at->scratch[i];

		err = kl_gpu_buffer_check_slack(&b->scratch[i], d, kl_gpu_mix(b->seed, i), &at);
		if (err == KL_ENO)
			return kl_error(KL_ENO, "wrote outside of scratch '%s': byte %lld of %lld",
					s->name, (long long)at, (long long)s->bytes);
		if (err == 0 && s->init == KL_PLAN_CARRY)
			err = kl_gpu_check_zero(d, b->scratch[i].at, b->scratch[i].bytes, &where);
		if (err == KL_ENO)
			return kl_error(
				KL_ENO,
				"left scratch '%s', which is carried from call to call, not "
				"zero: byte %llu",
				s->name, (unsigned long long)where);
		if (err < 0)
			return err;
	}
	return 0;
}

const char *kl_gpu_bound_kernel(const struct kl_gpu_bound *b, int which)
{
	return which >= 0 && (size_t)which < b->at->nlaunch ? b->at->launch[which].kernel : "";
}

size_t kl_gpu_bound_launches(const struct kl_gpu_bound *b)
{
	return b->at->nlaunch;
}

bool kl_gpu_bound_quirk(const struct kl_gpu_bound *b)
{
	return b->quirk;
}
