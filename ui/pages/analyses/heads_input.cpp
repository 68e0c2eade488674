#include "ui/pages/analyses/heads_input.h"

#include "core/model/head_list.h"
#include "core/runs/plan.h"
#include "ui/base/text.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>

namespace headwise::ui {

using Which = HeadChoice::Which;

HeadsInput::HeadsInput(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_which(new QComboBox(this))
    , m_listed(new QLineEdit(this))
{
    m_which->addItem(tr("all"), static_cast<int>(Which::All));
    m_which->addItem(tr("the selected one"), static_cast<int>(Which::Selected));
    m_which->addItem(tr("these:"), static_cast<int>(Which::Listed));
    m_which->setAccessibleName(tr("Selected or listed heads"));
    m_listed->setAccessibleName(tr("Heads to analyse"));
    m_listed->setPlaceholderText(QStringLiteral("5.1, 9.6"));
    m_listed->setToolTip(tr("Layer.head, separated by commas; 5.* is every head of layer 5"));
    m_listed->setMaximumWidth(240);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    row->addWidget(m_which);
    row->addWidget(m_listed, 1);
    row->addStretch();
    connect(m_which, &QComboBox::activated, this, [this] {
        const auto which = static_cast<Which>(m_which->currentData().toInt());
        if (which == Which::Listed && m_listed->text().isEmpty())
            m_listed->setText(text(dottedHead(m_workspace->selection()->head())));
        m_listed->setVisible(which == Which::Listed);
        emit changed();
    });
    connect(m_listed, &QLineEdit::editingFinished, this, &HeadsInput::changed);
}

void HeadsInput::setAnalysis(const Analysis& analysis)
{
    m_analysis = &analysis;
    m_listed->clear();
}

void HeadsInput::forget()
{
    m_listed->clear();
}

bool HeadsInput::isAsked() const
{
    const auto circuits = m_workspace->model()->circuits();
    return m_analysis && circuits
        && takesNamedHeads(*m_analysis, circuits->config(), m_workspace->runs()->analysisOptions());
}

void HeadsInput::showChoice()
{
    const HeadChoice choice = m_workspace->runs()->headChoice(*m_analysis);
    m_which->setCurrentIndex(m_which->findData(static_cast<int>(choice.which)));
    m_listed->setVisible(choice.which == Which::Listed);
    m_which->setItemText(m_which->findData(static_cast<int>(Which::Selected)),
                         tr("the selected one, %1").arg(text(m_workspace->selection()->head())));
    const ModelConfig& config = m_workspace->model()->circuits()->config();
    const auto typed = parseHeads(m_listed->text().toStdString(), config.nLayers, config.nHeads);
    if (choice.which == Which::Listed && typed && *typed != choice.listed)
        m_listed->setText(text(headNames(choice.listed)));
}

bool HeadsInput::apply(QString& problem)
{
    if (!isAsked())
        return true;
    HeadChoice choice{.which = static_cast<Which>(m_which->currentData().toInt())};
    if (choice.which == Which::Listed) {
        const ModelCard& card = m_workspace->model()->card();
        auto heads = parseHeads(m_listed->text().toStdString(), card.nLayers, card.nHeads);
        if (!heads) {
            problem += text(heads.error());
            return false;
        }
        choice.listed = std::move(heads).value();
    }
    m_workspace->runs()->setHeadChoice(*m_analysis, choice);
    return true;
}

} // namespace headwise::ui
