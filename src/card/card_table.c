/* SPDX-License-Identifier: Apache-2.0 */
/* card_table - the fields of a SkillCard, as tables for text/schema.h */
#include <string.h>

#include "base/error.h"
#include "card/card.h"
#include "card/card_check.h"
#include "card/card_types.h"

/* Each table lists its keys in the order in which they are written. */

/* --- find ------------------------------------------------------------------------------- */

static const struct kl_field find_fields[] = {
#define AT(m) offsetof(struct kl_card_find, m)
	KL_STRING_FIELD("language", KL_KEY | KL_NEEDED, AT(language), &kl_string_slug),
	KL_SET_FIELD("facts", 0, AT(facts), &kl_card_fact, 0, 0),
	KL_SET_FIELD("loop_has", 0, AT(loop_has), &kl_string_line, 0, 0),
	KL_VALUE_FIELD("const", 0, AT(constant), &kl_card_dims_value), KL_FIELDS_END
#undef AT
};
static const struct kl_schema find_record = {
	"an entry of 'find'", sizeof(struct kl_card_find), find_fields, NULL, NULL, NULL,
};

/* --- carriers --------------------------------------------------------------------------- */

static const char *const forms[] = {
	"annotated-snippet", "diff",  "semantic-patch", "schedule",
	"pseudocode",        "prose", "transform",      NULL,
};

static const struct kl_field carrier_fields[] = {
#define AT(m) offsetof(struct kl_card_carrier, m)
	KL_STRING_FIELD("language", KL_KEY | KL_NEEDED, AT(language), &kl_string_slug),
	KL_WORD_FIELD("form", KL_KEY | KL_NEEDED, AT(form), forms),
	KL_STRING_FIELD("of", KL_KEY | KL_NULL, AT(of), &kl_card_event_id),
	KL_STRING_FIELD("text", KL_NEEDED, AT(text), &kl_string_text), KL_FIELDS_END
#undef AT
};
static const struct kl_schema carrier_record = {
	"a carrier", sizeof(struct kl_card_carrier), carrier_fields, kl_check_carrier, NULL, NULL,
};

/* --- pre --------------------------------------------------------------------------------- */

static const char *const pre_states[] = { "assumed", "witnessed", "not-needed", "not-tested",
					  NULL };

static const struct kl_field pre_fields[] = {
#define AT(m) offsetof(struct kl_card_pre, m)
	KL_STRING_FIELD("id", KL_KEY | KL_NEEDED, AT(id), &kl_string_slug),
	KL_STRING_FIELD("text", KL_NEEDED, AT(text), &kl_string_line),
	KL_STRING_FIELD("test", KL_NULL, AT(test), &kl_card_predicate),
	KL_WORD_FIELD("state", KL_NEEDED, AT(state), pre_states),
	KL_STRING_FIELD("by", 0, AT(by), &kl_card_event_id),
	KL_STRING_FIELD("class", 0, AT(class_), &kl_string_slug),
	KL_STRING_FIELD("pair", 0, AT(pair), &kl_card_event_id),
	KL_STRING_FIELD("source", 0, AT(source), &kl_string_line),
	KL_FIELDS_END
#undef AT
};
const struct kl_schema kl_card_pre_schema = {
	"a precondition", sizeof(struct kl_card_pre), pre_fields, kl_check_pre, NULL, NULL,
};

/* --- effect.rows --------------------------------------------------------------------------- */

static const char *const row_by[] = { "trial", "rederived", "unverified", NULL };

static const struct kl_field row_fields[] = {
#define AT(m) offsetof(struct kl_card_row, m)
	KL_STRING_FIELD("case", KL_ORDER | KL_NEEDED, AT(case_), &kl_string_slug),
	KL_VALUE_FIELD("dims", KL_KEY | KL_NEEDED, AT(dims), &kl_card_dims_value),
	KL_STRING_FIELD("dtype", KL_ORDER | KL_NEEDED, AT(dtype), &kl_string_slug),
	KL_STRING_FIELD("language", KL_ORDER | KL_NEEDED, AT(language), &kl_string_slug),
	KL_STRING_FIELD("platform", KL_ORDER | KL_NEEDED, AT(platform), &kl_string_path),
	KL_DECIMAL_FIELD("ratio", KL_NEEDED, AT(ratio.ppm), 1, 0),
	KL_DECIMAL_FIELD("lo", 0, AT(ratio.lo), 1, 0),
	KL_DECIMAL_FIELD("hi", 0, AT(ratio.hi), 1, 0),
	KL_WORD_FIELD("by", KL_NEEDED, AT(by), row_by),
	KL_STRING_FIELD("event", KL_KEY | KL_NEEDED, AT(event), &kl_card_event_id),
	KL_FIELDS_END
#undef AT
};
const struct kl_schema kl_card_row_schema = {
	"a row of 'effect'", sizeof(struct kl_card_row), row_fields, NULL, NULL, NULL,
};

/* --- evidence -------------------------------------------------------------------------------- */

static const char *const derivations[] = { "rederived", "unisolated", "inverse", NULL };

static const struct kl_field evidence_fields[] = {
#define AT(m) offsetof(struct kl_card_evidence, m)
	KL_STRING_FIELD("lineage", KL_ORDER | KL_NEEDED, AT(lineage), &kl_string_path),
	KL_INT_FIELD("step", KL_ORDER | KL_NEEDED, AT(step), 1, 1000000),
	KL_STRING_FIELD("before", KL_NEEDED, AT(before), &kl_card_commit_id),
	KL_STRING_FIELD("after", KL_NEEDED, AT(after), &kl_card_commit_id),
	KL_STRING_FIELD("rederived", KL_NULL, AT(rederived), &kl_card_commit_id),
	KL_WORD_FIELD("derivation", KL_NEEDED, AT(derivation), derivations),
	KL_STRING_FIELD("origin", KL_NEEDED, AT(origin), &kl_string_slug),
	KL_STRING_FIELD("language", KL_NEEDED, AT(language), &kl_string_slug),
	KL_STRING_FIELD("platform", KL_NEEDED, AT(platform), &kl_string_path),
	KL_STRING_FIELD("event", KL_KEY | KL_NEEDED, AT(event), &kl_card_event_id),
	KL_STRING_FIELD("confirmed", 0, AT(confirmed), &kl_card_event_id),
	KL_SET_FIELD("also", 0, AT(also), &kl_string_line, 0, 0),
	KL_SET_FIELD("measured", 0, AT(measured), &kl_string_line, 0, 0),
	KL_FIELDS_END
#undef AT
};
const struct kl_schema kl_card_evidence_schema = {
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
	KL_STRING_FIELD("class", KL_KEY | KL_NEEDED, AT(class_), &kl_string_slug),
	KL_STRING_FIELD("violates", KL_KEY, AT(violates), &kl_string_slug),
	KL_STRING_FIELD("text", KL_KEY | KL_NEEDED, AT(text), &kl_string_line),
	KL_SET_FIELD("events", KL_NEEDED | KL_UNION, AT(events), &kl_card_event_id, 1, 0),
	KL_FIELDS_END
#undef AT
};
const struct kl_schema kl_card_risk_schema = {
	"a row of 'risk'", sizeof(struct kl_card_risk), risk_fields, NULL, NULL, NULL,
};

/* --- ver -------------------------------------------------------------------------------------- */

static const char *const levels[] = {
	"same-code",      "other-state",    "other-lineage",  "other-author",
	"other-workload", "other-language", "other-platform", NULL,
};
#define MAX_TOKENS 1000000000000
#define MAX_SEED 9007199254740991 /* 2^53 - 1, so that every reader of JSON can hold it */
static const char *const results[] = { "fail", "pass", NULL };
static const char *const hows[] = { "agent", "mechanical", NULL };

static const struct kl_field control_fields[] = {
#define AT(m) offsetof(struct kl_card_control, m)
	KL_WORD_FIELD("result", KL_NEEDED, AT(result), results),
	KL_STRING_FIELD("class", 0, AT(class_), &kl_string_slug),
	KL_DECIMAL_FIELD("ratio", 0, AT(ratio.ppm), 1, 0),
	KL_DECIMAL_FIELD("lo", 0, AT(ratio.lo), 1, 0),
	KL_DECIMAL_FIELD("hi", 0, AT(ratio.hi), 1, 0),
	KL_STRING_FIELD("event", KL_NULL, AT(event), &kl_card_event_id),
	KL_DECIMAL_FIELD("usd", 0, AT(usd), 0, 0),
	KL_INT_FIELD("tokens", 0, AT(tokens), 0, MAX_TOKENS),
	KL_STRING_FIELD("card", 0, AT(card), &kl_string_slug),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema control_record = {
	"a control", sizeof(struct kl_card_control), control_fields, kl_check_control, NULL, NULL,
};

static const struct kl_field retracted_fields[] = {
#define AT(m) offsetof(struct kl_card_trial, m)
	KL_STRING_FIELD("retracted", KL_KEY | KL_NEEDED, AT(retracted), &kl_string_line),
	KL_STRING_FIELD("by", KL_KEY | KL_NEEDED, AT(by), &kl_string_line),
	KL_STRING_FIELD("time", KL_KEY | KL_ORDER | KL_NEEDED, AT(time), &kl_string_time),
	KL_STRING_FIELD("event", 0, AT(event), &kl_card_event_id), KL_FIELDS_END
};
static const struct kl_schema retracted_record = {
	"a retraction", sizeof(struct kl_card_trial), retracted_fields, NULL, NULL, NULL,
};

static const struct kl_field trial_fields[] = {
	KL_INT_FIELD("trial", KL_ORDER | KL_NEEDED, AT(trial), 1, 1000),
	KL_INT_FIELD("rule", 0, AT(rule), 1, 1000),
	KL_WORD_FIELD("level", KL_NEEDED, AT(level), levels),
	KL_INT_FIELD("changed", 0, AT(changed), 0, 100000000),
	KL_DECIMAL_FIELD("alike", 0, AT(alike), 0, 0),
	KL_STRING_FIELD("workload", KL_ORDER | KL_NEEDED, AT(workload), &kl_string_slug),
	KL_STRING_FIELD("lineage", 0, AT(lineage), &kl_string_path),
	KL_STRING_FIELD("case", KL_NEEDED, AT(case_), &kl_string_slug),
	KL_VALUE_FIELD("dims", KL_NEEDED, AT(dims), &kl_card_dims_value),
	KL_STRING_FIELD("dtype", KL_NEEDED, AT(dtype), &kl_string_slug),
	KL_STRING_FIELD("language", KL_ORDER | KL_NEEDED, AT(language), &kl_string_slug),
	KL_STRING_FIELD("platform", KL_ORDER | KL_NEEDED, AT(platform), &kl_string_path),
	KL_STRING_FIELD("state", KL_ORDER | KL_NEEDED, AT(state), &kl_card_commit_id),
	KL_STRING_FIELD("made", 0, AT(made), &kl_card_commit_id),
	KL_WORD_FIELD("result", KL_NEEDED, AT(result), results),
	KL_STRING_FIELD("class", 0, AT(class_), &kl_string_slug),
	KL_DECIMAL_FIELD("ratio", 0, AT(ratio.ppm), 1, 0),
	KL_DECIMAL_FIELD("lo", 0, AT(ratio.lo), 1, 0),
	KL_DECIMAL_FIELD("hi", 0, AT(ratio.hi), 1, 0),
	KL_DECIMAL_FIELD("recovered", 0, AT(recovered), 0, 0),
	KL_STRING_FIELD("event", KL_KEY | KL_NULL, AT(event), &kl_card_event_id),
	KL_INT_FIELD("repairs", 0, AT(repairs), 0, 1000),
	KL_WORD_FIELD("how", KL_NEEDED, AT(how), hows),
	KL_STRING_FIELD("model", 0, AT(model), &kl_string_line),
	KL_DECIMAL_FIELD("usd", 0, AT(usd), 0, 0),
	KL_INT_FIELD("tokens", 0, AT(tokens), 0, MAX_TOKENS),
	KL_BOOL_FIELD("isolated", KL_NEEDED, AT(isolated)),
	KL_INT_FIELD("seed", 0, AT(seed), 1, MAX_SEED),
	KL_STRING_FIELD("arms", 0, AT(arms), &kl_string_line),
	KL_BOOL_FIELD("foreign", KL_WEAK, AT(foreign)),
	KL_SET_FIELD("with", 0, AT(with), &kl_string_slug, 0, 0),
	KL_PART_FIELD("alone", 0, AT(alone), &control_record),
	KL_PART_FIELD("control", 0, AT(control), &control_record),
	KL_PART_FIELD("bare", 0, AT(bare), &control_record),
	KL_PART_FIELD("wrong", 0, AT(wrong), &control_record),
	KL_FIELDS_END
#undef AT
};
const struct kl_schema kl_card_trial_schema = {
	"a row of 'ver'",  sizeof(struct kl_card_trial), trial_fields, kl_check_trial, "retracted",
	&retracted_record,
};

/* --- the card and its groups ------------------------------------------------------------------ */

#define AT(m) offsetof(struct kl_card, m)
#define GROUP(name, text)                                                      \
	static const struct kl_schema name##_record = {                        \
		text, sizeof(struct kl_card), name##_fields, NULL, NULL, NULL, \
	}

static const struct kl_field anchor_fields[] = {
	KL_STRING_FIELD("construct", KL_NEEDED, AT(anchor.construct), &kl_string_line),
	KL_STRING_FIELD("acts_on", 0, AT(anchor.acts_on), &kl_string_line),
	KL_MAP_FIELD("find", 0, AT(anchor.find), &find_record, 0, 0), KL_FIELDS_END
};
GROUP(anchor, "'anchor'");

static const struct kl_field pre_parts[] = {
	KL_LIST_FIELD("sound", KL_NEEDED, AT(sound), &kl_card_pre_schema, 0, 0),
	KL_LIST_FIELD("useful", KL_NEEDED, AT(useful), &kl_card_pre_schema, 0, 0), KL_FIELDS_END
};
static const struct kl_schema pres_record = {
	"'pre'", sizeof(struct kl_card), pre_parts, NULL, NULL, NULL,
};

static const struct kl_field effect_fields[] = {
	KL_VALUE_FIELD("kind", KL_NEEDED, AT(enables), &kl_card_kind_value),
	KL_SET_FIELD("provides", KL_NEEDED, AT(provides), &kl_card_fact, 0, 0),
	KL_LIST_FIELD("rows", KL_NEEDED | KL_UNION, AT(rows), &kl_card_row_schema, 0, 0),
	KL_FIELDS_END
};
GROUP(effect, "'effect'");

static const struct kl_field platforms_fields[] = {
	KL_SET_FIELD("needs", KL_NEEDED, AT(scope.needs), &kl_card_fact, 0, 0), KL_FIELDS_END
};
GROUP(platforms, "'platforms'");

static const struct kl_field prior_fields[] = {
	KL_SET_FIELD("requires", KL_NEEDED, AT(scope.requires), &kl_card_fact, 0, 0),
	KL_SET_FIELD("provides", KL_NEEDED, AT(scope.provides), &kl_card_fact, 0, 0),
	KL_SET_FIELD("conflicts", KL_NEEDED, AT(scope.conflicts), &kl_card_fact, 0, 0),
	KL_FIELDS_END
};
GROUP(prior, "'prior'");

static const struct kl_field scope_fields[] = {
	KL_SET_FIELD("cases", KL_NEEDED, AT(scope.cases), &kl_string_slug, 0, 0),
	KL_SET_FIELD("languages", KL_NEEDED, AT(scope.languages), &kl_string_slug, 0, 0),
	KL_GROUP_FIELD("platforms", KL_NEEDED, 0, &platforms_record),
	KL_GROUP_FIELD("prior", KL_NEEDED, 0, &prior_record), KL_FIELDS_END
};
GROUP(scope, "'scope'");

static const char *const statuses[] = { "hypothesis", "provisional", "admitted", "retracted",
					NULL };

/* clang-format off */
static const struct kl_field card_fields[] = {
	KL_INT_FIELD("schema", KL_NEEDED, AT(schema), 1, KL_CARD_SCHEMA),
	KL_STRING_FIELD("id", KL_NEEDED, AT(id), &kl_string_slug),
	KL_WORD_FIELD("status", KL_NEEDED, AT(status), statuses),
	KL_STRING_FIELD("intent", KL_NEEDED, AT(intent), &kl_string_line),
	KL_STRING_FIELD("mechanism", 0, AT(mechanism), &kl_string_slug),
	KL_BOOL_FIELD("unlisted", KL_WEAK, AT(unlisted)),
	KL_STRING_FIELD("action", 0, AT(action), &kl_string_slug),
	KL_GROUP_FIELD("anchor", KL_NEEDED, 0, &anchor_record),
	KL_LIST_FIELD("carriers", KL_NEEDED, AT(carriers), &carrier_record, 0, 64),
	KL_GROUP_FIELD("pre", KL_NEEDED, 0, &pres_record),
	KL_GROUP_FIELD("effect", KL_NEEDED, 0, &effect_record),
	KL_LIST_FIELD("evidence", KL_NEEDED | KL_UNION, AT(evidence), &kl_card_evidence_schema, 0, 0),
	KL_LIST_FIELD("risk", KL_NEEDED, AT(risk), &kl_card_risk_schema, 0, 0),
	KL_GROUP_FIELD("scope", KL_NEEDED, 0, &scope_record),
	KL_LIST_FIELD("ver", KL_NEEDED | KL_UNION, AT(ver), &kl_card_trial_schema, 0, 0),
	KL_FIELDS_END
};
/* clang-format on */
const struct kl_schema kl_card_schema = {
	"the card", sizeof(struct kl_card), card_fields, kl_check_card, NULL, NULL,
};

/* --- names of enum values --------------------------------------------------------------------- */

const char *kl_card_status_name(enum kl_card_status status)
{
	return statuses[status];
}

const char *kl_level_name(enum kl_level level)
{
	return levels[level];
}

const char *kl_pre_state_name(enum kl_pre_state state)
{
	return pre_states[state];
}

int kl_level_rank(enum kl_level level)
{
	if (level == KL_LEVEL_OTHER_PLATFORM)
		return KL_LEVEL_OTHER_LANGUAGE;
	return level == KL_LEVEL_OTHER_AUTHOR ? KL_LEVEL_OTHER_WORKLOAD : (int)level;
}

const char *kl_carrier_form_name(enum kl_carrier_form form)
{
	return forms[form];
}
