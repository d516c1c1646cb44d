/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/skeleton.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "contract/contract.h"
#include "contract/prototype.h"
#include "text/template.h"
#include "text/yaml_node.h"

#define MAX_TEMPLATE (64 * 1024)

enum use { USE_DIM, USE_SCALAR, USE_IN, USE_OUT, USE_INOUT, USE_UNKNOWN };

static enum use use_of(const struct kl_param *p)
{
	if (!p->dtype)
		return USE_UNKNOWN;
	if (p->pointer)
		return p->is_const ? USE_IN : p->read_first ? USE_INOUT : USE_OUT;
	if (!strcmp(p->dtype, "i64") || !strcmp(p->dtype, "i32") || !strcmp(p->dtype, "u64") ||
	    !strcmp(p->dtype, "u32"))
		return USE_DIM;
	return USE_SCALAR;
}

static bool is_wide(const struct kl_param *p)
{
	return !strcmp(p->dtype, "i64") || !strcmp(p->dtype, "u64");
}

/* --- pieces of the contract -------------------------------------------------- */

static const struct kl_param *find_dim(const struct kl_proto *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (use_of(&p->param[i]) == USE_DIM && !strcmp(p->param[i].name, name))
			return &p->param[i];
	return NULL;
}

/* "N", "64": what p[N][64] says; anything else is for the author. */
static void add_shape(struct kl_buf *b, const struct kl_proto *p, const struct kl_param *a)
{
	if (!a->extent.n)
		kl_buf_adds(b, "TODO");
	for (size_t i = 0; i < a->extent.n; i++) {
		const char *e = a->extent.v[i];
		bool number = *e && *e != '0' && !e[strspn(e, "0123456789")];

		kl_buf_addf(b, "%s%s", i ? ", " : "", number || find_dim(p, e) ? e : "TODO");
	}
}

static void add_arg(struct kl_buf *b, const struct kl_proto *p, const struct kl_param *a)
{
	enum use use = use_of(a);

	kl_buf_addf(b, "  - {name: %s, ", a->name);
	switch (use) {
	case USE_DIM:
		kl_buf_addf(b, "kind: dim%s}", is_wide(a) ? "" : ", dtype: i32");
		if (a->dtype[0] == 'u')
			kl_buf_addf(b, "    # %s here: called with values from 0", a->type);
		break;
	case USE_SCALAR:
		kl_buf_addf(b, "kind: scalar, dtype: %s, value: TODO}", a->dtype);
		break;
	case USE_UNKNOWN:
		kl_buf_addf(b, "kind: TODO}    # '%s%s' is no type a contract knows", a->type,
			    a->pointer ? " *" : "");
		break;
	default:
		kl_buf_addf(b, "kind: %s, dtype: %s, shape: [",
			    use == USE_IN  ? "in" :
			    use == USE_OUT ? "out" :
					     "inout",
			    a->dtype);
		add_shape(b, p, a);
		kl_buf_adds(b, "]");
		if (use != USE_OUT)
			kl_buf_addf(b, ", fill: %s",
				    kl_dtype_is_float(a->dtype) ? "normal" : "TODO");
		kl_buf_adds(b, "}");
		if (!strcmp(a->dtype, "u16"))
			kl_buf_adds(b, "    # or f16, bf16, if that is what it stores");
		else if (use == USE_INOUT)
			kl_buf_adds(b, "    # inout: it seems to be read first; out, if not");
	}
	kl_buf_adds(b, "\n");
}

/* "n: TODO, m: TODO"; a kernel without extents has at least one dim all the same. */
static char *dims_with(const struct kl_proto *p, const char *sep, const char *const *values,
		       size_t nvalues)
{
	struct kl_buf b = KL_BUF_INIT;
	size_t k = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (use_of(&p->param[i]) != USE_DIM)
			continue;
		kl_buf_addf(&b, "%s%s%s%s", k ? ", " : "", p->param[i].name, sep,
			    values[k % nvalues]);
		k++;
	}
	if (!k)
		kl_buf_addf(&b, "size%s%s", sep, values[0]);
	return kl_buf_detach(&b);
}

static char *accept_of(const struct kl_proto *p)
{
	struct kl_buf list = KL_BUF_INIT;
	bool floats = false, others = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct kl_param *a = &p->param[i];
		enum use use = use_of(a);

		if (use != USE_OUT && use != USE_INOUT)
			continue;
		if (kl_dtype_is_float(a->dtype)) {
			floats = true;
			kl_buf_addf(&list, "\n  - {rule: noise, out: %s, max: 4, rms: 2}", a->name);
		} else {
			others = true;
			kl_buf_addf(&list, "\n  - {rule: exact, out: %s}", a->name);
		}
	}
	if (floats && others)
		return kl_buf_detach(&list);
	kl_buf_release(&list);
	return kl_strdup(others ? " {rule: exact}" : " {rule: noise, max: 4, rms: 2}");
}

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/";

/* Could a contract list it? Others are left to the author. */
static bool is_source(const struct kl_language *language, const char *path)
{
	return kl_suffix_in(path, language->suffixes) && kl_fs_path_ok(path) &&
	       !path[strspn(path, plain)] && path[0] != '-' && !strstr(path, "/-");
}

static char *sources_of(const struct kl_language *language, const struct kl_proto *p,
			const char *leaf)
{
	struct kl_strvec all = KL_STRVEC_INIT;
	struct kl_buf b = KL_BUF_INIT;

	kl_strvec_push(&all, leaf);
	for (size_t i = 0; i < p->headers.n; i++)
		if (is_source(language, p->headers.v[i]) && !kl_strvec_has(&all, p->headers.v[i]))
			kl_strvec_push(&all, p->headers.v[i]);
	for (size_t i = 0; i < all.n; i++)
		kl_buf_addf(&b, "%s%s", i ? ", " : "", all.v[i]);
	kl_strvec_release(&all);
	return kl_buf_detach(&b);
}

/* The first float input, as an example of a band. */
static const char *example_input(const struct kl_proto *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (use_of(&p->param[i]) == USE_IN && kl_dtype_is_float(p->param[i].dtype))
			return p->param[i].name;
	return "x";
}

/* --- the oracle ------------------------------------------------------------------ */

static char *oracle_prototype(const struct kl_proto *p)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_buf_adds(&b, "void oracle(");
	for (size_t i = 0; i < p->n; i++) {
		const struct kl_param *a = &p->param[i];
		bool real = a->dtype && kl_dtype_is_float(a->dtype);

		kl_buf_addf(&b, "%s%s%s %s%s", i ? ", " : "",
			    a->pointer && a->is_const ? "const " : "", real ? "kl_real" : a->type,
			    a->pointer ? "*" : "", a->name);
	}
	kl_buf_adds(&b, ")");
	return kl_buf_detach(&b);
}

/* --- all of it ------------------------------------------------------------------- */

/* "Conv2D_nhwc" -> "conv2d_nhwc" -> a slug. */
static char *slug_of(const char *name)
{
	char *s = kl_strndup(name, 64);

	for (char *c = s; *c; c++)
		*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
	return s;
}

/* The language of the file, if it is one of those that can be started from a prototype. */
static int find_language(const struct kl_language **out, const char *leaf)
{
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	for (size_t i = 0; kl_languages.row[i]; i++) {
		const struct kl_language *one = kl_languages.row[i];

		if (!one->init)
			continue;
		*out = one;
		if (kl_suffix_in(leaf, one->mains))
			return 0;
		kl_buf_addf(&known, "%s%s source (%s)", known.len ? " or " : "", one->title,
			    one->mains[0]);
	}
	return kl_error(KL_EINVALID, "'%s' is no %s", leaf, known.ptr);
}

/* Names go into YAML and code as they stand, so they must be plain. */
static int check_names(const struct kl_language *language, const struct kl_proto *p,
		       const char *leaf)
{
	if (!strcmp(leaf, language->init->oracle_name))
		return kl_error(KL_EINVALID, "'%s' is the name of the oracle: rename this file",
				leaf);
	if (strchr(leaf, '/') || !is_source(language, leaf))
		return kl_error(KL_EINVALID, "'%s': rename the file to letters, digits and . _ + -",
				leaf);
	if (!kl_node_is_ident(p->name))
		return kl_error(KL_EINVALID, "'%s' is no plain name of at most 63 bytes", p->name);
	for (size_t i = 0; i < p->n; i++) {
		const char *name = p->param[i].name;

		if (!kl_node_is_ident(name))
			return kl_error(KL_EINVALID,
					"parameter '%s' of '%s': "
					"no plain name of at most 63 bytes",
					name, p->name);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(p->param[k].name, name))
				return kl_error(KL_EINVALID,
						"two parameters of '%s' are called '%s'", p->name,
						name);
	}
	return 0;
}

static void make_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			*s = '?';
}

static int fill_template(struct kl_buf *out, const char *template, const struct kl_map *values)
{
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_share(&path, template);

	if (!err)
		err = kl_fs_read(&text, path, MAX_TEMPLATE);
	return err < 0 ? err : kl_template_fill(out, text.ptr, values);
}

static void put_owned(struct kl_map *m, const char *key, char *owned)
{
	kl_map_put(m, key, owned);
}

static void contract_values(struct kl_map *m, const struct kl_language *language,
			    const struct kl_proto *p, const char *leaf)
{
	static const char *const todo[] = { "TODO" };
	static const char *const ones[] = { "1" };
	/*
	 * 61: the noise rule compares root mean squares, and those of a few elements differ by
	 * chance
	 */
	static const char *const odds[] = { "61", "13", "5", "31", "3", "11" };
	static const char *const example[] = { "..." };
	struct kl_buf args = KL_BUF_INIT;

	for (size_t i = 0; i < p->n; i++)
		add_arg(&args, p, &p->param[i]);
	put_owned(m, "ARGS", kl_buf_detach(&args));
	put_owned(m, "DIMS", dims_with(p, ": ", todo, 1));
	put_owned(m, "EXAMPLE", dims_with(p, ": ", example, 1));
	put_owned(m, "ONES", dims_with(p, ": ", ones, 1));
	put_owned(m, "ODDS", dims_with(p, ": ", odds, KL_ARRAY_SIZE(odds)));
	put_owned(m, "DOMAIN", dims_with(p, " >= ", ones, 1));
	put_owned(m, "SOURCES", sources_of(language, p, leaf));
	put_owned(m, "ACCEPT", accept_of(p));
	put_owned(m, "INPUT", kl_strdup(example_input(p)));
}

/* Comments apart: there the word would be about itself. */
static size_t count_todo(const char *text)
{
	size_t n = 0;

	while (*text) {
		const char *end = strchrnul(text, '\n');
		const char *hash = memchr(text, '#', (size_t)(end - text));
		const char *stop = hash ? hash : end;

		for (const char *s = text; (s = memmem(s, (size_t)(stop - s), "TODO", 4)); s += 4)
			n++;
		text = *end ? end + 1 : end;
	}
	return n;
}

int kl_skeleton_make(struct kl_skeleton *sk, const char *leaf, const char *text, size_t len,
		     const char *entry, const char *workload)
{
	const struct kl_language *language = NULL;
	KL_AUTO(kl_proto_freep) struct kl_proto *p = NULL;
	KL_AUTO(kl_map_release) struct kl_map m = { .free_value = free };
	KL_AUTO(kl_freep) char *slug = NULL;
	int err;

	if (workload && !kl_node_is_slug(workload))
		return kl_error(KL_EINVALID,
				"'%s' is no workload's name: [a-z0-9][a-z0-9._-]*, at most 64",
				workload);
	err = kl_proto_read(&p, text, len, entry);
	if (!err)
		err = find_language(&language, leaf);
	if (!err)
		err = check_names(language, p, leaf);
	if (err < 0)
		return kl_error_in(err, "%s", leaf);
	slug = slug_of(p->name);
	if (!workload && !kl_node_is_slug(slug))
		return kl_error(KL_EINVALID,
				"%s: '%s' makes no workload's name: say --workload <name>", leaf,
				p->name);
	make_printable(p->text);
	for (size_t i = 0; i < p->n; i++)
		make_printable(p->param[i].type);
	put_owned(&m, "ENTRY", kl_strdup(p->name));
	put_owned(&m, "WORKLOAD", kl_strdup(workload ? workload : slug));
	put_owned(&m, "OP", kl_strdup(kl_node_is_slug(slug) ? slug : workload));
	put_owned(&m, "PROTOTYPE", kl_strdup(p->text));
	contract_values(&m, language, p, leaf);
	if ((err = fill_template(&sk->contract, language->init->contract, &m)) < 0)
		return err;
	put_owned(&m, "PROTOTYPE", oracle_prototype(p));
	if ((err = fill_template(&sk->oracle, language->init->oracle, &m)) < 0)
		return err;
	sk->oracle_name = language->init->oracle_name;
	sk->todo = count_todo(sk->contract.ptr);
	sk->prototype = kl_steal(&p->text);
	return 0;
}

void kl_skeleton_release(struct kl_skeleton *sk)
{
	kl_buf_release(&sk->contract);
	kl_buf_release(&sk->oracle);
	kl_freep(&sk->prototype);
}
