#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <string>

#include "services/app/commands/command.h"
#include "services/app/commands/remote_options.h"

// How commands that call a server declare themselves.
namespace winnow::app {

// What every command that calls a server has; each adds its own.
struct VerbOptions {
  RemoteOptions remote;
  bool json = false;
};

// What a verb does: its ExitCode, or the error that it ends with.
template <class Options>
using RunVerb = StatusOr<int> (*)(const Options&, const Interrupt&);

// A verb that was declared, to add arguments to.
template <class Options>
struct Verb {
  CLI::App& command;
  Options& options;  // lives as long as the command
};

// Declares a verb of `group` that calls a server; `run` is called if it is chosen.
template <class Options>
Verb<Options> AddRemoteVerb(CLI::App& group, Command& chosen, const char* name, const char* help,
                            RunVerb<Options> run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *group.add_subcommand(name, help);
  AddRemoteOptions(command, options->remote);
  command.callback([options, run, &chosen] {
    chosen = [options, run](const Interrupt& interrupt) {
      const StatusOr<int> code = run(*options, interrupt);
      return code.ok() ? *code : Fail(code.status());
    };
  });
  return {command, *options};
}

// The same, with --json.
template <class Options>
Verb<Options> AddVerb(CLI::App& group, Command& chosen, const char* name, const char* help,
                      RunVerb<Options> run) {
  const auto verb = AddRemoteVerb(group, chosen, name, help, run);
  verb.command.add_flag("--json", verb.options.json, "print JSON");
  return verb;
}

inline void AddNamespace(CLI::App& command, std::string& ns) {
  command.add_option("--namespace", ns, "namespace (default: \"default\")");
}

inline void AddPageToken(CLI::App& command, std::string& token) {
  command.add_option("--page-token", token, "go on from here");
}

// --count, of 1 to `max`; the default is what `count` holds.
inline void AddCount(CLI::App& command, int& count, int max, const char* help) {
  command.add_option("--count", count, help)->capture_default_str()->check(CLI::Range(1, max));
}

// --count of a stream, after which it ends; 0, the default: never.
inline void AddEndAfter(CLI::App& command, int& count, const char* help) {
  command.add_option("--count", count, help)->capture_default_str()->check(CLI::NonNegativeNumber);
}

}  // namespace winnow::app
