/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_LIBCURL_H
#define KL_MODEL_PROVIDER_LIBCURL_H

#include <curl/curl.h>

/*
 * libcurl - loads libcurl when the first request is sent, so that other commands do not need it.
 * Types and constants come from its header, functions from this table.
 */
/* clang-format off */
#define KL_LIBCURL_FUNCTIONS(_)						\
	_(global_init_mem) _(easy_init) _(easy_cleanup) _(easy_setopt)	\
	_(easy_getinfo) _(easy_strerror) _(multi_init) _(multi_cleanup)	\
	_(multi_add_handle) _(multi_remove_handle) _(multi_perform)	\
	_(multi_poll) _(multi_info_read) _(multi_strerror)
/* clang-format on */

struct kl_libcurl {
#define KL_LIBCURL_FIELD(name) __typeof__(curl_##name) *name;
	KL_LIBCURL_FUNCTIONS(KL_LIBCURL_FIELD)
#undef KL_LIBCURL_FIELD
};

/**
 * Load and initialize libcurl; can be called repeatedly. Memory that libcurl frees is wiped, since
 * libcurl copies headers, including the key. libcurl is never unloaded, since its TLS library must
 * not be unloaded. Return KL_ECANNOT if libcurl is not installed, or too old.
 */
int kl_libcurl_open(struct kl_libcurl *out);

#endif
