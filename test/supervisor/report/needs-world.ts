import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../../src/store/tables.ts'
import { listNeeds } from '../../../src/supervisor/report/needs.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'

/** A folder that is there. */
export const PROJECT = '/usr'

export const A_RUN: RunRow = {
  ...{ id: 'r-1', project: PROJECT, target: { kind: 'project' }, options: {}, state: 'running', outcome: null },
  ...{ reason: null, gave_up: null, stopping: false, iterations: 0, created_at: 5, ended_at: null },
}

/** A store with tasks, sessions and decisions, and what it says waits for a person. */
export async function needsWorld(t: TestContext) {
  const time = { now: 1_000 }
  const clock = { now: () => time.now }
  const store = await openStore({ file: join(tempDir(t), 'store.db'), clock })
  t.after(() => store.close())
  const tasks = openTasks({ store, clock })
  const escalations = openEscalations({ store, clock })
  const add = (title: string, after: string[] = []) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: PROJECT, text: title, title, after }, tx))
  const session = (id: string, more: Partial<SessionRow> = {}) =>
    store.sessions.insert({ id, name: id, project: PROJECT, task: 't', agent: 'claude', ...more })
  const claim = async (id: string, task: string) => {
    await session(id, { task_id: task, state: 'running' })
    await store.transaction(tx =>
      tasks.claimReady({ scope: { project: PROJECT }, run: 'r-1', session: id, only: task }, tx),
    )
  }
  const pause = async (id: string, task: string) => {
    await store.transaction(tx => tasks.transition(task, { to: 'waiting', reason: 'refused' }, tx))
    await store.sessions.update(id, { state: 'ended', ended_as: 'paused', ended_at: time.now })
  }
  const list = () => listNeeds({ store, now: clock.now })
  return { time, store, tasks, escalations, add, session, claim, pause, list }
}

/** An attempt of the run. */
export function beginAttempt(
  store: Store,
  about: Partial<AttemptRow> & Pick<AttemptRow, 'session_id' | 'iteration' | 'number'>,
): Promise<void> {
  const attempt: AttemptRow = {
    ...{ task_id: 't-1', run_id: 'r-1', model: null, outcome: null, reason: null, result: null, next_model: null },
    ...{ failure: null, cost_usd: 0, started_at: 5, ended_at: null, rounds: 0, ...about },
  }
  return store.transaction(tx => store.runs.begin(attempt, tx))
}
