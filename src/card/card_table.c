/* SPDX-License-Identifier: Apache-2.0 */
/* card_table - the fields of a SkillCard, as tables for shape.h */
#include <string.h>

#include "base/error.h"
#include "card/card.h"
#include "card/card_check.h"
#include "card/shape.h"

/* The card, as tables: keys in the order in which they are written. */

#define END                                     \
	{                                       \
		NULL, 0, 0, 0, 0, 0, NULL, NULL \
	}

/* --- find ------------------------------------------------------------------------------- */

static const struct kl_field find_fields[] = {
#define AT(m) offsetof(struct kl_card_find, m)
	{ "language", KL_FIELD_SLUG, KL_KEY | KL_NEEDED, AT(language), 0, 0, NULL, NULL },
	{ "facts", KL_FIELD_FACTS, 0, AT(facts), 0, 0, NULL, NULL },
	{ "loop_has", KL_FIELD_LINES, 0, AT(loop_has), 0, 0, NULL, NULL },
	{ "const", KL_FIELD_DIMS, 0, AT(constant), 0, 0, NULL, NULL },
	END
#undef AT
};
static const struct kl_shape find_record = {
	"an entry of 'find'", sizeof(struct kl_card_find), find_fields, NULL, NULL, NULL,
};

/* --- carriers --------------------------------------------------------------------------- */

static const char *const forms[] = {
	"annotated-snippet", "diff", "semantic-patch", "schedule", "pseudocode", "prose", NULL,
};

static const struct kl_field carrier_fields[] = {
#define AT(m) offsetof(struct kl_card_carrier, m)
	{ "language", KL_FIELD_SLUG, KL_KEY | KL_NEEDED, AT(language), 0, 0, NULL, NULL },
	{ "form", KL_FIELD_WORD, KL_KEY | KL_NEEDED, AT(form), 0, 0, forms, NULL },
	{ "of", KL_FIELD_EVENT, KL_NULL, AT(of), 0, 0, NULL, NULL },
	{ "text", KL_FIELD_TEXT, KL_NEEDED, AT(text), 0, 0, NULL, NULL },
	END
#undef AT
};
static const struct kl_shape carrier_record = {
	"a carrier", sizeof(struct kl_card_carrier), carrier_fields, kl_check_carrier, NULL, NULL,
};

/* --- pre --------------------------------------------------------------------------------- */

static const char *const pre_states[] = { "assumed", "witnessed", NULL };

static const struct kl_field pre_fields[] = {
#define AT(m) offsetof(struct kl_card_pre, m)
	{ "id", KL_FIELD_SLUG, KL_KEY | KL_NEEDED, AT(id), 0, 0, NULL, NULL },
	{ "text", KL_FIELD_LINE, KL_NEEDED, AT(text), 0, 0, NULL, NULL },
	{ "test", KL_FIELD_PREDICATE, KL_NULL, AT(test), 0, 0, NULL, NULL },
	{ "state", KL_FIELD_WORD, KL_NEEDED, AT(state), 0, 0, pre_states, NULL },
	{ "by", KL_FIELD_EVENT, 0, AT(by), 0, 0, NULL, NULL },
	{ "class", KL_FIELD_SLUG, 0, AT(class_), 0, 0, NULL, NULL },
	END
#undef AT
};
const struct kl_shape kl_shape_pre = {
	"a precondition", sizeof(struct kl_card_pre), pre_fields, kl_check_pre, NULL, NULL,
};

/* --- effect.rows --------------------------------------------------------------------------- */

static const char *const row_by[] = { "trial", "rederived", "unverified", NULL };

static const struct kl_field row_fields[] = {
#define AT(m) offsetof(struct kl_card_row, m)
	{ "case", KL_FIELD_SLUG, KL_ORDER | KL_NEEDED, AT(case_), 0, 0, NULL, NULL },
	{ "dims", KL_FIELD_DIMS, KL_KEY | KL_NEEDED, AT(dims), 0, 0, NULL, NULL },
	{ "dtype", KL_FIELD_SLUG, KL_ORDER | KL_NEEDED, AT(dtype), 0, 0, NULL, NULL },
	{ "language", KL_FIELD_SLUG, KL_ORDER | KL_NEEDED, AT(language), 0, 0, NULL, NULL },
	{ "platform", KL_FIELD_PATH, KL_ORDER | KL_NEEDED, AT(platform), 0, 0, NULL, NULL },
	{ "ratio", KL_FIELD_DECIMAL, KL_NEEDED, AT(ratio.ppm), 1, 0, NULL, NULL },
	{ "lo", KL_FIELD_DECIMAL, 0, AT(ratio.lo), 1, 0, NULL, NULL },
	{ "hi", KL_FIELD_DECIMAL, 0, AT(ratio.hi), 1, 0, NULL, NULL },
	{ "by", KL_FIELD_WORD, KL_NEEDED, AT(by), 0, 0, row_by, NULL },
	{ "event", KL_FIELD_EVENT, KL_KEY | KL_NEEDED, AT(event), 0, 0, NULL, NULL },
	END
#undef AT
};
const struct kl_shape kl_shape_row = {
	"a row of 'effect'", sizeof(struct kl_card_row), row_fields, NULL, NULL, NULL,
};

/* --- evidence -------------------------------------------------------------------------------- */

static const char *const derivations[] = { "rederived", "unisolated", "inverse", NULL };

static const struct kl_field evidence_fields[] = {
#define AT(m) offsetof(struct kl_card_evidence, m)
	{ "lineage", KL_FIELD_PATH, KL_ORDER | KL_NEEDED, AT(lineage), 0, 0, NULL, NULL },
	{ "step", KL_FIELD_INT, KL_ORDER | KL_NEEDED, AT(step), 1, 1000000, NULL, NULL },
	{ "before", KL_FIELD_COMMIT, KL_NEEDED, AT(before), 0, 0, NULL, NULL },
	{ "after", KL_FIELD_COMMIT, KL_NEEDED, AT(after), 0, 0, NULL, NULL },
	{ "rederived", KL_FIELD_COMMIT, KL_NULL, AT(rederived), 0, 0, NULL, NULL },
	{ "derivation", KL_FIELD_WORD, KL_NEEDED, AT(derivation), 0, 0, derivations, NULL },
	{ "origin", KL_FIELD_SLUG, KL_NEEDED, AT(origin), 0, 0, NULL, NULL },
	{ "language", KL_FIELD_SLUG, KL_NEEDED, AT(language), 0, 0, NULL, NULL },
	{ "platform", KL_FIELD_PATH, KL_NEEDED, AT(platform), 0, 0, NULL, NULL },
	{ "event", KL_FIELD_EVENT, KL_KEY | KL_NEEDED, AT(event), 0, 0, NULL, NULL },
	{ "confirmed", KL_FIELD_EVENT, 0, AT(confirmed), 0, 0, NULL, NULL },
	END
#undef AT
};
const struct kl_shape kl_shape_evidence = {
	"a row of 'evidence'",
	sizeof(struct kl_card_evidence),
	evidence_fields,
	kl_check_evidence,
	NULL,
	NULL,
};

/* --- risk ------------------------------------------------------------------------------------- */

static const struct kl_field risk_fields[] = {
#define AT(m) offsetof(struct kl_card_risk, m)
	{ "class", KL_FIELD_SLUG, KL_KEY | KL_NEEDED, AT(class_), 0, 0, NULL, NULL },
	{ "violates", KL_FIELD_SLUG, KL_KEY, AT(violates), 0, 0, NULL, NULL },
	{ "text", KL_FIELD_LINE, KL_KEY | KL_NEEDED, AT(text), 0, 0, NULL, NULL },
	{ "events", KL_FIELD_EVENTS, KL_NEEDED | KL_UNION, AT(events), 1, 0, NULL, NULL },
	END
#undef AT
};
const struct kl_shape kl_shape_risk = {
	"a row of 'risk'", sizeof(struct kl_card_risk), risk_fields, NULL, NULL, NULL,
};

/* --- ver -------------------------------------------------------------------------------------- */

static const char *const levels[] = {
	"other-state", "other-lineage", "other-workload", "other-language", "other-platform", NULL,
};
static const char *const results[] = { "fail", "pass", NULL };
static const char *const hows[] = { "agent", "mechanical", NULL };

static const struct kl_field control_fields[] = {
#define AT(m) offsetof(struct kl_card_control, m)
	{ "result", KL_FIELD_WORD, KL_NEEDED, AT(result), 0, 0, results, NULL },
	{ "class", KL_FIELD_SLUG, 0, AT(class_), 0, 0, NULL, NULL },
	{ "ratio", KL_FIELD_DECIMAL, 0, AT(ratio.ppm), 1, 0, NULL, NULL },
	{ "lo", KL_FIELD_DECIMAL, 0, AT(ratio.lo), 1, 0, NULL, NULL },
	{ "hi", KL_FIELD_DECIMAL, 0, AT(ratio.hi), 1, 0, NULL, NULL },
	{ "event", KL_FIELD_EVENT, KL_NULL, AT(event), 0, 0, NULL, NULL },
	{ "usd", KL_FIELD_DECIMAL, 0, AT(usd), 0, 0, NULL, NULL },
	END
#undef AT
};
static const struct kl_shape control_record = {
	"a control", sizeof(struct kl_card_control), control_fields, kl_check_control, NULL, NULL,
};

static const struct kl_field retracted_fields[] = {
#define AT(m) offsetof(struct kl_card_trial, m)
	{ "retracted", KL_FIELD_LINE, KL_KEY | KL_NEEDED, AT(retracted), 0, 0, NULL, NULL },
	{ "by", KL_FIELD_LINE, KL_KEY | KL_NEEDED, AT(by), 0, 0, NULL, NULL },
	{ "time", KL_FIELD_TIME, KL_KEY | KL_ORDER | KL_NEEDED, AT(time), 0, 0, NULL, NULL },
	{ "event", KL_FIELD_EVENT, 0, AT(event), 0, 0, NULL, NULL },
	END
};
static const struct kl_shape retracted_record = {
	"a retraction", sizeof(struct kl_card_trial), retracted_fields, NULL, NULL, NULL,
};

static const struct kl_field trial_fields[] = {
	{ "trial", KL_FIELD_INT, KL_ORDER | KL_NEEDED, AT(trial), 1, 1000, NULL, NULL },
	{ "level", KL_FIELD_WORD, KL_NEEDED, AT(level), 0, 0, levels, NULL },
	{ "workload", KL_FIELD_SLUG, KL_ORDER | KL_NEEDED, AT(workload), 0, 0, NULL, NULL },
	{ "lineage", KL_FIELD_PATH, 0, AT(lineage), 0, 0, NULL, NULL },
	{ "case", KL_FIELD_SLUG, KL_NEEDED, AT(case_), 0, 0, NULL, NULL },
	{ "dims", KL_FIELD_DIMS, KL_NEEDED, AT(dims), 0, 0, NULL, NULL },
	{ "dtype", KL_FIELD_SLUG, KL_NEEDED, AT(dtype), 0, 0, NULL, NULL },
	{ "language", KL_FIELD_SLUG, KL_ORDER | KL_NEEDED, AT(language), 0, 0, NULL, NULL },
	{ "platform", KL_FIELD_PATH, KL_ORDER | KL_NEEDED, AT(platform), 0, 0, NULL, NULL },
	{ "state", KL_FIELD_COMMIT, KL_ORDER | KL_NEEDED, AT(state), 0, 0, NULL, NULL },
	{ "made", KL_FIELD_COMMIT, 0, AT(made), 0, 0, NULL, NULL },
	{ "result", KL_FIELD_WORD, KL_NEEDED, AT(result), 0, 0, results, NULL },
	{ "class", KL_FIELD_SLUG, 0, AT(class_), 0, 0, NULL, NULL },
	{ "ratio", KL_FIELD_DECIMAL, 0, AT(ratio.ppm), 1, 0, NULL, NULL },
	{ "lo", KL_FIELD_DECIMAL, 0, AT(ratio.lo), 1, 0, NULL, NULL },
	{ "hi", KL_FIELD_DECIMAL, 0, AT(ratio.hi), 1, 0, NULL, NULL },
	{ "recovered", KL_FIELD_DECIMAL, 0, AT(recovered), 0, 0, NULL, NULL },
	{ "event", KL_FIELD_EVENT, KL_KEY | KL_NULL, AT(event), 0, 0, NULL, NULL },
	{ "repairs", KL_FIELD_INT, 0, AT(repairs), 0, 1000, NULL, NULL },
	{ "how", KL_FIELD_WORD, KL_NEEDED, AT(how), 0, 0, hows, NULL },
	{ "model", KL_FIELD_LINE, 0, AT(model), 0, 0, NULL, NULL },
	{ "usd", KL_FIELD_DECIMAL, 0, AT(usd), 0, 0, NULL, NULL },
	{ "isolated", KL_FIELD_BOOL, KL_NEEDED, AT(isolated), 0, 0, NULL, NULL },
	{ "foreign", KL_FIELD_BOOL, KL_WEAK, AT(foreign), 0, 0, NULL, NULL },
	{ "with", KL_FIELD_SLUGS, 0, AT(with), 0, 0, NULL, NULL },
	{ "alone", KL_FIELD_PART, 0, AT(alone), 0, 0, NULL, &control_record },
	{ "control", KL_FIELD_PART, 0, AT(control), 0, 0, NULL, &control_record },
	END
#undef AT
};
const struct kl_shape kl_shape_trial = {
	"a row of 'ver'",  sizeof(struct kl_card_trial), trial_fields, kl_check_trial, "retracted",
	&retracted_record,
};

/* --- the card --------------------------------------------------------------------------------- */

#define AT(m) offsetof(struct kl_card, m)
#define GROUP(name, text)                                                      \
	static const struct kl_shape name##_record = {                         \
		text, sizeof(struct kl_card), name##_fields, NULL, NULL, NULL, \
	}

static const struct kl_field anchor_fields[] = {
	{ "construct", KL_FIELD_LINE, KL_NEEDED, AT(anchor.construct), 0, 0, NULL, NULL },
	{ "acts_on", KL_FIELD_LINE, 0, AT(anchor.acts_on), 0, 0, NULL, NULL },
	{ "find", KL_FIELD_MAP, 0, AT(anchor.find), 0, 0, NULL, &find_record },
	END
};
GROUP(anchor, "'anchor'");

static const struct kl_field pre_parts[] = {
	{ "sound", KL_FIELD_LIST, KL_NEEDED, AT(sound), 0, 0, NULL, &kl_shape_pre },
	{ "useful", KL_FIELD_LIST, KL_NEEDED, AT(useful), 0, 0, NULL, &kl_shape_pre },
	END
};
static const struct kl_shape pres_record = {
	"'pre'", sizeof(struct kl_card), pre_parts, NULL, NULL, NULL,
};

static const struct kl_field effect_fields[] = {
	{ "kind", KL_FIELD_KIND, KL_NEEDED, AT(enables), 0, 0, NULL, NULL },
	{ "provides", KL_FIELD_FACTS, KL_NEEDED, AT(provides), 0, 0, NULL, NULL },
	{ "rows", KL_FIELD_LIST, KL_NEEDED | KL_UNION, AT(rows), 0, 0, NULL, &kl_shape_row },
	END
};
GROUP(effect, "'effect'");

static const struct kl_field platforms_fields[] = {
	{ "needs", KL_FIELD_FACTS, KL_NEEDED, AT(scope.needs), 0, 0, NULL, NULL }, END
};
GROUP(platforms, "'platforms'");

static const struct kl_field prior_fields[] = {
	{ "requires", KL_FIELD_FACTS, KL_NEEDED, AT(scope.requires), 0, 0, NULL, NULL },
	{ "provides", KL_FIELD_FACTS, KL_NEEDED, AT(scope.provides), 0, 0, NULL, NULL },
	{ "conflicts", KL_FIELD_FACTS, KL_NEEDED, AT(scope.conflicts), 0, 0, NULL, NULL },
	END
};
GROUP(prior, "'prior'");

static const struct kl_field scope_fields[] = {
	{ "cases", KL_FIELD_SLUGS, KL_NEEDED, AT(scope.cases), 0, 0, NULL, NULL },
	{ "languages", KL_FIELD_SLUGS, KL_NEEDED, AT(scope.languages), 0, 0, NULL, NULL },
	{ "platforms", KL_FIELD_GROUP, KL_NEEDED, 0, 0, 0, NULL, &platforms_record },
	{ "prior", KL_FIELD_GROUP, KL_NEEDED, 0, 0, 0, NULL, &prior_record },
	END
};
GROUP(scope, "'scope'");

static const char *const statuses[] = { "hypothesis", "provisional", "admitted", "retracted",
					NULL };

/* clang-format off */
static const struct kl_field card_fields[] = {
	{ "schema", KL_FIELD_INT, KL_NEEDED, AT(schema), 1, KL_CARD_SCHEMA, NULL, NULL },
	{ "id", KL_FIELD_SLUG, KL_NEEDED, AT(id), 0, 0, NULL, NULL },
	{ "status", KL_FIELD_WORD, KL_NEEDED, AT(status), 0, 0, statuses, NULL },
	{ "intent", KL_FIELD_LINE, KL_NEEDED, AT(intent), 0, 0, NULL, NULL },
	{ "mechanism", KL_FIELD_SLUG, 0, AT(mechanism), 0, 0, NULL, NULL },
	{ "action", KL_FIELD_SLUG, 0, AT(action), 0, 0, NULL, NULL },
	{ "anchor", KL_FIELD_GROUP, KL_NEEDED, 0, 0, 0, NULL, &anchor_record },
	{ "carriers", KL_FIELD_LIST, KL_NEEDED, AT(carriers), 0, 64, NULL, &carrier_record },
	{ "pre", KL_FIELD_GROUP, KL_NEEDED, 0, 0, 0, NULL, &pres_record },
	{ "effect", KL_FIELD_GROUP, KL_NEEDED, 0, 0, 0, NULL, &effect_record },
	{ "evidence", KL_FIELD_LIST, KL_NEEDED | KL_UNION, AT(evidence), 0, 0, NULL, &kl_shape_evidence },
	{ "risk", KL_FIELD_LIST, KL_NEEDED, AT(risk), 0, 0, NULL, &kl_shape_risk },
	{ "scope", KL_FIELD_GROUP, KL_NEEDED, 0, 0, 0, NULL, &scope_record },
	{ "ver", KL_FIELD_LIST, KL_NEEDED | KL_UNION, AT(ver), 0, 0, NULL, &kl_shape_trial },
	END
};
/* clang-format on */
const struct kl_shape kl_shape_card = {
	"the card", sizeof(struct kl_card), card_fields, kl_check_card, NULL, NULL,
};

/* --- words ------------------------------------------------------------------------------------ */

const char *kl_card_status_name(enum kl_card_status status)
{
	return statuses[status];
}

const char *kl_level_name(enum kl_level level)
{
	return levels[level];
}

int kl_level_rank(enum kl_level level)
{
	return level == KL_LEVEL_OTHER_PLATFORM ? KL_LEVEL_OTHER_LANGUAGE : (int)level;
}

const char *kl_carrier_form_name(enum kl_carrier_form form)
{
	return forms[form];
}
