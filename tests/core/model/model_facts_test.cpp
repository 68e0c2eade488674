#include "core/model/model_facts.h"

#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

using namespace headwise;

class ModelFactsTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void theConfigImpliesAsManyParametersAsTheTensorsHold_data() { addFamilies(); }
    void theConfigImpliesAsManyParametersAsTheTensorsHold()
    {
        QFETCH(QString, name);
        const auto folder = write(name);
        const auto description = readModelConfig({folder, {}, {}});
        QVERIFY(test::isOk(description));
        QCOMPARE(parameterCount(*description), test::loaded(folder)->parameterCount());
    }

    void theConfigAloneIsEnough_data() { addFamilies(); }
    void theConfigAloneIsEnough()
    {
        QFETCH(QString, name);
        const auto folder = write(name);
        const auto whole = modelFacts({folder, {}, {}}, Task{});
        std::filesystem::remove(folder / "model.safetensors");
        const auto config = modelFacts({folder, {}, {}}, Task{});
        QVERIFY(test::isOk(whole) && test::isOk(config));
        QVERIFY(whole->weights && !config->weights);
        QCOMPARE(config->parameters, whole->parameters);
        QCOMPARE(config->count.total, whole->count.total);
        QCOMPARE(config->flops.perToken, whole->flops.perToken);
        QCOMPARE(config->flops.perSequence, whole->flops.perSequence);
        QCOMPARE(config->notes, whole->notes);
        QCOMPARE(config->notes, circuitNotes(config->config));
        for (std::size_t i = 0; i < 3; ++i)
            QCOMPARE(config->merges[i].weightsTotal, whole->merges[i].weightsTotal);
    }

    void countsEveryVectorOnce()
    {
        test::FamilyModel model = test::familyModel("gptj");
        const auto description = readModelConfig({test::writeFamily(root(), model), {}, {}});
        std::int64_t numbers = 0;
        for (const auto& [stored, tensor] : model.tensors)
            numbers += static_cast<std::int64_t>(tensor.values.size());
        QCOMPARE(parameterCount(*description), numbers);
    }

    void saysWhatIsMissing()
    {
        QVERIFY(test::failsWith(modelFacts({root(), {}, {}}, Task{}), ErrorCode::NotFound, "does not exist"));
        std::filesystem::create_directories(root());
        QVERIFY(test::failsWith(modelFacts({root(), {}, {}}, Task{}), ErrorCode::NotFound, "is empty"));
    }

private:
    /// The forms whose config tells which biases and heads they have.
    static void addFamilies()
    {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::familyNames())
            if (!name.starts_with("TransformerLens") && name != "bert, without its head"
                && name != "nanogpt, without biases" && !test::readsImages(name))
                QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    std::filesystem::path root() const
    {
        return std::filesystem::path(m_folder->path().toStdString()) / "model";
    }
    std::filesystem::path write(const QString& name) const
    {
        return test::writeFamily(root(), test::familyModel(name.toStdString()));
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(ModelFactsTest)
#include "model_facts_test.moc"
