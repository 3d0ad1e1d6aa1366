import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { median } from '../measure.ts'
import { openInstallation, run } from '../program.ts'
import { residentMb } from '../reliability/world.ts'
import type { BenchRow } from '../row.ts'
import { fillYear, YEAR } from './home.ts'

const ROUNDS = 5
const LAST = { session: 's-001380', task: 't-004e00', run: 'r-001380' }

/** Every command that reads, with the most milliseconds that it may take after a year of use. */
const COMMANDS: [command: string, most: number][] = [
  ...[
    'list',
    'list --json',
    'list --all',
    'runs',
    'runs --all',
    'pending',
    'budget',
    'quota',
    'journal',
    'journal commas',
  ]
    .concat([`status ${LAST.session}`, `logs ${LAST.session}`, `status ${LAST.run}`, `checkpoints ${LAST.session}`])
    .concat([
      'task list',
      'task list --json',
      `task show ${LAST.task}`,
      `task log ${LAST.task}`,
      'task graph',
      'run . --dry-run',
    ])
    .concat(['worktree list', 'feature list', 'audit', 'daemon status'])
    .map((command): [string, number] => [command, 300]),
  ['report', 1_000],
]

/** How long commands take, and how large the daemon is, after a year of use. */
export async function benchYear(): Promise<BenchRow[]> {
  await using installation = await openInstallation({
    PCC_DATA_EVENT_RETENTION_DAYS: '3650',
    PCC_KNOWLEDGE_ENABLED: 'false',
  })
  const { dir, dist, env } = installation
  const root = join(dir, 'projects')
  for (let n = 0; n < YEAR.projects; n += 1) mkdirSync(join(root, `project-${n}`), { recursive: true })
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: join(root, 'project-0') })
  await pcc('list')
  await pcc('daemon', 'stop')
  fillYear(appPathsFor({ env }).database, { root, now: Date.now() })
  const start = await timed(() => pcc('daemon', 'start'))
  const times = new Map<string, number>()
  for (const [command] of COMMANDS) {
    const taken: number[] = []
    for (let round = 0; round <= ROUNDS; round += 1) {
      const ms = await timed(() => pcc(...command.split(' ')))
      if (round > 0) taken.push(ms)
    }
    times.set(command, median(taken))
  }
  const { pid } = JSON.parse((await pcc('daemon', 'status', '--json')).stdout) as { pid: number }
  const megabytes = residentMb(pid)
  const slow = COMMANDS.filter(([command, most]) => (times.get(command) ?? 0) > most)
  const [slowest = '', ms = 0] = [...times].toSorted(([, a], [, b]) => b - a)[0] ?? []
  const after = `after ${YEAR.sessions} sessions, ${YEAR.tasks} tasks and ${YEAR.events / 1e6} million events`
  return [
    {
      what: `${COMMANDS.length} commands ${after}`,
      measured: `slowest: ${slowest} ${ms.toFixed(0)} ms${slow.length > 0 ? `; over: ${slow.map(([command]) => `${command} ${times.get(command)?.toFixed(0)}`).join(', ')}` : ''}`,
      budget: '≤ 300 ms each, report ≤ 1 s',
      ok: slow.length === 0,
    },
    { what: `pcc daemon start ${after}`, measured: `${start.toFixed(0)} ms`, budget: '≤ 1,500 ms', ok: start <= 1_500 },
    {
      what: `the daemon's memory after them`,
      measured: `${megabytes.toFixed(0)} MB`,
      budget: '≤ 200 MB',
      ok: megabytes <= 200,
    },
  ]
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
