#include <iostream>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/verb.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::app {
namespace {

using collector::v1::CollectorService;
using collector::v1::Item;
using Stub = CollectorService::Stub;

struct ListOptions : VerbOptions {
  std::string item_namespace;
  std::string channel;
  std::string page_token;
  int count = 20;
};

struct GetOptions : VerbOptions {
  std::string id;
};

void PrintItem(const Item& item) {
  std::cout << item.id() << "  " << ShortTime(item.arrival_time()) << "  "
            << Printable(item.channel()) << ": " << Printable(item.title()) << '\n';
}

StatusOr<int> RunList(const ListOptions& options, const Interrupt&) {
  collector::v1::ListItemsRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_channel(options.channel);
  request.set_page_size(options.count);
  request.set_page_token(options.page_token);
  WINNOW_ASSIGN_OR_RETURN(const auto page,
                          CallOnce<CollectorService>(options.remote, &Stub::ListItems, request));
  if (options.json) return PrintJson(page);
  for (const Item& item : page.items()) PrintItem(item);
  if (page.items().empty()) std::cout << "no items\n";
  PrintNextPage(page.next_page_token());
  return kOk;
}

StatusOr<int> RunGet(const GetOptions& options, const Interrupt&) {
  collector::v1::GetItemRequest request;
  request.set_id(options.id);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<CollectorService>(options.remote, &Stub::GetItem, request));
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

  auto [list, listed] = AddVerb(*group, chosen, "list", "items, newest arrival first", RunList);
  list.footer("Example:\n  winnow collect list --channel quay-wire --count 5");
  AddNamespace(list, listed.item_namespace);
  list.add_option("--channel", listed.channel, "only items of this outlet");
  AddPageToken(list, listed.page_token);
  AddCount(list, listed.count, 1000, "items");

  auto [get, got] = AddVerb(*group, chosen, "get", "one item", RunGet);
  get.footer("Example:\n  winnow collect get 019c1f2e-0000-7000-8000-000000000000 --json");
  get.add_option("ID", got.id, "id of the item")->required();
}

}  // namespace winnow::app
