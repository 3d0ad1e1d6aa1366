import { AppError } from '../../base/errors.ts'
import type { GateProfile } from '../../domain/workspace/gate-profile.ts'
import { type GateCommand, gatesIn } from '../../workspace/verify/gate-settings.ts'
import { tryGates } from '../../workspace/verify/try-gates.ts'
import { type Context, ExitCode } from '../context.ts'
import { loadSettings } from '../load-settings.ts'
import { checkLine } from './lines.ts'
import { gateTarget } from './target.ts'

export interface RunGates {
  target: string
  only?: GateCommand[]
  profile?: GateProfile
  context: Context
}

/** Runs the commands of the gates and shows how they do; leaves with 1 where one failed. Ctrl-C ends what runs. */
export async function runGates({ target, only = [], profile, context }: RunGates): Promise<void> {
  const { project, directory, task } = await gateTarget(target, context)
  const loaded = await loadSettings({ ...context, project })
  const gates = { ...gatesIn(loaded.config), ...(profile && { profile }) }
  const waiting = loaded.untrusted.filter(key => key.startsWith('gates.'))
  if (waiting.length > 0) context.note(`Left out until you agree to them with pcc trust: ${waiting.join(', ')}`)
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  try {
    const seen = await tryGates({
      ...{ directory, gates, only, env: context.env, isolation: loaded.config.agents.isolation, signal: stop.signal },
      onBegin: (gate, command) => context.note(`${gate}: ${command} …`),
      onEnd: check => {
        if (context.json) return
        for (const line of checkLine(check, context.terminal)) context.out(line)
        if (check.status !== 'passed') context.out(check.output.trimEnd().replaceAll(/^/gm, '      '))
      },
    })
    if (seen.length === 0 && !stop.signal.aborted) throw new AppError('gates_none', { project })
    if (context.json) context.out(JSON.stringify({ project, directory, task: task?.id ?? null, checks: seen }, null, 2))
    if (stop.signal.aborted) throw new ExitCode(130)
    if (seen.some(({ status }) => status !== 'passed' && status !== 'flaky')) throw new ExitCode(1)
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}
