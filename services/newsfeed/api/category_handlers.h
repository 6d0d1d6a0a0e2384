#pragma once

#include "services/newsfeed/articles/category_store.h"
#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/feed/memory_worker.h"
#include "services/newsfeed/tree/tree_store.h"
#include "services/newsfeed/tree/tree_worker.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// The RPCs of NewsFeedService on the category tree; its proto says what each does.
class CategoryHandlers {
 public:
  // What it works with; all outlive it.
  struct Parts {
    CategoryStore& categories;
    TreeStore& tree;
    TreeWorker& tree_worker;
    MemoryWorker& memory_worker;
    const CommitPosition& last_commit;
  };
  explicit CategoryHandlers(const Parts& parts) : parts_(parts) {}

  WINNOW_HANDLER(CreateCategory);
  WINNOW_HANDLER(UpdateCategory);
  WINNOW_HANDLER(MoveCategory);
  WINNOW_HANDLER(DeleteCategory);
  WINNOW_HANDLER(ListCategories);

 private:
  StatusOr<TreeProgress> Follow(const rpc::CallContext& call, const Category& category);

  const Parts parts_;
};

}  // namespace winnow::newsfeed
