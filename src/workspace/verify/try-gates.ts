import { systemClock } from '../../base/clock.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import { commandEnvironment } from '../command/environment.ts'
import type { GateCommand, GateSettings } from './gate-settings.ts'
import { commandGate } from './gates/command-gate.ts'
import type { Seen } from './gates/seen.ts'
import { PROFILES } from './profiles.ts'

export interface TryGates {
  directory: string
  gates: GateSettings
  /** Only these; all of the profile where there are none. */
  only: readonly GateCommand[]
  env: Record<string, string | undefined>
  isolation?: Isolation | undefined
  signal: AbortSignal
  onBegin(gate: GateCommand, command: string): void
  onEnd(seen: Seen): void
}

/**
 * Runs the commands of the gates where somebody works right now, to see how they do. Nothing is committed, put back, kept or
 * taken from what is kept: no task is done by it. No marker is noted either: a daemon that starts would end what it finds noted.
 */
export async function tryGates(wanted: TryGates): Promise<Seen[]> {
  const { directory, gates, only, signal, isolation } = wanted
  const runner = { guard: openGuard(), isolation }
  const env = commandEnvironment(wanted.env, gates.env)
  const seen: Seen[] = []
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
