/* SPDX-License-Identifier: Apache-2.0 */
#include "model/recording.h"

#include "base/error.h"
#include "model/conversation.h"
#include "model/provider/usage.h"
#include "model/turn.h"

static void add_head(struct kl_buf *out, const char *workload, const char *name)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", "klineage.recording/1");
	kl_json_set_str(j, "workload", workload);
	kl_json_set_str(j, "name", name);
	kl_json_canonical(out, j);
	kl_buf_addch(out, '\n');
}

static int add_turn(struct kl_buf *out, const struct kl_conversation *c, size_t i)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	const struct kl_turn *t = &c->turn[i];
	json_t *text = json_string(t->reply);

	if (!text)
		return kl_error(KL_EINVALID,
				"%s, turn %zu: the reply is not UTF-8; no recording can hold it",
				c->ref, i);
	kl_json_set(j, "text", text);
	kl_json_set_str(j, "phase", c->phase);
	kl_json_set_int(j, "turn", (int64_t)i);
	kl_json_set_str(j, "key", t->chain);
	kl_json_set_str(j, "stop", kl_stop_name(t->stop));
	kl_json_set_str(j, "model", t->answered ? t->answered : t->model);
	kl_json_set(j, "usage", kl_usage_json(&t->usage));
	kl_json_canonical(out, j);
	kl_buf_addch(out, '\n');
	return 0;
}

int kl_recording_format(struct kl_buf *out, struct kl_repo *repo, const char *workload,
			const char *name)
{
	KL_AUTO(kl_conversations_release) struct kl_conversations l = { 0 };
	int err = kl_conversations_load(&l, repo, workload, name);

	if (err < 0)
		return err;
	if (!l.n)
		return kl_error(KL_ENOTFOUND, "no conversation of '%s/%s' is stored", workload,
				name);
	add_head(out, workload, name);
	for (size_t i = 0; i < l.n; i++)
		for (size_t k = 0; k < l.c[i].n; k++)
			if ((err = add_turn(out, &l.c[i], k)) < 0)
				return err;
	return 0;
}
