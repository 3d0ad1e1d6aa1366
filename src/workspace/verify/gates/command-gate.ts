import type { Clock } from '../../../base/clock.ts'
import type { Finding, GateStatus } from '../../../domain/workspace/evidence.ts'
import type { Store } from '../../../store/store.ts'
import type { Runner } from '../../command/run-command.ts'
import { resultKey } from '../cache/result-key.ts'
import type { Disturbance } from '../tree/keeper.ts'
import { type CommandRan, type GateRun, runGateCommand } from './command-run.ts'
import { type Seen, seen } from './seen.ts'

export interface CommandGate extends GateRun {
  /** Null where nothing has a name: then nothing is kept. */
  tree: string | null
  inside: string
  /** Whether a green result that is there already will do. */
  cache: boolean
}

export interface CommandGateParts {
  /** Where green results are kept; undefined where none are. */
  store: Pick<Store, 'gateResults'> | undefined
  clock: Clock
  runner: Runner
  /** Looks at what a command did to the tree; undefined where there is no git. */
  keeper: ((gate: string) => Promise<Disturbance>) | undefined
}

/** How long a result counts: what it depends on and nobody can name (a network, a clock) moves on. */
const KEPT_MS = 14 * 86_400_000

/** Runs the command of a gate, unless it was green on the same tree before: green is an exit with 0 in time and nothing else. */
export async function commandGate(gate: CommandGate, parts: CommandGateParts): Promise<Seen> {
  const began = performance.now()
  const { store } = parts
  const key = gate.tree === null || !store ? undefined : resultKey({ ...gate, tree: gate.tree, purpose: 'gate' })
  const known = key !== undefined && gate.cache ? await store?.gateResults.get(key) : undefined
  if (known && known.exit === 0 && known.created_at > parts.clock.now() - KEPT_MS) {
    const { command, exit, output, tests } = known
    const duration_ms = Math.round(performance.now() - began)
    return seen({ ...NAMED(gate), status: 'passed', command, exit, duration_ms, output, tests, cached: true })
  }
  const ran = await runGateCommand(gate, parts.runner)
  const after = (await parts.keeper?.(gate.gate)) ?? { findings: [], made: [], isLost: false }
  const findings = [...findingsOf(gate, ran), ...disturbed(gate, after)]
  const status = after.isLost ? 'broken' : statusOf(ran, findings)
  // Red is never kept, nor what is only green at times, nor what did not leave the tree alone.
  if (key !== undefined && gate.tree !== null && status === 'passed' && ran.exit === 0 && after.findings.length === 0) {
    const created_at = parts.clock.now()
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
  return seen({
    ...NAMED(gate),
    ...{ status, command: gate.command, exit: ran.exit, duration_ms: ran.durationMs, output: ran.output },
    ...{ findings, tests: ran.tests },
  })
}

const NAMED = ({ gate }: CommandGate) => ({ gate, kind: 'command' as const })

/** What could not be started, and a program that is not there (127, 126), say nothing about the work. */
function statusOf({ end, exit, isOnlyFlaky }: CommandRan, findings: readonly Finding[]): GateStatus {
  if (end === 'not_started' || end === 'aborted' || exit === 127 || exit === 126) return 'broken'
  if (findings.some(({ weight }) => weight === 'block')) return 'failed'
  return isOnlyFlaky ? 'flaky' : 'passed'
}

function findingsOf(gate: CommandGate, ran: CommandRan): Finding[] {
  const flaky = ran.flaky.map(
    (name): Finding => ({ code: 'test.flaky', weight: 'note', text: `Failed, and passed when it ran alone: ${name}` }),
  )
  if (ran.isOnlyFlaky) return flaky
  const failed = (ran.tests ?? []).filter(({ status }) => status === 'failed')
  const tests = failed
    .slice(0, MOST_TOLD)
    .map(({ name }): Finding => ({ code: 'test.failing', weight: 'block', text: `This test fails: ${name}` }))
  return [...endOf(gate, ran), ...tests, ...flaky]
}

const MOST_TOLD = 20

function endOf({ gate, command, timeoutMs }: CommandGate, { end, exit, killedBy }: CommandRan): Finding[] {
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
      return block(`${gate}.timed_out`, `was not over after ${timeoutMs / 1000} s.`)
    case 'aborted':
      return block('gate.aborted', 'was called off.')
    case 'not_started':
      return block('gate.broken', 'could not be started.')
  }
}

/**
 * A build may write what is in the repository; a check that mends what it finds says nothing about the tree that it was to look
 * at. What it made besides is told, so that an agent can commit what belongs there.
 */
function disturbed({ gate, command }: CommandGate, { findings, made }: Disturbance): Finding[] {
  const told = findings.map(finding => {
    if (finding.code !== 'gate.changed_files') return finding
    if (gate === 'build') return { ...finding, weight: 'note' as const }
    return { ...finding, text: `${finding.text} Run \`${command}\` yourself and commit what it changes.` }
  })
  if (made.length === 0) return told
  const rest = made.length > 5 ? ` and ${made.length - 5} more` : ''
  const text = `The command of ${gate} made files that are neither ignored nor committed: ${made.slice(0, 5).join(', ')}${rest}.`
  return [...told, { code: 'gate.made_files', weight: 'note', text }]
}
