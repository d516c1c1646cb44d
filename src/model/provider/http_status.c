/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/http_status.h"

bool kl_http_status_is_transient(long status)
{
	return status == 408 || status == 409 || status == 425 || status == 429 ||
	       (status >= 500 && status != 501 && status != 505);
}

bool kl_http_status_is_free(long status)
{
	return (status >= 300 && status < 500 && status != 408 && status != 499) || status == 101 ||
	       status == 501 || status == 503 || status == 505 || status == 529;
}
