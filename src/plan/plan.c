/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "plan/plan_parts.h"

static const char *const fact_names[KL_PLAN_FACTS] = { "sms", "smem_optin", "cc", "l2" };

/* --- names -------------------------------------------------------------- */

struct kl_expr_names kl_plan_expr_names(const struct kl_plan *p)
{
	return (struct kl_expr_names){
		.name = p->name,
		.n = p->nname,
		.what = "a dim, a constant, a 'let' above it, or one of sms, smem_optin, cc, l2",
	};
}

static void add_name(struct kl_plan *p, const char *name)
{
	p->name[p->nname++] = kl_strdup(name);
}

static bool has_name(const struct kl_plan *p, const char *name)
{
	for (size_t i = 0; i < p->nname; i++)
		if (!strcmp(p->name[i], name))
			return true;
	return false;
}

/* What `let` and `define` may not be called: it would mean two things. */
static int check_new(const struct kl_plan *p, const struct kl_spot *map, const char *name)
{
	static const char *const functions[] = { "min", "max", "cdiv" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(functions); i++)
		if (!strcmp(functions[i], name))
			return kl_spot_error_key(map, name, "'%s' is a function of expressions",
						 name);
	if (has_name(p, name))
		return kl_spot_error_key(
			map, name, "'%s' is a dim, a device fact or a constant already", name);
	return 0;
}

int kl_plan_find_tensor(const struct kl_plan *p, const char *name)
{
	for (size_t i = 0; i < p->ntensor; i++)
		if (p->tensor[i] && !strcmp(p->tensor[i], name))
			return (int)i;
	return -1;
}

int kl_plan_find_scratch(const struct kl_plan *p, const char *name)
{
	for (size_t i = 0; i < p->nscratch; i++)
		if (!strcmp(p->scratch[i].name, name))
			return (int)i;
	return -1;
}

int kl_plan_find_map(const struct kl_plan *p, const char *name)
{
	for (size_t i = 0; i < p->nmap; i++)
		if (!strcmp(p->map[i].name, name))
			return (int)i;
	return -1;
}

int kl_plan_find_memory(enum kl_plan_arg_kind *kind, int *index, const struct kl_spot *at,
			const struct kl_plan *p, const char *name)
{
	int i = kl_plan_find_tensor(p, name);

	*kind = i >= 0 ? KL_PLAN_TENSOR : KL_PLAN_SCRATCH;
	*index = i >= 0 ? i : kl_plan_find_scratch(p, name);
	if (*index < 0)
		return kl_spot_error(at,
				     "'%.64s' is neither a tensor of the contract nor a scratch of "
				     "the plan",
				     name);
	return 0;
}

/* --- compile, artefact ---------------------------------------------------- */

static int parse_define(struct kl_plan *p, const struct kl_spot *at, const json_t *v)
{
	struct kl_plan_compile *c = &p->compile;
	const char *key;
	json_t *value;
	int err;

	if (!v)
		return 0;
	if ((err = kl_spot_map(at, v, KL_PLAN_MAX_NAMES)) < 0)
		return err;
	json_object_foreach((json_t *)(uintptr_t)v, key, value) {
		struct kl_spot here = kl_spot_key(at, key);
		int64_t n;

		if (key[0] == '_' || !strncmp(key, "kl_", 3) || !strncmp(key, "KL_", 3))
			return kl_spot_error_key(at, key,
						 "names that begin with '_' or 'kl_' are reserved");
		if ((err = check_new(p, at, key)) < 0 ||
		    (err = kl_spot_int(&n, &here, value, INT64_MIN, INT64_MAX)) < 0)
			return err;
		memcpy(c->define[c->ndefine].name, key, strlen(key) + 1);
		c->define[c->ndefine++].value = n;
		add_name(p, key);
	}
	return 0;
}

static int parse_arch(struct kl_plan *p, const struct kl_spot *up, const json_t *v)
{
	struct kl_spot at = kl_spot_key(up, "arch");
	struct kl_plan_facts facts;
	const char *s;
	int err;

	if (!v)
		return 0;
	if ((err = kl_spot_text(&s, &at, v, sizeof(p->compile.arch) - 1)) < 0)
		return err;
	if (kl_plan_arch_facts(&facts, s) < 0)
		return kl_spot_error_at(&at, 0);
	memcpy(p->compile.arch, s, strlen(s) + 1);
	return 0;
}

static int parse_compile(struct kl_plan *p, const struct kl_spot *up, const json_t *v)
{
	static const char *const known[] = { "arch", "std", "define", NULL };
	static const char *const stds[] = { "c++17", "c++20", NULL };
	struct kl_spot at = kl_spot_key(up, "compile"), std = kl_spot_key(&at, "std");
	struct kl_spot define = kl_spot_key(&at, "define");
	int which = 0, err;

	if (v && ((err = kl_spot_keys(&at, v, known, 0)) < 0 ||
		  (err = parse_arch(p, &at, json_object_get(v, "arch"))) < 0))
		return err;
	if (json_object_get(v, "std") &&
	    (err = kl_spot_choice(&which, &std, json_object_get(v, "std"), stds)) < 0)
		return err;
	memcpy(p->compile.std, stds[which], strlen(stds[which]) + 1);
	return parse_define(p, &define, json_object_get(v, "define"));
}

static int optional_text(char **out, const struct kl_spot *up, const json_t *v, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	const char *s;
	int err;

	if (!json_object_get(v, key))
		return 0;
	if ((err = kl_spot_text(&s, &at, json_object_get(v, key), 255)) < 0)
		return err;
	*out = kl_strdup(s);
	return 0;
}

static int parse_artefact(struct kl_plan *p, const struct kl_spot *up, const json_t *doc)
{
	static const char *const known[] = {
		"cubin", "sha256", "arch", "producer", "source", NULL
	};
	const json_t *v = json_object_get(doc, "artefact");
	struct kl_spot at = kl_spot_key(up, "artefact"), sha = kl_spot_key(&at, "sha256");
	const char *s;
	int err;

	if (!v)
		return 0;
	if (json_object_get(doc, "compile"))
		return kl_spot_error(&at, "a plan has 'compile' or 'artefact', not both");
	if ((err = kl_spot_keys(&at, v, known, 2)) < 0)
		return err;
	p->artefact = kl_calloc(1, sizeof(*p->artefact));
	if ((err = optional_text(&p->artefact->cubin, &at, v, "cubin")) < 0 ||
	    (err = optional_text(&p->artefact->producer, &at, v, "producer")) < 0 ||
	    (err = optional_text(&p->artefact->source, &at, v, "source")) < 0 ||
	    (err = parse_arch(p, &at, json_object_get(v, "arch"))) < 0 ||
	    (err = kl_spot_text(&s, &sha, json_object_get(v, "sha256"), 64)) < 0)
		return err;
	if (strlen(s) != 64 || s[strspn(s, "0123456789abcdef")])
		return kl_spot_error(&sha, "64 lower-case hexadecimal digits are needed here");
	memcpy(p->artefact->sha256, s, 65);
	return 0;
}

/* --- let, require ----------------------------------------------------------- */

static int parse_one_let(struct kl_plan *p, const struct kl_spot *at, const char *key,
			 const json_t *v)
{
	struct kl_spot here = kl_spot_key(at, key);
	struct kl_expr_names names = kl_plan_expr_names(p);
	int err = check_new(p, at, key);

	if (err < 0)
		return err;
	if (p->nlet == KL_PLAN_MAX_NAMES)
		return kl_spot_error(at, "more than %d entries", KL_PLAN_MAX_NAMES);
	if ((err = kl_spot_expr(&p->let[p->nlet], &here, v, &names)) < 0)
		return err;
	p->nlet++;
	add_name(p, key);
	return 0;
}

static int parse_lets(struct kl_plan *p, const struct kl_spot *at, const json_t *v)
{
	const char *key;
	json_t *value;
	int err = kl_spot_map(at, v, KL_PLAN_MAX_NAMES);

	json_object_foreach((json_t *)(uintptr_t)v, key, value)
		if (err < 0 || (err = parse_one_let(p, at, key, value)) < 0)
			return err;
	return err;
}

/*
 * A map; or, since members of a JSON object have no order to rely on, a list of maps,
 * which is how a job has it.
 */
static int parse_let(struct kl_plan *p, const struct kl_spot *up, const json_t *v)
{
	struct kl_spot at = kl_spot_key(up, "let");
	json_t *item;
	size_t i;
	int err;

	if (!v)
		return 0;
	if (!json_is_array(v))
		return parse_lets(p, &at, v);
	if ((err = kl_spot_list(&at, v, 0, KL_PLAN_MAX_NAMES)) < 0)
		return err;
	json_array_foreach((json_t *)(uintptr_t)v, i, item)
		if ((err = parse_lets(p, &at, item)) < 0)
			return err;
	return 0;
}

static int parse_require(struct kl_plan *p, const struct kl_spot *up, const json_t *v)
{
	struct kl_spot at = kl_spot_key(up, "require");
	struct kl_expr_names names = kl_plan_expr_names(p);
	json_t *item;
	size_t i, offset;
	int err;

	if (!v)
		return 0;
	if ((err = kl_spot_list(&at, v, 0, KL_PLAN_MAX_NAMES)) < 0)
		return err;
	json_array_foreach((json_t *)(uintptr_t)v, i, item) {
		struct kl_spot here = kl_spot_item(&at, i);
		const char *text;

		if ((err = kl_spot_text(&text, &here, item, KL_EXPR_MAX_TEXT)) < 0)
			return err;
		if (kl_expr_parse(&p->require[i], text, &names, KL_EXPR_TRUTH, &offset) < 0)
			return kl_spot_error_at(&here, offset);
		p->require_text[i] = kl_strdup(text);
		p->nrequire++;
	}
	return 0;
}

/* --- the whole ---------------------------------------------------------------- */

static int parse_head(struct kl_plan *p, const struct kl_spot *top, const json_t *doc)
{
	static const char *const known[] = { "klineage-launch", "launch", "compile",
					     "artefact",        "let",    "require",
					     "scratch",         "maps",   "prepare",
					     "quirks",          NULL };
	static const char *const quirks[] = { "none", "auto", NULL };
	const json_t *version = json_object_get(doc, "klineage-launch");
	struct kl_spot at = kl_spot_key(top, "klineage-launch"), q = kl_spot_key(top, "quirks");
	int64_t v;
	int which = 0, err;

	/* a later version may have keys that are not known here: its number goes first */
	if (version) {
		if ((err = kl_spot_int(&v, &at, version, 1, INT64_MAX)) < 0)
			return err;
		if (v != 1)
			return kl_spot_error(&at,
					     "launch plan version %lld is not known here (1 is)",
					     (long long)v);
	}
	if ((err = kl_spot_keys(top, doc, known, 2)) < 0)
		return err;
	if (json_object_get(doc, "quirks") &&
	    (err = kl_spot_choice(&which, &q, json_object_get(doc, "quirks"), quirks)) < 0)
		return err;
	p->quirks = which == 1;
	return 0;
}

static void take_names(struct kl_plan *p, const struct kl_plan_names *names)
{
	size_t n = names->ndim < KL_PLAN_MAX_DIMS ? names->ndim : KL_PLAN_MAX_DIMS;

	p->ndim = n;
	p->name = kl_calloc(n + KL_PLAN_FACTS + 2 * KL_PLAN_MAX_NAMES, sizeof(*p->name));
	for (size_t i = 0; i < n; i++)
		add_name(p, names->dim[i]);
	/* a dim of that name hides the fact: no word is empty */
	for (size_t i = 0; i < KL_PLAN_FACTS; i++)
		add_name(p, has_name(p, fact_names[i]) ? "" : fact_names[i]);
	p->ntensor = names->ntensor;
	p->tensor = kl_calloc(p->ntensor + 1, sizeof(*p->tensor));
	p->scalar = kl_calloc(p->ntensor + 1, sizeof(*p->scalar));
	for (size_t i = 0; i < p->ntensor; i++) {
		const struct kl_plan_scalar *s = names->scalar ? &names->scalar[i] : NULL;

		if (names->tensor[i])
			p->tensor[i] = kl_strdup(names->tensor[i]);
		else if (s && s->name)
			p->scalar[i] = (struct kl_plan_scalar){ kl_strdup(s->name),
								kl_strdup(s->dtype), s->value };
	}
}

static int parse_plan(struct kl_plan *p, const struct kl_spot *top, const json_t *doc)
{
	struct kl_spot scratch = kl_spot_key(top, "scratch"), maps = kl_spot_key(top, "maps");
	struct kl_spot prepare = kl_spot_key(top, "prepare"), launch = kl_spot_key(top, "launch");
	int err;

	if ((err = parse_head(p, top, doc)) < 0 || (err = parse_artefact(p, top, doc)) < 0 ||
	    (err = parse_compile(p, top, json_object_get(doc, "compile"))) < 0 ||
	    (err = parse_let(p, top, json_object_get(doc, "let"))) < 0 ||
	    (err = parse_require(p, top, json_object_get(doc, "require"))) < 0 ||
	    (err = kl_plan_scratch_parse(p, &scratch, json_object_get(doc, "scratch"))) < 0 ||
	    (err = kl_plan_maps_parse(p, &maps, json_object_get(doc, "maps"))) < 0 ||
	    (err = kl_plan_launches_parse(p, &prepare, json_object_get(doc, "prepare"), true)) < 0)
		return err;
	for (size_t i = 0; i < p->nscratch && !p->nprepare; i++) {
		struct kl_spot at = kl_spot_key(&scratch, p->scratch[i].name),
			       init = kl_spot_key(&at, "init");

		if (p->scratch[i].init == KL_PLAN_PREPARE)
			return kl_spot_error(
				&init, "'prepare' is said, but the plan has no prepare launch");
	}
	return kl_plan_launches_parse(p, &launch, json_object_get(doc, "launch"), false);
}

int kl_plan_parse(struct kl_plan **out, const json_t *doc, const struct kl_plan_names *names,
		  char *place)
{
	KL_AUTO(kl_plan_freep) struct kl_plan *p = kl_calloc(1, sizeof(*p));
	struct kl_spot top = { .place = place };
	int err;

	if (place)
		place[0] = '\0';
	p->doc = json_incref((json_t *)(uintptr_t)doc);
	take_names(p, names);
	if ((err = parse_plan(p, &top, doc)) < 0)
		return err;
	*out = kl_steal(&p);
	return 0;
}

static void free_names(struct kl_plan *p)
{
	for (size_t i = 0; i < p->ntensor; i++) {
		free(p->tensor[i]);
		free((char *)(uintptr_t)p->scalar[i].name);
		free((char *)(uintptr_t)p->scalar[i].dtype);
	}
	free(p->tensor);
	free(p->scalar);
	for (size_t i = 0; i < p->nname; i++)
		free((char *)(uintptr_t)p->name[i]);
	free(p->name);
}

void kl_plan_free(struct kl_plan *p)
{
	if (!p)
		return;
	json_decref(p->doc);
	if (p->artefact) {
		free(p->artefact->cubin);
		free(p->artefact->producer);
		free(p->artefact->source);
		free(p->artefact);
	}
	free_names(p);
	for (size_t i = 0; i < KL_PLAN_MAX_NAMES; i++) {
		kl_expr_free(p->let[i]);
		kl_expr_free(p->require[i]);
		free(p->require_text[i]);
	}
	for (size_t i = 0; i < KL_PLAN_MAX_SCRATCH; i++)
		for (size_t k = 0; k < KL_PLAN_MAX_AXES; k++)
			kl_expr_free(p->scratch[i].shape[k]);
	kl_plan_maps_release(p);
	kl_plan_launches_release(p->prepare, p->nprepare);
	kl_plan_launches_release(p->launch, p->nlaunch);
	free(p);
}

/* --- asking ------------------------------------------------------------------- */

const json_t *kl_plan_doc(const struct kl_plan *p)
{
	return p->doc;
}

const struct kl_plan_compile *kl_plan_compile(const struct kl_plan *p)
{
	return &p->compile;
}

const struct kl_plan_artefact *kl_plan_artefact(const struct kl_plan *p)
{
	return p->artefact;
}

bool kl_plan_quirks(const struct kl_plan *p)
{
	return p->quirks;
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

size_t kl_plan_kernels(const struct kl_plan *p, const char **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nlaunch; i++)
		n = add_kernel(out, n, max, p->launch[i].kernel);
	for (size_t i = 0; i < p->nprepare; i++)
		n = add_kernel(out, n, max, p->prepare[i].kernel);
	return n;
}
