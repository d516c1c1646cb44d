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

void kl_sass_release(struct kl_sass *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->fn[i].nop; k++)
			free(s->fn[i].op[k].name);
		free(s->fn[i].op);
		free(s->fn[i].name);
		kl_strvec_release(&s->fn[i].special);
	}
	free(s->fn);
	*s = (struct kl_sass){ 0 };
}

const struct kl_sass_fn *kl_sass_function(const struct kl_sass *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->fn[i].name, name))
			return &s->fn[i];
	return NULL;
}

static void count_op(struct kl_sass_fn *f, struct kl_map *seen, const char *op, size_t n)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(op, n);
	uintptr_t i = (uintptr_t)kl_map_get(seen, name);

	if (!i) {
		KL_GROW(f->op, f->nop + 1, f->alloc);
		f->op[f->nop] = (struct kl_ptx_op){ .name = kl_strdup(name) };
		i = ++f->nop;
		kl_map_put(seen, name, (void *)i);
	}
	f->op[i - 1].n++;
}

static void take_special(struct kl_sass_fn *f, const char *s, const char *end)
{
	KL_AUTO(kl_freep) char *name = NULL;
	size_t n = 0;

	while (s + n < end && (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.'))
		n++;
	name = kl_strndup(s, n);
	if (!kl_strvec_has(&f->special, name))
		kl_strvec_push(&f->special, name);
}

/* Behind the offset: "@P0 LDG.E R2, desc[UR4][R2.64] ;" */
static void count_instruction(struct kl_sass_fn *f, struct kl_map *seen, const char *s,
			      const char *end)
{
	size_t n = 0;

	while (s < end && isspace((unsigned char)*s))
		s++;
	if (s < end && *s == '@') {
		while (s < end && !isspace((unsigned char)*s))
			s++;
		while (s < end && isspace((unsigned char)*s))
			s++;
	}
	while (s + n < end && (isalnum((unsigned char)s[n]) || s[n] == '.' || s[n] == '_'))
		n++;
	if (!n || !isupper((unsigned char)*s))
		return;
	count_op(f, seen, s, n);
	for (const char *p = s + n; p + 6 < end; p++) {
		if (!strncmp(p, "SR_", 3) && !isalnum((unsigned char)p[-1]))
			take_special(f, p, end);
		if (!strncmp(p, "c[0x4]", 6))
			f->module_data = true;
	}
}

int kl_sass_parse(struct kl_sass *out, const char *text, size_t len)
{
	KL_AUTO(kl_sass_release) struct kl_sass s = { 0 };
	struct kl_map seen = KL_MAP_INIT;
	struct kl_sass_fn *f = NULL;

	for (const char *p = text, *end = text + len, *eol; p < end; p = eol + 1) {
		const char *body;

		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		/*
		 * "\t.section\t.text.k,"ax",@progbits" opens a function, any other section closes
		 * it
		 */
		if (eol - p > 10 && !strncmp(p, "\t.section\t", 10)) {
			bool code = !strncmp(p + 10, ".text.", 6) && s.n < MAX_ITEMS;

			kl_map_release(&seen);
			f = NULL;
			if (code) {
				KL_GROW(s.fn, s.n + 1, s.alloc);
				f = &s.fn[s.n++];
				*f = (struct kl_sass_fn){
					.name = kl_strndup(p + 16, strcspn(p + 16, ",\"\n"))
				};
			}
			continue;
		}
		body = f ? memmem(p, (size_t)(eol - p), "*/", 2) : NULL;
		if (body && p + strspn(p, " \t") + 2 < eol &&
		    !strncmp(p + strspn(p, " \t"), "/*", 2))
			count_instruction(f, &seen, body + 2, eol);
	}
	kl_map_release(&seen);
	if (!s.n)
		return kl_error(KL_ENO, "nvdisasm shows no code");
	*out = s;
	s = (struct kl_sass){ 0 };
	return 0;
}

int kl_sass_read(struct kl_sass *out, const struct kl_jail *j, const struct kl_nvcc *n,
		 const char *dir, const char *cubin)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *class_ = NULL;
	/* itself, where it does not come with the toolkit */
	const char *readable[] = { n->disasm, NULL };
	struct kl_tool t = { .jail = j,
			     .dir = dir,
			     .prefix = "src-kernel/",
			     .class_ = &class_,
			     .log = KL_BUF_INIT,
			     .readable = readable };
	int err;

	if (!n->disasm)
		return kl_error(KL_ECANNOT, "nvdisasm is not installed");
	kl_strvec_push(&a, n->disasm);
	kl_strvec_push(&a, "-c");
	kl_strvec_push(&a, "-ndf");
	kl_strvec_push(&a, cubin);
	err = kl_tool_run(&t, &a, &text, "reading the machine code");
	kl_buf_release(&t.log);
	return err ? err : kl_sass_parse(out, text.ptr, text.len);
}
