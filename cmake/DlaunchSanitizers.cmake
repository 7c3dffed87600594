if(DLAUNCH_SANITIZE)
  add_compile_options(-fsanitize=${DLAUNCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DLAUNCH_SANITIZE})
  if(DLAUNCH_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)  # Asio uses atomic_thread_fence, which TSan does not model
  endif()
endif()
