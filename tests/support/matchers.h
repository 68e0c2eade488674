#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

#include <QString>
#include <QTest>

#include <complex>
#include <filesystem>
#include <string_view>

namespace headwise::test {

/// The text a failed check prints: "Corrupt: Tensor …".
inline QByteArray printed(const Error& error)
{
    constexpr const char* names[] = {"InvalidArgument", "NotFound",  "Unsupported", "Corrupt", "Io",
                                     "OutOfMemory",     "Cancelled", "Internal"};
    return QByteArray(names[static_cast<std::size_t>(error.code)]) + ": "
        + QByteArray::fromStdString(error.message);
}

template <typename T>
bool isOk(const Result<T>& result)
{
    if (!result)
        qWarning("failed with %s", printed(result.error()).constData());
    return result.has_value();
}

/// Checks the code and the part of the sentence that helps the user (a tensor name, two shapes).
template <typename T>
bool failsWith(const Result<T>& result, ErrorCode code, std::string_view part)
{
    if (result) {
        qWarning("it succeeded");
        return false;
    }
    const bool right = result.error().code == code && result.error().message.find(part) != std::string::npos;
    if (!right)
        qWarning("failed with %s", printed(result.error()).constData());
    return right;
}

/// Same shape, and no entry further away than `tolerance` times the largest expected magnitude. NaN is never close.
bool areClose(const Eigen::MatrixXcd& actual, const Eigen::MatrixXcd& expected, double tolerance);

/// The same for any expression.
template <typename A, typename B>
bool isClose(const Eigen::MatrixBase<A>& actual, const Eigen::MatrixBase<B>& expected, double tolerance)
{
    using Complex = std::complex<double>;
    return areClose(actual.template cast<Complex>(), expected.template cast<Complex>(), tolerance);
}

inline std::filesystem::path testData(std::string_view name)
{
    return std::filesystem::path(HEADWISE_TEST_DATA) / name;
}

} // namespace headwise::test
