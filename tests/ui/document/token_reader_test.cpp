#include "ui/document/token_reader.h"

#include "tests/support/program.h"
#include "ui/document/workspace.h"

#include <QSignalSpy>
#include <QTest>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class TokenReaderTest : public QObject {
    Q_OBJECT

private slots:
    void productsFollowTheMatrices()
    {
        Workspace workspace;
        TokenReader* reader = workspace.model()->tokenReader();
        const QSignalSpy matrices(reader, &TokenReader::matricesReady),
            products(reader, &TokenReader::productsReady);
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_COMPARE(matrices.count(), 1);
        QTRY_COMPARE(products.count(), 1);
        QVERIFY(reader->hasProducts());
        QCOMPARE(matrices.count(), 1);
    }

    void theModelMayBeClosedWhenItsMatricesAreThere()
    {
        Workspace workspace;
        TokenReader* reader = workspace.model()->tokenReader();
        const QSignalSpy closed(workspace.model(), &OpenModel::closed);
        connect(workspace.model(), &OpenModel::tokensChanged, &workspace, [&workspace] {
            if (workspace.model()->tokens())
                workspace.opener()->close();
        });
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_COMPARE(closed.count(), 1);
        QVERIFY(!reader->job()->isRunning());
        QVERIFY(!reader->tokens() && !reader->hasProducts());
    }
};

HEADWISE_TEST(TokenReaderTest)
#include "token_reader_test.moc"
