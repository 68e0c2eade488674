#include "app/address.h"
#include "tests/fuzz/text_input.h"

using namespace headwise;

/// Addresses of places in a model: an address that parses is written and parsed as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto address = app::parseAddress(fuzz::textOf(data, size));
    if (!fuzz::isAnswered(address))
        return 0;
    fuzz::require(!address->model.empty() && address->model.string().find('\0') == std::string::npos);
    const auto again = app::parseAddress(app::addressText(*address));
    fuzz::require(again && *again == *address);
    return 0;
}
