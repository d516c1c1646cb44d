/* SPDX-License-Identifier: Apache-2.0 */
#include "card/card_check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "card/card.h"
#include "card/status.h"
#include "rewrite/pass/cocci.h"
#include "rewrite/transform/transform.h"

#define MAX_HUNK_LINES 1000000

/*
 * Return the node at which to report an error: the value of `key` or, if the map lacks the key, the
 * map `at`.
 */
static const struct kl_yaml *value_spot(const struct kl_yaml *at, const char *key)
{
	const struct kl_yaml *node = kl_yaml_get(at, key);

	return node ? node : at;
}

/*
 * Return the node at which to report an error: entry i of the list `key` in `group` (NULL if in the
 * card itself) or, if there is no such entry, `at`.
 */
static const struct kl_yaml *entry_spot(const struct kl_yaml *at, const char *group,
					const char *key, size_t i)
{
	const struct kl_yaml *list = kl_yaml_get(group ? value_spot(at, group) : at, key);

	return list && list->kind == KL_YAML_SEQ && i < list->n ? list->item[i] : at;
}

/* --- diffs --------------------------------------------------------------------------------- */

struct diff {
	const char *name;
	const struct kl_yaml *at;
	/* numbers of lines of the old and the new side that the current hunk must still have */
	long from, to;
	bool hunk; /* the diff has at least one hunk */
};

static int bad_diff(const struct diff *diff, const char *line, const char *why)
{
	return kl_yaml_error(diff->name, diff->at, "diff cannot be used as a carrier: %s: '%.*s'",
			     why, (int)strcspn(line, "\n"), line);
}

static int diff_path(const struct diff *diff, const char *line, const char *path, size_t n,
		     char prefix)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(path, n);
	char *tab = strchr(name, '\t');

	if (tab)
		*tab = '\0';
	if (prefix && !strcmp(name, "/dev/null"))
		return 0;
	if (prefix && (name[0] != prefix || name[1] != '/'))
		return bad_diff(diff, line, "paths must begin with a/ and b/");
	if (!kl_fs_path_ok(prefix ? name + 2 : name))
		return bad_diff(diff, line, "path leads out of the contract's directory");
	return 0;
}

static int git_line(const struct diff *diff, const char *line, size_t n)
{
	const char *paths = line + strlen("diff --git "), *end = line + n;
	size_t half = (size_t)(end - paths - 1) / 2;
	int err;

	/* "a/x b/x": split the line in the middle, because names can contain blanks */
	if (end - paths < 5 || paths[half] != ' ' || memcmp(paths + 1, paths + half + 2, half - 1))
		return bad_diff(diff, line, "the two paths must be the same");
	if ((err = diff_path(diff, line, paths, half, 'a')) < 0)
		return err;
	return diff_path(diff, line, paths + half + 1, half, 'b');
}

/* Read "<line>[,<count>]"; a missing count is 1. */
static bool read_range(long *count, const char **at)
{
	char *end;
	long first = strtol(*at, &end, 10);

	*count = 1;
	if (end == *at || first < 0)
		return false;
	if (*end == ',') {
		*at = end + 1;
		*count = strtol(*at, &end, 10);
		if (end == *at)
			return false;
	}
	*at = end;
	return *count >= 0 && *count <= MAX_HUNK_LINES;
}

/* Read a hunk header, "@@ -1,4 +1,5 @@ ...", and store how many lines of each side must follow. */
static int hunk_line(struct diff *diff, const char *line)
{
	const char *at = line + strlen("@@ -");
	long from, to;

	if (!kl_prefix_has(line, "@@ -") || !read_range(&from, &at) || !kl_prefix_has(at, " +"))
		return bad_diff(diff, line, "malformed hunk header");
	at += strlen(" +");
	if (!read_range(&to, &at) || !kl_prefix_has(at, " @@"))
		return bad_diff(diff, line, "malformed hunk header");
	diff->from = from;
	diff->to = to;
	diff->hunk = true;
	return 0;
}

static int header_line(struct diff *diff, const char *line, size_t n)
{
	static const char *const renames[] = { "rename from ", "rename to ", "copy from ",
					       "copy to " };
	static const char *const modes[] = {
		"old mode ",
		"new mode ",
		"new file mode ",
		"deleted file mode ",
	};

	if (kl_prefix_has(line, "@@ "))
		return hunk_line(diff, line);
	if (kl_prefix_has(line, "diff --git "))
		return git_line(diff, line, n);
	if (kl_prefix_has(line, "--- "))
		return diff_path(diff, line, line + 4, n - 4, 'a');
	if (kl_prefix_has(line, "+++ "))
		return diff_path(diff, line, line + 4, n - 4, 'b');
	for (size_t i = 0; i < KL_ARRAY_SIZE(renames); i++)
		if (kl_prefix_has(line, renames[i]))
			return diff_path(diff, line, line + strlen(renames[i]),
					 n - strlen(renames[i]), 0);
	for (size_t i = 0; i < KL_ARRAY_SIZE(modes); i++)
		if (kl_prefix_has(line, modes[i]) &&
		    !kl_prefix_has(line + strlen(modes[i]), "100644") &&
		    !kl_prefix_has(line + strlen(modes[i]), "100755"))
			return bad_diff(diff, line, "only regular files can be changed");
	if (kl_prefix_has(line, "GIT binary patch") || kl_prefix_has(line, "Binary files"))
		return bad_diff(diff, line, "binary patches are not supported");
	return 0;
}

static int check_diff(const char *name, const struct kl_yaml *at, const char *text)
{
	struct diff diff = { .name = name, .at = at };

	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		int err = 0;

		if (diff.from > 0 || diff.to > 0) {
			if (*line != '\\') {
				diff.from -= *line != '+';
				diff.to -= *line != '-';
			}
			if (!strchr(" +-\\", *line) && n)
				return bad_diff(&diff, line, "hunk ends too early");
		} else {
			err = header_line(&diff, line, n);
		}
		if (err < 0)
			return err;
		line += n + (line[n] == '\n');
	}
	return diff.hunk ?
		       0 :
		       kl_yaml_error(name, at, "diff cannot be used as a carrier: it has no hunk");
}

/* --- checks of single rows -------------------------------------------------------------------- */

int kl_check_carrier(const void *obj, const char *name, const struct kl_yaml *at)
{
	const struct kl_card_carrier *carrier = obj;
	const struct kl_yaml *text = value_spot(at, "text");
	struct kl_transform_use use;
	KL_AUTO(kl_freep) char *why = NULL;
	int err = 0;

	if (carrier->form == KL_CARRIER_DIFF)
		return check_diff(name, text, carrier->text);
	if (carrier->form == KL_CARRIER_COCCI)
		err = kl_cocci_audit("semantic patch", carrier->text, strlen(carrier->text));
	else if (carrier->form == KL_CARRIER_TRANSFORM)
		err = kl_transform_parse(&use, carrier->text, carrier->language);
	if (!err)
		return 0;
	why = kl_strdup(kl_error_last());
	return kl_yaml_error(name, text, "%s", why);
}

int kl_check_pre(const void *obj, const char *name, const struct kl_yaml *at)
{
	const struct kl_card_pre *pre = obj;

	if (pre->state == KL_PRE_WITNESSED && !pre->by)
		return kl_yaml_error(name, at, "'%s' is witnessed, but 'by' is missing", pre->id);
	if (pre->state == KL_PRE_NOT_NEEDED && !pre->by)
		return kl_yaml_error(name, at, "'%s' is not-needed, but 'by' is missing", pre->id);
	if (pre->state == KL_PRE_NOT_NEEDED && pre->class_)
		return kl_yaml_error(name, at, "'%s' is not-needed, but has the class of a failure",
				     pre->id);
	if ((pre->state == KL_PRE_ASSUMED || pre->state == KL_PRE_NOT_TESTED) &&
	    (pre->by || pre->class_))
		return kl_yaml_error(name, at, "'%s' is %s, but has a witness", pre->id,
				     kl_pre_state_name(pre->state));
	if (pre->pair && !pre->by)
		return kl_yaml_error(name, at, "'%s' has a 'pair' without 'by'", pre->id);
	return 0;
}

int kl_check_evidence(const void *obj, const char *name, const struct kl_yaml *at)
{
	const struct kl_card_evidence *evidence = obj;

	if ((evidence->derivation == KL_DERIVED_INVERSE) != !evidence->rederived)
		return kl_yaml_error(name, value_spot(at, "derivation"),
				     "'rederived' must be null for an inverse step, "
				     "and otherwise name the re-derived commit");
	if (evidence->confirmed && !evidence->rederived)
		return kl_yaml_error(name, value_spot(at, "confirmed"),
				     "'confirmed' requires 'rederived'");
	if (strcmp(evidence->origin, "induced") && strcmp(evidence->origin, "authored") &&
	    strcmp(evidence->origin, "historical"))
		return kl_yaml_error(name, value_spot(at, "origin"),
				     "'origin' must be one of induced, authored, historical");
	if (!strcmp(evidence->before, evidence->after))
		return kl_yaml_error(name, value_spot(at, "after"),
				     "'before' and 'after' are the same commit");
	if (!strchr(evidence->lineage, '/'))
		return kl_yaml_error(name, value_spot(at, "lineage"),
				     "'lineage' must be <workload>/<name>");
	return 0;
}

/*
 * Check the result of a trial or control: a pass must have an event and must not have a class; a
 * failure must have a class.
 */
static int check_result(enum kl_result result, const char *class_, const char *event,
			const char *name, const struct kl_yaml *at)
{
	if (result == KL_RESULT_PASS && !event)
		return kl_yaml_error(name, at, "a passed trial must have an event");
	if (result == KL_RESULT_PASS && class_)
		return kl_yaml_error(name, value_spot(at, "class"),
				     "a passed trial cannot have a class");
	if (result == KL_RESULT_FAIL && !class_)
		return kl_yaml_error(name, at, "a failed trial must have a class");
	return 0;
}

int kl_check_control(const void *obj, const char *name, const struct kl_yaml *at)
{
	const struct kl_card_control *control = obj;

	return check_result(control->result, control->class_, control->event, name, at);
}

int kl_check_trial(const void *obj, const char *name, const struct kl_yaml *at)
{
	const struct kl_card_trial *trial = obj;

	size_t n = strlen(trial->workload);

	if (trial->lineage &&
	    (strncmp(trial->lineage, trial->workload, n) || trial->lineage[n] != '/'))
		return kl_yaml_error(name, value_spot(at, "lineage"),
				     "'lineage' must belong to the trial's workload");
	if (trial->alone.there && !trial->with.n)
		return kl_yaml_error(name, value_spot(at, "alone"), "'alone' requires 'with'");
	return check_result(trial->result, trial->class_, trial->event, name, at);
}

/* --- checks across rows ----------------------------------------------------------------------- */

static const struct kl_card_evidence *evidence_of(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].event, event))
			return &card->evidence.v[i];
	return NULL;
}

static bool has_pass(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (!trial->retracted && trial->result == KL_RESULT_PASS &&
		    !strcmp(trial->event, event))
			return true;
	}
	return false;
}

static int check_row(const struct kl_card *card, size_t i, const char *name,
		     const struct kl_yaml *at)
{
	const struct kl_card_row *row = &card->rows.v[i];
	const struct kl_card_evidence *evidence = evidence_of(card, row->event);
	const struct kl_yaml *node = entry_spot(at, "effect", "rows", i);

	if (row->by == KL_ROW_TRIAL && !has_pass(card, row->event))
		return kl_yaml_error(name, node, "no trial in 'ver' passed with event %.12s",
				     row->event);
	if (row->by == KL_ROW_REDERIVED &&
	    (!evidence || evidence->derivation != KL_DERIVED_ANEW || !evidence->confirmed))
		return kl_yaml_error(name, node,
				     "no evidence with event %.12s was re-derived and confirmed",
				     row->event);
	if (row->by == KL_ROW_UNVERIFIED && !evidence)
		return kl_yaml_error(name, node, "no evidence has event %.12s", row->event);
	return 0;
}

static int check_references(const struct kl_card *card, const char *name, const struct kl_yaml *at)
{
	int err;

	for (size_t i = 0; i < card->useful.n; i++)
		for (size_t k = 0; k < card->sound.n; k++)
			if (!strcmp(card->useful.v[i].id, card->sound.v[k].id))
				return kl_yaml_error(
					name, entry_spot(at, "pre", "useful", i),
					"'%s' is also in 'sound': list each precondition once",
					card->useful.v[i].id);
	for (size_t i = 0; i < card->carriers.n; i++)
		if (card->carriers.v[i].of && !evidence_of(card, card->carriers.v[i].of))
			return kl_yaml_error(name,
					     value_spot(entry_spot(at, NULL, "carriers", i), "of"),
					     "no evidence has event %.12s", card->carriers.v[i].of);
	for (size_t i = 0; i < card->risk.n; i++)
		if (card->risk.v[i].violates && !kl_card_has_pre(card, card->risk.v[i].violates))
			return kl_yaml_error(
				name, value_spot(entry_spot(at, NULL, "risk", i), "violates"),
				"no such precondition: '%s'", card->risk.v[i].violates);
	for (size_t i = 0; i < card->rows.n; i++)
		if ((err = check_row(card, i, name, at)) < 0)
			return err;
	return 0;
}

int kl_check_card(const void *obj, const char *name, const struct kl_yaml *at)
{
	const struct kl_card *card = obj;
	enum kl_card_status status = kl_status_of(card);
	int err = check_references(card, name, at);

	if (err < 0)
		return err;
	if (card->status != status)
		return kl_yaml_error(name, value_spot(at, "status"),
				     "status is %s, but the trials make it %s",
				     kl_card_status_name(card->status),
				     kl_card_status_name(status));
	return 0;
}
