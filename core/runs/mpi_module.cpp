#include "core/runs/mpi_module.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <sched.h>
#include <vector>

namespace {

// One question at a time, which MPI may still answer when the process has given up.
MPI_Request request = MPI_REQUEST_NULL;
int offered = 0;
int largest = 0;
std::vector<double> sums;

/// Counts the cores that the processes of a machine may use: those of each, together.
int coresTogether(MPI_Comm machine)
{
    cpu_set_t own, all;
    CPU_ZERO(&own);
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        CPU_SET(0, &own);
    MPI_Allreduce(&own, &all, static_cast<int>(sizeof own), MPI_BYTE, MPI_BOR, machine);
    return std::max(1, CPU_COUNT(&all));
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int headwiseMpiBegin(headwise::MpiPlace* place)
{
    int given = 0;
    if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given); code != MPI_SUCCESS)
        return code;
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place->size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &place->localSize);
    place->localCores = coresTogether(machine);
    MPI_Comm_free(&machine);
    return 0;
}

__attribute__((visibility("default"))) void headwiseMpiOffer(int number)
{
    offered = number;
    MPI_Iallreduce(&offered, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
}

__attribute__((visibility("default"))) int headwiseMpiLargest(int* number)
{
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    *number = largest;
    return done;
}

__attribute__((visibility("default"))) void headwiseMpiAdd(const double* numbers, int count)
{
    sums.assign(numbers, numbers + count);
    MPI_Iallreduce(MPI_IN_PLACE, sums.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
}

__attribute__((visibility("default"))) int headwiseMpiSums(double* numbers)
{
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done)
        std::copy(sums.begin(), sums.end(), numbers);
    return done;
}

__attribute__((visibility("default"))) void headwiseMpiEnd()
{
    MPI_Finalize();
}

__attribute__((visibility("default"))) void headwiseMpiAbort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

} // extern "C"
