#pragma once

#include <string>
#include <string_view>

#include "services/collector/items/item.h"
#include "services/collector/items/listing.h"
#include "winnow/collector/v1/collector.pb.h"
#include "winnow/collector/v1/collector_service.pb.h"

// The only place that maps the API's messages to the domain and back.
namespace winnow::collector {

// What a caller may set; the rest is ignored, as output only fields are. Adds the violations of
// fields that the domain type cannot hold, under `path`.
Item FromProto(const v1::Item& item, std::string_view path, Violations& violations);

v1::Item ToProto(Item item);
v1::StoredItem ToStored(PutItem put);

// The listing that a request asks for. Errors: INVALID_ARGUMENT with all violations, or the page
// token's.
StatusOr<ListQuery> FromProto(const v1::ListItemsRequest& request);

// The token that goes on after `cursor` in the listing of `query`.
std::string ToPageToken(const ListQuery& query, const ListCursor& cursor);

}  // namespace winnow::collector
