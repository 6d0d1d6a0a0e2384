#pragma once

#include <memory>
#include <string>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/feed/feed_answer.h"
#include "services/newsfeed/feed/feed_prefix.h"
#include "services/newsfeed/feed/feed_query.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

// Articles are kept in memory and in Redis as serialized winnow.newsfeed.v1.Article messages, so
// that a page is assembled without encoding them again. Only these files and api/ know the message.
namespace winnow::newsfeed {

v1::Article ToProto(StoredArticle article);
std::shared_ptr<const EncodedArticle> Encode(StoredArticle article);
StorePart Encode(FeedPage page);
// `bytes` as made by Encode; null if they are not a message.
std::shared_ptr<const EncodedArticle> Decode(std::string bytes);

}  // namespace winnow::newsfeed
