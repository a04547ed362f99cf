/* SPDX-License-Identifier: Apache-2.0 */
/* This header connects devices by POSIX sockets. Each pair of devices needs a connected stream socket. */
#ifndef TMO_LINK_SOCKET_H_
#define TMO_LINK_SOCKET_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_SOCKET_PEERS 16

/* The entry fd[i] is the file descriptor of the socket to device i, or -1 if there is no socket to device i. The caller opens and closes the
 * sockets. */
typedef struct {
  int fd[TMO_SOCKET_PEERS];
} tmo_sockets;

tmo_transport tmo_socket_transport(tmo_sockets *sockets);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_SOCKET_H_ */
