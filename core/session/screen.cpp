#include "core/session/screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace headwise {
namespace {

constexpr const char* screenGroup = "screen";
constexpr const char* matrixKind = "matrix";
constexpr const char* tableKind = "table";

/// Lists of strings of a picture, each a dataset that is absent if empty.
struct ScreenList {
    const char* name;
    std::vector<std::string> ScreenPicture::*member;
};
constexpr std::array<ScreenList, 3> screenLists = {{{"column_labels", &ScreenPicture::columnNames},
                                                    {"row_labels", &ScreenPicture::rowNames},
                                                    {"words", &ScreenPicture::words}}};

/// Attributes of the group of a picture.
struct ScreenText {
    const char* name;
    std::string ScreenPicture::*member;
};
constexpr std::array<ScreenText, 3> screenTexts = {
    {{"title", &ScreenPicture::title}, {"head", &ScreenPicture::head}, {"note", &ScreenPicture::note}}};

Result<Done> writeValues(Hdf5Writer& file, const std::string& path, const ScreenPicture& picture,
                         const Task& task)
{
    const std::vector<std::size_t> shape{picture.rows(), picture.columns()};
    if (!picture.isMatrix)
        return file.writeNumbers<double>(path, shape, picture.values, task);
    std::vector<float> values; // a heatmap shows no more digits
    values.reserve(picture.values.size());
    for (const double value : picture.values)
        values.push_back(static_cast<float>(value));
    return file.writeNumbers<float>(path, shape, values, task);
}

Result<Done> writePicture(Hdf5Writer& file, const std::string& group, const ScreenPicture& picture,
                          const Task& task)
{
    if (const Result<Done> made = file.createGroup(group); !made)
        return made;
    const std::string kind = picture.isMatrix ? matrixKind : tableKind;
    if (const Result<Done> set = file.setAttribute(group, "kind", kind); !set)
        return set;
    for (const ScreenText& text : screenTexts)
        if (const Result<Done> set = file.setAttribute(group, text.name, picture.*text.member); !set)
            return set;
    for (const ScreenList& list : screenLists)
        if (!(picture.*list.member).empty())
            if (const Result<Done> written = file.writeTexts(group + "/" + list.name, picture.*list.member);
                !written)
                return written;
    const std::string values = group + "/values";
    if (const Result<Done> written = writeValues(file, values, picture, task); !written)
        return written;
    const std::vector<std::string> axes{picture.rowAxis, picture.columnAxis};
    if (const Result<Done> set = file.setAttribute(values, "axes", axes); !set)
        return set;
    return file.setAttribute(values, "definition", picture.title);
}

std::string attributeText(const Hdf5Attributes& attributes, const char* name)
{
    const auto found = attributes.find(name);
    const auto* text = found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return text ? *text : std::string();
}

/// Reads the numbers, whose shape must be that of the labels.
Result<Done> readValues(const Hdf5Reader& file, const std::string& path, ScreenPicture& picture)
{
    const Result<Hdf5Array> stored = file.readArray(path);
    if (!stored)
        return stored.error();
    if (const auto* doubles = std::get_if<std::vector<double>>(&stored->values))
        picture.values = *doubles;
    else if (const auto* floats = std::get_if<std::vector<float>>(&stored->values))
        picture.values.assign(floats->begin(), floats->end());
    const std::vector<std::size_t>& shape = stored->shape;
    const bool fits = shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && shape[0] <= mostScreenSide
        && shape[1] <= mostScreenSide && picture.values.size() == shape[0] * shape[1]
        && picture.columns() == shape[1]
        && (picture.isMatrix ? picture.rowNames.size() == shape[0] : picture.rowNames.empty())
        && (picture.words.empty() || picture.words.size() == picture.values.size());
    if (!fits)
        return Error{ErrorCode::Corrupt,
                     "'" + path + "' of the session '" + file.path().string()
                         + "' has a shape that contradicts its labels."};
    const Result<Hdf5Attributes> attributes = file.attributes(path);
    if (!attributes)
        return attributes.error();
    const auto axes = attributes->find("axes");
    if (axes == attributes->end())
        return Done{};
    if (const auto* names = std::get_if<std::vector<std::string>>(&axes->second);
        names && names->size() == 2) {
        picture.rowAxis = names->front();
        picture.columnAxis = names->back();
    }
    return Done{};
}

Result<ScreenPicture> readPicture(const Hdf5Reader& file, const std::string& group)
{
    ScreenPicture picture;
    const Result<Hdf5Attributes> attributes = file.attributes(group);
    if (!attributes)
        return attributes.error();
    picture.isMatrix = attributeText(*attributes, "kind") == matrixKind;
    for (const ScreenText& text : screenTexts)
        picture.*text.member = attributeText(*attributes, text.name);
    for (const ScreenList& list : screenLists) {
        if (!file.has(group + "/" + list.name))
            continue;
        Result<std::vector<std::string>> read = file.readTexts(group + "/" + list.name);
        if (!read)
            return read.error();
        picture.*list.member = std::move(read).value();
    }
    if (const Result<Done> read = readValues(file, group + "/values", picture); !read)
        return read.error();
    return picture;
}

/// Lists the groups in a group, at most so many.
Result<std::vector<std::string>> groupsIn(const Hdf5Reader& file, const std::string& group, std::size_t most)
{
    const Result<std::vector<Hdf5Entry>> entries = file.entries(group);
    if (!entries)
        return entries.error();
    std::vector<std::string> names;
    for (const Hdf5Entry& entry : *entries)
        if (entry.kind == Hdf5Kind::Group && names.size() < most)
            names.push_back(entry.name);
    return names;
}

} // namespace

bool ScreenPicture::operator==(const ScreenPicture& other) const
{
    const auto isSame = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    return page == other.page && title == other.title && head == other.head && note == other.note
        && isMatrix == other.isMatrix && rowAxis == other.rowAxis && columnAxis == other.columnAxis
        && columnNames == other.columnNames && rowNames == other.rowNames && words == other.words
        && std::ranges::equal(values, other.values, isSame);
}

Result<Done> writeScreen(Hdf5Writer& file, const std::vector<ScreenPicture>& screen, const Task& task)
{
    std::map<std::string, int> written; // by page
    for (const ScreenPicture& picture : screen) {
        if (task.cancelled())
            return stopped();
        const int number = written[picture.page]++;
        const std::string group =
            std::string(screenGroup) + "/" + picture.page + "/" + std::to_string(number);
        if (const Result<Done> done = writePicture(file, group, picture, task); !done)
            return done;
    }
    return Done{};
}

Result<std::vector<ScreenPicture>> readScreen(const Hdf5Reader& file, const Task& task)
{
    std::vector<ScreenPicture> screen;
    if (!file.has(screenGroup))
        return screen;
    const auto pages = groupsIn(file, screenGroup, mostScreenPages);
    if (!pages)
        return pages.error();
    std::size_t values = 0;
    for (const std::string& page : *pages) {
        const std::string group = std::string(screenGroup) + "/" + page;
        const auto pictures = groupsIn(file, group, mostScreenPictures);
        if (!pictures)
            return pictures.error();
        for (const std::string& name : *pictures) {
            if (task.cancelled())
                return stopped();
            if (!file.has(group + "/" + name + "/values"))
                continue; // foreign
            Result<ScreenPicture> read = readPicture(file, group + "/" + name);
            if (!read)
                return read.error();
            ScreenPicture picture = std::move(read).value();
            picture.page = page;
            values += picture.values.size();
            if (values > mostScreenValues)
                return screen;
            screen.push_back(std::move(picture));
        }
    }
    return screen;
}

} // namespace headwise
