#include "tests/support/program.h"

#include "core/base/blas_kernels.h"

#include <QMetaMethod>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
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

QStringList withFunctionsOfPart(const QMetaObject& test, QStringList arguments)
{
    const qsizetype at = arguments.indexOf(QLatin1String("--part"));
    if (at < 0)
        return arguments;
    const QStringList part = arguments.value(at + 1).split(u'/');
    const int which = part.value(0).toInt(), parts = part.value(1).toInt();
    arguments.remove(at, std::min<qsizetype>(2, arguments.size() - at));
    QString row;
    if (arguments.value(at) == QLatin1String("--row")) {
        row = u':' + arguments.value(at + 1);
        arguments.remove(at, std::min<qsizetype>(2, arguments.size() - at));
    }
    const qsizetype others = arguments.size();
    const std::set<QByteArray> around{"initTestCase", "init", "cleanup", "cleanupTestCase"};
    int functions = 0;
    for (int i = test.methodOffset(); i < test.methodCount(); ++i) {
        const QMetaMethod method = test.method(i);
        const QByteArray name = method.name();
        const bool isFunction = method.methodType() == QMetaMethod::Slot
            && method.access() == QMetaMethod::Private && !name.endsWith("_data") && !around.contains(name);
        if (isFunction && parts > 0 && functions++ % parts == which - 1)
            arguments << QString::fromLatin1(name) + row;
    }
    if (arguments.size() == others) // otherwise it would run all of them
        qFatal("%s: no function is in that part", test.className());
    return arguments;
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
    headwise::restartWithFasterKernels(
        argv); // as the program does, for numbers that are the same to the last bit
    headwise::test::arguments() = argv;
    std::vector<char*> ofTest(argv, argv + argc + 1); // with the null at the end
    ofTest.erase(ofTest.begin() + 1);
    return found->second(argc - 1, ofTest.data());
}
