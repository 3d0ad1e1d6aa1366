import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import type { AgentToolName } from '../../../src/domain/agent-tools.ts'
import type {
  Answer,
  Asks,
  Driver,
  OpenSession,
  Park,
  Question,
  Request,
  Session,
  SessionEvent,
  Verdict,
} from '../../../src/domain/session.ts'
import { type Ending, gitProject, tempDir } from '../../support/world.ts'
import type { Adapter, EventOf, Login } from './adapter.ts'
import type { Model, Script } from './script.ts'

export interface WorldOptions {
  login?: Login
  files?: Record<string, string>
  driver?: Parameters<Adapter['openDriver']>[0]
}

interface Parts {
  home: string
  cwd: string
  model: Model
  driver: Driver
  env: Record<string, string>
  given: Partial<OpenSession>
}

/** One project, one home, one model and one driver, all gone when the test ends. */
export class World {
  readonly home: string
  readonly cwd: string
  readonly model: Model
  readonly driver: Driver
  readonly #t: Ending
  readonly #deps: Parts

  private constructor(t: Ending, deps: Parts) {
    this.#t = t
    this.home = deps.home
    this.cwd = deps.cwd
    this.model = deps.model
    this.driver = deps.driver
    this.#deps = deps
  }

  static async open(t: Ending, adapter: Adapter, scripts: Script[], options: WorldOptions = {}): Promise<World> {
    const home = tempDir(t, 'pcc-home-')
    const cwd = gitProject(t, { 'README.md': '# sample\n', ...options.files })
    const model = await adapter.openModel(scripts)
    const driver = await adapter.openDriver(options.driver)
    t.after(async () => {
      await driver.close()
      await model[Symbol.asyncDispose]()
    })
    const env = adapter.env(home, model.url, options.login ?? 'key')
    return new World(t, { home, cwd, model, driver, env, given: adapter.open ?? {} })
  }

  /** The same world in another test: its sessions are closed when that test ends. */
  within(t: Ending): World {
    return new World(t, this.#deps)
  }

  /** The options of `open`, with a marker by which the test finds the agent's processes. */
  options(more: Partial<OpenSession> = {}): OpenSession & { marker: string } {
    return {
      id: 's-000001',
      cwd: this.cwd,
      env: this.#deps.env,
      asks: allowing(),
      settingSources: ['user', 'project', 'local'],
      isolation: 'auto',
      ...this.#deps.given,
      ...more,
      marker: more.marker ?? secretId(12),
    }
  }

  async talk(prompt: string | undefined, more: Partial<OpenSession> = {}): Promise<Talk> {
    const options = this.options({ ...(prompt !== undefined && { prompt }), ...more })
    const talk = new Talk(await this.driver.open(options), options.marker)
    this.#t.after(() => talk.close())
    return talk
  }

  path(name: string): string {
    return join(this.cwd, name)
  }

  has(name: string): boolean {
    return existsSync(this.path(name))
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }
}

/** A session and its events so far. */
export class Talk {
  readonly session: Session
  readonly marker: string
  readonly seen: SessionEvent[] = []

  constructor(session: Session, marker: string) {
    this.session = session
    this.marker = marker
  }

  /** Reads on to the first matching event of this kind. */
  async until<Kind extends SessionEvent['kind']>(
    kind: Kind,
    fits: (event: EventOf<Kind>) => boolean = () => true,
  ): Promise<EventOf<Kind>> {
    for await (const event of this.session.events) {
      this.seen.push(event)
      if (event.kind === kind && fits(event as EventOf<Kind>)) return event as EventOf<Kind>
    }
    return assert.fail(`no ${kind} came; there were: ${this.seen.map(event => JSON.stringify(event)).join('\n')}`)
  }

  /** Reads to the end of the turn. */
  turn(): Promise<EventOf<'turn_ended'>> {
    return this.until('turn_ended')
  }

  all<Kind extends SessionEvent['kind']>(kind: Kind): EventOf<Kind>[] {
    return this.seen.filter(event => event.kind === kind) as EventOf<Kind>[]
  }

  kinds(): string[] {
    return this.seen.map(event => event.kind)
  }

  /** Closes, reads the remaining events, and checks the contract of every end. */
  async close(): Promise<void> {
    await this.session[Symbol.asyncDispose]()
    for await (const event of this.session.events) this.seen.push(event)
    assert.equal(this.seen.at(-1)?.kind, 'ended', 'the last event is `ended`')
    assert.equal(this.all('ended').length, 1, '`ended` comes once')
    assert.deepEqual(await findMarked(sessionMarker(this.marker)), [], 'no process of the agent is left')
  }
}

export const ALLOW: Verdict = { verdict: 'allow', risk: 'LOW', reason: 'fine', confidence: 1, by: 'policy' }
export const DENY: Verdict = { verdict: 'deny', risk: 'HIGH', reason: 'not on my watch', confidence: 1, by: 'policy' }

export interface Remembering extends Asks {
  requests: Request[]
  questions: Question[]
  /** Calls of our tools that were executed. */
  done: [AgentToolName, unknown][]
}

/** Asks that record what was asked. */
export function asking(
  permission: (request: Request, signal: AbortSignal) => Verdict | Park | Promise<Verdict | Park>,
  question: (question: Question, signal: AbortSignal) => Answer | Park | Promise<Answer | Park> = () => ({
    declined: 'nobody is here',
    by: 'test',
  }),
): Remembering {
  const requests: Request[] = []
  const questions: Question[] = []
  const done: [AgentToolName, unknown][] = []
  return {
    done,
    tool: async (name, input) => {
      done.push([name, input])
      return { ok: true, text: `did ${name}` }
    },
    requests,
    questions,
    permission: async (request, signal) => {
      requests.push(request)
      return permission(request, signal)
    },
    question: async (asked, signal) => {
      questions.push(asked)
      return question(asked, signal)
    },
  }
}

export function allowing(): Remembering {
  return asking(() => ALLOW)
}

/** Polls for something that only the file system shows. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 90_000
  while (!holds()) {
    assert.ok(Date.now() < deadline, 'it did not happen in 90 s')
    await sleep(20)
  }
}
