import { type Clock, DAY_MS, systemClock } from '../../base/clock.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import type { Finding, GateStatus, TestResult } from '../../domain/evidence.ts'
import type { GateCommand } from '../../domain/option-values.ts'
import type { Store } from '../../store/store.ts'
import type { OpenCommandSandbox } from '../command/plan-sandbox.ts'
import {
  type CommandOutcome,
  type CommandRunner,
  commandEnvironment,
  type ProjectCommandRun,
  runCommand,
} from '../command/run-command.ts'
import { type GateSettings, PROFILES } from './gate-settings.ts'
import { openTestReader, type ReadTests } from './read-test-output.ts'
import { type GateCheck, gateCheck } from './request.ts'
import { resultKey } from './result-key.ts'
import { NAME_SEPARATOR, PYTEST_REPORT_OPTIONS, retryableFailures, retryCommands } from './test-results.ts'
import type { Disturbance } from './tree-watch.ts'

export interface CommandGate extends GateRun {
  /** Null without git: then no result is cached. */
  tree: string | null
  inside: string
  /** Whether a cached green result may be used. */
  cache: boolean
}

export interface CommandGateDeps {
  /** The cache of green results; undefined if none are cached. */
  store: Pick<Store, 'gateResults'> | undefined
  clock: Clock
  runner: CommandRunner
  /** Reports and undoes what a command did to the tree; undefined if there is no git. */
  keeper: ((gate: string) => Promise<Disturbance>) | undefined
}

/** How long a result is valid: it may depend on things that the key cannot name (a network, a clock). */
const KEPT_MS = 14 * DAY_MS

/** Runs the command of a gate, unless it was green on the same tree before. Green means exit code 0 in time, and nothing else. */
export async function commandGate(gate: CommandGate, deps: CommandGateDeps): Promise<GateCheck> {
  const began = performance.now()
  const { store } = deps
  const key = gate.tree === null || !store ? undefined : resultKey({ ...gate, tree: gate.tree, purpose: 'gate' })
  const cached = key !== undefined && gate.cache ? await store?.gateResults.get(key) : undefined
  if (cached && cached.exit === 0 && cached.created_at > deps.clock.now() - KEPT_MS) {
    const { command, exit, output, tests } = cached
    const duration_ms = Math.round(performance.now() - began)
    return gateCheck({ ...namedGate(gate), status: 'passed', command, exit, duration_ms, output, tests, cached: true })
  }
  const ran = await runGateCommand(gate, deps.runner)
  const after = (await deps.keeper?.(gate.gate)) ?? { findings: [], made: [], isLost: false }
  const findings = [...commandFindings(gate, ran), ...flakyByFiles(ran, after), ...disturbanceFindings(gate, after)]
  const status = after.isLost ? 'broken' : statusOf(ran, findings)
  // Neither red nor flaky results are cached, nor those of a command that changed the tree.
  if (key !== undefined && gate.tree !== null && status === 'passed' && ran.exit === 0 && after.findings.length === 0) {
    const created_at = deps.clock.now()
    await store?.gateResults.prune(created_at - KEPT_MS)
    const { output, tests, durationMs: duration_ms } = ran
    await store?.gateResults.put({
      key,
      tree: gate.tree,
      command: gate.command,
      exit: 0,
      duration_ms,
      output,
      tests,
      created_at,
    })
  }
  return gateCheck({
    ...namedGate(gate),
    ...{ status, command: gate.command, exit: ran.exit, duration_ms: ran.durationMs, output: ran.output },
    ...{ findings, tests: ran.tests },
  })
}

const namedGate = ({ gate }: CommandGate) => ({ gate, kind: 'command' as const })

/** A command that could not be started, and a missing program (127, 126), say nothing about the work. */
function statusOf({ end, exit, isOnlyFlaky }: GateCommandResult, findings: readonly Finding[]): GateStatus {
  if (end === 'not_started' || end === 'aborted' || exit === 127 || exit === 126) return 'broken'
  if (findings.some(({ weight }) => weight === 'block')) return 'failed'
  return isOnlyFlaky ? 'flaky' : 'passed'
}

function commandFindings(gate: CommandGate, ran: GateCommandResult): Finding[] {
  const flaky = ran.flaky.map(
    (name): Finding => ({ code: 'test.flaky', weight: 'note', text: `Failed, and passed when it ran alone: ${name}` }),
  )
  if (ran.isOnlyFlaky) return flaky
  const failed = (ran.tests ?? []).filter(({ status }) => status === 'failed')
  const tests = failed
    .slice(0, MAX_NAMED_TESTS)
    .map(({ name }): Finding => ({ code: 'test.failing', weight: 'block', text: `This test fails: ${name}` }))
  return [...endFindings(gate, ran), ...tests, ...flaky]
}

const MAX_NAMED_TESTS = 20

/** A test that passes alone only where its first run had left or changed files proves nothing: a fresh checkout does not have them. */
function flakyByFiles({ isOnlyFlaky }: GateCommandResult, { made, findings }: Disturbance): Finding[] {
  if (!isOnlyFlaky || (made.length === 0 && findings.length === 0)) return []
  const what = made.length > 0 ? `left files behind: ${made.slice(0, 5).join(', ')}` : 'changed files of the repository'
  const text = `Tests failed and then passed alone, but the run in which they failed had ${what}. They have to pass in a fresh checkout.`
  return [{ code: 'test.flaky', weight: 'block', text }]
}

function endFindings(
  { gate, command, timeoutMs }: CommandGate,
  { end, exit, killedBy, cap }: GateCommandResult,
): Finding[] {
  const block = (code: string, text: string): Finding[] => [{ code, weight: 'block', text: `${name} ${text}` }]
  const name = `The command of ${gate} (${command})`
  switch (end) {
    case 'exited':
      if (exit === 0) return []
      if (exit === 127 || exit === 126)
        return block('gate.broken', `could not be run: a program is missing (exit ${exit}).`)
      return block(`${gate}.failed`, `failed with exit code ${exit}.`)
    case 'killed':
      return block(`${gate}.killed`, `was killed by ${killedBy}.`)
    case 'timed_out':
      return block(`${gate}.timed_out`, `did not end within ${timeoutMs / 1000} s.`)
    case 'capped':
      return block(`${gate}.capped`, `was ended: it ${cap?.text}.`)
    case 'aborted':
      return block('gate.aborted', 'was cancelled.')
    case 'not_started':
      return block('gate.broken', 'could not be started.')
  }
}

/**
 * A build may change files of the repository; a check that fixes what it finds says nothing about the tree that it was to check.
 * New files are reported, so that an agent can commit those that belong there.
 */
function disturbanceFindings({ gate, command }: CommandGate, { findings, made }: Disturbance): Finding[] {
  const adjusted = findings.map(finding => {
    if (finding.code !== 'gate.changed_files') return finding
    if (gate === 'build') return { ...finding, weight: 'note' as const }
    return { ...finding, text: `${finding.text} Run \`${command}\` yourself and commit what it changes.` }
  })
  if (made.length === 0) return adjusted
  const rest = made.length > 5 ? ` and ${made.length - 5} more` : ''
  const text = `The command of ${gate} made files that are neither ignored nor committed: ${made.slice(0, 5).join(', ')}${rest}.`
  return [...adjusted, { code: 'gate.made_files', weight: 'note', text }]
}

export interface GateRun extends Omit<ProjectCommandRun, 'onLine'> {
  gate: GateCommand
  /** Whether the work is in the project itself and not in a worktree. */
  isInPlace: boolean
}

/** How a gate's command ended, with its tests where the runner lists them. */
interface GateCommandResult extends CommandOutcome {
  tests: TestResult[] | null
  /** Tests that failed at first and passed alone; `tests` marks them too. */
  flaky: string[]
  /** Everything that failed was flaky. */
  isOnlyFlaky: boolean
}

/** Runs a command once; failed tests are run once more without the others. */
export async function runGateCommand(run: GateRun, runner: CommandRunner): Promise<GateCommandResult> {
  if (run.gate !== 'test') return { ...(await runCommand(run, runner)), tests: null, flaky: [], isOnlyFlaky: false }
  const { outcome, read } = await runAndReadTests(run, runner)
  if (!read) return { ...outcome, tests: null, flaky: [], isOnlyFlaky: false }
  const failed = outcome.end === 'exited' && outcome.exit !== 0 ? retryableFailures(read.tests) : []
  const again = failed.length > 0 ? await retryFailedTests(run, { failed, read, runner }) : undefined
  if (!again) return { ...outcome, tests: read.tests, flaky: [], isOnlyFlaky: false }
  const flaky = failed.filter(name => again.passed.has(name))
  const isOnlyFlaky = flaky.length === failed.length && again.isGreen
  return {
    ...outcome,
    durationMs: outcome.durationMs + again.durationMs,
    tests: read.tests.map(test => ({ ...test, status: statusAfterRetry(test, flaky, isOnlyFlaky) })),
    flaky,
    isOnlyFlaky,
  }
}

async function runAndReadTests(
  run: GateRun,
  runner: CommandRunner,
): Promise<{ outcome: CommandOutcome; read: ReadTests | undefined }> {
  const reader = openTestReader()
  const env = { PYTEST_ADDOPTS: PYTEST_REPORT_OPTIONS, ...run.env }
  const outcome = await runCommand({ ...run, env, onLine: reader.line }, runner)
  const isComplete = outcome.end === 'exited' && !outcome.isTooLong
  return { outcome, read: isComplete ? reader.end() : undefined }
}

interface RetryContext {
  failed: readonly string[]
  read: ReadTests
  runner: CommandRunner
}

/** Which failed tests pass alone; undefined if they cannot be run alone, or the runner does not list them. */
async function retryFailedTests(run: GateRun, { failed, read, runner }: RetryContext) {
  const [kind, ...others] = read.runners
  if (kind === undefined || others.length > 0) return undefined
  for (const retry of retryCommands(kind, run.command, failed)) {
    if (run.signal.aborted) return undefined
    const again = await runAndReadTests({ ...run, command: retry.command, env: { ...run.env, ...retry.env } }, runner)
    const status = new Map(again.read?.tests.map(test => [test.name, test.status]))
    if (!failed.every(name => status.has(name))) continue
    const passed = new Set(failed.filter(name => status.get(name) === 'passed'))
    return { passed, isGreen: again.outcome.exit === 0, durationMs: again.outcome.durationMs }
  }
  return undefined
}

/** A group or a file that failed only because of its flaky tests is flaky too. */
function statusAfterRetry(
  { name, status }: TestResult,
  flaky: readonly string[],
  isOnlyFlaky: boolean,
): TestResult['status'] {
  if (status !== 'failed') return status
  if (flaky.includes(name)) return 'flaky'
  return isOnlyFlaky && flaky.some(test => test.startsWith(`${name}${NAME_SEPARATOR}`)) ? 'flaky' : 'failed'
}

export interface TryGatesRequest {
  directory: string
  gates: GateSettings
  /** Only these gates; all of the profile where the list is empty. */
  only: readonly GateCommand[]
  env: Record<string, string | undefined>
  isolation?: Isolation | undefined
  sandbox?: OpenCommandSandbox | undefined
  signal: AbortSignal
  onBegin(gate: GateCommand, command: string): void
  onEnd(seen: GateCheck): void
}

/**
 * Runs the gate commands in the directory where a person works, to try them out. Nothing is committed or restored, the cache is
 * neither read nor written, and no task is completed by it. No marker is recorded either: a daemon that starts would end the
 * commands that it finds recorded.
 */
export async function tryGates(wanted: TryGatesRequest): Promise<GateCheck[]> {
  const { directory, gates, only, signal, isolation } = wanted
  const runner = { guard: openGuard(), isolation, sandbox: wanted.sandbox, caps: gates.caps }
  const env = commandEnvironment(wanted.env, gates.env)
  const seen: GateCheck[] = []
  for (const gate of only.length > 0 ? only : PROFILES[gates.profile].commands) {
    const command = gates.commands[gate]
    if (command === undefined || signal.aborted) continue
    wanted.onBegin(gate, command)
    const run = {
      gate,
      command,
      directory,
      env,
      timeoutMs: gates.timeoutMs,
      signal,
      isInPlace: true,
      tree: null,
      inside: '',
      cache: false,
    }
    const check = await commandGate(run, { store: undefined, clock: systemClock, runner, keeper: undefined })
    seen.push(check)
    wanted.onEnd(check)
  }
  return seen
}
