/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/target.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "plan/expr.h"
#include "plan/plan.h"
#include "retrieve/constants.h"
#include "retrieve/roles.h"

/*
 * Facts that depend on the point: keys and values. The first `shown` are facts of the target; the
 * others are set only when a predicate asks for them, since they follow from the first ones and would
 * only lengthen what people and models read.
 */
struct kl_target_point {
	char **key;
	int64_t *value;
	size_t n, shown, key_alloc, value_alloc;
};

static void point_release(struct kl_target_point *point)
{
	for (size_t k = 0; k < point->n; k++)
		free(point->key[k]);
	free(point->key);
	free(point->value);
}

void kl_target_release(struct kl_target *target)
{
	for (size_t i = 0; i < target->nat; i++)
		point_release(&target->at[i]);
	free(target->at);
	free(target->workload);
	free(target->op);
	free(target->dtype);
	free(target->language);
	free(target->platform);
	for (size_t i = 0; i < target->dims.n; i++)
		free(target->dims.v[i].name);
	free(target->dims.v);
	kl_strvec_release(&target->prior);
	kl_strvec_release(&target->steps);
	kl_known_release(&target->known);
	*target = (struct kl_target){ .known = KL_KNOWN_INIT };
}

/* --- earlier work (the prior) ----------------------------------------------------------------- */

bool kl_target_has(const struct kl_target *target, const char *what)
{
	size_t lo = 0, hi = target->prior.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strcmp(target->prior.v[mid], what);

		if (!order)
			return true;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

void kl_target_add_prior(struct kl_target *target, const char *what)
{
	kl_strvec_push(&target->prior, what);
	kl_strvec_uniq(&target->prior);
}

void kl_target_drop_prior(struct kl_target *target, const char *what)
{
	struct kl_strvec kept = KL_STRVEC_INIT;

	for (size_t i = 0; i < target->prior.n; i++)
		if (strcmp(target->prior.v[i], what))
			kl_strvec_push(&kept, target->prior.v[i]);
	kl_strvec_release(&target->prior);
	target->prior = kept;
}

/* --- facts at the contract's points ----------------------------------------------------------- */

static void put_value(struct kl_target_point *point, int64_t value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void put_value(struct kl_target_point *point, int64_t value, const char *fmt, ...)
{
	struct kl_buf key = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&key, fmt, ap);
	va_end(ap);
	KL_GROW(point->key, point->n + 1, point->key_alloc);
	KL_GROW(point->value, point->n + 1, point->value_alloc);
	point->value[point->n] = value;
	point->key[point->n++] = kl_buf_detach(&key);
}

/*
 * Return the dim if the extent of an axis is a dim alone, so that the stride can be named after the
 * dim. Return -1 if the extent is another expression. Two values of the dim are tried, because
 * another expression can equal the dim at one of them.
 */
static int dim_of(const struct kl_contract *contract, const struct kl_expr *expr)
{
	bool used[KL_MAX_DIMS] = { false };
	int64_t value[KL_MAX_DIMS] = { 0 }, result;
	int dim = -1;

	kl_expr_uses(expr, used);
	for (size_t i = 0; i < contract->dims.n; i++) {
		if (used[i] && dim >= 0)
			return -1;
		if (used[i])
			dim = (int)i;
	}
	for (int64_t probe = 97; dim >= 0 && probe < 2000; probe += 912) {
		value[dim] = probe;
		if (kl_expr_eval(&result, expr, value) < 0 || result != probe) {
			kl_error_clear();
			return -1;
		}
	}
	return dim;
}

static void put_tensor(struct kl_target_point *point, const struct kl_contract *contract,
		       size_t index, const struct kl_dims *dims)
{
	const struct kl_arg *arg = &contract->arg[index];
	int64_t extent[KL_MAX_AXES], stride = (int64_t)kl_dtype_bytes(arg->dtype);

	if (!arg->naxes || kl_contract_shape(extent, contract, index, dims) < 0) {
		kl_error_clear();
		return;
	}
	/*
	 * the gate makes tensors row-major and dense; the parser of the contract limits the product
	 */
	for (size_t i = arg->naxes; i-- > 0; stride *= extent[i]) {
		int dim = dim_of(contract, arg->shape[i]);

		if (dim >= 0)
			put_value(point, stride, "stride_bytes(%s,%s)", arg->name,
				  contract->dim_name[dim]);
	}
	put_value(point, stride, "bytes(%s)", arg->name);
}

/*
 * Add the facts "extent(reduction)" and so on: for each role, the product of all dims with that
 * role.
 */
static void put_extents(struct kl_target_point *point, const struct kl_target *target,
			const struct kl_contract *contract, const struct kl_dims *dims)
{
	for (size_t role = 0; target->point.op >= 0 && role < target->tax->roles.n; role++) {
		int64_t product = 1;
		bool any = false, fits = true;

		for (size_t i = 0; i < dims->n; i++) {
			if (!(kl_taxonomy_roles(target->tax, target->point.op,
						contract->dim_name[i]) >>
				      role &
			      1))
				continue;
			any = true;
			fits = fits && !__builtin_mul_overflow(product, dims->v[i], &product);
		}
		if (any && fits)
			put_value(point, product, "extent(%s)", target->tax->roles.v[role]);
	}
}

static bool has_key(const struct kl_target_point *point, const char *key)
{
	for (size_t k = 0; k < point->n; k++)
		if (!strcmp(point->key[k], key))
			return true;
	return false;
}

/* Derive the extents of the roles (roles.h) from the shapes of the tensors, and add them. */
static void put_roles(struct kl_target_point *point, const struct kl_target *target,
		      const struct kl_contract *contract, const struct kl_dims *dims)
{
	struct kl_roles roles;

	kl_roles_find(&roles, target->tax, contract);
	for (size_t role = 0; role < target->tax->roles.n; role++) {
		KL_AUTO(kl_freep) char *key = kl_asprintf("extent(%s)", target->tax->roles.v[role]);
		int64_t extent;

		if (!has_key(point, key) && kl_roles_extent(&extent, &roles, role, dims))
			put_value(point, extent, "%s", key);
	}
}

/* Add the pitch of a tensor's rows in bytes, and its number of elements. */
static void put_sizes(struct kl_target_point *point, const struct kl_contract *contract,
		      size_t index, const struct kl_dims *dims)
{
	const struct kl_arg *arg = &contract->arg[index];
	int64_t extent[KL_MAX_AXES], elements = 1;

	if (arg->naxes < 2 || kl_contract_shape(extent, contract, index, dims) < 0) {
		kl_error_clear();
		return;
	}
	for (size_t i = 0; i < arg->naxes; i++)
		elements *= extent[i];
	put_value(point, extent[arg->naxes - 1] * (int64_t)kl_dtype_bytes(arg->dtype),
		  "pitch_bytes(%s)", arg->name);
	put_value(point, elements, "elements(%s)", arg->name);
}

static void make_point(struct kl_target_point *point, const struct kl_target *target,
		       const struct kl_contract *contract, const struct kl_dims *dims)
{
	for (size_t i = 0; i < dims->n; i++)
		put_value(point, dims->v[i], "%s", contract->dim_name[i]);
	put_extents(point, target, contract, dims);
	for (size_t i = 0; i < contract->nargs; i++)
		put_tensor(point, contract, i, dims);
	point->shown = point->n;
	put_roles(point, target, contract, dims);
	for (size_t i = 0; i < contract->nargs; i++)
		put_sizes(point, contract, i, dims);
}

/* Set the facts of a point. `asked` (may be NULL) has the keys that a predicate uses. */
static void set_point(struct kl_target *target, const struct kl_target_point *point,
		      const struct kl_strvec *asked)
{
	for (size_t k = 0; k < point->n; k++)
		if (k < point->shown || (asked && kl_strvec_has(asked, point->key[k])))
			kl_known_int(&target->known, point->key[k], point->value[k]);
}

void kl_target_stand(struct kl_target *target, size_t i)
{
	set_point(target, &target->at[i], NULL);
	target->stands = i;
}

static void make_points(struct kl_target *target, const struct kl_contract *contract)
{
	size_t n = kl_contract_npoints(contract);

	target->at = kl_calloc(n + 1, sizeof(*target->at));
	target->nat = n + 1;
	make_point(&target->at[0], target, contract, &contract->dims);
	for (size_t i = 0; i < n; i++)
		make_point(&target->at[i + 1], target, contract,
			   kl_contract_point(contract, i, NULL));
	kl_target_stand(target, 0);
}

enum kl_truth kl_target_test(struct kl_target *target, const char *test, bool everywhere,
			     struct kl_buf *why)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec asked = KL_STRVEC_INIT;
	enum kl_truth all = KL_TRUE;
	size_t at = 0;

	if (kl_predicate_parse(&predicate, test, NULL) < 0) {
		kl_error_clear();
		return KL_UNKNOWN;
	}
	kl_predicate_keys(&asked, predicate);
	for (size_t i = 0; i < (everywhere ? target->nat : 1); i++) {
		enum kl_truth here;

		if (i)
			set_point(target, &target->at[i], &asked);
		else if (target->nat)
			set_point(target, &target->at[target->stands], &asked);
		here = kl_predicate_eval(predicate, &target->known);
		/*
		 * remember the first point where the predicate is false; if there is none, the
		 * first where it is unknown
		 */
		if ((here == KL_FALSE && all != KL_FALSE) ||
		    (here == KL_UNKNOWN && all == KL_TRUE)) {
			all = here;
			at = i;
		}
		if (all == KL_FALSE)
			break;
	}
	if (at)
		set_point(target, &target->at[at], &asked);
	else if (target->nat)
		set_point(target, &target->at[target->stands], &asked);
	if (why)
		kl_predicate_explain(why, predicate, &target->known);
	if (target->nat)
		kl_target_stand(target, 0);
	return all;
}

enum kl_truth kl_target_test_at(struct kl_target *target, const char *test,
				const struct kl_contract *contract, const struct kl_dims *dims)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec asked = KL_STRVEC_INIT;
	struct kl_target_point here = { .n = 0 };
	enum kl_truth truth;

	if (kl_predicate_parse(&predicate, test, NULL) < 0) {
		kl_error_clear();
		return KL_UNKNOWN;
	}
	make_point(&here, target, contract, dims);
	kl_predicate_keys(&asked, predicate);
	set_point(target, &here, &asked);
	truth = kl_predicate_eval(predicate, &target->known);
	kl_target_stand(target, 0);
	point_release(&here);
	return truth;
}

/* --- the contract, the constants and the platform --------------------------------------------- */

const char *kl_target_dtype(const struct kl_contract *contract)
{
	const char *best = "";
	int64_t most = -1;

	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];
		int64_t bytes;

		if (!arg->naxes)
			continue;
		if (!*best)
			best = kl_dtype_name(arg->dtype);
		if (!kl_dtype_is_float(arg->dtype) ||
		    kl_contract_tensor_bytes(&bytes, contract, i, &contract->dims) < 0)
			continue;
		if (bytes > most) {
			most = bytes;
			best = kl_dtype_name(arg->dtype);
		}
	}
	kl_error_clear();
	return best;
}

static void put_constant(struct kl_target *target, const char *name, int64_t value)
{
	/* a fact that is already there, such as a dim of the same name, keeps its value */
	if (!kl_map_get(&target->known.facts, name))
		kl_known_int(&target->known, name, value);
}

static void add_constants(struct kl_target *target, const struct kl_surface *surface)
{
	KL_AUTO(kl_constants_release) struct kl_card_dims dims = { 0 };

	kl_constants_read(&dims, surface);
	for (size_t i = 0; i < dims.n; i++)
		put_constant(target, dims.v[i].name, dims.v[i].v);
}

static void add_platform(struct kl_target *target)
{
	const struct kl_tax_platform *platform = kl_taxonomy_platform(target->tax,
								      target->platform);
	const struct kl_backend *backend = NULL;
	struct kl_plan_facts facts;

	if (!platform)
		return;
	target->listed = true;
	target->caps = platform->has;
	for (size_t i = 0; i < target->tax->caps.n; i++)
		if (kl_capset_has(&platform->has, (int)i))
			kl_known_member(&target->known, "cap", target->tax->caps.v[i]);
	kl_known_close(&target->known, "cap");
	for (size_t i = 0; i < platform->numbers.n; i++)
		put_constant(target, platform->numbers.v[i].name, platform->numbers.v[i].v);
	if (kl_backend_owner(&backend, &kl_backends, target->platform) < 0 || !backend->limits ||
	    backend->limits(&facts, target->platform) < 0) {
		kl_error_clear();
		return;
	}
	put_constant(target, "sms", facts.sms);
	put_constant(target, "smem_optin", facts.smem_optin);
	put_constant(target, "cc", facts.cc);
	put_constant(target, "l2", facts.l2);
}

int kl_target_init(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_surface *surface, const char *platform)
{
	const struct kl_contract *contract = surface->contract;
	struct kl_target target = {
		.tax = tax,
		.workload = kl_strdup(contract->workload),
		.op = kl_strdup(contract->op),
		.dtype = kl_strdup(kl_target_dtype(contract)),
		.language = kl_strdup(contract->language->name),
		.platform = kl_strdup(platform),
		.known = KL_KNOWN_INIT,
	};

	kl_case_init(&target.point, tax, target.op, target.dtype);
	for (size_t i = 0; i < contract->dims.n; i++) {
		kl_card_dims_add(&target.dims, contract->dim_name[i], contract->dims.v[i]);
		kl_case_dim(&target.point, tax, contract->dim_name[i], contract->dims.v[i]);
	}
	make_points(&target, contract);
	kl_known_text(&target.known, "op", target.op);
	kl_known_text(&target.known, "dtype", target.dtype);
	kl_known_text(&target.known, "language", target.language);
	kl_known_text(&target.known, "platform", target.platform);
	add_platform(&target);
	add_constants(&target, surface);
	*out = target;
	return 0;
}

/* --- adding measurements ---------------------------------------------------------------------- */

static void add_trait(struct kl_target *target, const char *name, const char *value)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("trait(%s)", name);
	KL_AUTO(kl_freep) char *fact = kl_asprintf("trait:%s", name);

	if (!strcmp(value, "yes")) {
		kl_known_truth(&target->known, key, KL_TRUE);
		kl_target_add_prior(target, fact);
	} else if (!strcmp(value, "no")) {
		kl_known_truth(&target->known, key, KL_FALSE);
		kl_target_drop_prior(target, fact);
	}
}

/* Add the utilization from the hardware counters. Add nothing if the event has several launches. */
static void add_counters(struct kl_target *target, const json_t *list)
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
			kl_known_ratio(&target->known, row[i].name, ppm);
	}
}

/* Add static figures of the kernel. Add nothing if the event has several kernels. */
static void add_figures(struct kl_target *target, const json_t *list)
{
	static const char *const name[] = { "registers",   "smem_static",  "smem",
					    "threads",     "blocks",       "spill_bytes",
					    "local_bytes", "blocks_per_sm" };
	const json_t *kernel = json_array_get(list, 0);
	int64_t ppm;

	if (json_array_size(list) != 1)
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(name); i++)
		if (json_is_integer(json_object_get(kernel, name[i])))
			kl_known_int(&target->known, name[i], kl_json_int_or(kernel, name[i], 0));
	ppm = kl_json_int_or(kernel, "occupancy_ppm", -1);
	if (ppm >= 0)
		kl_known_ratio(&target->known, "occupancy", ppm);
}

void kl_target_add_features(struct kl_target *target, const struct kl_strvec *features)
{
	target->measured = true;
	for (size_t i = 0; i < features->n; i++) {
		kl_known_member(&target->known, "has", features->v[i]);
		kl_strvec_push(&target->prior, features->v[i]);
	}
	kl_strvec_uniq(&target->prior);
	kl_known_close(&target->known, "has");
}

void kl_target_add_event(struct kl_target *target, const struct kl_event *event)
{
	const struct kl_map *traits = &event->facts.traits;

	snprintf(target->event, sizeof(target->event), "%s", event->id);
	if (event->compiled)
		kl_target_add_features(target, &event->facts.features);
	for (size_t i = 0; i < traits->n; i++)
		add_trait(target, traits->e[i].key, traits->e[i].value);
	add_figures(target, event->statics);
	add_counters(target, json_object_get(event->counters, "launches"));
}
