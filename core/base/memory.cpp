#include "core/base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif
#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace headwise {

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Reads the number after `key` from a file with one key a line, such as /proc/meminfo.
std::optional<double> entry(const std::string& path, const std::string& key)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(key))
            continue;
        double number = 0;
        if (std::istringstream(line.substr(key.size())) >> number)
            return number;
    }
    return std::nullopt;
}

constexpr double kilobyte = 1024; // as Linux counts in /proc

/// The names in one version of control groups.
struct GroupFiles {
    std::string limit,
        used; ///< The limit's file, and the key of memory.stat that counts what cannot be dropped.
};

/// Returns what a group and the groups around it leave: the limit without the memory in use. Pages of files do not count,
/// because the system drops them when it needs room. \param path  below `root`, "/slurm/job_7"
double leftInGroup(const std::string& root, std::string path, const GroupFiles& names)
{
    double least = unlimited;
    while (true) {
        const std::string folder = root + path;
        double limit = 0;
        if (std::ifstream file(folder + "/" + names.limit); file >> limit) // fails for "max"
            least = std::min(
                least, std::max(0.0, limit - entry(folder + "/memory.stat", names.used + " ").value_or(0)));
        const std::size_t end = path.find_last_of('/');
        if (end == std::string::npos)
            return least;
        path.resize(end);
    }
}

/// Returns the memory that the control groups of the process leave, in bytes; infinite without a limit.
double leftInGroups(const MemoryFiles& files)
{
    double least = unlimited;
    std::ifstream groups(files.groups);
    for (std::string line; std::getline(groups, line);) { // "0::/path", or "9:memory:/path" in version 1
        const std::size_t path = line.find('/');
        if (path == std::string::npos)
            continue;
        if (line.starts_with("0::"))
            least = std::min(least, leftInGroup(files.groupRoot, line.substr(path), {"memory.max", "anon"}));
        else if (line.find(":memory:") != std::string::npos)
            least = std::min(least,
                             leftInGroup(files.groupRoot + "/memory", line.substr(path),
                                         {"memory.limit_in_bytes", "total_rss"}));
    }
    return least;
}

} // namespace

double addressSpaceLeft(const MemoryFiles& files)
{
#if __has_include(<sys/resource.h>)
    rlimit limit = {};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return std::max(0.0,
                        static_cast<double>(limit.rlim_cur)
                            - kilobyte * entry(files.process, "VmSize:").value_or(0));
#endif
    return unlimited;
}

std::optional<double> availableMemory(const MemoryFiles& files)
{
    const auto free = entry(files.system, "MemAvailable:");
    const double most =
        std::min({free ? kilobyte * *free : unlimited, addressSpaceLeft(files), leftInGroups(files)});
    if (most == unlimited)
        return std::nullopt;
    return most;
}

void limitMemoryPools()
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 2);
#endif
}

void returnFreedMemory()
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace headwise
