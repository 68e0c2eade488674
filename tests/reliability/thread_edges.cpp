// Synchronisation that ThreadSanitizer cannot see: Qt was not built for it, so it misses the locks by which a future
// hands work to a thread and the answer back. The functions of Qt below annotate these and then call Qt's own; every
// other race is still reported. Linked only under ThreadSanitizer.

#if defined(__SANITIZE_THREAD__)

#include <dlfcn.h>

extern "C" {

void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace {

/// The state that all copies of a future share, behind its table of virtual functions.
void* stateOf(const void* future)
{
    return static_cast<void* const*>(future)[1];
}

template <typename Function>
Function next(const char* name)
{
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

/// QFutureInterfaceBase::reportStarted(): the work is complete and about to be handed over.
void _ZN20QFutureInterfaceBase13reportStartedEv(void* future)
{
    __tsan_release(stateOf(future));
    next<void (*)(void*)>(__func__)(future);
}

/// QFutureInterfaceBase::isCanceled(): the thread's first call.
bool _ZNK20QFutureInterfaceBase10isCanceledEv(const void* future)
{
    __tsan_acquire(stateOf(future));
    return next<bool (*)(const void*)>(__func__)(future);
}

/// QFutureInterfaceBase::reportFinished(): the answer is ready.
void _ZN20QFutureInterfaceBase14reportFinishedEv(void* future)
{
    __tsan_release(stateOf(future));
    next<void (*)(void*)>(__func__)(future);
}

/// QFutureInterfaceBase::waitForResult(int): before the answer is read.
void _ZN20QFutureInterfaceBase13waitForResultEi(void* future, int index)
{
    next<void (*)(void*, int)>(__func__)(future, index);
    __tsan_acquire(stateOf(future));
}

/// QFutureInterfaceBase::derefT() const: the last holder destroys the answer.
bool _ZNK20QFutureInterfaceBase6derefTEv(const void* future)
{
    void* const state = stateOf(future);
    __tsan_release(state);
    const bool isStillUsed = next<bool (*)(const void*)>(__func__)(future);
    __tsan_acquire(state);
    return isStillUsed;
}
}

#endif
