#include "tests/support/broker/rabbitmq.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "services/platform/events/amqp/amqp_connection.h"

namespace winnow::test {
namespace {

constexpr char kPrograms[] = "/usr/lib/rabbitmq/bin/";
constexpr char kCookie[] = "winnowtests";
constexpr std::chrono::seconds kStartTime{90};

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error("RabbitMQ: " + what); }

constexpr int kLowestPort = 10'000;
constexpr int kPortTries = 10'000;

// Below the range of which the kernel gives ports to anybody, also as the near end of a connection:
// RabbitMQ comes back on its port after a kill.
int RandomPort() {
  int ephemeral = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> ephemeral;
  if (ephemeral <= kLowestPort) Fail("all ports are ephemeral");
  static std::random_device random;
  return std::uniform_int_distribution<int>(kLowestPort, ephemeral - 1)(random);
}

// Ports on which nobody listens. All are held until the last is known, so that they differ.
std::vector<int> FreePorts(size_t count) {
  std::vector<int> sockets;
  std::vector<int> ports;
  for (int i = 0; i < kPortTries && ports.size() < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int port = RandomPort();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    sockets.push_back(fd);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
      ports.push_back(port);
    }
  }
  for (const int fd : sockets) ::close(fd);
  if (ports.size() < count) Fail("no free port");
  return ports;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs a program with output to `output_fd`, in a session of its own; its process id.
pid_t SpawnProgram(std::vector<std::string> command, std::vector<std::string> environment,
                   int output_fd) {
  const std::vector<char*> argv = Pointers(command);
  const std::vector<char*> envp = Pointers(environment);
  const pid_t pid = ::fork();
  if (pid < 0) Fail("fork failed");
  if (pid > 0) return pid;
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(output_fd, 1);
  ::dup2(output_fd, 2);
  ::execve(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

int AwaitExit(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

RabbitMq& RabbitMq::Instance() {
  static RabbitMq instance;
  return instance;
}

RabbitMq::RabbitMq() : dir_("rabbitmq") {
  const std::vector<int> ports = FreePorts(3);
  amqp_port_ = ports[0];
  dist_port_ = ports[1];
  epmd_port_ = ports[2];
  WriteConfig();
  Start();
}

RabbitMq::~RabbitMq() {
  Kill();
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  AwaitExit(SpawnProgram({"/usr/bin/epmd", "-kill"}, Environment(), null));
  ::close(null);
}

void RabbitMq::WriteConfig() {
  std::ofstream(dir_.path() + "/rabbitmq.conf")
      << "listeners.tcp.1 = 127.0.0.1:" << amqp_port_ << "\n"
      << "disk_free_limit.absolute = 50MB\n"
      << "log.console = true\n"
      << "log.file = false\n";
  std::ofstream(dir_.path() + "/enabled_plugins") << "[].\n";
}

std::vector<std::string> RabbitMq::Environment() const {
  const std::string& dir = dir_.path();
  return {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "LANG=C.UTF-8",
      "HOME=" + dir,
      "RABBITMQ_NODENAME=winnow" + std::to_string(amqp_port_) + "@localhost",
      "RABBITMQ_CONFIG_FILE=" + dir + "/rabbitmq.conf",
      "RABBITMQ_ENABLED_PLUGINS_FILE=" + dir + "/enabled_plugins",
      "RABBITMQ_MNESIA_BASE=" + dir + "/mnesia",
      "RABBITMQ_LOG_BASE=" + dir,
      "RABBITMQ_PID_FILE=" + dir + "/pid",
      "RABBITMQ_CONF_ENV_FILE=/dev/null",
      "RABBITMQ_DIST_PORT=" + std::to_string(dist_port_),
      "ERL_EPMD_PORT=" + std::to_string(epmd_port_),
      "ERL_EPMD_ADDRESS=127.0.0.1",
      "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1 +sbwt none -setcookie " + std::string(kCookie) +
          " -kernel inet_dist_use_interface {127,0,0,1}",
      "RABBITMQ_CTL_ERL_ARGS=-setcookie " + std::string(kCookie),
  };
}

void RabbitMq::Spawn() {
  const std::string log = dir_.path() + "/console.log";
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  pid_ = SpawnProgram({std::string(kPrograms) + "rabbitmq-server"}, Environment(), fd);
  ::close(fd);
}

bool RabbitMq::TakesConnections() {
  events::AmqpAddress address;
  address.host = "127.0.0.1";
  address.port = amqp_port_;
  return events::AmqpConnection::Open(address).ok();
}

void RabbitMq::Start() {
  Spawn();
  const auto deadline = std::chrono::steady_clock::now() + kStartTime;
  while (!TakesConnections()) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      Fail("ended while starting; is rabbitmq-server installed?");
    }
    if (std::chrono::steady_clock::now() > deadline) Fail("takes no connections");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void RabbitMq::Kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);  // the whole session
  AwaitExit(pid_);
  pid_ = -1;
}

std::string RabbitMq::NewVhostUrl() {
  const std::string vhost = "test" + std::to_string(++vhosts_);
  Control({"add_vhost", vhost});
  Control({"set_permissions", "-p", vhost, "guest", ".*", ".*", ".*"});
  return "amqp://guest:guest@127.0.0.1:" + std::to_string(amqp_port_) + "/" + vhost;
}

std::string RabbitMq::Control(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{std::string(kPrograms) + "rabbitmqctl", "-q"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) Fail("no pipe");
  const pid_t pid = SpawnProgram(command, Environment(), pipe[1]);
  ::close(pipe[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t n = ::read(pipe[0], buffer.data(), buffer.size()); n > 0;
       n = ::read(pipe[0], buffer.data(), buffer.size())) {
    output.append(buffer.data(), static_cast<size_t>(n));
  }
  ::close(pipe[0]);
  if (AwaitExit(pid) != 0) Fail("rabbitmqctl " + arguments[0] + ": " + output);
  return output;
}

}  // namespace winnow::test
