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
// test/agents/node_modules, exactly as in test/agents/package-lock.json; --install does only that. The run fails if a test
// fails, if a process is left behind, or if an agent keeps fewer points of the contract than
// test/agents/asserted.json says. --again-alone and --from-source work as in npm test.

const INTERRUPTED = 130
/** How many files run at once. Most of them run two agents at a time, and an agent waits half of the time. */
const AT_WORK = availableParallelism()
/** Slow files start first, so that no core idles at the end. */
const SLOW_FIRST = [
  'opencode',
  'copilot',
  'claude-tmux',
  'claude-acp',
  'runs/',
  'gemini',
  'together/failover',
  'project-code',
]
const folder = join(ROOT, 'test/agents')
const OWN = ['--again-alone', '--from-source', '--install']
const args = process.argv.slice(2)
const words = args.filter(word => !OWN.includes(word))
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
    process.stderr.write('The programs could not be installed. See the output of npm above, then run this again.\n')
    process.exit(1)
  }
}

if (args.includes('--install')) process.exit(0)

const program = args.includes('--from-source') ? undefined : builtProgram(ROOT)
if (program) process.env['PCC_TEST_PROGRAM'] = program
else delete process.env['PCC_TEST_PROGRAM']
const notes = mkdtempSync(join(tmpdir(), 'pcc-tally-'))
process.env['PCC_AGENT_TALLY'] = join(notes, 'tally.jsonl')
const started = performance.now()
let outcomes: GroupOutcome[] = []
const waiting = groupTests(files).toSorted((a, b) => rank(a.name) - rank(b.name))
await Promise.all(Array.from({ length: AT_WORK }, drain))
if (args.includes('--again-alone')) {
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
