#pragma once

namespace winnow::app {

// SIGINT, SIGTERM and SIGHUP as something to wait for. Install() replaces whatever dispositions and
// masks were inherited: a script's background job ignores SIGINT, and Ctrl-C must work all the
// same. (SIGHUP stays ignored where it was: that is what nohup is for.) A second SIGINT ends the
// process at once. SIGPIPE is ignored: writes report it by their error, but see EndWithReader().
class Interrupt {
 public:
  // Before any thread is started. There is one per process.
  static const Interrupt& Install();

  // From now on a write to a standard output whose reader is gone (`| head`) ends the process, with
  // kReaderGone and without a word. For commands that print.
  static void EndWithReader();

  bool requested() const;
  // Which signal came first, 0 while none did.
  int signal() const;
  // How many came.
  int count() const;
  // Readable once a signal came: for poll().
  int fd() const { return fd_; }
  // Blocks until a signal comes, or `other`, if it is a descriptor, is readable.
  void Wait(int other = -1) const;

 private:
  explicit Interrupt(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace winnow::app
