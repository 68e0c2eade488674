#include "tests/support/program.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace headwise::test {

namespace {

std::map<std::string, TestMain, std::less<>>& tests()
{
    static std::map<std::string, TestMain, std::less<>> all;
    return all;
}

char**& arguments()
{
    static char** all = nullptr;
    return all;
}

std::string_view stemOf(std::string_view file)
{
    file.remove_prefix(file.rfind('/') + 1);
    return file.substr(0, file.find('.'));
}

} // namespace

RegisteredTest::RegisteredTest(std::string_view file, TestMain main)
{
    tests().emplace(stemOf(file), main);
}

char** programArguments()
{
    return arguments();
}

} // namespace headwise::test

int main(int argc, char** argv)
{
    const auto& all = headwise::test::tests();
    const auto found = argc > 1 ? all.find(std::string_view(argv[1])) : all.end();
    if (found == all.end()) {
        std::fprintf(stderr, "usage: %s TEST [arguments of Qt Test]; the tests are:\n", argv[0]);
        for (const auto& [name, run] : all)
            std::fprintf(stderr, "  %s\n", name.c_str());
        return 2;
    }
    headwise::test::arguments() = argv;
    std::vector<char*> ofTest(argv, argv + argc + 1); // with the null at the end
    ofTest.erase(ofTest.begin() + 1);
    return found->second(argc - 1, ofTest.data());
}
