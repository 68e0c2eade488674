#pragma once

#include "core/base/task.h"
#include "core/session/session.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/document/file_stamp.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace headwise::ui {

/// A session as it comes from its file, with everything that takes a while to make of it.
struct OpenedSession {
    std::shared_ptr<const Session> session;
    std::shared_ptr<const ResultSet> results;   ///< Controls in their names made visible.
    std::shared_ptr<const Tokenizer> tokenizer; ///< Null if the file has no tokens.
    std::vector<bool> unused;                   ///< Ids without a token.
    FileStamp stamp;                            ///< State of the file before it was read.
    bool isSeries = false; ///< Stands in for a series of checkpoints, none of which is open.
};

/// Errors: those of readSession().
Result<std::shared_ptr<const OpenedSession>> openSessionFile(const std::filesystem::path& file,
                                                             const Task& task);

} // namespace headwise::ui
