#include "app/window/about_dialog.h"

#include "app/build_text.h"
#include "core/base/log.h"
#include "core/files/library_versions.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QFrame>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QSysInfo>
#include <QThread>
#include <QVBoxLayout>

namespace headwise::app {

using namespace headwise::ui;

namespace {

QList<std::pair<QString, QString>> facts()
{
    QList<std::pair<QString, QString>> lines{
        {QStringLiteral("Headwise"), text(versionText())},
        {QStringLiteral("Build"), QString::fromUtf8(buildText())},
        {QStringLiteral("Qt"),
         QStringLiteral("%1, built with %2").arg(QLatin1String(qVersion()), QStringLiteral(QT_VERSION_STR))}};
    for (const auto& [name, version] : libraryVersions())
        lines << std::pair(text(name), text(version));
    QStringList screens;
    for (const QScreen* screen : QGuiApplication::screens())
        screens << QStringLiteral("%1 × %2 at %3")
                       .arg(screen->size().width())
                       .arg(screen->size().height())
                       .arg(screen->devicePixelRatio());
    lines << std::pair(QStringLiteral("System"),
                       QStringLiteral("%1, %2, %3 threads")
                           .arg(QSysInfo::prettyProductName(), QSysInfo::currentCpuArchitecture())
                           .arg(QThread::idealThreadCount()))
          << std::pair(QStringLiteral("Screen"),
                       QStringLiteral("%1, %2").arg(QGuiApplication::platformName(),
                                                    screens.join(QStringLiteral("; "))));
    return lines;
}

} // namespace

QString diagnostics()
{
    QString lines;
    for (const auto& [name, value] : facts())
        lines += name + QStringLiteral(": ") + value + u'\n';
    return lines;
}

AboutDialog::AboutDialog(QWidget* parent)
    : QDialog(parent)
{
    setWindowTitle(tr("About Headwise"));
    auto* picture = new QLabel(this);
    picture->setPixmap(applicationIcon().pixmap(QSize(64, 64), devicePixelRatioF()));
    auto* name = new QLabel(tr("Headwise %1").arg(text(versionText())), this);
    makeHeading(name);
    auto* what = new QLabel(tr("The attention heads of a transformer, read from its weights."), this);
    auto* licence =
        new QLabel(tr("Free software under the GNU General Public License, version 3 or later."), this);
    makeSecondary(licence);
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    for (QLabel* line : {name, what, licence})
        words->addWidget(line);
    auto* top = new QHBoxLayout;
    top->setSpacing(16);
    top->addWidget(picture);
    top->addLayout(words, 1);

    auto* card = new QFrame(this);
    card->setProperty("card", true);
    auto* grid = new QGridLayout(card);
    grid->setContentsMargins(12, 12, 12, 12);
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    for (const auto& [fact, value] : facts()) {
        auto* left = new QLabel(fact, card);
        makeSecondary(left);
        auto* right = new QLabel(value, card);
        right->setWordWrap(true);
        right->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        const int row = grid->rowCount();
        grid->addWidget(left, row, 0, Qt::AlignTop);
        grid->addWidget(right, row, 1);
    }

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    QPushButton* copy = buttons->addButton(tr("Copy diagnostics"), QDialogButtonBox::ActionRole);
    copy->setMinimumWidth(copy->sizeHint().width() + 16);
    connect(copy, &QPushButton::clicked, this, [] { QGuiApplication::clipboard()->setText(diagnostics()); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addLayout(top);
    layout->addWidget(card);
    layout->addWidget(buttons);
    setMinimumWidth(540);
}

} // namespace headwise::app
