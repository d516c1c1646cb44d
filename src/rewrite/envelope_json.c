/* SPDX-License-Identifier: Apache-2.0 */
/* envelope_json - a step that a model or agent proposes, as a JSON document */
#include <string.h>

#include "base/error.h"
#include "rewrite/envelope.h"

/*
 * The same step as a JSON document, for callers that have its parts already. Each edit has a number
 * from 1, which stands in `line` as a negative one.
 */
static const char *const step_keys[] = { "action", "mechanism", "locus", "why",
					 "traits", "edits",     NULL };
static const char *const edit_keys[] = { "path", "text", "function", "search", NULL };

static int check_keys(const json_t *j, const char *const *known, const char *where)
{
	const char *key;
	json_t *v;

	if (!json_is_object(j))
		return kl_error(KL_EINVALID, "%s is not an object", where);
	json_object_foreach((json_t *)j, key, v) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return kl_error(KL_EINVALID, "%s has '%.60s', which says nothing here",
					where, key);
	}
	return 0;
}

/* NULL where it may be missing and is */
static int take_string(char **out, const json_t *j, const char *key, bool must, const char *where)
{
	const json_t *v = json_object_get(j, key);

	if (!v && !must)
		return 0;
	if (!json_is_string(v))
		return kl_error(KL_EINVALID,
				v ? "'%s' of %s is not a string" : "'%s' of %s is missing", key,
				where);
	*out = kl_strdup(json_string_value(v));
	return 0;
}

static int take_traits(struct kl_envelope *r, const json_t *traits)
{
	const char *key;
	json_t *v;

	r->traits = json_object();
	if (traits && !json_is_object(traits))
		return kl_error(KL_EINVALID, "'traits' is not an object");
	json_object_foreach((json_t *)traits, key, v) {
		const char *s = json_is_string(v) ? json_string_value(v) : "";

		if (!kl_envelope_slug(key))
			return kl_error(KL_EINVALID,
					"'%.60s' is no name of a trait: lower-case words "
					"joined by '-'",
					key);
		if (strcmp(s, "yes") && strcmp(s, "no") && strcmp(s, "unknown"))
			return kl_error(KL_EINVALID,
					"the trait %s is \"yes\", \"no\" or \"unknown\"", key);
		kl_json_set_str(r->traits, key, s);
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

static int take_edit(struct kl_envelope *r, const json_t *j)
{
	struct kl_envelope_edit *e;
	char where[32];
	int err;

	KL_GROW(r->edit, r->n + 1, r->alloc);
	e = &r->edit[r->n++];
	*e = (struct kl_envelope_edit){ .line = -(int)r->n };
	snprintf(where, sizeof(where), "edit %zu", r->n);
	if ((err = check_keys(j, edit_keys, where)) < 0 ||
	    (err = take_string(&e->path, j, "path", true, where)) < 0 ||
	    (err = take_string(&e->text, j, "text", true, where)) < 0 ||
	    (err = take_string(&e->name, j, "function", false, where)) < 0 ||
	    (err = take_string(&e->search, j, "search", false, where)) < 0)
		return err;
	if (e->name && e->search)
		return kl_error(KL_EINVALID,
				"%s names a function and searches for lines; one of the two",
				where);
	e->kind = e->name ? KL_EDIT_FUNCTION : e->search ? KL_EDIT_SEARCH : KL_EDIT_FILE;
	end_line(&e->text);
	if (e->search)
		end_line(&e->search);
	return 0;
}

static int take_edits(struct kl_envelope *r, const json_t *list)
{
	size_t i;
	json_t *j;
	int err;

	if (!json_array_size(list) || json_array_size(list) > KL_ENVELOPE_EDITS)
		return kl_error(KL_EINVALID, "'edits' is a list of 1 to %d edits",
				KL_ENVELOPE_EDITS);
	json_array_foreach(list, i, j)
		if ((err = take_edit(r, j)) < 0)
			return err;
	return 0;
}

static int take_member(struct kl_envelope *r, const json_t *j)
{
	int err;

	if ((err = check_keys(j, step_keys, "the step")) < 0 ||
	    (err = take_string(&r->action, j, "action", true, "the step")) < 0 ||
	    (err = take_string(&r->mechanism, j, "mechanism", false, "the step")) < 0 ||
	    (err = take_string(&r->locus, j, "locus", true, "the step")) < 0 ||
	    (err = take_string(&r->why, j, "why", true, "the step")) < 0)
		return err;
	if (!r->mechanism)
		r->mechanism = kl_strdup("");
	if (!kl_envelope_slug(r->action))
		return kl_error(KL_EINVALID,
				"the action '%.60s' is not lower-case words joined by '-', "
				"at most 40 bytes",
				r->action);
	if (*r->mechanism && !kl_envelope_slug(r->mechanism))
		return kl_error(KL_EINVALID,
				"the mechanism '%.60s' is not lower-case words joined by '-'",
				r->mechanism);
	if (!kl_envelope_locus_ok(r->locus))
		return kl_error(KL_EINVALID,
				"the locus '%.60s' is not path, path:function or "
				"path:function:lines",
				r->locus);
	if (!*r->why || strlen(r->why) > KL_ENVELOPE_WHY || strpbrk(r->why, "\r\n"))
		return kl_error(KL_EINVALID, "'why' is one line of at most %d bytes",
				KL_ENVELOPE_WHY);
	if ((err = take_traits(r, json_object_get(j, "traits"))) < 0)
		return err;
	return take_edits(r, json_object_get(j, "edits"));
}

int kl_envelope_json(struct kl_envelope *out, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	int err;

	*out = (struct kl_envelope){ .kind = KL_ENVELOPE_STEP };
	if (len > 2 * KL_ENVELOPE_MAX)
		return kl_error(KL_EINVALID, "the step has %zu bytes, more than %zu", len,
				2 * KL_ENVELOPE_MAX);
	if ((err = kl_json_parse(&j, text, len)) < 0 || (err = take_member(out, j)) < 0)
		kl_envelope_release(out);
	return err;
}
