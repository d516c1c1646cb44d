/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "gate/compile.h"
#include "gate/folded.h"
#include "gate/launch.h"
#include "gate/trust.h"
#include "lineage/step.h"
#include "plan/expr.h"
#include "plan/plan.h"
#include "repo/notes.h"
#include "skill/constants.h"
#include "skill/made.h"

#define MAX_HISTORY 256		/* commits that are asked what was done before */

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

static void drop_prior(struct kl_target *t, const char *what)
{
	struct kl_strvec left = KL_STRVEC_INIT;

	for (size_t i = 0; i < t->prior.n; i++)
		if (strcmp(t->prior.v[i], what))
			kl_strvec_push(&left, t->prior.v[i]);
	kl_strvec_release(&t->prior);
	t->prior = left;
}

/* --- the contract's points ------------------------------------------------------- */

static void put(struct kl_target_point *p, int64_t value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void put(struct kl_target_point *p, int64_t value, const char *fmt, ...)
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
			put(p, stride, "stride_bytes(%s,%s)", a->name, c->dim_name[dim]);
	}
	put(p, stride, "bytes(%s)", a->name);
}

/* extent(reduction) and its like: products of dims by their roles */
static void put_extents(struct kl_target_point *p, const struct kl_target *t, const struct kl_contract *c,
			const struct kl_dims *d)
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
			put(p, product, "extent(%s)", t->tax->roles.v[r]);
	}
}

static void make_point(struct kl_target_point *p, const struct kl_target *t, const struct kl_contract *c,
		       const struct kl_dims *d)
{
	for (size_t i = 0; i < d->n; i++)
		put(p, d->v[i], "%s", c->dim_name[i]);
	put_extents(p, t, c, d);
	for (size_t i = 0; i < c->nargs; i++)
		put_tensor(p, c, i, d);
}

static void stand(struct kl_target *t, const struct kl_target_point *p)
{
	for (size_t k = 0; k < p->n; k++)
		kl_known_int(&t->known, p->key[k], p->value[k]);
}

void kl_target_stand(struct kl_target *t, size_t i)
{
	stand(t, &t->at[i]);
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

enum kl_truth kl_target_test(struct kl_target *t, const char *test, bool everywhere, struct kl_buf *why)
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
		if ((here == KL_FALSE && all != KL_FALSE) || (here == KL_UNKNOWN && all == KL_TRUE)) {
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
	stand(t, &here);
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
		if (!kl_dtype_is_float(a->dtype) || kl_contract_tensor_bytes(&bytes, c, i, &c->dims) < 0)
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
	if (strncmp(t->platform, "cuda/", 5) || kl_plan_arch_facts(&f, t->platform + 5) < 0) {
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
		.tax = tax, .workload = kl_strdup(c->workload), .op = kl_strdup(c->op),
		.dtype = kl_strdup(kl_target_dtype(c)), .language = kl_strdup(c->language),
		.platform = kl_strdup(platform), .known = KL_KNOWN_INIT,
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
		drop_prior(t, fact);
	}
}

/* how much of the device it used, by hardware counters; of several launches none speaks for all */
static void add_counters(struct kl_target *t, const json_t *list)
{
	static const struct { const char *key, *name; } row[] = {
		{ "dram_ppm", "sol.dram" }, { "sm_ppm", "sol.compute" },
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
	static const char *const name[] = { "registers", "smem_static", "smem", "threads", "blocks",
					    "spill_bytes", "local_bytes", "blocks_per_sm" };
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

void kl_target_add_event(struct kl_target *t, const json_t *event)
{
	json_t *traits = json_object_get(event, "traits"), *value;
	const json_t *features = json_object_get(event, "features");
	const char *name;

	snprintf(t->event, sizeof(t->event), "%s", kl_json_str_or(event, "id", ""));
	if (json_is_array(features)) {
		t->measured = true;
		for (size_t i = 0; i < json_array_size(features); i++) {
			const char *f = json_string_value(json_array_get(features, i));

			if (!f)
				continue;
			kl_known_member(&t->known, "has", f);
			kl_strvec_push(&t->prior, f);
		}
		kl_strvec_uniq(&t->prior);
		kl_known_close(&t->known, "has");
	}
	json_object_foreach(traits, name, value)
		if (json_is_string(value))
			add_trait(t, name, json_string_value(value));
	add_figures(t, json_object_get(event, "static"));
	add_counters(t, json_object_get(json_object_get(event, "counters"), "launches"));
}

/* --- what was done before ------------------------------------------------------------- */

static void take_trailers(struct kl_target *t, const char *message)
{
	static const char *const key[] = { "Klineage-Direction", "Klineage-Skill", "Klineage-Trait" };
	char *value[3] = { NULL, NULL, NULL };
	bool back;

	if (kl_made_is_reference(message)) {	/* another kernel, to which nothing was done */
		kl_strvec_release(&t->prior);
		t->prior = (struct kl_strvec)KL_STRVEC_INIT;
		return;
	}
	kl_trailers_get(value, message, key, 3);
	back = value[0] && !strcmp(value[0], "back");
	if (value[1] && *value[1]) {
		value[1][strcspn(value[1], "@")] = '\0';
		if (!back && kl_slug_ok(value[1]))
			kl_target_add_prior(t, value[1]);
	}
	if (value[2]) {
		KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

		kl_strvec_split(&traits, value[2], ", ");
		for (size_t i = 0; i < traits.n; i++) {
			KL_AUTO(kl_freep) char *fact = kl_asprintf("trait:%s", traits.v[i]);

			if (back)
				drop_prior(t, fact);
			else
				kl_target_add_prior(t, fact);
		}
	}
	for (size_t i = 0; i < 3; i++)
		free(value[i]);
}

static int add_history(struct kl_target *t, struct kl_repo *r, const git_oid *commit, const char *dir)
{
	KL_AUTO(kl_freep) git_oid *at = NULL;
	size_t n = 0;
	int err = kl_repo_touching(&at, &n, r, commit, &dir, 1, MAX_HISTORY);

	for (size_t i = n; !err && i-- > 0; ) {
		struct kl_commit c = { 0 };

		err = kl_repo_commit_read(&c, r, &at[i]);
		if (!err)
			take_trailers(t, c.message);
		kl_commit_release(&c);
	}
	return err;
}

/* --- a committed state ------------------------------------------------------------------ */

static bool fits(const json_t *e, const char *platform)
{
	const char *id = kl_json_str_or(json_object_get(e, "platform"), "id", "");

	return !strcmp(kl_json_str_or(e, "verdict", ""), "pass") && (!platform || !strcmp(id, platform));
}

/* The newest passing event of the surface on a commit; NULL: none. */
static int event_on(json_t **out, struct kl_repo *r, const struct kl_surface *s, const git_oid *commit,
		    const char *platform)
{
	KL_AUTO(kl_buf_release) struct kl_buf note = KL_BUF_INIT, text = KL_BUF_INIT;
	struct kl_fold f;
	json_t *best = NULL;
	int err = kl_notes_read(&note, r, KL_NOTES_GATE, commit);

	if (err < 0 || (err = kl_trust_filter(&text, r, note.ptr, note.len)) < 0)
		return err;
	kl_event_fold(&f, text.ptr, text.len, s->digest, s->contract_digest);
	for (size_t i = 0; i < json_array_size(f.verdicts); i++) {
		json_t *e = json_array_get(f.verdicts, i);
		int d = !best ? 1 :
			strcmp(kl_json_str_or(e, "time", ""), kl_json_str_or(best, "time", ""));

		if (!d)
			d = strcmp(kl_json_str_or(e, "id", ""), kl_json_str_or(best, "id", ""));
		if (d > 0 && fits(e, platform))
			best = e;
	}
	*out = json_incref(best);
	kl_fold_release(&f);
	return 0;
}

/* NULL: its signature is bad. */
static int read_trusted(json_t **out, struct kl_repo *r, const struct kl_folded_event *e)
{
	KL_AUTO(kl_trust_release) struct kl_trust t = { 0 };
	json_t *event = NULL;
	int err = kl_folded_read(&event, r, e);

	if (err < 0)
		return err;
	kl_trust_add_event(&t, 0, event, false);
	err = kl_trust_judge(&t, r);
	if (!err && t.v[0].sig.state != KL_SIGN_BAD)
		*out = json_incref(event);
	return err;
}

/* A verdict is of files, not of a commit: any other that was judged with the same ones will do. */
static int event_elsewhere(json_t **out, struct kl_repo *r, const struct kl_surface *s,
			   const char *platform)
{
	KL_AUTO(kl_folded_freep) struct kl_folded *f = NULL;
	size_t first, n;
	int err = kl_folded_open(&f, r, KL_NOTES_GATE);

	if (err < 0)
		return err;
	n = kl_folded_of_surface(&first, f, s->digest, s->contract_digest);
	for (size_t i = n; !err && !*out && i-- > 0; ) {
		const struct kl_folded_event *e = kl_folded_by_surface(f, first + i);

		if (e->as & KL_FOLDED_VERDICT && e->pass && (!platform || !strcmp(e->platform, platform)))
			err = read_trusted(out, r, e);
	}
	return err;
}

static int find_event(json_t **out, struct kl_repo *r, const struct kl_surface *s, const git_oid *commit,
		      const char *platform)
{
	int err = event_on(out, r, s, commit, platform);

	return err < 0 || *out ? err : event_elsewhere(out, r, s, platform);
}

/* Where it would be judged. */
static int guess_platform(char **out, struct kl_repo *r, const struct kl_surface *s)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	const struct kl_contract *c = s->contract;
	struct kl_platform p;
	int err;

	if (c->host && c->arch) {
		*out = kl_asprintf("cuda/%.*s", (int)(3 + strspn(c->arch + 3, "0123456789")), c->arch);
		return 0;
	}
	if (kl_contract_is_cuda(c)) {
		if ((err = kl_launch_read(&l, s, false)) < 0)
			return err;
		*out = kl_strdup(l->platform);
		return 0;
	}
	err = kl_platform_detect(&p, kl_repo_config(r, "klineage.platform"));
	if (err < 0)
		return kl_error_hint(err, "say for which platform: --platform <id>");
	*out = kl_strdup(p.id);
	return 0;
}

int kl_target_of_commit(struct kl_target *out, const struct kl_taxonomy *tax, struct kl_repo *r,
			const struct kl_surface *s, const git_oid *commit, const char *platform)
{
	KL_AUTO(json_decrefp) json_t *event = NULL;
	KL_AUTO(kl_freep) char *guessed = NULL;
	struct kl_target t = { .known = KL_KNOWN_INIT };
	int err = find_event(&event, r, s, commit, platform);

	if (err < 0)
		return err;
	if (!platform && event)
		platform = kl_json_str_or(json_object_get(event, "platform"), "id", NULL);
	if (!platform && (err = guess_platform(&guessed, r, s)) < 0)
		return err;
	err = kl_target_init(&t, tax, s, platform ? platform : guessed);
	if (!err)
		err = add_history(&t, r, commit, s->dir);
	if (!err && event)
		kl_target_add_event(&t, event);
	if (err < 0) {
		kl_target_release(&t);
		return err;
	}
	*out = t;
	return 0;
}
