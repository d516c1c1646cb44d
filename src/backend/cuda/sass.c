/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/sass.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/tool.h"
#include "base/error.h"
#include "base/map.h"

#define MAX_ITEMS 20000

void kl_sass_release(struct kl_sass *sass)
{
	for (size_t i = 0; i < sass->n; i++) {
		for (size_t k = 0; k < sass->fn[i].nop; k++)
			free(sass->fn[i].op[k].name);
		free(sass->fn[i].op);
		free(sass->fn[i].name);
		kl_strvec_release(&sass->fn[i].special);
	}
	free(sass->fn);
	*sass = (struct kl_sass){ 0 };
}

const struct kl_sass_fn *kl_sass_function(const struct kl_sass *sass, const char *name)
{
	for (size_t i = 0; i < sass->n; i++)
		if (!strcmp(sass->fn[i].name, name))
			return &sass->fn[i];
	return NULL;
}

static void count_op(struct kl_sass_fn *fn, struct kl_map *seen, const char *op, size_t n)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(op, n);
	uintptr_t place = (uintptr_t)kl_map_get(seen, name);

	if (!place) {
		KL_GROW(fn->op, fn->nop + 1, fn->alloc);
		fn->op[fn->nop] = (struct kl_ptx_op){ .name = kl_strdup(name) };
		place = ++fn->nop;
		kl_map_put(seen, name, (void *)place);
	}
	fn->op[place - 1].n++;
}

static void take_special(struct kl_sass_fn *fn, const char *text, const char *end)
{
	KL_AUTO(kl_freep) char *name = NULL;
	size_t n = 0;

	while (text + n < end &&
	       (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.'))
		n++;
	name = kl_strndup(text, n);
	if (!kl_strvec_has(&fn->special, name))
		kl_strvec_push(&fn->special, name);
}

/*
 * Count the instruction in `text`, the part of a line of nvdisasm after the offset, such as
 * "@P0 LDG.E R2, desc[UR4][R2.64] ;".
 */
static void count_instruction(struct kl_sass_fn *fn, struct kl_map *seen, const char *text,
			      const char *end)
{
	size_t n = 0;

	while (text < end && isspace((unsigned char)*text))
		text++;
	if (text < end && *text == '@') {
		while (text < end && !isspace((unsigned char)*text))
			text++;
		while (text < end && isspace((unsigned char)*text))
			text++;
	}
	while (text + n < end &&
	       (isalnum((unsigned char)text[n]) || text[n] == '.' || text[n] == '_'))
		n++;
	if (!n || !isupper((unsigned char)*text))
		return;
	count_op(fn, seen, text, n);
	for (const char *at = text + n; at + 6 < end; at++) {
		if (!strncmp(at, "SR_", 3) && !isalnum((unsigned char)at[-1]))
			take_special(fn, at, end);
		if (!strncmp(at, "c[0x4]", 6))
			fn->module_data = true;
	}
}

int kl_sass_parse(struct kl_sass *out, const char *text, size_t len)
{
	KL_AUTO(kl_sass_release) struct kl_sass sass = { 0 };
	struct kl_map seen = KL_MAP_INIT;
	struct kl_sass_fn *fn = NULL;

	for (const char *at = text, *end = text + len, *eol; at < end; at = eol + 1) {
		const char *body;

		eol = memchr(at, '\n', (size_t)(end - at));
		eol = eol ? eol : end;
		/* the section .text.k starts the function k, and any other section ends it */
		if (eol - at > 10 && !strncmp(at, "\t.section\t", 10)) {
			bool code = !strncmp(at + 10, ".text.", 6) && sass.n < MAX_ITEMS;

			kl_map_release(&seen);
			fn = NULL;
			if (code) {
				KL_GROW(sass.fn, sass.n + 1, sass.alloc);
				fn = &sass.fn[sass.n++];
				*fn = (struct kl_sass_fn){
					.name = kl_strndup(at + 16, strcspn(at + 16, ",\"\n"))
				};
			}
			continue;
		}
		body = fn ? memmem(at, (size_t)(eol - at), "*/", 2) : NULL;
		if (body && at + strspn(at, " \t") + 2 < eol &&
		    !strncmp(at + strspn(at, " \t"), "/*", 2))
			count_instruction(fn, &seen, body + 2, eol);
	}
	kl_map_release(&seen);
	if (!sass.n)
		return kl_error(KL_ENO, "the output of nvdisasm contains no code");
	*out = sass;
	sass = (struct kl_sass){ 0 };
	return 0;
}

int kl_sass_read(struct kl_sass *out, const struct kl_jail *jail, const struct kl_nvcc *nvcc,
		 const char *dir, const char *cubin)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *class_ = NULL;
	/* the jail must show nvdisasm itself, which can be outside the toolkit */
	const char *readable[] = { nvcc->disasm, NULL };
	struct kl_tool tool = { .jail = jail,
				.dir = dir,
				.prefix = "src-kernel/",
				.class_ = &class_,
				.log = KL_BUF_INIT,
				.readable = readable };
	int err;

	if (!nvcc->disasm)
		return kl_error(KL_ECANNOT, "nvdisasm is not installed");
	kl_strvec_push(&argv, nvcc->disasm);
	kl_strvec_push(&argv, "-c");
	kl_strvec_push(&argv, "-ndf");
	kl_strvec_push(&argv, cubin);
	err = kl_tool_run(&tool, &argv, &text, "reading the machine code");
	kl_buf_release(&tool.log);
	return err ? err : kl_sass_parse(out, text.ptr, text.len);
}
