import type { TestContext } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedAgent } from '../supervisor/session/scripted-agent.ts'
import { type Method, scriptedWorld } from '../supervisor/session/scripted-world.ts'
import { smallAgent } from '../support/small-agent.ts'
import { agentEnv, gitProject, tempDir } from '../support/world.ts'
import type { AgentSessions } from './agent-sessions.ts'
import type { DaemonProcess } from './daemon-process.ts'

/** What a test can do with `AgentSessions` and without a process that it could end or kill. */
export interface Sessions extends Omit<AgentSessions, 'daemon'> {
  daemon: Pick<DaemonProcess, 'call' | 'stream'>
}

export interface InProcess extends Sessions {
  store: Store
}

/**
 * What `agentSessions` gives, without any process: the routes, the supervisor, the policy, the brains and the store of a daemon in
 * this one, with the small agent. A daemon and the real Claude Code cost two to three seconds of processor time a test. A path that
 * is tested with this has a test with both, in the same file or near it.
 */
export async function inProcess(
  t: TestContext,
  scenario: string,
  { env: settings = {} }: { env?: Record<string, string> } = {},
): Promise<InProcess> {
  const simulator = await openSimulator({ text: scenario })
  t.after(() => simulator.close())
  const driver = smallAgent()
  const world = await scriptedWorld(t, scriptedAgent(), { ...settings }, async () => driver, 'as set')
  const project = gitProject(t)
  const env = agentEnv(tempDir(t, 'pcc-agent-home-'), simulator.url)
  return {
    daemon: {
      call: (method, path, { body, headers } = {}) =>
        world.call(method as Method, path, body as object | undefined, headers),
      stream: async path => follow(world.store, new URL(path, 'http://pcc').searchParams.get('session') ?? undefined),
    },
    store: world.store,
    simulator,
    project,
    env,
    async start(task, more = {}) {
      const reply = await world.call('POST', '/sessions', { project, task, env, ...more })
      if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
      return reply.body as SessionView
    },
    log: id => world.events(id),
  }
}

/** The events of a session, past and future, as the route `/events` streams them. */
function follow(store: Store, subject: string | undefined) {
  const over = new AbortController()
  const events = store.follow(0, { subject, signal: over.signal })[Symbol.asyncIterator]()
  const iterator: AsyncGenerator<StoredEvent> = (async function* () {
    for (let next = await events.next(); !next.done; next = await events.next()) yield next.value
  })()
  return {
    [Symbol.asyncIterator]: () => iterator,
    async until(match: (event: StoredEvent) => boolean) {
      const seen: StoredEvent[] = []
      for (;;) {
        const { value, done } = await iterator.next()
        if (done) throw new Error(`the events ended after ${seen.map(({ kind }) => kind).join(' ')}`)
        seen.push(value)
        if (match(value)) return seen
      }
    },
    close: () => over.abort(),
  }
}
