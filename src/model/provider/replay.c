/* SPDX-License-Identifier: Apache-2.0 */
/* replay - the provider that answers from a recording */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "model/provider/key.h"
#include "model/provider/ops.h"
#include "model/provider/reply.h"

/*
 * A reply is looked up by phase, turn and the keys of all turns so far. A request that was not
 * recorded is refused.
 */
#define MAX_RECORDING ((size_t)64 << 20)
#define SCHEMA "klineage.recording/1"

struct recording {
	struct kl_map turn;  /* "<phase> <turn> <key>" -> json_t, owned */
	struct kl_map place; /* "<phase> <turn>" of all recorded turns, whatever their keys */
};

static void drop_json(void *data)
{
	json_decref(data);
}

static void recording_free(struct recording *recording)
{
	kl_map_release(&recording->turn);
	kl_map_release(&recording->place);
	free(recording);
}
KL_DEFINE_CLEANUP(struct recording *, recording_free)

static int check_head(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *head = NULL;
	const char *schema;
	int err;

	if ((err = kl_json_parse(&head, line, len)) < 0 ||
	    (err = kl_json_str(&schema, head, "schema")) < 0)
		return err;
	return strcmp(schema, SCHEMA) ? kl_error(KL_EINVALID, "schema is not " SCHEMA) : 0;
}

static int check_turn(const json_t *obj)
{
	struct kl_reply reply = { 0 };
	const char *phase, *key;
	int64_t turn;
	int err;

	if ((err = kl_json_str(&phase, obj, "phase")) < 0 ||
	    (err = kl_json_int(&turn, obj, "turn")) < 0 ||
	    (err = kl_json_str(&key, obj, "key")) < 0)
		return err;
	if (turn < 0 || strlen(key) != KL_DIGEST_HEX - 1)
		return kl_error(KL_EINVALID, "'turn' or 'key' is invalid");
	err = kl_reply_read(&reply, obj);
	kl_reply_release(&reply);
	return err;
}

static int add_turn(struct recording *recording, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *obj = NULL;
	KL_AUTO(kl_freep) char *place = NULL, *name = NULL;
	const json_t *before;
	int err;

	if ((err = kl_json_parse(&obj, line, len)) < 0 || (err = check_turn(obj)) < 0)
		return err;
	place = kl_asprintf("%s %lld", kl_json_str_or(obj, "phase", ""),
			    (long long)kl_json_int_or(obj, "turn", 0));
	name = kl_asprintf("%s %s", place, kl_json_str_or(obj, "key", ""));
	before = kl_map_get(&recording->turn, name);
	if (before && !json_equal(before, obj))
		return kl_error(KL_EINVALID, "conflicting replies to the same request (%s)", place);
	kl_map_put(&recording->turn, name, kl_steal(&obj));
	kl_map_put(&recording->place, place, recording);
	return 0;
}

static int read_lines(struct recording *recording, const char *path, const struct kl_buf *text)
{
	const char *at = text->ptr, *end = at + text->len;
	size_t number = 1;

	if (at == end)
		return kl_error(KL_EINVALID, "'%s' is empty", path);
	for (; at < end; number++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		int err;

		if (!nl)
			return kl_error(KL_EINVALID, "%s:%zu: the line is truncated", path, number);
		err = number == 1 ? check_head(at, (size_t)(nl - at)) :
				    add_turn(recording, at, (size_t)(nl - at));
		if (err < 0)
			return kl_error_in(err, "%s:%zu", path, number);
		at = nl + 1;
	}
	return 0;
}

static int replay_open(struct kl_provider *provider)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(recording_freep) struct recording *recording = kl_calloc(1, sizeof(*recording));
	int err;

	recording->turn.free_value = drop_json;
	if (!provider->replay)
		return kl_error(KL_EUSAGE,
				"provider 'replay' needs a recording: set klineage.chat.replay");
	if ((err = kl_fs_read(&text, provider->replay, MAX_RECORDING)) < 0 ||
	    (err = read_lines(recording, provider->replay, &text)) < 0)
		return err;
	provider->state = kl_steal(&recording);
	return 0;
}

static void replay_close(struct kl_provider *provider)
{
	if (provider->state)
		recording_free(provider->state);
}

/*
 * Compute the key of a recorded reply from the keys of all turns so far; without keys, from their
 * user texts.
 */
static void key_of(char hex[KL_DIGEST_HEX], const struct kl_provider_request *request,
		   const struct kl_request_context *context)
{
	KL_AUTO(kl_freep) const char **texts = NULL;

	if (context->key) {
		kl_provider_key(hex, context->key, context->turn + 1);
		return;
	}
	texts = kl_calloc(context->turn + 1, sizeof(*texts));
	for (size_t i = 0; i <= context->turn; i++)
		texts[i] = request->message[2 * i].text;
	kl_provider_key(hex, texts, context->turn + 1);
}

static int replay_send(struct kl_reply *out, struct kl_provider *provider,
		       const struct kl_provider_request *request,
		       const struct kl_request_context *context,
		       const struct kl_provider_watch *watch)
{
	struct recording *recording = provider->state;
	KL_AUTO(kl_freep) char *place = kl_asprintf("%s %zu", context->phase, context->turn);
	KL_AUTO(kl_freep) char *name = NULL;
	char key[KL_DIGEST_HEX];
	const json_t *obj;
	int err;

	key_of(key, request, context);
	name = kl_asprintf("%s %s", place, key);
	obj = kl_map_get(&recording->turn, name);
	if (!obj && kl_map_get(&recording->place, place))
		return kl_error(KL_ENOTFOUND,
				"'%s' has a reply to phase %s, turn %zu, but to a different "
				"request (the key of this request is %s)",
				provider->replay, context->phase, context->turn, key);
	if (!obj)
		return kl_error(KL_ENOTFOUND, "'%s' has no reply to phase %s, turn %zu",
				provider->replay, context->phase, context->turn);
	if ((err = kl_reply_read(out, obj)) < 0)
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
