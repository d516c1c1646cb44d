/* SPDX-License-Identifier: Apache-2.0 */
#include "card/library.h"

#include <string.h>

#include "base/error.h"
#include "card/library_parts.h"
#include "event/event.h"
#include "repo/notes.h"
#include "repo/refs.h"

#define MAX_CARDS 1000000
#define MAX_EVENT (1u << 20)

static const git_oid zero;

static bool is_zero(const git_oid *oid)
{
	return !memcmp(oid, &zero, sizeof(zero));
}

void kl_library_forget(struct kl_library *l)
{
	kl_blobs_release(&l->cards);
	l->tip = l->tree = zero;
}

void kl_library_free(struct kl_library *l)
{
	if (!l)
		return;
	kl_library_forget(l);
	kl_strvec_release(&l->ids);
	free(l->ref);
	free(l);
}

/* --- reading ------------------------------------------------------------------------ */

/* "cards/<id>.yaml" without the directory; what else lies there is fsck's business */
static bool is_card_path(const char *path, size_t *n)
{
	const char *dot = strrchr(path, '.');

	if (!dot || dot == path || strcmp(dot, ".yaml") || strchr(path, '/'))
		return false;
	*n = dot - path;
	return true;
}

static int read_tree(struct kl_library *l)
{
	git_oid cards;
	size_t n = 0;
	int err = kl_repo_subtree(&cards, l->repo, &l->tree, "cards");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_repo_tree_list(&l->cards, l->repo, &cards, MAX_CARDS)) < 0)
		return kl_error_in(err, "%s", l->ref);
	for (size_t i = 0; i < l->cards.n; i++) {
		struct kl_blob *b = &l->cards.b[i];
		size_t len;

		if (!is_card_path(b->path, &len)) {
			free(b->path);
			continue;
		}
		kl_strvec_take(&l->ids, kl_strndup(b->path, len));
		l->cards.b[n++] = *b;
	}
	l->cards.n = n;
	return 0;
}

int kl_library_read(struct kl_library *l, const git_oid *commit)
{
	int err;

	kl_library_forget(l);
	kl_strvec_release(&l->ids);
	l->ids = (struct kl_strvec)KL_STRVEC_INIT;
	if (is_zero(commit))
		return 0;
	l->tip = *commit;
	err = kl_repo_tree_of(&l->tree, l->repo, commit);
	return err < 0 ? err : read_tree(l);
}

static int new_library(struct kl_library **out, struct kl_repo *r)
{
	const char *ref = kl_repo_config(r, "klineage.skillsRef");

	if (!ref)
		ref = KL_LIBRARY_REF;
	if (strncmp(ref, "refs/heads/", 11) || !ref[11])
		return kl_error(KL_EINVALID,
				"klineage.skillsRef is '%s', it must be a branch: refs/heads/...",
				ref);
	*out = kl_calloc(1, sizeof(**out));
	(*out)->repo = r;
	(*out)->ref = kl_strdup(ref);
	return 0;
}

int kl_library_open(struct kl_library **out, struct kl_repo *r)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	git_oid tip = zero;
	int err;

	if ((err = new_library(&l, r)) < 0)
		return err;
	err = kl_refs_get(&tip, r, l->ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	if (err < 0 || (err = kl_library_read(l, &tip)) < 0)
		return err;
	*out = kl_steal(&l);
	return 0;
}

int kl_library_open_at(struct kl_library **out, struct kl_repo *r, const git_oid *commit)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	int err;

	if ((err = new_library(&l, r)) < 0 || (err = kl_library_read(l, commit)) < 0)
		return err;
	l->fixed = true;
	*out = kl_steal(&l);
	return 0;
}

int kl_library_open_tree(struct kl_library **out, struct kl_repo *r, const git_oid *tree)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	int err;

	if ((err = new_library(&l, r)) < 0)
		return err;
	l->tree = *tree;
	l->fixed = true;
	if ((err = read_tree(l)) < 0)
		return err;
	*out = kl_steal(&l);
	return 0;
}

const char *kl_library_ref(const struct kl_library *l)
{
	return l->ref;
}

const git_oid *kl_library_tip(const struct kl_library *l)
{
	return &l->tip;
}

const git_oid *kl_library_tree(const struct kl_library *l)
{
	return &l->tree;
}

size_t kl_library_count(const struct kl_library *l)
{
	return l->ids.n;
}

const char *kl_library_id(const struct kl_library *l, size_t i)
{
	return l->ids.v[i];
}

const git_oid *kl_library_blob(const struct kl_library *l, size_t i)
{
	return &l->cards.b[i].oid;
}

/* --- one card -------------------------------------------------------------------------- */

static int not_found(const struct kl_library *l, const char *id)
{
	size_t hints = 0;
	int err;

	if (!l->ids.n) {
		err = kl_error(KL_ENOTFOUND, "there is no card '%s': the library is empty", id);
		return kl_error_hint(
			err, "'git klineage lift' makes cards, 'git klineage skills import' "
			     "takes them in");
	}
	err = kl_error(KL_ENOTFOUND, "there is no card '%s'", id);
	for (size_t i = 0; i < l->ids.n && hints < 10; i++)
		if (strstr(l->ids.v[i], id)) {
			kl_error_hint(err, "%s", l->ids.v[i]);
			hints++;
		}
	return err;
}

int kl_library_find(size_t *out, const struct kl_library *l, const char *id)
{
	size_t n = strlen(id), found = 0, at = 0;

	for (size_t i = 0; i < l->ids.n; i++) {
		if (!strcmp(l->ids.v[i], id)) {
			*out = i;
			return 0;
		}
		if (n && !strncmp(l->ids.v[i], id, n)) {
			at = i;
			found++;
		}
	}
	if (found != 1)
		return found ? kl_error(KL_ENOTFOUND, "'%s' is the beginning of %zu cards", id,
					found) :
			       not_found(l, id);
	*out = at;
	return 0;
}

int kl_library_text(struct kl_buf *out, struct kl_library *l, size_t i)
{
	return kl_repo_blob_read(out, l->repo, &l->cards.b[i].oid, KL_CARD_MAX_BYTES);
}

int kl_library_card_at(struct kl_card **out, struct kl_library *l, size_t i)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("cards/%s.yaml", l->ids.v[i]);
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_library_text(&text, l, i)) < 0)
		return kl_error_in(err, "%s", name);
	if ((err = kl_card_parse(&c, name, text.ptr, text.len)) < 0)
		return err;
	if (strcmp(c->id, l->ids.v[i]))
		return kl_error(KL_EINVALID, "%s holds the card '%s'", name, c->id);
	*out = kl_steal(&c);
	return 0;
}

int kl_library_card(struct kl_card **out, struct kl_library *l, const char *id)
{
	size_t i;
	int err = kl_library_find(&i, l, id);

	return err < 0 ? err : kl_library_card_at(out, l, i);
}

/* --- events ------------------------------------------------------------------------------- */

void kl_library_event_path(char path[96], const char *id)
{
	snprintf(path, 96, "evidence/%.2s/%.64s.json", id, id);
}

int kl_library_event(struct kl_event **out, struct kl_library *l, const char *id)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char path[96];
	git_oid blob;
	int err;

	kl_library_event_path(path, id);
	if (is_zero(&l->tree))
		return kl_error(KL_ENOTFOUND, "no '%s' in that tree", path);
	if ((err = kl_repo_tree_entry(&blob, NULL, l->repo, &l->tree, path)) < 0 ||
	    (err = kl_repo_blob_read(&text, l->repo, &blob, MAX_EVENT)) < 0)
		return err;
	kl_buf_rtrim(&text);
	if ((err = kl_event_parse(&event, text.ptr, text.len)) < 0)
		return kl_error_in(err, "%s", path);
	if (strcmp(event->id, id))
		return kl_error(KL_EINVALID, "%s holds event %.12s", path, event->id);
	*out = kl_steal(&event);
	return 0;
}

/* takes the event; of two with one id the signed one */
static void keep_event(struct kl_map *events, struct kl_event *event)
{
	const struct kl_event *old = kl_map_get(events, event->id);

	if (old && (*old->sig || !*event->sig))
		kl_event_free(event);
	else
		kl_map_put(events, event->id, event);
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	for (const char *s = text, *end = text + len; s < end;) {
		const char *nl = memchr(s, '\n', end - s);
		size_t n = (size_t)((nl ? nl : end) - s);
		struct kl_event *e = NULL;

		if (n && !kl_event_parse(&e, s, n))
			keep_event(payload, e);
		else
			kl_error_clear();
		s += n + 1;
	}
	return 0;
}

int kl_library_all_events(struct kl_map *out, struct kl_library *l)
{
	struct kl_blobs blobs = { 0 };
	git_oid tree;
	int err;

	out->free_value = kl_event_free_value;
	err = kl_notes_each(l->repo, KL_NOTES_GATE, on_note, out);
	if (err == KL_ENOTFOUND)
		err = 0;
	if (!err && !is_zero(&l->tree))
		err = kl_repo_subtree(&tree, l->repo, &l->tree, "evidence");
	if (!err && !is_zero(&l->tree))
		err = kl_repo_tree_list(&blobs, l->repo, &tree, MAX_CARDS * 10);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	for (size_t i = 0; !err && i < blobs.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_event *e = NULL;

		if ((err = kl_repo_blob_read(&text, l->repo, &blobs.b[i].oid, MAX_EVENT)) < 0)
			break;
		kl_buf_rtrim(&text);
		if (!kl_event_parse(&e, text.ptr, text.len))
			keep_event(out, e);
		else
			kl_error_clear();
	}
	kl_blobs_release(&blobs);
	return err;
}
