/* SPDX-License-Identifier: Apache-2.0 */
/* event_json - reads and writes events as JSON (docs/formats.md, "The gate event") */
#include "event/event.h"

#include <stddef.h>
#include <string.h>

/* String members, which are all read and written the same way. */
/* clang-format off */
static const struct { const char *key; size_t at; } texts[] = {
	{ "id", offsetof(struct kl_event, id) }, { "time", offsetof(struct kl_event, time) },
	{ "workload", offsetof(struct kl_event, workload) },
	{ "surface", offsetof(struct kl_event, surface) },
	{ "contract", offsetof(struct kl_event, contract) },
	{ "commit", offsetof(struct kl_event, commit) },
	{ "tree", offsetof(struct kl_event, tree) },
	{ "message", offsetof(struct kl_event, message) }, { "by", offsetof(struct kl_event, by) },
	{ "job", offsetof(struct kl_event, job) }, { "signer", offsetof(struct kl_event, signer) },
	{ "sig", offsetof(struct kl_event, sig) }, { "of", offsetof(struct kl_event, of) },
	{ "mechanism", offsetof(struct kl_event, mechanism) },
};
/* clang-format on */

static const char **text_at(struct kl_event *event, size_t i)
{
	return (const char **)((char *)event + texts[i].at);
}

/*
 * --- reading ----------------------------------------------------------------------
 */

static const char *text_of(const json_t *obj, const char *key)
{
	return kl_json_str_or(obj, key, "");
}

static void read_code(char out[KL_DIGEST_HEX], const json_t *doc)
{
	const char *code = text_of(doc, "code");
	size_t n = strnlen(code, KL_DIGEST_HEX - 1);

	memcpy(out, code, n);
	out[n] = '\0';
}

static void read_place(struct kl_place *out, const json_t *doc)
{
	out->id = text_of(doc, "id");
	out->device = text_of(doc, "device");
	out->driver = text_of(doc, "driver");
	out->compiler = text_of(doc, "compiler");
	kl_json_strings(&out->flags, json_object_get(doc, "flags"));
}

static void read_facts(struct kl_event *event, const json_t *doc)
{
	const json_t *features = json_object_get(doc, "features");
	const char *name;
	json_t *value;

	event->compiled = json_is_array(features);
	kl_json_strings(&event->facts.features, features);
	event->facts.features_version = kl_json_int_or(doc, "features_version", 1);
	read_code(event->facts.code_digest, doc);
	json_object_foreach(json_object_get(doc, "traits"), name, value)
		if (json_is_string(value))
			kl_map_put(&event->facts.traits, name, kl_strdup(json_string_value(value)));
}

static void read_inverse(struct kl_event *event, const json_t *doc)
{
	const json_t *inverse = json_object_get(doc, "inverse");

	event->inverse.there = inverse != NULL;
	event->inverse.state = text_of(inverse, "state");
	event->inverse.pair = text_of(inverse, "pair");
}

static void read_session(struct kl_event *event, const json_t *doc)
{
	const json_t *session = json_object_get(doc, "session");

	event->session.there = json_is_object(session);
	event->session.states = kl_json_int_or(session, "states", 0);
	event->session.rounds = kl_json_int_or(session, "rounds", 0);
}

struct kl_event *kl_event_from_json(json_t *doc)
{
	struct kl_event *event = kl_event_new();

	event->doc = json_incref(doc);
	event->kind = kl_event_kind_parse(text_of(doc, "kind"));
	event->verdict = kl_verdict_parse(text_of(doc, "verdict"));
	kl_event_set_class(event, text_of(doc, "class"));
	event->tier = kl_tier_parse(text_of(doc, "tier"));
	event->policy = kl_json_int_or(doc, "policy", 0);
	for (size_t i = 0; i < KL_ARRAY_SIZE(texts); i++)
		*text_at(event, i) = text_of(doc, texts[i].key);
	read_place(&event->place, json_object_get(doc, "platform"));
	read_facts(event, doc);
	kl_profile_read(&event->profile, json_object_get(doc, "profile"));
	read_inverse(event, doc);
	read_session(event, doc);
	event->correct = json_incref(json_object_get(doc, "correct"));
	event->counters = json_incref(json_object_get(doc, "counters"));
	event->statics = json_incref(json_object_get(doc, "static"));
	event->audit = json_incref(json_object_get(doc, "audit"));
	event->notes = json_incref(json_object_get(doc, "notes"));
	event->point = json_incref(json_object_get(doc, "point"));
	return event;
}

/*
 * --- writing: only members that differ from the document are set -------------------------
 */

static void put_text(json_t *obj, const char *key, const char *value)
{
	if (!strcmp(text_of(obj, key), value))
		return;
	if (*value)
		kl_json_set_str(obj, key, value);
	else
		json_object_del(obj, key);
}

static void put_json(json_t *obj, const char *key, json_t *value)
{
	if (json_object_get(obj, key) == value)
		return;
	if (value)
		kl_json_set(obj, key, json_incref(value));
	else
		json_object_del(obj, key);
}

/* Return true if the JSON array has exactly these strings; elements of other types are ignored. */
static bool has_strings(const json_t *list, const struct kl_strvec *words)
{
	size_t i, n = 0;
	json_t *item;

	json_array_foreach(list, i, item)
		if (json_is_string(item) &&
		    (n == words->n || strcmp(json_string_value(item), words->v[n++]) != 0))
			return false;
	return n == words->n;
}

static void set_strings(json_t *obj, const char *key, const struct kl_strvec *words)
{
	json_t *list = json_array();

	for (size_t i = 0; i < words->n; i++)
		json_array_append_new(list, json_string(words->v[i]));
	kl_json_set(obj, key, list);
}

/*
 * Set the member "platform". If `made` is true, the event is new, so its device and flags are
 * written even if they are empty.
 */
static void put_place(json_t *doc, const struct kl_place *place, bool made)
{
	json_t *old = json_object_get(doc, "platform");
	json_t *out = json_is_object(old) ? json_copy(old) : json_object();

	put_text(out, "id", place->id);
	put_text(out, "device", place->device);
	put_text(out, "driver", place->driver);
	put_text(out, "compiler", place->compiler);
	if (made)
		kl_json_set_str(out, "device", place->device);
	if (made || !has_strings(json_object_get(out, "flags"), &place->flags))
		set_strings(out, "flags", &place->flags);
	if (json_object_size(out) || json_is_object(old))
		kl_json_set(doc, "platform", out);
	else
		json_decref(out);
}

static void put_verdict(json_t *doc, const struct kl_event *event)
{
	const char *class_ = kl_event_class(event);

	if (kl_verdict_parse(text_of(doc, "verdict")) == event->verdict &&
	    !strcmp(text_of(doc, "class"), class_))
		return;
	kl_json_set_str(doc, "verdict", kl_verdict_name(event->verdict));
	kl_json_set_str(doc, "class", *class_ ? class_ : NULL);
}

static void put_features(json_t *doc, const struct kl_event *event)
{
	const json_t *old = json_object_get(doc, "features");
	char code[KL_DIGEST_HEX];

	read_code(code, doc);
	if (!event->compiled || (json_is_array(old) && has_strings(old, &event->facts.features) &&
				 !strcmp(code, event->facts.code_digest)))
		return;
	set_strings(doc, "features", &event->facts.features);
	if (event->facts.features_version > 1)
		kl_json_set_int(doc, "features_version", event->facts.features_version);
	kl_json_set_str(doc, "code", event->facts.code_digest);
}

/* Return true if the JSON object has exactly these traits; members of other types are ignored. */
static bool has_traits(const json_t *obj, const struct kl_map *traits)
{
	const char *name;
	json_t *value;
	size_t n = 0;

	json_object_foreach((json_t *)obj, name, value) {
		const char *trait = kl_map_get(traits, name);

		if (json_is_string(value) &&
		    (!trait || strcmp(trait, json_string_value(value)) != 0))
			return false;
		n += json_is_string(value);
	}
	return n == traits->n;
}

static void put_traits(json_t *doc, const struct kl_map *traits)
{
	json_t *out;

	if (has_traits(json_object_get(doc, "traits"), traits))
		return;
	out = json_object();
	for (size_t i = 0; i < traits->n; i++)
		kl_json_set_str(out, traits->e[i].key, traits->e[i].value);
	kl_json_set(doc, "traits", out);
}

static void put_inverse(json_t *doc, const struct kl_event *event)
{
	const json_t *old = json_object_get(doc, "inverse");
	json_t *out;

	if (!event->inverse.there || (old && !strcmp(text_of(old, "state"), event->inverse.state) &&
				      !strcmp(text_of(old, "pair"), event->inverse.pair)))
		return;
	out = json_object();
	kl_json_set_str(out, "state", event->inverse.state);
	kl_json_set_str(out, "pair", event->inverse.pair);
	kl_json_set(doc, "inverse", out);
}

static void put_session(json_t *doc, const struct kl_event *event)
{
	json_t *out = json_object_get(doc, "session");

	if (!event->session.there ||
	    (json_is_object(out) && kl_json_int_or(out, "states", 0) == event->session.states &&
	     kl_json_int_or(out, "rounds", 0) == event->session.rounds))
		return;
	out = json_object();
	kl_json_set_int(out, "states", event->session.states);
	kl_json_set_int(out, "rounds", event->session.rounds);
	kl_json_set(doc, "session", out);
}

static void put_head(json_t *doc, const struct kl_event *event)
{
	if (kl_event_kind_parse(text_of(doc, "kind")) != event->kind)
		kl_json_set_str(doc, "kind", kl_event_kind_name(event->kind));
	if (kl_tier_parse(text_of(doc, "tier")) != event->tier)
		kl_json_set_str(doc, "tier", kl_tier_name(event->tier));
	if (kl_json_int_or(doc, "policy", 0) != event->policy)
		kl_json_set_int(doc, "policy", event->policy);
	for (size_t i = 0; i < KL_ARRAY_SIZE(texts); i++)
		put_text(doc, texts[i].key, *text_at((struct kl_event *)event, i));
}

/* Return a document with the members that every new event has. */
static json_t *blank_document(void)
{
	json_t *doc = json_object();

	kl_json_set_int(doc, "v", 1);
	kl_json_set_str(doc, "by", NULL);
	return doc;
}

json_t *kl_event_json(const struct kl_event *event)
{
	json_t *doc = event->doc ? json_copy(event->doc) : blank_document();

	put_head(doc, event);
	put_verdict(doc, event);
	put_place(doc, &event->place, !event->doc);
	put_features(doc, event);
	put_traits(doc, &event->facts.traits);
	if (event->profile.there)
		kl_json_set(doc, "profile",
			    kl_profile_json(&event->profile, json_object_get(doc, "profile")));
	put_inverse(doc, event);
	put_session(doc, event);
	put_json(doc, "correct", event->correct);
	put_json(doc, "counters", event->counters);
	put_json(doc, "static", event->statics);
	put_json(doc, "audit", event->audit);
	put_json(doc, "notes", event->notes);
	put_json(doc, "point", event->point);
	return doc;
}

json_t *kl_event_draft(const struct kl_event *event)
{
	json_t *doc = kl_event_json(event);

	json_object_del(doc, "time");
	json_object_del(json_object_get(doc, "platform"), "device");
	return doc;
}
