/* SPDX-License-Identifier: Apache-2.0 */
#include "event/signature.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/proc.h"
#include "base/tasks.h"

#define MAX_SIG 16384
#define PATIENCE_MS 60000 /* an agent may ask somebody */

const char *kl_sign_state_name(enum kl_sign_state state)
{
	static const char *const names[] = { "unsigned", "good", "unknown key", "bad",
					     "unchecked" };

	return names[state];
}

void kl_signed_release(struct kl_signed *other)
{
	free(other->who);
	free(other->why);
	*other = (struct kl_signed){ 0 };
}

/* --- the tool --------------------------------------------------------------- */

struct tool {
	const char *program;
	char *allowed, *revoked; /* NULL: not configured */
	struct kl_strvec env;    /* times are in UTC */
};

static void tool_release(struct tool *tool)
{
	free(tool->allowed);
	free(tool->revoked);
	kl_strvec_release(&tool->env);
}

/* git's own setting; "~/" is the user's home there */
static char *path_setting(struct kl_repo *repo, const char *key)
{
	const char *value = kl_repo_config(repo, key), *home = getenv("HOME");

	if (!value || !*value)
		return NULL;
	return !strncmp(value, "~/", 2) && home ? kl_fs_join(home, value + 2) : kl_strdup(value);
}

static void tool_init(struct tool *tool, struct kl_repo *repo)
{
	const char *program = kl_repo_config(repo, "gpg.ssh.program");

	tool->program = program && *program ? program : "ssh-keygen";
	tool->allowed = path_setting(repo, "gpg.ssh.allowedSignersFile");
	tool->revoked = path_setting(repo, "gpg.ssh.revocationFile");
	for (char **list = environ; *list; list++)
		if (strncmp(*list, "TZ=", 3) && strncmp(*list, "LC_ALL=", 7))
			kl_strvec_push(&tool->env, *list);
	kl_strvec_push(&tool->env, "TZ=UTC0");
	kl_strvec_push(&tool->env, "LC_ALL=C");
}

static int run_tool(struct kl_buf *out, const struct tool *tool, const struct kl_strvec *argv,
		    const void *in, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	struct kl_proc_opts opts = {
		.argv = (const char *const *)argv->v,
		.env = (const char *const *)tool->env.v,
		.in = in,
		.in_len = len,
		.out = out,
		.err = &words,
		.timeout_ms = PATIENCE_MS,
	};
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &opts);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'%s' is not installed", tool->program);
	if (err < 0)
		return err;
	kl_buf_rtrim(&words);
	if (res.timed_out)
		return kl_error(KL_ECANNOT, "'%s' did not answer within a minute", tool->program);
	/* what it says first is what it is about */
	return res.exit ? kl_error(KL_ENO, "%.*s", (int)strcspn(words.ptr, "\n"), words.ptr) : 0;
}

/* --- checking ---------------------------------------------------------------- */

struct question {
	const struct tool *tool;
	const void *text;
	size_t len;
	const char *sig;     /* file */
	const char *revoked; /* file, or NULL */
	const char *guess;   /* whose the last one was, or NULL: mostly it is his again */
	char when[48];       /* "" or -Overify-time=... */
};

static int ask_git(struct kl_buf *out, const struct question *question, const char *what,
		   const char *who)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	bool find = !strcmp(what, "find-principals"), verify = !strcmp(what, "verify");

	kl_strvec_pushv(&argv, (const char *const[]){ question->tool->program, "-Y", what, "-s",
						      question->sig, NULL });
	if (!find)
		kl_strvec_pushv(&argv, (const char *const[]){ "-n", KL_SIGN_NAMESPACE, NULL });
	if (find || verify)
		kl_strvec_pushv(&argv,
				(const char *const[]){ "-f", question->tool->allowed, NULL });
	if (verify)
		kl_strvec_pushv(&argv, (const char *const[]){ "-I", who, NULL });
	if (verify && question->revoked)
		kl_strvec_pushv(&argv, (const char *const[]){ "-r", question->revoked, NULL });
	if ((find || verify) && *question->when)
		kl_strvec_push(&argv, question->when);
	return run_tool(out, question->tool, &argv, find ? NULL : question->text,
			find ? 0 : question->len);
}

/* "... with ED25519 key SHA256:abc": the print */
static char *print_of(const char *words)
{
	const char *at = strstr(words, "SHA256:");

	return at ? kl_strndup(at, strcspn(at, " \n")) : NULL;
}

static int not_good(struct kl_signed *out, int err, const char *words)
{
	out->state = err ? KL_SIGN_BAD : KL_SIGN_UNKNOWN;
	if (err)
		out->why = kl_strdup(kl_error_last());
	else
		out->who = print_of(words);
	kl_error_clear();
	return 0;
}

/* Nobody's whom the list names for this, now: it may be right all the same. */
static int fits_question(struct kl_signed *out, const struct question *question)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	int err = ask_git(&words, question, "check-novalidate", NULL);

	return err < 0 && err != KL_ENO ? err : not_good(out, err, words.ptr);
}

/*
 * Is it his? ssh-keygen says no more than that of a revoked key, so it is asked again without the
 * list.
 */
static int is_of(struct kl_signed *out, const struct question *question, const char *who)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	struct question again = *question;
	int err = ask_git(&words, question, "verify", who);

	if (!err) {
		out->state = KL_SIGN_GOOD;
		out->who = kl_strdup(who);
	}
	if (err != KL_ENO || !question->revoked)
		return err;
	again.revoked = NULL;
	err = ask_git(&words, &again, "verify", who);
	if (!err) {
		out->state = KL_SIGN_BAD;
		out->why = kl_asprintf("the key of %.100s is revoked", who);
	}
	return err;
}

/*
 * As git does: who might it be, then whether it is; and if it might be nobody, whether it is right
 * at all.
 */
static int answer_question(struct kl_signed *out, const struct question *question)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec who = KL_STRVEC_INIT;
	int err = question->guess ? is_of(out, question, question->guess) : KL_ENO;

	if (err != KL_ENO)
		return err;
	err = question->tool->allowed ? ask_git(&names, question, "find-principals", NULL) : KL_ENO;
	if (err < 0 && err != KL_ENO)
		return err;
	if (!err)
		kl_strvec_split(&who, names.ptr, "\n");
	for (size_t i = 0; i < who.n; i++)
		if ((err = is_of(out, question, who.v[i])) != KL_ENO)
			return err;
	return fits_question(out, question);
}

/* "2026-11-20T10:00:00Z" as the tool wants it: a key may have been good then */
static void set_when(struct question *question, const char *time)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	char digits[16];
	size_t n = 0;

	question->when[0] = '\0';
	for (size_t i = 0; i < sizeof(form); i++) {
		if (form[i] == 'd' ? time[i] < '0' || time[i] > '9' : time[i] != form[i])
			return;
		if (form[i] == 'd')
			digits[n++] = time[i];
	}
	digits[n] = '\0';
	snprintf(question->when, sizeof(question->when), "-Overify-time=%s", digits);
}

static int check_signature(struct kl_signed *out, const struct tool *tool, const char *file,
			   const void *text, size_t len, const char *sig, const char *time,
			   const char *guess)
{
	struct question question = { .tool = tool,
				     .text = text,
				     .len = len,
				     .sig = file,
				     .revoked = tool->revoked,
				     .guess = guess };
	int err;

	*out = (struct kl_signed){ 0 };
	if (strlen(sig) > MAX_SIG) {
		out->state = KL_SIGN_BAD;
		out->why = kl_asprintf("a signature of %zu bytes", strlen(sig));
		return 0;
	}
	set_when(&question, time);
	if ((err = kl_fs_put(file, sig, strlen(sig), 0600)) < 0)
		return err;
	err = answer_question(out, &question);
	if (err != KL_ECANNOT)
		return err;
	out->state = KL_SIGN_UNCHECKED;
	out->why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

struct share {
	const struct tool *tool;
	struct kl_signed *out;
	struct kl_event *const *event;
	size_t from, step, n;
	const char *dir;
};

static int check_share(void *ctx)
{
	const struct share *share = ctx;
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s/%zu", share->dir, share->from);
	const char *last = NULL;
	int err = 0;

	for (size_t i = share->from; i < share->n && !err; i += share->step) {
		const struct kl_event *event = share->event[i];

		if (*event->sig)
			err = check_signature(&share->out[i], share->tool, file, event->id,
					      strlen(event->id), event->sig, event->time, last);
		if (share->out[i].state == KL_SIGN_GOOD)
			last = share->out[i].who;
	}
	return err;
}

int kl_sign_check_events(struct kl_signed *out, struct kl_repo *repo, struct kl_event *const *event,
			 size_t n)
{
	KL_AUTO(tool_release) struct tool tool = { 0 };
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) struct kl_task *task = NULL;
	KL_AUTO(kl_freep) struct share *share = NULL;
	size_t any = 0, width = kl_par_width();
	int err;

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct kl_signed){ 0 };
		any += *event[i]->sig != '\0';
	}
	if (!any)
		return 0;
	if ((err = kl_fs_tempdir(&dir, "klineage-sign")) < 0)
		return err;
	tool_init(&tool, repo);
	task = kl_calloc(width, sizeof(*task));
	share = kl_calloc(width, sizeof(*share));
	for (size_t i = 0; i < width; i++) {
		share[i] = (struct share){ &tool, out, event, i, width, n, dir };
		task[i] = (struct kl_task){ .run = check_share, .ctx = &share[i] };
	}
	kl_tasks_run(task, width);
	for (size_t i = 0; i < width && !err; i++)
		err = kl_task_result(&task[i]);
	kl_tasks_release(task, width);
	return err;
}

int kl_sign_verify(char **principal, struct kl_repo *repo, const void *text, size_t len,
		   const char *sig)
{
	KL_AUTO(tool_release) struct tool tool = { 0 };
	KL_AUTO(kl_freep) char *file = NULL;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_signed_release) struct kl_signed other = { 0 };
	int err;

	tool_init(&tool, repo);
	if (!tool.allowed)
		return kl_error(KL_ECANNOT, "gpg.ssh.allowedSignersFile is not set");
	if ((err = kl_fs_tempdir(&dir, "klineage-sign")) < 0)
		return err;
	file = kl_fs_join(dir, "sig");
	if ((err = check_signature(&other, &tool, file, text, len, sig, "", NULL)) < 0)
		return err;
	switch (other.state) {
	case KL_SIGN_GOOD:
		*principal = kl_steal(&other.who);
		return 0;
	case KL_SIGN_UNCHECKED:
		return kl_error(KL_ECANNOT, "%s", other.why);
	case KL_SIGN_UNKNOWN:
		return kl_error(KL_EINVALID,
				"signed by nobody whom gpg.ssh.allowedSignersFile names");
	default:
		return kl_error(KL_EINVALID, "the signature does not fit: %s", other.why);
	}
}

/* --- signing ------------------------------------------------------------------ */

/* a public key itself, which an agent has the private one of; else NULL */
static const char *literal_key(const char *value)
{
	static const char *const kinds[] = { "ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-" };

	if (!strncmp(value, "key::", 5))
		return value + 5;
	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (!strncmp(value, kinds[i], strlen(kinds[i])))
			return value;
	return NULL;
}

static int signing_key(char **file, bool *agent, char **dir, struct kl_repo *repo)
{
	const char *value = kl_repo_config(repo, "user.signingKey");
	const char *literal = value ? literal_key(value) : NULL;
	int err;

	if (!value || !*value)
		return kl_error(KL_ECANNOT, "user.signingKey is not set");
	*agent = literal != NULL;
	if (!literal) {
		*file = path_setting(repo, "user.signingKey");
		return 0;
	}
	if ((err = kl_fs_tempdir(dir, "klineage-sign")) < 0)
		return err;
	*file = kl_fs_join(*dir, "key");
	return kl_fs_put(*file, literal, strlen(literal), 0600);
}

static int make_signature(char **sig, struct kl_repo *repo, const void *text, size_t len)
{
	KL_AUTO(tool_release) struct tool tool = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *key = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	const char *format = kl_repo_config(repo, "gpg.format");
	bool agent;
	int err = signing_key(&key, &agent, &dir, repo);

	if (err < 0)
		return err;
	tool_init(&tool, repo);
	kl_strvec_pushv(&argv,
			(const char *const[]){ tool.program, "-Y", "sign", "-n", KL_SIGN_NAMESPACE,
					       "-f", key, agent ? "-U" : NULL, NULL });
	if ((err = run_tool(&out, &tool, &argv, text, len)) < 0) {
		err = kl_error_in(KL_ECANNOT, "signing with '%s'",
				  agent ? "a key of the agent" : key);
		if (!format || strcmp(format, "ssh"))
			kl_error_hint(err, "events are signed with SSH keys; gpg.format is '%s'",
				      format ? format : "openpgp");
		return err;
	}
	*sig = kl_buf_detach(&out);
	return 0;
}

int kl_sign_event_now(struct kl_repo *repo, struct kl_event *event)
{
	KL_AUTO(kl_freep) char *sig = NULL;
	int err = make_signature(&sig, repo, event->id, strlen(event->id));

	if (!err)
		event->sig = kl_event_keep(event, sig);
	return err;
}

int kl_sign_event(struct kl_repo *repo, struct kl_event *event)
{
	bool wanted = false;
	int err = kl_repo_config_bool(&wanted, repo, "klineage.sign", false);

	if (err < 0 || !wanted)
		return err;
	err = kl_sign_event_now(repo, event);
	return err < 0 ? kl_error_in(err, "klineage.sign") : 0;
}
