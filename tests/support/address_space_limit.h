#pragma once

#include <QtGlobal>

#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace headwise::test {

/// Leaves the process `bytes` more address space than it uses, during its lifetime.
class AddressSpaceLimit {
public:
    explicit AddressSpaceLimit(rlim_t bytes)
    {
        std::ifstream sizes("/proc/self/statm");
        rlim_t pages = 0;
        sizes >> pages;
        rlimit limit = {};
        if (getrlimit(RLIMIT_AS, &limit) != 0)
            qFatal("the limits of the process cannot be read");
        m_before = limit;
        limit.rlim_cur = m_bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            qFatal("the address space cannot be limited");
    }
    ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &m_before); }
    Q_DISABLE_COPY_MOVE(AddressSpaceLimit)

    double bytes() const { return static_cast<double>(m_bytes); } ///< Limit for the whole process.

private:
    rlimit m_before = {};
    rlim_t m_bytes = 0;
};

} // namespace headwise::test
