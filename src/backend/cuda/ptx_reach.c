/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_reach - functions that PTX kernels reach, and the source line of a line of PTX */
#include "backend/cuda/ptx.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

/* -- reach ------------------------------------------------------------------------------ */

const struct kl_ptx_fn *kl_ptx_function(const struct kl_ptx *p, const char *name)
{
	for (size_t i = 0; i < p->nfn; i++)
		if (!strcmp(p->fn[i].name, name))
			return &p->fn[i];
	return NULL;
}

const struct kl_ptx_var *kl_ptx_variable(const struct kl_ptx *p, const char *name)
{
	for (size_t i = 0; i < p->nvar; i++)
		if (!strcmp(p->var[i].name, name))
			return &p->var[i];
	return NULL;
}

struct walk {
	struct kl_ptx *p;
	struct kl_map index; /* name -> index + 1; variables behind nfn */
	size_t *todo, ntodo, alloc;
};

static void visit_function(struct walk *w, const char *name)
{
	size_t i = (size_t)(uintptr_t)kl_map_get(&w->index, name);
	bool *reached;

	if (!i)
		return; /* a label, a parameter, a variable of the function */
	reached = i <= w->p->nfn ? &w->p->fn[i - 1].reached : &w->p->var[i - 1 - w->p->nfn].reached;
	if (*reached)
		return;
	*reached = true;
	KL_GROW(w->todo, w->ntodo + 1, w->alloc);
	w->todo[w->ntodo++] = i;
}

static void follow_calls(struct walk *w, size_t i)
{
	const struct kl_strvec *ref = i <= w->p->nfn ? &w->p->fn[i - 1].ref :
						       &w->p->var[i - 1 - w->p->nfn].ref;

	for (size_t k = 0; k < ref->n; k++)
		visit_function(w, ref->v[k]);
}

static void mark_stores(struct kl_ptx *p)
{
	for (size_t i = 0; i < p->nfn; i++)
		for (size_t k = 0; p->fn[i].reached && k < p->fn[i].stored.n; k++)
			for (size_t v = 0; v < p->nvar; v++)
				if (!strcmp(p->var[v].name, p->fn[i].stored.v[k]))
					p->var[v].stored = true;
}

int kl_ptx_reach(struct kl_ptx *p, const char *const *kernel, size_t n)
{
	struct walk w = { .p = p };
	int err = 0;

	for (size_t i = 0; i < p->nfn; i++)
		kl_map_put(&w.index, p->fn[i].name, (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < p->nvar; i++)
		kl_map_put(&w.index, p->var[i].name, (void *)(uintptr_t)(p->nfn + i + 1));
	for (size_t i = 0; !err && i < n; i++) {
		const struct kl_ptx_fn *f = kl_ptx_function(p, kernel[i]);

		if (!f || !f->entry || !f->defined)
			err = kl_error(KL_ENO, "there is no kernel '%s'", kernel[i]);
		else
			visit_function(&w, kernel[i]);
	}
	while (!err && w.ntodo)
		follow_calls(&w, w.todo[--w.ntodo]);
	if (!err)
		mark_stores(p);
	kl_map_release(&w.index);
	free(w.todo);
	return err;
}

/* -- where a line comes from --------------------------------------------------------------- */

static char *file_name(const char *text, unsigned number)
{
	for (const char *s = strstr(text, ".file"); s; s = strstr(s + 5, ".file")) {
		unsigned n;
		int at = 0;

		if (sscanf(s, ".file %u \"%n", &n, &at) == 1 && at && n == number)
			return kl_strndup(s + at, strcspn(s + at, "\"\n"));
	}
	return NULL;
}

char *kl_ptx_source_line(const char *text, size_t line)
{
	const char *s = text;
	unsigned file = 0, at = 0, f, l;

	for (size_t i = 1; i < line && s; i++) {
		s += strspn(s, " \t");
		if (sscanf(s, ".loc %u %u", &f, &l) == 2) {
			file = f;
			at = l;
		}
		s = strchr(s, '\n');
		s = s ? s + 1 : NULL;
	}
	if (at) {
		KL_AUTO(kl_freep) char *name = file_name(text, file);

		return name ? kl_asprintf("%s:%u", name, at) : NULL;
	}
	return NULL;
}
