#include "ui/pages/scores/query_chooser.h"

#include "ui/base/theme.h"
#include "ui/widgets/token_edit.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>

#include <array>
#include <chrono>

namespace headwise::ui {

namespace {

constexpr std::array presets{50, 500, 1000}; // as in Kamoda et al. 2025

} // namespace

QueryChooser::QueryChooser(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_position(new QSlider(Qt::Horizontal, this))
    , m_positionBox(new QSpinBox(this))
    , m_tokenEdit(new TokenEdit(this))
    , m_token(new QSlider(Qt::Horizontal, this))
{
    createLayout();
    m_tokenEdit->follow(workspace);
    m_rest.setSingleShot(true);
    m_rest.setInterval(std::chrono::milliseconds(250));
    connect(m_position, &QSlider::valueChanged, m_positionBox, &QSpinBox::setValue);
    connect(m_positionBox, &QSpinBox::valueChanged, m_position, &QSlider::setValue);
    connect(m_position, &QSlider::valueChanged, this, &QueryChooser::changed);
    connect(m_token, &QSlider::valueChanged, this, &QueryChooser::changed);
    connect(m_token, &QSlider::valueChanged, &m_rest, qOverload<>(&QTimer::start));
    connect(&m_rest, &QTimer::timeout, this,
            [this] { this->workspace()->selection()->setToken(m_token->value()); });
    connect(m_tokenEdit, &TokenEdit::tokenChosen, workspace->selection(), &Selection::setToken);
    connect(m_tokenEdit, &TokenEdit::notFound, this, &Page::readOutChanged);
}

void QueryChooser::createLayout()
{
    m_position->setAccessibleName(tr("Query position"));
    m_positionBox->setAccessibleName(tr("Query position, number"));
    m_token->setAccessibleName(tr("Token at the query"));
    m_token->setToolTip(tr("Token at the query, id"));
    m_token->setPageStep(100);
    m_tokenEdit->setAccessibleName(tr("Token at the query, text"));
    m_tokenEdit->setFont(tokenFont());
    m_tokenEdit->setFixedWidth(m_tokenEdit->fontMetrics().horizontalAdvance(m_tokenEdit->placeholderText())
                               + 32); // px: the frame and the margins of the text
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(new QLabel(tr("Query position"), this));
    layout->addWidget(m_position, 2);
    layout->addWidget(m_positionBox);
    addPresets(layout);
    layout->addSpacing(16);
    layout->addWidget(new QLabel(tr("Token"), this));
    layout->addWidget(m_tokenEdit);
    layout->addWidget(m_token, 1);
}

void QueryChooser::addPresets(QHBoxLayout* layout)
{
    for (const int place : presets) {
        auto* button = new QPushButton(QString::number(place), this);
        button->setAccessibleName(tr("Query position %1").arg(place));
        button->setFixedWidth(button->fontMetrics().horizontalAdvance(QStringLiteral("00000")) + 16);
        connect(button, &QPushButton::clicked, this, [this, place] { m_position->setValue(place); });
        m_presets << button;
        layout->addWidget(button);
    }
}

int QueryChooser::position() const
{
    return m_position->value();
}

int QueryChooser::token() const
{
    return m_token->value();
}

void QueryChooser::setPositions(int count, std::optional<int> wanted)
{
    const int position = wanted ? *wanted : m_position->maximum() == count - 1 ? this->position() : count / 2;
    const QSignalBlocker quiet(m_position), quietBox(m_positionBox);
    m_position->setRange(0, count - 1);
    m_positionBox->setRange(0, count - 1);
    m_position->setValue(position);
    m_positionBox->setValue(position);
    for (QPushButton* button : m_presets)
        button->setEnabled(button->text().toInt() < count);
}

void QueryChooser::followToken()
{
    if (!workspace()->model()->isOpen())
        return;
    const QSignalBlocker quiet(m_token);
    m_token->setRange(0, workspace()->model()->card().dVocab - 1);
    m_token->setValue(workspace()->selection()->token());
}

} // namespace headwise::ui
