import { availableParallelism } from 'node:os'
import { againAlone } from './testing/again-alone.ts'
import { namesCommit, type Touched, touchedTests } from './testing/changed.ts'
import { groupTests, type TestGroup } from './testing/groups.ts'
import { profileOf } from './testing/profile.ts'
import { builtProgram } from './testing/program.ts'
import { type GroupOutcome, runGroup } from './testing/run-group.ts'
import { selectTests } from './testing/select.ts'
import { isGreen, tell, tellTotals } from './testing/told.ts'

// npm test [-- words]: a word is a folder, a file or a part of a path. Words that begin with a dash are passed to node, except
// --profile, which prints where the time went, --again-alone, which runs failed files once more by themselves, --from-source,
// which starts every pcc from its source instead of a bundle, and --changed [commit], which runs the tests that a change since
// that commit can affect. A process that outlives its test file fails the run.

/** A test with a real agent is several processes; more than two tests per core only make all of them slower. */
const AT_WORK = 2 * availableParallelism()
/** In addition, files that wait nearly all of the time. */
const WAITING = 2
const INTERRUPTED = 130

const OWN = ['--profile', '--again-alone', '--from-source']

const words = process.argv.slice(2)
const root = process.cwd()
const since = takeChanged(words)
const { files, flags } = selectTests(
  root,
  words.filter(word => !OWN.includes(word)),
)
if (files.length === 0) {
  process.stderr.write(
    'No test file matches. Give a folder, a file or a part of a path, for example: npm test -- store\n',
  )
  process.exit(2)
}
const groups = since === undefined ? groupTests(files) : groupTouched(touchedTests(root, files, since))

const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort())

const program = words.includes('--from-source') ? undefined : builtProgram(root)
if (program) process.env['PCC_TEST_PROGRAM'] = program
else delete process.env['PCC_TEST_PROGRAM']
const started = performance.now()
const { true: waiters = [], false: workers = [] } = Object.groupBy(groups, ({ waits }) => `${waits}` as const)
let outcomes: GroupOutcome[] = []
await Promise.all([
  ...Array.from({ length: WAITING }, () => drain(waiters, workers)),
  ...Array.from({ length: AT_WORK }, () => drain(workers, waiters)),
])
if (words.includes('--again-alone')) {
  const tell = (text: string) => process.stdout.write(text)
  outcomes = await againAlone(outcomes, { flags, signal: interrupt.signal, tell })
}
process.stdout.write(tellTotals(outcomes, performance.now() - started))
if (words.includes('--profile')) process.stdout.write(profileOf(outcomes))
process.exitCode = interrupt.signal.aborted ? INTERRUPTED : outcomes.every(isGreen) ? 0 : 1

/** Runs the groups of the first list, then those of the other. */
async function drain(first: TestGroup[], then: TestGroup[]): Promise<void> {
  const next = () => (interrupt.signal.aborted ? undefined : (first.shift() ?? then.shift()))
  for (let group = next(); group; group = next()) {
    const outcome = await runGroup(group, flags, interrupt.signal)
    outcomes.push(outcome)
    process.stdout.write(tell(outcome))
  }
}

/** Removes `--changed` and the commit after it from the words; without a commit it means the last one. */
function takeChanged(words: string[]): string | undefined {
  const at = words.indexOf('--changed')
  if (at === -1) return undefined
  const next = words[at + 1]
  const isCommit = next !== undefined && !next.startsWith('-') && namesCommit(root, next)
  words.splice(at, isCommit ? 2 : 1)
  return isCommit ? next : 'HEAD'
}

/** Tests nearest to the change run first, so that failures show early. */
function groupTouched({ files, told }: Touched): TestGroup[] {
  process.stdout.write(`${told}\n`)
  return groupTests(files, 'as given')
}
