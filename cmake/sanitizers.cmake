set(WINNOW_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")
if(WINNOW_SANITIZE)
  add_compile_options(-fsanitize=${WINNOW_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${WINNOW_SANITIZE})
endif()
