/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "text/canon.h"

#define MAX_LINE ((size_t)1 << 20)

static const char *const outside_id[] = { "id", "sig", "commit", "tree", NULL };

void kl_event_doc_id(char id[KL_DIGEST_HEX], const json_t *event)
{
	KL_AUTO(json_decrefp) json_t *bare = json_copy((json_t *)event);
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	for (const char *const *k = outside_id; *k; k++)
		json_object_del(bare, *k);
	kl_json_canonical(&line, bare);
	kl_digest_hex(id, line.ptr, line.len);
}

void kl_event_doc_seal(json_t *event)
{
	char id[KL_DIGEST_HEX];

	kl_event_doc_id(id, event);
	kl_json_set_str(event, "id", id);
}

/* The event and the id that its content has. Ours are canonical: then the text need not be written again. */
static int load(json_t **out, char id[KL_DIGEST_HEX], const char *line, size_t len)
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
		kl_event_doc_id(id, *out);
	return err;
}

int kl_event_doc_parse(json_t **out, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;
	const char *said, *kind;
	char id[KL_DIGEST_HEX];
	int64_t v;
	int err;

	if (len > MAX_LINE)
		return kl_error(KL_EINVALID, "an event of %zu bytes", len);
	err = load(&e, id, line, len);
	if (!err)
		err = kl_json_int(&v, e, "v");
	if (!err)
		err = kl_json_str(&kind, e, "kind");
	if (!err)
		err = kl_json_str(&said, e, "id");
	if (err < 0)
		return err;
	if (v != 1)
		return kl_error(KL_EINVALID, "an event of version %lld", (long long)v);
	if (strcmp(id, said))
		return kl_error(KL_EINVALID, "event %.12s does not say what its id says", said);
	*out = kl_steal(&e);
	return 0;
}

bool kl_event_doc_is_for(const json_t *event, const char *surface, const char *contract)
{
	return (!surface || !strcmp(kl_json_str_or(event, "surface", ""), surface)) &&
	       (!contract || !strcmp(kl_json_str_or(event, "contract", ""), contract));
}

bool kl_event_doc_is_fail(const json_t *event)
{
	const char *class_ = kl_json_str_or(event, "class", "");

	return !strcmp(kl_json_str_or(event, "verdict", ""), "fail") &&
	       strcmp(class_, "slower") && strcmp(class_, "no-change");
}

/* --- folding --------------------------------------------------------------- */

static void add_key_part(struct kl_buf *b, const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	if (v)
		kl_json_canonical(b, v);
	kl_buf_addch(b, '\n');
}

static char *key_of(const json_t *event)
{
	const json_t *platform = json_object_get(event, "platform");
	struct kl_buf b = KL_BUF_INIT;

	add_key_part(&b, event, "workload");
	add_key_part(&b, event, "surface");
	add_key_part(&b, event, "contract");
	add_key_part(&b, event, "policy");
	add_key_part(&b, event, "tier");
	add_key_part(&b, platform, "id");
	add_key_part(&b, platform, "device");
	add_key_part(&b, platform, "compiler");
	add_key_part(&b, platform, "flags");
	return kl_buf_detach(&b);
}

/* Times are ISO 8601: their order is the text's. Of equals the greater id, whatever order they came in. */
static bool newer(const json_t *e, const json_t *old)
{
	int d = strcmp(kl_json_str_or(e, "time", ""), kl_json_str_or(old, "time", ""));

	if (!d)
		d = strcmp(kl_json_str_or(e, "id", ""), kl_json_str_or(old, "id", ""));
	return d > 0;
}

/* Should `e` stand in the place of `old`? */
static bool outranks(const json_t *e, const json_t *old)
{
	bool fails = kl_event_doc_is_fail(e);

	return fails != kl_event_doc_is_fail(old) ? fails : newer(e, old);
}

struct folding {
	struct kl_map by_id;	/* id -> event, owned; NULL event: retracted */
	struct kl_map retracted;
	struct kl_fold *out;
};

static void decref(void *e)
{
	json_decref(e);
}

static bool is_check(const json_t *e)
{
	return !strcmp(kl_json_str_or(e, "kind", ""), "check");
}

/*
 * Of two copies of an event the one that counts: the signed one; else, since `commit`, `tree` and the
 * signature are not part of its id, the greater line, so that no order of lines matters.
 */
static bool is_better_copy(const json_t *e, const json_t *old)
{
	bool signed_e = json_object_get(e, "sig"), signed_old = json_object_get(old, "sig");
	KL_AUTO(kl_buf_release) struct kl_buf a = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	if (signed_e != signed_old)
		return signed_e;
	kl_json_canonical(&a, e);
	kl_json_canonical(&b, old);
	return strcmp(a.ptr, b.ptr) > 0;
}

static void take_line(struct folding *f, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;
	const char *kind;

	if (!len)
		return;
	f->out->lines++;
	if (kl_event_doc_parse(&e, line, len) < 0) {
		kl_error_clear();
		f->out->skipped++;
		return;
	}
	kind = kl_json_str_or(e, "kind", "");
	if (!strcmp(kind, "retract")) {
		static char mark[] = "yes";

		kl_map_put(&f->retracted, kl_json_str_or(e, "of", ""), mark);
	} else if (!strcmp(kind, "gate") || is_check(e)) {
		const char *id = kl_json_str_or(e, "id", "");
		const json_t *old = kl_map_get(&f->by_id, id);

		if (!old || is_better_copy(e, old))
			kl_map_put(&f->by_id, id, kl_steal(&e));
	}
}

static void choose(struct kl_map *best, const char *key, json_t *e,
		   bool (*better)(const json_t *, const json_t *))
{
	json_t *old = kl_map_get(best, key);

	if (!old || better(e, old))
		kl_map_put(best, key, e);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct kl_map_entry *)a)->key, ((const struct kl_map_entry *)b)->key);
}

/* by key: in whatever order the lines came */
static void append_all(json_t *out, struct kl_map *m)
{
	if (m->n > 1)
		qsort(m->e, m->n, sizeof(*m->e), by_key);
	for (size_t i = 0; i < m->n; i++)
		json_array_append(out, m->e[i].value);
}

void kl_event_fold(struct kl_fold *out, const char *text, size_t len,
		   const char *surface, const char *contract)
{
	KL_AUTO(kl_map_release) struct kl_map verdicts = KL_MAP_INIT, checks = KL_MAP_INIT;
	KL_AUTO(kl_map_release) struct kl_map profiles = KL_MAP_INIT;
	struct folding f = { .by_id = { .free_value = decref }, .out = out };

	*out = (struct kl_fold){ json_array(), json_array(), json_object(), 0, 0 };
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at;

		take_line(&f, text + at, n);
		at += n + 1;
	}
	for (size_t i = 0; i < f.by_id.n; i++) {
		json_t *e = f.by_id.e[i].value;

		if (kl_map_get(&f.retracted, f.by_id.e[i].key) ||
		    !kl_event_doc_is_for(e, surface, contract))
			continue;
		KL_AUTO(kl_freep) char *key = key_of(e);
		choose(is_check(e) && !kl_event_doc_is_fail(e) ? &checks : &verdicts, key, e,
		       outranks);
		if (json_is_object(json_object_get(e, "profile")))
			choose(&profiles, kl_json_str_or(json_object_get(e, "platform"), "id", "?"),
			       e, newer);
	}
	/* nothing is looked up in them any more */
	append_all(out->verdicts, &verdicts);
	append_all(out->checks, &checks);
	for (size_t i = 0; i < profiles.n; i++)
		json_object_set(out->profiles, profiles.e[i].key, profiles.e[i].value);
	kl_map_release(&f.by_id);
	kl_map_release(&f.retracted);
}

void kl_fold_release(struct kl_fold *f)
{
	json_decref(f->verdicts);
	json_decref(f->checks);
	json_decref(f->profiles);
	*f = (struct kl_fold){ 0 };
}
