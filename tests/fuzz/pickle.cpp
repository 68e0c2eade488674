#include "tests/fuzz/input_folder.h"
#include "tests/support/zip_writer.h"

// The bytes become data.pkl of a torch.save archive, so that the machine's output is read as tensors too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    const std::string archive =
        headwise::test::zipArchive({{"m/data.pkl", std::string(reinterpret_cast<const char*>(data), size)},
                                    {"m/version", "3\n"},
                                    {"m/data/0", std::string(64, '\1')},
                                    {"m/data/1", std::string(8, '\2')}});
    headwise::fuzz::readEverything(folder.write("pytorch_model.bin", archive.data(), archive.size()));
    return 0;
}
