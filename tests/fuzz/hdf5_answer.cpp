#include "core/files/hdf5_wire.h"

#include <cstdint>

/// The first byte selects the question, the rest is the answer of the process that reads a file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace headwise::hdf5;
    if (size == 0)
        return 0;
    const std::string_view answer(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 6) {
    case 0: static_cast<void>(decodedError(answer)); break;
    case 1: static_cast<void>(decodedFlag(answer)); break;
    case 2: static_cast<void>(decodedNumbers(answer)); break;
    case 3: static_cast<void>(decodedEntries(answer)); break;
    case 4: static_cast<void>(decodedAttributes(answer)); break;
    default: static_cast<void>(decodedRows(answer)); break;
    }
    return 0;
}
