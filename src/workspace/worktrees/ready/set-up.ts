import { openGuard } from '../../../base/process/guardian.ts'
import { commandEnvironment } from '../../verify/command/environment.ts'
import { runCommand } from '../../verify/run-command.ts'

export interface SetUp {
  command: string
  directory: string
  env: Record<string, string | undefined>
  timeoutMs: number
}

/** Runs the command that makes a fresh worktree ready, as gates run theirs, and gives what became of it, in words. */
export async function setUp({ command, env, ...run }: SetUp): Promise<string> {
  const { signal } = new AbortController() // only its time can be up
  const outcome = await runCommand({ command, env: commandEnvironment(env), signal, ...run }, { guard: openGuard() })
  const seconds = (outcome.durationMs / 1000).toFixed(1)
  if (outcome.end === 'exited' && outcome.exit === 0) return `${command}: done in ${seconds} s`
  const how = outcome.end === 'exited' ? `failed with exit code ${outcome.exit}` : WORDS[outcome.end]
  return [`${command}: ${how} after ${seconds} s`, ...outcome.output.trimEnd().split('\n').slice(-TAIL)].join('\n')
}

const TAIL = 20

const WORDS = {
  killed: 'was killed',
  timed_out: 'took too long and was ended',
  aborted: 'was called off',
  not_started: 'could not be started',
}
