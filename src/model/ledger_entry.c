/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_entry - an entry of the ledger as JSON: `ledger.json` of its commit */
#include "model/ledger.h"

#include <string.h>

#include "base/error.h"
#include "model/ledger_parts.h"
#include "model/provider/usage.h"
#include "text/json.h"

/* corrections have version 2: they were added later, and older programs refuse their kind */
static const char *const schemas[] = {
	[KL_LEDGER_RESERVE] = "klineage.ledger/1",
	[KL_LEDGER_SETTLE] = "klineage.ledger/1",
	[KL_LEDGER_CORRECT] = "klineage.ledger/2",
};
static const char *const kinds[] = {
	[KL_LEDGER_RESERVE] = "reserve",
	[KL_LEDGER_SETTLE] = "settle",
	[KL_LEDGER_CORRECT] = "correct",
};

int64_t kl_ledger_settled_by(const struct kl_ledger_entry *entry)
{
	return entry->kind == KL_LEDGER_RESERVE ? 0 : entry->nano - entry->before;
}

void kl_ledger_entry_release(struct kl_ledger_entry *entry)
{
	free(entry->name);
	free(entry->phase);
	free(entry->model);
	free(entry->time);
}

/* --- writing ---------------------------------------------------------------------- */

static json_t *totals_json(const struct kl_ledger_totals *totals)
{
	json_t *obj = json_object();

	for (int budget = 0; budget < KL_BUDGETS; budget++) {
		json_t *one = json_object();

		kl_json_set_int(one, "settled", totals->of[budget].settled);
		kl_json_set_int(one, "reserved", totals->of[budget].reserved);
		kl_json_set(obj, kl_budget_name(budget), one);
	}
	return obj;
}

void kl_ledger_entry_format(struct kl_buf *out, const struct kl_ledger_entry *entry,
			    const char *workload)
{
	KL_AUTO(json_decrefp) json_t *obj = json_object();

	kl_json_set_str(obj, "schema", schemas[entry->kind]);
	kl_json_set_str(obj, "workload", workload);
	kl_json_set_str(obj, "kind", kinds[entry->kind]);
	kl_json_set_str(obj, "id", entry->id);
	kl_json_set_str(obj, "budget", kl_budget_name(entry->budget));
	kl_json_set_str(obj, "name", entry->name);
	kl_json_set_str(obj, "phase", entry->phase);
	kl_json_set_str(obj, "model", entry->model);
	kl_json_set_str(obj, "time", entry->time);
	kl_json_set_int(obj, "turn", entry->turn);
	kl_json_set_int(obj, "nano", entry->nano);
	if (entry->kind == KL_LEDGER_SETTLE) {
		kl_json_set_int(obj, "released", entry->released);
		kl_json_set(obj, "usage", kl_usage_json(&entry->usage));
	}
	if (entry->kind == KL_LEDGER_CORRECT)
		kl_json_set_int(obj, "before", entry->before);
	if (entry->stated)
		kl_json_set_bool(obj, "stated", true);
	if (entry->implausible)
		kl_json_set_bool(obj, "implausible", true);
	if (entry->estimated)
		kl_json_set_bool(obj, "estimated", true);
	kl_json_set(obj, "totals", totals_json(&entry->after));
	kl_json_canonical(out, obj);
	kl_buf_addch(out, '\n');
}

/* --- reading ---------------------------------------------------------------------- */

static int read_totals(struct kl_ledger_totals *totals, const json_t *entry)
{
	json_t *all = NULL, *one = NULL;
	int err = kl_json_obj(&all, entry, "totals");

	for (int budget = 0; !err && budget < KL_BUDGETS; budget++)
		if (!(err = kl_json_obj(&one, all, kl_budget_name(budget))) &&
		    !(err = kl_json_count(&totals->of[budget].settled, one, "settled",
					  KL_LEDGER_MAX_SUM)))
			err = kl_json_count(&totals->of[budget].reserved, one, "reserved",
					    KL_LEDGER_MAX_SUM);
	return err;
}

static int read_text(char **out, const json_t *obj, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, obj, key);

	if (!err && (strlen(text) > 256 || text[strcspn(text, "\n\r\t\033\177")]))
		return kl_error(KL_EINVALID, "'%s' is too long or not plain text", key);
	if (!err)
		*out = kl_strdup(text);
	return err;
}

/* Read the kind of an entry, and check that the entry has the schema of its kind. */
static int read_kind(struct kl_ledger_entry *entry, const json_t *obj)
{
	const char *kind = kl_json_str_or(obj, "kind", "");
	size_t i = 0;

	while (i < KL_ARRAY_SIZE(kinds) && strcmp(kind, kinds[i]))
		i++;
	if (i == KL_ARRAY_SIZE(kinds))
		return kl_error(KL_EINVALID, "'kind' is not reserve, settle or correct");
	if (strcmp(kl_json_str_or(obj, "schema", ""), schemas[i]))
		return kl_error(KL_EINVALID, "'schema' is not %s", schemas[i]);
	entry->kind = (enum kl_ledger_kind)i;
	return 0;
}

/* Read the members `id` and `budget`, and check that `workload` is the workload of this ledger. */
static int read_words(struct kl_ledger_entry *entry, const json_t *obj, const char *workload)
{
	const char *of = kl_json_str_or(obj, "workload", ""), *id = kl_json_str_or(obj, "id", "");
	const char *budget = kl_json_str_or(obj, "budget", "");

	if (strcmp(of, workload))
		return kl_error(KL_EINVALID, "the entry is for workload '%.64s'", of);
	if (strlen(id) != KL_LEDGER_ID - 1 || id[strspn(id, "0123456789abcdef")])
		return kl_error(KL_EINVALID, "'id' is not 32 hex digits");
	if (strcmp(budget, "induce") && strcmp(budget, "materialize"))
		return kl_error(KL_EINVALID, "'budget' is neither induce nor materialize");
	memcpy(entry->id, id, KL_LEDGER_ID);
	entry->budget = strcmp(budget, "induce") ? KL_BUDGET_MATERIALIZE : KL_BUDGET_INDUCE;
	return 0;
}

static int read_members(struct kl_ledger_entry *entry, const char *text, size_t len,
			const char *workload)
{
	KL_AUTO(json_decrefp) json_t *obj = NULL;
	int err = kl_json_parse(&obj, text, len);

	if (err < 0 || (err = read_kind(entry, obj)) < 0 ||
	    (err = read_words(entry, obj, workload)) < 0 ||
	    (err = read_text(&entry->name, obj, "name")) < 0 ||
	    (err = read_text(&entry->phase, obj, "phase")) < 0 ||
	    (err = read_text(&entry->model, obj, "model")) < 0 ||
	    (err = read_text(&entry->time, obj, "time")) < 0 ||
	    (err = kl_json_count(&entry->turn, obj, "turn", KL_LEDGER_MAX_SUM)) < 0 ||
	    (err = kl_json_count(&entry->nano, obj, "nano", KL_LEDGER_MAX_SUM)) < 0 ||
	    (err = read_totals(&entry->after, obj)) < 0)
		return err;
	entry->stated = kl_json_bool_or(obj, "stated", false);
	entry->implausible = kl_json_bool_or(obj, "implausible", false);
	entry->estimated = kl_json_bool_or(obj, "estimated", false);
	if (entry->kind == KL_LEDGER_CORRECT)
		return kl_json_count(&entry->before, obj, "before", KL_LEDGER_MAX_SUM);
	if (entry->kind == KL_LEDGER_RESERVE ||
	    (err = kl_json_count(&entry->released, obj, "released", KL_LEDGER_MAX_SUM)) < 0)
		return err;
	return kl_usage_read(&entry->usage, json_object_get(obj, "usage"));
}

int kl_ledger_entry_parse(struct kl_ledger_entry *out, const char *text, size_t len,
			  const char *workload)
{
	struct kl_ledger_entry entry = { 0 };
	int err = read_members(&entry, text, len, workload);

	if (err < 0)
		kl_ledger_entry_release(&entry);
	else
		*out = entry;
	return err;
}
