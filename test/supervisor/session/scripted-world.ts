import type { TestContext } from 'node:test'
import { openAccountGates } from '../../../src/agents/limits/account-gates.ts'
import { openQuota } from '../../../src/agents/limits/quota.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import type { Clock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openAuthenticator } from '../../../src/daemon/api/authenticate.ts'
import { ApiKeys } from '../../../src/daemon/api/keys.ts'
import { openLazyMetrics } from '../../../src/daemon/api/metrics.ts'
import type { DaemonContext } from '../../../src/daemon/context.ts'
import { openLazyBrains, openLazyPolicy } from '../../../src/daemon/lazy-services.ts'
import { buildServer } from '../../../src/daemon/routes/server.ts'
import { openWebhooks } from '../../../src/daemon/webhooks/webhooks.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import { openSecrets } from '../../../src/domain/config/open-secrets.ts'
import { type Config, defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { AttachedTerminals } from '../../../src/human/terminals.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import type { SupervisorOptions } from '../../../src/supervisor/compose.ts'
import { type CodeSearch, startCodeSearch } from '../../../src/supervisor/knowledge/code-search.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import { Supervisor } from '../../../src/supervisor/supervisor.ts'
import { tempDir } from '../../support/world.ts'
import type { ScriptedAgent } from './scripted-agent.ts'

const TOKEN = 'a-token-of-this-test-only'

export type Method = 'GET' | 'POST' | 'DELETE'

export interface Reply {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
  body: any
}

export interface ScriptedWorld {
  store: Store
  supervisor: Supervisor
  terminals: AttachedTerminals
  agent: ScriptedAgent
  /** Searches code; off in the settings unless a test switches it on. */
  code: CodeSearch
  /** The time; a test may move it. */
  time: { ahead: number }
  /** The reason why nothing may start; a test may fill and free the disk. */
  disk: { reason: string | undefined; failed?: () => void }
  /** Bytes that programs can still allocate; a test may make them few. */
  memory: { available: number }
  /** How many processor cores have nothing to do. */
  cores: { free: number }
  /** The environment of the daemon; a test may change it. */
  settings: Record<string, string>
  /** The configurations with which brains were opened, in order. */
  configs: Config[]
  /** The environments with which brains were opened, in order. */
  environments: Record<string, string | undefined>[]
  /** What its routes work with. */
  daemon: DaemonContext
  /** The run directory of the daemon. */
  runDir: string
  /** Moves the clock and wakes everything that waits for a time. */
  pass(ms: number): void
  call(method: Method, path: string, body?: object, headers?: Record<string, string | undefined>): Promise<Reply>
  start(task: string, more?: object): Promise<string>
  view(id: string): Promise<SessionView>
  /** Resolves with the first view that matches. */
  when(id: string, match: (view: SessionView) => boolean): Promise<SessionView>
  events(id: string): Promise<StoredEvent[]>
  /** Resolves when the session has ended this many times. */
  ended(id: string, times: number): Promise<void>
}

/** Supervisor, routes and store as in the daemon, but in this process and with an agent that follows a script. */
export async function scriptedWorld(
  t: TestContext,
  agent: ScriptedAgent,
  settings: Record<string, string> = {},
  driverFor: SupervisorOptions['driverFor'] = async () => agent.driver,
  brains: 'none' | 'as set' = 'none',
): Promise<ScriptedWorld> {
  const home = tempDir(t)
  const project = tempDir(t, 'pcc-project-')
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  const disk: ScriptedWorld['disk'] = { reason: undefined }
  const memory = { available: 8 * 1024 ** 3 }
  const cores = { free: 1 }
  const store = await openStore({ file: `${home}/db`, onFailure: () => disk.failed?.() })
  const policy = openLazyPolicy()
  const time = { ahead: 0 }
  settings['HOME'] = home
  settings['PCC_KNOWLEDGE_ENABLED'] ??= 'false' // most of these tests are not about code
  settings['PCC_MEMORY_ENABLED'] ??= 'false' // nor about what was learned
  settings['PCC_GATES_UNPROVEN'] ??= 'allow' // most of these projects have no checks
  const clock: Clock = { now: () => Date.now() + time.ahead }
  const gates = openAccountGates({ store, clock })
  const quota = openQuota({ store, clock, settings: async () => nestValues(defaultValues()).quota })
  const terminals = new AttachedTerminals()
  const code = startCodeSearch(paths, { patienceMs: 60_000 })
  const learned = openSupervisorMemory({ paths, env: settings, store, log: silentLog })
  const configs: Config[] = []
  const environments: Record<string, string | undefined>[] = []
  const secrets = openSecrets({ paths, env: settings })
  const lazyBrains = openLazyBrains(secrets)
  const supervisor = new Supervisor({
    ...{
      secrets,
      store,
      terminals,
      policy,
      clock,
      paths,
      quota,
      gates,
      code,
      memory: learned,
      bootId: 'boot-1',
      log: silentLog,
      agentEnv: {},
    },
    env: settings,
    brainsFor: async (config, env) => {
      configs.push(config)
      environments.push(env)
      return brains === 'none' ? [] : lazyBrains.get(config, env)
    },
    driverFor,
    mayStart: () => disk.reason,
    availableMemory: () => memory.available,
    freeCores: async () => cores.free,
  })
  const keys = new ApiKeys({ store, clock, failed: () => {} })
  const daemon: DaemonContext = {
    metrics: openLazyMetrics(() => daemon),
    ...{
      keys,
      authenticator: openAuthenticator({ keys, verifyJwt: () => Promise.reject(new Error('no tokens here')) }),
    },
    accepted: { accept: async () => {} },
    secrets,
    webhooks: openWebhooks(() => daemon, settings),
    ...{
      paths,
      version: '0',
      agentEnv: {},
      bootId: 'boot-1',
      startedAt: 0,
      token: TOKEN,
      log: silentLog,
      access: silentLog,
    },
    ...{
      store,
      terminals,
      supervisor,
      quota,
      gates,
      code,
      memory: learned,
      policy,
      streams: new Set(),
      stop: () => undefined,
      cutsOff: false,
      person: 'human',
    },
    brainsFor: async () => [],
    disk: { report: () => ({ state: 'ok', reason: '' }) },
    watchdogSeconds: 60,
    stopping: new AbortController().signal,
    settled: new AbortController().signal,
  }
  const app = buildServer(daemon)
  t.after(async () => {
    await supervisor.close('the test is over')
    await app.close()
    await daemon.metrics[Symbol.asyncDispose]()
    policy[Symbol.dispose]()
    code[Symbol.dispose]()
    await learned[Symbol.asyncDispose]()
    await store.close()
  })
  const call: ScriptedWorld['call'] = async (method, url, body, more = {}) => {
    const sent = body === undefined ? {} : { payload: JSON.stringify(body) }
    const typed = body === undefined ? {} : { 'content-type': 'application/json' }
    const named = Object.entries({ host: 'pcc', authorization: `Bearer ${TOKEN}`, ...typed, ...more })
    const headers = Object.fromEntries(named.filter((pair): pair is [string, string] => pair[1] !== undefined))
    const reply = await app.inject({ method, url, headers, ...sent })
    return { status: reply.statusCode, body: reply.json() }
  }
  const view = async (id: string) => (await call('GET', `/sessions/${id}`)).body as SessionView
  return {
    ...{
      store,
      supervisor,
      terminals,
      agent,
      code,
      time,
      disk,
      memory,
      cores,
      settings,
      call,
      view,
      configs,
      environments,
      runDir: paths.run,
      daemon,
    },
    pass(ms) {
      time.ahead += ms
      supervisor.wakeWaiting()
    },
    async start(task, more = {}) {
      const { status, body } = await call('POST', '/sessions', { project, task, env: {}, ...more })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body.id
    },
    async when(id, match) {
      const enough = new AbortController()
      try {
        for await (const _ of store.follow(0, { subject: id, signal: enough.signal })) {
          const now = await view(id)
          if (match(now)) return now
        }
      } finally {
        enough.abort()
      }
      throw new Error(`session ${id} never got there`)
    },
    events: id => store.events({ subject: id }),
    async ended(id, times) {
      const enough = new AbortController()
      let left = times
      for await (const { kind } of store.follow(0, { subject: id, signal: enough.signal })) {
        if (kind === 'session.ended') left -= 1
        if (left === 0) return enough.abort()
      }
    },
  }
}
