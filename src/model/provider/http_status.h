/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_HTTP_STATUS_H
#define KL_MODEL_PROVIDER_HTTP_STATUS_H

#include <stdbool.h>

/*
 * http_status - the meaning of an HTTP status: whether to repeat a request, and whether it was free
 */

/**
 * Return true if another attempt can succeed after this HTTP status: 408, 409, 425, 429, or 500 and
 * above except 501 and 505.
 */
bool kl_http_status_is_transient(long status);

/**
 * Return true if the status shows that no model can have run: 101, 3xx, 4xx except 408 and 499,
 * 501, 503, 505 and 529. A 500, a gateway timeout (502, 504, 52x) or a request timeout (408) can
 * occur after tokens were generated.
 */
bool kl_http_status_is_free(long status);

#endif
