#pragma once

// Defines HEADWISE_SANITIZED under AddressSanitizer and ThreadSanitizer, of GCC and of Clang.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADWISE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEADWISE_SANITIZED
#endif
#endif
