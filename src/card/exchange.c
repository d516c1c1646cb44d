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
	return kl_error(KL_EUSAGE, "unknown format '%s' (available: yaml, json, skill-md)", word);
}

/* --- export ------------------------------------------------------------------------------- */

static void write_json(struct kl_buf *out, const struct kl_card *card, const struct kl_map *events)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *list = json_array();

	for (size_t i = 0; events && i < events->n; i++)
		json_array_append_new(list, kl_event_json(events->e[i].value));
	kl_json_set_str(value, "schema", SCHEMA);
	kl_json_set(value, "card", kl_card_to_json(card));
	kl_json_set(value, "events", list);
	kl_json_decimal(out, value, true);
	kl_buf_addch(out, '\n');
}

void kl_exchange_write(struct kl_buf *out, const struct kl_card *card, const struct kl_map *events,
		       enum kl_format format)
{
	if (format == KL_FORMAT_YAML)
		kl_card_write(out, card);
	else if (format == KL_FORMAT_JSON)
		write_json(out, card, events);
	else
		kl_skill_md_write(out, card);
}

/* Add an event of the library to `out`. Add to `ids` the events from which it was computed. */
static int add_event(struct kl_map *out, struct kl_strvec *ids, struct kl_library *library,
		     const char *id)
{
	struct kl_event *event = NULL;
	int err;

	if (kl_map_get(out, id))
		return 0;
	if ((err = kl_library_event(&event, library, id)) < 0)
		return err;
	kl_map_put(out, id, event);
	if (event->inverse.there) {
		kl_strvec_push(ids, event->inverse.state);
		kl_strvec_push(ids, event->inverse.pair);
	}
	return 0;
}

int kl_exchange_events(struct kl_map *out, struct kl_library *library, const struct kl_card *card)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	int err = 0;

	out->free_value = kl_event_free_value;
	kl_card_events(&ids, card);
	for (size_t i = 0; !err && i < ids.n; i++)
		err = add_event(out, &ids, library, ids.v[i]);
	return err < 0 ? kl_error_in(err, "card '%s'", card->id) : 0;
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

static int export_card(size_t *files, struct kl_library *library, const char *id, const char *dir,
		       enum kl_format format)
{
	KL_AUTO(kl_map_release) struct kl_map events = KL_MAP_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *leaf = NULL;
	int err;

	if ((err = kl_library_card(&card, library, id)) < 0 ||
	    (err = kl_exchange_events(&events, library, card)) < 0)
		return err;
	kl_exchange_write(&text, card, &events, format);
	leaf = format == KL_FORMAT_YAML ? kl_asprintf("cards/%s.yaml", card->id) :
	       format == KL_FORMAT_JSON ? kl_asprintf("%s.json", card->id) :
					  kl_asprintf("%s/SKILL.md", card->id);
	if (format != KL_FORMAT_JSON &&
	    (err = put_events(files, dir, &events, card->id, format)) < 0)
		return err;
	return put_file(files, dir, leaf, &text);
}

int kl_exchange_export(size_t *files, struct kl_library *library, const struct kl_strvec *ids,
		       const char *dir, enum kl_format format)
{
	int err = 0;

	*files = 0;
	for (size_t i = 0; !err && i < ids->n; i++)
		err = export_card(files, library, ids->v[i], dir, format);
	return err;
}

/* --- import ----------------------------------------------------------------------------------- */

struct importer {
	struct kl_library *library;
	struct kl_map here; /* events of this clone; read when first needed */
	bool have_here;
	const char *path; /* the file being read */
	/* texts and file names of the cards that this import has read, by id; values owned */
	struct kl_map texts, paths;
	struct kl_exchange_result *result;
	void (*refuse)(const char *path, void *payload);
	void *payload;
	size_t seen;
};

static int read_events_jsonl(struct kl_map *out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	for (const char *line = text.ptr; !err && *line;) {
		size_t n = strcspn(line, "\n");
		struct kl_event *event = NULL;

		if (n && !(err = kl_event_parse(&event, line, n)))
			kl_map_put(out, event->id, event);
		line += n + (line[n] == '\n');
	}
	return err < 0 ? kl_error_in(err, "%s", path) : 0;
}

/* Read evidence/<xx>/<id>.json below `root` into `out`. A missing file is not an error. */
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
		return kl_error(KL_EINVALID,
				"%s contains an event whose id differs from the file's name", path);
	}
	kl_map_put(out, id, event);
	return 0;
}

static const struct kl_event *event_here(struct importer *importer, const char *id)
{
	if (!importer->have_here && kl_library_all_events(&importer->here, importer->library) < 0)
		kl_error_clear();
	importer->have_here = true;
	return kl_map_get(&importer->here, id);
}

/* The events of one imported card. */
struct gathering {
	struct importer *importer;
	struct kl_map *events;
	const char *root;     /* directory in which to look for evidence/, or NULL */
	struct kl_strvec ids; /* ids of events to find; grows while they are read */
	struct kl_map seen;   /* ids of events that have been looked up */
};

static void gathering_release(struct gathering *gathering)
{
	kl_strvec_release(&gathering->ids);
	kl_map_release(&gathering->seen);
}

/*
 * Find an event beside the card or in this clone. Add to `gathering->ids` the events from which it
 * was computed.
 */
static int find_event(struct gathering *gathering, const char *id)
{
	struct kl_map *events = gathering->events;
	const struct kl_event *event = kl_map_get(events, id);
	int err;

	if (kl_map_get(&gathering->seen, id))
		return 0;
	kl_map_put(&gathering->seen, id, gathering);
	if (!event && gathering->root && (err = read_event_file(events, gathering->root, id)) < 0)
		return err;
	if (!event && !(event = kl_map_get(events, id)) &&
	    (event = event_here(gathering->importer, id)))
		kl_map_put(events, id, kl_event_ref(event));
	if (!event)
		return kl_error(KL_EINVALID,
				"cited event %.12s is neither next to the card nor in this clone",
				id);
	if (event->inverse.there) {
		kl_strvec_push(&gathering->ids, event->inverse.state);
		kl_strvec_push(&gathering->ids, event->inverse.pair);
	}
	return 0;
}

/* Mark all trials as made elsewhere: they are kept, but do not count. */
static void make_foreign(struct kl_card *card)
{
	for (size_t i = 0; i < card->ver.n; i++)
		card->ver.v[i].foreign = !card->ver.v[i].retracted;
	kl_card_normalize(card);
}

static int put_card(struct importer *importer, struct kl_card *card, const struct kl_map *events)
{
	KL_AUTO(kl_card_freep) struct kl_card *old = NULL, *merged = NULL;
	KL_AUTO(kl_freep) char *subject = kl_asprintf("skills: import %s", card->id);
	struct kl_library_change change = { .card = card, .events = events, .subject = subject };
	git_oid before = *kl_library_tip(importer->library);
	size_t i;
	int err = kl_library_find(&i, importer->library, card->id);

	if (!err && !strcmp(kl_library_id(importer->library, i), card->id)) {
		/* use the imported card as the base, so that the library's texts are kept */
		if ((err = kl_library_card_at(&old, importer->library, i)) < 0 ||
		    (err = kl_card_merge(&merged, NULL, card, old, card)) < 0)
			return err;
		change.card = merged;
	}
	kl_error_clear();
	if ((err = kl_library_put(importer->library, &change)) < 0)
		return err;
	if (!memcmp(&before, kl_library_tip(importer->library), sizeof(before)))
		importer->result->same++;
	else if (old)
		importer->result->merged++;
	else
		importer->result->added++;
	return 0;
}

/* Refuse a card if this import has already read another text of a card with the same id. */
static int check_twice(struct importer *importer, const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *before = kl_map_get(&importer->texts, card->id);

	kl_card_write(&text, card);
	if (before && strcmp(before, text.ptr))
		return kl_error(KL_EINVALID, "card '%s' differs from the one in '%s'", card->id,
				(char *)kl_map_get(&importer->paths, card->id));
	kl_map_put(&importer->texts, card->id, kl_buf_detach(&text));
	kl_map_put(&importer->paths, card->id, kl_strdup(importer->path));
	return 0;
}

/*
 * Import one card and mark its trials foreign; the caller keeps ownership. `root` (may be NULL) is
 * a directory that can contain evidence/.
 */
static int take_card(struct importer *importer, struct kl_card *card, struct kl_map *events,
		     const char *root)
{
	KL_AUTO(gathering_release) struct gathering gathering = {
		.importer = importer,
		.events = events,
		.root = root,
	};
	int err = check_twice(importer, card);

	kl_card_events(&gathering.ids, card);
	for (size_t i = 0; !err && i < gathering.ids.n; i++)
		err = find_event(&gathering, gathering.ids.v[i]);
	if (err < 0)
		return err;
	make_foreign(card);
	return put_card(importer, card, events);
}

static int import_json(struct importer *importer, const char *path, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	json_t *list, *entry, *inside;
	const char *schema;
	size_t i;
	int err;

	if ((err = kl_json_parse(&value, text, len)) < 0 ||
	    (err = kl_json_str(&schema, value, "schema")) < 0)
		return err;
	if (strcmp(schema, SCHEMA))
		return kl_error(KL_EINVALID, "schema is '%.40s', expected '%s'", schema, SCHEMA);
	if ((err = kl_json_obj(&inside, value, "card")) < 0 ||
	    (err = kl_json_arr(&list, value, "events")) < 0 ||
	    (err = kl_card_from_json(&card, path, inside)) < 0)
		return err;
	json_array_foreach(list, i, entry) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
		struct kl_event *event = NULL;

		kl_json_canonical(&line, entry);
		if ((err = kl_event_parse(&event, line.ptr, line.len)) < 0)
			return kl_error_in(err, "events[%zu]", i);
		kl_map_put(&events, event->id, event);
	}
	return take_card(importer, card, &events, NULL);
}

static int import_text(struct importer *importer, const char *path, const char *text, size_t len)
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
	return err < 0 ? err : take_card(importer, card, &events, root);
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len > suffix_len && !strcmp(text + len - suffix_len, suffix);
}

static int import_file(struct importer *importer, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	importer->seen++;
	importer->path = path;
	if (!err)
		err = has_suffix(path, ".json") ? import_json(importer, path, text.ptr, text.len) :
						  import_text(importer, path, text.ptr, text.len);
	/* an invalid card does not end the import, but a failure to write the library does */
	if (err == KL_EINVALID || err == KL_ECANNOT || err == KL_ENOTFOUND) {
		importer->result->refused++;
		importer->refuse(path, importer->payload);
		kl_error_clear();
		return 0;
	}
	return err;
}

static int import_dir(struct importer *importer, const char *dir)
{
	KL_AUTO(kl_freep) char *cards = kl_fs_join(dir, "cards");
	KL_AUTO(kl_freep) char *own = kl_fs_join(dir, "SKILL.md");
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	bool library = kl_fs_is_dir(cards);
	int err;

	if (kl_fs_exists(own))
		return import_file(importer, own);
	if ((err = kl_fs_list(&names, library ? cards : dir)) < 0)
		return err;
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(library ? cards : dir, names.v[i]);
		KL_AUTO(kl_freep) char *skill = kl_fs_join(path, "SKILL.md");

		if (kl_fs_exists(skill))
			err = import_file(importer, skill);
		else if (has_suffix(path, ".yaml") || (!library && has_suffix(path, ".json")))
			err = import_file(importer, path);
	}
	return err;
}

int kl_exchange_import(struct kl_exchange_result *out, struct kl_library *library, const char *path,
		       void (*refuse)(const char *path, void *payload), void *payload)
{
	struct importer importer = {
		.library = library,
		.result = out,
		.refuse = refuse,
		.payload = payload,
		.texts = { .free_value = free },
		.paths = { .free_value = free },
	};
	int err = kl_fs_is_dir(path) ? import_dir(&importer, path) : import_file(&importer, path);

	kl_map_release(&importer.here);
	kl_map_release(&importer.texts);
	kl_map_release(&importer.paths);
	if (!err && !importer.seen)
		return kl_error(KL_ENOTFOUND, "no card in '%s'", path);
	return err;
}
