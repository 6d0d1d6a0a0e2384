# Run by winnow_embed: writes ${OUT} with one raw string per file of ${FILES}.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "    {\"${name}\", R\"winnow_file(${text})winnow_file\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"services/platform/base/embedded_file.h\"

namespace winnow::embedded {
namespace {
const File kFiles[] = {
${entries}};
}  // namespace
extern const std::span<const File> ${SYMBOL};
const std::span<const File> ${SYMBOL}(kFiles);
}  // namespace winnow::embedded
")
