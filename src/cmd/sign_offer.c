/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sign_offer.h"

#include <stdio.h>

#include "base/error.h"
#include "cmd/cli/out.h"
#include "event/enrolment.h"
#include "event/signers.h"

void kl_sign_offer(struct kl_repo *repo)
{
	if (kl_enrolment_is_open(repo))
		printf("\nto sign verdicts with your SSH key, so that other clones can trust them:\n"
		       "  git klineage hooks install --sign\n"
		       "not to be asked again: git config klineage.sign false\n");
}

int kl_sign_set_up(struct kl_repo *repo)
{
	KL_AUTO(kl_enrolment_release) struct kl_enrolment enrolment = { 0 };
	int err = kl_enrol(&enrolment, repo);

	if (err < 0)
		return kl_error_in(err, "--sign");
	printf(enrolment.added ? "added the key of " : "the list has the key of ");
	kl_out_line(stdout, enrolment.who);
	printf("%s " KL_SIGNERS_FILE "\n", enrolment.added ? " to" : " already:");
	printf("verdicts are signed from now on (klineage.sign)\n");
	if (enrolment.base) {
		printf("next: commit the file; the key counts when ");
		kl_out_line(stdout, enrolment.base);
		printf(" has it (klineage.signers)\n");
	} else {
		printf("next: commit the file, and name its branch in klineage.signers\n");
	}
	return 0;
}
