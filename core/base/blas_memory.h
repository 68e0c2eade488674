#pragma once

#include "core/base/result.h"

namespace headwise {

/// Makes OpenBLAS allocate its working buffers now if the address space of the process is limited.
///
/// OpenBLAS asks for a buffer at the first product of each thread; if it gets none, it asks again for ever. Without a
/// limit this function does nothing.
/// \param threads number of threads that multiply at the same time; 0: one per core
/// Errors: OutOfMemory, with the amount that is needed.
/// Threads: any; a second call reserves only what the first did not.
Result<Done> reserveBlasBuffers(int threads);

} // namespace headwise
