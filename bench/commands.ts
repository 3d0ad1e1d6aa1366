import { runHello } from './hello.ts'
import { race } from './measure.ts'
import { openInstallation, run } from './program.ts'
import type { BenchRow } from './row.ts'

const ROUNDS = 25

/** How long commands take compared with `node -e 0`, while the daemon runs. */
export async function benchCommands(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dist, source, pcc, env, dir } = installation
  await runHello(installation)
  const only =
    (program: string, ...args: string[]) =>
    async () => {
      await pcc(program, ...args)
    }
  const times = await race(
    {
      node: async () => {
        await run(process.execPath, ['-e', '0'], { env, cwd: dir })
      },
      listDist: only(dist, 'list'),
      listSource: only(source, 'list'),
      configDist: only(dist, 'config', 'get', 'sessions.max_concurrent'),
      logsDist: only(dist, 'logs', 'hello'),
    },
    ROUNDS,
  )
  const row = (what: string, time: number, budget: number): BenchRow => {
    const ratio = time / times.node
    const measured = `${time.toFixed(0)} ms (node -e 0: ${times.node.toFixed(0)} ms)`
    return { what, measured, ratio, budget: `≤ ${budget}×`, ok: ratio <= budget }
  }
  return [
    row('pcc list from dist, against node -e 0', times.listDist, 1.5),
    row('pcc list from source, against node -e 0', times.listSource, 1.7),
    row('pcc config get from dist, against node -e 0', times.configDist, 3),
    row('pcc logs from dist, against node -e 0', times.logsDist, 3),
  ]
}
