import type { Finding, GateStatus } from '../../../domain/workspace/evidence.ts'
import type { GateCommand } from '../gate-settings.ts'
import { type CommandOutcome, type ProjectCommandRun, type Runner, runCommand } from '../run-command.ts'
import { type Seen, seen } from './seen.ts'

export interface GateRun extends Omit<ProjectCommandRun, 'onLine'> {
  gate: GateCommand
}

/** Runs the command of a gate: green is an exit with 0 within its time and nothing else. */
export async function commandGate(run: GateRun, runner: Runner): Promise<Seen> {
  const outcome = await runCommand(run, runner)
  return seen({
    gate: run.gate,
    kind: 'command',
    status: statusOf(outcome),
    command: run.command,
    exit: outcome.exit,
    duration_ms: outcome.durationMs,
    output: outcome.output,
    findings: findingsOf(run, outcome),
  })
}

/** What could not be started, and a program that is not there (127, 126), say nothing about the work. */
function statusOf({ end, exit }: CommandOutcome): GateStatus {
  if (end === 'not_started' || end === 'aborted' || exit === 127 || exit === 126) return 'broken'
  return end === 'exited' && exit === 0 ? 'passed' : 'failed'
}

function findingsOf({ gate, command, timeoutMs }: GateRun, { end, exit, killedBy }: CommandOutcome): Finding[] {
  const block = (code: string, text: string): Finding[] => [{ code, weight: 'block', text }]
  const name = `The command of ${gate} (${command})`
  switch (end) {
    case 'exited':
      if (exit === 0) return []
      if (exit === 127 || exit === 126)
        return block(
          'gate.broken',
          `${name} could not be run: a program of it was not found or may not be run (exit ${exit}).`,
        )
      return block(`${gate}.failed`, `${name} failed with exit code ${exit}.`)
    case 'killed':
      return block(`${gate}.killed`, `${name} was killed by ${killedBy}.`)
    case 'timed_out':
      return block(`${gate}.timed_out`, `${name} was not over after ${timeoutMs / 1000} s.`)
    case 'aborted':
      return block('gate.aborted', `${name} was called off.`)
    case 'not_started':
      return block('gate.broken', `${name} could not be started.`)
  }
}
