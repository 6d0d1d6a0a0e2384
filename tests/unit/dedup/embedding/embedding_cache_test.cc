#include "services/dedup/embedding/embedding_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "services/dedup/embedding/circuit.h"
#include "services/dedup/embedding/embedding_text.h"
#include "services/dedup/index/dot.h"
#include "services/dedup/index/window_index.h"
#include "services/platform/base/text.h"
#include "tests/support/dedup/dedup_world.h"

namespace winnow::dedup::index {
namespace {

Vector RandomVector(std::mt19937_64& random, size_t dimensions, int largest = 127) {
  Vector vector(dimensions);
  for (int8_t& value : vector) {
    value = static_cast<int8_t>(static_cast<int>(random() % (2 * largest + 1)) - largest);
  }
  return vector;
}

TEST(DotKernels, AllGiveTheIntegersOfThePlainOne) {
  std::mt19937_64 random(1);
  for (const size_t stride : {64U, 128U, 384U, 768U, 4096U}) {
    for (const bool is_extreme : {false, true}) {
      const size_t count = 37;
      Vector query = RandomVector(random, stride);
      Vector vectors = RandomVector(random, stride * count);
      // What saturates in instructions that add in 16 bits.
      if (is_extreme) {
        for (int8_t& value : query) value = random() % 8 == 0 ? -127 : 127;
        for (int8_t& value : vectors) value = random() % 8 == 0 ? 127 : -127;
      }
      std::vector<int32_t> expected(count);
      for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < stride; ++k) expected[i] += query[k] * vectors[i * stride + k];
      }
      for (const Kernel kernel : {Kernel::kScalar, Kernel::kAvx2, Kernel::kAvx512Vnni}) {
        if (!IsSupported(kernel)) continue;
        std::vector<int32_t> dots(count);
        DotAll(kernel, query.data(), vectors.data(), stride, dots);
        EXPECT_EQ(dots, expected) << NameOf(kernel) << ", stride " << stride;
      }
    }
  }
  EXPECT_TRUE(IsSupported(BestKernel()));
}

TEST(Quantize, KeepsTheDirectionAndRefusesWhatHasNone) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<float> a(384);
    std::vector<float> b(384);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = normal(random);
      b[i] = a[i] + normal(random) * 0.5F;
    }
    double dot = 0;
    double aa = 0;
    double bb = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      dot += a[i] * b[i];
      aa += a[i] * a[i];
      bb += b[i] * b[i];
    }
    worst = std::max(worst,
                     std::abs(VectorCosine(*Quantize(a), *Quantize(b)) - dot / std::sqrt(aa * bb)));
  }
  EXPECT_LT(worst, 0.002);
  const std::vector<float> zeros(3);
  EXPECT_FALSE(Quantize(zeros).has_value());
  EXPECT_FALSE(Quantize({}).has_value());
  const std::vector<float> odd = {1, NAN};
  EXPECT_FALSE(Quantize(odd).has_value());
}

// Segments of more entries than are looked at together, from any slot on, with entries without a
// vector between: each is visited once, with its own cosine, and none before the edge.
TEST(VectorField, LooksAtEveryEntryOfLongSegments) {
  constexpr size_t kDimensions = 70;
  std::mt19937_64 random(3);
  for (const size_t held : {1U, 1'023U, 1'024U, 1'025U, 2'048U, 3'001U}) {
    VectorField field;
    std::vector<Vector> vectors;
    for (uint16_t segment = 0; segment < 2; ++segment) {
      field.AddSegment(segment);
      for (size_t i = 0; i < held; ++i) {
        vectors.push_back(random() % 9 == 0 ? Vector() : RandomVector(random, kDimensions));
        field.Append(vectors.back());
      }
    }
    const Vector query = RandomVector(random, kDimensions);
    for (const size_t from : {size_t{0}, held / 2, held - 1}) {
      for (const double least : {0.05, 0.2}) {
        std::map<size_t, double> expected;
        for (size_t i = from; i < vectors.size(); ++i) {
          const double cosine = VectorCosine(query, vectors[i]);
          if (cosine >= least) expected[i] = cosine;
        }
        size_t visited = 0;
        field.ForEachNear(query, least, 0, static_cast<uint16_t>(from),
                          [&](uint16_t segment, uint16_t slot, double cosine) {
                            ++visited;
                            const auto at = expected.find(segment * held + slot);
                            ASSERT_NE(at, expected.end()) << held << ", from " << from;
                            EXPECT_NEAR(cosine, at->second, 1e-6);
                          });
        EXPECT_EQ(visited, expected.size()) << held << ", from " << from;
      }
    }
  }
}

// The scan against every cosine one by one, with segments that come, go and are taken back, and
// entries without a vector.
TEST(WindowIndex, FindsEveryVectorThatIsNear) {
  for (uint64_t seed = 1; seed <= WorldCount(30) && !HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const size_t dimensions = 1 + random() % 200;
    WindowIndex index({.segment_span = std::chrono::microseconds(1 + random() % 50),
                       .segment_entries = static_cast<uint16_t>(1 + random() % 40)});
    std::vector<Vector> vectors;
    int64_t kept = 0;
    for (int64_t seq = 1; seq <= 120; ++seq) {
      Vector vector = random() % 5 == 0 ? Vector() : RandomVector(random, dimensions, 3);
      const Time now{std::chrono::microseconds(seq)};
      const Time earliest = now - std::chrono::microseconds(30);
      const double least = 0.2;
      std::map<int64_t, bool> expected;
      for (size_t i = 0; i < vectors.size(); ++i) {
        const bool is_within = Time(std::chrono::microseconds(i + 1)) >= earliest;
        // What lies on the edge to the last bit is left to either.
        const double cosine = VectorCosine(vector, vectors[i]);
        if (is_within && cosine > least + 1e-6) expected[static_cast<int64_t>(i + 1)] = true;
      }
      std::vector<NearEntry> found;
      if (const auto edge = index.EdgeAt(earliest)) index.FindNear(vector, least, *edge, found);
      std::map<int64_t, bool> got;
      for (const NearEntry& near : found) {
        const int64_t other = index.seq(near.ref);
        const double cosine = VectorCosine(vector, vectors[static_cast<size_t>(other - 1)]);
        EXPECT_NEAR(near.cosine, cosine, 1e-5);
        EXPECT_NEAR(VectorCosine(vector, index.vector(near.ref)), cosine, 1e-9);
        if (cosine > least + 1e-6) got[other] = true;
      }
      EXPECT_EQ(got, expected) << "seed " << seed << ", document " << seq;
      index.Append({seq, now, 0, 0, 0, {}, {}, {}, {}, vector});
      vectors.push_back(std::move(vector));
      if (random() % 10 == 0) {
        const int64_t back = std::max(kept, seq - static_cast<int64_t>(random() % 6));
        index.RemoveAfter(back);
        vectors.resize(static_cast<size_t>(back));
        seq = back;
      }
      if (random() % 7 == 0) {
        kept = seq;
        index.Expire(Time(std::chrono::microseconds(seq)) - std::chrono::microseconds(30));
      }
    }
  }
}

}  // namespace
}  // namespace winnow::dedup::index

namespace winnow::dedup {
namespace {

TEST(EmbeddingCache, ForgetsTheLeastRecentlyUsed) {
  EmbeddingCache cache(2);
  cache.Put("a", {1});
  cache.Put("b", {2});
  ASSERT_NE(cache.Find("a"), nullptr);
  cache.Put("c", {3});
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.Find("b"), nullptr);
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(*cache.Find("c"), index::Vector{3});
}

TEST(Circuit, LetsOneTryThroughAfterAPauseThatGrows) {
  Circuit circuit;
  Deadline now{};
  for (int i = 0; i < Circuit::kFailures; ++i) {
    EXPECT_TRUE(circuit.TryBegin(now));
    circuit.Fail(now);
  }
  EXPECT_TRUE(circuit.is_open());
  EXPECT_FALSE(circuit.TryBegin(now));
  now += Circuit::kFirstPause;
  EXPECT_TRUE(circuit.TryBegin(now));
  EXPECT_FALSE(circuit.TryBegin(now)) << "one at a time";
  circuit.Fail(now);
  now += Circuit::kFirstPause;
  EXPECT_FALSE(circuit.TryBegin(now));
  now += Circuit::kFirstPause;
  EXPECT_TRUE(circuit.TryBegin(now));
  circuit.Succeed();
  EXPECT_FALSE(circuit.is_open());
  EXPECT_TRUE(circuit.TryBegin(now));
}

TEST(EmbeddingText, IsCutBetweenCharactersAtAbout512Tokens) {
  EXPECT_EQ(EmbeddingText("짧은 글"), "짧은 글");
  std::string korean;
  for (int i = 0; i < 2'000; ++i) korean += "가";
  const std::string cut = EmbeddingText(korean);
  EXPECT_EQ(CountCharacters(cut), 682U);
  EXPECT_EQ(cut.size() % 3, 0U);
  EXPECT_EQ(EmbeddingText(std::string(9'000, 'a')).size(), 2'048U);
}

}  // namespace
}  // namespace winnow::dedup
