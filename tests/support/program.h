#pragma once

#include <QTest>

#ifdef QT_WIDGETS_LIB
#include <QApplication>
#else
#include <QCoreApplication>
#endif

#include <string_view>

namespace headwise::test {

using TestMain = int (*)(int argc, char** argv);

/// Registers a test with its program under the name of its file: `headwise_reader_tests json_test [arguments of Qt
/// Test]`.
///
/// Many tests share a program, so that libraries are linked and headers are parsed once. CTest still starts one process
/// per test.
class RegisteredTest {
public:
    /// \param file __FILE__
    RegisteredTest(std::string_view file, TestMain main);
};

/// The longest wait for something that should happen at once, in ms, on a loaded machine. Less than the time that CTest gives a
/// test, so that the test says what did not happen.
inline constexpr int patience = 60000;

// Qt's macros wait for 5 s, which a busy disk can take.
#undef QTRY_VERIFY
#undef QTRY_VERIFY2
#undef QTRY_COMPARE
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, headwise::test::patience)
#define QTRY_VERIFY2(condition, message)                                                                     \
    QTRY_VERIFY2_WITH_TIMEOUT(condition, message, headwise::test::patience)
#define QTRY_COMPARE(actual, expected) QTRY_COMPARE_WITH_TIMEOUT(actual, expected, headwise::test::patience)

/// The arguments of the program, the test's name after the program's, with the null at their end.
char** programArguments();

/// Replaces "--part 2/3" in `arguments` by the names of every third function of `test`, from the second on. The parts of
/// a test run as processes of their own, side by side, so that none takes long. "--row demo" behind it keeps one row of data of
/// each, which all of them must have.
QStringList withFunctionsOfPart(const QMetaObject& test, QStringList arguments);

/// Runs every function of a test class under an application object, as QTEST_MAIN does.
template <typename Test>
int runTest(int argc, char** argv)
{
#ifdef QT_WIDGETS_LIB
    QApplication application(argc, argv);
    application.setAttribute(Qt::AA_Use96Dpi, true);
#else
    const QCoreApplication application(argc, argv);
#endif
    Test test;
    return QTest::qExec(&test, withFunctionsOfPart(Test::staticMetaObject, QCoreApplication::arguments()));
}

} // namespace headwise::test

#define HEADWISE_TEST(Class) HEADWISE_TEST_MAIN(Class, headwise::test::runTest<Class>)

/// For tests that set up their process themselves.
#define HEADWISE_TEST_MAIN(Class, function)                                                                  \
    namespace {                                                                                              \
    const headwise::test::RegisteredTest registered##Class(__FILE__, function);                              \
    }
