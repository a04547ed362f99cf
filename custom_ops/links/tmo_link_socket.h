/* SPDX-License-Identifier: Apache-2.0 */
/* This link connects devices by POSIX sockets, with a connected stream socket to each peer. */
#ifndef TMO_LINK_SOCKET_H_
#define TMO_LINK_SOCKET_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_SOCKET_PEERS 16

/* fd: the file descriptor of the socket to each device, by device number, or -1. The caller opens and closes the sockets. */
typedef struct {
  int fd[TMO_SOCKET_PEERS];
} tmo_sockets;

tmo_transport tmo_socket_transport(tmo_sockets *sockets);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_SOCKET_H_ */
