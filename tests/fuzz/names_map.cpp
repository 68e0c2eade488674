#include "core/model/architecture.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/text_input.h"
#include "tests/fuzz/zero_weights.h"

#include <string>

using namespace headwise;

namespace {

/// One layer of four heads in the names that the seeds explain.
constexpr fuzz::ZeroTensor smallModel[] = {
    {"e", "[3,4]", 12},      {"p", "[2,4]", 8},      {"b.0.q", "[8,4]", 32},
    {"b.0.k", "[8,4]", 32},  {"b.0.v", "[8,4]", 32}, {"b.0.o", "[4,8]", 32},
    {"b.0.f", "[24,4]", 96}, {"b.0.n", "[4]", 4},    {"u", "[3,4]", 12},
};

} // namespace

/// A map, and what it makes of a small model.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const fuzz::InputFolder folder;
    static const std::string weights = fuzz::zeroWeights(smallModel);
    static const auto file = folder.write("model.safetensors", weights.data(), weights.size());
    if (!fuzz::isAnswered(readNamesMap(fuzz::textOf(data, size), "map.json")))
        return 0;
    folder.write(namesFileName.data(), data, size);
    const auto model = loadModel({folder.path(), std::nullopt, {}}, Task{});
    if (!fuzz::isAnswered(model))
        return 0;
    for (const auto& [key, view] : (*model)->views()) {
        const auto& [kind, layer, head] = key;
        const Matrix<float> matrix = (*model)->read<float>(kind, layer, head);
        fuzz::require(matrix.rows() == view.rows && matrix.cols() == view.cols);
    }
    return 0;
}
