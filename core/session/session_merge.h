#pragma once

#include "core/base/task.h"
#include "core/session/session.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Joins the parts of one sharded run (Session::part) into the session of the whole run, one part at a time.
///
/// The rows of a split analysis come from the part that has their heads, everything else of it from the first part. An analysis
/// that one part had to leave out is left out of the whole, as one process would have done.
class SessionMerge {
public:
    /// \param name  of the part in messages, as the user gave it
    /// Errors: InvalidArgument if it is no part, is a part of another run, or is there already; Corrupt if its arrays do not fit
    /// those of the others.
    Result<Done> add(Session part, const std::string& name);

    /// Returns the whole session, which is no part any more. Call it once.
    /// Errors: InvalidArgument naming the parts that are missing.
    Result<Session> finish();

private:
    std::string whyForeign(const Session& part) const;
    Result<Done> addArray(ResultArray array, const SessionPart& part, const std::string& name);
    Result<Done> addRows(ResultArray& whole, const ResultArray& array, const SessionPart& part,
                         const std::string& name);
    void addTexts(Session& part);
    void dropIncomplete();
    void sortLists();
    void sortArrays();

    Session m_whole;
    std::string m_first;                 // name of the first part
    std::map<int, std::string> m_names;  // by index: the parts so far
    std::set<std::string> m_heads;       // of all parts so far
    int m_withHeads = 0;                 // parts that have heads
    std::map<std::string, int> m_givers; // by path of a split array: parts that gave it
    std::map<std::string, std::vector<std::string>>
        m_lists; // by path of a list of heads: the heads of its rows so far
};

/// Reads the parts of one run, in any order, and joins them. A view in them is that of the first.
/// Errors: those of readSession and SessionMerge.
Result<Session> mergedParts(std::span<const std::string> files, const Task& task);

} // namespace headwise
