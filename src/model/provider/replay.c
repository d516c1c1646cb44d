/* SPDX-License-Identifier: Apache-2.0 */
/* replay - provider that answers from a recording */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "model/provider/key.h"
#include "model/provider/ops.h"
#include "model/provider/reply.h"

/*
 * replay - answers from a recording, found by phase, turn and the keys of all turns so
 * far; what was not recorded is refused, never made up.
 */
#define MAX_RECORDING ((size_t)64 << 20)
#define SCHEMA "klineage.recording/1"

struct recording {
	struct kl_map turn;  /* "<phase> <turn> <key>" -> json_t, owned */
	struct kl_map place; /* "<phase> <turn>": it was recorded, after whatever keys */
};

static void drop_json(void *j)
{
	json_decref(j);
}

static void recording_free(struct recording *r)
{
	kl_map_release(&r->turn);
	kl_map_release(&r->place);
	free(r);
}
KL_DEFINE_CLEANUP(struct recording *, recording_free)

static int check_head(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	const char *schema;
	int err;

	if ((err = kl_json_parse(&j, line, len)) < 0 ||
	    (err = kl_json_str(&schema, j, "schema")) < 0)
		return err;
	return strcmp(schema, SCHEMA) ? kl_error(KL_EINVALID, "schema is not " SCHEMA) : 0;
}

static int check_turn(const json_t *j)
{
	struct kl_reply r = { 0 };
	const char *phase, *key;
	int64_t turn;
	int err;

	if ((err = kl_json_str(&phase, j, "phase")) < 0 ||
	    (err = kl_json_int(&turn, j, "turn")) < 0 || (err = kl_json_str(&key, j, "key")) < 0)
		return err;
	if (turn < 0 || strlen(key) != KL_DIGEST_HEX - 1)
		return kl_error(KL_EINVALID, "'turn' or 'key' is none");
	err = kl_reply_read(&r, j);
	kl_reply_release(&r);
	return err;
}

static int add_turn(struct recording *r, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	KL_AUTO(kl_freep) char *place = NULL, *name = NULL;
	const json_t *before;
	int err;

	if ((err = kl_json_parse(&j, line, len)) < 0 || (err = check_turn(j)) < 0)
		return err;
	place = kl_asprintf("%s %lld", kl_json_str_or(j, "phase", ""),
			    (long long)kl_json_int_or(j, "turn", 0));
	name = kl_asprintf("%s %s", place, kl_json_str_or(j, "key", ""));
	before = kl_map_get(&r->turn, name);
	if (before && !json_equal(before, j))
		return kl_error(KL_EINVALID, "another reply to what was asked before (%s)", place);
	kl_map_put(&r->turn, name, kl_steal(&j));
	kl_map_put(&r->place, place, r);
	return 0;
}

static int read_lines(struct recording *r, const char *path, const struct kl_buf *text)
{
	const char *s = text->ptr, *end = s + text->len;
	size_t number = 1;

	if (s == end)
		return kl_error(KL_EINVALID, "'%s' is empty", path);
	for (; s < end; number++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		int err;

		if (!nl)
			return kl_error(KL_EINVALID, "%s:%zu: the line is cut off", path, number);
		err = number == 1 ? check_head(s, (size_t)(nl - s)) :
				    add_turn(r, s, (size_t)(nl - s));
		if (err < 0)
			return kl_error_in(err, "%s:%zu", path, number);
		s = nl + 1;
	}
	return 0;
}

static int replay_open(struct kl_provider *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(recording_freep) struct recording *r = kl_calloc(1, sizeof(*r));
	int err;

	r->turn.free_value = drop_json;
	if (!p->replay)
		return kl_error(KL_EUSAGE,
				"provider 'replay' needs a recording: set klineage.chat.replay");
	if ((err = kl_fs_read(&text, p->replay, MAX_RECORDING)) < 0 ||
	    (err = read_lines(r, p->replay, &text)) < 0)
		return err;
	p->state = kl_steal(&r);
	return 0;
}

static void replay_close(struct kl_provider *p)
{
	if (p->state)
		recording_free(p->state);
}

/* The digest of all keys so far; without keys, of all that the user said. */
static void key_of(char hex[KL_DIGEST_HEX], const struct kl_provider_request *q,
		   const struct kl_request_context *x)
{
	KL_AUTO(kl_freep) const char **said = NULL;

	if (x->key) {
		kl_provider_key(hex, x->key, x->turn + 1);
		return;
	}
	said = kl_calloc(x->turn + 1, sizeof(*said));
	for (size_t i = 0; i <= x->turn; i++)
		said[i] = q->message[2 * i].text;
	kl_provider_key(hex, said, x->turn + 1);
}

static int replay_send(struct kl_reply *out, struct kl_provider *p,
		       const struct kl_provider_request *q, const struct kl_request_context *x,
		       const struct kl_provider_watch *watch)
{
	struct recording *r = p->state;
	KL_AUTO(kl_freep) char *place = kl_asprintf("%s %zu", x->phase, x->turn);
	KL_AUTO(kl_freep) char *name = NULL;
	char key[KL_DIGEST_HEX];
	const json_t *j;
	int err;

	key_of(key, q, x);
	name = kl_asprintf("%s %s", place, key);
	j = kl_map_get(&r->turn, name);
	if (!j && kl_map_get(&r->place, place))
		return kl_error(KL_ENOTFOUND,
				"'%s' has a reply to phase %s, turn %zu, but to another "
				"question (this one's key is %s)",
				p->replay, x->phase, x->turn, key);
	if (!j)
		return kl_error(KL_ENOTFOUND, "'%s' has no reply to phase %s, turn %zu", p->replay,
				x->phase, x->turn);
	if ((err = kl_reply_read(out, j)) < 0)
		return err;
	return kl_provider_heard(watch, (int64_t)strlen(out->text), &out->usage);
}

const struct kl_provider_ops kl_provider_replay = {
	.name = "replay",
	.blind = true,
	.open = replay_open,
	.close = replay_close,
	.body = kl_provider_plain_body,
	.send = replay_send,
};
