/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/baseline.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"

#define MAX_BYTES ((size_t)1 << 20)

static const char *const families[] = { "cub", "chunked" };

/* "cub" of "cub.topk"; NULL: none of ours. */
static const char *family_of(const char *name)
{
	for (size_t i = 0; name && i < KL_ARRAY_SIZE(families); i++) {
		size_t n = strlen(families[i]);

		if (!strncmp(name, families[i], n) && name[n] == '.')
			return families[i];
	}
	return NULL;
}

static int read_file(struct kl_file *f, const char *name, const char *suffix)
{
	KL_AUTO(kl_freep) char *relative = kl_asprintf("templates/baselines/%s%s", name, suffix);
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_fs_share(&path, relative)) < 0 || (err = kl_fs_read(&text, path, MAX_BYTES)) < 0)
		return kl_error(KL_ECANNOT, "the baseline '%s' is not installed", name);
	f->path = kl_asprintf("%s%s", name, suffix);
	f->mode = 0100644;
	f->len = text.len;
	f->data = kl_buf_detach(&text);
	return 0;
}

struct sources {
	struct kl_file file[2];		/* the code, the plan */
};

static void release(struct sources *s)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(s->file); i++) {
		free(s->file[i].path);
		free(s->file[i].data);
	}
}

/* Whatever is wrong with it, it is not the candidate's fault. */
static int not_ours(int err, const char *name)
{
	return err < 0 ? kl_error(KL_ECANNOT, "baseline '%s': %s", name, kl_error_last()) : 0;
}

static int compile(struct kl_baseline_cuda *b, const struct sources *src, const struct kl_jail *j,
		   const struct kl_nvcc *n, const struct kl_surface *s, const char *arch, const char *dir)
{
	const char *name = s->contract->baseline, *class_ = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *a = NULL;
	/* the contract with other sources: its names, points and flags */
	struct kl_surface with = { .contract = s->contract, .file = (struct kl_file *)(uintptr_t)src->file,
				   .nfile = 1 };
	int err = kl_launch_parse(&l, s->contract, src->file[1].path, src->file[1].data, src->file[1].len,
				  src->file, 1, arch);

	if (!err)
		err = kl_fs_mkdir(dir);
	if (!err)
		err = kl_compile_cuda(&a, &class_, j, n, NULL, &with, l, dir);
	if (err < 0)
		return not_ours(err, name);
	b->cubin = kl_strdup(a->object);
	b->plan = json_deep_copy(l->json);
	return 0;
}

int kl_baseline_cuda(struct kl_baseline_cuda **out, const struct kl_jail *j, const struct kl_nvcc *n,
		     const struct kl_surface *s, const char *arch, const char *dir)
{
	const char *name = s->contract->baseline, *family = family_of(name);
	KL_AUTO(kl_baseline_cuda_freep) struct kl_baseline_cuda *b = NULL;
	KL_AUTO(release) struct sources src = { 0 };
	int err;

	if (!family)
		return KL_ENOTFOUND;
	b = kl_calloc(1, sizeof(*b));
	if ((err = read_file(&src.file[0], family, ".cu")) < 0 ||
	    (err = read_file(&src.file[1], name, ".yaml")) < 0 ||
	    (err = compile(b, &src, j, n, s, arch, dir)) < 0)
		return err;
	*out = kl_steal(&b);
	return 0;
}

void kl_baseline_cuda_free(struct kl_baseline_cuda *b)
{
	if (!b)
		return;
	free(b->cubin);
	json_decref(b->plan);
	free(b);
}
