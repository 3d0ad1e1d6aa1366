import { mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filesIn, install, pack } from '../scripts/pack.ts'
import { appPathsFor } from '../src/base/app-paths.ts'
import { systemClock } from '../src/base/clock.ts'
import { openStore } from '../src/store/open.ts'
import { openTasks } from '../src/tasks/tasks.ts'
import { runHello } from './hello.ts'
import { race } from './measure.ts'
import { openInstallation, run } from './program.ts'
import type { BenchRow } from './row.ts'

const ROUNDS = 25
const TASKS = 10_000
/** A tenth above what it is, so that growth is noticed. */
const MOST_MEGABYTES = 3.8
const MOST_FILES = 605

/** How long commands take compared with `node -e 0`, as npm installs them and while the daemon runs; and how large the tarball is. */
export async function benchCommands(): Promise<BenchRow[]> {
  let tarball = ''
  await using installation = await openInstallation({}, dir => {
    tarball = pack(dir)
    install(tarball, join(dir, 'prefix'), dir)
    return join(dir, 'prefix/lib/node_modules/perpetualcc/bin/pcc.js')
  })
  const { dist, source, pcc, env, dir } = installation
  await runHello(installation)
  // Ten thousand tasks have a home of their own: they are not what the other commands meet every day.
  const many = { ...env, PCC_HOME: join(dir, 'many') }
  const pccWithMany = (...args: string[]) => run(process.execPath, [dist, ...args], { env: many, cwd: dir })
  await fillTasks(appPathsFor({ env: many }).database, dir)
  await using stack = new AsyncDisposableStack()
  stack.defer(async () => void (await pccWithMany('daemon', 'stop')))
  const here = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: join(dir, 'hello') })
  for (const title of ['Validate ISBN numbers', 'Sort books by year', 'Write the changelog'])
    await here('task', 'add', title)
  const { stdout } = await pccWithMany('task', 'list', '--json')
  const found = (JSON.parse(stdout) as { tasks: unknown[] }).tasks.length
  if (found !== TASKS) throw new Error(`${found} of ${TASKS} tasks were listed`)
  const times = await race(
    {
      node: () => run(process.execPath, ['-e', '0'], { env, cwd: dir }),
      list: () => pcc(dist, 'list'),
      listSource: () => pcc(source, 'list'),
      logs: () => pcc(dist, 'logs', 'hello'),
      configGet: () => pcc(dist, 'config', 'get', 'sessions.max_concurrent'),
      trustStatus: () => pcc(dist, 'trust', 'status', join(dir, 'hello')),
      taskList: () => pccWithMany('task', 'list', '--json'),
      completion: () => here('completion', 'bash'),
      explain: () => here('explain', 'npm', 'test'),
      rulesTest: () => here('rules', 'test', 'npm test'),
      replay: () => here('rules', 'test', '--replay'),
      report: () => here('report'),
      agentsList: () => here('agents', 'list'),
      dryRun: () => here('run', '.', '--dry-run'),
      // Without a login it ends with 1, which is no failure of the measurement.
      doctor: () => here('doctor').catch(() => undefined),
    },
    ROUNDS,
  )
  const row = (what: string, time: number, budget: number): BenchRow => {
    const ratio = time / times.node
    const measured = `${time.toFixed(0)} ms (node -e 0: ${times.node.toFixed(0)} ms)`
    return { what: `${what}, against node -e 0`, measured, ratio, budget: `≤ ${budget}×`, ok: ratio <= budget }
  }
  return [
    row('pcc list, installed', times.list, 1.4),
    row('pcc list from source', times.listSource, 1.7),
    row('pcc logs, installed', times.logs, 2),
    row('pcc config get, installed', times.configGet, 2),
    row('pcc trust status, installed', times.trustStatus, 2),
    row(`pcc task list --json of ${TASKS / 1000}k tasks, installed`, times.taskList, 2.5),
    row('pcc completion bash, installed', times.completion, 1.5),
    row('pcc explain, installed', times.explain, 4),
    row('pcc rules test, installed', times.rulesTest, 4),
    row('pcc rules test --replay, installed', times.replay, 4),
    row('pcc report, installed', times.report, 4),
    row('pcc agents list, installed', times.agentsList, 4),
    row('pcc run --dry-run, installed', times.dryRun, 4),
    row('pcc doctor, installed', times.doctor, 4),
    sizeOf(tarball),
  ]
}

function sizeOf(tarball: string): BenchRow {
  const [megabytes, files] = [statSync(tarball).size / 1e6, filesIn(tarball).length]
  return {
    what: 'the tarball for npm',
    measured: `${megabytes.toFixed(2)} MB, ${files} files`,
    budget: `≤ ${MOST_MEGABYTES} MB and ≤ ${MOST_FILES} files`,
    ok: megabytes <= MOST_MEGABYTES && files <= MOST_FILES,
  }
}

/** Called before a daemon opens the store. */
async function fillTasks(file: string, project: string): Promise<void> {
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
