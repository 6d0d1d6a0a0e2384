set(WINNOW_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")
if(WINNOW_SANITIZE)
  # What AddressSanitizer reports of a bad pointer too, UndefinedBehaviorSanitizer need not: its
  # checks at every access cost a quarter of the compilation.
  set(WINNOW_CHECKED_TWICE null object-size pointer-overflow nonnull-attribute
    returns-nonnull-attribute vptr alignment)
  list(JOIN WINNOW_CHECKED_TWICE "," WINNOW_CHECKED_TWICE)
  add_compile_options(-fsanitize=${WINNOW_SANITIZE} -fno-sanitize=${WINNOW_CHECKED_TWICE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${WINNOW_SANITIZE})
endif()
