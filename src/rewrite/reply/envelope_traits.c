/* SPDX-License-Identifier: Apache-2.0 */
/* envelope_traits - parses the reply of a trait audit */
#include "rewrite/reply/envelope.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "rewrite/reply/scan.h"

/* The contents of one <trait> block. */
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

/* Parse "12" or "12-30"; the first line must not be after the last. */
static bool parse_lines(int *first, int *last, const char *text)
{
	char *end;
	long from_line = strtol(text, &end, 10), to_line = from_line;

	if (end == text || text[0] < '0' || text[0] > '9')
		return false;
	if (*end == '-') {
		const char *from = end + 1;

		to_line = strtol(from, &end, 10);
		if (end == from || from[0] < '0' || from[0] > '9')
			return false;
	}
	if (*end || from_line < 1 || to_line < from_line || to_line > INT_MAX)
		return false;
	*first = (int)from_line;
	*last = (int)to_line;
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
		return kl_scan_bad(scan, "'%.60s' is not the name of a trait", reading.name);
	if (json_object_get(out, reading.name))
		return kl_scan_bad(scan, "there is a second <trait> for %s", reading.name);
	if (strcmp(reading.value, "yes") && strcmp(reading.value, "no") &&
	    strcmp(reading.value, "unknown"))
		return kl_scan_bad(scan, "the trait %s must be yes, no or unknown, not '%.60s'",
				   reading.name, reading.value);
	kl_json_set_str(said, "value", reading.value);
	if (strcmp(reading.value, "unknown")) {
		if (!parse_lines(&first, &last, reading.lines))
			return kl_scan_bad(
				scan,
				"the lines of %s must have the form '12' or '12-30', not '%.60s'",
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
			return kl_scan_bad(&scan, "</trait> has no opening tag");
		if ((err = kl_scan_alone(&scan, &tag)) < 0 || (err = take_reading(all, &scan)) < 0)
			return err;
	}
	if (!json_object_size(all))
		return kl_error(KL_EINVALID, "the reply has no <trait>");
	*out = kl_steal(&all);
	return 0;
}
