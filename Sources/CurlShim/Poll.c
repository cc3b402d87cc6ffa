// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "CurlShim.h"

#if defined(__linux__)

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

int stepwise_poll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int stepwise_wakeup_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void stepwise_wakeup_send(int wakeup) {
  const uint64_t one = 1;
  // It can only fail when it is readable already.
  ssize_t count = write(wakeup, &one, sizeof one);
  (void)count;
}

void stepwise_wakeup_receive(int wakeup) {
  uint64_t sum;
  ssize_t count = read(wakeup, &sum, sizeof sum);
  (void)count;
}

int stepwise_poll_watch(int poll, int descriptor, int events, int before) {
  struct epoll_event event = {0};
  event.data.fd = descriptor;
  if (events & 1) event.events |= EPOLLIN;
  if (events & 2) event.events |= EPOLLOUT;
  const int operation = events == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(poll, operation, descriptor, &event) == 0) return 0;
  // A descriptor that was closed is forgotten already, and its number may be another's.
  if (errno == ENOENT && operation == EPOLL_CTL_MOD) return epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
  return errno == EEXIST ? epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event) : -1;
}

int stepwise_poll_wait(int poll, struct stepwise_poll_event *events, int capacity, int milliseconds) {
  struct epoll_event found[64];
  if (capacity > 64) capacity = 64;
  int count = epoll_wait(poll, found, capacity, milliseconds);
  for (int index = 0; index < count; index++) {
    const uint32_t what = found[index].events;
    events[index].descriptor = found[index].data.fd;
    events[index].events = (what & EPOLLIN ? 1 : 0) | (what & EPOLLOUT ? 2 : 0) | (what & (EPOLLERR | EPOLLHUP) ? 4 : 0);
  }
  return count < 0 ? 0 : count;
}

void stepwise_close(int descriptor) { close(descriptor); }

#endif
