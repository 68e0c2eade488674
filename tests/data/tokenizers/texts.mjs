// The texts whose token ids reference.json holds. Hand-written; nothing here depends on a tokenizer.

const scripts = [
  'Hello world', 'The quick brown fox jumps over the lazy dog.', "It's naïve to say the café isn't open.",
  'Größe, Fuß, Öl und Übermut', 'Ça va très bien, œuvre à l’aéroport', 'El niño comió ñandú ¿verdad? ¡Sí!',
  'Zażółć gęślą jaźń', 'Příliš žluťoučký kůň úpěl ďábelské ódy', 'Pijamalı hasta yağız şoföre İstanbul’da ıspanak',
  'Ξεσκεπάζω την ψυχοφθόρα βδελυγμία', 'Съешь же ещё этих мягких французских булок', 'Ђорђе ће љубити њу',
  'שלום עולם, מה שלומך?', 'בְּרֵאשִׁית בָּרָא אֱלֹהִים', 'مرحبا بالعالم', 'السَّلَامُ عَلَيْكُمْ', 'سلام دنیا، حال شما چطور است؟',
  'नमस्ते दुनिया', 'क्षत्रिय ज्ञान श्री', 'হ্যালো বিশ্ব', 'வணக்கம் உலகம்', 'హలో ప్రపంచం', 'ಹಲೋ ವರ್ಲ್ಡ್', 'ഹലോ വേൾഡ്',
  'ສະບາຍດີຊາວໂລກ', 'สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่าง', 'မင်္ဂလာပါ', 'សួស្តី​ពិភពលោក', 'གཟུགས་པོ་བདེ་མོ', 'გამარჯობა მსოფლიო',
  'Բարեւ աշխարհ', 'ሰላም ልዑል', 'ᚠᛇᚻ᛫ᛒᛦᚦ᛫ᚠᚱᚩᚠᚢᚱ', 'ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ', 'ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ', '你好，世界！', '繁體中文測試：這是一個句子。',
  '日本語のテキストです。カタカナもあります。', 'ｶﾀｶﾅ　ｈａｌｆ ＡＢＣ １２３', '안녕하세요 세계', '한국어 문장은 띄어쓰기가 있습니다.', 'Xin chào thế giới, tiếng Việt có dấu',
  '𐌰𐌱𐌲𐌳 𐌴𐌵', '𝕳𝖊𝖑𝖑𝖔 𝔀𝓸𝓻𝓵𝓭', '𓀀𓁐𓂝', 'ꦗꦮ', 'ߒߞߏ', '𞤀𞤣𞤤𞤢𞤥', 'ﷺ ﷽', 'ﬁﬂﬃ ſtraſſe ẞ',
];

const emoji = [
  '🙂', '😀😃😄', '👍🏽', '👨‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪🇫🇷', '❤️ and ❤', '1️⃣2️⃣#️⃣', '👩🏿‍🚀 to the 🌙', '🤷🏼‍♀️', '🧑‍🤝‍🧑', '☺︎ vs ☺️', '🫠🫡🪿',
  'text🙂text', ' 🙂 ', '🙂🙂  🙂', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '©®™', '♠♥♦♣', '→←↑↓⇒', '█▓▒░', '①②③ ⅣⅤ ½¼¾ ²³', '€£¥₹₿', '∀x∈ℝ: x²≥0 ∑∏∫√∞', '⠓⠑⠇⠇⠕',
];

const combining = [
  'e\u0301', 'cafe\u0301', 'é', 'A\u030A Å \u212B', 'q\u0307\u0323 q\u0323\u0307', 'ñ n\u0303', '\u0301alone', 'a\u0300\u0301\u0302\u0303\u0304', 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘',
  '\u1100\u1161\u11A8 각', '\u0958 \u0915\u093C', '\u2126 Ω \u03A9', 'ﬀ ffi ﬃ', '\u1E9B\u0323', 'i\u0307 İ I ı', '\u0344 \u0308\u0301', '각\u11A8', '\u2000\u2001x\u2002\u2003', '\u037E ; \u00B7 \u0387', '\uF900 豈',
];

const spaces = [
  '', ' ', '  ', '   ', '    ', '     ', '        ', '               ', '                        ', '                         ', ' '.repeat(47), ' '.repeat(100),
  ' a', '  a', '   a', 'a ', 'a  ', 'a   ', ' a ', '  a  b  ', 'a b', 'a  b', 'a   b', 'a    b', 'a     b', 'a                         b',
  '\n', '\n\n', '\n\n\n', '\r\n', '\r\n\r\n', '\r', '\n\r', 'a\nb', 'a\n\nb', 'a\r\nb', 'a \r\n b', 'a\n b', 'a \nb', 'a  \n  b', 'a\n\n\n   b', '\n a', ' \n', ' \n ', '  \n\n  ', '\na\n',
  '\t', '\t\t', '\t\t\t', 'a\tb', 'a\t\tb', '\ta', 'a\t', ' \t ', '\t \t', '\n\t\n', '  \tx', '\t  x', 'tab\tnew\n\nline', 'line one\r\n\tline two\r\n\r\n\t\tline three\r\n',
  '\u00A0', '\u00A0\u00A0', 'a\u00A0b', 'a\u00A0\u00A0b', '\u00A0nb', ' \u00A0 x', '\u3000', 'a\u3000b', 'a\u3000\u3000b', '日本\u3000語', '\u2003x\u2003', '\u2009\u2009y', '\u202Fz 1\u202F000', '\u205F\u205Fq', '\u1680x',
  '\u0085', 'a\u0085b', 'a\u0085\u0085b', '\u2028', 'a\u2028b', 'a\u2029\u2029b', '\uFEFF', '\uFEFFa', 'a\uFEFF b', 'a\u200Bb', 'a \u200B b', '\u180Ex', 'a\u180E\u180Eb', '\u2060word\u2060', '\u000B\u000Cx', 'a\u001C\u001D\u001E\u001Fb',
];

const digits = [
  '0', '1', '12', '123', '1234', '12345', '1234567890', ' 1', ' 12 345', '3.14159', '-273.15', '1,000,000', '1e-5', '0x1F', '192.168.0.1', '2024-02-29T23:59:59Z', 'x=12345;', 'v2.0.1-beta', 'a1b2c3', '1st 2nd 3rd', '²½ ٣4', '٠١٢٣٤٥٦٧٨٩', '१२३', 'Ⅷ ⅷ', '100%', '$1,234.56', '50°C', '#42', '½ cup', '12:34', '(555) 123-4567', '1 2  3   4',
];

const punctuation = [
  '.', '..', '...', '....', '…', '!', '?!', '?!?!', ',', ';', ':', '-', '--', '---', '—', '–', '_', '__', '___init___', '"quoted"', "'single'", '“curly” ‘single’', '«guillemets»', '(a)', '[b]', '{c}', '<d>', '((()))', '[[]]{{}}', '/', '//', '\\', '\\\\', '|', '||', '&&', '@user', '#tag', '*bold*', '**bold**', '~', '`code`', '```', '^', '=', '==', '===', '!=', '>=', '->', '=>', '::', '+', '++', '%', '§¶†‡', '。、「」', '،؛؟', '।॥', '-----------------', '=================', '*****', '?? ... !!', ' .', ' ,x', '. .', '-a', '- a', "'", "''", "'''",
];

const contractions = [
  "don't DON'T", "it's It'S IT'S", "I'm we're you've they'll he'd", "I'M WE'RE YOU'VE THEY'LL HE'D", "'s", " 's", "s'", "'tis", "rock'n'roll", "y'all'd've", "o'clock", "'re're", "'sx", "'S", "it’s don’t", "l'été d'abord", "'lll", "'ve 've", "can't\n'll", "'dd", "'m 'M 'ſ",
];

const code = [
  'def f(x):\n    return x ** 2\n', 'for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n', 'foo_bar(x)->y', 'std::vector<std::pair<int, double>> v{};', 'const λ = (x) => x?.y ?? 0;', 'SELECT * FROM "t" WHERE a <> \'b\';', '<div class="a b">&nbsp;</div>', '{"key": [1, 2.5, null, true]}', 'git commit -m "fix: #123"', '#include <stdio.h>\n\nint main(void)\n{\n        return 0;\n}', 'https://example.org/a/b?c=d&e=f#g', 'user.name+tag@example.org', 'C:\\Users\\x\\y.txt', '/usr/local/bin', 'camelCaseWord PascalCaseWord snake_case_word SCREAMING_CASE', 'x = y if a else b  # comment', '\\frac{\\partial L}{\\partial \\theta_{i}}', '$$E = mc^2$$', 'a&&b||c', '    indented\n        more\n    back', "It's\n  indented", 'if x:\n\n\n    pass', '/* c */ // c++', '!#/bin/sh', '0b1010 0o17 1_000', 'printf("%d\\n", x);', 'λ→μ', 'a\u0000b', '| a | b |\n|---|---|\n| 1 | 2 |',
];

const added = [
  '<|endoftext|>', '<|endoftext|><|endoftext|>', 'a<|endoftext|>b', 'a <|endoftext|> b', ' <|endoftext|>', '<|endoftext|> ', '<|endoftext|>\n', '\n<|endoftext|>', '<|endoftext|', '|endoftext|>', '<|END|>', '<<|endoftext|>>', '<|endoftext|>Hello', '<|padding|>', 'x<|padding|>y', '<|padding|><|endoftext|>', '<|endof<|endoftext|>text|>',
  'a  <|endoftext|>  b', 'é<|endoftext|>e\u0301', '<|endoftext|>\u0301', '<s>', '</s>', '<s>Hello</s>', 'a<s>b', '<s> <s>', '<unk>', '[CLS] [SEP] [MASK]', '<pad>', '<0x41>', '<mask>', 'a <mask> b', 'a<mask>b', 'xword', 'word', ' word ', 'a word b', 'words wordy', 'word.word', 'éword word́', ' \u00A0word\u3000 ', 'left\u0020\u0020<L>x', '<R>  right', ' <L> <R> ', '<L><R>', '  <L>  <L>  ', '<R>  <R>  x', '<|begin|>Hi', 'Hi<|begin|>', '<|begin|><|begin|>', '▁', '▁a', 'a▁b', '▁▁', ' ▁ ', 'Ġ', 'ĠaĊ', 'Hello<s> world', 'Hello <s>world',
];

const controls = [
  '\u0000', '\u0001\u0002\u0003', '\u0007bell', '\u001B[31mred\u001B[0m', '\u007F', '\u0080\u0081', 'a\u009Fb', '\u00AD soft\u00ADhyphen', '\u200E\u200F', '\u202Aabc\u202C', '\u2066x\u2069', '\u200D', 'a\u200Db', '\u200C', '\uFFFD', '\uFFFE\uFFFF', '\uE000', '\u{10FFFF}', '\u{F0000}', '\uFFF9x\uFFFBy', '\u034F', '\uFE0F', '\u{1F3FB}', '\u{E0001}', '\u061C',
];

const words = [
  'a', 'the', ' the', 'The', ' The', 'THE', 'ing', 'ization', 'antidisestablishmentarianism', ' antidisestablishmentarianism', 'Supercalifragilisticexpialidocious', 'llama', ' llamas', 'SolidGoldMagikarp', ' SolidGoldMagikarp', 'rawdownloadcloneembedreportprint', ' Paris', 'Paris', 'hello', 'HELLO', 'hELLo', 'aa', 'aaa', 'aaaa', 'aaaaaaaaaaaaaaaa', 'ababababab', 'xyzzy', 'qwrtpsdfg', 'zzzzzzzz', 'thethethe', 'lowerUPPERlower', 'MixedCASE123abc', 'éàü', 'ﬁne', 'naïveté', 'Once upon a time, there was a little girl named Lily. She loved to play outside in the park.',
];

// [text, how often it is repeated]: 10 kB without a space, runs of 10 000.
const long = [
  ['abcdefghij', 1000], ['a', 10000], [' ', 10000], ['\n', 3000], ['\t', 2000], ['日本語', 1000], ['🙂', 500], ['1', 5000], ['=-', 2000], [' a', 1000], ['e\u0301', 1000], ['\u00A0', 1000], ['Lorem ipsum dolor sit amet, ', 200], ['<|endoftext|>', 200], ['xyz', 3334],
];

export const texts = [
  ...[scripts, emoji, combining, spaces, digits, punctuation, contractions, code, added, controls, words].flat().map((text) => [text, 1]),
  ...long,
];
