/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_GEN_H
#define KL_CARD_GEN_H

/*
 * card_gen - random cards that the reader must take, with texts that are hard to write in YAML.
 */
#include "base/rng.h"
#include "card/card.h"

static inline char *gen_hex(struct kl_rng *rng, size_t n)
{
	char *text = kl_malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = "0123456789abcdef"[kl_rng_below(rng, 16)];
	text[n] = '\0';
	return text;
}

static inline const char *gen_pick(struct kl_rng *rng, const char *const *list, size_t n)
{
	return list[kl_rng_below(rng, n)];
}
#define GEN_PICK(r, list) gen_pick(r, list, KL_ARRAY_SIZE(list))

/* pieces joined at random; `lines`: newlines, tabs, too */
static inline char *gen_text(struct kl_rng *rng, bool lines)
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
	struct kl_buf buf = KL_BUF_INIT;
	size_t n = 1 + kl_rng_below(rng, kl_rng_below(rng, 4) ? 6 : 60);

	for (size_t i = 0; i < n; i++) {
		if (lines && !kl_rng_below(rng, 3))
			kl_buf_adds(&buf, GEN_PICK(rng, breaks));
		kl_buf_adds(&buf, GEN_PICK(rng, pieces));
	}
	if (lines && kl_rng_below(rng, 2))
		kl_buf_addch(&buf, '\n');
	return kl_buf_detach(&buf);
}

static inline char *gen_word(struct kl_rng *rng)
{
	static const char *const words[] = {
		"gemm", "conv2d", "null", "true", "no",    "1e9", "0123",
		"3x3",  "off",    "a.b",  "x_y",  "12-34", "e5",
	};

	return kl_strdup(GEN_PICK(rng, words));
}

static inline void gen_facts(struct kl_strvec *list, struct kl_rng *rng)
{
	static const char *const facts[] = {
		"cp.async", "trait:tiled", "mma",     "call._ZGVbN4v_expf",
		"ldg.128",  "bar",         "vec.256", "null",
	};

	for (size_t n = kl_rng_below(rng, 5); n; n--) {
		const char *format = GEN_PICK(rng, facts);

		if (!kl_strvec_has(list, format))
			kl_strvec_push(list, format);
	}
}

static inline void gen_dims(struct kl_card_dims *dims, struct kl_rng *rng)
{
	static const char *const names[] = { "M", "N", "K", "y", "BK" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (kl_rng_below(rng, 2))
			kl_card_dims_add(dims, names[i],
					 (int64_t)kl_rng_u64(rng) >> kl_rng_below(rng, 63));
}

static inline struct kl_ratio gen_ratio(struct kl_rng *rng)
{
	struct kl_ratio ratio = { .ppm = 1 + (int64_t)kl_rng_below(rng, 5000000) };

	if (kl_rng_below(rng, 2)) {
		ratio.lo = ratio.ppm;
		ratio.hi = ratio.ppm + 1000;
	}
	return ratio;
}

static inline void gen_carrier(struct kl_card *card, struct kl_rng *rng)
{
	static const char *const languages[] = { "c", "cuda", "triton" };
	struct kl_card_carrier carrier = {
		.language = kl_strdup(GEN_PICK(rng, languages)),
		.form = kl_rng_below(rng, 2) ? KL_CARRIER_SNIPPET : KL_CARRIER_PROSE,
		.text = gen_text(rng, true),
	};

	if (card->evidence.n && kl_rng_below(rng, 2))
		carrier.of = kl_strdup(card->evidence.v[kl_rng_below(rng, card->evidence.n)].event);
	KL_GROW(card->carriers.v, card->carriers.n + 1, card->carriers.alloc);
	card->carriers.v[card->carriers.n++] = carrier;
}

static inline void gen_evidence(struct kl_card *card, struct kl_rng *rng)
{
	bool anew = kl_rng_below(rng, 2);
	struct kl_card_evidence evidence = {
		.lineage = kl_asprintf("w%d/n", (int)kl_rng_below(rng, 5)),
		.step = 1 + (int64_t)kl_rng_below(rng, 20),
		.before = gen_hex(rng, 40),
		.after = gen_hex(rng, 40),
		.rederived = anew ? gen_hex(rng, 40) : NULL,
		.derivation = anew ? KL_DERIVED_ANEW : KL_DERIVED_INVERSE,
		.origin = kl_strdup("induced"),
		.language = kl_strdup("cuda"),
		.platform = kl_strdup("cuda/sm_90"),
		.event = gen_hex(rng, 64),
		.confirmed = anew ? gen_hex(rng, 64) : NULL,
	};
	struct kl_card_row row = {
		.case_ = gen_word(rng),
		.dtype = kl_strdup("f16"),
		.language = kl_strdup("cuda"),
		.platform = kl_strdup("cuda/sm_90"),
		.ratio = gen_ratio(rng),
		.by = anew ? KL_ROW_REDERIVED : KL_ROW_UNVERIFIED,
		.event = kl_strdup(evidence.event),
	};

	gen_dims(&row.dims, rng);
	kl_card_add_row(card, &row);
	kl_card_add_evidence(card, &evidence);
}

static inline void gen_pre(struct kl_card *card, struct kl_rng *rng, int i)
{
	bool by = kl_rng_below(rng, 2);
	struct kl_card_pre pre = {
		.id = kl_asprintf("p%d", i),
		.text = gen_text(rng, false),
		.test = kl_rng_below(rng, 2) ? kl_strdup("cap('cp.async') && !(K % 64 != 0)") :
					       NULL,
		.state = by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED,
		.by = by ? gen_hex(rng, 64) : NULL,
		.class_ = by ? kl_strdup("fault") : NULL,
	};

	if (i % 2) {
		KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
		card->sound.v[card->sound.n++] = pre;
	} else {
		KL_GROW(card->useful.v, card->useful.n + 1, card->useful.alloc);
		card->useful.v[card->useful.n++] = pre;
	}
}

static inline void gen_risk(struct kl_card *card, struct kl_rng *rng)
{
	struct kl_card_risk risk = { .class_ = kl_strdup("wrong-all"),
				     .text = gen_text(rng, false) };

	for (size_t n = 1 + kl_rng_below(rng, 3); n; n--)
		kl_strvec_take(&risk.events, gen_hex(rng, 64));
	if (card->sound.n && kl_rng_below(rng, 2))
		risk.violates = kl_strdup(card->sound.v[0].id);
	kl_card_add_risk(card, &risk);
}

static inline void gen_control(struct kl_card_control *control, struct kl_rng *rng)
{
	control->there = true;
	control->result = kl_rng_below(rng, 2) ? KL_RESULT_PASS : KL_RESULT_FAIL;
	control->class_ = control->result == KL_RESULT_FAIL ? kl_strdup("no-edit") : NULL;
	control->event = control->result == KL_RESULT_PASS ? gen_hex(rng, 64) : NULL;
	control->usd = (int64_t)kl_rng_below(rng, 2000000) - 1;
	control->tokens = (int64_t)kl_rng_below(rng, 2000000) - 1;
	control->card = kl_rng_below(rng, 4) ? NULL : gen_word(rng);
}

static inline void gen_trial(struct kl_card *card, struct kl_rng *rng)
{
	struct kl_card_trial trial;

	kl_card_trial_init(&trial);
	trial.trial = 1 + (int64_t)kl_rng_below(rng, 3);
	trial.level = (enum kl_level)kl_rng_below(rng, KL_LEVEL_OTHER_PLATFORM + 1);
	trial.rule = kl_rng_below(rng, 2) ? KL_TRIAL_RULE : 0;
	trial.changed = (int64_t)kl_rng_below(rng, 1000) - 1;
	trial.alike = (int64_t)kl_rng_below(rng, 1000001) - 1;
	trial.workload = gen_word(rng);
	trial.case_ = gen_word(rng);
	gen_dims(&trial.dims, rng);
	trial.dtype = kl_strdup("f32");
	trial.language = kl_strdup("c");
	trial.platform = kl_strdup("cpu/x86-64-v3");
	trial.state = gen_hex(rng, 40);
	trial.result = kl_rng_below(rng, 2) ? KL_RESULT_PASS : KL_RESULT_FAIL;
	trial.class_ = trial.result == KL_RESULT_FAIL ? kl_strdup("wrong-edge") : NULL;
	trial.event = trial.result == KL_RESULT_PASS || kl_rng_below(rng, 2) ? gen_hex(rng, 64) :
									       NULL;
	trial.ratio = gen_ratio(rng);
	trial.recovered = (int64_t)kl_rng_below(rng, 1500000) - 1;
	trial.usd = (int64_t)kl_rng_below(rng, 1500000) - 1;
	trial.tokens = (int64_t)kl_rng_below(rng, 1500000) - 1;
	trial.seed = (int64_t)kl_rng_below(rng, 9007199254740991);
	trial.isolated = kl_rng_below(rng, 4);
	trial.foreign = !kl_rng_below(rng, 4);
	if (kl_rng_below(rng, 2)) {
		trial.model = gen_text(rng, false);
		gen_control(&trial.control, rng);
		gen_control(&trial.bare, rng);
		gen_control(&trial.wrong, rng);
		trial.arms = gen_text(rng, false);
	} else {
		trial.how = KL_HOW_MECHANICAL;
	}
	if (kl_rng_below(rng, 2)) {
		kl_strvec_push(&trial.with, "another-1234567");
		gen_control(&trial.alone, rng);
	}
	kl_card_add_trial(card, &trial);
}

/* its status is what its trials give; without trials a hypothesis */
static inline struct kl_card *gen_card(uint64_t seed)
{
	struct kl_rng rng;
	struct kl_card *card = kl_card_new();

	kl_rng_seed(&rng, seed);
	card->intent = gen_text(&rng, false);
	card->mechanism = kl_rng_below(&rng, 2) ? gen_word(&rng) : NULL;
	card->action = kl_rng_below(&rng, 2) ? gen_word(&rng) : NULL;
	card->anchor.construct = gen_text(&rng, false);
	card->anchor.acts_on = kl_rng_below(&rng, 2) ? gen_text(&rng, false) : NULL;
	for (size_t n = kl_rng_below(&rng, 4); n; n--)
		gen_evidence(card, &rng);
	card->id = kl_card_make_id(card->intent,
				   card->evidence.n ? card->evidence.v[0].event : NULL);
	for (size_t n = kl_rng_below(&rng, 3); n; n--)
		gen_carrier(card, &rng);
	for (int n = (int)kl_rng_below(&rng, 6), i = 0; i < n; i++)
		gen_pre(card, &rng, i);
	gen_facts(&card->provides, &rng);
	if (!kl_rng_below(&rng, 4))
		kl_strvec_push(&card->enables, "another-1234567");
	for (size_t n = kl_rng_below(&rng, 3); n; n--)
		gen_risk(card, &rng);
	gen_facts(&card->scope.needs, &rng);
	gen_facts(&card->scope.requires, &rng);
	kl_strvec_push(&card->scope.cases, "gemm");
	kl_strvec_push(&card->scope.languages, "cuda");
	for (size_t n = kl_rng_below(&rng, 4); n; n--)
		gen_trial(card, &rng);
	if (!kl_rng_below(&rng, 10))
		kl_card_retract(card, "it was never faster", "A U Thor <a@example.invalid>",
				"2026-11-20T10:00:00Z");
	kl_card_normalize(card);
	return card;
}

#endif
