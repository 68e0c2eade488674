// The reference's reading of a folder, and the matrices its families consist of.

#include "tests/support/reference_model.h"

#include <QFile>
#include <QJsonDocument>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace headwise::test {

using namespace reference;

namespace {

QByteArray readBytes(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", path.c_str());
    return file.readAll();
}

QJsonObject readJson(const QByteArray& bytes)
{
    const QJsonDocument document = QJsonDocument::fromJson(bytes);
    if (!document.isObject())
        qFatal("not a JSON object");
    return document.object();
}

double fromHalf(std::uint16_t bits)
{
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    if (exponent == 0)
        return sign * std::ldexp(fraction, -24);
    if (exponent == 31)
        return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <typename T>
T load(const char* at)
{
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

double fromBfloat(std::uint16_t bits)
{
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

template <typename Stored, typename Number>
std::vector<double> converted(const char* data, std::size_t count, const Number& number)
{
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = number(load<Stored>(data + i * sizeof(Stored)));
    return values;
}

std::vector<double> elements(const QString& dtype, const char* data, std::size_t count)
{
    if (dtype == "F64")
        return converted<double>(data, count, [](double value) { return value; });
    if (dtype == "F32")
        return converted<float>(data, count, [](float value) { return static_cast<double>(value); });
    if (dtype == "F16")
        return converted<std::uint16_t>(data, count, fromHalf);
    if (dtype == "BF16")
        return converted<std::uint16_t>(data, count, fromBfloat);
    qFatal("the reference does not read dtype %s", qPrintable(dtype));
}

void readFile(const std::filesystem::path& path, Tensors& tensors)
{
    const QByteArray bytes = readBytes(path);
    const auto length = static_cast<qsizetype>(load<std::uint64_t>(bytes.constData()));
    const QJsonObject header = readJson(bytes.mid(8, length));
    for (const QString& name : header.keys()) {
        if (name == "__metadata__")
            continue;
        const QJsonObject entry = header[name].toObject();
        StoredTensor tensor;
        std::size_t count = 1;
        for (const QJsonValue& size : entry["shape"].toArray()) {
            tensor.shape.push_back(static_cast<std::size_t>(size.toInteger()));
            count *= tensor.shape.back();
        }
        const char* data = bytes.constData() + 8 + length + entry["data_offsets"].toArray()[0].toInteger();
        tensor.values = elements(entry["dtype"].toString(), data, count);
        tensors[name.toStdString()] = std::move(tensor);
    }
}

} // namespace

std::map<std::string, StoredTensor> readStoredTensors(const std::filesystem::path& folder)
{
    Tensors tensors;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".safetensors")
            readFile(entry.path(), tensors);
    return tensors;
}

namespace reference {

Source sourceIn(const std::filesystem::path& folder)
{
    return {readJson(readBytes(folder / "config.json")), readStoredTensors(folder)};
}

Rows rowsOf(const StoredTensor& tensor)
{
    const std::size_t width = tensor.shape[1];
    Rows rows;
    for (std::size_t i = 0; i < tensor.shape[0]; ++i)
        rows.emplace_back(tensor.values.begin() + static_cast<std::ptrdiff_t>(i * width),
                          tensor.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    return rows;
}

/// Columns [first, first + out) of a matrix stored [in, out].
Linear columns(const StoredTensor& weight, const Vector& bias, std::size_t first, std::size_t out)
{
    Linear linear{weight.shape[0], out, {}, {}};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < out; ++j)
            linear.w.push_back(weight.values[a * weight.shape[1] + first + j]);
    for (std::size_t j = 0; j < out && !bias.empty(); ++j)
        linear.b.push_back(bias[first + j]);
    return linear;
}

Linear inOut(const StoredTensor& weight, const Vector& bias)
{
    return columns(weight, bias, 0, weight.shape[1]);
}

/// A matrix stored [out, in].
Linear outIn(const StoredTensor& weight, const Vector& bias)
{
    Linear linear{weight.shape[1], weight.shape[0], {}, bias};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < linear.out; ++j)
            linear.w.push_back(weight.values[j * linear.in + a]);
    return linear;
}

Norm layerNorm(const Source& source, const std::string& name, double eps)
{
    return {NormKind::Layer, eps, source.at(name + ".weight").values, source.at(name + ".bias").values};
}

} // namespace reference

} // namespace headwise::test
