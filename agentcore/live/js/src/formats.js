// Reports as text, JUnit and SARIF.

/** The text of a report in a format: text, json, junit or sarif. */
export const formatted = (report, format) => FORMATS[format](report);

const FORMATS = { text, json: (report) => `${JSON.stringify(report, null, 2)}\n`, junit, sarif };

const titleOf = ({ framework, hook }) =>
  `${hook.file ?? ''}${hook.file ? '#' : ''}${hook.name} at ${hook.at} in ${framework.name} ${framework.version ?? ''}`.trimEnd();
const lineOf = ({ line }, hook) =>
  line ? `${line.file}:${line.line}${line.column ? `:${line.column}` : ''}` : (hook.file ?? hook.name);

function text(report) {
  const { findings, conversations, measures, not_judged: notJudged, suppressions } = report;
  const lines = [
    `${titleOf(report)} (${report.framework.paths.join(', ')}): ${conversations.run} conversations, the hook was called ${conversations.calls} times`,
    '',
  ];
  for (const found of findings) lines.push(...findingText(found, report), '');
  for (const { kind, file, line } of suppressions.unused)
    lines.push(`${file}:${line}  this suppression of ${kind} suppresses nothing; delete it`, '');
  if (measures.prefix?.broken_by)
    lines.push(
      `prompt cache: ${percent(measures.prefix.with_hook)} of the prompt cannot be reused at the next step, ${percent(measures.prefix.without_hook)} without the hook (${measures.prefix.broken_by})`,
      '',
    );
  if (notJudged) lines.push(`not judged (${notJudged.reason}): ${notJudged.message}`, '');
  lines.push(summary(report));
  return `${lines.join('\n')}\n`;
}

const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

function findingText(found, { hook }) {
  const { kind, severity, suppressed, counts_for_verdict: counting } = found;
  const mark = suppressed
    ? `suppressed: ${suppressed.reason}`
    : counting
      ? severity
      : `${severity}, not counted`;
  const rows = [['message', found.message]];
  if (found.before !== null || found.after !== null)
    rows.push(['change', `${found.before ?? 'nothing'} -> ${found.after ?? 'nothing'}`]);
  if (found.places.length > 1)
    rows.push([
      'places',
      found.places.slice(0, 4).join(', ') +
        (found.places.length > 4 ? `, and ${found.places.length - 4} more` : ''),
    ]);
  if (found.first_seen)
    rows.push([
      'first seen',
      `${found.first_seen.holder} at ${found.first_seen.place || 'the top'}, turn ${found.first_seen.turn}${found.first_seen.step === null ? '' : `, step ${found.first_seen.step}`}`,
    ]);
  rows.push(
    ['found in', `${found.counts.text} conversations (${found.paths.join(', ')})`],
    ['instead', found.remedy],
  );
  return [
    `${lineOf(found, hook)}  ${mark}  ${kind}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(11)}${value}`),
    ...(found.test && severity === 'fault' && !suppressed
      ? [
          '  test to paste:',
          ...found.test
            .trimEnd()
            .split('\n')
            .map((line) => `    ${line}`),
        ]
      : []),
  ];
}

function summary({ verdict, findings }) {
  if (verdict === null) return 'not judged';
  if (findings.length === 0) return 'clean: no difference between the hook and its returned values alone';
  const count = (severity) => {
    const number = findings.filter((found) => found.severity === severity && found.counts_for_verdict).length;
    return `${number} ${severity}${number === 1 ? '' : 's'}`;
  };
  const uncounted = findings.filter((found) => !found.counts_for_verdict).length;
  return `${verdict}: ${count('fault')}, ${count('note')}${uncounted > 0 ? `; ${uncounted} not counted` : ''}`;
}

const escaped = (value) =>
  String(value)
    .replace(
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      '?',
    )
    .replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]);

function junit(report) {
  const { findings, not_judged: notJudged, hook } = report;
  const bad = findings.filter((found) => found.counts_for_verdict);
  const failing =
    report.exit === 1 ? bad.filter(({ severity }) => severity === 'fault' || report.verdict === 'note') : [];
  const cases = bad.map((found) => {
    const body = failing.includes(found)
      ? `<failure message="${escaped(found.message)}" type="${found.kind}">${escaped(findingText(found, report).join('\n'))}</failure>`
      : `<system-out>${escaped(findingText(found, report).join('\n'))}</system-out>`;
    return `    <testcase classname="${escaped(titleOf(report))}" name="${escaped(`${found.kind} ${found.place ?? ''}`.trim())}" file="${escaped(found.line?.file ?? hook.file ?? '')}">${body}</testcase>`;
  });
  if (notJudged)
    cases.push(
      `    <testcase classname="${escaped(titleOf(report))}" name="judged"><error message="${escaped(notJudged.message)}" type="${notJudged.reason}"/></testcase>`,
    );
  if (cases.length === 0) cases.push(`    <testcase classname="${escaped(titleOf(report))}" name="clean"/>`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="check-hook" tests="${cases.length}" failures="${failing.length}" errors="${notJudged ? 1 : 0}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function sarif(report) {
  const { findings, hook, tool, not_judged: notJudged } = report;
  const results = findings.map((found) => ({
    ruleId: found.kind,
    level: found.severity === 'fault' ? 'error' : 'note',
    message: { text: `${found.message}. Instead: ${found.remedy}.` },
    locations: location(found, hook),
    partialFingerprints: { 'agentcore/v1': found.fingerprint },
    ...(found.suppressed
      ? { suppressions: [{ kind: 'inSource', justification: found.suppressed.reason }] }
      : {}),
  }));
  const rules = [...new Set(findings.map(({ kind }) => kind))].map((id) => ({ id }));
  const notifications = notJudged
    ? [{ level: 'error', message: { text: notJudged.message }, descriptor: { id: notJudged.reason } }]
    : [];
  const run = {
    tool: { driver: { name: tool.name, version: tool.version, rules } },
    results,
    invocations: [
      { executionSuccessful: !notJudged, exitCode: report.exit, toolExecutionNotifications: notifications },
    ],
  };
  return `${JSON.stringify({ $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] }, null, 2)}\n`;
}

function location({ line }, hook) {
  if (!line && !hook.file) return [];
  const region = line
    ? { region: { startLine: line.line, ...(line.column ? { startColumn: line.column } : {}) } }
    : {};
  return [
    {
      physicalLocation: {
        artifactLocation: { uri: (line?.file ?? hook.file).replaceAll('\\', '/') },
        ...region,
      },
    },
  ];
}
