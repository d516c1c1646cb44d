/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan_parts.h"
#include "text/yaml_write.h"

static const char *const fact_names[KL_PLAN_FACTS] = { "sms", "smem_optin", "cc", "l2" };

/* --- names -------------------------------------------------------------- */

struct kl_expr_names kl_plan_expr_names(const struct kl_plan *plan)
{
	return (struct kl_expr_names){
		.name = plan->name,
		.n = plan->nname,
		.what = "a dim, a constant, a 'let' above it, or one of sms, smem_optin, cc, l2",
	};
}

void kl_plan_add_name(struct kl_plan *plan, const char *name)
{
	plan->name[plan->nname++] = kl_strdup(name);
}

bool kl_plan_has_name(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nname; i++)
		if (!strcmp(plan->name[i], name))
			return true;
	return false;
}

int kl_plan_find_tensor(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->ntensor; i++)
		if (plan->tensor[i] && !strcmp(plan->tensor[i], name))
			return (int)i;
	return -1;
}

int kl_plan_find_scalar(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->ntensor; i++)
		if (plan->scalar[i].name && !strcmp(plan->scalar[i].name, name))
			return (int)i;
	return -1;
}

int kl_plan_find_scratch(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nscratch; i++)
		if (!strcmp(plan->scratch[i].name, name))
			return (int)i;
	return -1;
}

int kl_plan_find_map(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nmap; i++)
		if (!strcmp(plan->map[i].name, name))
			return (int)i;
	return -1;
}

/* --- making and freeing a plan ------------------------------------------------ */

static void take_names(struct kl_plan *plan, const struct kl_plan_names *names)
{
	size_t n = names->ndim < KL_MAX_DIMS ? names->ndim : KL_MAX_DIMS;

	plan->ndim = n;
	plan->name = kl_calloc(n + KL_PLAN_FACTS + 2 * KL_PLAN_MAX_NAMES, sizeof(*plan->name));
	for (size_t i = 0; i < n; i++)
		kl_plan_add_name(plan, names->dim[i]);
	/*
	 * a dim hides the device fact of the same name: replace the name of the fact by "", which
	 * no word matches
	 */
	for (size_t i = 0; i < KL_PLAN_FACTS; i++)
		kl_plan_add_name(plan, kl_plan_has_name(plan, fact_names[i]) ? "" : fact_names[i]);
	plan->ntensor = names->ntensor;
	plan->tensor = kl_calloc(plan->ntensor + 1, sizeof(*plan->tensor));
	plan->scalar = kl_calloc(plan->ntensor + 1, sizeof(*plan->scalar));
	for (size_t i = 0; i < plan->ntensor; i++) {
		const struct kl_plan_scalar *scalar = names->scalar ? &names->scalar[i] : NULL;

		if (names->tensor[i])
			plan->tensor[i] = kl_strdup(names->tensor[i]);
		else if (scalar && scalar->name)
			plan->scalar[i] = (struct kl_plan_scalar){ kl_strdup(scalar->name),
								   kl_strdup(scalar->dtype),
								   scalar->value };
	}
}

int kl_plan_parse(struct kl_plan **out, struct kl_yaml *tree, const char *file,
		  const struct kl_plan_names *names)
{
	KL_AUTO(kl_plan_freep) struct kl_plan *plan = kl_calloc(1, sizeof(*plan));
	int err;

	tree->paths = true;
	plan->tree = tree;
	plan->file = file ? kl_strdup(file) : NULL;
	take_names(plan, names);
	if ((err = kl_plan_read_document(plan)) < 0)
		return err;
	*out = kl_steal(&plan);
	return 0;
}

static void free_names(struct kl_plan *plan)
{
	for (size_t i = 0; i < plan->ntensor; i++) {
		free(plan->tensor[i]);
		free((char *)(uintptr_t)plan->scalar[i].name);
		free((char *)(uintptr_t)plan->scalar[i].dtype);
	}
	free(plan->tensor);
	free(plan->scalar);
	for (size_t i = 0; i < plan->nname; i++)
		free((char *)(uintptr_t)plan->name[i]);
	free(plan->name);
}

struct kl_plan *kl_plan_ref(struct kl_plan *plan)
{
	plan->refs++;
	return plan;
}

void kl_plan_free(struct kl_plan *plan)
{
	if (!plan || plan->refs-- > 0)
		return;
	kl_plan_release_document(plan);
	free_names(plan);
	kl_yaml_free(plan->tree);
	free(plan->file);
	free(plan);
}

/* --- parts of a plan ---------------------------------------------------------- */

const struct kl_yaml *kl_plan_tree(const struct kl_plan *plan)
{
	return plan->tree;
}

const struct kl_plan_compile *kl_plan_compile(const struct kl_plan *plan)
{
	return &plan->compile;
}

const struct kl_plan_artefact *kl_plan_artefact(const struct kl_plan *plan)
{
	return plan->artefact.cubin ? &plan->artefact : NULL;
}

bool kl_plan_quirks(const struct kl_plan *plan)
{
	return plan->quirks == 1;
}

static size_t add_kernel(const char **out, size_t n, size_t max, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(out[i], name))
			return n;
	if (n < max)
		out[n++] = name;
	return n;
}

size_t kl_plan_kernels(const struct kl_plan *plan, const char **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->launch.n; i++)
		n = add_kernel(out, n, max, plan->launch.v[i].kernel);
	for (size_t i = 0; i < plan->prepare.n; i++)
		n = add_kernel(out, n, max, plan->prepare.v[i].kernel);
	return n;
}

static const struct plan_launch *launch_of(const struct plan_launches *list, const char *kernel)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i].kernel, kernel))
			return &list->v[i];
	return NULL;
}

const char *kl_plan_symbol(const struct kl_plan *plan, const char *kernel)
{
	const struct plan_launch *launch = launch_of(&plan->launch, kernel);

	if (!launch)
		launch = launch_of(&plan->prepare, kernel);
	return launch && launch->symbol ? launch->symbol : kernel;
}

static void set_symbol(struct plan_launches *list, const char *kernel, const char *symbol)
{
	for (size_t i = 0; i < list->n; i++) {
		struct plan_launch *launch = &list->v[i];

		if (strcmp(launch->kernel, kernel) != 0)
			continue;
		free(launch->symbol);
		launch->symbol = kl_strdup(symbol);
		/* const can be cast away, since the plan owns the tree */
		kl_yaml_put((struct kl_yaml *)(uintptr_t)launch->part.node, "symbol",
			    kl_yaml_new_text(symbol));
	}
}

int kl_plan_set_symbol(struct kl_plan *plan, const char *kernel, const char *symbol)
{
	if (strlen(symbol) >= KL_PLAN_MAX_SYMBOL)
		return kl_error(KL_EINVALID,
				"the symbol of the kernel '%s' has %zu bytes; at most %d are "
				"allowed",
				kernel, strlen(symbol), KL_PLAN_MAX_SYMBOL - 1);
	set_symbol(&plan->launch, kernel, symbol);
	set_symbol(&plan->prepare, kernel, symbol);
	return 0;
}
