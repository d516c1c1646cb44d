/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "text/canon.h"

#define MAX_LINE ((size_t)1 << 20)

static const char *const outside_id[] = { "id", "sig", "commit", "tree", NULL };

struct kl_event *kl_event_new(void)
{
	static const struct kl_event empty = {
		.id = "",
		.time = "",
		.workload = "",
		.surface = "",
		.contract = "",
		.commit = "",
		.tree = "",
		.message = "",
		.by = "",
		.job = "",
		.signer = "",
		.sig = "",
		.of = "",
		.mechanism = "",
		.place = { .id = "", .device = "", .driver = "", .compiler = "" },
		.inverse = { .state = "", .pair = "" },
		.other_class = "",
		.facts = { .traits = { .free_value = free } },
		.refs = 1,
	};
	struct kl_event *event = kl_malloc(sizeof(*event));

	*event = empty;
	return event;
}

struct kl_event *kl_event_ref(const struct kl_event *event)
{
	struct kl_event *shared = (struct kl_event *)event;

	if (shared)
		shared->refs++;
	return shared;
}

void kl_event_free(struct kl_event *event)
{
	if (!event || --event->refs)
		return;
	kl_strvec_release(&event->place.flags);
	kl_facts_release(&event->facts);
	kl_profile_release(&event->profile);
	json_decref(event->correct);
	json_decref(event->counters);
	json_decref(event->statics);
	json_decref(event->audit);
	json_decref(event->notes);
	json_decref(event->point);
	json_decref(event->doc);
	kl_strvec_release(&event->kept);
	free(event);
}

void kl_event_free_value(void *event)
{
	kl_event_free(event);
}

const char *kl_event_keep(struct kl_event *event, const char *text)
{
	if (!text || !*text)
		return "";
	kl_strvec_push(&event->kept, text);
	return event->kept.v[event->kept.n - 1];
}

/* --- parsing and writing lines ---------------------------------------------------- */

static void digest_of(char id[KL_DIGEST_HEX], json_t *doc)
{
	KL_AUTO(json_decrefp) json_t *bare = json_copy(doc);
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	for (const char *const *key = outside_id; *key; key++)
		json_object_del(bare, *key);
	kl_json_canonical(&line, bare);
	kl_digest_hex(id, line.ptr, line.len);
}

/*
 * Parse a line and compute its id. A line that we wrote is canonical, so its bytes can be hashed
 * without writing the document again.
 */
static int load_line(json_t **out, char id[KL_DIGEST_HEX], const char *line, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf bare = KL_BUF_INIT;
	struct kl_canon members;
	int err;

	if (kl_canon_load(out, &members, line, len) && json_is_object(*out)) {
		kl_canon_without(&bare, &members, outside_id);
		kl_digest_hex(id, bare.ptr, bare.len);
		return 0;
	}
	json_decref(kl_steal(out));
	err = kl_json_parse(out, line, len);
	if (!err)
		digest_of(id, *out);
	return err;
}

int kl_event_parse(struct kl_event **out, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	const char *claimed, *kind;
	char id[KL_DIGEST_HEX];
	int64_t version;
	int err;

	if (len > MAX_LINE)
		return kl_error(KL_EINVALID, "the event is too long: %zu bytes", len);
	err = load_line(&doc, id, line, len);
	if (!err)
		err = kl_json_int(&version, doc, "v");
	if (!err)
		err = kl_json_str(&kind, doc, "kind");
	if (!err)
		err = kl_json_str(&claimed, doc, "id");
	if (err < 0)
		return err;
	if (version != 1)
		return kl_error(KL_EINVALID, "unsupported event version %lld", (long long)version);
	if (strcmp(id, claimed))
		return kl_error(KL_EINVALID, "content of event %.12s does not match its id",
				claimed);
	*out = kl_event_from_json(doc);
	return 0;
}

int kl_event_load(struct kl_map *out, const char *name, const char *text, size_t len)
{
	int lineno = 0;

	out->free_value = kl_event_free_value;
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((nl ? nl : end) - line);
		struct kl_event *event;
		int err;

		lineno++;
		if (line_len && (err = kl_event_parse(&event, line, line_len)) < 0)
			return kl_error_in(err, "%s:%d", name, lineno);
		if (line_len)
			kl_map_put(out, event->id, event);
		line += line_len + 1;
	}
	return 0;
}

struct kl_event *kl_event_copy(const struct kl_event *event)
{
	KL_AUTO(json_decrefp) json_t *doc = kl_event_json(event);

	return kl_event_from_json(doc);
}

void kl_event_write(struct kl_buf *out, const struct kl_event *event)
{
	KL_AUTO(json_decrefp) json_t *doc = kl_event_json(event);

	kl_json_canonical(out, doc);
}

void kl_event_seal(struct kl_event *event)
{
	KL_AUTO(json_decrefp) json_t *doc = kl_event_json(event);
	char id[KL_DIGEST_HEX];

	digest_of(id, doc);
	event->id = kl_event_keep(event, id);
}

void kl_event_set_commit(struct kl_event *event, const git_oid *commit, const git_oid *tree)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	event->commit = kl_event_keep(event, hex);
	kl_oid_hex(hex, tree);
	event->tree = kl_event_keep(event, hex);
}

/* --- the failure class, and tests of an event -------------------------------------- */

void kl_event_set_class(struct kl_event *event, const char *word)
{
	event->failure = kl_failure_parse(word);
	event->other_class = event->failure == KL_FAILURE_OTHER ? kl_event_keep(event, word) : "";
}

const char *kl_event_class(const struct kl_event *event)
{
	return event->failure == KL_FAILURE_OTHER ? event->other_class :
						    kl_failure_name(event->failure);
}

bool kl_event_is_fail(const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_FAIL && event->failure != KL_FAILURE_SLOWER &&
	       event->failure != KL_FAILURE_NO_CHANGE;
}

bool kl_event_is_outdated(const struct kl_event *event)
{
	return event->policy < KL_GATE_POLICY;
}

bool kl_event_is_for(const struct kl_event *event, const char *surface, const char *contract)
{
	return (!surface || !strcmp(event->surface, surface)) &&
	       (!contract || !strcmp(event->contract, contract));
}

bool kl_event_is_newer(const struct kl_event *event, const struct kl_event *than)
{
	int order = than ? strcmp(event->time, than->time) : 1;

	return order > 0 || (!order && strcmp(event->id, than->id) > 0);
}

bool kl_event_is_against(const struct kl_event *event, const char *surface)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	return parent && !strcmp(parent->surface, surface);
}

/* --- the forward event ---------------------------------------------------------------- */

/*
 * Replace the event's comparison with its parent by the inverse of the comparison in `pair`.
 * Comparisons with baselines are kept.
 */
static void turn_comparisons(struct kl_event *event, const struct kl_event *pair)
{
	const struct kl_comparison *measured = kl_comparisons_parent(&pair->profile.vs);
	struct kl_comparisons own = event->profile.vs, vs = { .n = 0 };

	vs.v = kl_calloc(own.n + 1, sizeof(*vs.v));
	if (measured) {
		struct kl_comparison turned = kl_comparison_inverted(measured);

		turned.what = "parent";
		turned.surface = kl_event_keep(event, pair->surface);
		if (turned.speed == KL_SPEED_NONE)
			turned.speed = KL_SPEED_AMBIGUOUS;
		vs.v[vs.n++] = turned;
	}
	for (size_t i = 0; i < own.n; i++)
		if (strcmp(own.v[i].what, "parent") != 0)
			vs.v[vs.n++] = own.v[i];
	free(own.v);
	event->profile.vs = vs;
}

struct kl_event *kl_event_inverse(const struct kl_event *state, const struct kl_event *pair,
				  int64_t time)
{
	struct kl_event *event = kl_event_copy(state);
	char iso[32];
	time_t seconds = (time_t)time;
	struct tm tm;

	event->sig = event->commit = event->tree = "";
	event->inverse.there = true;
	event->inverse.state = kl_event_keep(event, state->id);
	event->inverse.pair = kl_event_keep(event, pair->id);
	gmtime_r(&seconds, &tm);
	strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", &tm);
	event->time = kl_event_keep(event, iso);
	if (event->profile.there)
		turn_comparisons(event, pair);
	kl_event_seal(event);
	return event;
}
