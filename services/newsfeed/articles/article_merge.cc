#include <algorithm>

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/text.h"

// Merge: one page, reported by two sources. README.md states the order that is kept here.
namespace winnow::newsfeed {
namespace {

bool IsCutOff(std::string_view title) {
  return title.ends_with("...") || title.ends_with("\xE2\x80\xA6");  // U+2026
}

bool IsUnknown(std::string_view language) { return language.empty() || language == "und"; }

bool Take(std::string& mine, const std::string& theirs, bool better) {
  if (!better) return false;
  mine = theirs;
  return true;
}

bool Fill(std::string& mine, const std::string& theirs) {
  return Take(mine, theirs, mine.empty() && !theirs.empty());
}

bool Unite(std::vector<std::string>& mine, const std::vector<std::string>& theirs) {
  bool changed = false;
  for (const std::string& text : theirs) {
    if (mine.size() >= kMaxTags) break;
    if (std::find(mine.begin(), mine.end(), text) != mine.end()) continue;
    mine.push_back(text);
    changed = true;
  }
  return changed;
}

bool Unite(std::vector<CategoryLabel>& mine, const std::vector<CategoryLabel>& theirs) {
  bool changed = false;
  for (const CategoryLabel& label : theirs) {
    const auto found =
        std::find_if(mine.begin(), mine.end(), [&](const auto& own) { return own.id == label.id; });
    if (found == mine.end()) {
      if (mine.size() >= kMaxCategories) continue;
      mine.push_back(label);
      changed = true;
    } else if (label.score > found->score) {
      *found = label;
      changed = true;
    }
  }
  return changed;
}

bool MergeTexts(Article& mine, const Article& sent) {
  bool changed = Take(mine.title, sent.title, IsCutOff(mine.title) && !IsCutOff(sent.title));
  changed |= Take(mine.snippet, sent.snippet,
                  CountCharacters(sent.snippet) > CountCharacters(mine.snippet));
  changed |=
      Take(mine.language, sent.language, IsUnknown(mine.language) && !IsUnknown(sent.language));
  changed |= Fill(mine.thumbnail_url, sent.thumbnail_url);
  changed |= Fill(mine.video_url, sent.video_url);
  if (mine.source == sent.source) {  // another outlet's name or icon would be wrong here
    changed |= Fill(mine.source_name, sent.source_name);
    changed |= Fill(mine.source_icon_url, sent.source_icon_url);
  }
  return changed;
}

}  // namespace

bool Merge(StoredArticle& stored, const Article& sent, Time latest, Time now) {
  bool changed = MergeTexts(stored.content, sent);
  changed |= Unite(stored.content.categories, sent.categories);
  changed |= Unite(stored.content.keywords, sent.keywords);
  changed |= Unite(stored.content.ai_tags, sent.ai_tags);
  const Millis time = ClampPublishTime(sent.publish_time, latest).time;
  if (time < stored.first_publish_time) {
    stored.first_publish_time = time;
    changed = true;
  }
  if (changed) {
    ++stored.revision;
    stored.update_time = now;
  }
  return changed;
}

}  // namespace winnow::newsfeed
