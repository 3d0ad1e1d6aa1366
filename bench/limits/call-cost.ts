import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { agentEnv } from '../../test/support/world.ts'
import { CLAUDE, measureCalls, openCallingModel } from '../call-time.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'

/** Our overhead for one tool call, including verdict and events, against the same task without pcc. */
export async function benchCallCost(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  await using simulator = await openCallingModel()
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url) }
  await run(process.execPath, [dist, 'daemon', 'start'], { env, cwd: dir })
  const { measured, ratio } = await measureCalls(
    task => run(CLAUDE, ['-p', task, '--allowed-tools', 'Bash'], { env, cwd: project }),
    task => run(process.execPath, [dist, 'start', project, '--task', task], { env, cwd: dir }),
  )
  const what = "what a tool call takes longer, the vendor's two round trips to us included"
  return [{ what, measured, ratio, budget: '–', ok: true }]
}
