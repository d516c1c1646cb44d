/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

struct kl_progress {
	struct kl_buf title, step;
	bool tty;
	int64_t drawn_ns;
};

struct kl_progress *kl_progress_new(enum kl_progress_mode mode)
{
	bool tty = isatty(STDERR_FILENO);
	struct kl_progress *p;

	if (mode == KL_PROGRESS_NEVER || (mode == KL_PROGRESS_AUTO && !tty))
		return NULL;
	/* In the background a program must not write over the foreground's line. */
	if (mode == KL_PROGRESS_AUTO && tcgetpgrp(STDERR_FILENO) != getpgrp())
		return NULL;
	p = kl_calloc(1, sizeof(*p));
	p->title = p->step = (struct kl_buf)KL_BUF_INIT;
	p->tty = tty;
	return p;
}

static int width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col < 20)
		return 80;
	return w.ws_col;
}

static void draw(struct kl_progress *p, bool now)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	int64_t t = kl_clock_ns();

	if (!p->tty || (!now && t - p->drawn_ns < 50000000))
		return;
	p->drawn_ns = t;
	kl_buf_addf(&b, "%s%s%s", p->title.ptr, p->step.len ? "  " : "", p->step.ptr);
	fprintf(stderr, "\r\033[K%.*s", width() - 1, b.ptr);
	fflush(stderr);
}

void kl_progress_title(struct kl_progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	kl_buf_clear(&p->title);
	kl_buf_clear(&p->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&p->title, fmt, ap);
	va_end(ap);
	if (!p->tty)
		fprintf(stderr, "%s\n", p->title.ptr);
	draw(p, true);
}

void kl_progress_step(struct kl_progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	kl_buf_clear(&p->step);
	va_start(ap, fmt);
	kl_buf_vaddf(&p->step, fmt, ap);
	va_end(ap);
	draw(p, false);
}

void kl_progress_say(struct kl_progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	if (p->tty)
		fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	draw(p, true);
}

void kl_progress_free(struct kl_progress *p)
{
	if (!p)
		return;
	if (p->tty) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	kl_buf_release(&p->title);
	kl_buf_release(&p->step);
	free(p);
}
