/* SPDX-License-Identifier: Apache-2.0 */
/* lift_useful - finds from measured points the conditions under which a card is worth it */
#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "learn/lift_parts.h"

/*
 * A condition is true wherever it was faster: what is false at one such point is no condition. And
 * there is something that speaks for it: a point where it is false and nothing was gained, a fact
 * that the step made needless, an order that several lineages agree on. What one lineage alone
 * happened to have is none.
 */
#define AS_MEASURED "as measured: " /* how they begin; what a person or a model words stays */
#define MAX_FACTS 3                 /* in one condition */
#define MAX_SIZES 4
#define LEAST_POINTS 3 /* that a figure of the state must part */
#define WIDE 2         /* times: what lies nearer is the same size, across operators */

struct finder {
	struct kl_card *c;
	const struct kl_lifter *l;
	const struct kl_mechanism *m; /* the card's */
	const struct kl_lift_points *p;
	const char *language; /* that is looked at */
};

static const struct kl_contract *contract_at(const struct finder *f, size_t i)
{
	return f->p->v[i].t->from->contract;
}

static bool is_here(const struct finder *f, size_t i)
{
	return kl_lift_is_in(f->p->v[i].t, f->language);
}

static bool is_faster(const struct finder *f, size_t i)
{
	return f->p->v[i].speed == KL_LIFT_FASTER;
}

static bool not_faster(const struct finder *f, size_t i)
{
	return f->p->v[i].speed == KL_LIFT_NO_FASTER || f->p->v[i].speed == KL_LIFT_SLOWER;
}

/* --- into the card ---------------------------------------------------------------------- */

static bool test_holds(const struct kl_lift_points *p, const char *test)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].speed == KL_LIFT_FASTER && kl_lift_truth(p, i, test) != KL_TRUE)
			return false;
	return true;
}

/* of the points where it was false and slower the slowest one */
static const struct kl_transition *test_witness(const struct kl_lift_points *p, const char *test)
{
	const struct kl_lift_point *best = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct kl_lift_point *v = &p->v[i];
		int64_t more = best ? v->ppm - best->ppm : -1;

		if (v->speed != KL_LIFT_SLOWER || kl_lift_truth(p, i, test) != KL_FALSE)
			continue;
		if (more < 0 || (!more && strcmp(v->t->event->id, best->t->event->id) < 0))
			best = v;
	}
	return best ? best->t : NULL;
}

/* `test` is of one language; what the others do is not said */
static bool add_clause(const struct finder *f, const char *id, const char *of, const char *test,
		       const char *text)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s-%s", id, of);
	KL_AUTO(kl_freep) char *whole = f->c->scope.languages.n < 2 ?
						kl_strdup(test) :
						kl_asprintf("language != '%s' || %s", f->language,
							    test);
	const struct kl_transition *by;

	if (strlen(whole) > KL_PREDICATE_MAX_TEXT || !kl_slug_ok(name) ||
	    kl_card_has_pre(f->c, name) || !test_holds(f->p, whole))
		return false;
	by = test_witness(f->p, whole);
	KL_GROW(f->c->useful.v, f->c->useful.n + 1, f->c->useful.alloc);
	f->c->useful.v[f->c->useful.n++] = (struct kl_card_pre){
		.id = kl_steal(&name),
		.test = kl_steal(&whole),
		.text = kl_asprintf(AS_MEASURED "%s", text),
		.state = by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED,
		.by = by ? kl_strdup(by->event->id) : NULL,
		.class_ = by ? kl_strdup("slower") : NULL,
	};
	return true;
}

static void join_words(struct kl_buf *out, const struct kl_strvec *v, const char *between)
{
	for (size_t i = 0; i < v->n; i++)
		kl_buf_addf(out, "%s%s", i ? between : "", v->v[i]);
}

/* "has('ldg.128')", "trait('tiled')" */
static char *test_of(const char *fact)
{
	return strncmp(fact, "trait:", 6) ? kl_asprintf("has('%s')", fact) :
					    kl_asprintf("trait('%s')", fact + 6);
}

/* --- what it takes the place of ------------------------------------------------------------ */

/* facts that went with the step, and that the mechanism does not bring or take as it happens */
static void replaced_by(struct kl_strvec *out, const struct kl_transition *t,
			const struct kl_mechanism *m)
{
	for (size_t i = 0; i < t->lost.n; i++) {
		bool either = false;

		for (size_t k = 0; k < m->companions.n; k++)
			either |= !fnmatch(m->companions.v[k], t->lost.v[i], 0);
		if (!either)
			kl_strvec_push(out, t->lost.v[i]);
	}
}

/* was it there, too, where nothing was gained? "mma" says what "mma.bf16" does */
static bool tells_apart(const struct finder *f, const struct kl_strvec *all, const char *fact)
{
	KL_AUTO(kl_freep) char *test = test_of(fact);

	for (size_t i = 0; i < all->n; i++) {
		size_t n = strlen(all->v[i]);

		if (!strncmp(fact, all->v[i], n) && fact[n] == '.')
			return false;
	}
	for (size_t i = 0; i < f->p->n; i++)
		if (is_here(f, i) && not_faster(f, i) && kl_lift_truth(f->p, i, test) != KL_FALSE)
			return false;
	return true;
}

static void find_replaced(const struct finder *f)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT, facts = KL_STRVEC_INIT,
						    tests = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;
	bool first = true;

	for (size_t i = 0; i < f->p->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (!is_here(f, i) || !is_faster(f, i))
			continue;
		replaced_by(&one, f->p->v[i].t, f->m);
		if (first)
			kl_strvec_copy(&all, &one);
		else
			kl_lift_keep(&all, &one);
		first = false;
	}
	for (size_t i = 0; i < all.n && facts.n < MAX_FACTS; i++)
		if (tells_apart(f, &all, all.v[i])) {
			kl_strvec_push(&facts, all.v[i]);
			kl_strvec_take(&tests, test_of(all.v[i]));
		}
	if (!facts.n)
		return;
	join_words(&test, &tests, " || ");
	kl_buf_adds(&text, "wherever it was faster it took the place of ");
	join_words(&text, &facts, ", ");
	add_clause(f, "replaces", f->language, test.ptr, text.ptr);
}

/* --- what was there before ------------------------------------------------------------------ */

/* did a step of that mechanism come before it in its lineage? */
static bool came_after(const struct kl_lifter *l, const struct kl_transition *t,
		       const char *mechanism)
{
	for (const struct kl_transition *u = l->t->v; u < t; u++)
		if (!strcmp(u->lineage, t->lineage) && u->step.mechanism &&
		    !strcmp(u->step.mechanism, mechanism))
			return true;
	return false;
}

static bool same_case(const struct finder *f, size_t a, size_t b)
{
	const struct kl_contract *x = contract_at(f, a), *y = contract_at(f, b);
	const struct kl_dims *d = kl_contract_point(x, f->p->v[a].point - 1, NULL);
	const struct kl_dims *e = kl_contract_point(y, f->p->v[b].point - 1, NULL);

	for (size_t i = 0; i < d->n; i++)
		if (i >= e->n || strcmp(x->dim_name[i], y->dim_name[i]) != 0)
			return false;
	return !strcmp(x->op, y->op) && !strcmp(f->p->v[a].t->dtype, f->p->v[b].t->dtype) &&
	       !strcmp(f->p->v[a].t->platform, f->p->v[b].t->platform) && d->n == e->n &&
	       !memcmp(d->v, e->v, d->n * sizeof(*d->v));
}

/* the same case, once with it and faster, once without it and not */
static bool has_contrast(const struct finder *f, const char *test)
{
	for (size_t i = 0; i < f->p->n; i++) {
		if (!is_here(f, i) || !not_faster(f, i) || kl_lift_truth(f->p, i, test) != KL_FALSE)
			continue;
		for (size_t k = 0; k < f->p->n; k++)
			if (is_here(f, k) && is_faster(f, k) && same_case(f, i, k))
				return true;
	}
	return false;
}

/* several lineages agree, and it was there nowhere that nothing was gained */
static bool has_order(const struct finder *f, const char *fact, const char *test)
{
	const char *lineage = NULL;
	bool several = false;

	if (kl_strvec_has(&f->c->scope.requires, fact))
		return false; /* the card says more than that already */
	for (size_t i = 0; i < f->p->n; i++) {
		if (!is_here(f, i))
			continue;
		if (not_faster(f, i) && kl_lift_truth(f->p, i, test) != KL_FALSE)
			return false;
		if (is_faster(f, i)) {
			several |= lineage && strcmp(lineage, f->p->v[i].t->lineage) != 0;
			lineage = f->p->v[i].t->lineage;
		}
	}
	return several;
}

/* the first fact that a mechanism is known by which was there wherever it was faster; NULL: none */
static const char *fact_before(const struct finder *f, const struct kl_mechanism *m)
{
	for (size_t i = 0; i < f->p->n; i++)
		if (is_here(f, i) && is_faster(f, i) && !came_after(f->l, f->p->v[i].t, m->name))
			return NULL;
	for (size_t k = 0; k < m->primary.n; k++) {
		KL_AUTO(kl_freep) char *test = test_of(m->primary.v[k]);
		bool all = true;

		for (size_t i = 0; all && i < f->p->n; i++)
			all = !is_here(f, i) || !is_faster(f, i) ||
			      kl_lift_truth(f->p, i, test) == KL_TRUE;
		if (all)
			return m->primary.v[k];
	}
	return NULL;
}

static bool find_before(const struct finder *f)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec facts = KL_STRVEC_INIT, tests = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;

	for (size_t i = 0; i < f->l->mechanisms.n && facts.n < MAX_FACTS; i++) {
		const struct kl_mechanism *m = &f->l->mechanisms.m[i];
		const char *fact = m == f->m ? NULL : fact_before(f, m);
		KL_AUTO(kl_freep) char *one = fact ? test_of(fact) : NULL;

		if (fact && !kl_strvec_has(&facts, fact) &&
		    (has_contrast(f, one) || has_order(f, fact, one))) {
			kl_strvec_push(&facts, fact);
			kl_strvec_take(&tests, kl_steal(&one));
		}
	}
	if (!facts.n)
		return false;
	join_words(&test, &tests, " && ");
	kl_buf_adds(&text, "wherever it was faster there was before: ");
	join_words(&text, &facts, ", ");
	return add_clause(f, "after", f->language, test.ptr, text.ptr);
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* points that compare: NULL, any */
struct frame {
	const char *op, *dtype, *platform;
};

/* on which side of what it was faster; millionths */
struct parting {
	const char *key;
	bool above;
	int64_t gain, none;
};

static bool is_in(const struct finder *f, const struct frame *w, size_t i)
{
	const struct kl_lift_point *v = &f->p->v[i];

	return is_here(f, i) && (is_faster(f, i) || not_faster(f, i)) &&
	       (!w->op || !strcmp(contract_at(f, i)->op, w->op)) &&
	       (!w->dtype || !strcmp(v->t->dtype, w->dtype)) &&
	       !strcmp(v->t->platform, w->platform);
}

/*
 * is one known by that key wherever it was measured, and all gains lie on one side of all others?
 */
static bool parts_points(struct parting *out, const struct finder *f, const struct frame *w,
			 const char *key)
{
	int64_t least[2] = { INT64_MAX, INT64_MAX }, most[2] = { INT64_MIN, INT64_MIN }, v;

	for (size_t i = 0; i < f->p->n; i++) {
		int side = is_faster(f, i);

		if (!is_in(f, w, i))
			continue;
		if (!kl_known_number(&v, &kl_lift_stand(f->p, i)->known, key))
			return false;
		least[side] = v < least[side] ? v : least[side];
		most[side] = v > most[side] ? v : most[side];
	}
	if (least[0] > most[0] || least[1] > most[1] ||
	    (least[1] <= most[0] && most[1] >= least[0]))
		return false;
	*out = least[1] > most[0] ? (struct parting){ key, true, least[1], most[0] } :
				    (struct parting){ key, false, most[1], least[0] };
	return true;
}

static bool is_wide(const struct parting *s)
{
	int64_t small = s->above ? s->none : s->gain, large = s->above ? s->gain : s->none;

	return small <= large / WIDE;
}

/* "K > 64 || N > 64": false only where all are as small as they were where nothing was gained */
static void write_test(struct kl_buf *out, const struct parting *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		kl_buf_addf(out, "%s%s %c ", i ? " || " : "", s[i].key, s[i].above ? '>' : '<');
		kl_card_decimal(out, s[i].none);
	}
}

static void write_side(struct kl_buf *out, const struct parting *s, size_t n, bool gain)
{
	for (size_t i = 0; i < n; i++) {
		kl_buf_addf(out, "%s%s %s ", i ? ", " : "", s[i].key,
			    s[i].above == gain ? ">=" : "<=");
		kl_card_decimal(out, gain ? s[i].gain : s[i].none);
	}
}

static bool add_parting(const struct finder *f, const char *id, const char *of, const char *op,
			const struct parting *s, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;

	if (op)
		kl_buf_addf(&test, "op != '%s' || ", op);
	write_test(&test, s, n);
	if (op)
		kl_buf_addf(&text, "in %s ", op);
	kl_buf_adds(&text, "faster at ");
	write_side(&text, s, n, true);
	kl_buf_adds(&text, ", not at ");
	write_side(&text, s, n, false);
	return add_clause(f, id, of, test.ptr, text.ptr);
}

/*
 * the dims of one operator: what else differs from size to size is less than from kernel to kernel
 */
static bool find_dims(const struct finder *f, size_t at)
{
	const struct kl_contract *c = contract_at(f, at);
	const struct frame w = { c->op, f->p->v[at].t->dtype, f->p->v[at].t->platform };
	struct parting s[MAX_SIZES];
	size_t n = 0;

	for (size_t i = 0; i < c->dims.n; i++) {
		if (!parts_points(&s[n], f, &w, c->dim_name[i]))
			continue;
		if (++n == MAX_SIZES)
			break;
	}
	return n && add_parting(f, "sizes", c->op, c->op, s, n);
}

static bool has_several_ops(const struct finder *f, const struct frame *w)
{
	const char *op = NULL;

	for (size_t i = 0; i < f->p->n; i++) {
		if (!is_in(f, w, i))
			continue;
		if (op && strcmp(op, contract_at(f, i)->op))
			return true;
		op = contract_at(f, i)->op;
	}
	return false;
}

/* across operators, by the roles of dims: if one alone parts them, and by far */
static bool find_extent(const struct finder *f, size_t at)
{
	const struct frame w = { NULL, f->p->v[at].t->dtype, f->p->v[at].t->platform };
	const struct kl_strvec *roles = &f->l->tax->roles;
	KL_AUTO(kl_freep) char *found = NULL;
	struct parting best = { 0 };

	if (!has_several_ops(f, &w))
		return false;
	for (size_t i = 0; i < roles->n; i++) {
		KL_AUTO(kl_freep) char *key = kl_asprintf("extent(%s)", roles->v[i]);
		struct parting s;

		if (!parts_points(&s, f, &w, key))
			continue;
		if (found)
			return false;
		found = kl_steal(&key);
		best = s;
		best.key = found;
	}
	return found && is_wide(&best) && add_parting(f, "extent", f->language, NULL, &best, 1);
}

/* how busy the device was before */
static bool find_figure(const struct finder *f, size_t at)
{
	static const char *const figure[] = { "sol.dram", "sol.compute", "occupancy" };
	const struct frame w = { NULL, NULL, f->p->v[at].t->platform };
	struct parting s, best = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < f->p->n; i++)
		n += is_in(f, &w, i);
	for (size_t i = 0; n >= LEAST_POINTS && i < KL_ARRAY_SIZE(figure); i++) {
		if (!parts_points(&s, f, &w, figure[i]))
			continue;
		if (best.key)
			return false;
		best = s;
	}
	return best.key && is_wide(&best) && add_parting(f, "figure", f->language, NULL, &best, 1);
}

typedef bool find_fn(const struct finder *f, size_t at);

static bool at_each_gain(const struct finder *f, find_fn *find)
{
	bool some = false;

	for (size_t i = 0; i < f->p->n; i++)
		if (is_here(f, i) && is_faster(f, i))
			some |= find(f, i);
	return some;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void find_in_language(const struct finder *f)
{
	bool some = false;

	for (size_t i = 0; i < f->p->n; i++)
		some |= is_here(f, i) && is_faster(f, i);
	if (!some)
		return;
	if (f->m)
		find_replaced(f);
	some = find_before(f);
	if (!at_each_gain(f, find_dims) && !at_each_gain(f, find_extent) && !some)
		at_each_gain(f, find_figure);
}

/*
 * those of an earlier lift: all anew if all their evidence is here, else what is contradicted goes
 */
static void drop_measured(struct kl_card *c, const struct kl_lift_points *p)
{
	size_t n = 0;

	for (size_t i = 0; i < c->useful.n; i++) {
		struct kl_card_pre *u = &c->useful.v[i];
		bool ours = !strncmp(u->text, AS_MEASURED, strlen(AS_MEASURED)), gone = p->all;

		for (size_t k = 0; ours && u->test && !gone && k < p->n; k++)
			gone = p->v[k].speed == KL_LIFT_FASTER &&
			       kl_lift_truth(p, k, u->test) == KL_FALSE;
		if (ours && gone)
			kl_card_pre_release(u);
		else
			c->useful.v[n++] = *u;
	}
	c->useful.n = n;
}

void kl_lift_useful(struct kl_card *c, const struct kl_lifter *l)
{
	KL_AUTO(kl_lift_points_release) struct kl_lift_points p = { 0 };
	struct finder f = {
		.c = c,
		.l = l,
		.p = &p,
		.m = c->mechanism ? kl_mechanisms_find(&l->mechanisms, c->mechanism) : NULL,
	};

	if (kl_lift_points(&p, l, c) < 0) {
		kl_strvec_pushf(l->notes, "%s: %s", c->id, kl_error_last());
		kl_error_clear();
		return;
	}
	drop_measured(c, &p);
	for (size_t i = 0; p.all && i < c->scope.languages.n; i++) {
		f.language = c->scope.languages.v[i];
		find_in_language(&f);
	}
}
