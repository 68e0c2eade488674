#include "core/model/families/family_config.h"

#include <cmath>

// Rules of the families in decoder_families.cpp.

namespace headwise {
namespace {

/// A number that multiplies something; 1 where it is no such number, which is a fault of the config.
double factorOf(ConfigReader& reader, std::string_view key, double standard)
{
    const double factor = reader.number({key}, standard);
    if (std::isfinite(factor) && factor > 0)
        return factor;
    reader.contradiction("'" + std::string(key) + "' is " + std::to_string(factor)
                         + ", expected a positive number");
    return 1;
}

} // namespace

void readCohereLogits(FamilyReading& reading)
{
    reading.forms[TensorKind::W_U].factor = factorOf(reading.reader, "logit_scale", 0.0625);
}

void readCohere(FamilyReading& reading)
{
    readCohereLogits(reading);
    if (reading.reader.flag({"use_qk_norm"}, false))
        reading.config.qkNorm = NormKind::LayerNorm;
}

} // namespace headwise
