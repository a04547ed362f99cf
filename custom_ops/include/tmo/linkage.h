/* SPDX-License-Identifier: Apache-2.0 */
/* TMO_LINKAGE makes the library's functions static in a file that embeds the library (tmo/embed.h). In a file that does not embed the library,
 * TMO_LINKAGE is empty. */
#ifndef TMO_LINKAGE_H_
#define TMO_LINKAGE_H_

#ifndef TMO_LINKAGE
#define TMO_LINKAGE
#endif

#endif /* TMO_LINKAGE_H_ */
