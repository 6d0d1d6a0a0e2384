#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <iostream>
#include <memory>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/command.h"
#include "services/app/commands/remote_options.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::app {
namespace {

using collector::v1::CollectorService;
using collector::v1::Item;

struct CollectOptions {
  RemoteOptions remote;
  std::string item_namespace;
  std::string channel;
  std::string page_token;
  std::string id;
  int count = 20;
  bool json = false;
};

void PrintItem(const Item& item) {
  std::cout << item.id() << "  " << ShortTime(item.arrival_time()) << "  "
            << Printable(item.channel()) << ": " << Printable(item.title()) << '\n';
}

int RunList(const CollectOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = CollectorService::NewStub(remote->channel());
  collector::v1::ListItemsRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_channel(options.channel);
  request.set_page_size(options.count);
  request.set_page_token(options.page_token);
  collector::v1::ListItemsResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const Status status = ToStatus(stub->ListItems(&context, request, &response));
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response);
  for (const Item& item : response.items()) PrintItem(item);
  if (response.items().empty()) std::cout << "no items\n";
  if (!response.next_page_token().empty()) {
    std::cout << "next page: --page-token " << response.next_page_token() << '\n';
  }
  return kOk;
}

int RunGet(const CollectOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = CollectorService::NewStub(remote->channel());
  collector::v1::GetItemRequest request;
  request.set_id(options.id);
  collector::v1::GetItemResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const Status status = ToStatus(stub->GetItem(&context, request, &response));
  if (!status.ok()) return Fail(status);
  const Item& item = response.item();
  if (options.json) return PrintJson(item);
  PrintItem(item);
  std::cout << "  url        " << Printable(item.url()) << '\n'
            << "  canonical  " << Printable(item.canonical_url()) << '\n'
            << "  published  " << ShortTime(item.publish_time()) << '\n'
            << "  language   " << Printable(item.language()) << '\n'
            << "  snippet    " << Printable(item.snippet()) << '\n';
  return kOk;
}

}  // namespace

void AddCollectCommands(CLI::App& app, Command& chosen) {
  CLI::App* group = app.add_subcommand("collect", "items, and the sources they come from");
  group->require_subcommand(1);
  AddCollectSourceCommands(*group, chosen);

  auto list_options = std::make_shared<CollectOptions>();
  CLI::App* list = group->add_subcommand("list", "items, newest arrival first");
  list->footer("Example:\n  winnow collect list --channel quay-wire --count 5");
  list->add_option("--namespace", list_options->item_namespace, "namespace (default: \"default\")");
  list->add_option("--channel", list_options->channel, "only items of this outlet");
  list->add_option("--page-token", list_options->page_token, "go on from here");
  list->add_option("--count", list_options->count, "items")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  list->add_flag("--json", list_options->json, "print the API's JSON");
  AddRemoteOptions(*list, list_options->remote);
  list->callback([list_options, &chosen] {
    chosen = [list_options](const Interrupt&) { return RunList(*list_options); };
  });

  auto get_options = std::make_shared<CollectOptions>();
  CLI::App* get = group->add_subcommand("get", "one item");
  get->footer("Example:\n  winnow collect get 019c1f2e-0000-7000-8000-000000000000 --json");
  get->add_option("ID", get_options->id, "id of the item")->required();
  get->add_flag("--json", get_options->json, "print the API's JSON");
  AddRemoteOptions(*get, get_options->remote);
  get->callback([get_options, &chosen] {
    chosen = [get_options](const Interrupt&) { return RunGet(*get_options); };
  });
}

}  // namespace winnow::app
