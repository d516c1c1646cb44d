/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skill_model.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "chat/money.h"
#include "cmd/opt.h"

#define MAX_KEPT ((size_t)64 << 10)

void kl_skill_model_release(struct kl_skill_model *m)
{
	kl_chat_free(m->chat);
	m->chat = NULL;
}

bool kl_skill_model_is(const struct kl_skill_model *m)
{
	return m->rewriter && strcmp(m->rewriter, "none");
}

int kl_skill_model_check(struct kl_skill_model *m, const char *synopsis)
{
	int64_t cap;

	if (m->rewriter && strcmp(m->rewriter, "chat") && strcmp(m->rewriter, "exec") &&
	    strcmp(m->rewriter, "none"))
		return kl_opt_usage(synopsis, "--rewriter takes chat, exec or none, not '%s'", m->rewriter);
	if (!kl_skill_model_is(m) && (m->exec || m->model || m->budget))
		return kl_opt_usage(synopsis, "%s is for a model: --rewriter chat or exec",
				    m->exec ? "--exec" : m->model ? "--model" : "--budget");
	if (m->exec && strcmp(m->rewriter, "exec"))
		return kl_opt_usage(synopsis, "--exec is the command of --rewriter exec");
	if (m->budget && !kl_money_parse(&cap, m->budget))
		return kl_opt_usage(synopsis, "--budget takes US dollars, like 2.50, not '%s'", m->budget);
	return 0;
}

int kl_skill_model_open(struct kl_chat **out, struct kl_skill_model *m, const char *workload)
{
	int64_t cap = 0;
	struct kl_chat_opts o = {
		.provider = strcmp(m->rewriter, "exec") ? NULL : "exec", .command = m->exec,
		.model = m->model, .workload = workload, .budget = m->of, .progress = m->progress,
	};
	int err = 0;

	if (m->budget && kl_money_parse(&cap, m->budget))
		o.cap = &cap;
	if (!m->chat)
		err = kl_chat_open(&m->chat, m->repo, &o);
	*out = m->chat;
	return err;
}

/* --- what holds for a run that goes on --------------------------------------------------------- */

static char *kept_path(struct kl_repo *repo, const char *workload, const char *name)
{
	return kl_asprintf("%s/klineage/materialize/%s/%s.json", kl_repo_common_dir(repo), workload, name);
}

int kl_skill_run_load(json_t **out, struct kl_repo *repo, const char *workload, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kept_path(repo, workload, name);
	int err = kl_fs_read(&text, path, MAX_KEPT);

	*out = NULL;
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		*out = json_object();
		return 0;
	}
	if (!err)
		err = kl_json_parse(out, text.ptr, text.len);
	if (!err && !json_is_object(*out))
		err = kl_error(KL_EINVALID, "it is no object");
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

int kl_skill_run_keep(const json_t *said, struct kl_repo *repo, const char *workload, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kept_path(repo, workload, name);
	int err;

	kl_json_pretty(&text, said);
	if ((err = kl_fs_mkdir_of(path)) < 0)
		return err;
	return kl_fs_write(path, text.ptr, text.len);
}

void kl_skill_run_say(json_t *said, const char *key, const char **value)
{
	if (*value)
		kl_json_set_str(said, key, *value);
	else
		*value = kl_json_str_or(said, key, NULL);
}
