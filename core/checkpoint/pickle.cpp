#include "core/checkpoint/pickle.h"

#include "core/checkpoint/pickle_builders.h"
#include "core/files/little_endian.h"
#include "core/files/utf8.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <optional>
#include <unordered_map>

namespace headwise {
namespace {

using PickleKind = PickleValue::Kind;

constexpr std::size_t maxValues = 10'000'000; // in one pickle, on its stack and in its memo
constexpr std::size_t maxMarks = 1000;

/// The stack machine. Each group of opcodes is a function that returns whether the opcode belongs to it.
class Machine {
public:
    Machine(std::span<const std::byte> bytes, std::string_view fileName)
        : m_in(bytes)
        , m_file(fileName)
    {
    }

    Result<Pickle> run();

private:
    bool pushConstant(std::uint8_t op);
    bool pushNumber(std::uint8_t op);
    bool pushText(std::uint8_t op);
    bool pushContainer(std::uint8_t op);
    bool fill(std::uint8_t op);
    bool useMemo(std::uint8_t op);
    bool apply(std::uint8_t op);
    bool skipFrame(std::uint8_t op);

    void pushLong();
    void pushGlobal(std::string name);
    void pushTuple(std::size_t count);
    void appendTo(std::size_t count);
    void setItems(std::size_t count);
    void reduce();
    void build();
    void pushStorage();

    int make(PickleValue value);
    void push(PickleValue value) { m_stack.push_back(make(std::move(value))); }
    int pop();
    std::vector<int> popMany(std::size_t count);
    std::size_t sinceMark();
    std::string line();
    PickleValue& at(int index) { return m_pickle.values[static_cast<std::size_t>(index)]; }

    /// Reads the next operand; 0 and a failure if the pickle ends too early.
    template <typename T>
    T operand()
    {
        const auto value = m_in.next<T>();
        if (!value)
            fail("it is cut off");
        return value.value_or(T{});
    }
    void fail(const std::string& what, ErrorCode code = ErrorCode::Corrupt);
    std::string where() const { return "File '" + m_file + "' "; }

    LittleEndianReader m_in;
    std::string m_file;
    Pickle m_pickle;
    std::vector<int> m_stack;
    std::vector<std::size_t> m_marks; ///< stack heights at the open marks
    std::unordered_map<std::uint32_t, int> m_memo;
    std::uint32_t m_nextMemo = 0;
    std::size_t m_argumentCount = 0;
    std::optional<Error> m_error;
};

void Machine::fail(const std::string& what, ErrorCode code)
{
    if (m_error)
        return;
    m_error = code == ErrorCode::Unsupported
        ? Error{code, what}
        : Error{code,
                where() + "holds a damaged pickle: " + what + " (at byte " + std::to_string(m_in.position())
                    + "). Downloading it again usually helps."};
}

int Machine::make(PickleValue value)
{
    if (m_pickle.values.size() >= maxValues || m_stack.size() >= maxValues) {
        fail("it makes more than ten million values");
        return 0;
    }
    m_pickle.values.push_back(std::move(value));
    return static_cast<int>(m_pickle.values.size()) - 1;
}

int Machine::pop()
{
    if (m_stack.size() <= (m_marks.empty() ? 0 : m_marks.back())) {
        fail("it takes a value where there is none");
        return 0;
    }
    const int top = m_stack.back();
    m_stack.pop_back();
    return top;
}

std::vector<int> Machine::popMany(std::size_t count)
{
    if (m_stack.size() < count) {
        fail("it takes values where there are none");
        return {};
    }
    const std::vector<int> items(m_stack.end() - static_cast<std::ptrdiff_t>(count), m_stack.end());
    m_stack.resize(m_stack.size() - count);
    return items;
}

/// Removes the last mark and returns how many values lie above it.
std::size_t Machine::sinceMark()
{
    if (m_marks.empty()) {
        fail("a mark is missing");
        return 0;
    }
    const std::size_t count = m_stack.size() - m_marks.back();
    m_marks.pop_back();
    return count;
}

std::string Machine::line()
{
    std::string text;
    while (!m_error && text.size() < 1000) {
        const char c = operand<char>();
        if (c == '\n')
            return text;
        text += c;
    }
    fail("a name in it has no end");
    return {};
}

bool Machine::pushConstant(std::uint8_t op)
{
    switch (op) {
    case 'N': push({}); return true;
    case 0x88: push({.kind = PickleKind::Flag, .integer = 1}); return true;
    case 0x89: push({.kind = PickleKind::Flag, .integer = 0}); return true;
    case '(':
        if (m_marks.size() >= maxMarks)
            fail("its values are nested more than a thousand deep");
        m_marks.push_back(m_stack.size());
        return true;
    default: return false;
    }
}

bool Machine::pushNumber(std::uint8_t op)
{
    const auto integer = [&](std::int64_t value) {
        push({.kind = PickleKind::Integer, .integer = value});
        return true;
    };
    switch (op) {
    case 'J': return integer(operand<std::int32_t>());
    case 'K': return integer(operand<std::uint8_t>());
    case 'M': return integer(operand<std::uint16_t>());
    case 0x8a: pushLong(); return true;
    case 'G': // the only big-endian operand
        push({.kind = PickleKind::Real,
              .real = std::bit_cast<double>(__builtin_bswap64(operand<std::uint64_t>()))});
        return true;
    default: return false;
    }
}

void Machine::pushLong()
{
    const auto length = operand<std::uint8_t>();
    const auto bytes = m_in.take(length);
    if (!bytes)
        return fail("it is cut off");
    if (length > 8)
        return fail("an integer in it has more than 64 bits");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < length; ++i)
        value |= std::to_integer<std::uint64_t>((*bytes)[i]) << (8 * i);
    if (length > 0 && length < 8 && (std::to_integer<unsigned>(bytes->back()) & 0x80) != 0)
        value |= ~std::uint64_t{0} << (8 * length);
    push({.kind = PickleKind::Integer, .integer = static_cast<std::int64_t>(value)});
}

bool Machine::pushText(std::uint8_t op)
{
    std::uint64_t length = 0;
    PickleKind kind = PickleKind::Bytes;
    switch (op) {
    case 'X': length = operand<std::uint32_t>(), kind = PickleKind::Text; break;
    case 0x8c: length = operand<std::uint8_t>(), kind = PickleKind::Text; break;
    case 0x8d: length = operand<std::uint64_t>(), kind = PickleKind::Text; break;
    case 'U': length = operand<std::uint8_t>(), kind = PickleKind::Text; break; // a Python 2 str
    case 'T': length = operand<std::uint32_t>(), kind = PickleKind::Text; break;
    case 'B': length = operand<std::uint32_t>(); break;
    case 'C': length = operand<std::uint8_t>(); break;
    default: return false;
    }
    const auto text = m_in.text(length);
    if (!text)
        fail("a text in it is longer than the rest of it");
    else if (kind == PickleKind::Text && firstInvalidUtf8(*text))
        fail("a text in it is not UTF-8");
    else
        push({.kind = kind, .text = std::string(*text)});
    return true;
}

bool Machine::pushContainer(std::uint8_t op)
{
    switch (op) {
    case '}': push({.kind = PickleKind::Dict}); return true;
    case ']': push({.kind = PickleKind::List}); return true;
    case ')': push({.kind = PickleKind::Tuple}); return true;
    case 0x8f: push({.kind = PickleKind::Set}); return true;
    case 't': pushTuple(sinceMark()); return true;
    case 0x85: pushTuple(1); return true;
    case 0x86: pushTuple(2); return true;
    case 0x87: pushTuple(3); return true;
    default: return false;
    }
}

void Machine::pushTuple(std::size_t count)
{
    push({.kind = PickleKind::Tuple, .items = popMany(count)});
}

bool Machine::fill(std::uint8_t op)
{
    switch (op) {
    case 'a': appendTo(1); return true;
    case 'e':
    case 0x90: appendTo(sinceMark()); return true;
    case 's': setItems(2); return true;
    case 'u': setItems(sinceMark()); return true;
    default: return false;
    }
}

void Machine::appendTo(std::size_t count)
{
    const std::vector<int> items = popMany(count);
    if (m_stack.empty() || m_error)
        return fail("it appends to nothing");
    PickleValue& target = at(m_stack.back());
    if (target.kind != PickleKind::List && target.kind != PickleKind::Set)
        return fail("it appends to a value that is not a list");
    target.items.insert(target.items.end(), items.begin(), items.end());
}

void Machine::setItems(std::size_t count)
{
    const std::vector<int> items = popMany(count);
    if (m_stack.empty() || m_error)
        return fail("it sets an item of nothing");
    PickleValue& target = at(m_stack.back());
    if (target.kind != PickleKind::Dict || items.size() % 2 != 0)
        return fail("it sets an item of a value that is not a dictionary");
    target.items.insert(target.items.end(), items.begin(), items.end());
}

bool Machine::useMemo(std::uint8_t op)
{
    const auto get = [&](std::uint32_t key) {
        const auto found = m_memo.find(key);
        if (found == m_memo.end() || m_stack.size() >= maxValues)
            fail("it recalls a value that it never kept");
        else
            m_stack.push_back(found->second);
        return true;
    };
    const auto put = [&](std::uint32_t key) {
        if (m_stack.empty() || m_memo.size() >= maxValues)
            fail("it keeps a value where there is none");
        else
            m_memo[key] = m_stack.back();
        return true;
    };
    switch (op) {
    case 'h': return get(operand<std::uint8_t>());
    case 'j': return get(operand<std::uint32_t>());
    case 'q': return put(operand<std::uint8_t>());
    case 'r': return put(operand<std::uint32_t>());
    case 0x94: return put(m_nextMemo++);
    default: return false;
    }
}

bool Machine::apply(std::uint8_t op)
{
    switch (op) {
    case 'c': {
        const std::string module = line();
        pushGlobal(module + " " + line());
        return true;
    }
    case 0x93: {
        const std::string name = at(pop()).text;
        if (!m_error)
            pushGlobal(at(pop()).text + " " + name);
        return true;
    }
    case 'R':
    case 0x81: reduce(); return true;
    case 'b': build(); return true;
    case 'Q': pushStorage(); return true;
    default: return false;
    }
}

void Machine::pushGlobal(std::string name)
{
    if (m_error)
        return;
    if (!isKnownGlobal(name)) {
        std::replace(name.begin(), name.end(), ' ', '.');
        return fail(
            where() + "holds an object of '" + name
                + "', not only tensors, and Headwise never runs code from a checkpoint. In Python, save only the weights: torch.save(model.state_dict(), ...).",
            ErrorCode::Unsupported);
    }
    push({.kind = PickleKind::Global, .text = std::move(name)});
}

void Machine::reduce()
{
    const int arguments = pop();
    const int callable = m_error ? 0 : pop();
    if (m_error)
        return;
    if (at(callable).kind != PickleKind::Global || at(arguments).kind != PickleKind::Tuple)
        return fail("it applies something that is not a tensor builder");
    std::string name = at(callable).text;
    m_argumentCount += at(arguments).items.size(); // one list can be an argument many times
    constexpr int none = -1;
    const int made =
        m_argumentCount > maxValues ? none : applyGlobal(m_pickle, name, arguments).value_or(none);
    m_argumentCount += made == none ? 0 : at(made).items.size();
    std::replace(name.begin(), name.end(), ' ', '.');
    if (made == none || m_pickle.values.size() > maxValues)
        return fail("'" + name + "' is applied to arguments it does not take");
    m_stack.push_back(made);
}

/// Ignores the state: `_metadata` of an OrderedDict, attributes of a parameter. Neither contains weights.
void Machine::build()
{
    pop();
    if (m_stack.empty() || m_error)
        return fail("it gives a state to nothing");
    const PickleKind kind = at(m_stack.back()).kind;
    if (kind != PickleKind::Dict && kind != PickleKind::Tensor)
        fail("it gives a state to a value without one");
}

void Machine::pushStorage()
{
    const int index = pop();
    if (m_error)
        return;
    const PickleValue& id = at(index);
    const auto is = [&](std::size_t i, PickleKind kind) { return at(id.items[i]).kind == kind; };
    if (id.kind != PickleKind::Tuple || id.items.size() < 5 || !is(0, PickleKind::Text)
        || at(id.items[0]).text != "storage" || !is(1, PickleKind::Global) || !is(2, PickleKind::Text)
        || !is(3, PickleKind::Text) || !is(4, PickleKind::Integer))
        return fail("a reference to a tensor's numbers is malformed");
    push({.kind = PickleKind::Storage, .items = {id.items.begin() + 1, id.items.begin() + 5}});
}

bool Machine::skipFrame(std::uint8_t op)
{
    if (op == 0x95) {
        operand<std::uint64_t>();
        return true;
    }
    if (op != 0x80)
        return false;
    if (const auto version = operand<std::uint8_t>(); version < 2 || version > 5)
        fail("its protocol " + std::to_string(version) + " is not between 2 and 5");
    return true;
}

Result<Pickle> Machine::run()
{
    make({}); // value 0, which steps return after an error
    while (!m_error) {
        const auto op = operand<std::uint8_t>();
        if (m_error)
            break;
        if (op == '.') {
            m_pickle.top = pop();
            break;
        }
        if (!pushConstant(op) && !pushNumber(op) && !pushText(op) && !pushContainer(op) && !fill(op)
            && !useMemo(op) && !apply(op) && !skipFrame(op)) {
            char code[8];
            std::snprintf(code, sizeof code, "0x%02x", op);
            fail(where() + "holds a pickle with the instruction " + code
                     + ", which no checkpoint of tensors needs; in Python, save it again with torch.save.",
                 ErrorCode::Unsupported);
        }
    }
    if (m_error)
        return *std::move(m_error);
    return std::move(m_pickle);
}

} // namespace

Result<Pickle> readPickle(std::span<const std::byte> bytes, std::string_view fileName)
{
    return Machine(bytes, fileName).run();
}

} // namespace headwise
