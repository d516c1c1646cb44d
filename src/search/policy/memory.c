/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/memory.h"

#include <string.h>

#include "base/error.h"
#include "text/digest.h"
#include "text/name.h"

#define MOST_TEXT 1000
#define MOST_COUNT 1000000
#define MILLION 1000000
#define LEAST_CONFIDENCE 100000
#define ID_DIGITS 12

static int check_technique(const json_t *entry)
{
	int64_t saved, confidence;
	const char *state, *name;
	int err;

	if ((err = kl_json_str(&state, entry, "state")) < 0 ||
	    (err = kl_json_str(&name, entry, "technique")) < 0 ||
	    (err = kl_json_int(&saved, entry, "saved_ppm")) < 0 ||
	    (err = kl_json_int(&confidence, entry, "confidence_ppm")) < 0)
		return err;
	if (!kl_name_is_slug(state) || !kl_name_is_slug(name))
		return kl_error(KL_EINVALID, "'state' and 'technique' must be slugs");
	if (saved < -MILLION || saved > MILLION)
		return kl_error(KL_EINVALID, "'saved_ppm' must be from -1000000 to 1000000");
	if (confidence < LEAST_CONFIDENCE || confidence > MILLION)
		return kl_error(KL_EINVALID, "'confidence_ppm' must be from 100000 to 1000000");
	return 0;
}

int kl_memory_check(const json_t *entry)
{
	const char *kind, *text, *from, *language;
	int64_t count;
	int err;

	if ((err = kl_json_str(&kind, entry, "kind")) < 0 ||
	    (err = kl_json_str(&text, entry, "text")) < 0 ||
	    (err = kl_json_str(&from, entry, "from")) < 0 ||
	    (err = kl_json_str(&language, entry, "language")) < 0 ||
	    (err = kl_json_count(&count, entry, "count", MOST_COUNT)) < 0)
		return err;
	if (strlen(text) > MOST_TEXT || strpbrk(text, "\r\n"))
		return kl_error(KL_EINVALID, "'text' must be one line of at most %d bytes",
				MOST_TEXT);
	if (!kl_name_is_slug(from) || !kl_name_is_slug(language))
		return kl_error(KL_EINVALID, "'from' and 'language' must be slugs");
	if (!strcmp(kind, "technique"))
		return check_technique(entry);
	if (strcmp(kind, "rule") != 0)
		return kl_error(KL_EINVALID, "'kind' must be rule or technique, not '%s'", kind);
	return *text ? 0 : kl_error(KL_EINVALID, "'text' of a rule is empty");
}

char *kl_memory_path(const json_t *entry)
{
	bool is_rule = !strcmp(kl_json_str_or(entry, "kind", ""), "rule");
	KL_AUTO(kl_freep) char *said = is_rule ?
					       kl_asprintf("%s\n%s",
							   kl_json_str_or(entry, "language", ""),
							   kl_json_str_or(entry, "text", "")) :
					       kl_asprintf("%s\n%s\n%s",
							   kl_json_str_or(entry, "language", ""),
							   kl_json_str_or(entry, "state", ""),
							   kl_json_str_or(entry, "technique", ""));
	char digest[KL_DIGEST_HEX];

	kl_digest_hex(digest, said, strlen(said));
	return kl_asprintf("%s/%.*s.json", is_rule ? "rules" : "techniques", ID_DIGITS, digest);
}

void kl_memory_add(json_t *entries, json_t *entry)
{
	KL_AUTO(kl_freep) char *path = kl_memory_path(entry);
	json_t *old = json_object_get(entries, path);
	const char *why = kl_json_str_or(entry, "retracted", NULL);

	if (!old) {
		kl_json_set(entries, path, entry);
		return;
	}
	/* Counts are not added up, because both can be counts of the same failures. */
	if (kl_json_int_or(entry, "count", 0) > kl_json_int_or(old, "count", 0))
		kl_json_set_int(old, "count", kl_json_int_or(entry, "count", 0));
	if (why && !json_object_get(old, "retracted"))
		kl_json_set_str(old, "retracted", why);
	json_decref(entry);
}

int kl_memory_check_all(const json_t *entries)
{
	const char *path;
	json_t *entry;
	int err;

	json_object_foreach((json_t *)entries, path, entry) {
		KL_AUTO(kl_freep) char *want = NULL;

		if ((err = kl_memory_check(entry)) < 0)
			return kl_error_in(err, "%s", path);
		want = kl_memory_path(entry);
		if (strcmp(want, path) != 0)
			return kl_error(KL_EINVALID, "%s: the entry must be at %s", path, want);
	}
	return 0;
}

bool kl_memory_is(const json_t *entry, const char *kind)
{
	return !strcmp(kl_json_str_or(entry, "kind", ""), kind) &&
	       !json_object_get(entry, "retracted");
}

json_t *kl_memory_rules(const json_t *entries, int64_t least)
{
	json_t *rules = NULL, *entry;
	const char *path;

	json_object_foreach((json_t *)entries, path, entry)
		if (kl_memory_is(entry, "rule") && kl_json_int_or(entry, "count", 0) >= least) {
			if (!rules)
				rules = json_array();
			json_array_append_new(rules,
					      json_string(kl_json_str_or(entry, "text", "")));
		}
	return rules;
}
