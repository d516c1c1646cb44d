/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_reach - finds what PTX kernels reach, and the source lines that PTX lines come from */
#include "backend/cuda/ptx.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

/* -- marking functions and variables that kernels reach --------------------------------- */

const struct kl_ptx_fn *kl_ptx_function(const struct kl_ptx *ptx, const char *name)
{
	for (size_t i = 0; i < ptx->nfn; i++)
		if (!strcmp(ptx->fn[i].name, name))
			return &ptx->fn[i];
	return NULL;
}

const struct kl_ptx_var *kl_ptx_variable(const struct kl_ptx *ptx, const char *name)
{
	for (size_t i = 0; i < ptx->nvar; i++)
		if (!strcmp(ptx->var[i].name, name))
			return &ptx->var[i];
	return NULL;
}

struct walk {
	struct kl_ptx *ptx;
	struct kl_map index; /* functions: name -> index + 1; variables: name -> nfn + index + 1 */
	size_t *todo, ntodo, alloc;
};

static void visit_function(struct walk *walk, const char *name)
{
	size_t i = (size_t)(uintptr_t)kl_map_get(&walk->index, name);
	bool *reached;

	if (!i)
		return; /* the name is that of a label, a parameter or a local variable */
	reached = i <= walk->ptx->nfn ? &walk->ptx->fn[i - 1].reached :
					&walk->ptx->var[i - 1 - walk->ptx->nfn].reached;
	if (*reached)
		return;
	*reached = true;
	KL_GROW(walk->todo, walk->ntodo + 1, walk->alloc);
	walk->todo[walk->ntodo++] = i;
}

static void follow_calls(struct walk *walk, size_t i)
{
	const struct kl_strvec *ref = i <= walk->ptx->nfn ?
					      &walk->ptx->fn[i - 1].ref :
					      &walk->ptx->var[i - 1 - walk->ptx->nfn].ref;

	for (size_t k = 0; k < ref->n; k++)
		visit_function(walk, ref->v[k]);
}

static void mark_stores(struct kl_ptx *ptx)
{
	for (size_t i = 0; i < ptx->nfn; i++)
		for (size_t k = 0; ptx->fn[i].reached && k < ptx->fn[i].stored.n; k++)
			for (size_t var = 0; var < ptx->nvar; var++)
				if (!strcmp(ptx->var[var].name, ptx->fn[i].stored.v[k]))
					ptx->var[var].stored = true;
}

int kl_ptx_reach(struct kl_ptx *ptx, const char *const *kernel, size_t n)
{
	struct walk walk = { .ptx = ptx };
	int err = 0;

	for (size_t i = 0; i < ptx->nfn; i++)
		kl_map_put(&walk.index, ptx->fn[i].name, (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < ptx->nvar; i++)
		kl_map_put(&walk.index, ptx->var[i].name, (void *)(uintptr_t)(ptx->nfn + i + 1));
	for (size_t i = 0; !err && i < n; i++) {
		const struct kl_ptx_fn *fn = kl_ptx_function(ptx, kernel[i]);

		if (!fn || !fn->entry || !fn->defined)
			err = kl_error(KL_ENO, "the PTX does not define the kernel '%s'",
				       kernel[i]);
		else
			visit_function(&walk, kernel[i]);
	}
	while (!err && walk.ntodo)
		follow_calls(&walk, walk.todo[--walk.ntodo]);
	if (!err)
		mark_stores(ptx);
	kl_map_release(&walk.index);
	free(walk.todo);
	return err;
}

/* -- finding source lines ------------------------------------------------------------------ */

static char *file_name(const char *text, unsigned number)
{
	for (const char *directive = strstr(text, ".file"); directive;
	     directive = strstr(directive + 5, ".file")) {
		unsigned n;
		int at = 0;

		if (sscanf(directive, ".file %u \"%n", &n, &at) == 1 && at && n == number)
			return kl_strndup(directive + at, strcspn(directive + at, "\"\n"));
	}
	return NULL;
}

char *kl_ptx_source_line(const char *text, size_t line)
{
	const char *pos = text;
	unsigned file = 0, source_line = 0, loc_file, loc_line;

	for (size_t i = 1; i < line && pos; i++) {
		pos += strspn(pos, " \t");
		if (sscanf(pos, ".loc %u %u", &loc_file, &loc_line) == 2) {
			file = loc_file;
			source_line = loc_line;
		}
		pos = strchr(pos, '\n');
		pos = pos ? pos + 1 : NULL;
	}
	if (source_line) {
		KL_AUTO(kl_freep) char *name = file_name(text, file);

		return name ? kl_asprintf("%s:%u", name, source_line) : NULL;
	}
	return NULL;
}
