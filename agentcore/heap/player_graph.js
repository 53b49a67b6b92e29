// Draws the graph of a run. The page has this before what plays it (player.js).
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const HEAD = 20;
const LINE = 16;
const PAD = 6;
const COLOURS = 8;
// How small a graph becomes so that it fits beside another.
const SMALLEST = 0.8;

/** Makes an element with attributes and children; a text is a text. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The same for SVG. */
function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The graph of a run: boxes at their places; a state of a box is drawn when it is shown first, and kept. */
class Graph {
  constructor(run) {
    this.graph = run.graph;
    this.kept = new Map();
    const back = run.graph.states.flatMap((state) =>
      state.rows.filter((row) => row[1] === '→').map((row) => row[2]),
    );
    this.numbered = new Set(back);
    this.titles = drawn('svg', {
      class: 'titles',
      viewBox: `0 0 ${this.graph.width} 26`,
      'aria-hidden': 'true',
    });
    for (const { title, x } of this.graph.columns) {
      this.titles.append(drawn('text', { class: 'column', x, y: 18 }, title));
    }
    this.svg = drawn('svg', { role: 'img', viewBox: `0 26 ${this.graph.width} ${this.graph.height - 26}` });
    this.edges = drawn('g', {});
    this.boxes = drawn('g', {});
    this.svg.append(this.edges, this.boxes);
    this.pane = element('div', {
      class: 'graph',
      tabindex: '0',
      role: 'group',
      'aria-label': `graph of ${run.name}`,
    });
    this.pane.append(this.titles, this.svg);
  }

  /** How large the graph may be so that it fits its pane; one that would become too small scrolls. */
  get fitting() {
    return Math.min(1, Math.max(SMALLEST, (this.pane.clientWidth - 2) / this.graph.width));
  }

  fit(scale) {
    this.scale = scale;
    for (const svg of [this.titles, this.svg]) {
      const { width, height } = svg.viewBox.baseVal;
      svg.setAttribute('width', Math.round(width * scale));
      svg.setAttribute('height', Math.round(height * scale));
    }
  }

  /** Shows a moment. */
  show(moment, number, seen) {
    const states = moment.shown.map((index) => this.graph.states[index]);
    const there = new Set(states.map((state) => state.box));
    const event = moment.event ?? undefined;
    const edges = [];
    const boxes = moment.shown.map((index) => {
      const state = this.graph.states[index];
      const group = this.state(index, state);
      group.classList.toggle('fresh', this.graph.boxes[state.box].first === number && number > 0);
      group.classList.toggle('event', state.box === event);
      edges.push(...this.arrows(index, state, there));
      return group;
    });
    this.edges.replaceChildren(...edges);
    this.boxes.replaceChildren(...boxes);
    this.svg.setAttribute('aria-label', moment.says);
    const hot = states.find((state) => state.now)?.box ?? event;
    // At first the holders are to be seen, wherever what has happened stands.
    if (hot !== undefined && number > 0) this.reveal(this.graph.boxes[hot], seen);
  }

  /** Where the pane is scrolled to. Read before the page is changed, or the browser lays it out twice. */
  get seen() {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.pane;
    return {
      left: scrollLeft,
      top: scrollTop,
      right: scrollLeft + clientWidth,
      bottom: scrollTop + clientHeight,
    };
  }

  /** Scrolls the pane, and nothing else, until a box is in it. */
  reveal(box, seen) {
    const [top, bottom] = [(box.y - 40) * this.scale, (box.y + box.height + 40) * this.scale];
    if (top < seen.top || bottom > seen.bottom) {
      this.pane.scrollTop = Math.max(0, top - (seen.bottom - seen.top) / 4);
    }
    const [left, right] = [box.x * this.scale, (box.x + box.width) * this.scale];
    if (left < seen.left || right > seen.right) {
      this.pane.scrollLeft = Math.max(0, right - (seen.right - seen.left) + 20);
    }
  }

  state(index, state) {
    if (!this.kept.has(index)) this.kept.set(index, this.draw(state));
    return this.kept.get(index);
  }

  draw(state) {
    const box = this.graph.boxes[state.box];
    const group = drawn('g', { class: `object ${box.kind}`, 'data-box': state.box });
    if (state.writes.length) group.classList.add('carries');
    if (state.now) group.classList.add('now');
    const height = HEAD + state.rows.length * LINE + (state.rows.length ? PAD : 0);
    group.append(drawn('rect', { class: 'box', x: box.x, y: box.y, width: box.width, height, rx: 4 }));
    const title = drawn('text', { class: 'title', x: box.x + PAD, y: box.y + 14 }, state.title);
    if (this.numbered.has(state.box)) title.append(span('number', ` #${state.box}`));
    if (state.writes.length) title.append(span('wrote', ` ✎${state.writes.map((n) => n + 1).join(',')}`));
    group.append(title);
    state.rows.forEach((row, number) => group.append(...this.row(box, row, box.y + HEAD + number * LINE)));
    state.chips.forEach((chip, number) => group.append(...this.chip(box, chip, number, state.chips.length)));
    return group;
  }

  row(box, [key, text, to, flag], y) {
    const made = [];
    if (flag === 2)
      made.push(drawn('rect', { class: 'slot', x: box.x + 2, y, width: box.width - 4, height: LINE, rx: 2 }));
    const line = drawn('text', { x: box.x + PAD, y: y + 12 });
    line.append(span(flag ? 'flag1' : 'key', key));
    const said = text === '→' ? `→ #${to}` : text;
    if (said !== null) line.append(span(flag ? 'flag1' : 'said', ` ${said}`));
    return [...made, line];
  }

  chip(box, chip, number, count) {
    const x = box.x + box.width - (count - number) * 15 + 4;
    const holder = this.graph.holders[chip];
    const made = drawn('rect', {
      class: `chip chip${chip % COLOURS}`,
      x,
      y: box.y - 11,
      width: 14,
      height: 13,
      rx: 3,
    });
    made.append(drawn('title', {}, `${holder.name} reaches this`));
    return [made, drawn('text', { class: 'letter', x: x + 7, y: box.y - 1 }, holder.chip)];
  }

  /** The references of a box, drawn once. */
  arrows(index, state, there) {
    const key = `${index} edges`;
    if (!this.kept.has(key)) {
      const box = this.graph.boxes[state.box];
      const rows = state.rows.flatMap(([, text, to, flag], number) =>
        to === null || text !== null ? [] : [[to, flag, box.y + HEAD + number * LINE + LINE / 2]],
      );
      if (state.head !== null) rows.push([state.head, 0, box.y + HEAD / 2]);
      this.kept.set(
        key,
        rows.map(([to, flag, y]) => [
          to,
          this.arrow(box.x + box.width, y, this.graph.boxes[to], flag || state.hot.includes(to)),
        ]),
      );
    }
    return this.kept.get(key).flatMap(([to, made]) => (there.has(to) ? made : []));
  }

  arrow(x, y, target, hot) {
    const [toX, toY] = [target.x - 6, target.y + HEAD / 2];
    const bend = Math.max(14, Math.min(60, (toX - x) / 2));
    const style = hot ? ' hot' : '';
    const path = `M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`;
    const head = `M${target.x} ${toY}l-7 -4v8z`;
    return [
      drawn('path', { class: `edge${style}`, d: path }),
      drawn('path', { class: `head${style}`, d: head }),
    ];
  }
}

function span(style, text) {
  return drawn('tspan', { class: style }, text);
}

/** What the letters at the boxes stand for. */
function legend(holders) {
  const made = element('p', { class: 'note' }, 'Letters say who reaches a box: ');
  holders.forEach(({ name, chip }, number) => made.append(`${number ? ', ' : ''}${chip} ${name}`));
  made.append('. ✎1 is a box that carries write 1; red arrows lead to it; a dashed box is new.');
  return made;
}
