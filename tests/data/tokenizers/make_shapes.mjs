// Small tokenizers in the shapes of the published ones: their normalizers, pre-tokenizers, decoders and flags with a
// vocabulary of some hundred tokens. The merges of the byte-level ones are GPT-2's first; those of the others are
// trained here on a few sentences. Nothing is taken from the models the shapes are named after.
import fs from 'fs';

const gpt2Split = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const llama3Split = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const qwen2Split = llama3Split.replace('{1,3}', '');
const cl100kSplit = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s";
const o200kSplit = [
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  '\\p{N}{1,3}', ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*', '\\s*[\\r\\n]+', '\\s+(?!\\S)', '\\s+'].join('|');
const bloomSplit = ' ?[^(\\s|[.,!?…。，、।۔،])]+';
const deepseekSplit = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const split = (Regex, behavior = 'Isolated', invert = false) => ({ type: 'Split', pattern: { Regex }, behavior, invert });
const byteLevel = (use_regex, add_prefix_space = false) => ({ type: 'ByteLevel', add_prefix_space, trim_offsets: true, use_regex });
const added = (id, content, options = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...options });
const word = { special: false, normalized: true };
const template = (token, id, end) => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: token, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, ...(end ? [{ SpecialToken: { id: end, type_id: 0 } }] : [])],
  pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: Object.fromEntries([[token, id], ...(end ? [[end, id + 1]] : [])].map(([name, n]) => [name, { id: name, ids: [n], tokens: [name] }])),
});
const file = (parts) => ({ version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...parts });
const bpe = (parts) => ({ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false, ...parts });

// --- byte level -----------------------------------------------------------------------------------------------

function byteLevelModel(gpt2, mergeCount, { wholeWords = [], pairs = false, ...flags } = {}) {
  const merges = gpt2.model.merges.slice(0, mergeCount);
  const tokens = Object.entries(gpt2.model.vocab).filter(([, id]) => id < 256 + mergeCount).map(([token]) => token);
  const vocab = Object.fromEntries([...tokens, ...wholeWords].map((token, id) => [token, id]));
  return bpe({ vocab, merges: pairs ? merges.map((merge) => merge.split(' ')) : merges, ...flags });
}

function byteLevelFile(model, special, parts) {
  const first = Object.keys(model.vocab).length;
  return file({ decoder: byteLevel(true, true), post_processor: byteLevel(true, true), model,
    added_tokens: special.map(([content, options], i) => added(first + i, content, options)), ...parts });
}

// --- pieces with a mark for the space ---------------------------------------------------------------------------

const sentences = ('Once upon a time there was a little girl named Lily . She loved to play outside in the park . Hello world , this is the '
  + 'end of the line and the other words are here : a word b , words wordy . the quick brown fox jumps over the lazy dog').split(' ');

function trained(mark, marked, count) {
  const pieces = sentences.map((text) => [...(marked ? mark + text : text)]);
  const merges = [];
  while (merges.length < count) {
    const counts = new Map();
    for (const piece of pieces) for (let i = 0; i + 1 < piece.length; ++i) counts.set(`${piece[i]} ${piece[i + 1]}`, (counts.get(`${piece[i]} ${piece[i + 1]}`) ?? 0) + 1);
    const [best] = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
    const [left, right] = best.split(' ');
    merges.push(best);
    for (const piece of pieces) for (let i = 0; i + 1 < piece.length; ++i) if (piece[i] === left && piece[i + 1] === right) piece.splice(i, 2, left + right);
  }
  return merges;
}

const letters = [...'▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:!?\'"-é日本語\n'];
const byteTokens = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);

function markedModel(special, { bytes = true, merges, more = [], ...flags }) {
  const results = merges.map((merge) => merge.replace(' ', ''));
  const vocab = Object.fromEntries([...new Set([...special, ...(bytes ? byteTokens : []), ...letters, ...results, ...more])].map((token, id) => [token, id]));
  return bpe({ vocab, merges, byte_fallback: bytes, ...flags });
}

const toMark = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
const fromMark = [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }];

// --- words and log probabilities -----------------------------------------------------------------------------------

/// Pieces and character map of one of sentencepiece/*.model, a protobuf message.
function sentencePiece(bytes) {
  const fields = (data) => {
    const found = [];
    for (let at = 0; at < data.length;) {
      const varint = () => { let n = 0, scale = 1; for (;;) { const b = data[at++]; n += (b & 127) * scale; scale *= 128; if (b < 128) return n; } };
      const key = varint();
      if ((key & 7) === 0) found.push([key >> 3, varint()]);
      else if ((key & 7) === 5) { found.push([key >> 3, data.readFloatLE(at)]); at += 4; }
      else { const length = varint(); found.push([key >> 3, data.subarray(at, at + length)]); at += length; }
    }
    return found;
  };
  const message = fields(bytes);
  const pieces = message.filter(([n]) => n === 1).map(([, piece]) => Object.fromEntries(fields(piece)));
  const normalizer = Object.fromEntries(fields(message.find(([n]) => n === 3)[1]));
  return { vocab: pieces.map((piece) => [piece[1].toString(), piece[2]]), map: normalizer[2]?.toString('base64') };
}

const words = ['the', 'a', 'and', 'word', 'Hello', 'hello', 'world', '##s', '##ing', '##ed', 'naive', 'na', '##i', '##ive', 'ete', 'cafe', 'quick', 'brown', 'fox', 'it', 'isn', 't', 'line', 'don', 'open'];

function wordPieceModel() {
  const characters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:!?\'"-é日本語中ßøæʼ'];
  const vocab = Object.fromEntries([...new Set(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ...characters, ...characters.map((c) => `##${c}`), ...words])].map((token, id) => [token, id]));
  return { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab };
}

export function shapes(gpt2, models) {
  const plain = byteLevelModel(gpt2, 400);
  const end = [['<|endoftext|>', {}]];
  const runs = ['▁ ▁', '▁▁ ▁▁'];
  const sentencepiece = { merges: [...runs, ...trained('▁', true, 120)], unk_token: '<unk>' };
  const odd = [['<mask>', { lstrip: true, special: true }], ['word', { ...word, single_word: true }], ['<L>', { ...word, lstrip: true }], ['<R>', { special: false, rstrip: true }]];
  const oddTokens = (first) => odd.map(([content, options], i) => added(first + i, content, options));
  const count = (model) => Object.keys(model.vocab).length;

  const llama2 = markedModel(['<unk>', '<s>', '</s>'], { ...sentencepiece, fuse_unk: true });
  const gemma = markedModel(['<pad>', '<eos>', '<bos>', '<unk>'], { ...sentencepiece, fuse_unk: true });
  gemma.merges = gemma.merges.map((merge) => merge.split(' '));
  const metaspace = markedModel(['<unk>', '<s>', '</s>'], { ...sentencepiece, bytes: false });
  const suffixModel = bpe({ unk_token: '<unk>', end_of_word_suffix: '</w>', merges: ['t h', 'th e</w>', 'a n', 'an d</w>', 'o r', 'w or', 'wor d</w>'],
    vocab: Object.fromEntries(['<unk>', ...[...'abcdefghijklmnopqrstuvwxyz0123456789.,'].flatMap((c) => [c, `${c}</w>`]), 'th', 'the</w>', 'an', 'and</w>', 'or', 'wor', 'word</w>'].map((t, i) => [t, i])) });
  const prefixModel = bpe({ unk_token: '<unk>', fuse_unk: true, continuing_subword_prefix: '##', merges: ['t ##h', 'th ##e', '##a ##n', '##an ##d', 'w ##o', 'wo ##r', 'wor ##d'],
    vocab: Object.fromEntries(['<unk>', ...[...'abcdefghijklmnopqrstuvwxyz0123456789.,'].flatMap((c) => [c, `##${c}`]), 'th', 'the', '##an', '##and', 'wo', 'wor', 'word'].map((t, i) => [t, i])) });

  const bertTokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].map((token, id) => added(id, token));
  const bert = (lowercase, strip_accents) => file({ added_tokens: bertTokens, model: wordPieceModel(), pre_tokenizer: { type: 'BertPreTokenizer' },
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents, lowercase },
    post_processor: { type: 'TemplateProcessing', ...template('[CLS]', 2, '[SEP]') }, decoder: { type: 'WordPiece', prefix: '##', cleanup: true } });
  const unigram = sentencePiece(models.unigram);
  const unigramBytes = sentencePiece(models['unigram-bytes']);
  const marks = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };
  const unigramFile = ({ vocab, map }, byte_fallback, normalizers) => file({ added_tokens: [added(0, '<unk>'), added(1, '<s>'), added(2, '</s>')],
    normalizer: { type: 'Sequence', normalizers: [...(map ? [{ type: 'Precompiled', precompiled_charsmap: map }] : []), ...normalizers] }, pre_tokenizer: marks,
    post_processor: { type: 'TemplateProcessing', single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '</s>', type_id: 0 } }], pair: template('<s>', 1).pair, special_tokens: { '</s>': { id: '</s>', ids: [2], tokens: ['</s>'] } } },
    decoder: byte_fallback ? { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, marks] } : marks, model: { type: 'Unigram', unk_id: 0, vocab, byte_fallback } });

  return {
    bert: bert(true, null),
    'bert-cased': bert(false, null),
    'bert-accents': bert(true, false),
    't5': unigramFile(unigram, false, [{ type: 'Strip', strip_left: false, strip_right: true }, { type: 'Replace', pattern: { Regex: ' {2,}' }, content: '▁' }]),
    'unigram-bytes': unigramFile(unigramBytes, true, [{ type: 'Nmt' }]),
    wordlevel: file({ added_tokens: [added(0, '<unk>')], normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'Whitespace' },
      model: { type: 'WordLevel', unk_token: '<unk>', vocab: Object.fromEntries(['<unk>', ...words, '.', ','].map((token, id) => [token, id])) } }),
    delimiter: file({ added_tokens: [added(0, '<unk>')], pre_tokenizer: { type: 'CharDelimiterSplit', delimiter: ' ' },
      model: { type: 'WordLevel', unk_token: '<unk>', vocab: Object.fromEntries(['<unk>', ...words, '.', ','].map((token, id) => [token, id])) } }),
    llama2: file({ added_tokens: [added(0, '<unk>'), added(1, '<s>'), added(2, '</s>')], normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, toMark] },
      post_processor: template('<s>', 1), decoder: { type: 'Sequence', decoders: [...fromMark, { type: 'Strip', content: ' ', start: 1, stop: 0 }] }, model: llama2 }),
    gemma: file({ added_tokens: [added(0, '<pad>'), added(1, '<eos>'), added(2, '<bos>'), added(3, '<unk>'), ...oddTokens(count(gemma))], normalizer: toMark,
      pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false }, post_processor: template('<bos>', 2), decoder: { type: 'Sequence', decoders: fromMark }, model: gemma }),
    metaspace: file({ added_tokens: [added(0, '<unk>'), added(1, '<s>'), added(2, '</s>'), ...oddTokens(count(metaspace))], pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
      post_processor: template('<s>', 1, '</s>'), decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true }, model: metaspace }),
    'metaspace-always': file({ added_tokens: [added(0, '<unk>'), added(1, '<s>'), added(2, '</s>', { normalized: true })], pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: false },
      decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: false }, model: { ...metaspace, fuse_unk: true } }),
    llama3: byteLevelFile(byteLevelModel(gpt2, 400, { wholeWords: ['ĠParis', 'Supercalifragilisticexpialidocious', 'qwrtpsdfg', '1234', 'Ġhello'], pairs: true, ignore_merges: true }), [['<|begin|>', {}], ['<|endoftext|>', {}]],
      { pre_tokenizer: { type: 'Sequence', pretokenizers: [split(llama3Split), byteLevel(false)] }, post_processor: { type: 'Sequence', processors: [byteLevel(true), template('<|begin|>', 661)] } }),
    qwen2: byteLevelFile(plain, [...end, ...odd], { normalizer: { type: 'NFC' }, pre_tokenizer: { type: 'Sequence', pretokenizers: [split(qwen2Split), byteLevel(false)] } }),
    cl100k: byteLevelFile(plain, end, { pre_tokenizer: { type: 'Sequence', pretokenizers: [split(cl100kSplit, 'Removed', true), byteLevel(false)] } }),
    o200k: byteLevelFile(plain, end, { pre_tokenizer: { type: 'Sequence', pretokenizers: [split(o200kSplit), byteLevel(false)] } }),
    bloom: byteLevelFile(plain, end, { pre_tokenizer: { type: 'Sequence', pretokenizers: [split(bloomSplit), byteLevel(false)] } }),
    deepseek: byteLevelFile(plain, end, { pre_tokenizer: { type: 'Sequence', pretokenizers: [split('\\p{N}{1,3}'), split('[一-龥぀-ゟ゠-ヿ]+'), split(deepseekSplit), byteLevel(false)] } }),
    falcon: byteLevelFile(plain, end, { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Punctuation', behavior: 'Contiguous' }, byteLevel(true), { type: 'Digits', individual_digits: false }, split('[0-9][0-9][0-9]')] } }),
    starcoder: byteLevelFile(plain, end, { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel(true, true)] } }),
    behaviors: byteLevelFile(plain, end, { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKD' }, { type: 'StripAccents' }, { type: 'Lowercase' }, { type: 'Strip', strip_left: true, strip_right: true }, { type: 'Replace', pattern: { Regex: '\\s{2,}|\\h{4}' }, content: ' ~' }] },
      pre_tokenizer: { type: 'Sequence', pretokenizers: [split('\\p{Han}+|\\w-\\w', 'MergedWithNext'), split('[\\d[aeiou]]+', 'MergedWithPrevious'), { type: 'Punctuation', behavior: 'MergedWithNext' }, split('\\s', 'Contiguous'), byteLevel(false)] } }),
    nfkc: byteLevelFile(plain, end, { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }, { type: 'NFD' }] }, pre_tokenizer: { type: 'Sequence', pretokenizers: [split(gpt2Split), byteLevel(false)] } }),
    suffix: file({ added_tokens: [added(0, '<unk>')], normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'Whitespace' }, decoder: { type: 'BPEDecoder', suffix: '</w>' }, model: suffixModel }),
    prefix: file({ added_tokens: [added(0, '<unk>')], normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'WhitespaceSplit' }, decoder: { type: 'WordPiece', prefix: '##', cleanup: true }, model: prefixModel }),
  };
}
