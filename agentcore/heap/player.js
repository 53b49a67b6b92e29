// Plays the document of the page. What it says is put into the page as text only (`textContent`), never as markup. What draws graphs comes
// before it in the page (player_graph.js).

// Lists that are longer show their first and their last rows, and the others on demand.
const FOLDED = 24;
const FIRST = 2;
const LAST = 10;
const KEYS = [
  ['← →', 'one moment back, one on'],
  ['Home End', 'the first moment, the last'],
  ['W, Shift+W', 'the next write, the one before'],
  ['S, Shift+S', 'the next step, the one before'],
  ['Tab', 'from button to slider to graph; ↑ ↓ and Shift+← → scroll a graph'],
];

const shown = JSON.parse(document.getElementById('document').textContent);

/** The rows of a list; of a long one those in its middle wait for a button, unless they are to be kept. */
function folded(rows, kept) {
  if (rows.length <= FOLDED) return rows;
  const made = [];
  let hidden = [];
  const close = () => {
    if (hidden.length) made.push(fold(hidden));
    hidden = [];
  };
  rows.forEach((row, index) => {
    if (index < FIRST || index >= rows.length - LAST || kept(index)) {
      close();
      made.push(row);
    } else {
      hidden.push(row);
    }
  });
  close();
  return made;
}

function fold(hidden) {
  const button = element('button', { type: 'button' }, `… ${hidden.length} more`);
  const row = element('li', { class: 'fold' }, button);
  button.addEventListener('click', () => row.replaceWith(...hidden));
  return row;
}

/** What a list needs so that it can be scrolled with the keyboard. */
function scrolled(label) {
  return { tabindex: '0', 'aria-label': label };
}

/** One run: what happened at a moment, the graph, and the prompt of the step. */
class Run {
  constructor(run, other, alone, stepName) {
    this.run = run;
    this.stepName = stepName;
    this.other = other;
    this.graph = new Graph(run);
    this.says = element('p', { class: 'says' });
    this.lines = element('div', {});
    this.details = element('div', {});
    this.prompt = element('div', {});
    const notes = run.notes.map((note) => element('p', { class: 'note' }, note));
    const head = element('header', {}, element('h2', {}, run.name), ...notes);
    const story = element('div', { class: 'story' }, this.says, this.lines);
    const texts = element('div', { class: 'texts' }, this.details, this.prompt);
    const style = run.graph.boxes.length === 0 ? 'run bare' : alone ? 'run alone' : 'run';
    this.section = element('section', { class: style, 'aria-label': run.name }, head, story);
    if (run.graph.boxes.length) {
      this.section.append(element('div', { class: 'drawing' }, this.graph.pane, legend(run.graph.holders)));
    }
    this.section.append(texts);
  }

  /** Shows a moment; one that only the other run has leaves this one where it is. */
  show(number, here, seen) {
    const moment = this.run.moments[number];
    this.section.classList.toggle('write', Boolean(here) && moment?.kind === 'write');
    this.section.classList.toggle('refusal', Boolean(here) && moment?.kind === 'refusal');
    this.says.classList.toggle('away', !here);
    if (moment === undefined) {
      this.says.textContent = 'Nothing has happened yet.';
      return;
    }
    const apart = moment.kind === 'end' ? 'Over by now' : 'Only in the other run; here the last was';
    this.says.textContent = here ? moment.says : `${apart}: ${moment.says}`;
    const same = moment.same.map((names) => element('p', { class: 'note' }, `one object: ${names}`));
    this.lines.replaceChildren(...moment.lines.map((line) => element('p', {}, line)), ...(here ? same : []));
    this.graph.show(moment, number, seen);
    this.details.replaceChildren(...this.handed(moment));
    const asked = this.run.moments.findIndex(({ step, name }) => step === moment.step && /model$/.test(name));
    const shows = `${moment.step} ${asked > number}`;
    if (this.shows === shows) return;
    this.shows = shows;
    this.prompt.replaceChildren(...this.asked(moment, asked > number));
    const list = this.prompt.querySelector('.prompt');
    const end = this.prompt.querySelector('.end');
    if (end) list.scrollTop = end.offsetTop - list.offsetTop - list.clientHeight / 3;
  }

  /** What was handed out, field by field. */
  handed(moment) {
    const changes = (moment.changes ?? []).flatMap(([name, rows]) => [
      element('h3', {}, `What was written: ${name}`),
      element('ul', { class: 'rows' }, ...rows.flatMap((row) => changed(row, false, null))),
    ]);
    if (!moment.fields.length) return changes;
    const long = moment.fields.filter((field) => field.listed && field.items.length);
    const rest = moment.fields.filter((field) => !long.includes(field));
    const made = [...changes, element('h3', {}, moment.headed ?? `What ${moment.name} was handed`)];
    for (const field of long) {
      if (field.name) made.push(element('p', { class: 'note' }, field.name));
      const apart = new Map(field.apart);
      const items = field.items.map((item, index) => this.item(item, index, apart.get(index)));
      const kept = (index) => field.items[index].length > 1 || apart.has(index);
      const list = element('ul', { class: 'rows handed', ...scrolled(`${field.name} of ${this.run.name}`) });
      list.append(...folded(items, kept));
      made.push(list);
    }
    if (rest.length) {
      const items = rest.map((field) =>
        this.item(field.items[0] ?? ['[]'], field.name, new Map(field.apart).get(0)),
      );
      const list = element('ul', { class: 'rows plain' }, ...items);
      made.push(
        long.length
          ? element('details', {}, element('summary', {}, `other fields: ${rest.length}`), list)
          : list,
      );
    }
    return made;
  }

  item([text, ...writes], name, apart) {
    const whole = typeof text === 'string' ? text : shown.texts[text];
    const said = element('span', { class: 'said' }, ...markDifference(whole, shown.texts[apart]));
    if (writes.length) said.append(element('span', { class: 'tag' }, ` ✎${writes.join(',')}`));
    const made = element('li', {
      class: `${writes.length ? 'sees' : ''}${apart === undefined ? '' : ' other'}`,
    });
    const sign = (label) =>
      apart !== undefined
        ? element('span', { class: 'sign', title: 'not in the other run' }, `${label}≠`)
        : element('span', { class: 'sign' }, label);
    if (typeof name === 'number') made.append(sign(String(name)), said);
    else made.append(sign(''), element('span', {}, `${name ? `${name}: ` : ''}`, said));
    return made;
  }

  /** The prompt of the moment's step. */
  asked(moment, isToCome) {
    const prompt = this.run.prompts.find((one) => one.step === moment.step);
    if (prompt === undefined) return [element('p', { class: 'note' }, 'No model is asked in this step.')];
    const share = Math.round(prompt.share * 100);
    const cached = prompt.first
      ? 'It is the first: nothing is cached.'
      : `${prompt.kept} of ${prompt.count} messages, ${share} % of the characters, begin it as in the prompt before: they stay cached.`;
    const theirs = this.other?.prompts.find((one) => one.step === prompt.step);
    const others =
      theirs && theirs.rows.filter(([sign]) => sign !== '-').map((row) => (row[0] === '~' ? row[2] : row[1]));
    const rows = [];
    let count = 0;
    for (const row of prompt.rows) {
      if (!prompt.first && count === prompt.kept && !rows.ended) {
        rows.ended = true;
        rows.push(element('li', { class: 'end' }, 'the cached beginning ends here'));
      }
      rows.push(...changed(row, !prompt.first && count < prompt.kept, others, others?.[count]));
      if (row[0] !== '-') count += 1;
    }
    return [
      element('h3', {}, `${isToCome ? 'To come: the' : 'The'} prompt of ${this.stepName(prompt.step)}`),
      element('p', { class: 'note' }, cached),
      element(
        'ul',
        { class: 'rows prompt', ...scrolled(`prompt of ${this.run.name}`) },
        ...folded(rows, (index) => !/^(kept|same)$/.test(rows[index].className)),
      ),
    ];
  }
}

/**
 * A row of a prompt's difference to the one before. `others` are the messages of the other run's prompt, `beside` the one at the same place:
 * what differs from it is marked.
 */
function changed(row, kept, others, beside) {
  const [sign, text, after, start, end] = row;
  const only = (number) => others && !others.includes(number);
  if (sign !== '~') {
    const style = { '=': kept ? 'kept' : 'same', '+': 'new', '-': 'gone' }[sign];
    const apart = sign !== '-' && only(text);
    const parts = markDifference(shown.texts[text], apart ? shown.texts[beside] : undefined);
    return [line(style, sign === '=' ? ' ' : sign, parts, apart)];
  }
  return [
    line('gone', '-', markMiddle(shown.texts[text], start, end), false),
    line('new', '+', markMiddle(shown.texts[after], start, end), only(after)),
  ];
}

/** A text with a mark from `start` until `end` characters before its end. */
function markMiddle(text, start, end) {
  const last = text.length - end;
  return [text.slice(0, start), element('mark', {}, text.slice(start, last)), text.slice(last)];
}

/** A text with a mark where it differs from another, if most of it is alike. */
function markDifference(text, other) {
  if (other === undefined) return [text];
  const most = Math.min(text.length, other.length);
  let start = 0;
  while (start < most && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  return 2 * (start + end) < most ? [text] : markMiddle(text, start, end);
}

function line(style, sign, parts, only) {
  const made = element('li', { class: only ? `${style} other` : style });
  const label = only ? `${sign}≠` : sign;
  const meaning = { '+': 'new', '-': 'gone' }[sign] ?? '';
  const mark = element(
    'span',
    { class: 'sign', title: only ? `${meaning} not in the other run` : meaning },
    label,
  );
  made.append(mark, element('span', { class: 'said' }, ...parts));
  return made;
}

/** What is said of all that is played: labels and texts, those of several lines as code on demand. */
function facts(about) {
  const isCode = ([, text]) => text.includes('\n');
  const short = about.filter((each) => !isCode(each));
  const list = short.flatMap(([label, text]) => [
    element('dt', {}, label),
    element('dd', { class: label.split(' ')[0] }, text),
  ]);
  const codes = about
    .filter(isCode)
    .map(([label, text]) =>
      element(
        'details',
        {},
        element('summary', {}, label),
        element('pre', { tabindex: '0', 'aria-label': label }, text),
      ),
    );
  return [...(list.length ? [element('dl', {}, ...list)] : []), ...codes];
}

/** The whole page: buttons, slider, one run or two. */
class Page {
  constructor() {
    document.body.append(...this.built());
    window.addEventListener('resize', () => this.fit());
    document.addEventListener('keydown', (event) => this.pressed(event));
    this.play(0, Number(/^#moment=(\d+)$/.exec(location.hash)?.[1] ?? 1) - 1);
  }

  /** Plays one of the comparisons of the page. */
  play(scene, position) {
    const { runs, pairs, steps, about } = shown.scenes[scene];
    this.pairs = pairs;
    this.stepName = (step) => steps[step] ?? `step ${step}`;
    this.runs = runs.map((run, number) => new Run(run, runs[1 - number], runs.length === 1, this.stepName));
    this.about.replaceChildren(...facts(about));
    this.bar.hidden = pairs.length === 0;
    // For each pair, the moment of each run that is shown: its own, or the last before.
    const last = runs.map(() => -1);
    this.at = pairs.map((pair) => pair.map((moment, side) => (last[side] = moment ?? last[side])));
    this.kinds = pairs.map((pair) =>
      pair.map((moment, side) => (moment === null ? null : runs[side].moments[moment])),
    );
    this.steps = this.kinds.map((moments) => moments.find((moment) => moment).step);
    this.main.replaceChildren(...this.runs.map((run) => run.section));
    this.slider.max = String(pairs.length);
    this.ticks.replaceChildren(...this.tick());
    this.fit();
    this.go(position);
  }

  built() {
    const button = (label, keys, act) => {
      const made = element('button', { type: 'button', 'aria-keyshortcuts': keys }, label);
      made.addEventListener('click', act);
      return made;
    };
    this.first = button('first', 'Home', () => this.go(0));
    this.back = button('back', 'ArrowLeft', () => this.go(this.position - 1));
    this.next = button('next', 'ArrowRight', () => this.go(this.position + 1));
    this.last = button('last', 'End', () => this.go(this.pairs.length - 1));
    this.write = button('next write', 'W', () => this.seek('write', 1));
    this.step = button('next step', 'S', () => this.seek('step', 1));
    this.where = element('span', { class: 'where' });
    this.live = element('p', { class: 'unseen', 'aria-live': 'polite' });
    const range = { type: 'range', min: '1', step: '1', 'aria-label': 'moment of the run' };
    this.slider = element('input', { class: 'slider', ...range });
    this.slider.addEventListener('input', () => this.go(Number(this.slider.value) - 1));
    const buttons = element(
      'div',
      { class: 'buttons' },
      this.first,
      this.back,
      this.next,
      this.last,
      this.write,
      this.step,
      this.where,
    );
    const keys = element(
      'dl',
      {},
      ...KEYS.flatMap(([key, what]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, what)]),
    );
    this.ticks = element('div', { class: 'ticks', 'aria-hidden': 'true' });
    this.main = element('main', { class: 'runs' });
    this.about = element('section', { class: 'about', 'aria-label': 'about' });
    this.bar = element('nav', { class: 'bar', 'aria-label': 'moments' }, buttons, this.slider, this.ticks);
    return [
      element('h1', {}, shown.title),
      ...this.choice(),
      this.about,
      this.bar,
      this.main,
      element('details', {}, element('summary', {}, 'Keys'), keys),
      this.live,
    ];
  }

  /** What a person picks from where the page plays several comparisons. */
  choice() {
    if (shown.scenes.length === 1) return [];
    const options = shown.scenes.map(({ title }, number) => element('option', { value: number }, title));
    const select = element('select', { id: 'scene' }, ...options);
    select.addEventListener('change', () => this.play(Number(select.value), 0));
    return [element('p', {}, element('label', { for: 'scene' }, 'Play '), select)];
  }

  /** Marks below the slider: steps, writes, and what shows a write for the first time. */
  tick() {
    const end = Math.max(1, this.pairs.length - 1);
    return this.kinds.map((moments, number) => {
      const there = moments.filter((moment) => moment);
      const style = there.some((moment) => moment.kind === 'write')
        ? 'write'
        : there.some((moment) => moment.sight)
          ? 'sees'
          : this.steps[number] !== this.steps[number - 1]
            ? 'step'
            : '';
      const made = element('span', { class: style });
      made.style.left = `${(100 * number) / end}%`;
      return made;
    });
  }

  fit() {
    // One scale, so that runs side by side look alike.
    const scale = Math.min(...this.runs.map((run) => run.graph.fitting));
    for (const run of this.runs) run.graph.fit(scale);
  }

  /** Goes to a moment. */
  go(position) {
    if (this.pairs.length === 0) return;
    this.position = Math.max(0, Math.min(this.pairs.length - 1, position || 0));
    const number = this.position;
    const seen = this.runs.map((run) => run.graph.seen);
    this.runs.forEach((run, side) => {
      run.show(this.at[number][side], this.pairs[number][side] !== null, seen[side]);
    });
    const step = this.steps[number] < 0 ? 'before the first step' : this.stepName(this.steps[number]);
    const there = this.kinds[number].find((moment) => moment);
    this.where.textContent = `${step} · ${number + 1} of ${this.pairs.length}`;
    this.slider.value = String(number + 1);
    this.slider.setAttribute(
      'aria-valuetext',
      `${number + 1} of ${this.pairs.length}, ${step}, ${there.name}`,
    );
    this.live.textContent = `${step}: ${this.runs.map((run) => run.says.textContent).join(' / ')}`;
    // Not `disabled`, which would take the focus away from who steps with the keyboard.
    const off = (button, is) => button.setAttribute('aria-disabled', String(is));
    for (const button of [this.first, this.back]) off(button, number === 0);
    for (const button of [this.next, this.last]) off(button, number === this.pairs.length - 1);
    off(this.write, this.found('write', 1) === undefined);
    off(this.step, this.found('step', 1) === undefined);
    // A page in a frame has no address of its own.
    if (location.protocol !== 'about:') history.replaceState(null, '', `#moment=${number + 1}`);
  }

  seek(what, by) {
    const found = this.found(what, by);
    if (found !== undefined) this.go(found);
  }

  /** The next moment, or the one before, with a write or at the beginning of a step. */
  found(what, by) {
    for (let n = this.position + by; n >= 0 && n < this.pairs.length; n += by) {
      if (what === 'write' && this.kinds[n].some((moment) => moment?.kind === 'write')) return n;
      if (what === 'step' && this.steps[n] !== this.steps[n - 1]) return n;
    }
    return undefined;
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.nodeName === 'SELECT') return;
    const pane = document.activeElement?.closest('.graph');
    if (pane && event.shiftKey && event.key.startsWith('Arrow')) {
      pane.scrollLeft += { ArrowLeft: -80, ArrowRight: 80 }[event.key] ?? 0;
      return;
    }
    const by = event.shiftKey ? -1 : 1;
    const acts = {
      ArrowLeft: () => this.go(this.position - 1),
      ArrowRight: () => this.go(this.position + 1),
      Home: () => this.go(0),
      End: () => this.go(this.pairs.length - 1),
      w: () => this.seek('write', by),
      s: () => this.seek('step', by),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }
}

new Page();
