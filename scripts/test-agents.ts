import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { CONTRACT } from '../src/domain/agents/contract.ts'
import { ROOT } from './places.ts'
import { againAlone } from './testing/again-alone.ts'
import { installPrograms, missingPrograms } from './testing/agents/install.ts'
import { fallen, readTally, tallyTable, unseen } from './testing/agents/tally.ts'
import { groupTests } from './testing/groups.ts'
import { type GroupOutcome, runGroup } from './testing/run-group.ts'
import { selectTests } from './testing/select.ts'
import { isGreen, tell, tellTotals } from './testing/told.ts'

// npm run test:agents [-- words]: other vendors' programs against the simulator. They are installed on first use into
// test/agents/node_modules, exactly as test/agents/package-lock.json says. Files run one after the other, because each
// runs two agents at a time by itself. Red when a test fails, when a process is left behind, and when fewer points of the
// contract hold for an agent than test/agents/asserted.json says. --again-alone as in npm test.

const INTERRUPTED = 130
const folder = join(ROOT, 'test/agents')
const AGAIN = '--again-alone'
const given = process.argv.slice(2)
const words = given.filter(word => word !== AGAIN)
const { files, flags } = selectTests(ROOT, words, { live: true })
if (files.length === 0) {
  process.stderr.write('No live test matches. Give a part of its path, for example: npm run test:agents -- gemini\n')
  process.exit(2)
}

const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort())

const missing = missingPrograms(folder)
if (missing.length > 0) {
  process.stdout.write(`Installing ${missing.join(', ')} …\n`)
  if (!(await installPrograms(folder, interrupt.signal))) {
    process.stderr.write('The programs could not be installed: see above what npm said, then run this again.\n')
    process.exit(1)
  }
}

const notes = mkdtempSync(join(tmpdir(), 'pcc-tally-'))
process.env['PCC_AGENT_TALLY'] = join(notes, 'tally.jsonl')
const started = performance.now()
let outcomes: GroupOutcome[] = []
for (const group of groupTests(files)) {
  if (interrupt.signal.aborted) break
  const outcome = await runGroup(group, flags, interrupt.signal)
  outcomes.push(outcome)
  process.stdout.write(tell(outcome))
}
if (given.includes(AGAIN)) {
  const tell = (text: string) => process.stdout.write(text)
  outcomes = await againAlone(outcomes, { flags, signal: interrupt.signal, tell })
}
const tallies = readTally(join(notes, 'tally.jsonl'))
rmSync(notes, { recursive: true, force: true })
const floor = JSON.parse(readFileSync(join(folder, 'asserted.json'), 'utf8')) as Record<string, number>
const all = words.length === 0
const below = [...fallen(tallies, floor, { all }), ...(all ? unseen(tallies, Object.keys(CONTRACT)) : [])]
process.stdout.write(`\n${tallyTable(tallies, floor)}\n`)
for (const problem of below) process.stdout.write(styleText('red', `✖ ${problem}\n`))
process.stdout.write(tellTotals(outcomes, performance.now() - started))
process.exitCode = interrupt.signal.aborted ? INTERRUPTED : outcomes.every(isGreen) && below.length === 0 ? 0 : 1
