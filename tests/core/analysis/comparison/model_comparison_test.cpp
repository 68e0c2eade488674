#include "core/analysis/comparison/model_comparison.h"

#include "core/circuits/random_matrix.h"
#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <cmath>

using namespace headwise;

namespace {

/// 31 dimensions, 3 heads of 5 in two layers: enough for a direction that no head uses.
test::ToyOptions roomyOptions()
{
    test::ToyOptions options;
    options.dModel = 31;
    options.dVocab = 47;
    options.float64 = true;
    return options;
}

ComparisonOptions f64()
{
    ComparisonOptions options;
    options.precision = Precision::F64;
    return options;
}

ResultSet compared(const Circuits& a, const Circuits& b, const ComparisonOptions& options = f64(),
                   const Task& task = {})
{
    auto results = compareModels(a, b, options, task);
    if (!results)
        qFatal("%s", test::printed(results.error()).constData());
    return std::move(results).value();
}

std::vector<double> changes(const ResultSet& results, const std::string& name)
{
    return test::numbers(results, "comparison/" + name);
}

bool isEverywhere(const std::vector<double>& values, double expected)
{
    return std::ranges::all_of(values, [&](double value) { return std::isnan(value) || value == expected; })
        && std::ranges::any_of(values, [&](double value) { return value == expected; });
}

/// [d, r] of one head of a stored stack [heads, d, r], or [r, d] of W_O.
Eigen::Map<Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>
part(test::ToyModel& toy, const std::string& name, int head, Eigen::Index rows, Eigen::Index cols)
{
    return {toy.tensors.at(name).values.data() + head * rows * cols, rows, cols};
}

/// Returns the range of directions in the degenerate block of direction k.
std::pair<Eigen::Index, Eigen::Index> blockOf(const Eigen::VectorXd& sigma, Eigen::Index k, Eigen::Index rank)
{
    const auto isNear = [&](Eigen::Index i) { return sigma(i) - sigma(i + 1) < 0.01 * sigma(i); };
    Eigen::Index first = k, end = k + 1;
    while (first > 0 && isNear(first - 1))
        --first;
    while (end < rank && isNear(end - 1))
        ++end;
    return {first, end};
}

/// The best match of new direction k: a |cosine| if no block is degenerate. \param cosines [new, old]
double bestMatch(const Matrix<double>& cosines, const Eigen::VectorXd& newSigma,
                 const Eigen::VectorXd& oldSigma, Eigen::Index k)
{
    const auto [first, end] = blockOf(newSigma, k, cosines.rows());
    double best = 0;
    for (Eigen::Index a = 0; a < cosines.cols(); a = blockOf(oldSigma, a, cosines.cols()).second) {
        Eigen::Index b = blockOf(oldSigma, a, cosines.cols()).second;
        while (b < cosines.cols() && b - a < end - first)
            b = blockOf(oldSigma, b, cosines.cols()).second;
        best = std::max(best,
                        cosines.block(first, a, end - first, b - a).norm() / std::sqrt(double(end - first)));
    }
    return best;
}

} // namespace

class ModelComparisonTest : public QObject {
    Q_OBJECT

private slots:
    void equalModelsDoNotDiffer()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const ResultSet results = compared(circuits, test::toyCircuits(options));
            for (const std::string kind : {"qk", "ov"}) {
                QVERIFY2(isEverywhere(changes(results, kind + "/relative_change"), 0), name);
                QVERIFY2(isEverywhere(changes(results, kind + "/cosine"), 1), name);
                QVERIFY2(isEverywhere(changes(results, kind + "/singular_value_change"), 0), name);
                for (const char* path : {"/left_max_cosine", "/right_max_cosine"})
                    QVERIFY2(isEverywhere(changes(results, kind + path), 1), name);
                for (const char* path : {"/left_intruders", "/right_intruders"})
                    QVERIFY2(isEverywhere(changes(results, kind + path), 0), name);
            }
            for (const std::string matrix : {"q", "k", "v", "o"})
                QVERIFY2(isEverywhere(changes(results, "projection_kernel/" + matrix), 1), name);
            QVERIFY2(isEverywhere(changes(results, "full_ov/table_change"), 0), name);
        }
    }

    void agreesWithDenseMatrices()
    {
        test::ToyOptions options = roomyOptions();
        const Circuits a = test::toyCircuits(options);
        options.seed = 2;
        const Circuits b = test::toyCircuits(options);
        const ResultSet results = compared(a, b);
        int plain = 0;
        for (int index = 0; index < 6; ++index) {
            const HeadId head{index / 3, index % 3};
            const auto i = static_cast<std::size_t>(index);
            for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
                const std::string root(circuitName(kind));
                const Matrix<double> A = test::denseCircuit(a, kind, head),
                                     B = test::denseCircuit(b, kind, head);
                QVERIFY(std::abs(changes(results, root + "/relative_change")[i] - (B - A).norm() / A.norm())
                        < 1e-12);
                const double cosine = A.cwiseProduct(B).sum() / A.norm() / B.norm();
                QVERIFY(std::abs(changes(results, root + "/cosine")[i] - cosine) < 1e-12);
                const test::DenseSvd svdA(A), svdB(B);
                double intruders = 0;
                for (Eigen::Index k = 0; k < 5; ++k) {
                    const auto at = i * 5 + static_cast<std::size_t>(k);
                    QVERIFY(std::abs(changes(results, root + "/singular_value_change")[at]
                                     - (svdB.singularValues()[k] - svdA.singularValues()[k]))
                            < 1e-10);
                    const double u =
                        bestMatch(svdB.matrixU().leftCols(5).transpose() * svdA.matrixU().leftCols(5),
                                  svdB.singularValues(), svdA.singularValues(), k);
                    const double v =
                        bestMatch(svdB.matrixV().leftCols(5).transpose() * svdA.matrixV().leftCols(5),
                                  svdB.singularValues(), svdA.singularValues(), k);
                    const auto largest = [&](const auto& second, const auto& first) {
                        return (second.col(k).transpose() * first.leftCols(5)).cwiseAbs().maxCoeff();
                    };
                    plain += std::abs(u - largest(svdB.matrixU(), svdA.matrixU())) < 1e-12;
                    QVERIFY(std::abs(changes(results, root + "/left_max_cosine")[at] - u) < 1e-8);
                    QVERIFY(std::abs(changes(results, root + "/right_max_cosine")[at] - v) < 1e-8);
                    const std::vector<double> all = changes(results, root + "/left_cosines");
                    const std::size_t width = all.size() / changes(results, root + "/left_max_cosine").size();
                    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at * width);
                    QVERIFY(std::abs(*std::max_element(first, first + static_cast<std::ptrdiff_t>(width)) - u)
                            < 1e-8);
                    intruders += u < 0.5;
                }
                QCOMPARE(changes(results, root + "/left_intruders")[i], intruders);
            }
            const auto wa = a.weights().head<double>(head), wb = b.weights().head<double>(head);
            const double kernel =
                (test::orthonormalBasis(wa.W_V).transpose() * test::orthonormalBasis(wb.W_V)).squaredNorm()
                / 5;
            QVERIFY(std::abs(changes(results, "projection_kernel/v")[i] - kernel) < 1e-12);
        }
        QVERIFY(plain > 40 && plain < 60); // of 60, most directions stand alone
    }

    void tablesAgreeWithDenseMatrices_data()
    {
        QTest::addColumn<int>("vocabulary");
        QTest::addRow("less than a tile") << 47;
        QTest::addRow("tiles and a rest, some tokens unused") << 1201;
    }
    void tablesAgreeWithDenseMatrices()
    {
        QFETCH(int, vocabulary);
        test::ToyOptions options = roomyOptions();
        options.dVocab = vocabulary;
        const Circuits a = test::toyCircuits(options);
        options.seed = 2;
        const Circuits b = test::toyCircuits(options);
        ComparisonOptions comparison = f64();
        comparison.tableSize = 4;
        if (vocabulary > 1000) {
            comparison.unusedTokens.assign(static_cast<std::size_t>(vocabulary), false);
            for (std::size_t id = 3; id < comparison.unusedTokens.size(); id += 4)
                comparison.unusedTokens[id] = true;
        }
        const ResultSet results = compared(a, b, comparison);
        const auto sample = changes(results, "full_ov/sampled_tokens");
        QCOMPARE(sample.size(), std::size_t{32});
        const auto top = [&](const Circuits& circuits, HeadId head, double token) {
            const RowVector<double> row =
                test::denseCircuit(circuits, CircuitKind::FullOv, head).row(static_cast<Eigen::Index>(token));
            std::vector<int> ids;
            for (int id = 0; id < vocabulary; ++id)
                if (comparison.unusedTokens.empty() || !comparison.unusedTokens[static_cast<std::size_t>(id)])
                    ids.push_back(id);
            std::ranges::stable_sort(ids, [&](int x, int y) { return row[x] > row[y]; });
            ids.resize(4);
            return ids;
        };
        for (int index = 0; index < 6; ++index) {
            const HeadId head{index / 3, index % 3};
            double left = 0;
            for (std::size_t i = 0; i < sample.size(); ++i) {
                const auto before = top(a, head, sample[i]), after = top(b, head, sample[i]);
                for (std::size_t k = 0; k < 4; ++k) {
                    left += std::ranges::find(after, before[k]) == after.end();
                    QCOMPARE(
                        changes(results, "full_ov/ids_a")[(static_cast<std::size_t>(index) * 32 + i) * 4 + k],
                        double(before[k]));
                }
            }
            QVERIFY(std::abs(changes(results, "full_ov/table_change")[static_cast<std::size_t>(index)]
                             - left / (4 * 32))
                    < 1e-12);
        }
    }

    void findsAPlantedIntruder()
    {
        // Uses another file, because the one that changes is mapped.
        const Circuits before = test::toyCircuits(roomyOptions(), test::noProcessing());
        const QTemporaryDir folder;
        test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), roomyOptions());
        // Head 1.2 moves one of its five components to a direction that it neither read nor wrote.
        auto W_V = part(toy, "blocks.1.attn.W_V", 2, 31, 5);
        auto W_O = part(toy, "blocks.1.attn.W_O", 2, 5, 31);
        const Matrix<double> random = gaussianMatrix(31, 2, 3);
        Eigen::VectorXd read = random.col(0), written = random.col(1);
        const Matrix<double> U = test::orthonormalBasis(W_V), V = test::orthonormalBasis(W_O.transpose());
        read -= U * (U.transpose() * read);
        written -= V * (V.transpose() * written);
        W_V.col(0) = 40 * read.normalized();
        W_O.row(0) = written.normalized().transpose();
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, true);
        const Circuits after = test::circuitsOf(toy.folder, test::noProcessing());
        const ResultSet results = compared(before, after);
        for (std::size_t i = 0; i < 6; ++i) {
            const double expected = i == 5 ? 1 : 0;
            QCOMPARE(changes(results, "ov/left_intruders")[i], expected);
            QCOMPARE(changes(results, "ov/right_intruders")[i], expected);
            QCOMPARE(changes(results, "qk/left_intruders")[i], 0.0);
            QVERIFY(i == 5 ? changes(results, "ov/relative_change")[i] > 1
                           : changes(results, "ov/relative_change")[i] == 0);
            QCOMPARE(changes(results, "qk/relative_change")[i], 0.0);
        }
        QVERIFY(changes(results, "ov/left_max_cosine")[25] < 1e-6); // the strongest direction of head 1.2
        QVERIFY(changes(results, "ov/left_max_cosine")[26] > 0.5);
        QVERIFY(std::abs(changes(results, "projection_kernel/v")[5] - 0.8) < 0.2);
    }

    // For a flat spectrum any basis of the span consists of singular vectors, and noise chooses another one.
    void aFlatSpectrumHasNoIntrudersForNoise()
    {
        test::ToyOptions options = roomyOptions();
        options.dModel = 47, options.dHead = 10;
        test::ChangedToy older(options), newer(options), changed(options);
        for (int head = 0; head < 3; ++head) {
            const auto seed = static_cast<unsigned>(head);
            const Matrix<double> W_V = test::orthonormalColumns(47, 10, seed);
            const Matrix<double> W_O = test::orthonormalColumns(47, 10, seed + 10).transpose();
            const Matrix<double> noise = 1e-4 * test::normalNumbers(47, 20, seed + 20);
            // One direction is replaced by another that no head used.
            Matrix<double> replaced = W_V;
            const Matrix<double> both = test::orthonormalColumns(47, 11, seed);
            replaced.col(4) = both.col(10) + noise.col(3);
            for (auto* toy : {&older, &newer, &changed}) {
                toy->set("blocks.0.attn.W_V", head,
                         toy == &older       ? W_V
                             : toy == &newer ? Matrix<double>(W_V + noise.leftCols(10))
                                             : replaced);
                toy->set("blocks.0.attn.W_O", head,
                         toy == &older ? W_O : Matrix<double>(W_O + noise.rightCols(10).transpose()));
            }
            // Three times as strong, it is not degenerate, and no other direction is an intruder.
            if (head == 2)
                changed.set("blocks.0.attn.W_O", head,
                            changed.matrix("blocks.0.attn.W_O", head)
                                + 2 * Matrix<double>::Identity(10, 10).col(4) * W_O.row(4));
        }
        const Circuits before = older.circuits(test::noProcessing());
        const ResultSet noise = compared(before, newer.circuits(test::noProcessing()));
        const ResultSet one = compared(before, changed.circuits(test::noProcessing()));
        for (std::size_t head = 0; head < 3; ++head) {
            for (const std::string side : {"left", "right"}) {
                QCOMPARE(changes(noise, "ov/" + side + "_intruders")[head], 0.0);
                for (std::size_t i = 0; i < 10; ++i)
                    QVERIFY(changes(noise, "ov/" + side + "_max_cosine")[head * 10 + i] > 1 - 1e-5);
            }
            QVERIFY(changes(noise, "projection_kernel/v")[head] > 1 - 1e-5);
            // In the block of ten a new direction cannot be separated: nine tenths of the span are old.
            const auto best = changes(one, "ov/left_max_cosine");
            for (std::size_t i = 0; head < 2 && i < 10; ++i)
                QVERIFY(std::abs(best[head * 10 + i] - std::sqrt(0.9)) < 1e-4);
        }
        QCOMPARE(changes(one, "ov/left_intruders")[2], 1.0);
        QCOMPARE(changes(one, "ov/right_intruders")[2], 0.0);
        QVERIFY(changes(one, "ov/left_max_cosine")[20] < 1e-3);
    }

    void theBasisOfAHeadDoesNotMatter()
    {
        const Circuits before = test::toyCircuits(roomyOptions(), test::noProcessing());
        const QTemporaryDir folder;
        test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), roomyOptions());
        const Matrix<double> T = gaussianMatrix(5, 5, 9) + 3 * Matrix<double>::Identity(5, 5);
        auto W_V = part(toy, "blocks.0.attn.W_V", 1, 31, 5);
        auto W_O = part(toy, "blocks.0.attn.W_O", 1, 5, 31);
        W_V = (W_V * T).eval();
        W_O = (test::inverseOf(T) * W_O).eval();
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, true);
        const ResultSet results = compared(before, test::circuitsOf(toy.folder, test::noProcessing()));
        QVERIFY(changes(results, "ov/relative_change")[1] > 0); // the factors did change
        QVERIFY(changes(results, "ov/relative_change")[1] < 1e-13);
        QVERIFY(std::abs(changes(results, "ov/cosine")[1] - 1) < 1e-13);
        QVERIFY(std::abs(changes(results, "projection_kernel/v")[1] - 1) < 1e-12);
        QVERIFY(std::abs(changes(results, "ov/left_max_cosine")[5] - 1) < 1e-8);
        QCOMPARE(changes(results, "full_ov/table_change")[1], 0.0);
    }

    void unrelatedHeadsAreAsTheNullsSay()
    {
        test::ToyOptions options = roomyOptions();
        options.nLayers = 12;
        const Circuits a = test::toyCircuits(options, test::noProcessing());
        options.seed = 2;
        const ResultSet results = compared(a, test::toyCircuits(options, test::noProcessing()));
        for (const std::string name : {"ov/cosine", "ov/right_max_cosine", "projection_kernel/q",
                                       "projection_kernel/o", "full_ov/table_change"}) {
            const ResultArray& array = *results.find("comparison/" + name);
            const auto values = changes(results, name);
            const Eigen::Map<const Eigen::VectorXd> v(values.data(),
                                                      static_cast<Eigen::Index>(values.size()));
            const double error = *array.nullDeviation / std::sqrt(static_cast<double>(values.size()));
            // Rows of a table are not independent: a head favours some tokens.
            const double allowed = name == "full_ov/table_change" ? 0.1 : 5 * error;
            QVERIFY2(std::abs(v.mean() - *array.nullMean) < allowed,
                     (name + " " + std::to_string(v.mean()) + " " + std::to_string(*array.nullMean)).c_str());
        }
    }

    void threadsChangeNothing()
    {
        test::ToyOptions options = roomyOptions();
        const Circuits a = test::toyCircuits(options);
        options.seed = 2;
        const Circuits b = test::toyCircuits(options);
        QVERIFY(compared(a, b, f64(), Task{{}, {}, 1}) == compared(a, b, f64(), Task{{}, {}, 4}));
    }

    void otherVocabulariesHaveNoTables()
    {
        test::ToyOptions options = roomyOptions();
        const Circuits a = test::toyCircuits(options);
        options.dVocab = 43;
        const ResultSet results = compared(a, test::toyCircuits(options));
        QVERIFY(results.find("comparison/ov/cosine") && !results.find("comparison/full_ov/table_change"));
        QVERIFY(results.warnings.size() == 1
                && results.warnings[0].find("vocabularies") != std::string::npos);
    }

    void refusesOtherSizesNamingThem()
    {
        test::ToyOptions options = roomyOptions();
        const Circuits a = test::toyCircuits(options);
        options.nHeads = 6, options.nKvHeads = 2;
        QVERIFY(test::failsWith(compareModels(a, test::toyCircuits(options), {}, Task{}),
                                ErrorCode::InvalidArgument, "n_heads is 3 and 6, n_kv_heads is 3 and 2"));
        std::stop_source stop;
        stop.request_stop();
        const auto cancelled = compareModels(a, a, {}, Task{stop.get_token(), {}, 1});
        QVERIFY(!cancelled && cancelled.error().code == ErrorCode::Cancelled);
    }

    void aHeadThatIsNotFiniteIsLeftOut()
    {
        const Circuits before = test::toyCircuits(roomyOptions());
        const QTemporaryDir folder;
        test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), roomyOptions());
        toy.tensors.at("blocks.0.attn.W_V").values[31 * 5 + 3] = NAN;
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, true);
        const ResultSet results = compared(before, test::circuitsOf(toy.folder));
        QVERIFY(std::isnan(changes(results, "ov/relative_change")[1]));
        QVERIFY(std::isnan(changes(results, "full_ov/table_change")[1]));
        QCOMPARE(changes(results, "full_ov/table_change")[2], 0.0);
        QVERIFY(results.warnings.size() >= 1);
        QVERIFY(results.warnings[0].find("L0H1") != std::string::npos);
    }
};

HEADWISE_TEST(ModelComparisonTest)
#include "model_comparison_test.moc"
