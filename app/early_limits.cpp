// Runs before the program's libraries are initialised. OpenBLAS allocates buffers during its own initialisation, one for
// each further thread it would start. If the address space is too small for them it tries for ever, before `main`. The
// program uses one OpenBLAS thread anyway (core/base/parallel.cpp); this variable ensures it from the start. Only system
// calls may be used here.

#include <cstddef>
#include <cstring>

#include <sys/resource.h>
#include <unistd.h>

namespace {

constexpr const char* oneThread = "OPENBLAS_NUM_THREADS=1";
constexpr std::size_t nameLength = 21; // with the "="
constexpr std::size_t mostVariables = 4096;

void limitOpenBlas(int, char** argv, char** environment)
{
    rlimit limit = {};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    std::size_t count = 0;
    for (; environment[count]; ++count)
        if (std::strncmp(environment[count], oneThread, nameLength) == 0) {
            environment[count] = const_cast<char*>(oneThread);
            return;
        }
    static char* more[mostVariables + 2];
    static char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (count > mostVariables || length <= 0)
        return;
    std::memcpy(more, environment, count * sizeof more[0]);
    more[count] = const_cast<char*>(oneThread);
    execve(program, argv, more); // on failure the program continues unchanged
}

__attribute__((section(".preinit_array"), used)) void (*const early)(int, char**, char**) = limitOpenBlas;

} // namespace
