/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_GEN_H
#define KL_CARD_GEN_H

/*
 * card_gen - random cards that the reader must take, with texts that are hard to write in YAML.
 */
#include "base/rng.h"
#include "card/card.h"

static inline char *gen_hex(struct kl_rng *r, size_t n)
{
	char *s = kl_malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		s[i] = "0123456789abcdef"[kl_rng_below(r, 16)];
	s[n] = '\0';
	return s;
}

static inline const char *gen_pick(struct kl_rng *r, const char *const *list, size_t n)
{
	return list[kl_rng_below(r, n)];
}
#define GEN_PICK(r, list) gen_pick(r, list, KL_ARRAY_SIZE(list))

/* pieces joined at random; `lines`: newlines, tabs, too */
static inline char *gen_text(struct kl_rng *r, bool lines)
{
	static const char *const pieces[] = {
		"a",
		"tile",
		" ",
		"  ",
		": ",
		" #",
		"-",
		"- ",
		"'",
		"\"",
		"\\",
		"%",
		"@",
		"`",
		"!",
		"&",
		"*",
		"|",
		">",
		"{",
		"}",
		"[",
		"]",
		",",
		"?",
		"null",
		"true",
		"~",
		"0x1f",
		"1e9",
		"1.5",
		"2026-01-01",
		"=",
		"\xc3\xa9",
		"\xe2\x86\x92",
		"\xe2\x80\xa8",
		"\xc2\xa0",
		"\xef\xbb\xbf",
		"\xf0\x9f\x98\x80",
		"yes",
		"copies of the next tiles overlap with compute",
		"--- ",
		"...",
		"$",
		"\xe2\x80\xa9",
	};
	static const char *const breaks[] = { "\n", "\n\n", "\t", "\n\t", "\n  ", " \n" };
	struct kl_buf b = KL_BUF_INIT;
	size_t n = 1 + kl_rng_below(r, kl_rng_below(r, 4) ? 6 : 60);

	for (size_t i = 0; i < n; i++) {
		if (lines && !kl_rng_below(r, 3))
			kl_buf_adds(&b, GEN_PICK(r, breaks));
		kl_buf_adds(&b, GEN_PICK(r, pieces));
	}
	if (lines && kl_rng_below(r, 2))
		kl_buf_addch(&b, '\n');
	return kl_buf_detach(&b);
}

static inline char *gen_word(struct kl_rng *r)
{
	static const char *const words[] = {
		"gemm", "conv2d", "null", "true", "no",    "1e9", "0123",
		"3x3",  "off",    "a.b",  "x_y",  "12-34", "e5",
	};

	return kl_strdup(GEN_PICK(r, words));
}

static inline void gen_facts(struct kl_strvec *v, struct kl_rng *r)
{
	static const char *const facts[] = {
		"cp.async", "trait:tiled", "mma",     "call._ZGVbN4v_expf",
		"ldg.128",  "bar",         "vec.256", "null",
	};

	for (size_t n = kl_rng_below(r, 5); n; n--) {
		const char *f = GEN_PICK(r, facts);

		if (!kl_strvec_has(v, f))
			kl_strvec_push(v, f);
	}
}

static inline void gen_dims(struct kl_card_dims *d, struct kl_rng *r)
{
	static const char *const names[] = { "M", "N", "K", "y", "BK" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (kl_rng_below(r, 2))
			kl_card_dims_add(d, names[i],
					 (int64_t)kl_rng_u64(r) >> kl_rng_below(r, 63));
}

static inline struct kl_card_ratio gen_ratio(struct kl_rng *r)
{
	struct kl_card_ratio x = { .ppm = 1 + (int64_t)kl_rng_below(r, 5000000) };

	if (kl_rng_below(r, 2)) {
		x.lo = x.ppm;
		x.hi = x.ppm + 1000;
	}
	return x;
}

static inline void gen_carrier(struct kl_card *c, struct kl_rng *r)
{
	static const char *const languages[] = { "c", "cuda", "triton" };
	struct kl_card_carrier k = {
		.language = kl_strdup(GEN_PICK(r, languages)),
		.form = kl_rng_below(r, 2) ? KL_CARRIER_SNIPPET : KL_CARRIER_PROSE,
		.text = gen_text(r, true),
	};

	if (c->evidence.n && kl_rng_below(r, 2))
		k.of = kl_strdup(c->evidence.v[kl_rng_below(r, c->evidence.n)].event);
	KL_GROW(c->carriers.v, c->carriers.n + 1, c->carriers.alloc);
	c->carriers.v[c->carriers.n++] = k;
}

static inline void gen_evidence(struct kl_card *c, struct kl_rng *r)
{
	bool anew = kl_rng_below(r, 2);
	struct kl_card_evidence e = {
		.lineage = kl_asprintf("w%d/n", (int)kl_rng_below(r, 5)),
		.step = 1 + (int64_t)kl_rng_below(r, 20),
		.before = gen_hex(r, 40),
		.after = gen_hex(r, 40),
		.rederived = anew ? gen_hex(r, 40) : NULL,
		.derivation = anew ? KL_DERIVED_ANEW : KL_DERIVED_INVERSE,
		.origin = kl_strdup("induced"),
		.language = kl_strdup("cuda"),
		.platform = kl_strdup("cuda/sm_90"),
		.event = gen_hex(r, 64),
		.confirmed = anew ? gen_hex(r, 64) : NULL,
	};
	struct kl_card_row row = {
		.case_ = gen_word(r),
		.dtype = kl_strdup("f16"),
		.language = kl_strdup("cuda"),
		.platform = kl_strdup("cuda/sm_90"),
		.ratio = gen_ratio(r),
		.by = anew ? KL_ROW_REDERIVED : KL_ROW_UNVERIFIED,
		.event = kl_strdup(e.event),
	};

	gen_dims(&row.dims, r);
	kl_card_add_row(c, &row);
	kl_card_add_evidence(c, &e);
}

static inline void gen_pre(struct kl_card *c, struct kl_rng *r, int i)
{
	bool by = kl_rng_below(r, 2);
	struct kl_card_pre p = {
		.id = kl_asprintf("p%d", i),
		.text = gen_text(r, false),
		.test = kl_rng_below(r, 2) ? kl_strdup("cap('cp.async') && !(K % 64 != 0)") : NULL,
		.state = by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED,
		.by = by ? gen_hex(r, 64) : NULL,
		.class_ = by ? kl_strdup("fault") : NULL,
	};

	if (i % 2) {
		KL_GROW(c->sound.v, c->sound.n + 1, c->sound.alloc);
		c->sound.v[c->sound.n++] = p;
	} else {
		KL_GROW(c->useful.v, c->useful.n + 1, c->useful.alloc);
		c->useful.v[c->useful.n++] = p;
	}
}

static inline void gen_risk(struct kl_card *c, struct kl_rng *r)
{
	struct kl_card_risk k = { .class_ = kl_strdup("wrong-all"), .text = gen_text(r, false) };

	for (size_t n = 1 + kl_rng_below(r, 3); n; n--)
		kl_strvec_take(&k.events, gen_hex(r, 64));
	if (c->sound.n && kl_rng_below(r, 2))
		k.violates = kl_strdup(c->sound.v[0].id);
	kl_card_add_risk(c, &k);
}

static inline void gen_control(struct kl_card_control *k, struct kl_rng *r)
{
	k->there = true;
	k->result = kl_rng_below(r, 2) ? KL_RESULT_PASS : KL_RESULT_FAIL;
	k->class_ = k->result == KL_RESULT_FAIL ? kl_strdup("no-edit") : NULL;
	k->event = k->result == KL_RESULT_PASS ? gen_hex(r, 64) : NULL;
	k->usd = (int64_t)kl_rng_below(r, 2000000) - 1;
}

static inline void gen_trial(struct kl_card *c, struct kl_rng *r)
{
	struct kl_card_trial t;

	kl_card_trial_init(&t);
	t.trial = 1 + (int64_t)kl_rng_below(r, 3);
	t.level = (enum kl_level)kl_rng_below(r, 5);
	t.workload = gen_word(r);
	t.case_ = gen_word(r);
	gen_dims(&t.dims, r);
	t.dtype = kl_strdup("f32");
	t.language = kl_strdup("c");
	t.platform = kl_strdup("cpu/x86-64-v3");
	t.state = gen_hex(r, 40);
	t.result = kl_rng_below(r, 2) ? KL_RESULT_PASS : KL_RESULT_FAIL;
	t.class_ = t.result == KL_RESULT_FAIL ? kl_strdup("wrong-edge") : NULL;
	t.event = t.result == KL_RESULT_PASS || kl_rng_below(r, 2) ? gen_hex(r, 64) : NULL;
	t.ratio = gen_ratio(r);
	t.recovered = (int64_t)kl_rng_below(r, 1500000) - 1;
	t.usd = (int64_t)kl_rng_below(r, 1500000) - 1;
	t.isolated = kl_rng_below(r, 4);
	t.foreign = !kl_rng_below(r, 4);
	if (kl_rng_below(r, 2)) {
		t.model = gen_text(r, false);
		gen_control(&t.control, r);
	} else {
		t.how = KL_HOW_MECHANICAL;
	}
	if (kl_rng_below(r, 2)) {
		kl_strvec_push(&t.with, "another-1234567");
		gen_control(&t.alone, r);
	}
	kl_card_add_trial(c, &t);
}

/* its status is what its trials give; without trials a hypothesis */
static inline struct kl_card *gen_card(uint64_t seed)
{
	struct kl_rng r;
	struct kl_card *c = kl_card_new();

	kl_rng_seed(&r, seed);
	c->intent = gen_text(&r, false);
	c->mechanism = kl_rng_below(&r, 2) ? gen_word(&r) : NULL;
	c->action = kl_rng_below(&r, 2) ? gen_word(&r) : NULL;
	c->anchor.construct = gen_text(&r, false);
	c->anchor.acts_on = kl_rng_below(&r, 2) ? gen_text(&r, false) : NULL;
	for (size_t n = kl_rng_below(&r, 4); n; n--)
		gen_evidence(c, &r);
	c->id = kl_card_make_id(c->intent, c->evidence.n ? c->evidence.v[0].event : NULL);
	for (size_t n = kl_rng_below(&r, 3); n; n--)
		gen_carrier(c, &r);
	for (int n = (int)kl_rng_below(&r, 6), i = 0; i < n; i++)
		gen_pre(c, &r, i);
	gen_facts(&c->provides, &r);
	if (!kl_rng_below(&r, 4))
		kl_strvec_push(&c->enables, "another-1234567");
	for (size_t n = kl_rng_below(&r, 3); n; n--)
		gen_risk(c, &r);
	gen_facts(&c->scope.needs, &r);
	gen_facts(&c->scope.requires, &r);
	kl_strvec_push(&c->scope.cases, "gemm");
	kl_strvec_push(&c->scope.languages, "cuda");
	for (size_t n = kl_rng_below(&r, 4); n; n--)
		gen_trial(c, &r);
	if (!kl_rng_below(&r, 10))
		kl_card_retract(c, "it was never faster", "A U Thor <a@example.invalid>",
				"2026-11-20T10:00:00Z");
	kl_card_normalize(c);
	return c;
}

#endif
