/* SPDX-License-Identifier: Apache-2.0 */
#include "event/signature.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/proc.h"
#include "base/tasks.h"

#define MAX_SIG 16384
#define PATIENCE_MS 60000 /* an SSH agent can ask the user for confirmation */

const char *kl_sign_state_name(enum kl_sign_state state)
{
	static const char *const names[] = { "unsigned", "good", "unknown key", "bad",
					     "unchecked" };

	return names[state];
}

void kl_signed_release(struct kl_signed *result)
{
	free(result->who);
	free(result->why);
	*result = (struct kl_signed){ 0 };
}

/* --- running ssh-keygen ----------------------------------------------------- */

struct tool {
	const char *program;
	char *allowed, *revoked; /* files; NULL: not configured */
	struct kl_strvec env;    /* with UTC and the C locale */
};

static void tool_release(struct tool *tool)
{
	free(tool->allowed);
	free(tool->revoked);
	kl_strvec_release(&tool->env);
}

/*
 * Path in a setting of git, in which "~/" means the user's home; NULL: not set. The caller frees.
 */
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
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, "TZ=", 3) && strncmp(*entry, "LC_ALL=", 7) &&
		    !kl_environment_is_key(*entry))
			kl_strvec_push(&tool->env, *entry);
	kl_strvec_push(&tool->env, "TZ=UTC0");
	kl_strvec_push(&tool->env, "LC_ALL=C");
}

static int run_tool(struct kl_buf *out, const struct tool *tool, const struct kl_strvec *argv,
		    const void *in, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_proc_opts opts = {
		.argv = (const char *const *)argv->v,
		.env = (const char *const *)tool->env.v,
		.in = in,
		.in_len = len,
		.out = out,
		.err = &complaint,
		.timeout_ms = PATIENCE_MS,
	};
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &opts);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'%s' is not installed", tool->program);
	if (err < 0)
		return err;
	kl_buf_rtrim(&complaint);
	if (res.timed_out)
		return kl_error(KL_ECANNOT, "'%s' did not answer within a minute", tool->program);
	/* the first line of its output is the reason */
	return res.exit ?
		       kl_error(KL_ENO, "%.*s", (int)strcspn(complaint.ptr, "\n"), complaint.ptr) :
		       0;
}

/* --- checking ---------------------------------------------------------------- */

/* One signature to check. */
struct question {
	const struct tool *tool;
	const void *text;
	size_t len;
	const char *sig;     /* file */
	const char *revoked; /* file, or NULL */
	const char *guess;   /* signer of the preceding event, tried first; or NULL */
	char when[48];       /* "" or -Overify-time=... */
};

static int run_keygen(struct kl_buf *out, const struct question *question, const char *command,
		      const char *principal)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	bool find = !strcmp(command, "find-principals"), verify = !strcmp(command, "verify");

	kl_strvec_pushv(&argv, (const char *const[]){ question->tool->program, "-Y", command, "-s",
						      question->sig, NULL });
	if (!find)
		kl_strvec_pushv(&argv, (const char *const[]){ "-n", KL_SIGN_NAMESPACE, NULL });
	if (find || verify)
		kl_strvec_pushv(&argv,
				(const char *const[]){ "-f", question->tool->allowed, NULL });
	if (verify)
		kl_strvec_pushv(&argv, (const char *const[]){ "-I", principal, NULL });
	if (verify && question->revoked)
		kl_strvec_pushv(&argv, (const char *const[]){ "-r", question->revoked, NULL });
	if ((find || verify) && *question->when)
		kl_strvec_push(&argv, question->when);
	return run_tool(out, question->tool, &argv, find ? NULL : question->text,
			find ? 0 : question->len);
}

/* Fingerprint in "... with ED25519 key SHA256:abc", or NULL; the caller frees. */
static char *print_of(const char *output)
{
	const char *at = strstr(output, "SHA256:");

	return at ? kl_strndup(at, strcspn(at, " \n")) : NULL;
}

static int not_good(struct kl_signed *out, int err, const char *output)
{
	out->state = err ? KL_SIGN_BAD : KL_SIGN_UNKNOWN;
	if (err)
		out->why = kl_strdup(kl_error_last());
	else
		out->who = print_of(output);
	kl_error_clear();
	return 0;
}

/* No listed signer made it: check if the signature itself is valid, by an unknown key. */
static int check_unlisted(struct kl_signed *out, const struct question *question)
{
	KL_AUTO(kl_buf_release) struct kl_buf output = KL_BUF_INIT;
	int err = run_keygen(&output, question, "check-novalidate", NULL);

	return err < 0 && err != KL_ENO ? err : not_good(out, err, output.ptr);
}

/*
 * Did this signer make the signature? ssh-keygen does not report that a key is revoked, so if it
 * fails, verify again without the revocation list. KL_ENO: no.
 */
static int check_signer(struct kl_signed *out, const struct question *question,
			const char *principal)
{
	KL_AUTO(kl_buf_release) struct kl_buf output = KL_BUF_INIT;
	struct question again = *question;
	int err = run_keygen(&output, question, "verify", principal);

	if (!err) {
		out->state = KL_SIGN_GOOD;
		out->who = kl_strdup(principal);
	}
	if (err != KL_ENO || !question->revoked)
		return err;
	again.revoked = NULL;
	err = run_keygen(&output, &again, "verify", principal);
	if (!err) {
		out->state = KL_SIGN_BAD;
		out->why = kl_asprintf("the key of %.100s is revoked", principal);
	}
	return err;
}

/*
 * As git does: find the possible signers, then verify against each. If no signer matches, check
 * whether the signature is valid at all.
 */
static int answer_question(struct kl_signed *out, const struct question *question)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec principals = KL_STRVEC_INIT;
	int err = question->guess ? check_signer(out, question, question->guess) : KL_ENO;

	if (err != KL_ENO)
		return err;
	err = question->tool->allowed ? run_keygen(&names, question, "find-principals", NULL) :
					KL_ENO;
	if (err < 0 && err != KL_ENO)
		return err;
	if (!err)
		kl_strvec_split(&principals, names.ptr, "\n");
	for (size_t i = 0; i < principals.n; i++)
		if ((err = check_signer(out, question, principals.v[i])) != KL_ENO)
			return err;
	return check_unlisted(out, question);
}

/*
 * Convert "2026-11-20T10:00:00Z" to an ssh-keygen option, to accept a key that was valid at that
 * time.
 */
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
		out->why = kl_asprintf("signature is too long: %zu bytes", strlen(sig));
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

/* The events of one task: every `step`-th, starting at `from`. */
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
	size_t nsigned = 0, ntasks = kl_par_width();
	int err;

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct kl_signed){ 0 };
		nsigned += *event[i]->sig != '\0';
	}
	if (!nsigned)
		return 0;
	if ((err = kl_fs_tempdir(&dir, "klineage-sign")) < 0)
		return err;
	tool_init(&tool, repo);
	task = kl_calloc(ntasks, sizeof(*task));
	share = kl_calloc(ntasks, sizeof(*share));
	for (size_t i = 0; i < ntasks; i++) {
		share[i] = (struct share){ &tool, out, event, i, ntasks, n, dir };
		task[i] = (struct kl_task){ .run = check_share, .ctx = &share[i] };
	}
	kl_tasks_run(task, ntasks);
	for (size_t i = 0; i < ntasks && !err; i++)
		err = kl_task_result(&task[i]);
	kl_tasks_release(task, ntasks);
	return err;
}

int kl_sign_verify(char **principal, struct kl_repo *repo, const void *text, size_t len,
		   const char *sig)
{
	KL_AUTO(tool_release) struct tool tool = { 0 };
	KL_AUTO(kl_freep) char *file = NULL;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_signed_release) struct kl_signed result = { 0 };
	int err;

	tool_init(&tool, repo);
	if (!tool.allowed)
		return kl_error(KL_ECANNOT, "gpg.ssh.allowedSignersFile is not set");
	if ((err = kl_fs_tempdir(&dir, "klineage-sign")) < 0)
		return err;
	file = kl_fs_join(dir, "sig");
	if ((err = check_signature(&result, &tool, file, text, len, sig, "", NULL)) < 0)
		return err;
	switch (result.state) {
	case KL_SIGN_GOOD:
		*principal = kl_steal(&result.who);
		return 0;
	case KL_SIGN_UNCHECKED:
		return kl_error(KL_ECANNOT, "%s", result.why);
	case KL_SIGN_UNKNOWN:
		return kl_error(KL_EINVALID, "the signer is not in gpg.ssh.allowedSignersFile");
	default:
		return kl_error(KL_EINVALID, "bad signature: %s", result.why);
	}
}

/* --- signing ------------------------------------------------------------------ */

/*
 * The public key if the setting is a literal one, whose private key an agent has; otherwise NULL.
 */
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

/* File of the signing key. A literal key is written to a temporary directory, `*dir`. */
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
