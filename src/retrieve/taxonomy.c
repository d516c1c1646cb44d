/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/taxonomy.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "text/yaml_node.h"

#define MAX_FILE ((size_t)1 << 20)
#define MAX_OPS 4096
#define MAX_WORDS 64

void kl_taxonomy_free(struct kl_taxonomy *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nop; i++) {
		for (size_t d = 0; d < t->op[i].ndim; d++)
			free(t->op[i].dim[d].name);
		free(t->op[i].dim);
		free(t->op[i].name);
	}
	for (size_t i = 0; i < t->nplatform; i++) {
		for (size_t k = 0; k < t->platform[i].nnumber; k++)
			free(t->platform[i].number[k].name);
		free(t->platform[i].number);
		free(t->platform[i].name);
	}
	free(t->op);
	free(t->platform);
	free(t->language_ppm);
	kl_map_release(&t->op_names);
	kl_strvec_release(&t->roles);
	kl_strvec_release(&t->languages);
	kl_strvec_release(&t->caps);
	free(t);
}

static int index_of(const struct kl_strvec *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->v[i], s))
			return (int)i;
	return -1;
}

int kl_taxonomy_role(const struct kl_taxonomy *t, const char *role)
{
	return index_of(&t->roles, role);
}

int kl_taxonomy_language(const struct kl_taxonomy *t, const char *name)
{
	return index_of(&t->languages, name);
}

int kl_taxonomy_cap(const struct kl_taxonomy *t, const char *name)
{
	return index_of(&t->caps, name);
}

int kl_taxonomy_op(const struct kl_taxonomy *t, const char *name)
{
	const struct kl_tax_op *op = kl_map_get(&t->op_names, name);

	return op ? (int)(op - t->op) : -1;
}

unsigned kl_taxonomy_roles(const struct kl_taxonomy *t, int op, const char *dim)
{
	for (; op >= 0; op = t->op[op].parent)
		for (size_t i = 0; i < t->op[op].ndim; i++)
			if (!strcmp(t->op[op].dim[i].name, dim))
				return t->op[op].dim[i].roles;
	return 0;
}

const struct kl_tax_platform *kl_taxonomy_platform(const struct kl_taxonomy *t, const char *name)
{
	for (size_t i = 0; i < t->nplatform; i++)
		if (!strcmp(t->platform[i].name, name))
			return &t->platform[i];
	return NULL;
}

/* --- operators ---------------------------------------------------------------- */

static int read_roles(struct kl_taxonomy *t, struct kl_node n)
{
	int err = kl_node_map(n, 1, KL_TAX_ROLES);

	for (size_t i = 0; !err && i < n.y->n; i++)
		kl_strvec_push(&t->roles, n.y->key[i]);
	return err;
}

static int read_dim(struct kl_tax_dim *d, const struct kl_taxonomy *t, const char *name,
		    struct kl_node n)
{
	int err = kl_node_list(n, 1, KL_TAX_ROLES);

	d->name = kl_strdup(name);
	for (size_t i = 0; !err && i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		const char *word;
		int role;

		if ((err = kl_node_text(&word, item)) < 0)
			return err;
		role = kl_taxonomy_role(t, word);
		if (role < 0)
			return kl_node_error(item, "no role '%.40s'", word);
		d->roles |= 1u << role;
	}
	return err;
}

static int add_name(struct kl_taxonomy *t, struct kl_tax_op *op, const char *name, struct kl_node n)
{
	if (!kl_node_is_slug(name))
		return kl_node_error(n, "'%.64s' is no name of an operator", name);
	if (kl_map_get(&t->op_names, name))
		return kl_node_error(n, "the name '%.64s' is there already", name);
	kl_map_put(&t->op_names, name, op);
	return 0;
}

static int read_op(struct kl_taxonomy *t, struct kl_tax_op *op, const char *name, struct kl_node n)
{
	static const char *const known[] = { "text", "under", "aka", "dims", NULL };
	struct kl_node under = kl_node_get(n, "under"), aka = kl_node_get(n, "aka");
	struct kl_node dims = kl_node_get(n, "dims");
	const char *word;
	int err = kl_node_keys(n, known, 1);

	op->name = kl_strdup(name);
	op->parent = -1;
	op->depth = 2;
	if (!err && under.y && !(err = kl_node_text(&word, under))) {
		op->parent = kl_taxonomy_op(t, word);
		if (op->parent < 0)
			return kl_node_error(under, "no operator '%.64s' above", word);
		op->depth = t->op[op->parent].depth + 1;
	}
	if (!err)
		err = add_name(t, op, name, n);
	if (!err && aka.y)
		err = kl_node_list(aka, 1, MAX_WORDS);
	for (size_t i = 0; !err && aka.y && i < aka.y->n; i++) {
		err = kl_node_text(&word, kl_node_item(aka, i));
		if (!err)
			err = add_name(t, op, word, kl_node_item(aka, i));
	}
	if (!err && dims.y)
		err = kl_node_map(dims, 1, MAX_WORDS);
	if (err || !dims.y)
		return err;
	op->dim = kl_calloc(dims.y->n, sizeof(*op->dim));
	for (; !err && op->ndim < dims.y->n; op->ndim++)
		err = read_dim(&op->dim[op->ndim], t, dims.y->key[op->ndim],
			       kl_node_item(dims, op->ndim));
	return err;
}

static int read_operators(struct kl_taxonomy *t, struct kl_node top)
{
	static const char *const known[] = { "klineage-operators", "roles", "operators", NULL };
	struct kl_node ops = kl_node_get(top, "operators");
	int64_t version;
	int err = kl_node_keys(top, known, 3);

	if (!err)
		err = kl_node_int(&version, kl_node_get(top, known[0]), 1, 1);
	if (!err)
		err = read_roles(t, kl_node_get(top, "roles"));
	if (!err)
		err = kl_node_map(ops, 1, MAX_OPS);
	if (err < 0)
		return err;
	t->op = kl_calloc(ops.y->n, sizeof(*t->op));
	for (size_t i = 0; !err && i < ops.y->n; i++) {
		t->nop++;
		err = read_op(t, &t->op[i], ops.y->key[i], kl_node_item(ops, i));
	}
	return err;
}

/* --- languages ----------------------------------------------------------------- */

static int read_pair(struct kl_taxonomy *t, struct kl_node n)
{
	static const char *const known[] = { "of", "similarity", NULL };
	struct kl_node of = kl_node_get(n, "of");
	size_t all = t->languages.n;
	double x;
	int err = kl_node_keys(n, known, 2), at[2] = { 0, 0 };

	if (!err)
		err = kl_node_list(of, 2, 2);
	for (size_t i = 0; !err && i < 2; i++) {
		const char *word;

		if ((err = kl_node_text(&word, kl_node_item(of, i))) < 0)
			return err;
		at[i] = kl_taxonomy_language(t, word);
		if (at[i] < 0)
			return kl_node_error(kl_node_item(of, i), "no language '%.40s'", word);
	}
	if (!err)
		err = kl_node_num_in(&x, kl_node_get(n, "similarity"), 0, 1);
	if (err < 0)
		return err;
	t->language_ppm[(size_t)at[0] * all + (size_t)at[1]] = (int64_t)(x * 1e6 + 0.5);
	t->language_ppm[(size_t)at[1] * all + (size_t)at[0]] = (int64_t)(x * 1e6 + 0.5);
	return 0;
}

static int read_languages(struct kl_taxonomy *t, struct kl_node top)
{
	static const char *const known[] = { "klineage-languages", "languages", "pairs", NULL };
	struct kl_node names = kl_node_get(top, "languages"), pairs = kl_node_get(top, "pairs");
	int64_t version;
	int err = kl_node_keys(top, known, 3);

	if (!err)
		err = kl_node_int(&version, kl_node_get(top, known[0]), 1, 1);
	if (!err)
		err = kl_node_map(names, 1, MAX_WORDS);
	if (!err)
		err = kl_node_list(pairs, 0, MAX_WORDS * MAX_WORDS);
	for (size_t i = 0; !err && i < names.y->n; i++)
		kl_strvec_push(&t->languages, names.y->key[i]);
	t->language_ppm = kl_calloc(t->languages.n * t->languages.n + 1, sizeof(*t->language_ppm));
	for (size_t i = 0; i < t->languages.n; i++)
		t->language_ppm[i * t->languages.n + i] = 1000000;
	for (size_t i = 0; !err && i < pairs.y->n; i++)
		err = read_pair(t, kl_node_item(pairs, i));
	return err;
}

/* --- capabilities ---------------------------------------------------------------- */

/* set or clear each capability of a list */
static int read_set(struct kl_capset *set, const struct kl_taxonomy *t, struct kl_node n, bool on)
{
	int err = n.y ? kl_node_list(n, 1, KL_TAX_CAPS) : 0;

	for (size_t i = 0; !err && n.y && i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		const char *word;
		int cap;

		if ((err = kl_node_text(&word, item)) < 0)
			return err;
		cap = kl_taxonomy_cap(t, word);
		if (cap < 0)
			return kl_node_error(item, "no capability '%.40s'", word);
		if (kl_capset_has(set, cap) == on)
			return kl_node_error(item, "'%.40s' is %s already", word,
					     on ? "there" : "gone");
		set->w[cap / 64] ^= (uint64_t)1 << cap % 64;
	}
	return err;
}

static void put_number(struct kl_tax_platform *p, const char *name, int64_t v)
{
	size_t i;

	for (i = 0; i < p->nnumber && strcmp(p->number[i].name, name); i++)
		;
	if (i == p->nnumber) {
		p->number = kl_realloc(p->number, ++p->nnumber, sizeof(*p->number));
		p->number[i].name = kl_strdup(name);
	}
	p->number[i].v = v;
}

static int read_numbers(struct kl_tax_platform *p, struct kl_node n)
{
	int err = n.y ? kl_node_map(n, 1, MAX_WORDS) : 0;
	int64_t v;

	for (size_t i = 0; !err && n.y && i < n.y->n; i++) {
		err = kl_node_int(&v, kl_node_item(n, i), 0, INT64_MAX / 2);
		if (!err)
			put_number(p, n.y->key[i], v);
	}
	return err;
}

static int read_platform(struct kl_taxonomy *t, struct kl_tax_platform *p, const char *name,
			 struct kl_node n)
{
	static const char *const known[] = { "like", "has", "without", "numbers", NULL };
	struct kl_node like = kl_node_get(n, "like");
	const struct kl_tax_platform *base;
	const char *word;
	int err = kl_node_keys(n, known, 0);

	if (!err && like.y && !(err = kl_node_text(&word, like))) {
		base = kl_taxonomy_platform(t, word);
		if (!base)
			return kl_node_error(like, "no platform '%.40s' above", word);
		p->has = base->has;
		for (size_t i = 0; i < base->nnumber; i++)
			put_number(p, base->number[i].name, base->number[i].v);
	}
	p->name = kl_strdup(name);
	if (!err)
		err = read_set(&p->has, t, kl_node_get(n, "has"), true);
	if (!err)
		err = read_set(&p->has, t, kl_node_get(n, "without"), false);
	return err ? err : read_numbers(p, kl_node_get(n, "numbers"));
}

static int read_capabilities(struct kl_taxonomy *t, struct kl_node top)
{
	static const char *const known[] = { "klineage-capabilities", "capabilities", "platforms",
					     NULL };
	struct kl_node caps = kl_node_get(top, "capabilities"), all = kl_node_get(top, "platforms");
	int64_t version;
	int err = kl_node_keys(top, known, 3);

	if (!err)
		err = kl_node_int(&version, kl_node_get(top, known[0]), 1, 1);
	if (!err)
		err = kl_node_map(caps, 1, KL_TAX_CAPS);
	if (!err)
		err = kl_node_map(all, 1, MAX_OPS);
	if (err < 0)
		return err;
	for (size_t i = 0; i < caps.y->n; i++)
		kl_strvec_push(&t->caps, caps.y->key[i]);
	t->platform = kl_calloc(all.y->n, sizeof(*t->platform));
	for (size_t i = 0; !err && i < all.y->n; i++) {
		err = read_platform(t, &t->platform[i], all.y->key[i], kl_node_item(all, i));
		t->nplatform++;
	}
	return err;
}

/* --- files ------------------------------------------------------------------------ */

static int read_file(struct kl_taxonomy *t, struct kl_digest *d, const char *dir, const char *name,
		     int (*read)(struct kl_taxonomy *t, struct kl_node top))
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_yaml_parse(&y, path, text.ptr, text.len);
	if (!err)
		err = read(t, (struct kl_node){ path, y, "the file" });
	kl_digest_adds(d, name);
	kl_digest_add(d, text.ptr, text.len);
	return err;
}

int kl_taxonomy_load_dir(struct kl_taxonomy **out, const char *dir)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *t = kl_calloc(1, sizeof(*t));
	struct kl_digest *d = kl_digest_new();
	int err = read_file(t, d, dir, "operators.yaml", read_operators);

	if (!err)
		err = read_file(t, d, dir, "languages.yaml", read_languages);
	if (!err)
		err = read_file(t, d, dir, "capabilities.yaml", read_capabilities);
	kl_digest_end(d, t->digest);
	if (err < 0)
		return err;
	*out = kl_steal(&t);
	return 0;
}

int kl_taxonomy_load(struct kl_taxonomy **out)
{
	KL_AUTO(kl_freep) char *dir = NULL;
	int err = kl_fs_share(&dir, "templates");

	return err < 0 ? err : kl_taxonomy_load_dir(out, dir);
}
