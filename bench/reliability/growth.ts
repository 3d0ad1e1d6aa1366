import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchRow } from '../row.ts'
import { openReliabilityWorld, type ReliabilityWorld, residentMb, until } from './world.ts'

/** Each task is one turn in the conversation of its session, as with `pcc add`: real agents, without a start for each task. */
const TASKS_A_SESSION = 25
const WARM_UP_TASKS = 200
const TASKS = 1_000
const AT_ONCE = 2
/** Each session of a thousand tasks works in a project of its own. */
const PROJECTS = TASKS / TASKS_A_SESSION
const MOST_MB = 150

const SCENARIO = {
  conversations: [{ match: 'task', turns: [{ text: 'Did the first.' }], otherwise: { text: 'Did it.' } }],
}

/**
 * How much the supervisor's memory grows over a thousand short tasks. The first thousand fill caches, such as statements and
 * compiled code; the second thousand shows the cost of all later ones.
 */
export async function benchGrowth(): Promise<BenchRow[]> {
  await using world = await openReliabilityWorld(SCENARIO, {
    PCC_SESSIONS_MAX_CONCURRENT: String(AT_ONCE),
    // The tasks change nothing, which would trip a breaker.
    PCC_BREAKERS_NO_PROGRESS_ROUNDS: '1000000',
  })
  await work(world, 'warm', WARM_UP_TASKS)
  const pid = await world.daemonPid()
  const before = await settledMb(pid)
  await work(world, 'first', TASKS)
  const between = await settledMb(pid)
  await work(world, 'second', TASKS)
  const after = await settledMb(pid)
  if ((await world.daemonPid()) !== pid) throw new Error('the daemon was started again')
  const [first, second] = [(between / before - 1) * 100, (after / between - 1) * 100]
  const sizes = [before, between, after].map(megabytes => megabytes.toFixed(0))
  return [
    {
      what: `growth of the supervisor's memory over ${TASKS} short tasks in ${PROJECTS} projects, real agent`,
      measured: `${second.toFixed(1)} % (the ${TASKS} before them ${first.toFixed(1)} %: ${sizes.join(', ')} MB)`,
      budget: '< 5 %',
      ok: second < 5,
    },
    {
      what: `the supervisor's memory after ${TASKS} short tasks in ${PROJECTS} projects, real agent`,
      measured: `${between.toFixed(0)} MB`,
      budget: `≤ ${MOST_MB} MB`,
      ok: between <= MOST_MB,
    },
  ]
}

async function work(world: ReliabilityWorld, name: string, tasks: number): Promise<void> {
  const sessions = Array.from({ length: tasks / TASKS_A_SESSION }, (_, n) => `${name}-${n + 1}`)
  const file = join(world.project, `${name}.md`)
  const list = Array.from({ length: TASKS_A_SESSION }, (_, n) => `- [ ] Do task ${n + 1}\n`)
  writeFileSync(file, `# ${name}\n\n## Tasks\n\n${list.join('')}`)
  for (const [number, session] of sessions.entries()) {
    const project = join(dirname(world.project), `project-${number}`)
    mkdirSync(project, { recursive: true })
    await world.pcc('start', project, '--requirements', file, '--session-name', session, '--detach', '--quiet')
  }
  await until(async () => {
    const ours = (await world.views()).filter(view => view.name.startsWith(`${name}-`))
    return ours.length === sessions.length && ours.every(({ status }) => status === 'completed')
  }, 2_000)
}

/** The minimum of a few readings, so that uncollected garbage is not counted. */
async function settledMb(pid: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 25; look += 1) {
    await sleep(1_000)
    least = Math.min(least, residentMb(pid))
  }
  return least
}
