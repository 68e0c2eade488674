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

/// Reads the number of kB after `key` from a file like /proc/meminfo and returns bytes.
std::optional<double> entry(const std::string& path, const std::string& key)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(key))
            continue;
        double kilobytes = 0;
        if (std::istringstream(line.substr(key.size())) >> kilobytes)
            return 1024 * kilobytes;
    }
    return std::nullopt;
}

/// Address space still free under its limit (RLIMIT_AS), in bytes; infinite without a limit.
double addressSpaceLeft(const std::string& process)
{
#if __has_include(<sys/resource.h>)
    rlimit limit = {};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return std::max(0.0, static_cast<double>(limit.rlim_cur) - entry(process, "VmSize:").value_or(0));
#endif
    return std::numeric_limits<double>::infinity();
}

/// Memory limit of the container's control group, in bytes; infinite without a limit.
double groupLimit(const std::string& group)
{
    double bytes = 0;
    if (std::ifstream file(group); file >> bytes)
        return bytes;
    return std::numeric_limits<double>::infinity(); // no such file, or "max"
}

} // namespace

std::optional<double> availableMemory(const MemoryFiles& files)
{
    const std::optional<double> free = entry(files.system, "MemAvailable:");
    const double most = std::min({free.value_or(std::numeric_limits<double>::infinity()),
                                  addressSpaceLeft(files.process), groupLimit(files.group)});
    if (most == std::numeric_limits<double>::infinity())
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
