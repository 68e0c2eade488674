#pragma once

#include "core/base/result.h"

namespace headwise {

/// Makes OpenBLAS allocate its working buffers now where the address space of the process is limited.
///
/// OpenBLAS asks for a buffer at the first product of each thread and, where it gets none, asks again for ever. Without a limit
/// this does nothing.
/// \param threads that will multiply at once; 0: one per core
/// Errors: OutOfMemory, with the amount that is needed.
/// Threads: any; a second call asks for no more than the first left to ask for.
Result<Done> reserveBlasBuffers(int threads);

} // namespace headwise
