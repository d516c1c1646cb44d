/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "plan/plan_parts.h"

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

static void add_name(struct kl_plan *plan, const char *name)
{
	plan->name[plan->nname++] = kl_strdup(name);
}

static bool has_name(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nname; i++)
		if (!strcmp(plan->name[i], name))
			return true;
	return false;
}

/* What `let` and `define` may not be called: it would mean two things. */
static int check_new(const struct kl_plan *plan, const struct kl_spot *map, const char *name)
{
	static const char *const functions[] = { "min", "max", "cdiv" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(functions); i++)
		if (!strcmp(functions[i], name))
			return kl_spot_error_key(map, name, "'%s' is a function of expressions",
						 name);
	if (has_name(plan, name))
		return kl_spot_error_key(
			map, name, "'%s' is a dim, a device fact or a constant already", name);
	return 0;
}

int kl_plan_find_tensor(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->ntensor; i++)
		if (plan->tensor[i] && !strcmp(plan->tensor[i], name))
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

int kl_plan_find_memory(enum kl_plan_arg_kind *kind, int *index, const struct kl_spot *at,
			const struct kl_plan *plan, const char *name)
{
	int i = kl_plan_find_tensor(plan, name);

	*kind = i >= 0 ? KL_PLAN_TENSOR : KL_PLAN_SCRATCH;
	*index = i >= 0 ? i : kl_plan_find_scratch(plan, name);
	if (*index < 0)
		return kl_spot_error(at,
				     "'%.64s' is neither a tensor of the contract nor a scratch of "
				     "the plan",
				     name);
	return 0;
}

/* --- compile, artefact ---------------------------------------------------- */

static int parse_define(struct kl_plan *plan, const struct kl_spot *at, const json_t *item)
{
	struct kl_plan_compile *compile = &plan->compile;
	const char *key;
	json_t *value;
	int err;

	if (!item)
		return 0;
	if ((err = kl_spot_map(at, item, KL_PLAN_MAX_NAMES)) < 0)
		return err;
	json_object_foreach((json_t *)(uintptr_t)item, key, value) {
		struct kl_spot here = kl_spot_key(at, key);
		int64_t n;

		if (key[0] == '_' || !strncmp(key, "kl_", 3) || !strncmp(key, "KL_", 3))
			return kl_spot_error_key(at, key,
						 "names that begin with '_' or 'kl_' are reserved");
		if ((err = check_new(plan, at, key)) < 0 ||
		    (err = kl_spot_int(&n, &here, value, INT64_MIN, INT64_MAX)) < 0)
			return err;
		memcpy(compile->define[compile->ndefine].name, key, strlen(key) + 1);
		compile->define[compile->ndefine++].value = n;
		add_name(plan, key);
	}
	return 0;
}

static int parse_arch(struct kl_plan *plan, const struct kl_spot *up, const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "arch");
	struct kl_plan_facts facts;
	const char *text;
	int err;

	if (!value)
		return 0;
	if ((err = kl_spot_text(&text, &at, value, sizeof(plan->compile.arch) - 1)) < 0)
		return err;
	if (kl_plan_arch_facts(&facts, text) < 0)
		return kl_spot_error_at(&at, 0);
	memcpy(plan->compile.arch, text, strlen(text) + 1);
	return 0;
}

static int parse_compile(struct kl_plan *plan, const struct kl_spot *up, const json_t *value)
{
	static const char *const known[] = { "arch", "std", "define", NULL };
	static const char *const stds[] = { "c++17", "c++20", NULL };
	struct kl_spot at = kl_spot_key(up, "compile"), std = kl_spot_key(&at, "std");
	struct kl_spot define = kl_spot_key(&at, "define");
	int which = 0, err;

	if (value && ((err = kl_spot_keys(&at, value, known, 0)) < 0 ||
		      (err = parse_arch(plan, &at, json_object_get(value, "arch"))) < 0))
		return err;
	if (json_object_get(value, "std") &&
	    (err = kl_spot_choice(&which, &std, json_object_get(value, "std"), stds)) < 0)
		return err;
	memcpy(plan->compile.std, stds[which], strlen(stds[which]) + 1);
	return parse_define(plan, &define, json_object_get(value, "define"));
}

static int optional_text(char **out, const struct kl_spot *up, const json_t *value, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	const char *text;
	int err;

	if (!json_object_get(value, key))
		return 0;
	if ((err = kl_spot_text(&text, &at, json_object_get(value, key), 255)) < 0)
		return err;
	*out = kl_strdup(text);
	return 0;
}

static int parse_artefact(struct kl_plan *plan, const struct kl_spot *up, const json_t *doc)
{
	static const char *const known[] = {
		"cubin", "sha256", "arch", "producer", "source", NULL
	};
	const json_t *value = json_object_get(doc, "artefact");
	struct kl_spot at = kl_spot_key(up, "artefact"), sha = kl_spot_key(&at, "sha256");
	const char *text;
	int err;

	if (!value)
		return 0;
	if (json_object_get(doc, "compile"))
		return kl_spot_error(&at, "a plan has 'compile' or 'artefact', not both");
	if ((err = kl_spot_keys(&at, value, known, 2)) < 0)
		return err;
	plan->artefact = kl_calloc(1, sizeof(*plan->artefact));
	if ((err = optional_text(&plan->artefact->cubin, &at, value, "cubin")) < 0 ||
	    (err = optional_text(&plan->artefact->producer, &at, value, "producer")) < 0 ||
	    (err = optional_text(&plan->artefact->source, &at, value, "source")) < 0 ||
	    (err = parse_arch(plan, &at, json_object_get(value, "arch"))) < 0 ||
	    (err = kl_spot_text(&text, &sha, json_object_get(value, "sha256"), 64)) < 0)
		return err;
	if (strlen(text) != 64 || text[strspn(text, "0123456789abcdef")])
		return kl_spot_error(&sha, "64 lower-case hexadecimal digits are needed here");
	memcpy(plan->artefact->sha256, text, 65);
	return 0;
}

/* --- let, require ----------------------------------------------------------- */

static int parse_one_let(struct kl_plan *plan, const struct kl_spot *at, const char *key,
			 const json_t *value)
{
	struct kl_spot here = kl_spot_key(at, key);
	struct kl_expr_names names = kl_plan_expr_names(plan);
	int err = check_new(plan, at, key);

	if (err < 0)
		return err;
	if (plan->nlet == KL_PLAN_MAX_NAMES)
		return kl_spot_error(at, "more than %d entries", KL_PLAN_MAX_NAMES);
	if ((err = kl_spot_expr(&plan->let[plan->nlet], &here, value, &names)) < 0)
		return err;
	plan->nlet++;
	add_name(plan, key);
	return 0;
}

static int parse_lets(struct kl_plan *plan, const struct kl_spot *at, const json_t *item)
{
	const char *key;
	json_t *value;
	int err = kl_spot_map(at, item, KL_PLAN_MAX_NAMES);

	json_object_foreach((json_t *)(uintptr_t)item, key, value)
		if (err < 0 || (err = parse_one_let(plan, at, key, value)) < 0)
			return err;
	return err;
}

/*
 * A map; or, since members of a JSON object have no order to rely on, a list of maps,
 * which is how a job has it.
 */
static int parse_let(struct kl_plan *plan, const struct kl_spot *up, const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "let");
	json_t *item;
	size_t i;
	int err;

	if (!value)
		return 0;
	if (!json_is_array(value))
		return parse_lets(plan, &at, value);
	if ((err = kl_spot_list(&at, value, 0, KL_PLAN_MAX_NAMES)) < 0)
		return err;
	json_array_foreach((json_t *)(uintptr_t)value, i, item)
		if ((err = parse_lets(plan, &at, item)) < 0)
			return err;
	return 0;
}

static int parse_require(struct kl_plan *plan, const struct kl_spot *up, const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "require");
	struct kl_expr_names names = kl_plan_expr_names(plan);
	json_t *item;
	size_t i, offset;
	int err;

	if (!value)
		return 0;
	if ((err = kl_spot_list(&at, value, 0, KL_PLAN_MAX_NAMES)) < 0)
		return err;
	json_array_foreach((json_t *)(uintptr_t)value, i, item) {
		struct kl_spot here = kl_spot_item(&at, i);
		const char *text;

		if ((err = kl_spot_text(&text, &here, item, KL_EXPR_MAX_TEXT)) < 0)
			return err;
		if (kl_expr_parse(&plan->require[i], text, &names, KL_EXPR_TRUTH, &offset) < 0)
			return kl_spot_error_at(&here, offset);
		plan->require_text[i] = kl_strdup(text);
		plan->nrequire++;
	}
	return 0;
}

/* --- the whole ---------------------------------------------------------------- */

static int parse_head(struct kl_plan *plan, const struct kl_spot *top, const json_t *doc)
{
	static const char *const known[] = { "klineage-launch", "launch", "compile",
					     "artefact",        "let",    "require",
					     "scratch",         "maps",   "prepare",
					     "quirks",          NULL };
	static const char *const quirks[] = { "none", "auto", NULL };
	const json_t *version = json_object_get(doc, "klineage-launch");
	struct kl_spot at = kl_spot_key(top, "klineage-launch"), spot = kl_spot_key(top, "quirks");
	int64_t value;
	int which = 0, err;

	/* a later version may have keys that are not known here: its number goes first */
	if (version) {
		if ((err = kl_spot_int(&value, &at, version, 1, INT64_MAX)) < 0)
			return err;
		if (value != 1)
			return kl_spot_error(&at,
					     "launch plan version %lld is not known here (1 is)",
					     (long long)value);
	}
	if ((err = kl_spot_keys(top, doc, known, 2)) < 0)
		return err;
	if (json_object_get(doc, "quirks") &&
	    (err = kl_spot_choice(&which, &spot, json_object_get(doc, "quirks"), quirks)) < 0)
		return err;
	plan->quirks = which == 1;
	return 0;
}

static void take_names(struct kl_plan *plan, const struct kl_plan_names *names)
{
	size_t n = names->ndim < KL_MAX_DIMS ? names->ndim : KL_MAX_DIMS;

	plan->ndim = n;
	plan->name = kl_calloc(n + KL_PLAN_FACTS + 2 * KL_PLAN_MAX_NAMES, sizeof(*plan->name));
	for (size_t i = 0; i < n; i++)
		add_name(plan, names->dim[i]);
	/* a dim of that name hides the fact: no word is empty */
	for (size_t i = 0; i < KL_PLAN_FACTS; i++)
		add_name(plan, has_name(plan, fact_names[i]) ? "" : fact_names[i]);
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

static int parse_plan(struct kl_plan *plan, const struct kl_spot *top, const json_t *doc)
{
	struct kl_spot scratch = kl_spot_key(top, "scratch"), maps = kl_spot_key(top, "maps");
	struct kl_spot prepare = kl_spot_key(top, "prepare"), launch = kl_spot_key(top, "launch");
	int err;

	if ((err = parse_head(plan, top, doc)) < 0 || (err = parse_artefact(plan, top, doc)) < 0 ||
	    (err = parse_compile(plan, top, json_object_get(doc, "compile"))) < 0 ||
	    (err = parse_let(plan, top, json_object_get(doc, "let"))) < 0 ||
	    (err = parse_require(plan, top, json_object_get(doc, "require"))) < 0 ||
	    (err = kl_plan_scratch_parse(plan, &scratch, json_object_get(doc, "scratch"))) < 0 ||
	    (err = kl_plan_maps_parse(plan, &maps, json_object_get(doc, "maps"))) < 0 ||
	    (err = kl_plan_launches_parse(plan, &prepare, json_object_get(doc, "prepare"), true)) <
		    0)
		return err;
	for (size_t i = 0; i < plan->nscratch && !plan->nprepare; i++) {
		struct kl_spot at = kl_spot_key(&scratch, plan->scratch[i].name),
			       init = kl_spot_key(&at, "init");

		if (plan->scratch[i].init == KL_PLAN_PREPARE)
			return kl_spot_error(
				&init, "'prepare' is said, but the plan has no prepare launch");
	}
	return kl_plan_launches_parse(plan, &launch, json_object_get(doc, "launch"), false);
}

int kl_plan_parse(struct kl_plan **out, const json_t *doc, const struct kl_plan_names *names,
		  char *place)
{
	KL_AUTO(kl_plan_freep) struct kl_plan *plan = kl_calloc(1, sizeof(*plan));
	struct kl_spot top = { .place = place };
	int err;

	if (place)
		place[0] = '\0';
	plan->doc = json_incref((json_t *)(uintptr_t)doc);
	take_names(plan, names);
	if ((err = parse_plan(plan, &top, doc)) < 0)
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
	json_decref(plan->doc);
	if (plan->artefact) {
		free(plan->artefact->cubin);
		free(plan->artefact->producer);
		free(plan->artefact->source);
		free(plan->artefact);
	}
	free_names(plan);
	for (size_t i = 0; i < KL_PLAN_MAX_NAMES; i++) {
		kl_expr_free(plan->let[i]);
		kl_expr_free(plan->require[i]);
		free(plan->require_text[i]);
	}
	for (size_t i = 0; i < KL_PLAN_MAX_SCRATCH; i++)
		for (size_t k = 0; k < KL_MAX_AXES; k++)
			kl_expr_free(plan->scratch[i].shape[k]);
	kl_plan_maps_release(plan);
	kl_plan_launches_release(plan->prepare, plan->nprepare);
	kl_plan_launches_release(plan->launch, plan->nlaunch);
	free(plan);
}

/* --- asking ------------------------------------------------------------------- */

const json_t *kl_plan_doc(const struct kl_plan *plan)
{
	return plan->doc;
}

const struct kl_plan_compile *kl_plan_compile(const struct kl_plan *plan)
{
	return &plan->compile;
}

const struct kl_plan_artefact *kl_plan_artefact(const struct kl_plan *plan)
{
	return plan->artefact;
}

bool kl_plan_quirks(const struct kl_plan *plan)
{
	return plan->quirks;
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

	for (size_t i = 0; i < plan->nlaunch; i++)
		n = add_kernel(out, n, max, plan->launch[i].kernel);
	for (size_t i = 0; i < plan->nprepare; i++)
		n = add_kernel(out, n, max, plan->prepare[i].kernel);
	return n;
}
