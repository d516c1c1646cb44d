/* SPDX-License-Identifier: Apache-2.0 */
/* envelope_json - parses a step that is a JSON document */
#include <string.h>

#include "base/error.h"
#include "rewrite/reply/envelope.h"

/*
 * Edits in a JSON document have no line numbers. Messages give the number of such an edit, counted
 * from 1; its member `line` is this number, negated.
 */
static const char *const step_keys[] = { "action", "mechanism", "locus", "why",
					 "traits", "edits",     NULL };
static const char *const edit_keys[] = { "path", "text", "function", "search", NULL };

static int check_keys(const json_t *item, const char *const *known, const char *where)
{
	const char *key;
	json_t *value;

	if (!json_is_object(item))
		return kl_error(KL_EINVALID, "%s is not an object", where);
	json_object_foreach((json_t *)item, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return kl_error(KL_EINVALID, "%s has an unknown member '%.60s'", where,
					key);
	}
	return 0;
}

/* Copy a string member. If it is absent, *out stays NULL; with `must`, this is an error. */
static int take_string(char **out, const json_t *item, const char *key, bool must,
		       const char *where)
{
	const json_t *value = json_object_get(item, key);

	if (!value && !must)
		return 0;
	if (!json_is_string(value))
		return kl_error(KL_EINVALID,
				value ? "'%s' of %s is not a string" : "'%s' of %s is missing", key,
				where);
	*out = kl_strdup(json_string_value(value));
	return 0;
}

static int take_traits(struct kl_envelope *envelope, const json_t *traits)
{
	const char *key;
	json_t *value;

	envelope->traits = json_object();
	if (traits && !json_is_object(traits))
		return kl_error(KL_EINVALID, "'traits' is not an object");
	json_object_foreach((json_t *)traits, key, value) {
		const char *text = json_is_string(value) ? json_string_value(value) : "";

		if (!kl_envelope_slug(key))
			return kl_error(
				KL_EINVALID,
				"'%.60s' is not the name of a trait (lower-case words joined by "
				"'-')",
				key);
		if (strcmp(text, "yes") && strcmp(text, "no") && strcmp(text, "unknown"))
			return kl_error(KL_EINVALID,
					"the trait %s must be \"yes\", \"no\" or \"unknown\"", key);
		kl_json_set_str(envelope->traits, key, text);
	}
	return 0;
}

static void end_line(char **text)
{
	size_t n = strlen(*text);

	if (!n || (*text)[n - 1] == '\n')
		return;
	*text = kl_realloc(*text, n + 2, 1);
	memcpy(*text + n, "\n", 2);
}

static int take_edit(struct kl_envelope *envelope, const json_t *value)
{
	struct kl_envelope_edit *edit;
	char where[32];
	int err;

	KL_GROW(envelope->edit, envelope->n + 1, envelope->alloc);
	edit = &envelope->edit[envelope->n++];
	*edit = (struct kl_envelope_edit){ .line = -(int)envelope->n };
	snprintf(where, sizeof(where), "edit %zu", envelope->n);
	if ((err = check_keys(value, edit_keys, where)) < 0 ||
	    (err = take_string(&edit->path, value, "path", true, where)) < 0 ||
	    (err = take_string(&edit->text, value, "text", true, where)) < 0 ||
	    (err = take_string(&edit->name, value, "function", false, where)) < 0 ||
	    (err = take_string(&edit->search, value, "search", false, where)) < 0)
		return err;
	if (edit->name && edit->search)
		return kl_error(KL_EINVALID,
				"%s has both 'function' and 'search'; use only one of them", where);
	edit->kind = edit->name ? KL_EDIT_FUNCTION : edit->search ? KL_EDIT_SEARCH : KL_EDIT_FILE;
	end_line(&edit->text);
	if (edit->search)
		end_line(&edit->search);
	return 0;
}

static int take_edits(struct kl_envelope *envelope, const json_t *list)
{
	size_t i;
	json_t *value;
	int err;

	if (!json_array_size(list) || json_array_size(list) > KL_ENVELOPE_EDITS)
		return kl_error(KL_EINVALID, "'edits' must be a list of 1 to %d edits",
				KL_ENVELOPE_EDITS);
	json_array_foreach(list, i, value)
		if ((err = take_edit(envelope, value)) < 0)
			return err;
	return 0;
}

static int take_step(struct kl_envelope *envelope, const json_t *value)
{
	int err;

	if ((err = check_keys(value, step_keys, "the step")) < 0 ||
	    (err = take_string(&envelope->action, value, "action", true, "the step")) < 0 ||
	    (err = take_string(&envelope->mechanism, value, "mechanism", false, "the step")) < 0 ||
	    (err = take_string(&envelope->locus, value, "locus", true, "the step")) < 0 ||
	    (err = take_string(&envelope->why, value, "why", true, "the step")) < 0)
		return err;
	if (!envelope->mechanism)
		envelope->mechanism = kl_strdup("");
	if (!kl_envelope_slug(envelope->action))
		return kl_error(KL_EINVALID,
				"the action '%.60s' is not lower-case words joined by '-', "
				"at most 40 bytes",
				envelope->action);
	if (*envelope->mechanism && !kl_envelope_slug(envelope->mechanism))
		return kl_error(KL_EINVALID,
				"the mechanism '%.60s' is not lower-case words joined by '-'",
				envelope->mechanism);
	if (!kl_envelope_locus_ok(envelope->locus))
		return kl_error(KL_EINVALID,
				"the locus '%.60s' is not path, path:function or "
				"path:function:lines",
				envelope->locus);
	if (!*envelope->why || strlen(envelope->why) > KL_ENVELOPE_WHY ||
	    strpbrk(envelope->why, "\r\n"))
		return kl_error(KL_EINVALID, "'why' must be one line of at most %d bytes",
				KL_ENVELOPE_WHY);
	if ((err = take_traits(envelope, json_object_get(value, "traits"))) < 0)
		return err;
	return take_edits(envelope, json_object_get(value, "edits"));
}

int kl_envelope_json(struct kl_envelope *out, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	int err;

	*out = (struct kl_envelope){ .kind = KL_ENVELOPE_STEP };
	if (len > 2 * KL_ENVELOPE_MAX)
		return kl_error(KL_EINVALID, "the step has %zu bytes, but can have at most %zu",
				len, 2 * KL_ENVELOPE_MAX);
	if ((err = kl_json_parse(&value, text, len)) < 0 || (err = take_step(out, value)) < 0)
		kl_envelope_release(out);
	return err;
}
