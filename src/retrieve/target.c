/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/target.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "plan/expr.h"
#include "plan/plan.h"
#include "retrieve/constants.h"

/* What of `known` depends on the point: as keys and values. */
struct kl_target_point {
	char **key;
	int64_t *value;
	size_t n, key_alloc, value_alloc;
};

static void point_release(struct kl_target_point *p)
{
	for (size_t k = 0; k < p->n; k++)
		free(p->key[k]);
	free(p->key);
	free(p->value);
}

void kl_target_release(struct kl_target *t)
{
	for (size_t i = 0; i < t->nat; i++)
		point_release(&t->at[i]);
	free(t->at);
	free(t->workload);
	free(t->op);
	free(t->dtype);
	free(t->language);
	free(t->platform);
	for (size_t i = 0; i < t->dims.n; i++)
		free(t->dims.v[i].name);
	free(t->dims.v);
	kl_strvec_release(&t->prior);
	kl_known_release(&t->known);
	*t = (struct kl_target){ .known = KL_KNOWN_INIT };
}

/* --- prior ------------------------------------------------------------------- */

bool kl_target_has(const struct kl_target *t, const char *what)
{
	size_t lo = 0, hi = t->prior.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(t->prior.v[mid], what);

		if (!c)
			return true;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

void kl_target_add_prior(struct kl_target *t, const char *what)
{
	kl_strvec_push(&t->prior, what);
	kl_strvec_uniq(&t->prior);
}

void kl_target_drop_prior(struct kl_target *t, const char *what)
{
	struct kl_strvec left = KL_STRVEC_INIT;

	for (size_t i = 0; i < t->prior.n; i++)
		if (strcmp(t->prior.v[i], what))
			kl_strvec_push(&left, t->prior.v[i]);
	kl_strvec_release(&t->prior);
	t->prior = left;
}

/* --- the contract's points ------------------------------------------------------- */

static void put_value(struct kl_target_point *p, int64_t value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void put_value(struct kl_target_point *p, int64_t value, const char *fmt, ...)
{
	struct kl_buf key = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&key, fmt, ap);
	va_end(ap);
	KL_GROW(p->key, p->n + 1, p->key_alloc);
	KL_GROW(p->value, p->n + 1, p->value_alloc);
	p->value[p->n] = value;
	p->key[p->n++] = kl_buf_detach(&key);
}

/* Is the axis just this dim? Then a step along it has a name. */
static int dim_of(const struct kl_contract *c, const struct kl_expr *e)
{
	bool used[KL_MAX_DIMS] = { false };
	int64_t value[KL_MAX_DIMS] = { 0 }, got;
	int dim = -1;

	kl_expr_uses(e, used);
	for (size_t i = 0; i < c->dims.n; i++) {
		if (used[i] && dim >= 0)
			return -1;
		if (used[i])
			dim = (int)i;
	}
	for (int64_t probe = 97; dim >= 0 && probe < 2000; probe += 912) {
		value[dim] = probe;
		if (kl_expr_eval(&got, e, value) < 0 || got != probe) {
			kl_error_clear();
			return -1;
		}
	}
	return dim;
}

static void put_tensor(struct kl_target_point *p, const struct kl_contract *c, size_t arg,
		       const struct kl_dims *d)
{
	const struct kl_arg *a = &c->arg[arg];
	int64_t extent[KL_MAX_AXES], stride = (int64_t)kl_dtype_size(a->dtype);

	if (!a->naxes || kl_contract_shape(extent, c, arg, d) < 0) {
		kl_error_clear();
		return;
	}
	/* row-major and dense, as the gate lays them out; a parsed contract bounds the product */
	for (size_t i = a->naxes; i-- > 0; stride *= extent[i]) {
		int dim = dim_of(c, a->shape[i]);

		if (dim >= 0)
			put_value(p, stride, "stride_bytes(%s,%s)", a->name, c->dim_name[dim]);
	}
	put_value(p, stride, "bytes(%s)", a->name);
}

/* extent(reduction) and its like: products of dims by their roles */
static void put_extents(struct kl_target_point *p, const struct kl_target *t,
			const struct kl_contract *c, const struct kl_dims *d)
{
	for (size_t r = 0; t->point.op >= 0 && r < t->tax->roles.n; r++) {
		int64_t product = 1;
		bool any = false, fits = true;

		for (size_t i = 0; i < d->n; i++) {
			if (!(kl_taxonomy_roles(t->tax, t->point.op, c->dim_name[i]) >> r & 1))
				continue;
			any = true;
			fits = fits && !__builtin_mul_overflow(product, d->v[i], &product);
		}
		if (any && fits)
			put_value(p, product, "extent(%s)", t->tax->roles.v[r]);
	}
}

static void make_point(struct kl_target_point *p, const struct kl_target *t,
		       const struct kl_contract *c, const struct kl_dims *d)
{
	for (size_t i = 0; i < d->n; i++)
		put_value(p, d->v[i], "%s", c->dim_name[i]);
	put_extents(p, t, c, d);
	for (size_t i = 0; i < c->nargs; i++)
		put_tensor(p, c, i, d);
}

static void stand_at(struct kl_target *t, const struct kl_target_point *p)
{
	for (size_t k = 0; k < p->n; k++)
		kl_known_int(&t->known, p->key[k], p->value[k]);
}

void kl_target_stand(struct kl_target *t, size_t i)
{
	stand_at(t, &t->at[i]);
}

static void make_points(struct kl_target *t, const struct kl_contract *c)
{
	size_t n = kl_contract_npoints(c);

	t->at = kl_calloc(n + 1, sizeof(*t->at));
	t->nat = n + 1;
	make_point(&t->at[0], t, c, &c->dims);
	for (size_t i = 0; i < n; i++)
		make_point(&t->at[i + 1], t, c, kl_contract_point(c, i, NULL));
	kl_target_stand(t, 0);
}

enum kl_truth kl_target_test(struct kl_target *t, const char *test, bool everywhere,
			     struct kl_buf *why)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;
	enum kl_truth all = KL_TRUE;
	size_t at = 0;

	if (kl_predicate_parse(&p, test, NULL) < 0) {
		kl_error_clear();
		return KL_UNKNOWN;
	}
	for (size_t i = 0; i < (everywhere ? t->nat : 1); i++) {
		enum kl_truth here;

		if (i)
			kl_target_stand(t, i);
		here = kl_predicate_eval(p, &t->known);
		/* the first place where it is false, else where it is not known */
		if ((here == KL_FALSE && all != KL_FALSE) ||
		    (here == KL_UNKNOWN && all == KL_TRUE)) {
			all = here;
			at = i;
		}
		if (all == KL_FALSE)
			break;
	}
	if (t->nat)
		kl_target_stand(t, at);
	if (why)
		kl_predicate_explain(why, p, &t->known);
	if (at)
		kl_target_stand(t, 0);
	return all;
}

enum kl_truth kl_target_test_at(struct kl_target *t, const char *test, const struct kl_contract *c,
				const struct kl_dims *d)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;
	struct kl_target_point here = { .n = 0 };
	enum kl_truth truth;

	if (kl_predicate_parse(&p, test, NULL) < 0) {
		kl_error_clear();
		return KL_UNKNOWN;
	}
	make_point(&here, t, c, d);
	stand_at(t, &here);
	truth = kl_predicate_eval(p, &t->known);
	kl_target_stand(t, 0);
	point_release(&here);
	return truth;
}

/* --- the contract --------------------------------------------------------------- */

const char *kl_target_dtype(const struct kl_contract *c)
{
	const char *best = "";
	int64_t most = -1;

	for (size_t i = 0; i < c->nargs; i++) {
		const struct kl_arg *a = &c->arg[i];
		int64_t bytes;

		if (!a->naxes)
			continue;
		if (!*best)
			best = a->dtype;
		if (!kl_dtype_is_float(a->dtype) ||
		    kl_contract_tensor_bytes(&bytes, c, i, &c->dims) < 0)
			continue;
		if (bytes > most) {
			most = bytes;
			best = a->dtype;
		}
	}
	kl_error_clear();
	return best;
}

static void put_constant(struct kl_target *t, const char *name, int64_t value)
{
	/* a dim of that name is the dim */
	if (!kl_map_get(&t->known.facts, name))
		kl_known_int(&t->known, name, value);
}

static void add_constants(struct kl_target *t, const struct kl_surface *s)
{
	KL_AUTO(kl_constants_release) struct kl_card_dims c = { 0 };

	kl_constants_read(&c, s);
	for (size_t i = 0; i < c.n; i++)
		put_constant(t, c.v[i].name, c.v[i].v);
}

static void add_platform(struct kl_target *t)
{
	const struct kl_tax_platform *p = kl_taxonomy_platform(t->tax, t->platform);
	const struct kl_backend *backend = NULL;
	struct kl_plan_facts f;

	if (!p)
		return;
	t->listed = true;
	t->caps = p->has;
	for (size_t i = 0; i < t->tax->caps.n; i++)
		if (kl_capset_has(&p->has, (int)i))
			kl_known_member(&t->known, "cap", t->tax->caps.v[i]);
	kl_known_close(&t->known, "cap");
	for (size_t i = 0; i < p->nnumber; i++)
		put_constant(t, p->number[i].name, p->number[i].v);
	if (kl_backend_owner(&backend, &kl_backends, t->platform) < 0 || !backend->limits ||
	    backend->limits(&f, t->platform) < 0) {
		kl_error_clear();
		return;
	}
	put_constant(t, "sms", f.sms);
	put_constant(t, "smem_optin", f.smem_optin);
	put_constant(t, "cc", f.cc);
	put_constant(t, "l2", f.l2);
}

int kl_target_init(struct kl_target *out, const struct kl_taxonomy *tax, const struct kl_surface *s,
		   const char *platform)
{
	const struct kl_contract *c = s->contract;
	struct kl_target t = {
		.tax = tax,
		.workload = kl_strdup(c->workload),
		.op = kl_strdup(c->op),
		.dtype = kl_strdup(kl_target_dtype(c)),
		.language = kl_strdup(c->language->name),
		.platform = kl_strdup(platform),
		.known = KL_KNOWN_INIT,
	};

	kl_case_init(&t.point, tax, t.op, t.dtype);
	for (size_t i = 0; i < c->dims.n; i++) {
		kl_card_dims_add(&t.dims, c->dim_name[i], c->dims.v[i]);
		kl_case_dim(&t.point, tax, c->dim_name[i], c->dims.v[i]);
	}
	make_points(&t, c);
	kl_known_text(&t.known, "op", t.op);
	kl_known_text(&t.known, "dtype", t.dtype);
	kl_known_text(&t.known, "language", t.language);
	kl_known_text(&t.known, "platform", t.platform);
	add_platform(&t);
	add_constants(&t, s);
	*out = t;
	return 0;
}

/* --- what was measured ------------------------------------------------------------- */

static void add_trait(struct kl_target *t, const char *name, const char *value)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("trait(%s)", name);
	KL_AUTO(kl_freep) char *fact = kl_asprintf("trait:%s", name);

	if (!strcmp(value, "yes")) {
		kl_known_truth(&t->known, key, KL_TRUE);
		kl_target_add_prior(t, fact);
	} else if (!strcmp(value, "no")) {
		kl_known_truth(&t->known, key, KL_FALSE);
		kl_target_drop_prior(t, fact);
	}
}

/* how much of the device it used, by hardware counters; of several launches none speaks for all */
static void add_counters(struct kl_target *t, const json_t *list)
{
	static const struct {
		const char *key, *name;
	} row[] = {
		{ "dram_ppm", "sol.dram" },
		{ "sm_ppm", "sol.compute" },
	};

	for (size_t i = 0; json_array_size(list) == 1 && i < KL_ARRAY_SIZE(row); i++) {
		int64_t ppm = kl_json_int_or(json_array_get(list, 0), row[i].key, -1);

		if (ppm >= 0)
			kl_known_ratio(&t->known, row[i].name, ppm);
	}
}

/* figures of the one kernel there is; of several none speaks for all */
static void add_figures(struct kl_target *t, const json_t *list)
{
	static const char *const name[] = { "registers",   "smem_static",  "smem",
					    "threads",     "blocks",       "spill_bytes",
					    "local_bytes", "blocks_per_sm" };
	const json_t *k = json_array_get(list, 0);
	int64_t ppm;

	if (json_array_size(list) != 1)
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(name); i++)
		if (json_is_integer(json_object_get(k, name[i])))
			kl_known_int(&t->known, name[i], kl_json_int_or(k, name[i], 0));
	ppm = kl_json_int_or(k, "occupancy_ppm", -1);
	if (ppm >= 0)
		kl_known_ratio(&t->known, "occupancy", ppm);
}

void kl_target_add_features(struct kl_target *t, const struct kl_strvec *features)
{
	t->measured = true;
	for (size_t i = 0; i < features->n; i++) {
		kl_known_member(&t->known, "has", features->v[i]);
		kl_strvec_push(&t->prior, features->v[i]);
	}
	kl_strvec_uniq(&t->prior);
	kl_known_close(&t->known, "has");
}

void kl_target_add_event(struct kl_target *t, const struct kl_event *event)
{
	const struct kl_map *traits = &event->facts.traits;

	snprintf(t->event, sizeof(t->event), "%s", event->id);
	if (event->compiled)
		kl_target_add_features(t, &event->facts.features);
	for (size_t i = 0; i < traits->n; i++)
		add_trait(t, traits->e[i].key, traits->e[i].value);
	add_figures(t, event->statics);
	add_counters(t, json_object_get(event->counters, "launches"));
}
