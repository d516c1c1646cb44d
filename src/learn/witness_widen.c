/* SPDX-License-Identifier: Apache-2.0 */
/* witness_widen - drops a clause from contract and plan, and finds points where it is false */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "card/predicate.h"
#include "contract/launch.h"
#include "learn/witness_parts.h"
#include "text/yaml_write.h"

/*
 * Offsets from a judged point, the smallest first. No known kernel depends on a power of two above
 * 256, so larger offsets are not tried.
 */
static const int64_t offset[] = {
	1, -1, 2,  -2,  3,  -3,  4,  -4,  5,   -5,   7,   -7,
	8, -8, 16, -16, 32, -32, 64, -64, 128, -128, 256, -256,
};

void kl_widening_release(struct kl_widening *widening)
{
	kl_surface_free(widening->to);
	kl_surface_free(widening->from);
	free(widening->words);
	kl_strvec_release(&widening->dropped);
	*widening = (struct kl_widening){ 0 };
}

int kl_widening_which(const struct kl_widening *widening, const char *id)
{
	size_t all = kl_contract_npoints(widening->to->contract);

	for (size_t i = widening->first; i < all; i++) {
		char name[32];

		kl_contract_point(widening->to->contract, i, name);
		if (!strcmp(name, id))
			return (int)(i - widening->first);
	}
	return -1;
}

char *kl_witness_point_words(const struct kl_contract *contract, const struct kl_dims *dims)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < dims->n; i++)
		kl_buf_addf(&buf, "%s%s = %lld", i ? ", " : "", contract->dim_name[i],
			    (long long)dims->v[i]);
	return kl_buf_detach(&buf);
}

/* --- the domain without the clause ------------------------------------------------------------ */

static struct kl_predicate *parse_predicate(const char *text)
{
	struct kl_predicate *predicate = NULL;

	if (kl_predicate_parse(&predicate, text, NULL) < 0)
		kl_error_clear();
	return predicate;
}

/*
 * Copy the condition `item` to `domain`. If it implies the clause, put it into `dropped` instead,
 * and copy only those of its conjuncts that do not follow from the clause.
 */
static void relax_clause(struct kl_strvec *domain, struct kl_strvec *dropped, const char *item,
			 const char *clause)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *old = parse_predicate(item);
	KL_AUTO(kl_predicate_freep) struct kl_predicate *now = parse_predicate(clause);
	KL_AUTO(kl_strvec_release) struct kl_strvec remaining = KL_STRVEC_INIT;
	enum kl_relation relation = old && now ? kl_predicate_relation(old, now, &remaining) :
						 KL_RELATION_OTHER;

	if (relation != KL_RELATION_SAME && relation != KL_RELATION_WEAKER) {
		kl_strvec_push(domain, item);
		return;
	}
	kl_strvec_push(dropped, item);
	kl_strvec_pushv(domain, (const char *const *)remaining.v);
}

/* --- the contract's text ---------------------------------------------------------------------- */

static struct kl_yaml *texts_value(const struct kl_strvec *list)
{
	struct kl_yaml *seq = kl_yaml_new_seq();

	for (size_t i = 0; i < list->n; i++)
		kl_yaml_push(seq, kl_yaml_new_text(list->v[i]));
	return seq;
}

static struct kl_yaml *point_value(const struct kl_contract *contract, const struct kl_dims *dims)
{
	struct kl_yaml *map = kl_yaml_new_map();

	for (size_t i = 0; i < dims->n; i++) {
		char value[32];

		snprintf(value, sizeof(value), "%lld", (long long)dims->v[i]);
		kl_yaml_put(map, contract->dim_name[i], kl_yaml_new_plain(value));
	}
	return map;
}

static struct kl_yaml *points_value(const struct kl_contract *contract, const struct kl_dims *more,
				    size_t n)
{
	struct kl_yaml *seq = kl_yaml_new_seq();

	for (size_t i = 0; i < contract->nalso; i++)
		kl_yaml_push(seq, point_value(contract, &contract->also[i]));
	for (size_t i = 0; i < n; i++)
		kl_yaml_push(seq, point_value(contract, &more[i]));
	return seq;
}

/* Write the contract with another `domain`, and with new points added to `also`. */
static int write_contract(struct kl_buf *out, const struct kl_surface *surface,
			  const struct kl_strvec *domain, const struct kl_dims *more, size_t n)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *top = NULL, *made = kl_yaml_new_map();
	const struct kl_file *file = &surface->contract_file;
	int err = kl_yaml_parse(&top, surface->contract->name, file->data, file->len);

	if (err < 0)
		return err;
	for (size_t i = 0; i < top->n; i++) {
		if (!strcmp(top->key[i], "domain") || !strcmp(top->key[i], "also"))
			continue;
		kl_yaml_put(made, top->key[i], top->item[i]);
		top->item[i] = kl_yaml_new_map();
	}
	kl_yaml_put(made, "domain", texts_value(domain));
	kl_yaml_put(made, "also", points_value(surface->contract, more, n));
	kl_yaml_emit(out, made);
	return 0;
}

static int rewrite_contract(struct kl_surface **out, const struct kl_surface *surface,
			    const struct kl_strvec *domain, const struct kl_dims *more, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = write_contract(&text, surface, domain, more, n);

	return err < 0 ? err : kl_surface_with_contract(out, surface, text.ptr, text.len);
}

/* --- requirements of a launch plan ------------------------------------------------------------ */

/*
 * Check that a requirement uses one of the keys and is a divisibility or an equality, such as "N %
 * BN == 0".
 */
static bool is_promise(const char *item, const struct kl_strvec *keys)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = parse_predicate(item);
	KL_AUTO(kl_strvec_release) struct kl_strvec own = KL_STRVEC_INIT;

	if (!predicate || (!strchr(item, '%') && !strstr(item, "==")))
		return false;
	kl_predicate_keys(&own, predicate);
	for (size_t i = 0; i < own.n; i++)
		if (kl_strvec_has(keys, own.v[i]))
			return true;
	return false;
}

static int write_plan(struct kl_buf *out, const struct kl_file *file, const struct kl_strvec *keys)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	const struct kl_yaml *require;
	int err = kl_yaml_parse(&node, file->path, file->data, file->len);

	if (!err && (node->kind != KL_YAML_MAP || !node->n))
		err = kl_error(KL_EINVALID, "%s: not a launch plan", file->path);
	if (err < 0)
		return err;
	require = kl_yaml_get(node, "require");
	for (size_t i = 0; require && require->kind == KL_YAML_SEQ && i < require->n; i++) {
		struct kl_yaml *item = require->item[i];

		if (item->kind != KL_YAML_SCALAR || !is_promise(item->text, keys))
			continue;
		free(item->text); /* replace the requirement by one that always holds */
		item->text = kl_strdup("1 == 1");
		item->len = strlen(item->text);
	}
	kl_yaml_emit(out, node);
	return 0;
}

/* Copy the surface, but drop the requirements of its launch plan that use keys of the clause. */
static int relax_plan(struct kl_surface **out, const struct kl_surface *surface, const char *clause)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = parse_predicate(clause);
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_file edit = { .path = surface->contract->launch };
	int err = 0;

	if (predicate)
		kl_predicate_keys(&keys, predicate);
	for (size_t i = 0; edit.path && i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, edit.path))
			err = write_plan(&text, &surface->file[i], &keys);
	edit.data = text.ptr;
	edit.len = text.len;
	return err < 0 ? err : kl_surface_with(out, surface, &edit, text.len > 0);
}

/* --- finding points where the clause is false ------------------------------------------------- */

struct search {
	const struct kl_widen_of *of;
	const struct kl_contract *contract;
	struct kl_strvec domain; /* conditions of the domain that are kept */
	/* K_i with the kept domain, but without new points */
	struct kl_surface *wide;
	const struct kl_surface *to, *from; /* the step's states, or their copies in `relaxed` */
	struct kl_surface *relaxed[2];
	int64_t most;  /* size of the largest judged point, in bytes */
	size_t *order; /* indices of the judged points, the smallest first */
	/*
	 * the launch plan of K_i must accept the point; the launch plan of K_{i-1} must accept it
	 */
	bool to_stands, from_stands;
	/* the launch plan of K_i refused a point where one of its requirements is false */
	bool required;
};

static void search_release(struct search *search)
{
	kl_strvec_release(&search->domain);
	kl_surface_free(search->wide);
	kl_surface_free(search->relaxed[0]);
	kl_surface_free(search->relaxed[1]);
	free(search->order);
}

static int64_t point_bytes(const struct kl_contract *contract, const struct kl_dims *dims)
{
	int64_t n;

	if (kl_contract_bytes(&n, contract, dims) == 0)
		return n;
	kl_error_clear();
	return INT64_MAX;
}

static void order_points(struct search *search)
{
	size_t n = kl_contract_npoints(search->contract);

	search->order = kl_calloc(n + 1, sizeof(*search->order));
	for (size_t i = 0; i < n; i++) {
		int64_t own = point_bytes(search->contract,
					  kl_contract_point(search->contract, i, NULL));
		size_t k = i;

		for (; k && point_bytes(search->contract,
					kl_contract_point(search->contract, search->order[k - 1],
							  NULL)) > own;
		     k--)
			search->order[k] = search->order[k - 1];
		search->order[k] = i;
		if (own > search->most && own < INT64_MAX)
			search->most = own;
	}
}

/*
 * Check that the clause is false at the point, that all other clauses and the kept domain hold, and
 * that the point has at most twice the bytes of the largest judged point.
 */
static bool is_alone(const struct search *search, const struct kl_dims *dims)
{
	const struct kl_clauses *clauses = search->of->clauses;

	if (kl_contract_in_domain(search->wide->contract, dims) < 0) {
		kl_error_clear();
		return false;
	}
	for (size_t i = 0; i < clauses->v.n; i++) {
		KL_AUTO(kl_freep) char *test = kl_clauses_one(clauses, i);
		enum kl_truth want = i == search->of->i ? KL_FALSE : KL_TRUE;

		if (kl_target_test_at(search->of->at, test, search->contract, dims) != want)
			return false;
	}
	return point_bytes(search->contract, dims) <= 2 * search->most;
}

static bool clause_stands(struct search *search, const struct kl_surface *surface,
			  const struct kl_dims *dims)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *there = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *plan = NULL;
	int err = rewrite_contract(&there, surface, &search->domain, dims, 1);

	if (!err && there->contract->launch)
		err = kl_launch_read(&plan, there, false, NULL);
	if (err == KL_EINVALID && surface == search->to && strstr(kl_error_last(), "does not hold"))
		search->required = true;
	if (err < 0)
		kl_error_clear();
	return !err;
}

static bool point_fits(struct search *search, const struct kl_dims *dims)
{
	return is_alone(search, dims) &&
	       (!search->to_stands || clause_stands(search, search->to, dims)) &&
	       (!search->from_stands || clause_stands(search, search->from, dims));
}

static void look_around(struct kl_widening *out, struct search *search, size_t max)
{
	size_t n = kl_contract_npoints(search->contract);

	for (size_t k = 0; k < KL_ARRAY_SIZE(offset); k++)
		for (size_t at = 0; at < n; at++)
			for (size_t i = 0; i < search->contract->dims.n; i++) {
				struct kl_dims dims = *kl_contract_point(search->contract,
									 search->order[at], NULL);
				bool known = false;

				dims.v[i] += offset[k];
				for (size_t j = 0; j < out->n; j++)
					known |= !memcmp(&out->point[j], &dims, sizeof(dims));
				if (dims.v[i] < 1 || known || !point_fits(search, &dims))
					continue;
				out->point[out->n++] = dims;
				if (out->n == max)
					return;
			}
}

/*
 * Look for points that the launch plans of both states accept. If there are none, look for points
 * that the launch plan of K_i accepts.
 */
static void look_wider(struct kl_widening *out, struct search *search)
{
	search->to_stands = search->from_stands = kl_backend_of(search->contract)->device != NULL;
	look_around(out, search, KL_WITNESS_POINTS);
	search->from_stands = false;
	if (!out->n && search->to_stands)
		look_around(out, search, KL_WITNESS_POINTS);
}

static int find_points(struct kl_widening *out, struct search *search)
{
	const char *clause = search->of->clauses->v.v[search->of->i];
	int err = 0;

	look_wider(out, search);
	if (!out->n && search->required) {
		if ((err = relax_plan(&search->relaxed[0], search->of->to, clause)) < 0 ||
		    (err = relax_plan(&search->relaxed[1], search->of->from, clause)) < 0)
			return err;
		search->to = search->relaxed[0];
		search->from = search->relaxed[1];
		search->required = false;
		look_wider(out, search);
	}
	if (!out->n && search->required)
		return kl_error(KL_ENO,
				"the launch plan accepts no point where the clause is false");
	search->to_stands = false;
	/* a failed launch can be judged too, so try one point without asking the launch plans */
	if (!out->n)
		look_around(out, search, 1);
	return out->n ? 0 :
			kl_error(KL_ENO,
				 "no point near the judged points makes this clause alone false");
}

static void describe_widening(struct kl_widening *out, const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < out->n; i++) {
		KL_AUTO(kl_freep) char *one = kl_witness_point_words(contract, &out->point[i]);

		kl_buf_addf(&buf, "%s%s", i ? "; " : "", one);
	}
	out->words = kl_buf_detach(&buf);
}

static int no_contract(int err)
{
	if (err != KL_EINVALID)
		return err;
	return kl_error_in(KL_ENO,
			   "cannot change the contract to allow points where the clause is false");
}

int kl_widen(struct kl_widening *out, const struct kl_widen_of *of)
{
	KL_AUTO(search_release) struct search search = {
		.of = of,
		.contract = of->to->contract,
		.to = of->to,
		.from = of->from,
	};
	KL_AUTO(kl_widening_release) struct kl_widening widening = { 0 };
	int err;

	for (size_t i = 0; i < search.contract->ndomain; i++)
		relax_clause(&search.domain, &widening.dropped, search.contract->domain_text[i],
			     of->clauses->v.v[of->i]);
	if ((err = rewrite_contract(&search.wide, of->to, &search.domain, NULL, 0)) < 0)
		return no_contract(err);
	if (search.contract->nalso + KL_WITNESS_POINTS > KL_MAX_ALSO)
		return kl_error(KL_ENO, "the contract has the maximum number of points already");
	order_points(&search);
	if ((err = find_points(&widening, &search)) < 0)
		return err;
	widening.first = kl_contract_npoints(search.contract);
	if ((err = rewrite_contract(&widening.to, search.to, &search.domain, widening.point,
				    widening.n)) < 0 ||
	    (err = rewrite_contract(&widening.from, search.from, &search.domain, widening.point,
				    widening.n)) < 0)
		return no_contract(err);
	describe_widening(&widening, search.contract);
	*out = widening;
	widening = (struct kl_widening){ 0 };
	return 0;
}
