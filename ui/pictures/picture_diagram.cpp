#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/diagram_view.h"
#include "ui/document/head_classes.h"
#include "ui/document/head_metrics.h"
#include "ui/pictures/chart_titles.h"
#include "ui/pictures/picture_body.h"
#include "ui/widgets/subject.h"

#include <QColorDialog>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QMenu>
#include <QPixmap>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

// Pictures made of heads with arrows between them.

namespace headwise::ui {

namespace {

constexpr std::size_t mostEdges = 200, edgesAtFirst = 30;
constexpr int sliderEnd = 1000;

class DiagramBody : public PictureBody {
public:
    DiagramBody(QWidget* parent)
        : PictureBody(parent)
        , m_diagram(new DiagramView(this))
        , m_slider(new QSlider(Qt::Horizontal, this))
        , m_howMany(new QLabel(this))
        , m_colors(new QComboBox(this))
        , m_classColors(new QPushButton(tr("Colours…"), this))
        , m_ownClasses(new QPushButton(tr("Classes…"), this))
    {
        m_slider->setRange(0, sliderEnd);
        m_slider->setMaximumWidth(240);
        m_slider->setAccessibleName(tr("Smallest value drawn"));
        m_slider->setToolTip(tr("Hides pairs below this value"));
        m_colors->addItems(
            {tr("Edges by sign"), tr("Edges by class of the writer"), tr("Edges by class of the reader")});
        m_colors->setAccessibleName(tr("Colour of edges"));
        m_colors->setToolTip(tr(
            "Class thresholds: 0.3 of the attention on random tokens (previous token; induction and duplicate token minus a control), or a copying score beyond ±0.5"));
        makeSecondary(m_howMany);
        auto* least = new QHBoxLayout;
        least->setSpacing(8);
        least->addWidget(m_slider, 1);
        least->addWidget(m_howMany, 1);
        auto* controls = new QHBoxLayout;
        controls->setSpacing(8);
        controls->addWidget(m_colors, 1);
        controls->addWidget(m_classColors);
        controls->addWidget(m_ownClasses);
        controls->addStretch();
        // As wide as its words where there is room, but no reason for a narrow page to be cut off.
        m_colors->setMaximumWidth(m_colors->sizeHint().width());
        m_colors->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        m_colors->setMinimumContentsLength(6);
        m_colors->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        createClassColors();
        createOwnClasses();
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(8);
        layout->addLayout(least);
        layout->addLayout(controls);
        layout->addWidget(m_diagram);
        connect(m_slider, &QSlider::valueChanged, this, [this] {
            m_isCut = true;
            showEdges();
        });
        connect(m_colors, &QComboBox::activated, this, [this] {
            m_isChosen = true;
            showClasses();
        });
        setSubjects(m_diagram, [this](const QPoint& position) {
            const std::optional<HeadId> head = m_diagram->headAt(position);
            return head ? Subject{.heads = {*head}} : Subject{};
        });
        connect(m_diagram, &DiagramView::headClicked, this, &DiagramBody::headChosen);
        connect(m_diagram, &DiagramView::headHovered, this, [this](const QString& words) {
            emit headHovered(m_diagram->hovered());
            emit readOutChanged(words);
        });
    }

    ViewFields choices() override
    {
        return ViewFields()
            .add(
                "least", [this] { return m_isCut ? QJsonValue(m_slider->value()) : QJsonValue(); },
                [this](const QJsonValue& least) {
                    if (least.isDouble())
                        m_slider->setValue(least.toInt());
                })
            .add(
                "colors", [this] { return m_isChosen ? QJsonValue(m_colors->currentIndex()) : QJsonValue(); },
                [this](const QJsonValue& colors) {
                    const int wanted = colors.toInt(-1);
                    if (wanted < 0 || wanted >= m_colors->count())
                        return;
                    m_isChosen = true;
                    m_colors->setCurrentIndex(wanted);
                    showClasses();
                });
    }

    bool showsAllHeads() const override { return true; }
    QString caption() const override { return m_problem; }

    void showPicture(const PictureData& shown) override
    {
        const bool isNew = m_all.empty();
        m_data = shown;
        m_all.clear();
        m_diagram->setMessage(tr("These results lack this array."));
        std::erase_if(m_data.arrays, [this](const ResultArray* array) {
            return headAxes(*array, context().card) != HeadAxes::TwoHeads;
        });
        for (std::size_t kind = 0; kind < m_data.arrays.size(); ++kind)
            collect(*m_data.arrays[kind], static_cast<int>(kind));
        const auto end = m_all.begin() + static_cast<std::ptrdiff_t>(std::min(mostEdges, m_all.size()));
        std::partial_sort(m_all.begin(), end, m_all.end(), [](const DiagramEdge& a, const DiagramEdge& b) {
            return std::abs(a.value) > std::abs(b.value);
        });
        m_all.erase(end, m_all.end());
        const ModelCard& card = context().card;
        m_diagram->setHeads(card.nLayers, card.nHeads);
        m_diagram->setFixedHeight(std::clamp(card.nLayers * 44 + 60, 220, 560));
        m_diagram->setAccessibleName(text(shown.picture.title));
        m_diagram->setValueTitle(commonTitle(m_data.arrays));
        if (isNew && !m_all.empty()) {
            const QSignalBlocker quiet(m_slider);
            m_slider->setValue(placeOf(m_all[std::min(edgesAtFirst, m_all.size()) - 1]));
        }
        showClasses();
        showEdges();
        markHead();
    }

    void markHead() override { m_diagram->setCurrent(context().head); }
    void lightHead(std::optional<HeadId> head) override { m_diagram->setLit(head); }
    void markClasses() override
    {
        m_problem.clear();
        showClasses();
        emit captionChanged();
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        if (m_diagram->edges().empty())
            return {};
        return {{m_diagram, QString()}};
    }

private:
    void createClassColors()
    {
        m_classColors->setAccessibleName(tr("Colours of head classes"));
        m_classColors->setToolTip(tr("Applies to all diagrams. You can also click a class in the legend."));
        auto* menu = new QMenu(m_classColors);
        m_classColors->setMenu(menu);
        connect(menu, &QMenu::aboutToShow, this, [this, menu] { fill(menu); });
        connect(m_diagram, &DiagramView::classClicked, this, &DiagramBody::askForColor);
    }

    void createOwnClasses()
    {
        m_ownClasses->setAccessibleName(tr("Your own classes"));
        m_ownClasses->setToolTip(tr(
            "Your own head classes, which override the computed ones. CSV rows: head,class, such as 5.1,name mover"));
        auto* menu = new QMenu(m_ownClasses);
        menu->addAction(tr("Choose a file…"), this, [this] {
            auto* dialog =
                new QFileDialog(this, tr("Classes of heads"), {}, tr("Head classes (*.csv);;All files (*)"));
            dialog->setAttribute(Qt::WA_DeleteOnClose);
            dialog->setFileMode(QFileDialog::ExistingFile);
            connect(dialog, &QFileDialog::fileSelected, this, &DiagramBody::loadClasses);
            dialog->open();
        });
        QAction* none =
            menu->addAction(tr("By scores alone"), this, [this] { emit ownHeadClassesChosen({}); });
        m_ownClasses->setMenu(menu);
        connect(menu, &QMenu::aboutToShow, this,
                [this, none] { none->setEnabled(!context().ownHeadClasses.empty()); });
    }

    void loadClasses(const QString& file)
    {
        const auto classes = readHeadClasses(file.toStdString(), context().card);
        if (classes)
            return emit ownHeadClassesChosen(*classes);
        m_problem = text(classes.error());
        emit captionChanged();
    }

    void fill(QMenu* menu)
    {
        menu->clear();
        const DiagramClasses& classes = m_diagram->classes();
        for (int headClass = 1; headClass <= classes.names.size(); ++headClass) {
            QPixmap shown(16, 16);
            shown.fill(m_diagram->classColor(headClass, themeColors(palette())));
            menu->addAction(QIcon(shown), classes.names[headClass - 1] + QStringLiteral("…"), this,
                            [this, headClass] { askForColor(headClass); });
        }
        menu->addSeparator();
        QAction* reset = menu->addAction(tr("Restore defaults"), this, [this] {
            for (const QString& name : m_diagram->classes().names)
                setClassColor(name, {});
        });
        reset->setEnabled(std::ranges::any_of(
            classes.names, [](const QString& name) { return colorChoice().classes.contains(name); }));
    }

    void askForColor(int headClass)
    {
        const QString name = m_diagram->classes().names.value(headClass - 1);
        auto* dialog = new QColorDialog(m_diagram->classColor(headClass, themeColors(palette())), this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setWindowTitle(tr("Colour of heads: %1").arg(name));
        connect(dialog, &QColorDialog::colorSelected, this,
                [name](const QColor& color) { setClassColor(name, color); });
        dialog->open();
    }

    void collect(const ResultArray& array, int kind)
    {
        const ArrayPart all = wholeArray(array);
        const auto heads = static_cast<std::size_t>(context().card.nHeads);
        const std::size_t count = array.shape[0] * heads;
        const auto headOf = [heads](std::size_t index) {
            return HeadId{static_cast<int>(index / heads), static_cast<int>(index % heads)};
        };
        for (std::size_t from = 0; from < count; ++from)
            for (std::size_t to = 0; to < count; ++to) {
                const double value = all.at(from * count + to);
                if (std::isfinite(value) && value != 0 && headOf(from).layer < headOf(to).layer)
                    m_all.push_back({headOf(from), headOf(to), value, kind});
            }
    }

    void showClasses()
    {
        const std::vector<HeadClass> known =
            headClasses(*context().results, context().card, context().previousTokenHeads);
        const NamedClasses named = namedClasses(known, context().ownHeadClasses, context().card);
        DiagramClasses classes{.ofHeads = named.ofHeads, .names = named.names, .kinds = {}};
        if (m_data.arrays.size() > 1)
            for (const ResultArray* array : m_data.arrays)
                classes.kinds << metricTitle(*array);
        m_colors->setItemText(0, classes.kinds.isEmpty() ? tr("Edges by sign") : tr("Edges by kind"));
        const bool hasClasses = std::ranges::any_of(named.ofHeads, [](int one) { return one > 0; });
        if (!m_isChosen)
            m_colors->setCurrentIndex(hasClasses && classes.kinds.isEmpty() ? 1 : 0);
        classes.edges = static_cast<DiagramClasses::Edges>(m_colors->currentIndex());
        m_diagram->setClasses(classes);
        m_classColors->setVisible(hasClasses);
    }

    /// The slider's value at which `edge` is the last that is drawn.
    int placeOf(const DiagramEdge& edge) const
    {
        const double low = std::abs(m_all.back().value), high = std::abs(m_all.front().value);
        return high > low ? static_cast<int>((std::abs(edge.value) - low) / (high - low) * sliderEnd) : 0;
    }

    void showEdges()
    {
        const auto end = std::ranges::find_if(
            m_all, [this](const DiagramEdge& edge) { return placeOf(edge) < m_slider->value(); });
        m_diagram->setEdges({m_all.begin(), end});
        const auto shown = end - m_all.begin();
        m_howMany->setText(
            shown == 0 ? QString()
                       : (shown == 1 ? tr("%1 pair of at least %2") : tr("%1 pairs of at least %2"))
                             .arg(shown)
                             .arg(number(std::abs(m_all[static_cast<std::size_t>(shown) - 1].value))));
    }

    DiagramView* m_diagram;
    QSlider* m_slider;
    QLabel* m_howMany;
    QComboBox* m_colors;
    QPushButton* m_classColors;
    QPushButton* m_ownClasses;
    QString m_problem; // of the last file of classes
    PictureData m_data;
    std::vector<DiagramEdge> m_all; // the strongest first
    bool m_isChosen = false;        // the colours, by the user
    bool m_isCut = false;           // the smallest value, by the user
};

} // namespace

PictureBody* newDiagramBody(QWidget* parent)
{
    return new DiagramBody(parent);
}

} // namespace headwise::ui
