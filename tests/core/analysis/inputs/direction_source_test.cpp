#include "core/analysis/inputs/direction_source.h"

#include "core/checkpoint/npy.h"
#include "core/circuits/singular_directions.h"
#include "tests/support/analysed.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTest>

using namespace headwise;
using namespace headwise::test;

/// Names of directions of the residual stream.
class DirectionSourceTest : public QObject {
    Q_OBJECT

private:
    Circuits m_circuits = toyCircuits({}, noProcessing());

    RowVector<double> read(const std::string& name) const
    {
        const auto numbers = readDirection(name, m_circuits, nullptr);
        if (!numbers)
            qFatal("%s", printed(numbers.error()).constData());
        return Eigen::Map<const RowVector<double>>(numbers->data(),
                                                   static_cast<Eigen::Index>(numbers->size()));
    }

private slots:
    void tokensAreRowsAndColumns()
    {
        const ProcessedWeights& weights = m_circuits.weights();
        QVERIFY(read("#3") == weights.W_E<double>(3, 1).row(0));
        QVERIFY(read("unembed:#4") == weights.W_U<double>(4, 1).col(0).transpose());
        QVERIFY(read("#3 -- unembed:#4")
                == weights.W_E<double>(3, 1).row(0) - weights.W_U<double>(4, 1).col(0).transpose());
    }

    void neuronsReadColumnsAndWriteRows()
    {
        const auto mlp = m_circuits.weights().mlp<double>(1);
        QVERIFY(read("neuron:1.2:out") == mlp.W_out.row(2));
        QVERIFY(read("neuron:1.2:in") == mlp.W_in.col(2).transpose());
    }

    void singularVectorsAreThoseOfTheDenseCircuit()
    {
        const HeadId head{1, 2};
        for (const CircuitKind kind : {CircuitKind::Ov, CircuitKind::Qk}) {
            const Matrix<double> dense = m_circuits.circuit<double>(kind, head, nullptr).dense();
            const auto svd = singularDirections(m_circuits, kind, head);
            for (const int k : {0, 1}) {
                const std::string name = "singular:1.2:" + std::string(circuitName(kind));
                const RowVector<double> in = read(name + ":in:" + std::to_string(k + 1));
                const RowVector<double> out = read(name + ":out:" + std::to_string(k + 1));
                QVERIFY(std::abs(in.norm() - 1) < 1e-12 && in.cwiseAbs().maxCoeff() == in.maxCoeff());
                QVERIFY(out.cwiseAbs().maxCoeff() == out.maxCoeff());
                // u M = ± σ vᵀ
                const double sigma = svd->S(k);
                QVERIFY((in * dense - (in * dense).dot(out) * out).norm() < 1e-9 * sigma);
                QVERIFY(std::abs(std::abs((in * dense).dot(out)) - sigma) < 1e-9 * sigma);
                QVERIFY(read("-" + name + ":out:" + std::to_string(k + 1)) == -out);
                const SingularName same{kind, head, true, k};
                QCOMPARE(singularName(same, 3 * out), name + ":out:" + std::to_string(k + 1));
                QVERIFY(read(singularName(same, -out)) == -out);
            }
        }
    }

    void aFileHasAsManyNumbersAsTheStreamIsWide()
    {
        const QTemporaryDir folder;
        const Eigen::Index d = m_circuits.config().dModel;
        const RowVector<double> x = RowVector<double>::LinSpaced(d, -1, 2);
        const auto written = [&](const char* name, Eigen::Index count) {
            QFile file(folder.filePath(QString::fromUtf8(name)));
            if (!file.open(QIODevice::WriteOnly))
                qFatal("no file");
            file.write(QByteArray::fromStdString(npyHeader("<f8", {count})));
            file.write(reinterpret_cast<const char*>(x.data()), count * 8);
            return file.fileName().toStdString();
        };
        QVERIFY(read(written("x.npy", d)) == x);
        QVERIFY(failsWith(readDirection(written("short.npy", d - 1), m_circuits, nullptr),
                          ErrorCode::InvalidArgument, "the width of the residual stream"));
        QVERIFY(
            failsWith(readDirection("/nowhere/x.npy", m_circuits, nullptr), ErrorCode::NotFound, "x.npy"));
    }

    void whatIsNoDirectionIsSaid_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("words");
        QTest::newRow("side") << "neuron:1.2:up"
                              << "is not a direction; write neuron:LAYER.NEURON:in";
        QTest::newRow("no side") << "neuron:1.2"
                                 << "is not a direction";
        QTest::newRow("no neuron") << "neuron:1.99999:in"
                                   << "There is no neuron 1.99999";
        QTest::newRow("no layer") << "neuron:9.0:in"
                                  << "There is no neuron 9.0";
        QTest::newRow("negative") << "neuron:1.-1:in"
                                  << "is not a direction";
        QTest::newRow("circuit") << "singular:0.1:full_ov:in:1"
                                 << "is not a direction; write singular:";
        QTest::newRow("number") << "singular:0.1:ov:in:one"
                                << "is not a direction";
        QTest::newRow("no number") << "singular:0.1:ov:in:"
                                   << "is not a direction";
        QTest::newRow("zeroth") << "singular:0.1:ov:in:0"
                                << "There is no singular vector 0";
        QTest::newRow("past") << "singular:0.1:ov:in:999"
                              << "There is no singular vector 999";
        QTest::newRow("no head") << "singular:7.1:ov:in:1"
                                 << "There is no head 7.1";
        QTest::newRow("token") << "#99999"
                               << "";
        QTest::newRow("nothing") << ""
                                 << "names no token";
        QTest::newRow("half") << "#1 -- "
                              << "names no token";
    }
    void whatIsNoDirectionIsSaid()
    {
        QFETCH(QString, name);
        QFETCH(QString, words);
        const auto found = readDirection(name.toStdString(), m_circuits, nullptr);
        QVERIFY(!found);
        QVERIFY2(QString::fromStdString(found.error().message).contains(words), printed(found.error()));
    }
};

HEADWISE_TEST(DirectionSourceTest)
#include "direction_source_test.moc"
