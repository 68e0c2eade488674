"""Writes sentencepiece/*.model and sentencepiece/reference.json beside this file; see README.md for the package.

    node -e "import('./texts.mjs').then(m => console.log(JSON.stringify(m.texts)))" > /tmp/texts.json
    python make_sentencepiece.py /tmp/texts.json

Reads ../models/stories260k-gguf for its vocabulary, which it hands to the library as a model of its own."""
import io
import json
import pathlib
import struct
import sys

import sentencepiece as spm

here = pathlib.Path(__file__).parent
out = here / 'sentencepiece'
texts = [text for text, repeated in json.load(open(sys.argv[1])) if repeated == 1]
story = '''Once upon a time there was a little girl named Lily. She loved to play outside in the park. Hello world, this is the
end of the line and the other words are here: a word b, words wordy. The quick brown fox jumps over the lazy dog. She said that
she was happy because the sun was shining, and they all lived together in the big house by the river.'''.split('\n')
rules = [('\ufb01', 'fi'), ('\ufb02', 'fl'), ('\u00bd', '1\u20442'), ('\u00e9', 'e'), ('e\u0301', 'e'), ('\u3000', ' '), ('\t', ' '),
         ('\n', ' '), ('\u00a0', ' '), ('\u200b', ''), ('\u2460', '1'), ('\ufdfa', 'long form of four words'),
         ('\u1100\u1161', '\uac00'), ('A\u030a', '\u00c5')] + [(chr(0xff21 + i), chr(0x41 + i)) for i in range(26)]


def train(name, **options):
    tsv = out / 'rules.tsv'
    tsv.write_text(''.join(' '.join('%X' % ord(c) for c in a) + '\t' + ' '.join('%X' % ord(c) for c in b) + '\n' for a, b in rules))
    if options.pop('mapped', False):
        options['normalization_rule_tsv'] = str(tsv)
    else:
        options['normalization_rule_name'] = 'identity'
    model = io.BytesIO()
    lines = [line for text in texts + story * 20 for line in text.split('\n') if line and '\0' not in line]
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, minloglevel=2, num_threads=1,
                                   input_sentence_size=0, hard_vocab_limit=False, **options)
    tsv.unlink()
    (out / f'{name}.model').write_bytes(model.getvalue())


def varint(n):
    text = b''
    while n > 0x7f:
        text += bytes([n & 0x7f | 0x80])
        n >>= 7
    return text + bytes([n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def flag(number, value):
    return varint(number << 3) + varint(value)


def gguf_vocabulary(path):
    """tokens, scores, types of a GGUF file."""
    data, at, found = path.read_bytes(), 8, {}

    def take(form):
        nonlocal at
        value, = struct.unpack_from('<' + form, data, at)
        at += struct.calcsize('<' + form)
        return value

    def value(kind):
        nonlocal at
        if kind == 8:
            size = take('Q')
            at += size
            return data[at - size:at]
        if kind == 9:
            kind, count = take('I'), take('Q')
            return [value(kind) for _ in range(count)]
        return take('BbHhIif?__QqdB'.replace('_', 'x')[kind] if kind < 8 else {10: 'Q', 11: 'q', 12: 'd'}[kind])

    take('q')
    for _ in range(take('q')):
        key = value(8).decode()
        found[key] = value(take('I'))
    return [found['tokenizer.ggml.' + key] for key in ('tokens', 'scores', 'token_type')]


def model_of_gguf(path):
    model = b''
    for token, score, kind in zip(*gguf_vocabulary(path)):
        model += field(1, field(1, token) + varint(2 << 3 | 5) + struct.pack('<f', score) + flag(3, kind))
    trainer = flag(3, 2) + flag(35, 1) + flag(40, 0) + flag(41, 1) + flag(42, 2)
    return model + field(2, trainer) + field(3, flag(3, 1) + flag(4, 0) + flag(5, 1))


def ids(model, whole):
    processor = spm.SentencePieceProcessor(model_proto=model)
    controls = [processor.id_to_piece(i) for i in range(len(processor)) if processor.is_control(i) or processor.is_unknown(i)]
    encoded = []
    for text in whole:
        # The library has no name for control pieces in text; a tokenizer.json's added tokens do.
        skipped = any(control in text for control in controls) or '\0' in text
        encoded.append(None if skipped else processor.encode(text))
    return {'ids': encoded, 'decoded': [None if i is None else processor.decode(i) for i in encoded]}


out.mkdir(exist_ok=True)
common = dict(vocab_size=1400, character_coverage=0.98, user_defined_symbols=['<sep>', '\u2581\u2581'])
train('unigram', model_type='unigram', mapped=True, **common)
train('unigram-bytes', model_type='unigram', byte_fallback=True, remove_extra_whitespaces=False, vocab_size=1500, character_coverage=0.98)
train('bpe', model_type='bpe', byte_fallback=True, remove_extra_whitespaces=False, vocab_size=1500, character_coverage=0.98)
train('bpe-mapped', model_type='bpe', mapped=True, add_dummy_prefix=False, **common)

reference = {'version': spm.__version__, 'texts': texts, 'models': {}}
for path in sorted(out.glob('*.model')):
    reference['models'][path.stem] = ids(path.read_bytes(), texts)
gguf = here / '../models/stories260k-gguf/stories260K.gguf'
reference['models']['stories260k-gguf'] = ids(model_of_gguf(gguf), texts)
lines = json.dumps(reference, ensure_ascii=True, separators=(',', ':')).replace('"models":', '\n"models":').replace(']},"', ']},\n"')
(out / 'reference.json').write_text(lines + '\n')
