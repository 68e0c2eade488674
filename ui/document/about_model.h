#pragma once

#include "core/base/task.h"
#include "core/checkpoint/file_change.h"
#include "core/circuits/circuits.h"

#include <memory>
#include <utility>

namespace headwise::ui {

/// Work of a job that reads a model's weights: its answer is an error if one of their files changed meanwhile.
/// \param circuits null without the model's files; then it is the work itself
template <typename Work>
auto aboutModel(std::shared_ptr<const Circuits> circuits, Work work)
{
    return [circuits = std::move(circuits), work = std::move(work)](const Task& task) mutable {
        auto answer = work(task);
        return circuits ? checkedAnswer(std::move(answer), circuits->weights().original().file())
                        : std::move(answer);
    };
}

} // namespace headwise::ui
