import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { race } from '../measure.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'

const TASKS = 10_000
const ROUNDS = 15
const BUDGET = 3

/** How long `pcc task list --json` takes for many tasks, compared with `node -e 0`, while the daemon runs. */
export async function benchTaskList(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dist, pcc, env, dir } = installation
  await fill(appPathsFor({ env }).database, dir)
  await pcc(dist, 'daemon', 'start')
  const { stdout } = await pcc(dist, 'task', 'list', '--json')
  const found = (JSON.parse(stdout) as { tasks: unknown[] }).tasks.length
  if (found !== TASKS) throw new Error(`${found} of ${TASKS} tasks were listed`)
  const times = await race(
    {
      node: async () => {
        await run(process.execPath, ['-e', '0'], { env, cwd: dir })
      },
      list: async () => {
        await pcc(dist, 'task', 'list', '--json')
      },
    },
    ROUNDS,
  )
  const ratio = times.list / times.node
  const measured = `${times.list.toFixed(0)} ms (node -e 0: ${times.node.toFixed(0)} ms)`
  const what = `pcc task list --json of ${TASKS / 1000}k tasks from dist, against node -e 0`
  return [{ what, measured, ratio, budget: `≤ ${BUDGET}×`, ok: ratio <= BUDGET }]
}

/** Called before a daemon opens the store. */
async function fill(file: string, project: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  await using store = await openStore({ file })
  const tasks = openTasks({ store, clock: systemClock })
  await store.transaction(async tx => {
    let last: string | undefined
    for (let index = 0; index < TASKS; index++) {
      const after = last !== undefined && index % 3 > 0 ? [last] : []
      const request = { session_id: null, project, title: `Task number ${index} of many`, text: '', after }
      last = (await tasks.submit(request, tx)).id
    }
  })
}
