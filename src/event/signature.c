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

const char *kl_sign_state_name(enum kl_sign_state s)
{
	static const char *const names[] = { "unsigned", "good", "unknown key", "bad",
					     "unchecked" };

	return names[s];
}

void kl_signed_release(struct kl_signed *s)
{
	free(s->who);
	free(s->why);
	*s = (struct kl_signed){ 0 };
}

/* --- the tool --------------------------------------------------------------- */

struct tool {
	const char *program;
	char *allowed, *revoked; /* NULL: not configured */
	struct kl_strvec env;    /* times are in UTC */
};

static void tool_release(struct tool *t)
{
	free(t->allowed);
	free(t->revoked);
	kl_strvec_release(&t->env);
}

/* git's own setting; "~/" is the user's home there */
static char *path_setting(struct kl_repo *r, const char *key)
{
	const char *value = kl_repo_config(r, key), *home = getenv("HOME");

	if (!value || !*value)
		return NULL;
	return !strncmp(value, "~/", 2) && home ? kl_fs_join(home, value + 2) : kl_strdup(value);
}

static void tool_init(struct tool *t, struct kl_repo *r)
{
	const char *program = kl_repo_config(r, "gpg.ssh.program");

	t->program = program && *program ? program : "ssh-keygen";
	t->allowed = path_setting(r, "gpg.ssh.allowedSignersFile");
	t->revoked = path_setting(r, "gpg.ssh.revocationFile");
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "TZ=", 3) && strncmp(*e, "LC_ALL=", 7))
			kl_strvec_push(&t->env, *e);
	kl_strvec_push(&t->env, "TZ=UTC0");
	kl_strvec_push(&t->env, "LC_ALL=C");
}

static int run_tool(struct kl_buf *out, const struct tool *t, const struct kl_strvec *argv,
		    const void *in, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	struct kl_proc_opts o = {
		.argv = (const char *const *)argv->v,
		.env = (const char *const *)t->env.v,
		.in = in,
		.in_len = len,
		.out = out,
		.err = &words,
		.timeout_ms = PATIENCE_MS,
	};
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &o);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'%s' is not installed", t->program);
	if (err < 0)
		return err;
	kl_buf_rtrim(&words);
	if (res.timed_out)
		return kl_error(KL_ECANNOT, "'%s' did not answer within a minute", t->program);
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

static int ask_git(struct kl_buf *out, const struct question *q, const char *what, const char *who)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	bool find = !strcmp(what, "find-principals"), verify = !strcmp(what, "verify");

	kl_strvec_pushv(&argv,
			(const char *const[]){ q->tool->program, "-Y", what, "-s", q->sig, NULL });
	if (!find)
		kl_strvec_pushv(&argv, (const char *const[]){ "-n", KL_SIGN_NAMESPACE, NULL });
	if (find || verify)
		kl_strvec_pushv(&argv, (const char *const[]){ "-f", q->tool->allowed, NULL });
	if (verify)
		kl_strvec_pushv(&argv, (const char *const[]){ "-I", who, NULL });
	if (verify && q->revoked)
		kl_strvec_pushv(&argv, (const char *const[]){ "-r", q->revoked, NULL });
	if ((find || verify) && *q->when)
		kl_strvec_push(&argv, q->when);
	return run_tool(out, q->tool, &argv, find ? NULL : q->text, find ? 0 : q->len);
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
static int fits_question(struct kl_signed *out, const struct question *q)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	int err = ask_git(&words, q, "check-novalidate", NULL);

	return err < 0 && err != KL_ENO ? err : not_good(out, err, words.ptr);
}

/*
 * Is it his? ssh-keygen says no more than that of a revoked key, so it is asked again without the
 * list.
 */
static int is_of(struct kl_signed *out, const struct question *q, const char *who)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	struct question again = *q;
	int err = ask_git(&words, q, "verify", who);

	if (!err) {
		out->state = KL_SIGN_GOOD;
		out->who = kl_strdup(who);
	}
	if (err != KL_ENO || !q->revoked)
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
static int answer_question(struct kl_signed *out, const struct question *q)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec who = KL_STRVEC_INIT;
	int err = q->guess ? is_of(out, q, q->guess) : KL_ENO;

	if (err != KL_ENO)
		return err;
	err = q->tool->allowed ? ask_git(&names, q, "find-principals", NULL) : KL_ENO;
	if (err < 0 && err != KL_ENO)
		return err;
	if (!err)
		kl_strvec_split(&who, names.ptr, "\n");
	for (size_t i = 0; i < who.n; i++)
		if ((err = is_of(out, q, who.v[i])) != KL_ENO)
			return err;
	return fits_question(out, q);
}

/* "2026-11-20T10:00:00Z" as the tool wants it: a key may have been good then */
static void set_when(struct question *q, const char *time)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	char digits[16];
	size_t n = 0;

	q->when[0] = '\0';
	for (size_t i = 0; i < sizeof(form); i++) {
		if (form[i] == 'd' ? time[i] < '0' || time[i] > '9' : time[i] != form[i])
			return;
		if (form[i] == 'd')
			digits[n++] = time[i];
	}
	digits[n] = '\0';
	snprintf(q->when, sizeof(q->when), "-Overify-time=%s", digits);
}

static int check_signature(struct kl_signed *out, const struct tool *t, const char *file,
			   const void *text, size_t len, const char *sig, const char *time,
			   const char *guess)
{
	struct question q = { .tool = t,
			      .text = text,
			      .len = len,
			      .sig = file,
			      .revoked = t->revoked,
			      .guess = guess };
	int err;

	*out = (struct kl_signed){ 0 };
	if (strlen(sig) > MAX_SIG) {
		out->state = KL_SIGN_BAD;
		out->why = kl_asprintf("a signature of %zu bytes", strlen(sig));
		return 0;
	}
	set_when(&q, time);
	if ((err = kl_fs_put(file, sig, strlen(sig), 0600)) < 0)
		return err;
	err = answer_question(out, &q);
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
	const struct share *s = ctx;
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s/%zu", s->dir, s->from);
	const char *last = NULL;
	int err = 0;

	for (size_t i = s->from; i < s->n && !err; i += s->step) {
		const struct kl_event *event = s->event[i];

		if (*event->sig)
			err = check_signature(&s->out[i], s->tool, file, event->id,
					      strlen(event->id), event->sig, event->time, last);
		if (s->out[i].state == KL_SIGN_GOOD)
			last = s->out[i].who;
	}
	return err;
}

int kl_sign_check_events(struct kl_signed *out, struct kl_repo *r, struct kl_event *const *event,
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
	tool_init(&tool, r);
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

int kl_sign_verify(char **principal, struct kl_repo *r, const void *text, size_t len,
		   const char *sig)
{
	KL_AUTO(tool_release) struct tool tool = { 0 };
	KL_AUTO(kl_freep) char *file = NULL;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_signed_release) struct kl_signed s = { 0 };
	int err;

	tool_init(&tool, r);
	if (!tool.allowed)
		return kl_error(KL_ECANNOT, "gpg.ssh.allowedSignersFile is not set");
	if ((err = kl_fs_tempdir(&dir, "klineage-sign")) < 0)
		return err;
	file = kl_fs_join(dir, "sig");
	if ((err = check_signature(&s, &tool, file, text, len, sig, "", NULL)) < 0)
		return err;
	switch (s.state) {
	case KL_SIGN_GOOD:
		*principal = kl_steal(&s.who);
		return 0;
	case KL_SIGN_UNCHECKED:
		return kl_error(KL_ECANNOT, "%s", s.why);
	case KL_SIGN_UNKNOWN:
		return kl_error(KL_EINVALID,
				"signed by nobody whom gpg.ssh.allowedSignersFile names");
	default:
		return kl_error(KL_EINVALID, "the signature does not fit: %s", s.why);
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

static int signing_key(char **file, bool *agent, char **dir, struct kl_repo *r)
{
	const char *value = kl_repo_config(r, "user.signingKey");
	const char *literal = value ? literal_key(value) : NULL;
	int err;

	if (!value || !*value)
		return kl_error(KL_ECANNOT, "user.signingKey is not set");
	*agent = literal != NULL;
	if (!literal) {
		*file = path_setting(r, "user.signingKey");
		return 0;
	}
	if ((err = kl_fs_tempdir(dir, "klineage-sign")) < 0)
		return err;
	*file = kl_fs_join(*dir, "key");
	return kl_fs_put(*file, literal, strlen(literal), 0600);
}

static int make_signature(char **sig, struct kl_repo *r, const void *text, size_t len)
{
	KL_AUTO(tool_release) struct tool tool = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *key = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	const char *format = kl_repo_config(r, "gpg.format");
	bool agent;
	int err = signing_key(&key, &agent, &dir, r);

	if (err < 0)
		return err;
	tool_init(&tool, r);
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

int kl_sign_event_now(struct kl_repo *r, struct kl_event *event)
{
	KL_AUTO(kl_freep) char *sig = NULL;
	int err = make_signature(&sig, r, event->id, strlen(event->id));

	if (!err)
		event->sig = kl_event_keep(event, sig);
	return err;
}

int kl_sign_event(struct kl_repo *r, struct kl_event *event)
{
	bool wanted = false;
	int err = kl_repo_config_bool(&wanted, r, "klineage.sign", false);

	if (err < 0 || !wanted)
		return err;
	err = kl_sign_event_now(r, event);
	return err < 0 ? kl_error_in(err, "klineage.sign") : 0;
}
