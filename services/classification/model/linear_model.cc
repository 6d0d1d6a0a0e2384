#include "services/classification/model/linear_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

// The weights go into the binary as they are; a string constant of this size would take the
// compiler longer than the rest of the service.
__asm__(
    ".pushsection .rodata\n"
    ".global winnow_comment_model\n"
    "winnow_comment_model:\n"
    ".incbin \"" WINNOW_COMMENT_MODEL
    "\"\n"
    ".global winnow_comment_model_end\n"
    "winnow_comment_model_end:\n"
    ".popsection\n");
extern "C" {
extern const char winnow_comment_model[];
extern const char winnow_comment_model_end[];
}

namespace winnow::classification {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr size_t kMayGrow = 1000;

// One code point of valid or invalid UTF-8; advances by at least a byte.
char32_t Decode(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint32_t first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  if (first >= 0xC2 && first < 0xE0 && tail(at + 1)) {
    const char32_t c = ((first & 0x1F) << 6) | (byte(at + 1) & 0x3F);
    at += 2;
    return c;
  }
  if (first >= 0xE0 && first < 0xF0 && tail(at + 1) && tail(at + 2)) {
    const char32_t c =
        ((first & 0x0F) << 12) | ((byte(at + 1) & 0x3F) << 6) | (byte(at + 2) & 0x3F);
    if (c >= 0x800 && (c < 0xD800 || c > 0xDFFF)) {
      at += 3;
      return c;
    }
  }
  if (first >= 0xF0 && first < 0xF5 && tail(at + 1) && tail(at + 2) && tail(at + 3)) {
    const char32_t c = ((first & 0x07) << 18) | ((byte(at + 1) & 0x3F) << 12) |
                       ((byte(at + 2) & 0x3F) << 6) | (byte(at + 3) & 0x3F);
    if (c >= 0x10000 && c <= 0x10FFFF) {
      at += 4;
      return c;
    }
  }
  ++at;
  return kReplacement;
}

// NFKC leaves it alone, and case folding is ASCII's: ASCII, Hangul, curly quotes, symbols,
// unified ideographs and emoji. A test holds it against ICU.
bool IsPlain(char32_t c) {
  return c < 0x80 || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x2018 && c <= 0x201F) ||
         (c >= 0x2600 && c <= 0x27BF) || (c >= 0x4E00 && c <= 0x9FFF) ||
         (c >= 0x1F300 && c <= 0x1FAFF);
}
bool IsJamo(char32_t c) { return c >= 0x3131 && c <= 0x3163; }
bool IsSpace(char32_t c) { return c <= 0x20 || c == 0x7F || c == 0x85; }

// A letter or digit of a handle. Korean particles follow a handle without a space: "@name님".
bool IsHandleCharacter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

void AppendRun(std::string_view bytes, std::u32string& out) {
  const std::string normal = NormalizeNfkcCaseFold(bytes);
  for (size_t at = 0; at < normal.size();) out += Decode(normal, at);
}

// Code points, normalised, not yet masked or squashed.
void ToCodePoints(std::string_view text, std::u32string& out) {
  const size_t limit = std::max(text.size(), kMayGrow);
  size_t before = 0;  // where the character before begins
  for (size_t at = 0; at < text.size() && out.size() < limit;) {
    const size_t begin = at;
    char32_t c = Decode(text, at);
    if (IsPlain(c)) {
      out += c >= 'A' && c <= 'Z' ? c + 32 : c;
      before = begin;
      continue;
    }
    if (IsJamo(c)) {
      out += c;
      before = at;
      continue;
    }
    // What needs NFKC goes there in one piece, with the character that a mark may combine with.
    size_t end = at;
    while (at < text.size()) {
      c = Decode(text, at);
      if (IsPlain(c) || IsJamo(c)) break;
      end = at;
    }
    at = end;
    if (before < begin) out.pop_back();
    AppendRun(text.substr(before, end - before), out);
    before = end;
  }
  if (out.size() > limit) out.resize(limit);
}

bool StartsWith(std::u32string_view text, size_t at, std::u32string_view prefix) {
  return text.substr(at, prefix.size()) == prefix;
}

bool IsUrl(std::u32string_view text, size_t at) {
  if (text[at] == 'h') {
    return StartsWith(text, at, U"http://") || StartsWith(text, at, U"https://");
  }
  return text[at] == 'w' && StartsWith(text, at, U"www.");
}

constexpr std::string_view kMagic = "WNCLASS1";

void PutNumber(uint64_t number, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(number >> shift);
}
void PutDouble(double number, std::string& out) { PutNumber(std::bit_cast<uint64_t>(number), out); }
void PutText(std::string_view text, std::string& out) {
  PutNumber(text.size(), out);
  out += text;
}

// Reads what Put wrote; `ok` is false from the first missing byte on.
struct Reader {
  std::string_view bytes;
  bool ok = true;

  std::string_view Take(size_t count) {
    if (!ok || bytes.size() < count) {
      ok = false;
      return {};
    }
    const std::string_view taken = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return taken;
  }
  uint64_t Number() {
    uint64_t number = 0;
    int shift = 0;
    for (const char c : Take(8)) {
      number |= uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return number;
  }
  double Double() { return std::bit_cast<double>(Number()); }
  std::string Text() { return std::string(Take(std::min<uint64_t>(Number(), 100))); }
};

using Lanes8 = int8_t __attribute__((vector_size(8)));
using Lanes16 = int16_t __attribute__((vector_size(16)));
static_assert(sizeof(Lanes8) == kMaxHeads);

std::string ToUtf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    if (c == kUrlMark) {
      out += "<url>";
    } else if (c == kHandleMark) {
      out += "<handle>";
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 | (c >> 6));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 | (c >> 12));
      out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | (c >> 18));
      out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
      out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return out;
}

struct Weighed {
  size_t begin = 0;
  size_t end = 0;
  int weight = 0;
};

}  // namespace

void NormalizeComment(std::string_view text, std::u32string& out) {
  thread_local std::u32string points;
  points.clear();
  ToCodePoints(text, points);
  out.assign(1, U' ');
  const auto append = [&](char32_t c) {
    const size_t size = out.size();
    if (c == U' ' ? out.back() == U' ' : size >= 2 && out[size - 1] == c && out[size - 2] == c) {
      return;
    }
    out += c;
  };
  for (size_t at = 0; at < points.size();) {
    const char32_t c = points[at];
    if (IsUrl(points, at)) {
      while (at < points.size() && points[at] > 0x20 && points[at] < 0x7F) ++at;
      append(kUrlMark);
    } else if (c == U'@' && at + 1 < points.size() && IsHandleCharacter(points[at + 1])) {
      ++at;
      while (at < points.size() && IsHandleCharacter(points[at])) ++at;
      append(kHandleMark);
    } else {
      append(IsSpace(c) ? U' ' : c);
      ++at;
    }
  }
  if (out.back() != U' ') out += U' ';
}

std::string LinearModel::Serialize(const std::string& version, std::span<const Head> heads,
                                   std::span<const int8_t> weights) {
  std::string out(kMagic);
  PutText(version, out);
  PutNumber(heads.size(), out);
  for (const Head& head : heads) {
    PutText(head.name, out);
    for (const double number : {head.scale, head.bias, head.slope, head.offset, head.threshold}) {
      PutDouble(number, out);
    }
  }
  for (const int8_t weight : weights) out += static_cast<char>(weight);
  PutNumber(Hash64(out), out);
  return out;
}

StatusOr<LinearModel> LinearModel::Parse(std::string_view bytes) {
  if (bytes.size() < 8) return Internal("model: cut");
  Reader checksum{bytes.substr(bytes.size() - 8)};
  bytes.remove_suffix(8);
  if (checksum.Number() != Hash64(bytes)) return Internal("model: its checksum is wrong");
  Reader in{bytes};
  if (in.Take(kMagic.size()) != kMagic) return Internal("model: of another format");
  LinearModel model;
  model.version_ = in.Text();
  const uint64_t heads = in.Number();
  if (heads < 1 || heads > kMaxHeads) return Internal("model: a bad number of heads");
  for (uint64_t i = 0; i < heads; ++i) {
    Head head;
    head.name = in.Text();
    head.scale = in.Double();
    head.bias = in.Double();
    head.slope = in.Double();
    head.offset = in.Double();
    head.threshold = in.Double();
    model.heads_.push_back(std::move(head));
  }
  if (!in.ok || in.bytes.size() != kBuckets * heads) return Internal("model: of a wrong size");
  model.weights_.resize(kBuckets);
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    std::memcpy(model.weights_[bucket].data(), in.bytes.data() + bucket * heads, heads);
  }
  return model;
}

int LinearModel::Find(std::string_view name) const {
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (heads_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Scores LinearModel::Score(std::string_view text) const {
  thread_local std::u32string normal;
  NormalizeComment(text, normal);
  std::array<int32_t, kMaxHeads> sums{};
  Lanes16 lanes{};
  int room = 256;  // additions until an int16 might overflow
  const auto flush = [&] {
    for (size_t i = 0; i < kMaxHeads; ++i) sums[i] += lanes[i];
    lanes = Lanes16{};
    room = 256;
  };
  const size_t count = ForEachFeature(normal, [&](uint32_t bucket, size_t, size_t) {
    Lanes8 weights;
    std::memcpy(&weights, weights_[bucket].data(), sizeof weights);
    lanes += __builtin_convertvector(weights, Lanes16);
    if (--room == 0) flush();
  });
  flush();
  const double norm = count == 0 ? 0 : 1 / std::sqrt(static_cast<double>(count));
  Scores scores{};
  for (size_t i = 0; i < heads_.size(); ++i) {
    const Head& head = heads_[i];
    const double score = head.bias + head.scale * norm * sums[i];
    scores[i] = static_cast<float>(1 / (1 + std::exp(head.slope * score + head.offset)));
  }
  return scores;
}

std::vector<Contribution> LinearModel::Explain(std::string_view text, size_t head,
                                               size_t count) const {
  std::u32string normal;
  NormalizeComment(text, normal);
  std::vector<Weighed> all;
  const size_t features = ForEachFeature(normal, [&](uint32_t bucket, size_t begin, size_t end) {
    const int weight = weights_[bucket][head];
    if (weight != 0) all.push_back({begin, end, weight});
  });
  std::stable_sort(all.begin(), all.end(), [](const Weighed& a, const Weighed& b) {
    return std::abs(a.weight) > std::abs(b.weight);
  });
  const double unit = heads_[head].scale / std::sqrt(std::max<double>(1, double(features)));
  std::vector<Weighed> kept;
  std::vector<Contribution> shown;
  for (const Weighed& one : all) {
    if (shown.size() == count) break;
    const bool inside = std::any_of(kept.begin(), kept.end(), [&](const Weighed& other) {
      return other.begin <= one.begin && one.end <= other.end;
    });
    if (inside) continue;
    kept.push_back(one);
    shown.push_back({ToUtf8(std::u32string_view(normal).substr(one.begin, one.end - one.begin)),
                     unit * one.weight});
  }
  return shown;
}

const LinearModel& EmbeddedModel() {
  static const LinearModel model = [] {
    auto parsed =
        LinearModel::Parse({winnow_comment_model,
                            static_cast<size_t>(winnow_comment_model_end - winnow_comment_model)});
    if (!parsed.ok()) throw std::logic_error(Message(parsed.status()));
    return *std::move(parsed);
  }();
  return model;
}

}  // namespace winnow::classification
