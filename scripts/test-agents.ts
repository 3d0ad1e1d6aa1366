import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { CONTRACT } from '../src/domain/agent-manifest.ts'
import { ROOT } from './places.ts'
import { againAlone } from './testing/again-alone.ts'
import { installPrograms, missingPrograms } from './testing/agents/install.ts'
import { fallen, readTally, tallyTable, unseen } from './testing/agents/tally.ts'
import { groupTests } from './testing/groups.ts'
import { builtProgram } from './testing/program.ts'
import { type GroupOutcome, runGroup } from './testing/run-group.ts'
import { selectTests } from './testing/select.ts'
import { isGreen, tell, tellTotals } from './testing/told.ts'

// npm run test:agents [-- words]: other vendors' programs against the simulator. They are installed on first use into
// test/agents/node_modules, exactly as test/agents/package-lock.json says; --install does that and no more. Red when a test
// fails, when a process is left behind, and when fewer points of the contract hold for an agent than
// test/agents/asserted.json says. --again-alone and --from-source as in npm test.

const INTERRUPTED = 130
/** Files at work. Most of them run two agents at a time by themselves, and an agent waits for half of the time. */
const AT_WORK = availableParallelism()
/** What takes long starts first, so that no processor idles at the end. */
const SLOW_FIRST = ['opencode', 'claude-tmux', 'claude-acp', 'runs/', 'gemini', 'together/failover', 'project-code']
const folder = join(ROOT, 'test/agents')
const OWN = ['--again-alone', '--from-source', '--install']
const given = process.argv.slice(2)
const words = given.filter(word => !OWN.includes(word))
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

if (given.includes('--install')) process.exit(0)

const program = given.includes('--from-source') ? undefined : builtProgram(ROOT)
if (program) process.env['PCC_TEST_PROGRAM'] = program
else delete process.env['PCC_TEST_PROGRAM']
const notes = mkdtempSync(join(tmpdir(), 'pcc-tally-'))
process.env['PCC_AGENT_TALLY'] = join(notes, 'tally.jsonl')
const started = performance.now()
let outcomes: GroupOutcome[] = []
const waiting = groupTests(files).toSorted((a, b) => rank(a.name) - rank(b.name))
await Promise.all(Array.from({ length: AT_WORK }, drain))
if (given.includes('--again-alone')) {
  const tell = (text: string) => process.stdout.write(text)
  outcomes = await againAlone(outcomes, { flags, signal: interrupt.signal, tell })
}
const tallies = readTally(join(notes, 'tally.jsonl'))
rmSync(notes, { recursive: true, force: true })
const supervisor = JSON.parse(readFileSync(join(folder, 'asserted.json'), 'utf8')) as Record<string, number>
const all = words.length === 0
const below = [...fallen(tallies, supervisor, { all }), ...(all ? unseen(tallies, Object.keys(CONTRACT)) : [])]
process.stdout.write(`\n${tallyTable(tallies, supervisor)}\n`)
for (const problem of below) process.stdout.write(styleText('red', `✖ ${problem}\n`))
process.stdout.write(tellTotals(outcomes, performance.now() - started))
process.exitCode = interrupt.signal.aborted ? INTERRUPTED : outcomes.every(isGreen) && below.length === 0 ? 0 : 1

async function drain(): Promise<void> {
  for (let group = waiting.shift(); group && !interrupt.signal.aborted; group = waiting.shift()) {
    const outcome = await runGroup(group, flags, interrupt.signal)
    outcomes.push(outcome)
    process.stdout.write(tell(outcome))
  }
}

function rank(name: string): number {
  const at = SLOW_FIRST.findIndex(part => name.includes(`/${part}`))
  return at === -1 ? SLOW_FIRST.length : at
}
