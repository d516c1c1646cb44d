/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/port.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/yaml_write.h"

/* from here on capabilities are those of code for one architecture (templates/capabilities.yaml) */
#define ARCH_SPECIFIC 90

static char *arch_of(const char *platform)
{
	const char *sm = strchr(platform, '/');
	long cc = sm && !strncmp(sm, "/sm_", 4) ? strtol(sm + 4, NULL, 10) : 0;

	return kl_asprintf("sm_%ld%s", cc, cc >= ARCH_SPECIFIC ? "a" : "");
}

/* Copy of a launch plan with `compile.arch` replaced; *done is false if it has none. */
static int change_arch(struct kl_buf *out, bool *done, const struct kl_file *f, const char *arch)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	const struct kl_yaml *compile;
	int err = kl_yaml_parse(&y, f->path, f->data, f->len);

	*done = false;
	if (err < 0)
		return err;
	compile = y->kind == KL_YAML_MAP ? kl_yaml_get(y, "compile") : NULL;
	for (size_t i = 0; compile && compile->kind == KL_YAML_MAP && i < compile->n; i++) {
		struct kl_yaml *v = compile->item[i];

		if (strcmp(compile->key[i], "arch") || v->kind != KL_YAML_SCALAR)
			continue;
		free(v->text);
		v->text = kl_strdup(arch);
		v->len = strlen(arch);
		*done = true;
	}
	if (*done)
		kl_yaml_emit(out, y);
	return 0;
}

static const struct kl_file *find_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; path && i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	return NULL;
}

static int port_plan(struct kl_surface **out, const struct kl_surface *s, const char *arch)
{
	const struct kl_file *f = find_file(s->file, s->nfile, s->contract->launch);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_file edit;
	bool done;
	int err;

	if ((err = change_arch(&text, &done, f, arch)) < 0)
		return err;
	if (!done)
		return kl_error(KL_ENO, "its launch plan names no architecture");
	edit = (struct kl_file){ .path = f->path, .data = text.ptr, .len = text.len };
	return kl_surface_with(out, s, &edit, 1);
}

/* A plan of the oracle that names none has the kernel's. */
static int port_oracle(struct kl_surface **out, struct kl_surface *s, const char *arch)
{
	const struct kl_file *f = find_file(s->oracle, s->noracle, s->contract->oracle_launch);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_file edit;
	bool done = false;
	int err = f ? change_arch(&text, &done, f, arch) : 0;

	if (err < 0)
		return err;
	edit = (struct kl_file){ .data = text.ptr, .len = text.len };
	if (done) {
		edit.path = f->path;
		edit.mode = f->mode;
	}
	return kl_surface_with_oracle(out, s, &edit, done);
}

int kl_cuda_port(struct kl_surface **out, const struct kl_surface *surface, const char *platform)
{
	KL_AUTO(kl_freep) char *arch = arch_of(platform);
	KL_AUTO(kl_surface_freep) struct kl_surface *made = NULL;
	int err = port_plan(&made, surface, arch);

	return err < 0 ? err : port_oracle(out, made, arch);
}
