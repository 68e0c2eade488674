#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Another head in the place of one, to see what would be: unlike the steps of Processing this changes the model's function.
/// Done last, on the weights as processed.
struct HeadChange {
    HeadId head;
    /// The virtual head W_OV(earlier) W_OV(head) takes its place (Elhage et al. 2021, "Virtual Attention Heads"): W_V and b_V
    /// of the earlier, W_O = W_O(earlier) W_V W_O. W_Q and W_K stay, though its pattern is the product of both patterns.
    std::optional<HeadId> earlier = {};
    /// W_O (1 − v_k v_kᵀ) takes the place of W_O: W_V W_O without its k-th singular component, from 0.
    std::optional<int> withoutComponent = {};

    bool operator==(const HeadChange&) const = default;
};

/// "virtual-head 0.1,1.5" or "without-component 0.1:3", as on the command line and in the session file.
std::string headChangeName(const HeadChange& change);
std::optional<HeadChange> parseHeadChange(std::string_view name);

/// "L1H5: virtual head L0H1 → L1H5" or "L0H1 without its singular component 4", counted from 1.
std::string headChangeText(const HeadChange& change);

} // namespace headwise
