import { openGuard } from '../../../base/process/guardian.ts'
import { commandEnvironment } from '../../command/environment.ts'
import { runCommand } from '../../command/run-command.ts'

export interface SetUp {
  command: string
  directory: string
  env: Record<string, string | undefined>
  timeoutMs: number
  /** Else only its time can be up. */
  signal?: AbortSignal | undefined
}

/** Runs the command that makes a fresh worktree ready, as gates run theirs, and gives what became of it, in words. */
export async function setUp({
  command,
  env,
  signal = new AbortController().signal,
  ...run
}: SetUp): Promise<{ said: string; ok: boolean }> {
  const outcome = await runCommand({ command, env: commandEnvironment(env), signal, ...run }, { guard: openGuard() })
  const seconds = (outcome.durationMs / 1000).toFixed(1)
  if (outcome.end === 'exited' && outcome.exit === 0) return { said: `${command}: done in ${seconds} s`, ok: true }
  const how = outcome.end === 'exited' ? `failed with exit code ${outcome.exit}` : WORDS[outcome.end]
  const lines = outcome.output.trimEnd().split('\n').slice(-TAIL)
  return { said: [`${command}: ${how} after ${seconds} s`, ...lines].join('\n'), ok: false }
}

const TAIL = 20

const WORDS = {
  killed: 'was killed',
  timed_out: 'took too long and was ended',
  aborted: 'was called off',
  not_started: 'could not be started',
}
