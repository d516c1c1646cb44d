/* SPDX-License-Identifier: Apache-2.0 */
#include "card/exchange.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "card/card_merge.h"
#include "card/exchange_parts.h"
#include "card/library_parts.h"
#include "event/event.h"

#define MAX_FILE (16u << 20)
#define SCHEMA "klineage.card/1"

static const char *const words[] = { "yaml", "json", "skill-md" };

int kl_format_parse(enum kl_format *out, const char *word)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word)) {
			*out = (enum kl_format)i;
			return 0;
		}
	return kl_error(KL_EUSAGE, "'%s' is no format: yaml, json, skill-md", word);
}

/* --- out ---------------------------------------------------------------------------------- */

static void write_json(struct kl_buf *out, const struct kl_card *c, const struct kl_map *events)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *list = json_array();

	for (size_t i = 0; events && i < events->n; i++)
		json_array_append_new(list, kl_event_json(events->e[i].value));
	kl_json_set_str(j, "schema", SCHEMA);
	kl_json_set(j, "card", kl_card_to_json(c));
	kl_json_set(j, "events", list);
	kl_json_decimal(out, j, true);
	kl_buf_addch(out, '\n');
}

void kl_exchange_write(struct kl_buf *out, const struct kl_card *c, const struct kl_map *events,
		       enum kl_format format)
{
	if (format == KL_FORMAT_YAML)
		kl_card_write(out, c);
	else if (format == KL_FORMAT_JSON)
		write_json(out, c, events);
	else
		kl_skill_md_write(out, c);
}

static int add_event(struct kl_map *out, struct kl_library *l, const char *id, int depth)
{
	struct kl_event *event = NULL;
	int err;

	if (kl_map_get(out, id))
		return 0;
	if ((err = kl_library_event(&event, l, id)) < 0)
		return err;
	kl_map_put(out, id, event);
	if (!event->inverse.there || depth > 8)
		return 0;
	err = add_event(out, l, event->inverse.state, depth + 1);
	return err < 0 ? err : add_event(out, l, event->inverse.pair, depth + 1);
}

int kl_exchange_events(struct kl_map *out, struct kl_library *l, const struct kl_card *c)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	int err = 0;

	out->free_value = kl_event_free_value;
	kl_card_events(&ids, c);
	for (size_t i = 0; !err && i < ids.n; i++)
		err = add_event(out, l, ids.v[i], 0);
	return err < 0 ? kl_error_in(err, "card '%s'", c->id) : 0;
}

static int put_file(size_t *files, const char *dir, const char *leaf, const struct kl_buf *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, leaf);
	int err = kl_fs_mkdir_of(path);

	if (!err)
		err = kl_fs_write(path, text->ptr, text->len);
	*files += !err;
	return err;
}

static void event_line(struct kl_buf *out, const struct kl_event *event)
{
	kl_event_write(out, event);
	kl_buf_addch(out, '\n');
}

static int put_events(size_t *files, const char *dir, const struct kl_map *events, const char *id,
		      enum kl_format format)
{
	KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *leaf = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < events->n; i++) {
		char path[96];

		if (format != KL_FORMAT_YAML) {
			event_line(&lines, events->e[i].value);
			continue;
		}
		kl_buf_clear(&lines);
		event_line(&lines, events->e[i].value);
		kl_library_event_path(path, events->e[i].key);
		err = put_file(files, dir, path, &lines);
	}
	if (format != KL_FORMAT_SKILL_MD)
		return err;
	leaf = kl_asprintf("%s/events.jsonl", id);
	return put_file(files, dir, leaf, &lines);
}

static int export_card(size_t *files, struct kl_library *l, const char *id, const char *dir,
		       enum kl_format format)
{
	KL_AUTO(kl_map_release) struct kl_map events = KL_MAP_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *leaf = NULL;
	int err;

	if ((err = kl_library_card(&c, l, id)) < 0 || (err = kl_exchange_events(&events, l, c)) < 0)
		return err;
	kl_exchange_write(&text, c, &events, format);
	leaf = format == KL_FORMAT_YAML ? kl_asprintf("cards/%s.yaml", c->id) :
	       format == KL_FORMAT_JSON ? kl_asprintf("%s.json", c->id) :
					  kl_asprintf("%s/SKILL.md", c->id);
	if (format != KL_FORMAT_JSON && (err = put_events(files, dir, &events, c->id, format)) < 0)
		return err;
	return put_file(files, dir, leaf, &text);
}

int kl_exchange_export(size_t *files, struct kl_library *l, const struct kl_strvec *ids,
		       const char *dir, enum kl_format format)
{
	int err = 0;

	*files = 0;
	for (size_t i = 0; !err && i < ids->n; i++)
		err = export_card(files, l, ids->v[i], dir, format);
	return err;
}

/* --- in --------------------------------------------------------------------------------------- */

struct importer {
	struct kl_library *l;
	struct kl_map here; /* events of this clone, read when first needed */
	bool have_here;
	const char *path;           /* the file that is read */
	struct kl_map texts, paths; /* of the cards that came in so far, by id; owned */
	struct kl_exchange_result *result;
	void (*refuse)(const char *path, void *payload);
	void *payload;
	size_t seen;
};

static int read_events_jsonl(struct kl_map *out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	for (const char *s = text.ptr; !err && *s;) {
		size_t n = strcspn(s, "\n");
		struct kl_event *event = NULL;

		if (n && !(err = kl_event_parse(&event, s, n)))
			kl_map_put(out, event->id, event);
		s += n + (s[n] == '\n');
	}
	return err < 0 ? kl_error_in(err, "%s", path) : 0;
}

/* the file evidence/<xx>/<id>.json below `root`; false: it is not there */
static int read_event_file(struct kl_map *out, const char *root, const char *id)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	char leaf[96];
	struct kl_event *event = NULL;
	int err;

	kl_library_event_path(leaf, id);
	path = kl_fs_join(root, leaf);
	if (!kl_fs_exists(path))
		return 0;
	if ((err = kl_fs_read(&text, path, 1u << 20)) < 0)
		return err;
	kl_buf_rtrim(&text);
	if ((err = kl_event_parse(&event, text.ptr, text.len)) < 0)
		return kl_error_in(err, "%s", path);
	if (strcmp(event->id, id)) {
		kl_event_free(event);
		return kl_error(KL_EINVALID, "%s holds another event", path);
	}
	kl_map_put(out, id, event);
	return 0;
}

static const struct kl_event *event_here(struct importer *x, const char *id)
{
	if (!x->have_here && kl_library_all_events(&x->here, x->l) < 0)
		kl_error_clear();
	x->have_here = true;
	return kl_map_get(&x->here, id);
}

/* find the event beside the card or in this clone, and what it was computed from */
static int need_event(struct kl_map *events, struct importer *x, const char *root, const char *id,
		      int depth)
{
	const struct kl_event *e = kl_map_get(events, id);
	int err;

	if (!e && root && (err = read_event_file(events, root, id)) < 0)
		return err;
	if (!e && !(e = kl_map_get(events, id)) && (e = event_here(x, id)))
		kl_map_put(events, id, kl_event_ref(e));
	if (!e)
		return kl_error(KL_EINVALID, "it cites event %.12s, which is not beside it", id);
	if (!e->inverse.there || depth > 8)
		return 0;
	err = need_event(events, x, root, e->inverse.state, depth + 1);
	return err < 0 ? err : need_event(events, x, root, e->inverse.pair, depth + 1);
}

/* what others tried is theirs: kept, not counted */
static void make_foreign(struct kl_card *c)
{
	for (size_t i = 0; i < c->ver.n; i++)
		c->ver.v[i].foreign = !c->ver.v[i].retracted;
	kl_card_normalize(c);
}

static int put_card(struct importer *x, struct kl_card *card, const struct kl_map *events)
{
	KL_AUTO(kl_card_freep) struct kl_card *old = NULL, *merged = NULL;
	KL_AUTO(kl_freep) char *subject = kl_asprintf("skills: import %s", card->id);
	struct kl_library_change change = { .card = card, .events = events, .subject = subject };
	git_oid before = *kl_library_tip(x->l);
	size_t i;
	int err = kl_library_find(&i, x->l, card->id);

	if (!err && !strcmp(kl_library_id(x->l, i), card->id)) {
		/* the texts here stay: whoever sends a card does not reword ours */
		if ((err = kl_library_card_at(&old, x->l, i)) < 0 ||
		    (err = kl_card_merge(&merged, NULL, card, old, card)) < 0)
			return err;
		change.card = merged;
	}
	kl_error_clear();
	if ((err = kl_library_put(x->l, &change)) < 0)
		return err;
	if (!memcmp(&before, kl_library_tip(x->l), sizeof(before)))
		x->result->same++;
	else if (old)
		x->result->merged++;
	else
		x->result->added++;
	return 0;
}

/* two files with one id are two cards: which is meant nobody can say */
static int check_twice(struct importer *x, const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *before = kl_map_get(&x->texts, card->id);

	kl_card_write(&text, card);
	if (before && strcmp(before, text.ptr))
		return kl_error(KL_EINVALID,
				"the card '%s' is in '%s', too, and says something else there",
				card->id, (char *)kl_map_get(&x->paths, card->id));
	kl_map_put(&x->texts, card->id, kl_buf_detach(&text));
	kl_map_put(&x->paths, card->id, kl_strdup(x->path));
	return 0;
}

/* `root`: where evidence/ may be; takes nothing */
static int take_card(struct importer *x, struct kl_card *card, struct kl_map *events,
		     const char *root)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	int err = check_twice(x, card);

	kl_card_events(&ids, card);
	for (size_t i = 0; !err && i < ids.n; i++)
		err = need_event(events, x, root, ids.v[i], 0);
	if (err < 0)
		return err;
	make_foreign(card);
	return put_card(x, card, events);
}

static int import_json(struct importer *x, const char *path, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	json_t *list, *e, *inside;
	const char *schema;
	size_t i;
	int err;

	if ((err = kl_json_parse(&j, text, len)) < 0 ||
	    (err = kl_json_str(&schema, j, "schema")) < 0)
		return err;
	if (strcmp(schema, SCHEMA))
		return kl_error(KL_EINVALID, "it is '%.40s', not '%s'", schema, SCHEMA);
	if ((err = kl_json_obj(&inside, j, "card")) < 0 ||
	    (err = kl_json_arr(&list, j, "events")) < 0 ||
	    (err = kl_card_from_json(&card, path, inside)) < 0)
		return err;
	json_array_foreach(list, i, e) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
		struct kl_event *event = NULL;

		kl_json_canonical(&line, e);
		if ((err = kl_event_parse(&event, line.ptr, line.len)) < 0)
			return kl_error_in(err, "events[%zu]", i);
		kl_map_put(&events, event->id, event);
	}
	return take_card(x, card, &events, NULL);
}

static int import_text(struct importer *x, const char *path, const char *text, size_t len)
{
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	const char *slash = strrchr(path, '/');
	KL_AUTO(kl_freep) char *dir = slash ? kl_strndup(path, slash - path + 1) : kl_strdup("./");
	KL_AUTO(kl_freep) char *root = kl_asprintf("%s..", dir);
	KL_AUTO(kl_freep) char *jsonl = kl_asprintf("%sevents.jsonl", dir);
	size_t n = strlen(path);
	int err;

	if (n > 3 && !strcmp(path + n - 3, ".md")) {
		err = kl_exchange_read_skill_md(&card, path, text, len);
		if (!err && kl_fs_exists(jsonl))
			err = read_events_jsonl(&events, jsonl);
	} else {
		err = kl_card_parse(&card, path, text, len);
	}
	return err < 0 ? err : take_card(x, card, &events, root);
}

static bool has_suffix(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static int import_file(struct importer *x, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	x->seen++;
	x->path = path;
	if (!err)
		err = has_suffix(path, ".json") ? import_json(x, path, text.ptr, text.len) :
						  import_text(x, path, text.ptr, text.len);
	/* one bad card does not keep the others out; a library that cannot be written does */
	if (err == KL_EINVALID || err == KL_ECANNOT || err == KL_ENOTFOUND) {
		x->result->refused++;
		x->refuse(path, x->payload);
		kl_error_clear();
		return 0;
	}
	return err;
}

static int import_dir(struct importer *x, const char *dir)
{
	KL_AUTO(kl_freep) char *cards = kl_fs_join(dir, "cards");
	KL_AUTO(kl_freep) char *own = kl_fs_join(dir, "SKILL.md");
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	bool library = kl_fs_is_dir(cards);
	int err;

	if (kl_fs_exists(own))
		return import_file(x, own);
	if ((err = kl_fs_list(&names, library ? cards : dir)) < 0)
		return err;
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(library ? cards : dir, names.v[i]);
		KL_AUTO(kl_freep) char *skill = kl_fs_join(path, "SKILL.md");

		if (kl_fs_exists(skill))
			err = import_file(x, skill);
		else if (has_suffix(path, ".yaml") || (!library && has_suffix(path, ".json")))
			err = import_file(x, path);
	}
	return err;
}

int kl_exchange_import(struct kl_exchange_result *out, struct kl_library *l, const char *path,
		       void (*refuse)(const char *path, void *payload), void *payload)
{
	struct importer x = {
		.l = l,
		.result = out,
		.refuse = refuse,
		.payload = payload,
		.texts = { .free_value = free },
		.paths = { .free_value = free },
	};
	int err = kl_fs_is_dir(path) ? import_dir(&x, path) : import_file(&x, path);

	kl_map_release(&x.here);
	kl_map_release(&x.texts);
	kl_map_release(&x.paths);
	if (!err && !x.seen)
		return kl_error(KL_ENOTFOUND, "no card in '%s'", path);
	return err;
}
