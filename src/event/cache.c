/* SPDX-License-Identifier: Apache-2.0 */
#include "event/cache.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "event/event.h"

#define MAX_EVENT ((size_t)1 << 20)
#define NAME_LEN \
	(KL_DIGEST_HEX - 1 + sizeof(".json") - 1) /* of an entry; a crash can leave other files */

/*
 * Return the directory with the entries for this surface and contract,
 * $GIT_COMMON_DIR/klineage/cache/<2 digits>/<62 digits>; the caller frees.
 */
static char *dir_of(struct kl_repo *repo, const char *surface, const char *contract)
{
	struct kl_digest *digest = kl_digest_new();
	char hex[KL_DIGEST_HEX];

	kl_digest_adds(digest, surface);
	kl_digest_adds(digest, contract);
	kl_digest_end(digest, hex);
	return kl_asprintf("%s/klineage/cache/%.2s/%s", kl_repo_common_dir(repo), hex, hex + 2);
}

void kl_cache_key_hex(char hex[KL_DIGEST_HEX], const struct kl_cache_key *key)
{
	struct kl_digest *digest = kl_digest_new();
	char policy[16];

	snprintf(policy, sizeof(policy), "%d", KL_GATE_POLICY);
	kl_digest_adds(digest, policy);
	kl_digest_adds(digest, key->surface);
	kl_digest_adds(digest, key->contract);
	kl_digest_adds(digest, key->platform->id);
	kl_digest_adds(digest, key->runner ? key->runner : key->platform->device);
	kl_digest_adds(digest, key->platform->compiler);
	for (size_t i = 0; i < key->flags->n; i++)
		kl_digest_adds(digest, key->flags->v[i]);
	kl_digest_adds(digest, "");
	kl_digest_adds(digest, kl_tier_name(key->tier));
	kl_digest_adds(digest, key->parent ? key->parent : "");
	kl_digest_adds(digest, key->quick ? "check" : key->profile ? "profile" : "");
	kl_digest_end(digest, hex);
}

static void whole_key(char hex[KL_DIGEST_HEX], const struct kl_cache_key *key)
{
	kl_cache_key_hex(hex, key);
	if (key->runner && key->runner_device)
		kl_runner_device_key(hex, key->runner_device);
}

/*
 * Read an entry. Return KL_ENOTFOUND if the file is missing or damaged, or its event is for another
 * surface or contract.
 */
static int read_entry(struct kl_event **event, const char *dir, const char *name,
		      const char *surface, const char *contract)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *parsed = NULL;
	int err = kl_fs_read(&text, path, MAX_EVENT);

	if (!err)
		err = kl_event_parse(&parsed, text.ptr, text.len);
	if (err == KL_EINTR)
		return err;
	if (err < 0 || !kl_event_is_for(parsed, surface, contract))
		return kl_error(KL_ENOTFOUND, "not yet judged by this clone");
	*event = kl_steal(&parsed);
	return 0;
}

int kl_cache_get_at(struct kl_event **event, struct kl_repo *repo, const char *surface,
		    const char *contract, const char *hex)
{
	KL_AUTO(kl_freep) char *dir = dir_of(repo, surface, contract);
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s.json", hex);

	return read_entry(event, dir, name, surface, contract);
}

int kl_cache_get(struct kl_event **event, struct kl_repo *repo, const struct kl_cache_key *key)
{
	char hex[KL_DIGEST_HEX];

	whole_key(hex, key);
	return kl_cache_get_at(event, repo, key->surface, key->contract, hex);
}

static int put_event(struct kl_repo *repo, const char *surface, const char *contract,
		     const char *hex, const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *dir = dir_of(repo, surface, contract);
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s.json", dir, hex);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = KL_FAULT("cache-put");

	if (!err)
		err = kl_fs_mkdir_of(path);
	if (err < 0)
		return err;
	kl_event_write(&text, event);
	err = kl_fs_write(path, text.ptr, text.len);
	return err < 0 ? err : KL_FAULT("cache-put-done");
}

int kl_cache_put_at(struct kl_repo *repo, const char *hex, const struct kl_event *event)
{
	return put_event(repo, event->surface, event->contract, hex, event);
}

int kl_cache_put(struct kl_repo *repo, const struct kl_cache_key *key, const struct kl_event *event)
{
	char hex[KL_DIGEST_HEX];

	whole_key(hex, key);
	return put_event(repo, key->surface, key->contract, hex, event);
}

/* --- all entries for a surface and contract ------------------------------------ */

/*
 * A function that is called for each entry of a directory. To keep the event, it takes a reference
 * of its own.
 */
typedef int entry_fn(void *payload, const char *path, struct kl_event *event);

/*
 * Call `fn` for each entry in `dir`; skip damaged entries and those for another surface or
 * contract.
 */
static int each_entry(const char *dir, const char *surface, const char *contract, entry_fn *fn,
		      void *payload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_fs_list(&names, dir);

	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (strlen(names.v[i]) != NAME_LEN)
			continue;
		err = read_entry(&event, dir, names.v[i], surface, contract);
		if (err == KL_EINTR)
			return err;
		if (err < 0)
			kl_error_clear();
		else if ((err = fn(payload, path, event)) < 0)
			return err;
	}
	return 0;
}

static int add_line(void *payload, const char *path, struct kl_event *event)
{
	kl_event_write(payload, event);
	kl_buf_addch(payload, '\n');
	return 0;
}

int kl_cache_list(struct kl_buf *lines, struct kl_repo *repo, const char *surface,
		  const char *contract)
{
	KL_AUTO(kl_freep) char *dir = dir_of(repo, surface, contract);

	return each_entry(dir, surface, contract, add_line, lines);
}

struct finding {
	const struct kl_cache_key *key;
	struct kl_event *best;
};

static bool same_flags(const struct kl_strvec *left, const struct kl_strvec *right)
{
	if (left->n != right->n)
		return false;
	for (size_t i = 0; i < left->n; i++)
		if (strcmp(left->v[i], right->v[i]) != 0)
			return false;
	return true;
}

/*
 * Return true if the event is from the key's device. A runner's device is the one that the runner
 * reported last; if it has reported none, any device matches.
 */
static bool same_device(const struct kl_place *place, const struct kl_cache_key *key)
{
	if (!key->runner)
		return !strcmp(place->device, key->platform->device);
	return !key->runner_device || (!strcmp(place->device, key->runner_device->device) &&
				       !strcmp(place->driver, key->runner_device->driver));
}

bool kl_cache_same_place(const struct kl_event *event, const struct kl_cache_key *key)
{
	const struct kl_place *place = &event->place;

	return event->policy == KL_GATE_POLICY && event->tier == key->tier &&
	       !strcmp(place->id, key->platform->id) &&
	       !strcmp(place->compiler, key->platform->compiler) && same_device(place, key) &&
	       same_flags(&place->flags, key->flags);
}

/* Rank a correctness failure highest, then a result of the whole gate. */
static int rank_of(const struct kl_event *event)
{
	return kl_event_is_fail(event) ? 2 : event->kind == KL_KIND_GATE;
}

static int keep_best(void *payload, const char *path, struct kl_event *event)
{
	struct finding *finding = payload;
	int order;

	/* skip `no-change`, which judges a step, and `inconclusive`, which the machine caused */
	if (!kl_cache_same_place(event, finding->key) || event->failure == KL_FAILURE_NO_CHANGE ||
	    event->verdict == KL_VERDICT_INCONCLUSIVE)
		return 0;
	order = finding->best ? rank_of(event) - rank_of(finding->best) : 1;
	if (!order)
		order = strcmp(event->time, finding->best->time);
	if (order <= 0)
		return 0;
	kl_event_free(finding->best);
	finding->best = kl_event_ref(event);
	return 0;
}

int kl_cache_find(struct kl_event **event, struct kl_repo *repo, const struct kl_cache_key *key)
{
	KL_AUTO(kl_freep) char *dir = dir_of(repo, key->surface, key->contract);
	struct finding finding = { .key = key };
	int err = each_entry(dir, key->surface, key->contract, keep_best, &finding);

	if (err < 0)
		return err;
	if (!finding.best)
		return kl_error(KL_ENOTFOUND, "not yet judged by this clone");
	*event = finding.best;
	return 0;
}

/* --- dropping an event, and finding one by its id ------------------------------------------ */

struct dropping {
	const char *id;
	size_t n;
};

static int drop_entry(void *payload, const char *path, struct kl_event *event)
{
	struct dropping *dropping = payload;
	int err = strcmp(event->id, dropping->id) ? KL_ENO : kl_fs_remove(path);

	dropping->n += !err;
	return err == KL_ENO ? 0 : err;
}

int kl_cache_drop(size_t *n, struct kl_repo *repo, const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *dir = dir_of(repo, event->surface, event->contract);
	struct dropping dropping = { .id = event->id };
	int err = each_entry(dir, event->surface, event->contract, drop_entry, &dropping);

	*n = dropping.n;
	return err;
}

struct seeking {
	const char *prefix;
	struct kl_event *event;
	bool several;
};

static int take_entry(void *payload, const char *path, struct kl_event *event)
{
	struct seeking *seeking = payload;

	if (!kl_prefix_has(event->id, seeking->prefix))
		return 0;
	seeking->several |= seeking->event && strcmp(seeking->event->id, event->id);
	kl_event_free(seeking->event);
	seeking->event = kl_event_ref(event);
	return 0;
}

/* Search the entries in all directories in `outer`, klineage/cache/<2 digits>. */
static int seek_below(struct seeking *seeking, const char *outer)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec inner = KL_STRVEC_INIT;
	int err = kl_fs_list(&inner, outer);

	for (size_t i = 0; i < inner.n && err != KL_EINTR; i++) {
		KL_AUTO(kl_freep) char *dir = kl_fs_join(outer, inner.v[i]);

		err = each_entry(dir, NULL, NULL, take_entry, seeking);
	}
	if (err == KL_EINTR)
		return err;
	kl_error_clear(); /* skip entries that cannot be listed, such as files */
	return 0;
}

int kl_cache_find_id(struct kl_event **event, struct kl_repo *repo, const char *prefix)
{
	KL_AUTO(kl_freep) char *top = kl_fs_join(kl_repo_common_dir(repo), "klineage/cache");
	KL_AUTO(kl_strvec_release) struct kl_strvec outer = KL_STRVEC_INIT;
	struct seeking seeking = { .prefix = prefix };
	int err = 0;

	if (kl_fs_list(&outer, top) < 0)
		kl_error_clear();
	for (size_t i = 0; i < outer.n && !err; i++) {
		KL_AUTO(kl_freep) char *dir = kl_fs_join(top, outer.v[i]);

		if (strlen(outer.v[i]) == 2)
			err = seek_below(&seeking, dir);
	}
	if (!err && seeking.several)
		err = kl_error(KL_ENOTFOUND, "the ids of several events begin with '%s'", prefix);
	else if (!err && !seeking.event)
		err = kl_error(KL_ENOTFOUND,
			       "no event %.12s in the notes or the cache of this clone", prefix);
	if (err < 0)
		kl_event_free(seeking.event);
	else
		*event = seeking.event;
	return err;
}
