#include "ui/document/glitch_tokens.h"

#include "tests/support/opened_page.h"
#include "tests/support/patched_model.h"
#include "tests/support/program.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/tokens_panel.h"

#include <QTemporaryDir>

#include <algorithm>
#include <set>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Returns the untrained tokens: ‖e − ē‖ more than 4 robust deviations below the median.
std::set<int> glitches(const Workspace& workspace)
{
    const Circuits& circuits = *workspace.model()->circuits();
    const Matrix<double> E = circuits.weights().W_E<double>(0, circuits.config().dVocab);
    const RowVector<double> mean = E.colwise().mean();
    std::vector<int> ids;
    for (int id = 0; id < static_cast<int>(E.rows()); ++id)
        if (!workspace.filteredTokens()->unused()[static_cast<std::size_t>(id)])
            ids.push_back(id);
    std::vector<double> distances;
    for (const int id : ids)
        distances.push_back((E.row(id) - mean).norm());
    const double middle = median(distances);
    std::vector<double> deviations;
    for (const double distance : distances)
        deviations.push_back(std::abs(distance - middle));
    const double limit = middle - 4 * 1.4826 * median(deviations);
    std::set<int> marked;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (distances[i] < limit)
            marked.insert(ids[i]);
    return marked;
}

/// Copies the demo with three consecutive embedding rows set to zero. \returns false if a file could not be written
bool copyWithZeroRows(const QString& folder, int firstToken)
{
    constexpr qsizetype row = 256 * sizeof(float); // d_model of the demo
    return copyPatched(
        QStringLiteral(HEADWISE_DEMO_MODEL), folder, QStringLiteral("embed.W_E"),
        [&](QByteArray& bytes) { bytes.replace(firstToken * row, 3 * row, QByteArray(3 * row, 0)); });
}

} // namespace

class GlitchTokensTest : public QObject {
    Q_OBJECT

private slots:
    void areThoseNearTheMeanOfAllAndDrawnMuted()
    {
        const QTemporaryDir folder;
        QVERIFY(copyWithZeroRows(folder.path(), 700));
        OpenedPage<TokensPanelOfOv> opened(folder.path().toStdString());
        auto* tokens = GlitchTokens::of(&opened.workspace);
        const std::set<int> expected = glitches(opened.workspace);
        const auto agrees = [&] {
            for (int id = 0; id < opened.workspace.model()->card().dVocab; ++id)
                if (tokens->contains(id) != expected.contains(id))
                    return false;
            return true;
        };
        QTRY_VERIFY(agrees());
        QVERIFY(expected.contains(700) && expected.contains(701) && expected.contains(702));
        QVERIFY(!tokens->contains(-1) && !tokens->contains(opened.workspace.model()->card().dVocab));
        // In a table of all tokens.
        opened.page.setLength(opened.workspace.model()->card().dVocab);
        auto* table = opened.find<QTableView>(QStringLiteral("largest"));
        QTRY_COMPARE(
            table->model()->rowCount(),
            static_cast<int>(std::ranges::count(opened.workspace.filteredTokens()->unused(), false)));
        int muted = 0;
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QModelIndex cell = table->model()->index(row, TokenTableModel::TokenColumn);
            const bool isMuted = cell.data(TokenTableModel::IsMutedRole).toBool();
            QCOMPARE(isMuted, expected.contains(cell.data(TokenTableModel::IdRole).toInt()));
            QCOMPARE(cell.data(Qt::ToolTipRole).toString().contains(QStringLiteral("Untrained token")),
                     isMuted);
            muted += isMuted ? 1 : 0;
        }
        QCOMPARE(muted, static_cast<int>(expected.size()));
    }

private:
    struct TokensPanelOfOv : TokensPanel {
        explicit TokensPanelOfOv(Workspace* workspace)
            : TokensPanel(workspace, CircuitKind::FullOv)
        {
        }
        using QWidget::show;
    };
};

HEADWISE_TEST(GlitchTokensTest)
#include "glitch_tokens_test.moc"
