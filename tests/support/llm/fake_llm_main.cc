#include <csignal>
#include <iostream>
#include <string>

#include "tests/support/llm/fake_llm.h"

// fake_llm [FAULT:SHARE | key:KEY | retry:SECONDS]...: the scripted server of language models as a
// process, for tests in other languages. It prints its URL and serves until it is ended.
namespace {

using winnow::test::LlmFault;

bool ToFault(const std::string& name, LlmFault& fault) {
  for (size_t i = 0; i < winnow::test::kLlmFaults; ++i) {
    fault = static_cast<LlmFault>(i);
    if (winnow::test::NameOf(fault) == name) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  winnow::test::LlmFaults faults;
  std::string key;
  int retry_after_s = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    const std::string value = colon == std::string::npos ? "1" : word.substr(colon + 1);
    LlmFault fault{};
    if (name == "key") {
      key = value;
    } else if (name == "retry") {
      retry_after_s = std::stoi(value);
    } else if (ToFault(name, fault)) {
      faults[fault] = std::stod(value);
    } else {
      std::cerr << "fake_llm: no fault " << name << '\n';
      return 2;
    }
  }
  winnow::test::FakeLlm model(faults);
  model.set_key(key);
  model.set_retry_after(retry_after_s);
  const winnow::test::FakeLlmServer server(model);
  std::cout << server.url() << std::endl;
  int signal = 0;
  sigwait(&ending, &signal);
  if (!model.complaint().empty()) {
    std::cerr << "fake_llm: a bad request: " << model.complaint() << '\n';
    return 1;
  }
  return 0;
}
