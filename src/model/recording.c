/* SPDX-License-Identifier: Apache-2.0 */
#include "model/recording.h"

#include "base/error.h"
#include "model/conversation.h"
#include "model/provider/flaw.h"
#include "model/provider/usage.h"
#include "model/turn.h"

static void add_head(struct kl_buf *out, const char *workload, const char *name)
{
	KL_AUTO(json_decrefp) json_t *head = json_object();

	kl_json_set_str(head, "schema", "klineage.recording/1");
	kl_json_set_str(head, "workload", workload);
	kl_json_set_str(head, "name", name);
	kl_json_canonical(out, head);
	kl_buf_addch(out, '\n');
}

static int add_turn(struct kl_buf *out, const struct kl_conversation *conversation, size_t i)
{
	KL_AUTO(json_decrefp) json_t *obj = json_object();
	const struct kl_turn *turn = &conversation->turn[i];
	json_t *text = json_string(turn->reply);

	if (!text)
		return kl_error(KL_EINVALID,
				"%s, turn %zu: the reply is not UTF-8 and cannot be recorded",
				conversation->ref, i);
	kl_json_set(obj, "text", text);
	kl_json_set_str(obj, "phase", conversation->phase);
	kl_json_set_int(obj, "turn", (int64_t)i);
	kl_json_set_str(obj, "key", turn->chain);
	kl_json_set_str(obj, "stop", kl_stop_name(turn->stop));
	if (turn->flaw != KL_FLAW_NONE)
		kl_json_set_str(obj, "flaw", kl_flaw_name(turn->flaw));
	kl_json_set_str(obj, "model", turn->answered ? turn->answered : turn->model);
	kl_json_set(obj, "usage", kl_usage_json(&turn->usage));
	kl_json_canonical(out, obj);
	kl_buf_addch(out, '\n');
	return 0;
}

int kl_recording_format(struct kl_buf *out, struct kl_repo *repo, const char *workload,
			const char *name)
{
	KL_AUTO(kl_conversations_release) struct kl_conversations conversations = { 0 };
	int err = kl_conversations_load(&conversations, repo, workload, name);

	if (err < 0)
		return err;
	if (!conversations.n)
		return kl_error(KL_ENOTFOUND, "no conversation is stored for '%s/%s'", workload,
				name);
	add_head(out, workload, name);
	for (size_t i = 0; i < conversations.n; i++)
		for (size_t k = 0; k < conversations.c[i].n; k++)
			if ((err = add_turn(out, &conversations.c[i], k)) < 0)
				return err;
	return 0;
}
