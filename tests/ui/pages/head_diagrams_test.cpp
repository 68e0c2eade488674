#include "tests/support/analysis_results.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/color_choice.h"
#include "ui/base/theme.h"
#include "ui/charts/diagram_view.h"
#include "ui/document/head_classes.h"
#include "ui/document/workspace_state.h"

#include <QApplication>
#include <QColorDialog>
#include <QComboBox>
#include <QFile>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QSlider>
#include <QTemporaryDir>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

/// Diagrams of heads and their composition: edges, classes, the threshold.
class HeadDiagramsTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedResults;

    /// Returns the diagrams of K- and V-composition, with heads coloured by their pattern scores.
    static std::pair<DiagramView*, DiagramView*> strongestPairs(Opened& opened)
    {
        run(opened, "pattern_scores");
        run(opened, "composition");
        return {opened.find<DiagramView>(QStringLiteral("Strongest pairs, K-composition")),
                opened.find<DiagramView>(QStringLiteral("Strongest pairs, V-composition"))};
    }

private slots:
    void theWheelScrollsThePageOverAChoiceToo()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const auto [diagram, values] = strongestPairs(opened);
        auto* choice = diagram->parentWidget()->findChild<QComboBox*>();
        QVERIFY(choice && choice->count() > 1);
        QCOMPARE(choice->focusPolicy(), Qt::StrongFocus); // A wheel does not give it the focus…
        opened.page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&opened.page));
        choice->setFocus(); // …and where it has it, the page scrolls.
        const int before = choice->currentIndex();
        for (const int delta : {-120, 120, -120}) {
            QWheelEvent wheel(choice->rect().center(), choice->mapToGlobal(choice->rect().center()), {},
                              {0, delta}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
            QApplication::sendEvent(choice, &wheel);
            QCOMPARE(choice->currentIndex(), before);
        }
        QTest::keyClick(choice, Qt::Key_Down); // Keys still choose.
        QVERIFY(choice->currentIndex() != before);
    }

    void edgesHaveTheColourOfTheirWritersClass()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "pattern_scores");
        run(opened, "composition");
        auto* diagram = opened.find<DiagramView>(QStringLiteral("Strongest pairs, K-composition"));
        const DiagramClasses& classes = diagram->classes();
        const ArrayPart previous = numbers(opened, "analyses/pattern_scores/previous");
        const ArrayPart induction = numbers(opened, "analyses/pattern_scores/induction");
        QVERIFY(previous.at(1) >= 0.3 && induction.at(13) >= 0.3); // the demo's circuit
        QCOMPARE(classes.names.value(classes.ofHeads[1] - 1), QStringLiteral("previous token"));
        QCOMPARE(classes.names.value(classes.ofHeads[13] - 1), QStringLiteral("induction"));
        QVERIFY(classes.edges == DiagramClasses::Edges::Writer);
        const ThemeColors& colors = lightColors();
        const QColor writer = diagram->edgeColor({{0, 1}, {1, 5}, 1}, colors);
        QCOMPARE(writer, colors.categorical[static_cast<std::size_t>(HeadClass::PreviousToken)]);
        auto* how = diagram->parentWidget()->findChild<QComboBox*>();
        how->setCurrentIndex(2);
        emit how->activated(2);
        QCOMPARE(diagram->edgeColor({{0, 1}, {1, 5}, 1}, colors),
                 colors.categorical[static_cast<std::size_t>(HeadClass::Induction)]);
    }

    /// A click on a class in the legend asks for its colour, which then applies to every diagram, on paper too.
    void classesHaveTheColoursThatWereChosen()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const auto [diagram, other] = strongestPairs(opened);
        const int induction = static_cast<int>(HeadClass::Induction);
        const ThemeColors& colors = lightColors();
        const auto isOnPaper = [&, other = other](const QColor& color) {
            const QImage paper =
                figureImage(*other, {.format = FigureFormat::Png}, 200).convertToFormat(QImage::Format_RGB32);
            for (int y = 0; y < paper.height(); ++y)
                for (int x = 0; x < paper.width(); ++x)
                    if (QColor(paper.pixel(x, y)) == color)
                        return true;
            return false;
        };
        const QColor chosen(1, 200, 77);
        QVERIFY(!isOnPaper(chosen));
        QVERIFY(diagram->legendRect(induction).width() > 20);
        QTest::mouseClick(diagram, Qt::LeftButton, {}, diagram->legendRect(induction).center().toPoint());
        QPointer<QColorDialog> dialog = diagram->parentWidget()->findChild<QColorDialog*>();
        QVERIFY(dialog && dialog->windowTitle().contains(QStringLiteral("induction")));
        QCOMPARE(dialog->currentColor(), diagram->classColor(induction, themeColors(diagram->palette())));
        dialog->setCurrentColor(chosen);
        dialog->accept();
        QCOMPARE(diagram->classColor(induction, colors), chosen);
        QCOMPARE(other->classColor(induction, colors), chosen);
        QCOMPARE(diagram->classColor(static_cast<int>(HeadClass::PreviousToken), colors),
                 colors.categorical[static_cast<std::size_t>(HeadClass::PreviousToken)]);
        QVERIFY(isOnPaper(chosen));
        QCOMPARE(colorChoice().classes.value(QStringLiteral("induction")), chosen);
        auto* button = diagram->parentWidget()->findChild<QPushButton*>();
        QVERIFY(button && button->isVisibleTo(diagram->parentWidget()) && button->menu());
        emit button->menu()->aboutToShow();
        QVERIFY(button->menu()->actions().size() > 3); // classes, a separator, and a way to reset
        button->menu()->actions().back()->trigger();
        QVERIFY(colorChoice().classes.isEmpty());
        QCOMPARE(diagram->classColor(induction, colors),
                 colors.categorical[static_cast<std::size_t>(HeadClass::Induction)]);
    }

    void classesOfOnesOwnComeBeforeThoseOfTheScores()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const auto [diagram, other] = strongestPairs(opened);
        const auto classOf = [](const DiagramView* view, std::size_t head) {
            return view->classes().names.value(view->classes().ofHeads[head] - 1);
        };
        QCOMPARE(classOf(diagram, 1), QStringLiteral("previous token"));
        const QTemporaryDir folder;
        const auto written = [&](const QByteArray& words) {
            QFile file(folder.filePath(QStringLiteral("classes.csv")));
            if (!file.open(QIODevice::WriteOnly) || file.write(words) != words.size())
                qFatal("no file");
            return file.fileName().toStdString();
        };
        const ModelCard& card = opened.workspace.model()->card();
        const auto own =
            readHeadClasses(written("head,class\n0.1,name mover\nL0H2,induction\n1.7,name mover\n"), card);
        QVERIFY(isOk(own));
        opened.workspace.notebook()->setOwnHeadClasses(*own);
        for (const DiagramView* view : {diagram, other}) {
            QCOMPARE(classOf(view, 1), QStringLiteral("name mover"));  // overrides the rule's class
            QCOMPARE(classOf(view, 15), QStringLiteral("name mover")); // 2 layers of 8 heads
            QCOMPARE(classOf(view, 2), QStringLiteral("induction"));   // the class of the rules
            QCOMPARE(classOf(view, 13), QStringLiteral("induction"));  // by its score
            QCOMPARE(view->classes().ofHeads[2], static_cast<int>(HeadClass::Induction));
        }
        const int mover = diagram->classes().ofHeads[1];
        setClassColor(QStringLiteral("name mover"), QColor(1, 200, 77));
        QCOMPARE(other->classColor(mover, lightColors()), QColor(1, 200, 77));
        setClassColor(QStringLiteral("name mover"), {});

        const QJsonObject state = questionState(opened.workspace);
        opened.workspace.notebook()->setOwnHeadClasses({});
        QCOMPARE(classOf(diagram, 1), QStringLiteral("previous token"));
        restoreQuestion(opened.workspace, state);
        QCOMPARE(classOf(diagram, 1), QStringLiteral("name mover"));
        for (const auto& [words, fault] : std::vector<std::pair<QByteArray, const char*>>{
                 {"0.1\n", "line 1 has 1 column"},
                 {"0.1,a\n9.0,b\n", "line 2 names '9.0', which is not a head"},
                 {"0.1,a\n0.1,b\n", "line 2 names 0.1 again"},
                 {"0.1, \n", "line 1 has a class of 1 bytes"}})
            QVERIFY(failsWith(readHeadClasses(written(words), card), ErrorCode::Corrupt, fault));
        QVERIFY(failsWith(readHeadClasses("/nowhere/classes.csv", card), ErrorCode::NotFound, "classes.csv"));
    }

    void theSliderIsAThresholdAndKindsAreDrawnTogether()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "composition");
        auto* diagram = opened.find<DiagramView>(QStringLiteral("Strongest pairs of all kinds"));
        QCOMPARE(diagram->classes().kinds.size(), 3);
        auto* slider = diagram->parentWidget()->findChild<QSlider*>();
        QVERIFY(diagram->edges().size() >= 30 && diagram->edges().size() < 60);
        slider->setValue(0);
        QCOMPARE(diagram->edges().size(), std::size_t{192}); // 64 of each kind
        const char* paths[] = {"composition/q", "composition/k", "composition/v"};
        for (const DiagramEdge& edge : diagram->edges())
            QCOMPARE(edge.value,
                     numbers(opened, paths[edge.kind])
                         .at(static_cast<std::size_t>((edge.from.layer * 8 + edge.from.head) * 16
                                                      + edge.to.layer * 8 + edge.to.head)));
        const double high = diagram->edges().front().value, low = diagram->edges().back().value;
        slider->setValue(500);
        QVERIFY(!diagram->edges().empty() && diagram->edges().size() < 192);
        QVERIFY(diagram->edges().back().value >= low + 0.499 * (high - low));
        slider->setValue(1000);
        QCOMPARE(diagram->edges().size(), std::size_t{1});
        QCOMPARE(dataRows(diagram)[1].size(), 4); // with its kind
    }
};

HEADWISE_TEST(HeadDiagramsTest)
#include "head_diagrams_test.moc"
