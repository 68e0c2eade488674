#include "core/session/session_file.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/figures/figure_export.h"

#include <QDir>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QTableView>
#include <QTextDocument>
#include <QToolTip>

#include <sys/inotify.h>
#include <unistd.h>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// Counts how often a picture named in markup is opened.
class Bait {
public:
    explicit Bait(const QString& file)
        : m_file(file)
    {
        QImage picture(8, 8, QImage::Format_RGB32);
        picture.fill(Qt::red);
        if (!picture.save(file))
            qFatal("the bait cannot be written");
        inotify_add_watch(m_watch, file.toLocal8Bit().constData(), IN_OPEN);
    }
    ~Bait() { ::close(m_watch); }
    Bait(const Bait&) = delete;
    Bait& operator=(const Bait&) = delete;

    QString markup() const { return QStringLiteral("<img src='%1'>").arg(m_file); }
    QString background() const
    {
        return QStringLiteral("<span style='background-image:url(%1)'>word</span>").arg(m_file);
    }
    bool wasTaken() const ///< Since the last call.
    {
        alignas(inotify_event) char events[4096];
        return ::read(m_watch, events, sizeof events) > 0;
    }

private:
    QString m_file;
    int m_watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

/// A picture, a number with reversed digits and a control character.
std::string hostile(const Bait& bait)
{
    return bait.markup().toStdString() + "\u202E123\a";
}

void layOut(const QString& html)
{
    QTextDocument document;
    document.setHtml(html);
    document.setTextWidth(200);
    QImage paper(200, 50, QImage::Format_RGB32);
    QPainter painter(&paper);
    document.drawContents(&painter);
}

bool quotesMarkup(const QString& words)
{
    return words.contains(QStringLiteral("<img"));
}

void checkLabels()
{
    for (QWidget* widget : QApplication::allWidgets())
        if (auto* label = qobject_cast<QLabel*>(widget); label && label->isVisible()) {
            QVERIFY2(label->textFormat() != Qt::AutoText, qPrintable(label->text()));
            QVERIFY2(label->textFormat() == Qt::PlainText || !quotesMarkup(label->text()),
                     qPrintable(label->text()));
            QVERIFY2(!label->text().contains(QChar(0x202E)), qPrintable(label->text()));
        }
}

void checkToolTip(QWidget* widget, const QString& words)
{
    if (words.isEmpty())
        return;
    QToolTip::showText(widget->mapToGlobal(QPoint(1, 1)), words, widget);
    for (QWidget* top : QApplication::topLevelWidgets())
        if (auto* tip = qobject_cast<QLabel*>(top); tip && tip->inherits("QTipLabel"))
            QCOMPARE(tip->textFormat(), Qt::PlainText);
    QVERIFY2(!words.contains(QChar(0x202E)), qPrintable(words));
}

void checkTable(QTableView* table)
{
    const QAbstractItemModel* model = table->model();
    for (int row = 0; model && row < std::min(3, model->rowCount()); ++row)
        for (int column = 0; column < model->columnCount(); ++column)
            for (const int role : {static_cast<int>(Qt::DisplayRole), static_cast<int>(Qt::ToolTipRole)})
                checkToolTip(table, model->index(row, column).data(role).toString());
    for (int column = 0; model && column < model->columnCount(); ++column)
        checkToolTip(table, model->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString());
}

} // namespace

/// Strings from a stranger's file are shown and never interpreted.
class PlainTextTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        m_bait = std::make_unique<Bait>(m_folder.filePath(QStringLiteral("bait.png")));
    }

    void noLabelOpensAFile()
    {
        QLabel label(m_bait->markup());
        label.show();
        label.grab();
        QVERIFY(!m_bait->wasTaken());
        QCOMPARE(label.textFormat(), Qt::PlainText);
    }

    void markupOpensNoFile()
    {
        const QString names = m_bait->markup() + m_bait->background();
        QLabel label;
        setMarkup(&label, QStringLiteral("<b>%1</b>").arg(names));
        label.show();
        label.grab();
        QVERIFY(!m_bait->wasTaken());
        layOut(m_bait->background()); // the positive controls: Qt's default behaviour
        QVERIFY(m_bait->wasTaken());
        layOut(m_bait->markup());
        QVERIFY(m_bait->wasTaken());
    }

    void aSessionOfAStrangerIsShownAsItIs()
    {
        const QString file = m_folder.filePath(QStringLiteral("stranger.h5"));
        makeSession(file);
        WindowDriver driver;
        driver.window.openPath(file);
        QTRY_VERIFY(driver.workspace().model()->isOpen()
                    && driver.workspace().model()->results()->find("scores/copying"));
        walk(driver);
    }

    void aTokenizerOfAStrangerIsShownAsItIs()
    {
        const QString model = m_folder.filePath(QStringLiteral("<b>a model")),
                      vocabulary = model + QStringLiteral("/vocab.txt");
        QVERIFY(QDir().mkpath(model));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                model + u'/' + QLatin1String(name)));
        QFile words(vocabulary);
        QVERIFY(words.open(QIODevice::WriteOnly));
        words.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
        for (int id = 5; id < 2048; ++id)
            words.write(m_bait->markup().toUtf8() + "\u202E" + QByteArray::number(id) + '\n');
        words.close();
        WindowDriver driver;
        driver.window.openPath(model);
        driver.waitForAnalyses();
        QVERIFY(driver.workspace().model()->tokenizer());
        QVERIFY(quotesMarkup(driver.workspace().model()->tokenText(5)));
        walk(driver);
    }

    void whatGoesWrongIsSaidAsItIs()
    {
        WindowDriver driver;
        emit driver.workspace().failed(text(Error{ErrorCode::Io, hostile(*m_bait)}));
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        QVERIFY(driver.window.findChild<QMessageBox*>()->text().contains(
            QStringLiteral("<0xE2><0x80><0xAE>123<0x07>")));
        checkLabels();
        driver.window.findChild<QMessageBox*>()->grab();
        QVERIFY(!m_bait->wasTaken());
    }

private:
    void makeSession(const QString& file)
    {
        WindowDriver driver;
        driver.openDemo();
        driver.window.saveTo(file);
        QTRY_VERIFY(!driver.workspace().session()->path().empty());
        const auto stored = readSession(file.toStdString(), {});
        QVERIFY(test::isOk(stored));
        Session session = *stored;
        const std::string words = hostile(*m_bait);
        for (ResultArray& array : session.results.arrays)
            array.title = array.definition = array.unit = words;
        ResultArray unknown = *session.results.find("scores/copying");
        unknown.path = "scores/\u202E123\a";
        unknown.axes.assign(unknown.axes.size(), ArrayAxis::named(words));
        session.results.arrays.push_back(std::move(unknown));
        session.results.warnings = session.warnings = session.bookmarks = {words};
        session.model.name = words;
        session.model.architecture = words;
        session.model.source = m_folder.filePath(QStringLiteral("gone")).toStdString();
        session.notes = {{"0.1", words}, {words, words}};
        for (std::string& token : session.tokens)
            token = words + token;
        QVERIFY(test::isOk(writeSession(file.toStdString(), session, {})));
    }

    void walk(WindowDriver& driver)
    {
        for (int page = 0; page < driver.tabs()->count(); ++page) {
            driver.tabs()->setCurrentIndex(page);
            QCoreApplication::processEvents();
            driver.window.grab();
            checkLabels();
            for (QWidget* part : driver.window.findChildren<QWidget*>())
                if (part->isVisible()) {
                    checkToolTip(part, part->toolTip());
                    QVERIFY2(!quotesMarkup(part->whatsThis()), qPrintable(part->whatsThis()));
                }
            for (QTableView* table : driver.window.findChildren<QTableView*>())
                if (table->isVisible())
                    checkTable(table);
            for (const FigureSource* source :
                 driver.page() ? driver.page()->figures() : QList<FigureSource*>())
                checkExports(*source);
            QToolTip::hideText();
            QVERIFY2(!m_bait->wasTaken(), qPrintable(driver.tabs()->tabText(page)));
        }
    }

    /// No format opens the bait or reverses the text.
    void checkExports(const FigureSource& source)
    {
        using enum FigureFormat;
        for (const FigureFormat format : {Svg, Pdf, Csv, Tsv, Latex, Markdown}) {
            const QString name = m_folder.filePath(QStringLiteral("exported"));
            const auto done = exportFigure(source, name, {.format = format});
            if (isData(format) && !done && done.error().code == ErrorCode::Unsupported)
                continue; // pictures without numbers
            QVERIFY(test::isOk(done));
            QFile file(name);
            QVERIFY(file.open(QIODevice::ReadOnly));
            QVERIFY2(format == Pdf || !file.readAll().contains("\u202E"), qPrintable(name));
            QVERIFY(file.remove());
        }
    }

    QTemporaryDir m_folder;
    std::unique_ptr<Bait> m_bait;
};

HEADWISE_TEST(PlainTextTest)
#include "plain_text_test.moc"
