#include "tests/support/grpc/health_client.h"

#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <stdexcept>

namespace winnow::test {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kNotServing = 2;  // of grpc.health.v1.HealthCheckResponse

// A message of one string field. Debian ships neither proto, and one field needs none.
grpc::ByteBuffer StringMessage(int field, const std::string& text) {
  UnknownFieldSet message;
  message.AddLengthDelimited(field, text);
  std::string bytes;
  message.SerializeToString(&bytes);
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

struct Field {
  int number = 0;
  uint64_t varint = 0;
  std::string bytes;
};

std::vector<Field> Parse(const std::string& bytes) {
  UnknownFieldSet set;
  if (!set.ParseFromString(bytes)) throw std::runtime_error("the answer is no message");
  std::vector<Field> fields;
  for (int i = 0; i < set.field_count(); ++i) {
    const UnknownField& field = set.field(i);
    if (field.type() == UnknownField::TYPE_VARINT) {
      fields.push_back({field.number(), field.varint(), ""});
    } else if (field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      fields.push_back({field.number(), 0, field.length_delimited()});
    }
  }
  return fields;
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) throw std::runtime_error("the answer cannot be read");
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

struct Answer {
  grpc::Status status;
  grpc::ByteBuffer response;
};

// One request, one response, on any kind of method.
Answer CallOnce(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto step = [&] { return queue.Next(&tag, &ok) && ok; };
  Answer answer;
  call->StartCall(nullptr);
  bool going = step();
  if (going) call->WriteLast(request, {}, nullptr);
  going = going && step();
  if (going) call->Read(&answer.response, nullptr);
  if (going) step();
  call->Finish(&answer.status, nullptr);
  step();
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  return answer;
}

std::string AskReflection(const std::shared_ptr<grpc::Channel>& channel, int field,
                          const std::string& text) {
  const Answer answer =
      CallOnce(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
               StringMessage(field, text));
  if (!answer.status.ok()) throw std::runtime_error(answer.status.error_message());
  return BytesOf(answer.response);
}

}  // namespace

Serving CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  const Answer answer =
      CallOnce(channel, "/grpc.health.v1.Health/Check", StringMessage(1, service));
  if (answer.status.error_code() == grpc::NOT_FOUND) return Serving::kUnknown;
  if (!answer.status.ok()) throw std::runtime_error(answer.status.error_message());
  const std::vector<Field> fields = Parse(BytesOf(answer.response));
  if (fields.empty()) return Serving::kUnknown;
  return fields[0].varint == kNotServing ? Serving::kNo : Serving::kYes;
}

std::string DescriptionOf(const std::shared_ptr<grpc::Channel>& channel,
                          const std::string& symbol) {
  constexpr int kFileContainingSymbol = 4;
  constexpr int kFileDescriptorResponse = 4;
  std::string files;
  for (const Field& field : Parse(AskReflection(channel, kFileContainingSymbol, symbol))) {
    if (field.number == kFileDescriptorResponse) files += field.bytes;
  }
  return files;
}

std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel) {
  constexpr int kListServices = 7;
  constexpr int kListServicesResponse = 6;
  std::vector<std::string> names;
  for (const Field& field : Parse(AskReflection(channel, kListServices, "*"))) {
    if (field.number != kListServicesResponse) continue;
    for (const Field& service : Parse(field.bytes)) names.push_back(Parse(service.bytes)[0].bytes);
  }
  return names;
}

}  // namespace winnow::test
