/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/baseline.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"

#define MAX_BYTES ((size_t)1 << 20)

static const char *const families[] = { "cub", "chunked" };

/*
 * Return the family of a baseline, such as "cub" for "cub.topk"; NULL if its source is not shipped
 * with this program.
 */
static const char *family_of(const char *name)
{
	for (size_t i = 0; name && i < KL_ARRAY_SIZE(families); i++) {
		size_t n = strlen(families[i]);

		if (!strncmp(name, families[i], n) && name[n] == '.')
			return families[i];
	}
	return NULL;
}

static int read_file(struct kl_file *file, const char *name, const char *suffix)
{
	KL_AUTO(kl_freep) char *relative = kl_asprintf("templates/baselines/%s%s", name, suffix);
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_fs_share(&path, relative)) < 0 ||
	    (err = kl_fs_read(&text, path, MAX_BYTES)) < 0)
		return kl_error(KL_ECANNOT, "cannot read the baseline '%s': %s", name,
				kl_error_last());
	file->path = kl_asprintf("%s%s", name, suffix);
	file->mode = 0100644;
	file->len = text.len;
	file->data = kl_buf_detach(&text);
	return 0;
}

struct sources {
	struct kl_file file[2]; /* the code, then the plan */
};

static void release_sources(struct sources *sources)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(sources->file); i++) {
		free(sources->file[i].path);
		free(sources->file[i].data);
	}
}

/*
 * Turn every error except KL_EINTR into KL_ECANNOT, because the candidate is not to blame for its
 * baseline.
 */
static int not_ours(int err, const char *name)
{
	if (err == KL_EINTR)
		return err;
	return err < 0 ? kl_error(KL_ECANNOT, "baseline '%s': %s", name, kl_error_last()) : 0;
}

static int read_sources(struct sources *sources, const struct kl_surface *surface)
{
	const char *name = surface->contract->baseline, *family = family_of(name);
	int err;

	if (!family)
		return KL_ENOTFOUND;
	err = read_file(&sources->file[0], family, ".cu");
	return err < 0 ? err : read_file(&sources->file[1], name, ".yaml");
}

/* Return the baseline's source with the contract of the candidate. */
static struct kl_surface surface_with(struct sources *sources, const struct kl_surface *candidate)
{
	return (struct kl_surface){
		.contract = candidate->contract,
		.file = sources->file,
		.nfile = 1,
	};
}

static int parse_plan(struct kl_launch **out, const struct sources *sources,
		      const struct kl_surface *with, const char *arch)
{
	const struct kl_file *plan = &sources->file[1];

	return kl_launch_parse(out, with->contract, plan->path, plan->data, plan->len, with->file,
			       with->nfile, arch);
}

int kl_baseline_cuda(struct kl_artefact **out, const struct kl_jail *jail,
		     const struct kl_nvcc *nvcc, const struct kl_surface *surface, const char *arch,
		     const char *dir)
{
	KL_AUTO(release_sources) struct sources sources = { 0 };
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	const char *class_ = NULL;
	struct kl_surface with;
	int err = read_sources(&sources, surface);

	if (err < 0)
		return err;
	with = surface_with(&sources, surface);
	err = parse_plan(&launch, &sources, &with, arch);
	if (!err)
		err = kl_fs_mkdir(dir);
	if (!err)
		err = kl_compile_cuda(out, &class_, jail, nvcc, NULL, &with, launch, dir);
	if (err < 0)
		return not_ours(err, surface->contract->baseline);
	(*out)->launch = kl_steal(&launch);
	return 0;
}

int kl_baseline_cuda_kept(struct kl_artefact **out, const struct kl_surface *surface,
			  const char *arch, const char *object)
{
	KL_AUTO(release_sources) struct sources sources = { 0 };
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	struct kl_surface with;
	int err = read_sources(&sources, surface);

	if (err < 0)
		return err;
	with = surface_with(&sources, surface);
	if ((err = parse_plan(&launch, &sources, &with, arch)) < 0)
		return not_ours(err, surface->contract->baseline);
	*out = kl_calloc(1, sizeof(**out));
	(*out)->object = kl_strdup(object);
	(*out)->launch = kl_steal(&launch);
	return 0;
}

int kl_baseline_cuda_recipe(struct kl_digest *key, const struct kl_surface *surface)
{
	KL_AUTO(release_sources) struct sources sources = { 0 };
	int err = read_sources(&sources, surface);

	if (err < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(sources.file); i++)
		kl_digest_add(key, sources.file[i].data, sources.file[i].len);
	return 0;
}
