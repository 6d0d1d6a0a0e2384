set(WINNOW_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")
if(WINNOW_SANITIZE)
  # Checks of pointers at every access are given up: they cost a quarter of the compilation, and
  # AddressSanitizer reports most of what they find.
  set(WINNOW_UNCHECKED null object-size pointer-overflow nonnull-attribute
    returns-nonnull-attribute vptr alignment)
  list(JOIN WINNOW_UNCHECKED "," WINNOW_UNCHECKED)
  add_compile_options(-fsanitize=${WINNOW_SANITIZE} -fno-sanitize=${WINNOW_UNCHECKED}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${WINNOW_SANITIZE})
endif()
