import type { TestContext } from 'node:test'
import type { BudgetLimits } from '../../../src/domain/budget.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import type { RunDetail } from '../../../src/domain/run.ts'
import type { ScriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../../supervisor/session/scripted-world.ts'
import { tempDir, UNPROVEN_ALLOWED } from '../../support/world.ts'

export interface RunWorld extends ScriptedWorld {
  project: string
  /** Adds a task, after others by name, and returns its id. */
  add(
    title: string,
    more?: {
      after?: string[]
      feature?: string
      priority?: number
      max_retries?: number
      paths?: string[]
      budget?: BudgetLimits
    },
  ): Promise<string>
  /** Starts a run and returns the reply. */
  run(more?: object): Promise<RunDetail>
  detail(id: string): Promise<RunDetail>
  /** Resolves with the run when an event matches. */
  since(id: string, match: (event: StoredEvent) => boolean): Promise<RunDetail>
  /** Resolves with the run when it has ended. */
  over(id: string): Promise<RunDetail>
}

/** Runs over the routes of the daemon, with an agent that follows a script. */
export async function runWorld(
  t: TestContext,
  agent: ScriptedAgent,
  project = tempDir(t, 'pcc-project-'),
): Promise<RunWorld> {
  const world = await scriptedWorld(t, agent)
  const ids = new Map<string, string>()
  const following = new AbortController()
  const followed = Promise.all([
    world.supervisor.runs.follow(0, following.signal),
    world.supervisor.completion.follow(0, following.signal),
  ])
  t.after(async () => {
    following.abort()
    await followed
  })
  const asked = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const reply = await world.call(method, path, body)
    if (reply.status >= 400) throw new Error(JSON.stringify(reply.body))
    return reply.body
  }
  const detail = (id: string): Promise<RunDetail> => asked('GET', `/runs/${id}`)
  const since: RunWorld['since'] = async (id, match) => {
    for await (const event of world.store.follow(0)) if (match(event)) break
    return detail(id)
  }
  return {
    ...world,
    project,
    detail,
    since,
    async add(title, { after = [], ...more } = {}) {
      const blockers = after.map(name => ids.get(name) ?? name)
      const { task } = await asked('POST', '/tasks', { project, title, after: blockers, ...more })
      ids.set(title, task.id)
      return task.id
    },
    run: ({ target = { kind: 'project' }, ...more }: { target?: object; settings?: object } = {}) =>
      asked('POST', '/runs', {
        ...{ project, target, env: {}, ...more },
        ...(more.settings && { settings: { ...UNPROVEN_ALLOWED, ...more.settings } }),
      }),
    over: id => since(id, ({ kind, subject }) => kind === 'run.ended' && subject === id),
  }
}
