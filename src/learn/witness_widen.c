/* SPDX-License-Identifier: Apache-2.0 */
/* witness_widen - a kernel without the clause in contract and plan, and points where it is false */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "card/predicate.h"
#include "contract/launch.h"
#include "learn/witness_parts.h"
#include "text/yaml_write.h"

/* steps from a judged point, the smallest first; beyond tiles of 256 nothing was seen to matter */
static const int64_t step[] = {
	1, -1, 2,  -2,  3,  -3,  4,  -4,  5,   -5,   7,   -7,
	8, -8, 16, -16, 32, -32, 64, -64, 128, -128, 256, -256,
};

void kl_widening_release(struct kl_widening *w)
{
	kl_surface_free(w->to);
	kl_surface_free(w->from);
	free(w->words);
	kl_strvec_release(&w->dropped);
	*w = (struct kl_widening){ 0 };
}

int kl_widening_which(const struct kl_widening *w, const char *id)
{
	size_t all = kl_contract_npoints(w->to->contract);

	for (size_t i = w->first; i < all; i++) {
		char name[32];

		kl_contract_point(w->to->contract, i, name);
		if (!strcmp(name, id))
			return (int)(i - w->first);
	}
	return -1;
}

char *kl_witness_point_words(const struct kl_contract *c, const struct kl_dims *d)
{
	struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < d->n; i++)
		kl_buf_addf(&b, "%s%s = %lld", i ? ", " : "", c->dim_name[i], (long long)d->v[i]);
	return kl_buf_detach(&b);
}

/* --- the domain without the clause ------------------------------------------------------------ */

static struct kl_predicate *parse_predicate(const char *text)
{
	struct kl_predicate *p = NULL;

	if (kl_predicate_parse(&p, text, NULL) < 0)
		kl_error_clear();
	return p;
}

/* what is left of a promise that the clause follows from: its other conjuncts */
static void relax_clause(struct kl_strvec *domain, struct kl_strvec *dropped, const char *item,
			 const char *clause)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *old = parse_predicate(item);
	KL_AUTO(kl_predicate_freep) struct kl_predicate *now = parse_predicate(clause);
	KL_AUTO(kl_strvec_release) struct kl_strvec left = KL_STRVEC_INIT;
	enum kl_relation r = old && now ? kl_predicate_relation(old, now, &left) :
					  KL_RELATION_OTHER;

	if (r != KL_RELATION_SAME && r != KL_RELATION_WEAKER) {
		kl_strvec_push(domain, item);
		return;
	}
	kl_strvec_push(dropped, item);
	kl_strvec_pushv(domain, (const char *const *)left.v);
}

/* --- the contract's text ---------------------------------------------------------------------- */

static struct kl_yaml *texts_value(const struct kl_strvec *v)
{
	struct kl_yaml *seq = kl_yaml_new_seq();

	for (size_t i = 0; i < v->n; i++)
		kl_yaml_push(seq, kl_yaml_new_text(v->v[i]));
	return seq;
}

static struct kl_yaml *point_value(const struct kl_contract *c, const struct kl_dims *d)
{
	struct kl_yaml *map = kl_yaml_new_map();

	for (size_t i = 0; i < d->n; i++) {
		char value[32];

		snprintf(value, sizeof(value), "%lld", (long long)d->v[i]);
		kl_yaml_put(map, c->dim_name[i], kl_yaml_new_plain(value));
	}
	return map;
}

static struct kl_yaml *points_value(const struct kl_contract *c, const struct kl_dims *more,
				    size_t n)
{
	struct kl_yaml *seq = kl_yaml_new_seq();

	for (size_t i = 0; i < c->nalso; i++)
		kl_yaml_push(seq, point_value(c, &c->also[i]));
	for (size_t i = 0; i < n; i++)
		kl_yaml_push(seq, point_value(c, &more[i]));
	return seq;
}

/* as it is, but for `domain` and `also` */
static int write_contract(struct kl_buf *out, const struct kl_surface *s,
			  const struct kl_strvec *domain, const struct kl_dims *more, size_t n)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *top = NULL, *made = kl_yaml_new_map();
	const struct kl_file *f = &s->contract_file;
	int err = kl_yaml_parse(&top, s->contract->name, f->data, f->len);

	if (err < 0)
		return err;
	for (size_t i = 0; i < top->n; i++) {
		if (!strcmp(top->key[i], "domain") || !strcmp(top->key[i], "also"))
			continue;
		kl_yaml_put(made, top->key[i], top->item[i]);
		top->item[i] = kl_yaml_new_map();
	}
	kl_yaml_put(made, "domain", texts_value(domain));
	kl_yaml_put(made, "also", points_value(s->contract, more, n));
	kl_yaml_emit(out, made);
	return 0;
}

static int rewrite_contract(struct kl_surface **out, const struct kl_surface *s,
			    const struct kl_strvec *domain, const struct kl_dims *more, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = write_contract(&text, s, domain, more, n);

	return err < 0 ? err : kl_surface_with_contract(out, s, text.ptr, text.len);
}

/* --- what a launch plan asks for -------------------------------------------------------------- */

/* a promise like the contract's, in other words: "N % BN == 0" */
static bool is_promise(const char *item, const struct kl_strvec *keys)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = parse_predicate(item);
	KL_AUTO(kl_strvec_release) struct kl_strvec own = KL_STRVEC_INIT;

	if (!p || (!strchr(item, '%') && !strstr(item, "==")))
		return false;
	kl_predicate_keys(&own, p);
	for (size_t i = 0; i < own.n; i++)
		if (kl_strvec_has(keys, own.v[i]))
			return true;
	return false;
}

static int write_plan(struct kl_buf *out, const struct kl_file *f, const struct kl_strvec *keys)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	const struct kl_yaml *require;
	int err = kl_yaml_parse(&y, f->path, f->data, f->len);

	if (!err && (y->kind != KL_YAML_MAP || !y->n))
		err = kl_error(KL_EINVALID, "%s: no launch plan", f->path);
	if (err < 0)
		return err;
	require = kl_yaml_get(y, "require");
	for (size_t i = 0; require && require->kind == KL_YAML_SEQ && i < require->n; i++) {
		struct kl_yaml *item = require->item[i];

		if (item->kind != KL_YAML_SCALAR || !is_promise(item->text, keys))
			continue;
		free(item->text); /* in its place what holds everywhere */
		item->text = kl_strdup("1 == 1");
		item->len = strlen(item->text);
	}
	kl_yaml_emit(out, y);
	return 0;
}

/* the surface whose plan does not ask for what the clause is about */
static int relax_plan(struct kl_surface **out, const struct kl_surface *s, const char *clause)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = parse_predicate(clause);
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_file edit = { .path = s->contract->launch };
	int err = 0;

	if (p)
		kl_predicate_keys(&keys, p);
	for (size_t i = 0; edit.path && i < s->nfile; i++)
		if (!strcmp(s->file[i].path, edit.path))
			err = write_plan(&text, &s->file[i], &keys);
	edit.data = text.ptr;
	edit.len = text.len;
	return err < 0 ? err : kl_surface_with(out, s, &edit, text.len > 0);
}

/* --- points ----------------------------------------------------------------------------------- */

struct search {
	const struct kl_widen_of *of;
	const struct kl_contract *c;
	struct kl_strvec domain;            /* what is still promised */
	struct kl_surface *wide;            /* K_i under that, no point more */
	const struct kl_surface *to, *from; /* as they are, or their plans ask for less */
	struct kl_surface *relaxed[2];
	int64_t most;                /* bytes of a point */
	size_t *order;               /* judged points, the smallest first */
	bool to_stands, from_stands; /* are their launch plans to make a launch there? */
	bool required;               /* K_i's plan refused some: its author's word, not tried */
};

static void search_release(struct search *s)
{
	kl_strvec_release(&s->domain);
	kl_surface_free(s->wide);
	kl_surface_free(s->relaxed[0]);
	kl_surface_free(s->relaxed[1]);
	free(s->order);
}

static int64_t point_bytes(const struct kl_contract *c, const struct kl_dims *d)
{
	int64_t n;

	if (kl_contract_bytes(&n, c, d) == 0)
		return n;
	kl_error_clear();
	return INT64_MAX;
}

static void order_points(struct search *s)
{
	size_t n = kl_contract_npoints(s->c);

	s->order = kl_calloc(n + 1, sizeof(*s->order));
	for (size_t i = 0; i < n; i++) {
		int64_t own = point_bytes(s->c, kl_contract_point(s->c, i, NULL));
		size_t k = i;

		for (; k && point_bytes(s->c, kl_contract_point(s->c, s->order[k - 1], NULL)) > own;
		     k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = i;
		if (own > s->most && own < INT64_MAX)
			s->most = own;
	}
}

/*
 * the clause is false there, and nothing else that is known of the card or promised by the contract
 */
static bool is_alone(const struct search *s, const struct kl_dims *d)
{
	const struct kl_clauses *c = s->of->clauses;

	if (kl_contract_in_domain(s->wide->contract, d) < 0) {
		kl_error_clear();
		return false;
	}
	for (size_t i = 0; i < c->v.n; i++) {
		KL_AUTO(kl_freep) char *test = kl_clauses_one(c, i);
		enum kl_truth want = i == s->of->i ? KL_FALSE : KL_TRUE;

		if (kl_target_test_at(s->of->at, test, s->c, d) != want)
			return false;
	}
	return point_bytes(s->c, d) <= 2 * s->most;
}

static bool clause_stands(struct search *s, const struct kl_surface *surface,
			  const struct kl_dims *d)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *there = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *plan = NULL;
	int err = rewrite_contract(&there, surface, &s->domain, d, 1);

	if (!err && there->contract->launch)
		err = kl_launch_read(&plan, there, false);
	if (err == KL_EINVALID && surface == s->to && strstr(kl_error_last(), "does not hold"))
		s->required = true;
	if (err < 0)
		kl_error_clear();
	return !err;
}

static bool point_fits(struct search *s, const struct kl_dims *d)
{
	return is_alone(s, d) && (!s->to_stands || clause_stands(s, s->to, d)) &&
	       (!s->from_stands || clause_stands(s, s->from, d));
}

static void look_around(struct kl_widening *out, struct search *s, size_t max)
{
	size_t n = kl_contract_npoints(s->c);

	for (size_t k = 0; k < KL_ARRAY_SIZE(step); k++)
		for (size_t p = 0; p < n; p++)
			for (size_t i = 0; i < s->c->dims.n; i++) {
				struct kl_dims d = *kl_contract_point(s->c, s->order[p], NULL);
				bool known = false;

				d.v[i] += step[k];
				for (size_t j = 0; j < out->n; j++)
					known |= !memcmp(&out->point[j], &d, sizeof(d));
				if (d.v[i] < 1 || known || !point_fits(s, &d))
					continue;
				out->point[out->n++] = d;
				if (out->n == max)
					return;
			}
}

/* where both kernels can be launched; else where this one can */
static void look_wider(struct kl_widening *out, struct search *s)
{
	s->to_stands = s->from_stands = kl_backend_of(s->c)->device != NULL;
	look_around(out, s, KL_WITNESS_POINTS);
	s->from_stands = false;
	if (!out->n && s->to_stands)
		look_around(out, s, KL_WITNESS_POINTS);
}

static int find_points(struct kl_widening *out, struct search *s)
{
	const char *clause = s->of->clauses->v.v[s->of->i];
	int err = 0;

	look_wider(out, s);
	if (!out->n && s->required) {
		if ((err = relax_plan(&s->relaxed[0], s->of->to, clause)) < 0 ||
		    (err = relax_plan(&s->relaxed[1], s->of->from, clause)) < 0)
			return err;
		s->to = s->relaxed[0];
		s->from = s->relaxed[1];
		s->required = false;
		look_wider(out, s);
	}
	if (!out->n && s->required)
		return kl_error(KL_ENO,
				"its launch plan itself refuses such points: nothing would be run");
	s->to_stands = false;
	if (!out->n) /* what a device cannot launch is a failure, too */
		look_around(out, s, 1);
	return out->n ? 0 :
			kl_error(KL_ENO, "no point near those that are judged has it alone false");
}

static void describe_widening(struct kl_widening *out, const struct kl_contract *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < out->n; i++) {
		KL_AUTO(kl_freep) char *one = kl_witness_point_words(c, &out->point[i]);

		kl_buf_addf(&b, "%s%s", i ? "; " : "", one);
	}
	out->words = kl_buf_detach(&b);
}

static int no_contract(int err)
{
	if (err != KL_EINVALID)
		return err;
	return kl_error_in(KL_ENO, "the contract cannot be widened");
}

int kl_widen(struct kl_widening *out, const struct kl_widen_of *of)
{
	KL_AUTO(search_release) struct search s = {
		.of = of,
		.c = of->to->contract,
		.to = of->to,
		.from = of->from,
	};
	KL_AUTO(kl_widening_release) struct kl_widening w = { 0 };
	int err;

	for (size_t i = 0; i < s.c->ndomain; i++)
		relax_clause(&s.domain, &w.dropped, s.c->domain_text[i], of->clauses->v.v[of->i]);
	if ((err = rewrite_contract(&s.wide, of->to, &s.domain, NULL, 0)) < 0)
		return no_contract(err);
	if (s.c->nalso + KL_WITNESS_POINTS > KL_MAX_ALSO)
		return kl_error(KL_ENO, "the contract has too many points for more");
	order_points(&s);
	if ((err = find_points(&w, &s)) < 0)
		return err;
	w.first = kl_contract_npoints(s.c);
	if ((err = rewrite_contract(&w.to, s.to, &s.domain, w.point, w.n)) < 0 ||
	    (err = rewrite_contract(&w.from, s.from, &s.domain, w.point, w.n)) < 0)
		return no_contract(err);
	describe_widening(&w, s.c);
	*out = w;
	w = (struct kl_widening){ 0 };
	return 0;
}
