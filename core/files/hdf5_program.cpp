#include "core/files/hdf5_program.h"

// HEADWISE_HDF5_CHILD is the path of the program in the build folder.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden headwiseHdf5Child\n"
    ".global headwiseHdf5Child\n"
    "headwiseHdf5Child:\n"
    ".incbin \"" HEADWISE_HDF5_CHILD "\"\n"
    ".hidden headwiseHdf5ChildEnd\n"
    ".global headwiseHdf5ChildEnd\n"
    "headwiseHdf5ChildEnd:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" const char headwiseHdf5Child[];
extern "C" const char headwiseHdf5ChildEnd[];

namespace headwise::hdf5 {

std::span<const char> childProgram()
{
    return {headwiseHdf5Child, headwiseHdf5ChildEnd};
}

} // namespace headwise::hdf5
