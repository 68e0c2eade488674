#include "core/model/architecture.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/text_input.h"

#include <string>

using namespace headwise;

namespace {

/// One layer of four heads in the names that the seeds explain; every number is 0.
std::string smallWeights()
{
    static constexpr std::string_view shapes[][2] = {
        {"e", "[3,4]"},     {"p", "[2,4]"},      {"b.0.q", "[8,4]"}, {"b.0.k", "[8,4]"}, {"b.0.v", "[8,4]"},
        {"b.0.o", "[4,8]"}, {"b.0.f", "[24,4]"}, {"b.0.n", "[4]"},   {"u", "[3,4]"},
    };
    static constexpr int counts[] = {12, 8, 32, 32, 32, 32, 96, 4, 12};
    std::string header = "{";
    int at = 0;
    for (std::size_t i = 0; i < std::size(counts); ++i) {
        header += std::string(i > 0 ? "," : "") + "\"" + std::string(shapes[i][0])
            + R"(":{"dtype":"F32","shape":)" + std::string(shapes[i][1]) + R"(,"data_offsets":[)"
            + std::to_string(at) + "," + std::to_string(at + 4 * counts[i]) + "]}";
        at += 4 * counts[i];
    }
    header += "}";
    header.append((8 - header.size() % 8) % 8, ' ');
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size() & 255);
    length[1] = static_cast<char>(header.size() >> 8);
    return length + header + std::string(static_cast<std::size_t>(at), '\0');
}

} // namespace

/// A map, and what it makes of a small model.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const fuzz::InputFolder folder;
    static const std::string weights = smallWeights();
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
