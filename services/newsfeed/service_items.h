#pragma once

#include "services/newsfeed/worker.h"
#include "services/platform/grpc/peers.h"

namespace winnow::newsfeed {

// Reads items by CollectorService.BatchGetItems.
Worker::ReadItems ItemsOf(const rpc::Peer& collector);

}  // namespace winnow::newsfeed
