import { styleText } from 'node:util'
import { hookTranslator } from '../src/agents/hooks/vendors.ts'
import { messageOf } from '../src/base/errors.ts'
import { parseJson } from '../src/base/json.ts'
import { NO_OPINION } from '../src/domain/hooks.ts'
import { DOCUMENTED, type DocumentedEvent, RECORDED_RUNS, type RecordedRun } from '../test/agents/hooks/cases.ts'
import { type CaseNotes, normalise, PROJECT, writeFixture } from '../test/agents/hooks/fixtures.ts'
import { type Played, play } from '../test/agents/hooks/play.ts'

// npm run hooks:record [-- vendor …]: runs the real programs against the simulator, checks that each answer did what it should, and writes
// what their hooks got to test/agents/hooks/fixtures. They are installed by npm run test:agents -- --install.

const wanted = process.argv.slice(2)
const runs = RECORDED_RUNS.filter(({ vendor }) => wanted.length === 0 || wanted.includes(vendor))
let failed = 0
for (const run of runs) {
  const name = `${run.vendor}: ${Object.entries(run.keep)
    .map(pair => pair.join(' '))
    .join(', ')}`
  const problems = await record(run)
  for (const problem of problems) process.stdout.write(styleText('red', `✖ ${name}: ${problem}\n`))
  if (problems.length === 0) process.stdout.write(`✔ ${name}\n`)
  failed += problems.length
}
for (const event of DOCUMENTED) writeDown(event)
process.exitCode = failed === 0 ? 0 : 1

async function record(run: RecordedRun): Promise<string[]> {
  const turns = run.turns ?? [{ text: 'I do it.', tools: [run.tool] }, { text: 'Done.' }]
  try {
    const played = await play({ ...run, turns })
    return [
      ...checkEffects(run, played),
      ...Object.entries(run.keep).flatMap(([native, name]) => keep(run, played, { native, name })),
    ]
  } catch (error) {
    return [messageOf(error)]
  }
}

/** Writes the fixture of an event that is known from documentation only. */
function writeDown({ vendor, native, name, stdin }: DocumentedEvent): void {
  const { manifest, read, render } = hookTranslator(vendor)
  const event = read(native, stdin, PROJECT)
  if (!event) throw new Error(`${vendor} ${native} could not be read`)
  const notes: CaseNotes = {
    notes: "Written after the vendor's documentation.",
    source: 'docs',
    version: manifest.verified.versions.at(-1) ?? '',
    answer: NO_OPINION,
  }
  const { stdout, exit } = render(event, NO_OPINION)
  const expected = { event, output: { stdout: parseJson(stdout) ?? '', exit } }
  writeFixture(`${vendor}/${native}/${name}`, { 'case.json': notes, 'stdin.json': stdin, 'expected.json': expected })
}

function checkEffects({ ran, told = [] }: RecordedRun, played: Played): string[] {
  return [
    ...(ran !== undefined && ran !== played.ran ? [`the call ${played.ran ? 'ran' : 'did not run'}`] : []),
    ...told.filter(text => !played.told.includes(text)).map(text => `the model was not told: ${text}`),
  ]
}

function keep(run: RecordedRun, played: Played, { native, name }: { native: string; name: string }): string[] {
  const { manifest, read, render } = hookTranslator(run.vendor)
  const heard = played.heard.find(one => one.native === native)
  if (!heard) return [`${native} did not run`]
  const stdin = normalise(heard.stdin, played.root)
  const answer = { ...NO_OPINION, ...run.says[native] }
  const event = read(native, stdin, PROJECT)
  if (!event) return [`${native} could not be read: ${heard.stdin.slice(0, 500)}`]
  const { stdout, stderr, exit } = render(event, answer)
  if (exit !== heard.exit || stderr !== heard.stderr) return [`${native} was answered in another way than it is now`]
  const notes: CaseNotes = {
    notes: run.notes,
    source: 'recorded',
    version: manifest.verified.versions.at(-1) ?? '',
    answer,
  }
  const expected = { event, output: { stdout: parseJson(stdout) ?? '', exit } }
  writeFixture(`${run.vendor}/${native}/${name}`, {
    ...{ 'case.json': notes, 'stdin.json': stdin, 'expected.json': expected },
    ...(stderr !== '' && { stderr }),
  })
  return []
}
