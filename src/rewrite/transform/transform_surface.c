/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/transform/transform_surface.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "contract/launch.h"

/* --- what a launch plan says of its kernels --------------------------------------------------- */

/* Return the name of the function that a mangled name without scopes ("_Z4gemmiPf") begins with. */
static char *function_of(const char *kernel)
{
	size_t n = 0, at = 2;

	if (strncmp(kernel, "_Z", 2) || !isdigit((unsigned char)kernel[2]))
		return kl_strdup(kernel);
	for (; isdigit((unsigned char)kernel[at]) && n < 256; at++)
		n = 10 * n + (size_t)(kernel[at] - '0');
	return kl_strndup(kernel + at, n);
}

static bool is_pointer(const struct kl_plan_arg *arg)
{
	return arg->kind == KL_PLAN_TENSOR || arg->kind == KL_PLAN_SCRATCH;
}

/* Check that a launch passes no buffer twice, and none in a struct or a map. */
static bool has_own_buffers(const struct kl_plan_launch *launch)
{
	for (size_t i = 0; i < launch->nargs; i++) {
		const struct kl_plan_arg *arg = &launch->arg[i];

		if (arg->kind == KL_PLAN_BYTES || arg->kind == KL_PLAN_MAP)
			return false;
		for (size_t k = 0; k < i; k++)
			if (is_pointer(arg) && launch->arg[k].kind == arg->kind &&
			    launch->arg[k].index == arg->index)
				return false;
	}
	return true;
}

static void note_launches(struct kl_transform_surface *out, struct kl_strvec *shared,
			  const struct kl_plan_launch *launch, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *name = function_of(launch[i].kernel);
		int64_t threads = (int64_t)launch[i].block[0] * launch[i].block[1] *
				  launch[i].block[2];

		kl_strvec_push(has_own_buffers(&launch[i]) ? &out->disjoint : shared, name);
		kl_strvec_add_once(&out->entries, name);
		out->threads = !out->threads || out->threads == threads ? threads : -1;
	}
}

/* Resolve the plan at a point, and note the disjoint functions and the size of the blocks. */
static int note_point(struct kl_transform_surface *out, struct kl_strvec *shared,
		      const struct kl_surface *surface, const struct kl_launch *launch,
		      size_t point)
{
	const struct kl_dims *dims = kl_contract_point(surface->contract, point, NULL);
	int64_t bytes[KL_MAX_ARGS] = { 0 };
	struct kl_plan_facts facts;
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	int err = kl_plan_arch_facts(&facts, launch->arch);

	for (size_t i = 0; !err && i < surface->contract->nargs; i++)
		if (surface->contract->arg[i].naxes)
			err = kl_contract_tensor_bytes(&bytes[i], surface->contract, i, dims);
	if (!err)
		err = kl_plan_resolve(&at, launch->plan, dims->v, bytes, &facts);
	if (err < 0)
		return err;
	note_launches(out, shared, at->launch, at->nlaunch);
	note_launches(out, shared, at->prepare, at->nprepare);
	return 0;
}

static int note_plan(struct kl_transform_surface *out, const struct kl_surface *surface)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec shared = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	int err = kl_launch_read(&launch, surface, false, NULL);

	for (size_t i = 0; !err && i < kl_contract_npoints(surface->contract); i++)
		err = note_point(out, &shared, surface, launch, i);
	if (err < 0)
		return err;
	kl_strvec_uniq(&out->disjoint);
	all = out->disjoint;
	out->disjoint = (struct kl_strvec)KL_STRVEC_INIT;
	kl_strvec_minus(&out->disjoint, &all, &shared);
	out->threads = out->threads < 0 ? 0 : out->threads;
	return 0;
}

/* --- applying --------------------------------------------------------------------------------- */

int kl_transform_surface_init(struct kl_transform_surface *out, const char *text, size_t variant,
			      const struct kl_surface *surface)
{
	int err;

	*out = (struct kl_transform_surface){ .variant = variant,
					      .disjoint = KL_STRVEC_INIT,
					      .entries = KL_STRVEC_INIT };
	err = kl_transform_parse(&out->use, text, surface->contract->language->name);
	if (err < 0) {
		out->name = kl_strdup("");
		return err;
	}
	out->name = kl_transform_name(&out->use, variant);
	if (surface->contract->launch)
		return note_plan(out, surface);
	if (surface->contract->entry) {
		kl_strvec_push(&out->disjoint, surface->contract->entry);
		kl_strvec_push(&out->entries, surface->contract->entry);
	}
	return 0;
}

void kl_transform_surface_release(struct kl_transform_surface *transform)
{
	free(transform->name);
	kl_strvec_release(&transform->disjoint);
	kl_strvec_release(&transform->entries);
}

int kl_transform_surface_file(struct kl_buf *out, const struct kl_transform_surface *transform,
			      const struct kl_surface *surface, const struct kl_file *file)
{
	const struct kl_transform_source source = {
		.text = file->data,
		.len = file->len,
		.disjoint = transform->disjoint.n ? (const char *const *)transform->disjoint.v :
						    NULL,
		.entries = transform->entries.n ? (const char *const *)transform->entries.v : NULL,
		.threads = transform->threads,
	};

	if (!kl_suffix_in(file->path, surface->contract->language->texts))
		return kl_error(KL_ENO, "no source can be read as C tokens");
	return kl_transform_apply(out, &transform->use, transform->variant, &source);
}

bool kl_transform_surface_fits(const char *text, const struct kl_surface *surface)
{
	struct kl_transform_surface transform;
	bool fits = false;

	if (!kl_transform_surface_init(&transform, text, 0, surface))
		for (size_t i = 0; !fits && i < surface->nfile; i++) {
			KL_AUTO(kl_buf_release) struct kl_buf after = KL_BUF_INIT;

			fits = !kl_transform_surface_file(&after, &transform, surface,
							  &surface->file[i]);
		}
	kl_error_clear();
	kl_transform_surface_release(&transform);
	return fits;
}
