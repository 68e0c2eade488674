// Writes shapes/*.json and reference.json beside this file; see README.md for the packages and how to run it.
import fs from 'fs';
import path from 'path';
import { createRequire } from 'module';
import { fileURLToPath } from 'url';
import { shapes } from './make_shapes.mjs';
import { texts } from './texts.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(process.cwd(), 'package.json')); // packages are taken from the working directory
const { Tokenizer } = require('@anush008/tokenizers');

const files = { gpt2: 'gpt2/tokenizer.json', 'gpt-neox-20b': 'gpt-neox-20b/tokenizer.json' };
const models = Object.fromEntries(['unigram', 'unigram-bytes'].map((name) => [name, fs.readFileSync(path.join(here, `sentencepiece/${name}.model`))]));
fs.mkdirSync(path.join(here, 'shapes'), { recursive: true });
for (const [name, tokenizer] of Object.entries(shapes(JSON.parse(fs.readFileSync(path.join(here, files.gpt2))), models))) {
  files[name] = `shapes/${name}.json`;
  fs.writeFileSync(path.join(here, files[name]), JSON.stringify(tokenizer) + '\n');
}

const reference = { texts, tokenizers: {} };
for (const [name, file] of Object.entries(files)) {
  const tokenizer = Tokenizer.fromString(fs.readFileSync(path.join(here, file), 'utf8'));
  const real = !file.startsWith('shapes/');
  const entry = { file, ids: [], decoded: {}, special: [] };
  for (const [i, [text, repeated]] of texts.entries()) {
    if (!real && repeated > 1) break; // The long ones are about the real vocabularies.
    const whole = text.repeat(repeated);
    const ids = (await tokenizer.encode(whole, null, { addSpecialTokens: false })).getIds();
    entry.ids.push(ids);
    const decoded = await tokenizer.decode(ids, false);
    if (decoded !== whole) entry.decoded[i] = decoded;
    const special = (await tokenizer.encode(whole, null, { addSpecialTokens: true })).getIds();
    if (i < 10) entry.special.push(special);
  }
  reference.tokenizers[name] = entry;
}

const lines = [`{"texts":${JSON.stringify(texts)},`, '"tokenizers":{'];
lines.push(Object.entries(reference.tokenizers).map(([name, entry]) => `"${name}":${JSON.stringify(entry)}`).join(',\n'), '}}');
// Readers may take a U+FEFF that begins a string for a byte order mark.
fs.writeFileSync(path.join(here, 'reference.json'), lines.join('\n').replaceAll('\uFEFF', '\\uFEFF') + '\n');

// A second opinion, in JavaScript: how often it differs, and where.
const { Tokenizer: Second } = require('@huggingface/tokenizers');
for (const [name, { file, ids }] of Object.entries(reference.tokenizers)) {
  let second;
  try { second = new Second(JSON.parse(fs.readFileSync(path.join(here, file))), {}); } catch (error) { console.log(`${name}: ${error.message}`); continue; }
  const different = ids.map((expected, i) => {
    const [text, repeated] = texts[i];
    let found;
    try { found = second.encode(text.repeat(repeated), { add_special_tokens: false }).ids; } catch (error) { return `${JSON.stringify(text)}: ${error.message}`; }
    return JSON.stringify(Array.from(found)) === JSON.stringify(expected) ? null : JSON.stringify(text.slice(0, 40));
  }).filter(Boolean);
  console.log(`${name}: ${ids.length} texts, ${different.length} read differently by the second implementation ${different.slice(0, 12).join(' ')}`);
}
