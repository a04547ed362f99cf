/* SPDX-License-Identifier: Apache-2.0 */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L

#include "tmo_link_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

static int socket_to(const void *context, uint8_t peer) {
  return peer < TMO_SOCKET_PEERS ? ((const tmo_sockets *)context)->fd[peer] : -1;
}

static bool is_later(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

static int32_t send_some(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count) {
  const ssize_t n = send(socket_to(context, peer), bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  return n >= 0 ? (int32_t)n : is_later() ? 0 : -1;
}

static int32_t receive_some(void *context, uint8_t peer, uint8_t *bytes, uint32_t room) {
  const ssize_t n = recv(socket_to(context, peer), bytes, room, MSG_DONTWAIT);
  if (n == 0 && room > 0) return -1; /* the other device has closed the socket */
  return n >= 0 ? (int32_t)n : is_later() ? 0 : -1;
}

static uint32_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint32_t)t.tv_sec * 1000u + (uint32_t)(t.tv_nsec / 1000000);
}

static uint32_t wait_for(void *context, uint8_t peer, bool sends, uint32_t milliseconds) {
  struct pollfd one = {socket_to(context, peer), sends ? POLLOUT : POLLIN, 0};
  const uint32_t begun = now();
  (void)poll(&one, 1, milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds);
  return now() - begun;
}

tmo_transport tmo_socket_transport(tmo_sockets *sockets) {
  const tmo_transport transport = {send_some, receive_some, wait_for, sockets};
  return transport;
}

#endif
