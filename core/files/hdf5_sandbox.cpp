#include "core/files/hdf5_sandbox.h"
#include "core/base/sanitized.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <vector>

namespace headwise::hdf5 {
namespace {

// Sanitizers reserve terabytes of address space and open files for their reports.
#ifdef HEADWISE_SANITIZED
constexpr bool isSanitized = true;
#else
constexpr bool isSanitized = false;
#endif

constexpr rlim_t memoryBytes = rlim_t(2) << 30; // on top of the mapped file
constexpr rlim_t leastSeconds = 10;
constexpr rlim_t bytesPerSecond = 20'000'000; // unpacking is more than ten times as fast

void limit(__rlimit_resource resource, rlim_t value)
{
    const rlimit both{value, value};
    setrlimit(resource, &both); // a lower limit that already holds stays
}

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t architecture = 0;
#endif

/// System calls that the allocator, the C library and the question loop make.
constexpr std::array allowedCalls{
    SYS_read,         SYS_write,          SYS_mmap,          SYS_munmap,       SYS_mremap,
    SYS_brk,          SYS_madvise,        SYS_mprotect,      SYS_futex,        SYS_getrandom,
    SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_clock_gettime, SYS_gettimeofday, SYS_sched_yield,
    SYS_exit_group,   SYS_sysinfo,
};

[[maybe_unused]] std::vector<sock_filter> filterOfCalls()
{
    const auto load = [](std::size_t offset) {
        return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
    };
    const sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    std::vector<sock_filter> filter{load(offsetof(seccomp_data, arch)),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0), kill,
                                    load(offsetof(seccomp_data, nr))};
    for (const long call : allowedCalls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
        filter.push_back(allow);
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    return filter;
}

} // namespace

void limitResources(std::size_t fileBytes)
{
    limit(RLIMIT_CPU, leastSeconds + fileBytes / bytesPerSecond);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NPROC, 0);
    if constexpr (!isSanitized) {
        limit(RLIMIT_AS, memoryBytes + fileBytes);
        limit(RLIMIT_NOFILE, 0);
    }
    prctl(PR_SET_DUMPABLE, 0);
}

void forbidSystemCalls()
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if constexpr (architecture != 0 && !isSanitized) {
        std::vector<sock_filter> filter = filterOfCalls();
        const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    }
}

} // namespace headwise::hdf5
