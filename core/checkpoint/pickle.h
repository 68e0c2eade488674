#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A value of a pickle. It refers to other values by their index in Pickle::values.
struct PickleValue {
    enum class Kind {
        None,
        Flag,
        Integer,
        Real,
        Text,
        Bytes,
        Tuple,
        List,
        Set,
        Dict,
        Global,
        Storage,
        Tensor
    };

    Kind kind = Kind::None;
    std::int64_t integer = 0; ///< also for a Flag
    double real = 0;
    std::string text = {};       ///< Text and Bytes; "module name" for a Global
    std::vector<int> items = {}; ///< Tuple, List, Set; key, value, key, value, … for a Dict
};

/// All values of a pickle. A Storage and a Tensor hold their arguments as items.
///
/// Storage: (type: Global, key: Text, place: Text, count: Integer), a persistent id of torch.save without its first word.
/// Tensor: (Storage, offset: Integer, sizes: Tuple, strides: Tuple), in elements.
struct Pickle {
    std::vector<PickleValue> values;
    int top = 0; ///< Index of the root value.

    const PickleValue& operator[](int index) const { return values[static_cast<std::size_t>(index)]; }
};

/// Reads a pickle written by torch.save with a machine that can build containers and descriptions of tensors, nothing
/// else.
///
/// A pickle is a program, but no name in it is ever looked up, imported or called. A name is a label. Only a closed list
/// of names can be applied, with builders of our own; any other name is refused.
/// Errors: Corrupt (truncated, wrong operand, too deep or too large); Unsupported, naming the opcode or the class.
/// Source: CPython `Lib/pickletools.py`; PyTorch `torch/_weights_only_unpickler.py`.
Result<Pickle> readPickle(std::span<const std::byte> bytes, std::string_view fileName);

} // namespace headwise
