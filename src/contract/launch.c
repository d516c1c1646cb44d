/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/launch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/parts.h"
#include "text/digest.h"

#define MAX_BYTES (256 * 1024)

/* A plan while it is read. */
struct reading {
	const struct kl_contract *c;
	const char *name; /* of the file, for messages */
	const struct kl_yaml *y;
	const struct kl_file *file;
	size_t nfile;
	char place[KL_PLAN_PLACE];
};

/* --- YAML to JSON --------------------------------------------------------- */

static json_t *scalar_json(const struct kl_yaml *y)
{
	size_t digits = strspn(y->text + (y->text[0] == '-'), "0123456789");

	if (y->plain && digits && digits <= 18 && digits + (y->text[0] == '-') == y->len)
		return json_integer(strtoll(y->text, NULL, 10));
	if (y->plain && (!strcmp(y->text, "true") || !strcmp(y->text, "false")))
		return json_boolean(y->text[0] == 't');
	if (y->plain && !strcmp(y->text, "null"))
		return json_null();
	return json_string(y->text);
}

/* What stays text is an expression, a name or a number, which the plan's own parser tells apart. */
static json_t *to_json(const struct kl_yaml *y)
{
	json_t *out;

	if (y->kind == KL_YAML_SCALAR)
		return scalar_json(y);
	out = y->kind == KL_YAML_MAP ? json_object() : json_array();
	for (size_t i = 0; i < y->n; i++) {
		json_t *v = to_json(y->item[i]);

		if (y->kind == KL_YAML_MAP)
			kl_json_set(out, y->key[i], v);
		else
			json_array_append_new(out, v);
	}
	return out;
}

/* `let` is ordered, members of a JSON object are not: a list of maps. */
static void order_lets(json_t *doc)
{
	json_t *let = json_object_get(doc, "let"), *list, *value;
	const char *key;

	if (!json_is_object(let))
		return;
	list = json_array();
	json_object_foreach(let, key, value) {
		json_t *one = json_object();

		json_object_set(one, key, value);
		json_array_append_new(list, one);
	}
	kl_json_set(doc, "let", list);
}

/* --- places -------------------------------------------------------------------- */

static const struct kl_yaml *step_down(const struct kl_yaml *at, const char *s, size_t n)
{
	KL_AUTO(kl_freep) char *key = kl_strndup(s, n);
	size_t i;

	if (*s != '[')
		return at->kind == KL_YAML_MAP ? kl_yaml_get(at, key) : NULL;
	i = strtoul(key + 1, NULL, 10);
	return at->kind == KL_YAML_SEQ && i < at->n ? at->item[i] : NULL;
}

/*
 * The message there is, with the line and column of "launch[0].grid[1]@4". What cannot be
 * followed to its end (a key that is missing) stands where the way ends.
 */
static int at_place(const struct reading *r)
{
	const struct kl_yaml *at = r->y, *next;
	const char *s = r->place;

	while (*s && *s != '@' && *s != '?') {
		size_t n;

		s += *s == '.';
		n = *s == '[' ? strcspn(s, "]") + 1 : strcspn(s, ".[@?");
		next = step_down(at, s, n);
		if (!next)
			break;
		if (s[n] == '?')
			for (size_t i = 0; i < at->n; i++)
				if (at->item[i] == next)
					return kl_yaml_key_error(r->name, at, i, "%s",
								 kl_error_last());
		at = next;
		s += n;
	}
	if (*s == '@' && at->kind == KL_YAML_SCALAR)
		return kl_node_error_at((struct kl_node){ r->name, at, "" },
					strtoul(s + 1, NULL, 10));
	return kl_yaml_error(r->name, at, "%s", kl_error_last());
}

/* --- files -------------------------------------------------------------------- */

static const struct kl_file *find_file(const struct reading *r, const char *path)
{
	for (size_t i = 0; i < r->nfile; i++)
		if (!strcmp(r->file[i].path, path))
			return &r->file[i];
	return NULL;
}

static int embed_one(const struct reading *r, const struct kl_yaml *y, json_t *arg)
{
	const struct kl_yaml *at = y->kind == KL_YAML_MAP ? kl_yaml_get(y, "bytes") : NULL;
	KL_AUTO(kl_buf_release) struct kl_buf hex = KL_BUF_INIT;
	const struct kl_file *f;
	json_t *bytes;

	if (!at)
		return 0;
	f = at->kind == KL_YAML_SCALAR ? find_file(r, at->text) : NULL;
	if (!f)
		return kl_yaml_error(r->name, at, "'bytes' names no file among the sources");
	if (!f->len || f->len > KL_PLAN_MAX_PARAM_BYTES)
		return kl_yaml_error(r->name, at, "'%s' has %zu bytes: 1 to %d are possible",
				     f->path, f->len, KL_PLAN_MAX_PARAM_BYTES);
	for (size_t i = 0; i < f->len; i++)
		kl_buf_addf(&hex, "%02x", (unsigned char)f->data[i]);
	bytes = json_object();
	kl_json_set_str(bytes, "hex", hex.ptr);
	kl_json_set(arg, "bytes", bytes);
	return 0;
}

/* Contents in place of the names of `bytes` files, which the worker does not have. */
static int embed_member(const struct reading *r, const char *key, json_t *doc)
{
	const struct kl_yaml *list = kl_yaml_get(r->y, key);
	json_t *launches = json_object_get(doc, key);
	int err = 0;

	for (size_t i = 0; list && list->kind == KL_YAML_SEQ && i < list->n; i++) {
		const struct kl_yaml *l = list->item[i];
		const struct kl_yaml *args = l->kind == KL_YAML_MAP ? kl_yaml_get(l, "args") : NULL;
		json_t *jargs = json_object_get(json_array_get(launches, i), "args");

		for (size_t k = 0; !err && args && args->kind == KL_YAML_SEQ && k < args->n; k++)
			err = embed_one(r, args->item[k], json_array_get(jargs, k));
	}
	return err;
}

static int check_artefact(struct reading *r, const struct kl_plan *p)
{
	const struct kl_plan_artefact *a = kl_plan_artefact(p);
	const struct kl_file *f;
	char hex[KL_DIGEST_HEX];

	if (!a)
		return 0;
	f = find_file(r, a->cubin);
	snprintf(r->place, sizeof(r->place), "artefact.cubin");
	if (!f) {
		kl_error(KL_EINVALID, "artefact.cubin: '%.64s' is none of the sources", a->cubin);
		return at_place(r);
	}
	kl_digest_hex(hex, f->data, f->len);
	snprintf(r->place, sizeof(r->place), "artefact.sha256");
	if (strcmp(hex, a->sha256)) {
		kl_error(KL_EINVALID, "artefact.sha256: '%.64s' has the digest %s", a->cubin, hex);
		return at_place(r);
	}
	return 0;
}

/* --- checks --------------------------------------------------------------------- */

static int parse_plan(struct kl_plan **out, struct reading *r, const json_t *doc)
{
	const struct kl_contract *c = r->c;
	const char *tensor[KL_MAX_ARGS] = { NULL };
	struct kl_plan_scalar scalars[KL_MAX_ARGS] = { { NULL, NULL, 0 } };
	const struct kl_plan_names names = {
		.dim = (const char *const *)c->dim_name,
		.ndim = c->dims.n,
		.tensor = tensor,
		.ntensor = c->nargs,
		.scalar = scalars,
	};

	for (size_t i = 0; i < c->nargs; i++) {
		const struct kl_arg *a = &c->arg[i];

		if (a->kind >= KL_ARG_IN)
			tensor[i] = a->name;
		else if (a->kind == KL_ARG_SCALAR)
			scalars[i] = (struct kl_plan_scalar){ a->name, a->dtype, a->value };
	}
	return kl_plan_parse(out, doc, &names, r->place) < 0 ? at_place(r) : 0;
}

static int check_point(struct reading *r, const struct kl_plan *p, const struct kl_dims *d,
		       const char *id, const struct kl_plan_facts *facts)
{
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	int64_t bytes[KL_MAX_ARGS] = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < r->c->nargs; i++)
		if (r->c->arg[i].naxes)
			err = kl_contract_tensor_bytes(&bytes[i], r->c, i, d);
	if (err < 0)
		return err;
	if (kl_plan_resolve_place(&at, p, d->v, bytes, facts, r->place) == 0)
		return 0;
	kl_error(KL_EINVALID, "%s (%s)", kl_error_last(), id);
	return at_place(r);
}

static int check_points(struct reading *r, const struct kl_plan *p, const char *arch)
{
	struct kl_plan_facts facts;
	const struct kl_dims *d;
	char id[32];
	int err = kl_plan_arch_facts(&facts, arch);

	for (size_t i = 0; !err && (d = kl_contract_check_point(r->c, i, id)); i++)
		err = check_point(r, p, d, id, &facts);
	return err;
}

/* Whose arch counts, and does the plan's run where `arch` does? */
static int choose_arch(struct kl_launch *l, struct reading *r, const char *arch)
{
	const char *own = kl_plan_compile(l->plan)->arch;
	struct kl_plan_facts facts;

	snprintf(r->place, sizeof(r->place), "compile.arch");
	if (!own[0] && !arch) {
		snprintf(r->place, sizeof(r->place), "%s",
			 kl_plan_artefact(l->plan) ? "artefact" : "compile");
		kl_error(KL_EINVALID, "'arch' is missing in '%s'", r->place);
		return at_place(r);
	}
	if (own[0] && arch &&
	    (kl_plan_arch_facts(&facts, arch) < 0 || !kl_plan_arch_runs(own, facts.cc))) {
		kl_error(KL_EINVALID,
			 "compile.arch: code for %s does not run where the kernel's does (%s)", own,
			 arch);
		return at_place(r);
	}
	snprintf(l->arch, sizeof(l->arch), "%s", own[0] ? own : arch);
	snprintf(l->platform, sizeof(l->platform), "cuda/sm_%.*s",
		 (int)strspn(l->arch + 3, "0123456789"), l->arch + 3);
	return 0;
}

int kl_launch_parse(struct kl_launch **out, const struct kl_contract *c, const char *name,
		    const char *text, size_t len, const struct kl_file *file, size_t nfile,
		    const char *arch)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *l = kl_calloc(1, sizeof(*l));
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	struct reading r = { .c = c, .name = name, .file = file, .nfile = nfile };
	int err;

	if (len > MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: larger than %d KiB", name, MAX_BYTES / 1024);
	if ((err = kl_yaml_parse(&y, name, text, len)) < 0)
		return err;
	r.y = y;
	l->json = to_json(y);
	order_lets(l->json);
	if ((err = embed_member(&r, "prepare", l->json)) < 0 ||
	    (err = embed_member(&r, "launch", l->json)) < 0 ||
	    (err = parse_plan(&l->plan, &r, l->json)) < 0 ||
	    (err = check_artefact(&r, l->plan)) < 0 || (err = choose_arch(l, &r, arch)) < 0 ||
	    (err = check_points(&r, l->plan, l->arch)) < 0)
		return err;
	*out = kl_steal(&l);
	return 0;
}

/* --- a surface's ------------------------------------------------------------------ */

static const struct kl_file *plan_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	KL_BUG("the plan is none of the surface's files");
}

/* The candidate's arch, which its plan may not deserve: its own reading will say so. */
static char *peek_arch(const struct kl_surface *s)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	static const char *const keys[] = { "compile", "artefact" };
	struct kl_plan_facts facts;
	const struct kl_file *f;

	if (s->contract->arch)
		return kl_strdup(s->contract->arch);
	f = plan_file(s->file, s->nfile, s->contract->launch);
	if (f->len > MAX_BYTES || kl_yaml_parse(&y, f->path, f->data, f->len) < 0 ||
	    y->kind != KL_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++) {
		const struct kl_yaml *v = kl_yaml_get(y, keys[i]);

		v = v && v->kind == KL_YAML_MAP ? kl_yaml_get(v, "arch") : NULL;
		if (v && v->kind == KL_YAML_SCALAR && !kl_plan_arch_facts(&facts, v->text))
			return kl_strdup(v->text);
	}
	return NULL;
}

/* A plan with `artefact` stands beside a cubin, any other beside a source. */
static int check_main(const struct kl_launch *l, const struct kl_strvec *sources, const char *name)
{
	const struct kl_plan_artefact *a = kl_plan_artefact(l->plan);

	for (size_t i = 0; i < sources->n; i++) {
		const char *dot = strrchr(sources->v[i], '.');

		if (a && !strcmp(dot, ".cu"))
			return kl_error(KL_EINVALID,
					"%s:1:1: 'artefact' names machine code, but '%s' is "
					"a source",
					name, sources->v[i]);
		if (!a && !strcmp(dot, ".cubin"))
			return kl_error(KL_EINVALID,
					"%s:1:1: '%s' is machine code, which needs 'artefact'",
					name, sources->v[i]);
	}
	return 0;
}

int kl_launch_read(struct kl_launch **out, const struct kl_surface *s, bool oracle)
{
	const struct kl_contract *c = s->contract;
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	KL_AUTO(kl_freep) char *arch = NULL, *name = NULL;
	const struct kl_file *f;
	int err;

	if (oracle ? !c->oracle_launch : !c->launch)
		return kl_error(KL_ENOTFOUND, "%s: a surface of language '%s' has no launch plan%s",
				c->name, c->language->name,
				c->arch ? ": its host code launches" : "");
	if (oracle)
		arch = peek_arch(s);
	f = oracle ? plan_file(s->oracle, s->noracle, c->oracle_launch) :
		     plan_file(s->file, s->nfile, c->launch);
	name = kl_fs_join(s->dir, f->path);
	err = kl_launch_parse(&l, c, name, f->data, f->len, oracle ? s->oracle : s->file,
			      oracle ? s->noracle : s->nfile, arch);
	if (err < 0 || (err = check_main(l, oracle ? &c->oracle_sources : &c->sources, name)) < 0)
		return err;
	*out = kl_steal(&l);
	return 0;
}

void kl_launch_free(struct kl_launch *l)
{
	if (!l)
		return;
	kl_plan_free(l->plan);
	json_decref(l->json);
	free(l);
}
