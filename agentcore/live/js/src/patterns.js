// Strings that a regular expression matches, for the patterns that schemas have; undefined for what is not understood (assertions,
// references), where the caller tries other strings.
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const CLASSES = { d: DIGITS, w: `${LETTERS}${DIGITS}_`, s: ' ', D: LETTERS, W: '-', S: LETTERS };
const ESCAPES = { n: '\n', t: '\t', r: '\r' };
const MOST = 8;

class NotUnderstood extends Error {}

/** A string that `pattern` matches, or undefined. */
export function matching(pattern, random) {
  try {
    const reader = new Reader(pattern, random);
    const text = reader.alternatives();
    return new RegExp(pattern, 'u').test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

class Reader {
  constructor(pattern, random) {
    Object.assign(this, { chars: [...pattern], at: 0, random });
  }

  next() {
    return this.chars[this.at++];
  }

  takes(char) {
    return this.chars[this.at] === char && ++this.at > 0;
  }

  // Each alternative is made, and one is chosen.
  alternatives() {
    const made = [this.sequence()];
    while (this.takes('|')) made.push(this.sequence());
    return this.random.choice(made);
  }

  sequence() {
    let text = '';
    while (this.at < this.chars.length && !['|', ')'].includes(this.chars[this.at])) {
      const start = this.at;
      const first = this.atom();
      const end = this.at;
      const [low, high] = this.quantifier();
      const after = this.at;
      for (let count = this.random.between(low, high), index = 0; index < count; index++) {
        this.at = start;
        text += index === 0 ? first : this.atom();
      }
      this.at = Math.max(after, end);
    }
    return text;
  }

  atom() {
    const char = this.next();
    if (char === '^' || char === '$') return '';
    if (char === '.') return this.random.choice([...LETTERS]);
    if (char === '[') return this.random.choice(this.set());
    if (char === '\\') return this.random.choice(this.escape());
    if (char === '(') return this.group();
    return char;
  }

  group() {
    if (this.takes('?')) {
      if (this.takes('<')) while (this.next() !== '>');
      else if (!this.takes(':')) throw new NotUnderstood();
    }
    const text = this.alternatives();
    if (!this.takes(')')) throw new NotUnderstood();
    return text;
  }

  escape() {
    const char = this.next();
    if (char in CLASSES) return [...CLASSES[char]];
    if (/[a-zA-Z0-9]/.test(char) && !(char in ESCAPES)) throw new NotUnderstood();
    return [ESCAPES[char] ?? char];
  }

  set() {
    const negated = this.takes('^');
    const chars = new Set();
    while (!this.takes(']')) {
      const found = this.takes('\\') ? this.escape() : [this.next()];
      if (found.length === 1 && this.chars[this.at] === '-' && this.chars[this.at + 1] !== ']') {
        this.at++;
        const last = this.takes('\\') ? this.escape()[0] : this.next();
        for (let code = found[0].codePointAt(0); code <= last.codePointAt(0); code++)
          chars.add(String.fromCodePoint(code));
      } else found.forEach((char) => chars.add(char));
    }
    if (!negated) return [...chars];
    return [...`${LETTERS}${LETTERS.toUpperCase()}${DIGITS}-_ `].filter((char) => !chars.has(char));
  }

  quantifier() {
    const range = { '*': [0, 2], '+': [1, 3], '?': [0, 1] }[this.chars[this.at]];
    if (range) this.at++;
    const counted = range ? undefined : this.counted();
    if (range || counted) this.takes('?');
    return range ?? counted ?? [1, 1];
  }

  counted() {
    const found = /^\{(\d+)(,?)(\d*)\}/.exec(this.chars.slice(this.at, this.at + 16).join(''));
    if (!found) return undefined;
    this.at += found[0].length;
    const low = Number(found[1]);
    return [low, found[2] === '' ? low : Math.min(Number(found[3] || low + 3), low + MOST)];
  }
}
