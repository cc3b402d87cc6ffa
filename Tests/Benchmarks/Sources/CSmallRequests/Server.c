// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "CSmallRequests.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { capacity = 256 };

static struct {
  const void *answer;
  size_t length;
  int listener;
} server;

/// Sends the answer if there is a request; returns whether the connection is still open.
static int serve(int connection) {
  // A request is shorter, and arrives in one piece on this machine.
  char request[8192];
  const ssize_t count = read(connection, request, sizeof request);
  if (count < 4) return 0;
  if (memcmp(request + count - 4, "\r\n\r\n", 4) != 0) return 1;
  return write(connection, server.answer, server.length) == (ssize_t)server.length;
}

static void *run(void *unused) {
  struct pollfd places[capacity] = {{.fd = server.listener, .events = POLLIN}};
  int count = 1;
  while (poll(places, (nfds_t)count, -1) >= 0) {
    for (int index = count - 1; index > 0; index--) {
      if (!places[index].revents || serve(places[index].fd)) continue;
      close(places[index].fd);
      places[index] = places[--count];
    }
    if (!places[0].revents) continue;
    const int connection = accept(server.listener, 0, 0), one = 1;
    if (connection < 0) continue;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (count == capacity) close(connection);
    else places[count++] = (struct pollfd){.fd = connection, .events = POLLIN};
  }
  return unused;
}

int small_requests_server_start(const void *answer, size_t length) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  void *copy = strndup(answer, length);
  if (!copy || server.answer) return -1;
  server.answer = copy;
  server.length = length;
  server.listener = socket(AF_INET, SOCK_STREAM, 0);
  pthread_t thread;
  if (bind(server.listener, (struct sockaddr *)&address, size) != 0 || listen(server.listener, capacity) != 0 ||
      getsockname(server.listener, (struct sockaddr *)&address, &size) != 0 ||
      pthread_create(&thread, 0, run, 0) != 0)
    return -1;
  return ntohs(address.sin_port);
}
