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
	KL_AUTO(json_decrefp) json_t *value = NULL;
	const char *schema;
	int err;

	if ((err = kl_json_parse(&value, line, len)) < 0 ||
	    (err = kl_json_str(&schema, value, "schema")) < 0)
		return err;
	return strcmp(schema, SCHEMA) ? kl_error(KL_EINVALID, "schema is not " SCHEMA) : 0;
}

static int check_turn(const json_t *value)
{
	struct kl_reply reply = { 0 };
	const char *phase, *key;
	int64_t turn;
	int err;

	if ((err = kl_json_str(&phase, value, "phase")) < 0 ||
	    (err = kl_json_int(&turn, value, "turn")) < 0 ||
	    (err = kl_json_str(&key, value, "key")) < 0)
		return err;
	if (turn < 0 || strlen(key) != KL_DIGEST_HEX - 1)
		return kl_error(KL_EINVALID, "'turn' or 'key' is none");
	err = kl_reply_read(&reply, value);
	kl_reply_release(&reply);
	return err;
}

static int add_turn(struct recording *recording, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(kl_freep) char *place = NULL, *name = NULL;
	const json_t *before;
	int err;

	if ((err = kl_json_parse(&value, line, len)) < 0 || (err = check_turn(value)) < 0)
		return err;
	place = kl_asprintf("%s %lld", kl_json_str_or(value, "phase", ""),
			    (long long)kl_json_int_or(value, "turn", 0));
	name = kl_asprintf("%s %s", place, kl_json_str_or(value, "key", ""));
	before = kl_map_get(&recording->turn, name);
	if (before && !json_equal(before, value))
		return kl_error(KL_EINVALID, "another reply to what was asked before (%s)", place);
	kl_map_put(&recording->turn, name, kl_steal(&value));
	kl_map_put(&recording->place, place, recording);
	return 0;
}

static int read_lines(struct recording *recording, const char *path, const struct kl_buf *text)
{
	const char *string = text->ptr, *end = string + text->len;
	size_t number = 1;

	if (string == end)
		return kl_error(KL_EINVALID, "'%s' is empty", path);
	for (; string < end; number++) {
		const char *nl = memchr(string, '\n', (size_t)(end - string));
		int err;

		if (!nl)
			return kl_error(KL_EINVALID, "%s:%zu: the line is cut off", path, number);
		err = number == 1 ? check_head(string, (size_t)(nl - string)) :
				    add_turn(recording, string, (size_t)(nl - string));
		if (err < 0)
			return kl_error_in(err, "%s:%zu", path, number);
		string = nl + 1;
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

/* The digest of all keys so far; without keys, of all that the user said. */
static void key_of(char hex[KL_DIGEST_HEX], const struct kl_provider_request *request,
		   const struct kl_request_context *context)
{
	KL_AUTO(kl_freep) const char **said = NULL;

	if (context->key) {
		kl_provider_key(hex, context->key, context->turn + 1);
		return;
	}
	said = kl_calloc(context->turn + 1, sizeof(*said));
	for (size_t i = 0; i <= context->turn; i++)
		said[i] = request->message[2 * i].text;
	kl_provider_key(hex, said, context->turn + 1);
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
	const json_t *value;
	int err;

	key_of(key, request, context);
	name = kl_asprintf("%s %s", place, key);
	value = kl_map_get(&recording->turn, name);
	if (!value && kl_map_get(&recording->place, place))
		return kl_error(KL_ENOTFOUND,
				"'%s' has a reply to phase %s, turn %zu, but to another "
				"question (this one's key is %s)",
				provider->replay, context->phase, context->turn, key);
	if (!value)
		return kl_error(KL_ENOTFOUND, "'%s' has no reply to phase %s, turn %zu",
				provider->replay, context->phase, context->turn);
	if ((err = kl_reply_read(out, value)) < 0)
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
