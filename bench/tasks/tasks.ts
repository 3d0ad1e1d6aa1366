import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { openTasks, type Tasks } from '../../src/tasks/tasks.ts'
import type { BenchRow } from '../row.ts'

const TASKS = 100_000
const AT_LEAST = 6_000
const PROJECT = '/bench'
/** How many tasks one transaction inserts while the graph is built, which is not measured. */
const BATCH = 5_000

/** The dependencies of the task with this number. */
type Shape = (index: number) => number[]

const SHAPES: Record<string, Shape> = {
  // One first, all others at once, one last.
  wide: index => (index === 0 ? [] : index < TASKS - 1 ? [0] : Array.from({ length: TASKS - 2 }, (_, at) => at + 1)),
  // A chain.
  deep: index => (index === 0 ? [] : [index - 1]),
  // Eight at a time, between one task before all of them and one task after all of them.
  diamond: index => {
    const [layer, place] = [Math.floor(index / 9), index % 9]
    if (place > 0) return [layer * 9]
    return layer === 0 ? [] : Array.from({ length: 8 }, (_, at) => (layer - 1) * 9 + 1 + at)
  },
}

/** How fast a run claims and finishes tasks of large graphs. */
export async function benchTasks(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const [name, shape] of Object.entries(SHAPES)) rows.push(await drained(name, shape))
  return rows
}

async function drained(name: string, shape: Shape): Promise<BenchRow> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    await using store = await openStore({ file: join(dir, 'tasks.db') })
    const tasks = openTasks({ store, clock: systemClock })
    await build(shape, store, tasks)
    const [started, before] = [performance.now(), process.cpuUsage()]
    const done = await drain(store, tasks)
    const perSecond = done / ((performance.now() - started) / 1000)
    const { user, system } = process.cpuUsage(before)
    const perProcessorSecond = Math.round(done / ((user + system) / 1_000_000))
    if (done !== TASKS) throw new Error(`${done} of ${TASKS} tasks were done`)
    return {
      what: `claim + finish, ${TASKS / 1000}k tasks, ${name}, a transaction each, with its event`,
      // The second number is close to that of an idle machine.
      measured: `${Math.round(perSecond)} per second (${perProcessorSecond} per second of processor time)`,
      budget: `≥ ${AT_LEAST} per second`,
      ok: perSecond >= AT_LEAST,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function build(shape: Shape, store: Store, tasks: Tasks): Promise<void> {
  const ids: string[] = []
  while (ids.length < TASKS) {
    await store.transaction(async tx => {
      for (const end = Math.min(ids.length + BATCH, TASKS); ids.length < end; ) {
        const index = ids.length
        const after = shape(index).map(at => ids[at] ?? '')
        const request = { session_id: null, project: PROJECT, title: `task ${index}`, text: '', after }
        ids.push((await tasks.submit(request, tx)).id)
      }
    })
  }
}

/** Only the store operations of a run's loop. */
async function drain(store: Store, tasks: Tasks): Promise<number> {
  for (let done = 0; ; done++) {
    // A fresh session for each, as in a run.
    const claim = { scope: { project: PROJECT }, run: 'r-bench', session: `s-${done}` }
    const task = await store.transaction(tx => tasks.claimReady(claim, tx))
    if (!task) return done
    const finish = { to: 'done', attempt: task.attempt, result: 'did it' } as const
    await store.transaction(tx => tasks.transition(task.id, finish, tx))
  }
}
