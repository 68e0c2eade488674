#include "ui/base/theme.h"
#include "ui/pages/parts/picture_panel.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/scores/prefix_table.h"
#include "ui/pages/scores/rotary_terms.h"
#include "ui/pages/scores/scores_page.h"
#include "ui/pages/scores/term_map.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/token_edit.h"

#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QVBoxLayout>

#include <array>

// The widgets of the page and their places.

namespace headwise::ui {

namespace {

constexpr std::array presets{50, 500, 1000}; // as in Kamoda et al. 2025

} // namespace

QHBoxLayout* ScoresPage::createControls()
{
    m_position->setAccessibleName(tr("Query position"));
    m_positionBox->setAccessibleName(tr("Query position, number"));
    m_token->setAccessibleName(tr("Token at the query"));
    m_token->setToolTip(tr("Token at the query, id"));
    m_token->setPageStep(100);
    m_tokenEdit->setAccessibleName(tr("Token at the query, text"));
    m_tokenEdit->setFont(tokenFont());
    m_tokenEdit->setMaximumWidth(160);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(new QLabel(tr("Query position"), this));
    controls->addWidget(m_position, 2);
    controls->addWidget(m_positionBox);
    for (const int place : presets) {
        auto* button = new QPushButton(QString::number(place), this);
        button->setAccessibleName(tr("Query position %1").arg(place));
        button->setFixedWidth(button->fontMetrics().horizontalAdvance(QStringLiteral("00000")) + 16);
        connect(button, &QPushButton::clicked, this, [this, place] { m_position->setValue(place); });
        m_presets << button;
        controls->addWidget(button);
    }
    controls->addSpacing(16);
    controls->addWidget(new QLabel(tr("Token"), this));
    controls->addWidget(m_tokenEdit);
    controls->addWidget(m_token, 1);
    return controls;
}

QWidget* ScoresPage::createCharts()
{
    for (PicturePanel* panel : {m_prior, m_pairs, m_pattern})
        connect(panel, &Page::readOutChanged, this, &Page::readOutChanged);
    auto* charts = new QSplitter(Qt::Vertical, m_body);
    charts->setChildrenCollapsible(false);
    charts->addWidget(m_prior);
    charts->addWidget(m_pairs);
    charts->addWidget(m_pattern);
    charts->setSizes({200, 260, 200}); // the middle has most lines and names
    return charts;
}

void ScoresPage::createLayout()
{
    auto* right = new QSplitter(Qt::Vertical, m_body);
    right->setChildrenCollapsible(false);
    right->addWidget(m_map);
    right->addWidget(m_prefixes);
    right->setSizes({400, 240});
    auto* parts = new QSplitter(m_body);
    parts->setChildrenCollapsible(false);
    parts->setHandleWidth(16);
    parts->addWidget(createCharts());
    parts->addWidget(right);
    parts->setSizes({420, 580}); // fits six columns of prefixes without a scroll bar
    auto* body = new QVBoxLayout(m_body);
    body->setContentsMargins(0, 0, 0, 0);
    body->setSpacing(8);
    body->addLayout(createControls());
    body->addWidget(parts, 1);
    m_rotary->hide();
    m_state->setWordWrap(true);
    makeSecondary(m_state);
    m_below = new QHBoxLayout;
    m_below->setSpacing(8);
    m_below->addWidget(m_state, 1);
    m_below->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    m_below->addWidget(m_layer0);
    m_below->addWidget(new JobBar(&m_normsJob, this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(m_body, 1);
    layout->addWidget(m_rotary, 1);
    layout->addLayout(m_below);
}

} // namespace headwise::ui
