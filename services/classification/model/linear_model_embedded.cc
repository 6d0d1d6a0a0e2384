#include <stdexcept>

#include "services/classification/model/linear_model.h"

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
