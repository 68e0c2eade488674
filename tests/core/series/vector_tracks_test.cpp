#include "core/series/vector_tracks.h"

#include "core/results/suggested_picture.h"
#include "core/runs/plan.h"
#include "core/series/series_record.h"
#include "core/series/series_request.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstring>

using namespace headwise;
using namespace headwise::test;

namespace {

constexpr HeadId followedHead{1, 0};
constexpr float unknownNumber = std::numeric_limits<float>::quiet_NaN();

/// Four checkpoints in which the two largest singular values of a head's OV cross between the second and the third, where its third
/// input direction is also replaced by another one.
void writeCrossing(const std::filesystem::path& folder)
{
    ToyOptions options = widePlantedOptions();
    const Eigen::MatrixXd read = orthonormalColumns(options.dModel, 6, 3);
    const Eigen::MatrixXd written = orthonormalColumns(options.dModel, options.dHead, 4);
    int step = 1;
    for (const auto& [first, second] :
         {std::pair(3.0, 1.0), std::pair(2.4, 1.6), std::pair(1.8, 2.2), std::pair(1.0, 3.0)}) {
        Eigen::MatrixXd input = read.leftCols(5);
        if (step >= 100)
            input.col(2) = read.col(5);
        Eigen::VectorXd sigma(5);
        sigma << first, second, 0.5, 0.2, 0.1;
        PlantedModel model(options);
        model.set("W_V", followedHead, input);
        model.set("W_O", followedHead, sigma.asDiagonal() * written.transpose());
        model.write(folder / ("step" + std::to_string(step)));
        step *= 10;
    }
}

Result<SeriesOutcome> computeCrossing(const std::filesystem::path& folder, const std::filesystem::path& file)
{
    auto members = seriesMembers(folder);
    if (!isOk(members))
        qFatal("the folder has no members");
    SeriesRequest request = defaultSeriesRequest(std::move(members).value(), file);
    request.analyses = *parseAnalyses("spectra");
    request.prepare = [](const SeriesMember&, std::shared_ptr<const ModelWeights> weights,
                         const Task& task) -> Result<SeriesModel> {
        return seriesModel(std::move(weights), noProcessing(), nullptr, task);
    };
    return computeSeries(request, Task{});
}

std::vector<float> sigmasOf(const VectorTrack& track)
{
    std::vector<float> values;
    for (const TrackPoint& point : track)
        values.push_back(std::round(point.sigma * 1000) / 1000);
    return values;
}

std::vector<std::size_t> placesOf(const VectorTrack& track)
{
    std::vector<std::size_t> places;
    for (const TrackPoint& point : track)
        places.push_back(point.index);
    return places;
}

/// The tracks of one side of the crossing head, as the window reads them.
std::vector<VectorTrack> storedTracks(const std::filesystem::path& file, std::string_view side)
{
    const auto spectra = readHeadSpectra(file, "ov", followedHead, 4);
    const auto overlaps = readVectorOverlaps(file, side, followedHead, 4);
    if (!isOk(spectra) || !isOk(overlaps))
        qFatal("the series lacks its numbers");
    return vectorTracks(*spectra, *overlaps);
}

} // namespace

/// Singular vectors followed through planted trainings.
class VectorTracksTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        writeCrossing(m_folder);
        QVERIFY(isOk(computeCrossing(m_folder, m_file)));
    }

    /// The largest singular value by index would be 3, 2.4, 2.2, 3.
    void tracksFollowVectorsThatCross()
    {
        for (const char* side : {"ov_in", "ov_out"}) {
            const std::vector<VectorTrack> tracks = storedTracks(m_file, side);
            QVERIFY(tracks.size() >= 5);
            QVERIFY((sigmasOf(tracks[0]) == std::vector<float>{3, 2.4F, 1.8F, 1}));
            QVERIFY((placesOf(tracks[0]) == std::vector<std::size_t>{0, 0, 1, 1}));
            QVERIFY((sigmasOf(tracks[1]) == std::vector<float>{1, 1.6F, 2.2F, 3}));
            QVERIFY((placesOf(tracks[1]) == std::vector<std::size_t>{1, 1, 0, 0}));
            QVERIFY(std::isnan(tracks[0][0].overlap));
            for (std::size_t i = 1; i < 4; ++i)
                QVERIFY(tracks[0][i].overlap > 0.999F);
        }
    }

    void aReplacedVectorEndsItsTrack()
    {
        const std::vector<VectorTrack> in = storedTracks(m_file, "ov_in");
        QCOMPARE(in.size(), std::size_t(6));
        QCOMPARE(in[2].size(), std::size_t(2)); // until the direction is replaced
        QCOMPARE(in[5].front().step, std::size_t(2));
        QCOMPARE(in[5].size(), std::size_t(2));
        const std::vector<VectorTrack> out = storedTracks(m_file, "ov_out");
        QCOMPARE(out.size(), std::size_t(5)); // it still writes the same
        QCOMPARE(out[2].size(), std::size_t(4));
    }

    /// Equal singular values leave the basis of their plane open: here it turns by 45 degrees.
    void equalValuesAreFollowedAsAGroup()
    {
        const std::vector<float> turned{unknownNumber, unknownNumber, unknownNumber, unknownNumber,
                                        0.5F,          0.5F,          0.5F,          0.5F};
        const std::vector<VectorTrack> group = vectorTracks({2, {2, 1.99F, 2, 1.99F}}, {2, turned});
        QCOMPARE(group.size(), std::size_t(2));
        QVERIFY(group[0].size() == 2 && group[0][1].overlap == 1 && group[1][1].overlap == 1);
        // Values that meet stay two tracks, each with all of its length in the plane of both.
        const std::vector<VectorTrack> meeting = vectorTracks({2, {2, 1, 2, 1.99F}}, {2, turned});
        QCOMPARE(meeting.size(), std::size_t(2));
        QVERIFY(meeting[1].size() == 2 && meeting[1][1].overlap == 1);
        // Apart from each other, the same vectors would be new ones.
        const std::vector<VectorTrack> apart = vectorTracks({2, {2, 1, 2, 1}}, {2, turned});
        QCOMPARE(apart.size(), std::size_t(4));
        QVERIFY(longestTracks(apart, 16).empty());
    }

    void aDamagedStepIsPassedOver()
    {
        const float n = unknownNumber;
        const std::vector<VectorTrack> tracks =
            vectorTracks({2, {2, 1, n, n, 3, 2}}, {2, {n, n, n, n, n, n, n, n, 0, 1, 1, 0}});
        QCOMPARE(tracks.size(), std::size_t(2));
        QVERIFY((tracks[0].size() == 2
                 && tracks[0][1] == TrackPoint{2, 1, 2, 1})); // its index changed from 0 to 1
        QCOMPARE(tracks[1][1].sigma, 3.0F);
        QVERIFY(vectorTracks({}, {}).empty());
        QCOMPARE(longestTracks(tracks, 1).size(), std::size_t(1));
    }

    void exportDrawsThemOverTheSteps()
    {
        const auto steps = readSeriesSteps(m_file, Task{});
        QVERIFY(isOk(steps));
        const std::vector<ResultArray> arrays = trackArrays(*steps);
        QCOMPARE(arrays.size(), std::size_t(8)); // of four sides
        const auto array = std::ranges::find(arrays, "tracks/ov_in", &ResultArray::path);
        QVERIFY(array != arrays.end());
        QCOMPARE(array->shape.size(), std::size_t(4));
        QCOMPARE(array->shape[3], std::size_t(4));
        QVERIFY((std::get<std::vector<std::string>>(array->attributes.at("steps"))
                 == std::vector<std::string>{"1", "10", "100", "1000"}));
        const std::size_t head = 2; // 1.0 of two heads a layer
        const auto& values = std::get<std::vector<float>>(array->values);
        const float* first = values.data() + head * array->shape[2] * 4;
        QVERIFY(std::abs(first[0] - 3) < 1e-4F && std::abs(first[3] - 1) < 1e-4F);
        const Picture picture = suggestedPicture(*array, 2);
        QVERIFY(picture.kind == Picture::Kind::Lines && picture.logX && picture.logY);
        QVERIFY(!suggestedPicture(arrays[1], 2).logY); // overlaps
    }

    /// The first files of a series had no overlaps of single vectors: the same command adds them and computes nothing else.
    void anEarlierFileGainsThem()
    {
        const std::filesystem::path earlier = path("earlier.h5");
        auto read = readSeriesRecord(m_file, Task{});
        QVERIFY(isOk(read));
        SeriesRecord record = std::move(read).value();
        for (SeriesEntry& entry : record.entries)
            QVERIFY(std::erase_if(entry.arrays, isVectorOverlap) == 4);
        QVERIFY(isOk(writeSeriesRecord(earlier, record, Task{})));
        QVERIFY(failsWith(readVectorOverlaps(earlier, "ov_in", followedHead, 4), ErrorCode::NotFound,
                          "does not follow single singular vectors"));
        const auto outcome = computeCrossing(m_folder, earlier);
        QVERIFY(isOk(outcome));
        QCOMPARE(outcome->computed, 0);
        const auto old = readVectorOverlaps(m_file, "qk_key", followedHead, 4),
                   gained = readVectorOverlaps(earlier, "qk_key", followedHead, 4);
        QVERIFY(isOk(old) && isOk(gained) && old->values.size() == 4 * 25);
        QVERIFY(std::memcmp(old->values.data(), gained->values.data(), 100 * sizeof(float)) == 0);
    }

private:
    std::filesystem::path path(const char* name) const
    {
        return std::filesystem::path(m_temporary.path().toStdString()) / name;
    }

    QTemporaryDir m_temporary;
    std::filesystem::path m_folder = path("training"), m_file = path("series.h5");
};

HEADWISE_TEST(VectorTracksTest)
#include "vector_tracks_test.moc"
