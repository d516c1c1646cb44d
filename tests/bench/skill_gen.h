/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_GEN_H
#define KL_SKILL_GEN_H

/*
 * skill_gen - cards as a library would have them, any number, each from its number and a seed:
 * benches of what is done with many, and tests of what is done with few. Facts and lineages come
 * from small vocabularies, so that cards require and provide what others do. Their figures are
 * invented and are never reported.
 */
#include "base/rng.h"
#include "card/card.h"
#include "event/event.h"

struct skill_gen {
	uint64_t seed;
	size_t facts; /* different facts that cards provide and require */
	size_t lineages;
	size_t text; /* bytes of a carrier */
	bool simple; /* one language and platform, nothing that a platform may lack */
	/*
	 * ids of the events that cards cite, skill_gen_event() 0 ..; NULL: they cite what is
	 * nowhere
	 */
	char (*event)[KL_DIGEST_HEX];
	size_t nevent;
};

/* clang-format off */
static const struct { const char *op, *dims; } skill_gen_cases[] = {
	{ "gemm", "K M N" }, { "conv2d", "C F H N W" }, { "attention", "B D H S" },
	{ "gated-delta-net", "D T" }, { "topk", "cols k rows" }, { "softmax", "M N" },
	{ "layer-norm", "M N" }, { "chunk-cumsum", "B H T" }, { "batched-gemm", "B K M N" },
	{ "transpose", "M N" },
};
/* clang-format on */

static const struct {
	const char *language, *platform;
} skill_gen_places[] = {
	{ "c", "cpu/x86-64-v3" },     { "cuda", "cuda/sm_90" },   { "cuda", "cuda/sm_80" },
	{ "c", "cpu/x86-64-v4" },     { "triton", "cuda/sm_90" }, { "cuda", "cuda/sm_120" },
	{ "tilelang", "cuda/sm_90" },
};

static const char *const skill_gen_tests[] = {
	"K % 64 == 0",
	"N >= 128",
	"extent(reduction) >= 256",
	"!has('tma.load')",
	"cap('cp.async')",
	"trait('tiled')",
	"smem_optin >= 100000",
	"cols <= 4096 || k < 64",
	"dtype == 'f32'",
	"cdiv(extent(rows), 128) >= 2 && vector_bytes >= 32",
	"stride_bytes(A, M) % 16 == 0",
	"M % 8 == 0",
};

static inline char *skill_gen_hex(uint64_t seed, uint64_t left, uint64_t right, size_t n)
{
	char *text = kl_malloc(n + 1);
	uint64_t value = kl_rng_mix(seed ^ kl_rng_mix(left * 1000003 + right));

	for (size_t i = 0; i < n; i++, value = i % 16 ? value >> 4 : kl_rng_mix(value + i))
		text[i] = "0123456789abcdef"[value & 15];
	text[n] = '\0';
	return text;
}

/* What the k-th event says: where it was, whether it passed, how fast. */
static inline size_t skill_gen_place(const struct skill_gen *gen, size_t k)
{
	return gen->simple ? 0 : k % KL_ARRAY_SIZE(skill_gen_places);
}

static inline bool skill_gen_passed(size_t k)
{
	return k / KL_ARRAY_SIZE(skill_gen_places) % 3 != 0;
}

static inline struct kl_ratio skill_gen_ratio(size_t k)
{
	int64_t ppm = 1500000 + (int64_t)(k * 7919 % 1000) * 1000;

	return (struct kl_ratio){ ppm, ppm - 50000, ppm + 50000 };
}

/** The k-th event, sealed; the caller's reference. */
static inline json_t *skill_gen_event(const struct skill_gen *gen, size_t k)
{
	struct kl_ratio ratio = skill_gen_ratio(k);
	char digest[KL_DIGEST_HEX];
	struct kl_event *event;
	json_t *entry;

	kl_digest_hex(digest, &k, sizeof(k));
	entry = json_pack(
		"{s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:{s:s,s:s,s:s,s:[s]},s:s,s:s,s:s?,s:[s,s,s],"
		"s:{s:i,s:i,s:[{s:s,s:I,s:I,s:I,s:s}]}}",
		"v", 1, "kind", "gate", "time", "2026-01-01T00:00:00Z", "workload", "w", "policy",
		2, "surface", digest, "contract", digest, "platform", "id",
		skill_gen_places[skill_gen_place(gen, k)].platform, "device", "sample", "compiler",
		"gcc 12.2.0", "flags", "-O2", "tier", "host-sandboxed", "verdict",
		skill_gen_passed(k) ? "pass" : "fail", "class",
		skill_gen_passed(k) ? NULL : "wrong-edge", "features", "avx2.fma", "shuffle",
		"vec.256", "profile", "ns", 1000000, "aa_ppm", 4000, "vs", "what", "parent",
		"ratio_ppm", (json_int_t)ratio.ppm, "lo_ppm", (json_int_t)ratio.lo, "hi_ppm",
		(json_int_t)ratio.hi, "verdict", "fast");
	event = kl_event_from_json(entry);
	kl_event_seal(event);
	kl_json_set_str(entry, "id", event->id);
	kl_event_free(event);
	return entry;
}

static inline char *skill_gen_cite(const struct skill_gen *gen, size_t k)
{
	return gen->event ? kl_strdup(gen->event[k % gen->nevent]) :
			    skill_gen_hex(gen->seed, 2, k, 64);
}

static inline char *skill_gen_id(size_t i)
{
	return kl_asprintf("skill-%06zu", i);
}

static inline void skill_gen_dims(struct kl_card_dims *dims, struct kl_rng *rng, const char *names)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;

	kl_strvec_split(&list, names, " ");
	for (size_t i = 0; i < list.n; i++)
		kl_card_dims_add(dims, list.v[i], (int64_t)1 << (2 + 3 * kl_rng_below(rng, 5)));
}

static inline void skill_gen_facts(struct kl_strvec *list, const struct skill_gen *gen,
				   struct kl_rng *rng, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t field = kl_rng_below(rng, gen->facts);

		kl_strvec_pushf(list, field % 3 ? "fact.%zu" : "trait:t%zu", field);
	}
	kl_strvec_uniq(list);
}

/* A trial and the row that it verified, if it passed. */
static inline void skill_gen_trial(struct kl_card *card, const struct skill_gen *gen,
				   struct kl_rng *rng, size_t i, size_t k)
{
	static const char *const dtype[] = { "f32", "f16", "bf16" };
	size_t which = kl_rng_below(rng, KL_ARRAY_SIZE(skill_gen_cases));
	size_t event = kl_rng_below(rng, gen->event ? gen->nevent : 1 << 20),
	       place = skill_gen_place(gen, event);
	const char *dir = dtype[kl_rng_below(rng, 3)];
	struct kl_card_trial trial;
	struct kl_card_row row = { 0 };

	kl_card_trial_init(&trial);
	trial.trial = 1;
	trial.level = (enum kl_level)kl_rng_below(rng, 5);
	trial.case_ = kl_strdup(skill_gen_cases[which].op);
	trial.workload = kl_strdup(trial.case_);
	skill_gen_dims(&trial.dims, rng, skill_gen_cases[which].dims);
	trial.dtype = kl_strdup(dir);
	trial.language = kl_strdup(skill_gen_places[place].language);
	trial.platform = kl_strdup(skill_gen_places[place].platform);
	trial.state = skill_gen_hex(gen->seed, i, 1000 + k, 40);
	trial.event = skill_gen_cite(gen, event);
	trial.isolated = kl_rng_below(rng, 8) != 0;
	trial.result = skill_gen_passed(event) ? KL_RESULT_PASS : KL_RESULT_FAIL;
	trial.how = KL_HOW_MECHANICAL;
	if (trial.result == KL_RESULT_FAIL) {
		trial.class_ = kl_strdup("wrong-edge");
	} else {
		trial.ratio = skill_gen_ratio(event);
		row.case_ = kl_strdup(trial.case_);
		kl_card_dims_copy(&row.dims, &trial.dims);
		row.dtype = kl_strdup(dir);
		row.language = kl_strdup(trial.language);
		row.platform = kl_strdup(trial.platform);
		row.ratio = trial.ratio;
		row.by = KL_ROW_TRIAL;
		row.event = kl_strdup(trial.event);
		kl_card_add_row(card, &row);
	}
	kl_card_add_trial(card, &trial);
}

static inline void skill_gen_evidence(struct kl_card *card, const struct skill_gen *gen,
				      struct kl_rng *rng, size_t i, size_t k)
{
	size_t event = kl_rng_below(rng, gen->event ? gen->nevent : 1 << 20), place;
	struct kl_card_evidence evidence = {
		.lineage = kl_asprintf("w%zu/n", (size_t)kl_rng_below(rng, gen->lineages)),
		.step = 1 + (int64_t)kl_rng_below(rng, 16),
		.before = skill_gen_hex(gen->seed, i, 3000 + k, 40),
		.after = skill_gen_hex(gen->seed, i, 4000 + k, 40),
		.derivation = KL_DERIVED_INVERSE,
		.origin = kl_strdup("induced"),
	};

	while (!skill_gen_passed(event))
		event = (event + KL_ARRAY_SIZE(skill_gen_places)) %
			(gen->event ? gen->nevent : 1 << 20);
	place = skill_gen_place(gen, event);
	evidence.language = kl_strdup(skill_gen_places[place].language);
	evidence.platform = kl_strdup(skill_gen_places[place].platform);
	evidence.event = skill_gen_cite(gen, event);
	kl_card_add_evidence(card, &evidence);
}

static inline char *skill_gen_code(const struct skill_gen *gen, size_t i)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t line = 0; buf.len < gen->text; line++)
		kl_buf_addf(
			&buf,
			"for (int k%zu = 0; k%zu < K; k%zu++) { acc[%zu] += a[k%zu] * b[%zu]; }\n",
			line, line, line, i % 16, line, line % 8);
	return kl_buf_detach(&buf);
}

/** The i-th card; the caller's. */
static inline struct kl_card *skill_gen_card(const struct skill_gen *gen, size_t i)
{
	struct kl_card *card = kl_card_new();
	struct kl_card_carrier *carrier = kl_calloc(1, sizeof(*carrier));
	struct kl_rng rng;

	kl_rng_seed(&rng, kl_rng_mix(gen->seed + i));
	card->id = skill_gen_id(i);
	card->intent = kl_asprintf(
		"Keep the operands of step %zu in the place where its inner loop reads them, so "
		"that the loop waits for no memory while it computes.",
		i);
	card->mechanism = kl_strdup("cache-block");
	card->action = kl_strdup("unblock");
	card->anchor.construct = kl_strdup("a loop nest that reads two operands");
	carrier->language = kl_strdup(gen->simple ? "c" : "cuda");
	carrier->form = KL_CARRIER_SNIPPET;
	carrier->text = skill_gen_code(gen, i);
	card->carriers.v = carrier;
	card->carriers.n = card->carriers.alloc = 1;
	for (size_t k = kl_rng_below(&rng, 3); k-- > 0;) {
		struct kl_card_pre pre = {
			.id = kl_asprintf("p%zu", k),
			.text = kl_strdup("a condition"),
			.test = kl_strdup(skill_gen_tests[kl_rng_below(
				&rng, KL_ARRAY_SIZE(skill_gen_tests))]),
		};

		KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
		card->sound.v[card->sound.n++] = pre;
	}
	skill_gen_facts(&card->provides, gen, &rng, 1 + kl_rng_below(&rng, 2));
	kl_strvec_copy(&card->scope.provides, &card->provides);
	if (!kl_rng_below(&rng, 2))
		skill_gen_facts(&card->scope.requires, gen, &rng, 1 + kl_rng_below(&rng, 2));
	if (!kl_rng_below(&rng, 4))
		skill_gen_facts(&card->scope.conflicts, gen, &rng, 1);
	if (!gen->simple && !kl_rng_below(&rng, 4))
		kl_strvec_push(&card->scope.needs, "cp.async");
	kl_strvec_push(&card->scope.cases, "gemm");
	kl_strvec_push(&card->scope.languages, "c");
	for (size_t k = 1 + kl_rng_below(&rng, 3); k-- > 0;)
		skill_gen_evidence(card, gen, &rng, i, k);
	for (size_t k = kl_rng_below(&rng, 5); k-- > 0;)
		skill_gen_trial(card, gen, &rng, i, k);
	kl_card_normalize(card);
	return card;
}

#endif
