#include "core/runs/ranks.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <thread>

namespace headwise {

namespace {

constexpr const char* moduleName = "headwise_mpi.so";
constexpr std::string_view rankMark = ".rank-";
constexpr std::string_view sideEnding = ".partial";
constexpr int codes = 256;                                  // a process's exit codes
constexpr auto betweenLooks = std::chrono::milliseconds(1); // between two looks at the others
constexpr std::size_t summedAtOnce = 1 << 20;
constexpr int mostRanks = mostShards; // a rank is a shard

/// A program that starts several processes, and the variables by which each knows its place.
struct Launcher {
    const char* program;
    const char* rank;
    const char* size;
};
// Slurm tells a batch script the tasks of its job too, but the tasks of a step only to the step.
constexpr std::array<Launcher, 3> launchers{{{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                             {"mpiexec", "PMI_RANK", "PMI_SIZE"},
                                             {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};

/// Reads a whole number that fills the variable; −1 if it is none.
int numberIn(const char* text)
{
    int number = -1;
    if (!text)
        return -1;
    const char* const end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, number);
    return read.ec == std::errc() && read.ptr == end ? number : -1;
}

template <typename Function>
void findFunction(void* module, const char* name, Function& function)
{
    function = reinterpret_cast<Function>(dlsym(module, name));
}

} // namespace

std::optional<Launch> launchOf(const Variables& variables)
{
    for (const Launcher& launcher : launchers) {
        const int rank = numberIn(variables(launcher.rank));
        const int size = numberIn(variables(launcher.size));
        if (rank < 0 || size <= rank)
            continue;
        if (size == 1 || size > mostRanks)
            return std::nullopt;
        return Launch{launcher.program, rank, size};
    }
    return std::nullopt;
}

Ranks::Functions Ranks::functionsOf(const std::vector<std::filesystem::path>& folders)
{
    void* module = nullptr;
    for (const std::filesystem::path& folder : folders) {
        // Global, because the parts of MPI that it loads later look for its symbols.
        module = dlopen((folder / moduleName).c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (module)
            break;
    }
    Functions functions;
    if (!module)
        return functions;
    findFunction(module, "headwiseMpiBegin", functions.begin);
    findFunction(module, "headwiseMpiOffer", functions.offer);
    findFunction(module, "headwiseMpiLargest", functions.largest);
    findFunction(module, "headwiseMpiAdd", functions.add);
    findFunction(module, "headwiseMpiSums", functions.sums);
    findFunction(module, "headwiseMpiEnd", functions.end);
    findFunction(module, "headwiseMpiAbort", functions.abort);
    return functions;
}

Result<std::unique_ptr<Ranks>> Ranks::join(const Launch& launch,
                                           const std::vector<std::filesystem::path>& folders)
{
    const Functions functions = functionsOf(folders);
    if (!functions.begin || !functions.offer || !functions.largest || !functions.add || !functions.sums
        || !functions.end || !functions.abort)
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "{0} started {1} processes, but this Headwise was built or installed without MPI; give each process a part, --shard 1/{1} to {1}/{1}, and join the parts with headwise merge.",
                launch.program, launch.size)};
    std::unique_ptr<Ranks> ranks(new Ranks(functions));
    if (const int code = functions.begin(&ranks->m_place); code != 0)
        return Error{ErrorCode::Io, fmt::format("MPI could not start in this process (error {}).", code)};
    if (ranks->size() == launch.size)
        return ranks;
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format(
            "{} started {} processes, but each finds {} through MPI; start them with the mpirun of the Open MPI that Headwise was built with, or with srun --mpi=pmix.",
            launch.program, launch.size, ranks->size())};
}

int Ranks::threads() const
{
    return std::max(1, m_place.localCores / std::max(1, m_place.localSize));
}

Result<Done> Ranks::waitFor(const std::function<bool()>& isThere, const Task& task)
{
    while (!isThere()) {
        if (task.cancelled())
            return stopped();
        std::this_thread::sleep_for(
            betweenLooks); // MPI's own waiting would take a core from those that compute
    }
    return Done{};
}

Result<Done> Ranks::sum(std::span<double> numbers, const Task& task) const
{
    for (std::size_t first = 0; first < numbers.size(); first += summedAtOnce) {
        const auto part = numbers.subspan(first, std::min(summedAtOnce, numbers.size() - first));
        m_functions.add(part.data(), static_cast<int>(part.size()));
        const auto done = waitFor([&] { return m_functions.sums(part.data()) != 0; }, task);
        if (!done)
            return done;
    }
    return Done{};
}

Result<CommonStep> Ranks::meet(int code, const Task& task) const
{
    // The largest number is that of the first process that failed.
    m_functions.offer(code == 0 ? 0 : (size() - rank()) * codes + std::clamp(code, 1, codes - 1));
    int largest = 0;
    if (const auto done = waitFor([&] { return m_functions.largest(&largest) != 0; }, task); !done)
        return done.error();
    if (largest == 0)
        return CommonStep{};
    return CommonStep{size() - largest / codes, largest % codes};
}

void Ranks::leave() const
{
    m_functions.end();
}

void Ranks::abort(int code) const
{
    m_functions.abort(code);
}

std::vector<std::filesystem::path> moduleFolders()
{
    std::error_code error;
    const std::filesystem::path program =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    if (error || program.empty())
        return {};
    return {program, program.parent_path() / "lib" / "headwise"};
}

std::filesystem::path rankSession(const std::filesystem::path& session, const Shard& shard)
{
    std::filesystem::path own = session;
    own += fmt::format("{}{}-of-{}", rankMark, shard.index, shard.count);
    return own;
}

void removeRankFiles(const std::filesystem::path& session)
{
    const std::filesystem::path folder = session.has_parent_path() ? session.parent_path() : ".";
    const std::string opening = session.filename().string() + std::string(rankMark);
    std::vector<std::filesystem::path> files;
    std::error_code code;
    for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(opening) && name.ends_with(sideEnding))
            files.push_back(entry->path());
    }
    for (const std::filesystem::path& file : files)
        std::filesystem::remove(file, code);
}

} // namespace headwise
