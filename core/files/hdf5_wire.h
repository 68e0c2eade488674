#pragma once

// Private to hdf5_*.cpp and its fuzz target: the protocol between Hdf5Reader and the process that reads the file for it.

#include "core/files/hdf5.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::hdf5 {

inline constexpr std::size_t maxRank = 8;
inline constexpr std::size_t mostSentenceBytes = 4096; ///< for an error message
inline constexpr std::size_t mostPathBytes = 65536;    ///< for a path inside the file
/// Values pass through shared memory in two halves: one is filled while the other is emptied. The halves are smaller if
/// the system limits file sizes, which include this memory.
inline constexpr std::size_t mostHalfBytes = std::size_t(4) << 20;

enum class Question : std::uint32_t { Attributes, Entries, Has, Numbers, Texts, Bytes, Block };
enum class Answer : std::uint32_t {
    Ready,   ///< The process is running; always the first answer.
    Good,    ///< The whole answer, encoded as below.
    Numbers, ///< A shape; its values follow as answers of the kind Values.
    /// `bytes` of values are in one half of the shared memory, without a payload. One byte sent back says that they were
    /// taken.
    Values,
    Failure, ///< An Error.
};

/// The header of every question and answer.
struct Frame {
    std::uint32_t kind = 0;
    std::uint32_t half = 0;  ///< With Values: 0 or 1.
    std::uint64_t bytes = 0; ///< Length of the payload that follows.
};
static_assert(sizeof(Frame) == 16);

/// The alternative of Hdf5Values, and the shape.
struct NumbersHeader {
    std::size_t type = 0;
    std::vector<std::size_t> shape;
    std::size_t count = 0; ///< Product of shape.
    std::size_t bytes = 0; ///< total of all values

    bool operator==(const NumbersHeader&) const = default;
};

/// Returns the limit on the bytes that all arrays of a file may unpack to. Real sessions shrink to a third, long runs of
/// one value to a thousandth. A file that claims more is a bomb.
std::size_t unpackLimit(std::size_t fileBytes);

std::string encoded(const Error& error);
std::string encoded(bool value);
std::string encoded(const NumbersHeader& header);
std::string encoded(const std::vector<Hdf5Entry>& entries);
std::string encoded(const Hdf5Attributes& attributes);
std::string encoded(const std::vector<std::string>& rows);

/// The question for a part of an array: the path, a NUL, and two numbers of 64 bits for each dimension.
std::string encodedBlock(std::string_view path, const Hdf5Block& block);
/// \param path set to the path \return nothing for other bytes
std::optional<Hdf5Block> decodedBlock(std::string_view bytes, std::string& path);

/// Return nothing unless the bytes are exactly the output of encoded(): the sending process may be under the file's
/// control.
std::optional<Error> decodedError(std::string_view bytes);
std::optional<bool> decodedFlag(std::string_view bytes);
std::optional<NumbersHeader> decodedNumbers(std::string_view bytes);
std::optional<std::vector<Hdf5Entry>> decodedEntries(std::string_view bytes);
std::optional<Hdf5Attributes> decodedAttributes(std::string_view bytes);
std::optional<std::vector<std::string>> decodedRows(std::string_view bytes);

} // namespace headwise::hdf5
