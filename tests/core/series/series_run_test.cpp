#include "core/series/series_run.h"

#include "core/circuits/subspace.h"
#include "core/files/hdf5.h"
#include "core/runs/plan.h"
#include "core/series/series_record.h"
#include "tests/support/analysed.h"
#include "tests/support/planted_series.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <stop_token>

using namespace headwise;
using namespace headwise::test;

namespace {

namespace fs = std::filesystem;

/// A run over a folder as the command does it, with the sentences it says and the members it opens for good.
struct SeriesDriver {
    explicit SeriesDriver(const fs::path& folder, const fs::path& output)
    {
        auto found = seriesMembers(folder);
        if (!isOk(found))
            qFatal("the folder has no members");
        request.series = std::move(found).value();
        request.output = output;
        request.analyses = *parseAnalyses("spectra,copying,previous_token");
        request.open = [](const SeriesMember& member, const Task& task) {
            ModelSource source{member.path, {}, {}};
            if (!member.config.empty())
                source.configFile = member.config;
            return loadModel(source, task);
        };
        request.prepare = [this](const SeriesMember& member, std::shared_ptr<const ModelWeights> weights,
                                 const Task& task) -> Result<SeriesModel> {
            prepared.push_back(member.step);
            auto plan = planProcessing(*weights, noProcessing());
            if (!plan)
                return plan.error();
            auto processed = process(std::move(weights), *std::move(plan), task);
            if (!processed)
                return processed.error();
            return SeriesModel{*std::move(processed), {}};
        };
        request.say = [this](const std::string& sentence) { said += sentence + "\n"; };
    }
    SeriesDriver(const SeriesDriver&) = delete;
    SeriesDriver& operator=(const SeriesDriver&) = delete;

    Result<SeriesOutcome> run(const Task& task = {}) { return computeSeries(request, task); }
    bool says(const char* words) const { return said.find(words) != std::string::npos; }

    SeriesRequest request;
    std::string said;
    std::vector<int> prepared; ///< Steps; the first is that of the member that stands for all.
};

const SeriesScore* scoreOf(const Series& series, std::string_view name)
{
    for (const SeriesScore& score : series.scores)
        if (score.name == name)
            return &score;
    return nullptr;
}

float valueAt(const Series& series, std::string_view name, std::size_t step, HeadId head)
{
    const SeriesScore* score = scoreOf(series, name);
    if (!score)
        qFatal("a score is missing");
    const auto place = static_cast<std::size_t>(head.layer * series.nHeads + head.head);
    return score->values[step * static_cast<std::size_t>(series.nLayers * series.nHeads) + place];
}

/// The datasets of two files, bit for bit.
QString differenceOfFiles(const fs::path& one, const fs::path& other, const std::string& group = "")
{
    const auto a = Hdf5Reader::open(one), b = Hdf5Reader::open(other);
    if (!isOk(a) || !isOk(b))
        return QStringLiteral("unreadable");
    const auto entries = a->entries(group);
    if (!isOk(entries) || *entries != *b->entries(group))
        return QString::fromStdString("the entries of /" + group);
    for (const Hdf5Entry& entry : *entries) {
        const std::string path = group.empty() ? entry.name : group + "/" + entry.name;
        bool isSame = true;
        if (entry.kind == Hdf5Kind::Group) {
            if (const QString difference = differenceOfFiles(one, other, path); !difference.isEmpty())
                return difference;
        } else if (entry.kind == Hdf5Kind::Texts) {
            isSame = *a->readTexts(path) == *b->readTexts(path);
        } else {
            const auto mine = a->readArray(path), its = b->readArray(path);
            isSame = mine->shape == its->shape && mine->values.index() == its->values.index()
                && std::visit(
                         [&](const auto& values) {
                             const auto& theirs = std::get<std::decay_t<decltype(values)>>(its->values);
                             return values.size() == theirs.size()
                                 && std::memcmp(values.data(), theirs.data(),
                                                values.size() * sizeof values.front())
                                 == 0;
                         },
                         mine->values)
                && *a->attributes(path) == *b->attributes(path);
        }
        if (!isSame)
            return QString::fromStdString("/" + path);
    }
    return {};
}

void truncate(const fs::path& file)
{
    fs::resize_file(file, fs::file_size(file) / 2);
}

} // namespace

/// A planted training through `computeSeries`, and what goes wrong in real ones.
class SeriesRunTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        PlantedSeries planted(m_folder);
        SeriesDriver driver(m_folder, m_single);
        const auto outcome = driver.run();
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->computed, 6);
        m_series = outcome->series;
    }

    void plantedStepsAreFound()
    {
        std::set<std::string> texts;
        for (const SeriesChange& change : m_series.changes)
            texts.insert(change.text.substr(0, change.text.find(" (")));
        const std::set<std::string> planted{"between steps 256 and 512 L0H3 became a previous-token head",
                                            "between steps 512 and 1000 L1H1 became a copying head",
                                            "between steps 512 and 1000 L1H2 became a copying head",
                                            "between steps 512 and 1000 L1H6 became a copying head"};
        if (texts != planted)
            for (const std::string& text : texts)
                qWarning("%s", text.c_str());
        QVERIFY(texts == planted);
        QCOMPARE(m_series.changes.front().head, PlantedInduction::previous);
        QCOMPARE(m_series.changes.front().after, 3);
        QVERIFY(m_series.changes.front().evidence > 0.9);
    }

    /// A training that unlearns: the head is that of step 64 again in the end.
    void aPlantedLossIsFound()
    {
        const fs::path folder = path("unlearning");
        for (const int step : {64, 512, 600})
            PlantedSeries::write(folder, step);
        fs::rename(PlantedSeries::member(folder, 64), PlantedSeries::member(folder, 2000));
        SeriesDriver driver(folder, path("unlearning.h5"));
        driver.request.analyses = *parseAnalyses("previous_token");
        const auto outcome = driver.run();
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->series.changes.size(), std::size_t(1));
        const SeriesChange& loss = outcome->series.changes.front();
        QVERIFY2(
            loss.text.starts_with("between steps 600 and 2000 L0H3 stopped being a previous-token head (0."),
            loss.text.c_str());
        QVERIFY(loss.valueAfter < loss.valueBefore);
        QVERIFY(readSeries(path("unlearning.h5"))->changes == outcome->series.changes);
    }

    /// The numbers of a step are those of `analyze` on that checkpoint.
    void numbersAreThoseOfEachMember()
    {
        for (const std::size_t i : {std::size_t(0), std::size_t(3), std::size_t(5)}) {
            const Circuits circuits =
                circuitsOf(PlantedSeries::member(m_folder, PlantedSeries::steps[i]), noProcessing());
            const ResultSet alone = analysed(circuits, {"spectra", "copying", "previous_token"});
            for (const auto& [path, name] : {std::pair{"scores/copying", "copying"},
                                             {"scores/previous_token", "previous_token"},
                                             {"spectra/ov/effective_rank", "ov_effective_rank"}}) {
                const std::vector<double> expected = numbers(alone, path);
                for (std::size_t place = 0; place < expected.size(); ++place)
                    QCOMPARE(valueAt(m_series, name, i, {0, 0 + static_cast<int>(place)}),
                             static_cast<float>(expected[place]));
            }
        }
    }

    void theFileHoldsTheContract()
    {
        const auto file = Hdf5Reader::open(m_single);
        QVERIFY(isOk(file));
        const auto steps = file->readArray("steps");
        QVERIFY(isOk(steps));
        QVERIFY(std::get<std::vector<std::int32_t>>(steps->values)
                == std::vector<std::int32_t>(PlantedSeries::steps.begin(), PlantedSeries::steps.end()));
        const auto scores = file->entries("scores");
        QVERIFY(isOk(scores) && scores->size() > 5);
        for (const Hdf5Entry& score : *scores) {
            const auto array = file->readArray("scores/" + score.name);
            QVERIFY(std::holds_alternative<std::vector<float>>(array->values));
            QVERIFY((array->shape == std::vector<std::size_t>{6, 2, 16}));
            const auto attributes = file->attributes("scores/" + score.name);
            QVERIFY(std::get<std::vector<std::string>>(attributes->at("axes"))
                    == (std::vector<std::string>{"step", "layer", "head"}));
            QVERIFY(!std::get<std::string>(attributes->at("definition")).empty());
        }
        for (const char* circuit : {"qk", "ov", "full_qk", "full_ov"}) {
            const auto spectrum = file->readArray("spectra/" + std::string(circuit) + "/singular_values");
            QVERIFY(isOk(spectrum));
            QVERIFY((spectrum->shape == std::vector<std::size_t>{6, 2, 16, 8}));
        }
        QVERIFY(isSeries(m_single));
        const auto read = readSeries(m_single);
        QVERIFY(isOk(read));
        for (std::size_t i = 0; i < read->steps.size(); ++i)
            QCOMPARE(fs::path(read->paths[i]), PlantedSeries::member(m_folder, read->steps[i]));
        for (std::size_t i = 0; i < m_series.scores.size(); ++i)
            QVERIFY(read->scores[i].name == m_series.scores[i].name);
        QVERIFY(read->changes == m_series.changes && read->steps == m_series.steps
                && read->members == m_series.members);
    }

    void oneHeadsSpectraAreReadAlone()
    {
        const auto whole = readSeriesRecord(m_single, Task{});
        QVERIFY(isOk(whole));
        const HeadId head{1, 3};
        const auto spectra = readHeadSpectra(m_single, "ov", head, 6);
        QVERIFY(isOk(spectra));
        QCOMPARE(spectra->rank, std::size_t(8));
        for (std::size_t step = 0; step < 6; ++step) {
            const auto& arrays = whole->entries[step].arrays;
            const auto all = std::ranges::find(arrays, "spectra/ov/singular_values", &ResultArray::path);
            QVERIFY(all != arrays.end());
            const auto& values = std::get<std::vector<float>>(all->values);
            for (std::size_t i = 0; i < 8; ++i)
                QCOMPARE(spectra->values[step * 8 + i], values[(16 + 3) * 8 + i]);
        }
        const auto leading = readLeadingSpectra(m_single, "ov", 3, 6);
        QVERIFY(isOk(leading));
        QCOMPARE(leading->size(), std::size_t(32)); // 2 layers of 16 heads
        for (std::size_t step = 0; step < 6; ++step)
            for (std::size_t i = 0; i < 3; ++i)
                QCOMPARE((*leading)[16 + 3].values[step * 3 + i], spectra->values[step * 8 + i]);
        QVERIFY(failsWith(readLeadingSpectra(m_single, "ov", 9, 6), ErrorCode::Corrupt, "outside"));
        QVERIFY(failsWith(readHeadSpectra(m_single, "ov", {2, 0}, 6), ErrorCode::Corrupt, "outside"));
        QVERIFY(failsWith(readHeadSpectra(m_single, "ov", head, 5), ErrorCode::Corrupt, "does not fit"));
        QVERIFY(
            failsWith(readHeadSpectra(m_single, "pq", head, 6), ErrorCode::NotFound, "no singular values"));
    }

    /// The subspace that a copying head reads changes when its W_V does, and else stays.
    void subspacesAreFollowed()
    {
        const HeadId head = PlantedInduction::induction;
        QVERIFY(std::isnan(valueAt(m_series, "ov_subspace_overlap", 0, head)));
        for (std::size_t i = 1; i < 6; ++i) {
            const float overlap = valueAt(m_series, "ov_subspace_overlap", i, head);
            QVERIFY2(i == 4 ? overlap < 0.6F : overlap > 0.99F, qPrintable(QString::number(overlap)));
        }
        // Against dense projectors: tr(P P') / k. W_O stays the same but for noise.
        const auto projector = [this, head](int step) -> Matrix<double> {
            const Matrix<double> W = circuitsOf(PlantedSeries::member(m_folder, step), noProcessing())
                                         .weights()
                                         .head<double>(head)
                                         .W_V;
            const auto space = columnSpace(W);
            if (!isOk(space))
                qFatal("no subspace");
            return space->basis * space->basis.transpose();
        };
        const double ofReading = (projector(512) * projector(1000)).trace() / PlantedInduction::dHead;
        QVERIFY(std::abs(valueAt(m_series, "ov_subspace_overlap", 4, head) - (ofReading + 1) / 2) < 0.01);
    }

    void aStoppedRunGoesOnAndGivesTheSameFile()
    {
        const fs::path file = path("resumed.h5"), side = path("resumed.h5.partial");
        SeriesDriver first(m_folder, file);
        std::stop_source stop;
        first.request.say = [](const std::string&) {};
        const auto prepare = first.request.prepare;
        first.request.prepare = [&](const SeriesMember& member, std::shared_ptr<const ModelWeights> weights,
                                    const Task& task) {
            if (first.prepared.size() == 4) // the reference, step0, and step64 after step0
                stop.request_stop();
            return prepare(member, std::move(weights), task);
        };
        QVERIFY(failsWith(first.run({stop.get_token(), {}, 0}), ErrorCode::Cancelled, ""));
        QVERIFY(fs::exists(side) && !fs::exists(file));
        SeriesDriver second(m_folder, file);
        const auto outcome = second.run();
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->kept, 2);
        QVERIFY((second.prepared == std::vector<int>{2000, 256, 64, 512, 256, 1000, 512, 2000, 1000}));
        QVERIFY(!fs::exists(side));
        QCOMPARE(differenceOfFiles(file, m_single), QString());
    }

    void onlyNewStepsAreComputed()
    {
        const fs::path folder = path("growing"), file = path("growing.h5");
        for (const int step : {0, 256, 512, 1000})
            PlantedSeries::write(folder, step);
        QVERIFY(isOk(SeriesDriver(folder, file).run()));
        for (const int step : {64, 2000})
            PlantedSeries::write(folder, step);
        SeriesDriver grown(folder, file);
        const auto outcome = grown.run();
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->computed, 2);
        QVERIFY((grown.prepared == std::vector<int>{2000, 64, 0, 256, 64, 2000, 1000}));
        QVERIFY(outcome->series.changes == m_series.changes);
        for (const SeriesScore& score : outcome->series.scores)
            QVERIFY(std::memcmp(score.values.data(), scoreOf(m_series, score.name)->values.data(),
                                score.values.size() * sizeof(float))
                    == 0);
        SeriesDriver anew(folder, file);
        anew.request.replace = true;
        QCOMPARE(anew.run()->computed, 6);
        SeriesDriver other(folder, file);
        other.request.options = "--seed=1";
        QVERIFY(failsWith(other.run(), ErrorCode::InvalidArgument, "--replace"));
    }

    void damagedAndForeignMembersAreNamedAndTheRestGoesOn()
    {
        const fs::path folder = path("damaged");
        PlantedSeries planted(folder);
        truncate(PlantedSeries::member(folder, 64) / "model.safetensors");
        ToyOptions options = PlantedInduction::options(1);
        options.nHeads = 4;
        writeToyModel(PlantedSeries::member(folder, 256), options);
        fs::remove_all(PlantedSeries::member(folder, 2000));
        fs::create_directory(PlantedSeries::member(folder, 2000));
        SeriesDriver driver(folder, path("damaged.h5"));
        const auto outcome = driver.run();
        QVERIFY(isOk(outcome));
        const Series& series = outcome->series;
        QCOMPARE(series.steps.size(), std::size_t(6));
        for (std::size_t i = 0; i < 6; ++i) {
            const bool isBad = i == 1 || i == 2 || i == 5;
            QCOMPARE(!series.problems[i].empty(), isBad);
            QCOMPARE(static_cast<bool>(std::isnan(valueAt(series, "copying", i, {0, 0}))), isBad);
        }
        QVERIFY2(driver.says("'step64' was skipped")
                     && driver.says("'step256' was skipped: It has another shape")
                     && driver.says("'step2000' was skipped"),
                 driver.said.c_str());
        QCOMPARE(series.changes.size(), std::size_t(4));
        QCOMPARE(series.changes.front().before, 0); // the last step before 512 that could be read
        QVERIFY(readSeries(path("damaged.h5"))->problems == series.problems);
    }

    void aMovedFolderIsFollowedWithoutComputing()
    {
        const fs::path folder = path("before"), moved = path("after"), file = path("moved.h5");
        for (const int step : {0, 512})
            PlantedSeries::write(folder, step);
        QVERIFY(isOk(SeriesDriver(folder, file).run()));
        fs::rename(folder, moved);
        SeriesDriver driver(moved, file);
        driver.request.series.name = "before";
        const auto outcome = driver.run();
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->kept, 2);
        QCOMPARE(fs::path(readSeries(file)->paths[1]), PlantedSeries::member(moved, 512));
    }

    /// A damaged member is read again once its file was mended.
    void aMendedMemberIsComputed()
    {
        const fs::path folder = path("mended");
        PlantedSeries planted(folder);
        truncate(PlantedSeries::member(folder, 64) / "model.safetensors");
        QVERIFY(isOk(SeriesDriver(folder, path("mended.h5")).run()));
        PlantedSeries::write(folder, 64);
        const auto outcome = SeriesDriver(folder, path("mended.h5")).run();
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->computed, 1);
        QVERIFY(outcome->series.problems[1].empty());
    }

    void noGoodMemberIsAnError()
    {
        const fs::path folder = path("hopeless");
        fs::create_directories(folder / "step1");
        fs::create_directories(folder / "step2");
        SeriesDriver driver(folder, path("hopeless.h5"));
        QVERIFY(failsWith(driver.run(), ErrorCode::Corrupt, "No member of 'hopeless' can be read. step1:"));
        QVERIFY(!fs::exists(path("hopeless.h5")));
    }

    void mergedShardsAreTheWholeSeries()
    {
        std::vector<std::string> parts;
        for (int i = 1; i <= 3; ++i) {
            parts.push_back(path("part" + std::to_string(i) + ".h5"));
            SeriesDriver driver(m_folder, parts.back());
            driver.request.shard = Shard{i, 3};
            const auto outcome = driver.run();
            QVERIFY(isOk(outcome));
            QCOMPARE(outcome->series.steps.size(), std::size_t(2));
        }
        const fs::path whole = path("whole.h5");
        QVERIFY(failsWith(mergeSeries(std::vector{parts[0], parts[2]}, whole, Task{}),
                          ErrorCode::InvalidArgument, "Part 2/3 is missing"));
        QVERIFY(failsWith(mergeSeries(std::vector{parts[0], parts[0]}, whole, Task{}),
                          ErrorCode::InvalidArgument, "and so is"));
        QVERIFY(failsWith(mergeSeries(std::vector{m_single.string()}, whole, Task{}),
                          ErrorCode::InvalidArgument, "not a part"));
        QVERIFY(isOk(mergeSeries(std::vector{parts[2], parts[0], parts[1]}, whole, Task{})));
        QCOMPARE(differenceOfFiles(whole, m_single), QString());
    }

    /// Three processes leave their parts beside a series that lacks the newest step and keeps a lost one; the first joins them.
    void processesJoinTheirParts()
    {
        const fs::path folder = path("ranks"), file = path("ranks.h5"), alone = path("alone.h5");
        PlantedSeries planted(folder);
        truncate(PlantedSeries::member(folder, 64) / "model.safetensors");
        const fs::path newest = PlantedSeries::member(folder, 2000), aside = path("aside");
        fs::rename(newest, aside);
        QVERIFY(isOk(SeriesDriver(folder, file).run()));
        fs::rename(aside, newest);
        fs::remove_all(PlantedSeries::member(folder, 0));
        fs::copy_file(file, alone);
        QVERIFY(isOk(SeriesDriver(folder, alone).run()));
        std::vector<std::unique_ptr<SeriesDriver>> ranks;
        for (int i = 1; i <= 3; ++i) {
            ranks.push_back(std::make_unique<SeriesDriver>(folder, file));
            SeriesRequest& request = ranks.back()->request;
            request.shard = Shard{i, 3};
            request.isJoined = true;
            QVERIFY(isOk(checkSeries(request, Task{})));
            QVERIFY(ranks.back()->said.empty());
            QCOMPARE(ranks.back()->run()->computed, i == 3 ? 0 : 1);
        }
        QVERIFY(readSeries(file)->steps == (std::vector<std::int32_t>{0, 64, 256, 512, 1000})); // untouched
        const auto joined = joinSeries(ranks.front()->request, Task{});
        QVERIFY(isOk(joined));
        QCOMPARE(differenceOfFiles(file, alone), QString());
        QVERIFY2(ranks.front()->says("'step64' was skipped"), ranks.front()->said.c_str());
        for (const auto& entry : fs::directory_iterator(m_folder))
            QVERIFY2(entry.path().string().find(".rank-") == std::string::npos, entry.path().c_str());
        // A series of other options is refused before anything is computed.
        SeriesRequest other = ranks.front()->request;
        other.options = "--seed=1";
        QVERIFY(failsWith(checkSeries(other, Task{}), ErrorCode::InvalidArgument, "--replace"));
    }

    /// A part whose members are all damaged does not stop the others.
    void aPartMayBeAllDamaged()
    {
        const fs::path folder = path("halfbad"), whole = path("halfbad.h5");
        for (const int step : {0, 64, 512})
            PlantedSeries::write(folder, step);
        truncate(PlantedSeries::member(folder, 64) / "model.safetensors");
        std::vector<std::string> parts;
        for (int i = 1; i <= 2; ++i) {
            parts.push_back(path("halfbad" + std::to_string(i) + ".h5"));
            SeriesDriver driver(folder, parts.back());
            driver.request.shard = Shard{i, 2};
            QVERIFY(isOk(driver.run()));
        }
        QVERIFY(isOk(mergeSeries(parts, whole, Task{})));
        SeriesDriver single(folder, path("halfgood.h5"));
        QVERIFY(isOk(single.run()));
        QCOMPARE(differenceOfFiles(whole, path("halfgood.h5")), QString());
    }

    void otherFilesAreNoSeries()
    {
        QVERIFY(!isSeries(PlantedSeries::member(m_folder, 0) / "model.safetensors"));
        QVERIFY(failsWith(readSeries(path("nothing.h5")), ErrorCode::NotFound, "nothing.h5"));
        auto writer = Hdf5Writer::create(path("foreign.h5"));
        QVERIFY(isOk(writer));
        Hdf5Writer file = std::move(writer).value();
        QVERIFY(isOk(file.setAttribute("", "format", std::string("headwise-session"))));
        QVERIFY(isOk(file.close()));
        QVERIFY(!isSeries(path("foreign.h5")));
        QVERIFY(failsWith(readSeries(path("foreign.h5")), ErrorCode::Unsupported, "not a series"));
    }

    void analysesWithoutNumbersPerHeadAreRefused()
    {
        SeriesDriver driver(m_folder, path("pairs.h5"));
        driver.request.analyses = *parseAnalyses("composition");
        QVERIFY(failsWith(driver.run(), ErrorCode::InvalidArgument, "numbers per head"));
    }

private:
    fs::path path(const std::string& name) const { return fs::path(m_temporary.path().toStdString()) / name; }

    QTemporaryDir m_temporary;
    fs::path m_folder = path("training"), m_single = path("single.h5");
    Series m_series;
};

HEADWISE_TEST(SeriesRunTest)
#include "series_run_test.moc"
