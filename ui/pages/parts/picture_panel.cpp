#include "ui/pages/parts/picture_panel.h"

#include "core/analysis/catalogue.h"
#include "core/session/views.h"
#include "ui/base/text.h"
#include "ui/pages/parts/figure_subject.h"

#include <QVBoxLayout>

namespace headwise::ui {

PicturePanel::PicturePanel(Workspace* workspace, Picture::Kind kind, const QString& name, QWidget* parent)
    : Page(workspace, parent)
    , m_name(name)
    , m_body(newPictureBody(kind, name, this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_body, 1);
    m_body->fillPlace();
    connect(m_body, &PictureBody::readOutChanged, this, &Page::readOutChanged);
    connect(m_body, &PictureBody::headChosen, workspace->selection(), &Selection::setHead);
    connect(m_body, &PictureBody::headHovered, workspace->selection(), &Selection::setHovered);
    connect(workspace->selection(), &Selection::hoveredChanged, this,
            [this] { m_body->lightHead(this->workspace()->selection()->hovered()); });
    connect(m_body, &PictureBody::referenceChosen, workspace->selection(), &Selection::setReference);
    connect(m_body, &PictureBody::tokenChosen, workspace->selection(), &Selection::setToken);
}

void PicturePanel::showPicture(const Picture& picture)
{
    draw(picture, pictureContext(*workspace()));
}

void PicturePanel::showPicture(const Picture& picture, ResultSet results)
{
    PictureContext context = pictureContext(*workspace());
    context.results = std::make_shared<const ResultSet>(std::move(results));
    context.isCut = false;
    draw(picture, std::move(context));
}

void PicturePanel::draw(const Picture& picture, PictureContext context)
{
    m_context = std::move(context);
    m_title = text(picture.title);
    m_body->setPending(false);
    m_body->setContext(m_context);
    m_body->showPicture(pictureData(picture, m_context.results));
}

void PicturePanel::markHead()
{
    m_context.head = workspace()->selection()->head();
    m_context.reference = workspace()->selection()->reference();
    m_body->setContext(m_context);
    if (m_body->showsAllHeads() && !m_title.isEmpty())
        m_body->markHead();
}

void PicturePanel::showMessage(const QString& message)
{
    m_title.clear();
    m_body->showMessage(message);
}

QList<FigureSource*> PicturePanel::figures()
{
    QList<FigureSource*> all;
    if (m_title.isEmpty())
        return all;
    const QString model = text(workspace()->model()->card().name);
    const QString head = m_body->showsAllHeads() ? QString() : text(workspace()->selection()->head()) + u' ';
    for (const auto& [view, what] : m_body->figures()) {
        all << dynamic_cast<FigureSource*>(view);
        setPictureName(view, m_name);
        describe(all.last(), QStringLiteral("%1%2, %3").arg(head, m_title, model));
        if (m_body->showsAllHeads())
            setSubject(all.last(), std::nullopt);
    }
    return all;
}

ResultArray shownArray(const std::string& path, ArrayAxis axis, std::vector<double> values)
{
    ResultArray array;
    for (const Analysis& analysis : catalogue())
        for (const ArraySpec& spec : analysis.arrays)
            if (spec.path == path) {
                array.title = spec.title;
                array.definition = spec.definition;
                array.unit = spec.unit;
                array.range = spec.range;
            }
    array.path = path;
    array.axes = {std::move(axis)};
    array.shape = {values.size()};
    array.values = std::move(values);
    return array;
}

ResultArray shownMatrix(const std::string& path, const std::array<Axis, 2>& axes,
                        const Matrix<double>& values)
{
    const Matrix<double> rows = values.transpose(); // arrays are row-major
    ResultArray array = shownArray(path, axes[0], {rows.data(), rows.data() + rows.size()});
    array.axes.emplace_back(axes[1]);
    array.shape = {static_cast<std::size_t>(values.rows()), static_cast<std::size_t>(values.cols())};
    return array;
}

} // namespace headwise::ui
