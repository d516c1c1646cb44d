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

static void reading_release(struct reading *reading)
{
	free(reading->name);
	free(reading->value);
	free(reading->path);
	free(reading->lines);
	free(reading->why);
}

/* "12" or "12-30", in order */
static bool parse_lines(int *first, int *last, const char *text)
{
	char *end;
	long left = strtol(text, &end, 10), right = left;

	if (end == text || text[0] < '0' || text[0] > '9')
		return false;
	if (*end == '-') {
		const char *from = end + 1;

		right = strtol(from, &end, 10);
		if (end == from || from[0] < '0' || from[0] > '9')
			return false;
	}
	if (*end || left < 1 || right < left || right > INT_MAX)
		return false;
	*first = (int)left;
	*last = (int)right;
	return true;
}

static int take_reading(json_t *out, struct kl_scan *scan)
{
	KL_AUTO(reading_release) struct reading reading = { 0 };
	const struct kl_scan_field list[] = {
		{ "name", &reading.name },   { "value", &reading.value }, { "path", &reading.path },
		{ "lines", &reading.lines }, { "why", &reading.why },
	};
	KL_AUTO(json_decrefp) json_t *said = json_object();
	int first, last, err;

	if ((err = kl_scan_keys(scan, "trait", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	if (!kl_envelope_slug(reading.name))
		return kl_scan_bad(scan, "'%.60s' is no name of a trait", reading.name);
	if (json_object_get(out, reading.name))
		return kl_scan_bad(scan, "a second <trait> for %s", reading.name);
	if (strcmp(reading.value, "yes") && strcmp(reading.value, "no") &&
	    strcmp(reading.value, "unknown"))
		return kl_scan_bad(scan, "the trait %s is yes, no or unknown, not '%.60s'",
				   reading.name, reading.value);
	kl_json_set_str(said, "value", reading.value);
	if (strcmp(reading.value, "unknown")) {
		if (!parse_lines(&first, &last, reading.lines))
			return kl_scan_bad(scan, "the lines of %s are '12' or '12-30', not '%.60s'",
					   reading.name, reading.lines);
		kl_json_set_str(said, "path", reading.path);
		kl_json_set(said, "lines", json_pack("[i,i]", first, last));
	}
	json_object_set(out, reading.name, said);
	return 0;
}

int kl_envelope_traits(json_t **out, const char *text, size_t len)
{
	static const char *const tags[] = { "trait", NULL };
	struct kl_scan scan = { .text = text, .len = len, .tag = tags };
	KL_AUTO(json_decrefp) json_t *all = json_object();
	struct kl_scan_line line;
	struct kl_scan_tag tag;
	int err;

	if ((err = kl_scan_check(text, len)) < 0)
		return err;
	while (kl_scan_take(&line, &scan)) {
		if (!kl_scan_tag(&tag, &scan, line))
			continue;
		if (tag.closing)
			return kl_scan_bad(&scan, "</trait> closes nothing");
		if ((err = kl_scan_alone(&scan, &tag)) < 0 || (err = take_reading(all, &scan)) < 0)
			return err;
	}
	if (!json_object_size(all))
		return kl_error(KL_EINVALID, "the reply has no <trait>");
	*out = kl_steal(&all);
	return 0;
}
