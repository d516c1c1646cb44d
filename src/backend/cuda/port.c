/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/port.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/yaml_write.h"

/*
 * from this sm_ number on, compile for exactly one architecture: "sm_90a"
 * (templates/capabilities.yaml)
 */
#define ARCH_SPECIFIC 90

static char *arch_of(const char *platform)
{
	const char *sm = strchr(platform, '/');
	long cc = sm && !strncmp(sm, "/sm_", 4) ? strtol(sm + 4, NULL, 10) : 0;

	return kl_asprintf("sm_%ld%s", cc, cc >= ARCH_SPECIFIC ? "a" : "");
}

/*
 * Write a copy of a launch plan with `compile.arch` replaced. Set *done to false, and write
 * nothing, if the plan has no such member.
 */
static int change_arch(struct kl_buf *out, bool *done, const struct kl_file *file, const char *arch)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *plan = NULL;
	const struct kl_yaml *compile;
	int err = kl_yaml_parse(&plan, file->path, file->data, file->len);

	*done = false;
	if (err < 0)
		return err;
	compile = plan->kind == KL_YAML_MAP ? kl_yaml_get(plan, "compile") : NULL;
	for (size_t i = 0; compile && compile->kind == KL_YAML_MAP && i < compile->n; i++) {
		struct kl_yaml *node = compile->item[i];

		if (strcmp(compile->key[i], "arch") || node->kind != KL_YAML_SCALAR)
			continue;
		free(node->text);
		node->text = kl_strdup(arch);
		node->len = strlen(arch);
		*done = true;
	}
	if (*done)
		kl_yaml_emit(out, plan);
	return 0;
}

static const struct kl_file *find_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; path && i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	return NULL;
}

static int port_plan(struct kl_surface **out, const struct kl_surface *surface, const char *arch)
{
	const struct kl_file *file = find_file(surface->file, surface->nfile,
					       surface->contract->launch);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_file edit;
	bool done;
	int err;

	if ((err = change_arch(&text, &done, file, arch)) < 0)
		return err;
	if (!done)
		return kl_error(
			KL_ENO,
			"cannot retarget the kernel: its launch plan does not name an architecture");
	edit = (struct kl_file){ .path = file->path, .data = text.ptr, .len = text.len };
	return kl_surface_with(out, surface, &edit, 1);
}

/*
 * Retarget the oracle's plan. If that plan names no architecture, the oracle is compiled for the
 * kernel's architecture, and its plan is not changed.
 */
static int port_oracle(struct kl_surface **out, struct kl_surface *surface, const char *arch)
{
	const struct kl_file *file = find_file(surface->oracle, surface->noracle,
					       surface->contract->oracle_launch);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_file edit;
	bool done = false;
	int err = file ? change_arch(&text, &done, file, arch) : 0;

	if (err < 0)
		return err;
	edit = (struct kl_file){ .data = text.ptr, .len = text.len };
	if (done) {
		edit.path = file->path;
		edit.mode = file->mode;
	}
	return kl_surface_with_oracle(out, surface, &edit, done);
}

int kl_cuda_port(struct kl_surface **out, const struct kl_surface *surface, const char *platform)
{
	KL_AUTO(kl_freep) char *arch = arch_of(platform);
	KL_AUTO(kl_surface_freep) struct kl_surface *made = NULL;
	int err = port_plan(&made, surface, arch);

	return err < 0 ? err : port_oracle(out, made, arch);
}
