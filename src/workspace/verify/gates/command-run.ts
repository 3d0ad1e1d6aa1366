import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { type CommandOutcome, type ProjectCommandRun, type Runner, runCommand } from '../../command/run-command.ts'
import type { GateCommand } from '../gate-settings.ts'
import { openTestReader, type ReadTests } from '../tests/read-tests.ts'
import { failedAlone, PYTEST_TELLS, retriesOf } from '../tests/retry-alone.ts'
import { BELOW } from '../tests/test-parser.ts'

export interface GateRun extends Omit<ProjectCommandRun, 'onLine'> {
  gate: GateCommand
}

/** How a gate's command ended, with its tests where a runner told of them. */
export interface CommandRan extends CommandOutcome {
  tests: TestResult[] | null
  /** What failed at first and passed alone; `tests` says so too. */
  flaky: string[]
  /** Everything that failed was flaky. */
  isOnlyFlaky: boolean
}

/** Runs a command once; tests that fail are run once more without the others. */
export async function runGateCommand(run: GateRun, runner: Runner): Promise<CommandRan> {
  if (run.gate !== 'test') return { ...(await runCommand(run, runner)), tests: null, flaky: [], isOnlyFlaky: false }
  const { outcome, read } = await readRun(run, runner)
  if (!read) return { ...outcome, tests: null, flaky: [], isOnlyFlaky: false }
  const failed = outcome.end === 'exited' && outcome.exit !== 0 ? failedAlone(read.tests) : []
  const again = failed.length > 0 ? await retried(run, { failed, read, runner }) : undefined
  if (!again) return { ...outcome, tests: read.tests, flaky: [], isOnlyFlaky: false }
  const flaky = failed.filter(name => again.passed.has(name))
  const isOnlyFlaky = flaky.length === failed.length && again.isGreen
  return {
    ...outcome,
    durationMs: outcome.durationMs + again.durationMs,
    tests: read.tests.map(test => ({ ...test, status: statusAfter(test, flaky, isOnlyFlaky) })),
    flaky,
    isOnlyFlaky,
  }
}

async function readRun(
  run: GateRun,
  runner: Runner,
): Promise<{ outcome: CommandOutcome; read: ReadTests | undefined }> {
  const reader = openTestReader()
  const env = { PYTEST_ADDOPTS: PYTEST_TELLS, ...run.env }
  const outcome = await runCommand({ ...run, env, onLine: reader.line }, runner)
  const isWhole = outcome.end === 'exited' && !outcome.isTooLong
  return { outcome, read: isWhole ? reader.end() : undefined }
}

interface Retrying {
  failed: readonly string[]
  read: ReadTests
  runner: Runner
}

/** Which of them pass alone; undefined where nobody knows how to run them alone, or the runner does not tell of them. */
async function retried(run: GateRun, { failed, read, runner }: Retrying) {
  const [kind, ...others] = read.runners
  if (kind === undefined || others.length > 0) return undefined
  for (const retry of retriesOf(kind, run.command, failed)) {
    if (run.signal.aborted) return undefined
    const again = await readRun({ ...run, command: retry.command, env: { ...run.env, ...retry.env } }, runner)
    const status = new Map(again.read?.tests.map(test => [test.name, test.status]))
    if (!failed.every(name => status.has(name))) continue
    const passed = new Set(failed.filter(name => status.get(name) === 'passed'))
    return { passed, isGreen: again.outcome.exit === 0, durationMs: again.outcome.durationMs }
  }
  return undefined
}

/** A group or a file that failed only because of what is flaky in it is flaky too. */
function statusAfter(
  { name, status }: TestResult,
  flaky: readonly string[],
  isOnlyFlaky: boolean,
): TestResult['status'] {
  if (status !== 'failed') return status
  if (flaky.includes(name)) return 'flaky'
  return isOnlyFlaky && flaky.some(each => each.startsWith(`${name}${BELOW}`)) ? 'flaky' : 'failed'
}
