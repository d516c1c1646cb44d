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
#include "base/printable.h"
#include "base/utf8.h"

#define MINUTE_MS 60000
#define DELAY_S 2 /* seconds; the default of git; GIT_PROGRESS_DELAY overrides it */

/*
 * In AUTO mode nothing is drawn until a delay has passed, so that a fast operation shows no line. A
 * step can take long without an update, so a timer thread draws the first line after the delay.
 */
struct kl_progress {
	struct kl_buf title, step;
	bool tty, waiting, started;
	bool silent;     /* show only waits (kl_progress_wait()) */
	int64_t said_ms; /* length of the wait when it was last printed; 0 if not printed yet */
	int64_t drawn_ns;
	pthread_mutex_t lock;
	pthread_cond_t end;
	pthread_t timer;
	struct timespec due;
};

static void draw_line(struct kl_progress *progress, bool now);

static void *draw_later(void *payload)
{
	struct kl_progress *progress = payload;

	pthread_mutex_lock(&progress->lock);
	while (progress->waiting)
		if (pthread_cond_timedwait(&progress->end, &progress->lock, &progress->due) ==
		    ETIMEDOUT)
			break;
	if (progress->waiting) {
		progress->waiting = false;
		draw_line(progress, true);
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

/*
 * Start the timer thread, unless the line is to be drawn without a delay. Signals are blocked in
 * that thread, so that the main thread handles them.
 */
static void start_timer(struct kl_progress *progress)
{
	const char *delay = getenv("GIT_PROGRESS_DELAY");
	int64_t seconds = delay && *delay ? atoi(delay) : DELAY_S;
	pthread_condattr_t attr;
	sigset_t all, old;

	pthread_mutex_init(&progress->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&progress->end, &attr);
	pthread_condattr_destroy(&attr);
	if (!progress->waiting || seconds <= 0) {
		progress->waiting = false;
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &progress->due);
	progress->due.tv_sec += seconds;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	progress->started = pthread_create(&progress->timer, NULL, draw_later, progress) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	progress->waiting = progress->started;
}

struct kl_progress *kl_progress_new(enum kl_progress_mode mode)
{
	const char *term = getenv("TERM");
	bool tty = isatty(STDERR_FILENO), dumb = !term || !*term || !strcmp(term, "dumb");
	struct kl_progress *progress;

	if (mode == KL_PROGRESS_NEVER)
		return NULL;
	progress = kl_calloc(1, sizeof(*progress));
	progress->title = progress->step = (struct kl_buf)KL_BUF_INIT;
	/* a background process must not overwrite the progress line of a foreground process */
	progress->silent = mode == KL_PROGRESS_AUTO &&
			   (!tty || dumb || tcgetpgrp(STDERR_FILENO) != getpgrp());
	progress->tty = tty && !dumb && !progress->silent;
	progress->waiting = mode == KL_PROGRESS_AUTO && !progress->silent;
	start_timer(progress);
	return progress;
}

static int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 80;
	return size.ws_col;
}

/*
 * Write to descriptor 2 and not to the stream stderr, because main() makes the stream replace
 * control characters, and the progress line needs them.
 */
static void put_bytes(const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(STDERR_FILENO, data, n);

		if (done < 0 && errno != EINTR)
			return;
		data += done < 0 ? 0 : done;
		n -= done < 0 ? 0 : (size_t)done;
	}
}

static void clear_line(void)
{
	put_bytes("\r\033[K", 4);
}

static void put_text(const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_printable_add(&buf, text, len);
	kl_buf_addch(&buf, '\n');
	put_bytes(buf.ptr, buf.len);
}

static void draw_line(struct kl_progress *progress, bool now)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT, line = KL_BUF_INIT;
	int64_t now_ns = kl_clock_ns();

	if (!progress->tty || progress->waiting || (!now && now_ns - progress->drawn_ns < 50000000))
		return;
	progress->drawn_ns = now_ns;
	kl_buf_addf(&buf, "%s%s%s", progress->title.ptr, progress->step.len ? "  " : "",
		    progress->step.ptr);
	kl_printable_line(&line, buf.ptr, buf.len);
	line.len = kl_utf8_cut(line.ptr, line.len, (size_t)terminal_width() - 1);
	clear_line();
	put_bytes(line.ptr, line.len);
}

void kl_progress_title(struct kl_progress *progress, const char *fmt, ...)
{
	va_list ap;

	if (!progress || progress->silent)
		return;
	pthread_mutex_lock(&progress->lock);
	kl_buf_clear(&progress->title);
	kl_buf_clear(&progress->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&progress->title, fmt, ap);
	va_end(ap);
	if (!progress->tty)
		put_text(progress->title.ptr, progress->title.len);
	draw_line(progress, true);
	pthread_mutex_unlock(&progress->lock);
}

void kl_progress_step(struct kl_progress *progress, const char *fmt, ...)
{
	va_list ap;

	if (!progress || progress->silent)
		return;
	pthread_mutex_lock(&progress->lock);
	kl_buf_clear(&progress->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&progress->step, fmt, ap);
	va_end(ap);
	draw_line(progress, false);
	pthread_mutex_unlock(&progress->lock);
}

void kl_progress_wait(struct kl_progress *progress, int64_t ms, const char *fmt, ...)
{
	va_list ap;

	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	kl_buf_clear(&progress->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&progress->step, fmt, ap);
	va_end(ap);
	if (ms < progress->said_ms)
		progress->said_ms = 0;
	if (progress->tty) {
		draw_line(progress, false);
	} else if (!progress->said_ms || ms >= 2 * progress->said_ms ||
		   ms - progress->said_ms >= MINUTE_MS) {
		put_text(progress->step.ptr, progress->step.len);
		progress->said_ms = ms;
	}
	pthread_mutex_unlock(&progress->lock);
}

void kl_progress_print(struct kl_progress *progress, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	va_list ap;

	if (!progress || progress->silent)
		return;
	pthread_mutex_lock(&progress->lock);
	if (progress->tty && !progress->waiting)
		clear_line();
	va_start(ap, fmt);
	kl_buf_vaddf(&text, fmt, ap);
	va_end(ap);
	put_text(text.ptr, text.len);
	draw_line(progress, true);
	pthread_mutex_unlock(&progress->lock);
}

void kl_progress_free(struct kl_progress *progress)
{
	bool silent;

	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	silent = progress->waiting;
	progress->waiting = false;
	pthread_cond_signal(&progress->end);
	pthread_mutex_unlock(&progress->lock);
	if (progress->started)
		pthread_join(progress->timer, NULL);
	if (progress->tty && !silent)
		clear_line();
	kl_buf_release(&progress->title);
	kl_buf_release(&progress->step);
	pthread_cond_destroy(&progress->end);
	pthread_mutex_destroy(&progress->lock);
	free(progress);
}
