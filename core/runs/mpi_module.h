#pragma once

// Functions of headwise_mpi.so, the only part of the program that needs MPI. ranks.cpp loads it in a process that mpirun or srun
// started; without it the program is the same. One thread calls them.

namespace headwise {

extern "C" {

/// Place of a process among those that were started together.
struct MpiPlace {
    int rank;       ///< From 0.
    int size;       ///< Processes.
    int localSize;  ///< Processes on this machine.
    int localCores; ///< Cores that the processes on this machine may use together.
};

/// Joins the other processes and waits for all of them. Returns 0, or an error code of MPI.
using MpiBegin = int (*)(MpiPlace*);
/// Offers a number, the largest of which all processes learn. Returns at once.
using MpiOffer = void (*)(int number);
/// Returns 1 and the largest number once all processes have offered theirs; 0 before.
using MpiLargest = int (*)(int* number);
/// Begins to add up as many numbers of every process. Returns at once.
using MpiAdd = void (*)(const double* numbers, int count);
/// Returns 1 and the sums once they are there; 0 before.
using MpiSums = int (*)(double* numbers);
/// Leaves the other processes, once all do.
using MpiEnd = void (*)();
/// Ends all processes at once.
using MpiAbort = void (*)(int code);

} // extern "C"

} // namespace headwise
