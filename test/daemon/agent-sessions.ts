import type { TestContext } from 'node:test'
import type { SessionView, StartSession } from '../../src/domain/api.ts'
import type { EventKind, EventOf, StoredEvent } from '../../src/domain/event.ts'
import { openSimulator, type Simulator } from '../../src/simulator/open.ts'
import { agentEnv, gitProject, tempDir } from '../support/world.ts'
import { type DaemonProcess, type StartOptions, startDaemon } from './daemon-process.ts'

export interface AgentSessions {
  daemon: DaemonProcess
  simulator: Simulator
  project: string
  env: Record<string, string>
  start(task: string, more?: Partial<StartSession>): Promise<SessionView>
  /** Every event of a session so far. */
  log(id: string): Promise<StoredEvent[]>
}

/** A daemon (its own, or the one of the test file), a project, and the real Claude Code with a scripted model on loopback. */
export async function agentSessions(
  t: TestContext,
  scenario: string,
  options: StartOptions & { auth?: 'key' | 'oauth'; shared?: () => Promise<DaemonProcess> } = {},
): Promise<AgentSessions> {
  const started: string[] = []
  const shared = await options.shared?.()
  // The next test with a shared daemon must find no session at work.
  if (shared) t.after(() => Promise.all(started.map(id => shared.call('POST', `/sessions/${id}/stop`))))
  const simulator = await openSimulator({ text: scenario })
  t.after(() => simulator.close())
  const daemon = shared ?? (await startDaemon(t, options))
  const project = gitProject(t)
  const env = agentEnv(tempDir(t, 'pcc-agent-home-'), simulator.url, options.auth)
  return {
    daemon,
    simulator,
    project,
    env,
    async start(task, more = {}) {
      const reply = await daemon.call<SessionView>('POST', '/sessions', { body: { project, task, env, ...more } })
      if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
      started.push(reply.body.id)
      return reply.body
    },
    log: async id => (await daemon.call<{ events: StoredEvent[] }>('GET', `/sessions/${id}/events`)).body.events,
  }
}

/** The bodies of one kind of event, in order. */
export function bodiesOf<Kind extends EventKind>(events: StoredEvent[], kind: Kind): EventOf<Kind>['body'][] {
  return events.filter((event): event is EventOf<Kind> & StoredEvent => event.kind === kind).map(({ body }) => body)
}

/** True for the last event of a session. */
export function isEnd(event: StoredEvent): boolean {
  return event.kind === 'session.ended'
}
