#include "ui/pages/compare/compared_tokens.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/compare_tables.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QVBoxLayout>

namespace headwise::ui {

namespace {

constexpr int tableSize = 20;

} // namespace

ComparedTokens::ComparedTokens(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_title(new QLabel(this))
    , m_tables(new CompareTables(workspace, this))
{
    makeSecondary(m_title);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_title);
    layout->addWidget(m_tables, 1);
}

void ComparedTokens::clear()
{
    m_job.cancel();
    m_tables->clear();
}

void ComparedTokens::compare(const CompareSides& sides, CircuitKind kind, const QString& waiting)
{
    m_job.cancel();
    if (!sides.hasSameVocabulary || !sides.first.tokens || !sides.second.tokens) {
        m_tables->clear();
        return m_title->setText(!sides.hasSameVocabulary
                                    ? tr("The vocabularies differ, so their tables cannot be compared.")
                                    : waiting);
    }
    const QString token = workspace()->model()->tokenText(workspace()->selection()->token());
    m_title->setText(kind == CircuitKind::FullOv
                         ? tr("The %2 strongest outputs when attending to %1").arg(token).arg(tableSize)
                         : tr("The %2 keys that the query %1 attends to most").arg(token).arg(tableSize));
    m_job.start(
        tr("Tables of %1").arg(token),
        aboutModel(workspace()->model()->circuits(),
                   [sides, kind, token = workspace()->selection()->token(),
                    unused = workspace()->filteredTokens()->unused()](const Task&) {
                       return tablesCompared(sides, kind, token, tableSize, unused);
                   }),
        [this, first = sides.first.name, second = sides.second.name](const Result<TableDifference>& found) {
            if (found)
                return m_tables->show(*found, first, second);
            m_tables->clear();
            m_title->setText(text(found.error()));
        });
}

QList<FigureSource*> ComparedTokens::figures()
{
    QList<FigureSource*> all;
    for (int i = 0; i < 3 && !m_tables->isEmpty(); ++i) {
        m_tables->table(i)->setFigureTitle(
            QStringLiteral("%1, %2").arg(m_title->text(), m_tables->caption(i)));
        all << m_tables->table(i);
    }
    return all;
}

} // namespace headwise::ui
