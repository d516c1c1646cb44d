/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#define DELAY_S 2 /* as git's own, or GIT_PROGRESS_DELAY */

/*
 * What is done at once needs no line. A step may take long without another word, so that it is a
 * thread that draws the first line when the time has come.
 */
struct kl_progress {
	struct kl_buf title, step;
	bool tty, waiting, started;
	int64_t drawn_ns;
	pthread_mutex_t lock;
	pthread_cond_t end;
	pthread_t timer;
	struct timespec due;
};

static void draw_line(struct kl_progress *p, bool now);

static void *draw_later(void *payload)
{
	struct kl_progress *p = payload;

	pthread_mutex_lock(&p->lock);
	while (p->waiting)
		if (pthread_cond_timedwait(&p->end, &p->lock, &p->due) == ETIMEDOUT)
			break;
	if (p->waiting) {
		p->waiting = false;
		draw_line(p, true);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Signals are for the thread that knows what to do about them. */
static void start_timer(struct kl_progress *p)
{
	const char *said = getenv("GIT_PROGRESS_DELAY");
	int64_t seconds = said && *said ? atoi(said) : DELAY_S;
	pthread_condattr_t attr;
	sigset_t all, old;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->end, &attr);
	pthread_condattr_destroy(&attr);
	if (!p->waiting || seconds <= 0) {
		p->waiting = false;
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &p->due);
	p->due.tv_sec += seconds;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	p->started = pthread_create(&p->timer, NULL, draw_later, p) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->waiting = p->started;
}

struct kl_progress *kl_progress_new(enum kl_progress_mode mode)
{
	const char *term = getenv("TERM");
	bool tty = isatty(STDERR_FILENO), dumb = !term || !*term || !strcmp(term, "dumb");
	struct kl_progress *p;

	if (mode == KL_PROGRESS_NEVER || (mode == KL_PROGRESS_AUTO && (!tty || dumb)))
		return NULL;
	/* In the background a program must not write over the foreground's line. */
	if (mode == KL_PROGRESS_AUTO && tcgetpgrp(STDERR_FILENO) != getpgrp())
		return NULL;
	p = kl_calloc(1, sizeof(*p));
	p->title = p->step = (struct kl_buf)KL_BUF_INIT;
	p->tty = tty && !dumb;
	p->waiting = mode == KL_PROGRESS_AUTO;
	start_timer(p);
	return p;
}

static int terminal_width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col < 20)
		return 80;
	return w.ws_col;
}

static void draw_line(struct kl_progress *p, bool now)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	int64_t t = kl_clock_ns();

	if (!p->tty || p->waiting || (!now && t - p->drawn_ns < 50000000))
		return;
	p->drawn_ns = t;
	kl_buf_addf(&b, "%s%s%s", p->title.ptr, p->step.len ? "  " : "", p->step.ptr);
	fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, b.ptr);
	fflush(stderr);
}

void kl_progress_title(struct kl_progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	kl_buf_clear(&p->title);
	kl_buf_clear(&p->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&p->title, fmt, ap);
	va_end(ap);
	if (!p->tty)
		fprintf(stderr, "%s\n", p->title.ptr);
	draw_line(p, true);
	pthread_mutex_unlock(&p->lock);
}

void kl_progress_step(struct kl_progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	kl_buf_clear(&p->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&p->step, fmt, ap);
	va_end(ap);
	draw_line(p, false);
	pthread_mutex_unlock(&p->lock);
}

void kl_progress_say(struct kl_progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	if (p->tty && !p->waiting)
		fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	draw_line(p, true);
	pthread_mutex_unlock(&p->lock);
}

void kl_progress_free(struct kl_progress *p)
{
	bool silent;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	silent = p->waiting;
	p->waiting = false;
	pthread_cond_signal(&p->end);
	pthread_mutex_unlock(&p->lock);
	if (p->started)
		pthread_join(p->timer, NULL);
	if (p->tty && !silent) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	kl_buf_release(&p->title);
	kl_buf_release(&p->step);
	pthread_cond_destroy(&p->end);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
