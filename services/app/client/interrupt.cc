#include "services/app/client/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "services/app/client/exit_code.h"

namespace winnow::app {
namespace {

// What a signal handler may touch.
std::atomic<int> g_signal{0};
std::atomic<int> g_count{0};
std::atomic<int> g_interrupts{0};
int g_fd = -1;

extern "C" void OnSignal(int number) {
  const int saved_errno = errno;
  int none = 0;
  g_signal.compare_exchange_strong(none, number);
  g_count.fetch_add(1);
  if (number == SIGINT && g_interrupts.fetch_add(1) > 0) _exit(kInterrupted);
  const uint64_t one = 1;
  // It can only fail when the counter is full, and then the descriptor is readable already.
  [[maybe_unused]] const ssize_t written = write(g_fd, &one, sizeof(one));
  errno = saved_errno;
}

// Of any broken pipe or socket: only that of standard output is an end.
extern "C" void OnBrokenPipe(int) {
  const int saved_errno = errno;
  pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) _exit(kReaderGone);
  errno = saved_errno;
}

void Handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

const Interrupt& Interrupt::Install() {
  static const Interrupt kInstance = [] {
    g_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (g_fd < 0) {
      std::perror("winnow: eventfd");
      std::exit(kFailed);
    }
    Handle(SIGINT, OnSignal);
    Handle(SIGTERM, OnSignal);
    struct sigaction hangup = {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) Handle(SIGHUP, OnSignal);
    Handle(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    return Interrupt(g_fd);
  }();
  return kInstance;
}

void Interrupt::EndWithReader() { Handle(SIGPIPE, OnBrokenPipe); }

bool Interrupt::requested() const { return signal() != 0; }

int Interrupt::signal() const { return g_signal.load(); }

int Interrupt::count() const { return g_count.load(); }

void Interrupt::Wait(int other) const {
  std::array<pollfd, 2> waited = {
      {{.fd = fd_, .events = POLLIN, .revents = 0}, {.fd = other, .events = POLLIN, .revents = 0}}};
  while (!requested() && waited[1].revents == 0) poll(waited.data(), waited.size(), -1);
}

}  // namespace winnow::app
