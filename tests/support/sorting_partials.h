#pragma once

#include "core/base/matrix.h"
#include "tests/support/matchers.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

#include <cstring>

namespace headwise::test {

/// The intermediates of gpt-nano-sort for three inputs of 11 tokens, written by the model's own author.
class SortingPartials {
public:
    SortingPartials()
    {
        QFile file(
            QString::fromStdString(testData("models/gpt-nano-sort/gpt-nano-sort-t0-partials.json").string()));
        if (!file.open(QIODevice::ReadOnly))
            qFatal("the author's intermediates are missing");
        m_all = QJsonDocument::fromJson(file.readAll()).object();
    }

    std::vector<int> tokens(std::size_t input) const
    {
        std::vector<int> ids;
        const Matrix<double> stored = read("idx", input, 1);
        for (Eigen::Index i = 0; i < stored.rows(); ++i)
            ids.push_back(static_cast<int>(stored(i, 0)));
        return ids;
    }

    /// Reads one input, [rows, width]; the heads of q, k, v and attSm are below each other.
    Matrix<double> read(const char* name, std::size_t input, Eigen::Index width) const
    {
        const QByteArray bytes =
            QByteArray::fromBase64(m_all[QLatin1String(name)]["data"].toString().toLatin1());
        const Eigen::Index rows = bytes.size() / 4 / 3 / width;
        Matrix<double> out(rows, width);
        const char* at = bytes.constData() + 4 * static_cast<qsizetype>(input) * rows * width;
        for (Eigen::Index i = 0; i < rows; ++i) {
            for (Eigen::Index j = 0; j < width; ++j, at += 4) {
                float value = 0;
                std::memcpy(&value, at, 4);
                out(i, j) = static_cast<double>(value);
            }
        }
        return out;
    }

private:
    QJsonObject m_all;
};

} // namespace headwise::test
