/* SPDX-License-Identifier: Apache-2.0 */
/* envelope_traits - the reply of a model that was asked to check claims about traits */
#include "rewrite/envelope.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "rewrite/scan.h"

/*
 * envelope_traits - what a second reader says of traits: one <trait> block each.
 */
struct reading {
	char *name, *value, *path, *lines, *why;
};

static void reading_release(struct reading *r)
{
	free(r->name);
	free(r->value);
	free(r->path);
	free(r->lines);
	free(r->why);
}

/* "12" or "12-30", in order */
static bool parse_lines(int *first, int *last, const char *s)
{
	char *end;
	long a = strtol(s, &end, 10), b = a;

	if (end == s || s[0] < '0' || s[0] > '9')
		return false;
	if (*end == '-') {
		const char *from = end + 1;

		b = strtol(from, &end, 10);
		if (end == from || from[0] < '0' || from[0] > '9')
			return false;
	}
	if (*end || a < 1 || b < a || b > INT_MAX)
		return false;
	*first = (int)a;
	*last = (int)b;
	return true;
}

static int take_reading(json_t *out, struct kl_scan *s)
{
	KL_AUTO(reading_release) struct reading r = { 0 };
	const struct kl_scan_field list[] = {
		{ "name", &r.name },   { "value", &r.value }, { "path", &r.path },
		{ "lines", &r.lines }, { "why", &r.why },
	};
	KL_AUTO(json_decrefp) json_t *said = json_object();
	int first, last, err;

	if ((err = kl_scan_keys(s, "trait", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	if (!kl_envelope_slug(r.name))
		return kl_scan_bad(s, "'%.60s' is no name of a trait", r.name);
	if (json_object_get(out, r.name))
		return kl_scan_bad(s, "a second <trait> for %s", r.name);
	if (strcmp(r.value, "yes") && strcmp(r.value, "no") && strcmp(r.value, "unknown"))
		return kl_scan_bad(s, "the trait %s is yes, no or unknown, not '%.60s'", r.name,
				   r.value);
	kl_json_set_str(said, "value", r.value);
	if (strcmp(r.value, "unknown")) {
		if (!parse_lines(&first, &last, r.lines))
			return kl_scan_bad(s, "the lines of %s are '12' or '12-30', not '%.60s'",
					   r.name, r.lines);
		kl_json_set_str(said, "path", r.path);
		kl_json_set(said, "lines", json_pack("[i,i]", first, last));
	}
	json_object_set(out, r.name, said);
	return 0;
}

int kl_envelope_traits(json_t **out, const char *text, size_t len)
{
	static const char *const tags[] = { "trait", NULL };
	struct kl_scan s = { .text = text, .len = len, .tag = tags };
	KL_AUTO(json_decrefp) json_t *all = json_object();
	struct kl_scan_line l;
	struct kl_scan_tag t;
	int err;

	if ((err = kl_scan_check(text, len)) < 0)
		return err;
	while (kl_scan_take(&l, &s)) {
		if (!kl_scan_tag(&t, &s, l))
			continue;
		if (t.closing)
			return kl_scan_bad(&s, "</trait> closes nothing");
		if ((err = kl_scan_alone(&s, &t)) < 0 || (err = take_reading(all, &s)) < 0)
			return err;
	}
	if (!json_object_size(all))
		return kl_error(KL_EINVALID, "the reply has no <trait>");
	*out = kl_steal(&all);
	return 0;
}
