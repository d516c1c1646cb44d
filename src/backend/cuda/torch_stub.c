/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/torch_stub.h"

#include <string.h>

#include "backend/tool.h"
#include "base/error.h"

#define MOST 256 /* maximum number of stubs of one surface */

/* Return true if the header belongs to a library with stubs, and its path stays in their folder. */
static bool has_stub(const char *path)
{
	static const char *const begins[] = { "torch/", "ATen/", "c10/", "pybind11/" };
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./";

	if (path[strspn(path, plain)] || strstr(path, "..") || strstr(path, "//") ||
	    path[strlen(path) - 1] == '/')
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(begins); i++)
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static bool is_source(const char *path, const struct kl_file *file, size_t nfile)
{
	for (size_t i = 0; i < nfile; i++)
		if (!strcmp(file[i].path, path))
			return true;
	return false;
}

/* Collect the headers that `one` includes and that need a stub. */
static void list_headers(struct kl_strvec *out, const struct kl_file *one,
			 const struct kl_file *file, size_t nfile)
{
	const char *end = one->data + one->len;

	for (const char *at = one->data, *eol; at < end && out->n < MOST; at = eol + 1) {
		KL_AUTO(kl_freep) char *line = NULL, *path = NULL;
		const char *text;

		eol = memchr(at, '\n', (size_t)(end - at));
		eol = eol ? eol : end;
		line = kl_strndup(at, (size_t)(eol - at));
		text = line + strspn(line, " \t");
		text += *text == '#';
		text += strspn(text, " \t");
		if (strncmp(text, "include", 7) != 0)
			continue;
		text += 7 + strspn(text + 7, " \t");
		if (*text != '<' && *text != '"')
			continue;
		path = kl_strndup(text + 1, strcspn(text + 1, ">\""));
		if (*path && has_stub(path) && !is_source(path, file, nfile) &&
		    !kl_strvec_has(out, path))
			kl_strvec_push(out, path);
	}
}

int kl_torch_stubs_put(bool *any, const char *dir, const struct kl_file *file, size_t nfile)
{
	static const char text[] = "#include \"kl_torch.h\"\n";
	KL_AUTO(kl_strvec_release) struct kl_strvec header = KL_STRVEC_INIT;
	int err;

	for (size_t i = 0; i < nfile; i++)
		list_headers(&header, &file[i], file, nfile);
	*any = header.n > 0;
	err = *any ? kl_tool_put_runtime(dir, "kl_torch.h") : 0;
	for (size_t i = 0; !err && i < header.n; i++)
		err = kl_tool_put(dir, KL_TORCH_STUBS, header.v[i], text, sizeof(text) - 1);
	return err;
}
