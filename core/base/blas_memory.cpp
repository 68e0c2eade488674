#include "core/base/blas_memory.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>

// OpenBLAS exports this function but declares it in no header. It is weak: with another BLAS only the reservation is
// lost.
extern "C" __attribute__((weak)) void* blas_memory_alloc(int); // NOLINT(readability-identifier-naming)
extern "C" __attribute__((weak)) void blas_memory_free(void*); // NOLINT(readability-identifier-naming)

namespace headwise {

namespace {

/// The size of one buffer on x86-64 (BUFFER_SIZE of OpenBLAS 0.3), the largest of all processors.
constexpr std::size_t bufferBytes = std::size_t(128) << 20;
/// OpenBLAS aligns a buffer within what it maps, and the program needs some memory to report a failure.
constexpr std::size_t spareBytes = std::size_t(16) << 20;

bool isAddressSpaceLimited()
{
    rlimit limit = {};
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// Tests whether the system would give this many buffers, and returns them at once.
bool wouldGive(int buffers)
{
    std::vector<void*> given;
    bool isGiven = true;
    for (int i = 0; i < buffers && isGiven; ++i) {
        void* const buffer = ::mmap(nullptr, bufferBytes + (i == 0 ? spareBytes : 0), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        isGiven = buffer != MAP_FAILED;
        if (isGiven)
            given.push_back(buffer);
    }
    for (std::size_t i = 0; i < given.size(); ++i)
        ::munmap(given[i], bufferBytes + (i == 0 ? spareBytes : 0));
    return isGiven;
}

} // namespace

Result<Done> reserveBlasBuffers(int threads)
{
    static std::mutex mutex;
    static int reserved = 0; // per process, as OpenBLAS' buffers are
    if (!blas_memory_alloc || !blas_memory_free || !isAddressSpaceLimited())
        return Done{};
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int wanted = threads > 0 ? std::min(threads, cores) : cores;
    const std::lock_guard lock(mutex);
    if (wanted <= reserved)
        return Done{};
    if (!wouldGive(wanted - reserved))
        return Error{
            ErrorCode::OutOfMemory,
            "Multiplying matrices with " + std::to_string(wanted) + " threads needs "
                + std::to_string((bufferBytes * static_cast<std::size_t>(wanted)) >> 20)
                + " MiB of address space, more than this process has left; raise the limit (ulimit -v)"
                + (wanted > 1 ? " or use fewer threads (--threads 1)." : ".")};
    std::vector<void*> buffers;
    for (int i = 0; i < wanted; ++i)
        buffers.push_back(blas_memory_alloc(0));
    for (void* buffer : buffers)
        blas_memory_free(buffer);
    reserved = wanted;
    return Done{};
}

} // namespace headwise
