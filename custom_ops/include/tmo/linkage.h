/* SPDX-License-Identifier: Apache-2.0 */
/* TMO_LINKAGE is the linkage of the library's functions. The macro is static in a file that embeds the library (tmo/embed.h), and otherwise empty. */
#ifndef TMO_LINKAGE_H_
#define TMO_LINKAGE_H_

#ifndef TMO_LINKAGE
#define TMO_LINKAGE
#endif

#endif /* TMO_LINKAGE_H_ */
